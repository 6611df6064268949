import { MAX_TIMER_MS } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { makeTool, type Tool } from "../tool/tool.ts";
import { askDefinition } from "./ask-definition.ts";
import { callProgram } from "./call.ts";
import { RUN_OPTIONS, settingsOf, type ExecutableOptions } from "./options.ts";
import { openProgram } from "./program.ts";

/** `tool.metadata.executable` of a tool that is a program. */
export interface ExecutableInfo {
  /** As it was given. */
  readonly path: string;
  /** With links resolved; this is what is run. */
  readonly realPath: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

const OPTIONS: OptionNames<ExecutableOptions> = {
  ...RUN_OPTIONS,
  name: true,
  effect: true,
  policy: true,
  root: true,
  digest: true,
};

/**
 * Loads a program as a tool. It is asked once for its description, with `--schema`; then each call is a process of its
 * own, with the input as JSON on stdin and `{"success": true, "result": ...}` or `{"success": false, "error": "..."}`
 * as JSON on stdout. No shell, no arguments from the model, only allow-listed environment variables; enforced time and
 * size limits.
 *
 * `tool.metadata` has the file's digest as `executableDigest`, which approvals are bound to, and {@link ExecutableInfo}
 * as `executable`. A changed file is noticed at the next call, which fails with `executable_changed`.
 *
 * Lines `{"progress": ...}` on stderr go to `context.progress()`; `metadata.undo` of an answer goes to
 * `context.undoData()`.
 *
 * @param path absolute
 * @throws TypeError for a relative path and for options that cannot be
 * @throws ToolError `executable_refused`, `executable_changed` (see `digest`), `invalid_tool` for what `--schema`
 *   prints
 * @throws ExecutableError `spawn_failed`, `timeout`, `too_large`, `tool_failed`, `invalid_answer`, `aborted` of
 *   `--schema`
 * @example
 * const resize = await loadExecutable(resolve("tools/resize"), { timeoutMs: 5_000, effect: "idempotent" });
 * await resize.use({ file: "a.png", width: 200 }).execute();
 */
export async function loadExecutable(path: string, options: ExecutableOptions = {}): Promise<Tool> {
  checkOptionNames("loadExecutable()", options, OPTIONS);
  const settings = settingsOf(options);
  const program = await openProgram(path, settings);
  const definition = await askDefinition(path, program, settings);
  const { inputSchema, outputSchema, description } = definition;
  const { realPath, digest } = program.file;
  const name = settings.name ?? definition.name;
  const executable: ExecutableInfo = Object.freeze({ path, realPath, digest });
  return makeTool(
    {
      name,
      inputSchema,
      effect: settings.effect ?? definition.effect ?? "write",
      // An executor's own limit is for handlers that know none; this one does, and says better what happened.
      timeoutMs: Math.min(settings.timeoutMs + 2 * settings.graceMs, MAX_TIMER_MS),
      ...settings.policy,
      metadata: { ...definition.metadata, executableDigest: digest, executable },
      description,
      outputSchema,
      execute: (input, context) => callProgram(name, program, settings, input, context),
    },
    path,
  );
}
