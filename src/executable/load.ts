import { ToolError, isToolError } from "../errors.ts";
import { makeTool, type Tool, type ToolContext } from "../tool/tool.ts";
import { readAnswer } from "./answer.ts";
import { checkFile, type CheckedFile } from "./check-file.ts";
import { readDefinition, type Definition } from "./definition.ts";
import { createDigests } from "./digest.ts";
import { environmentOf } from "./environment.ts";
import { ExecutableError, runOf, type ExecutableRun } from "./error.ts";
import { settingsOf, type ExecutableOptions } from "./options.ts";
import { interruption, readJson } from "./output.ts";
import { runProcess, type ProcessOutcome } from "./process.ts";
import type { ProgressLine } from "./stderr.ts";

/** What `tool.metadata.executable` says of a tool that is a program. */
export interface ExecutableInfo {
  /** As it was given. */
  readonly path: string;
  /** Where its links lead; what is run. */
  readonly realPath: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/**
 * A program as a tool. It is asked once what it is, with `--schema`; then each call is a process of its own, with the
 * input as JSON on stdin and `{"success": true, "result": ...}` or `{"success": false, "error": "..."}` as JSON on stdout.
 * No shell, no argument of the model's, no environment but an allow-list; limits of time and size that hold.
 *
 * `tool.metadata` has the digest of the file as `executableDigest`, and {@link ExecutableInfo} as `executable`: what an approval
 * is bound to. A file that changes is noticed at the next call, which then fails with `executable_changed`.
 *
 * Lines `{"progress": ...}` on stderr go to `context.progress()`; what an answer has as `metadata.undo` goes to
 * `context.undoData()`.
 *
 * @param path absolute
 * @throws TypeError for a relative path and for options that can not be
 * @throws ToolError `executable_refused`, `executable_changed` (see `digest`), `invalid_tool` for what `--schema` prints
 * @throws ExecutableError `spawn_failed`, `timeout`, `too_large`, `tool_failed`, `invalid_answer`, `aborted` of `--schema`
 * @example
 * const resize = await loadExecutable(resolve("tools/resize"), { timeoutMs: 5_000, effect: "idempotent" });
 * await resize.use({ file: "a.png", width: 200 }).execute();
 */
export async function loadExecutable(path: string, options: ExecutableOptions = {}): Promise<Tool> {
  const settings = settingsOf(options);
  const digests = createDigests();
  const checked = await checkFile(path, settings, digests);
  if (settings.digest !== undefined && settings.digest !== checked.digest) {
    throw new ToolError("executable_changed", `The executable ${path} is ${checked.digest}, not ${settings.digest}.`);
  }
  const definition = await askDefinition();
  const name = settings.name ?? definition.name;
  const executable: ExecutableInfo = { path, realPath: checked.realPath, digest: checked.digest };
  return makeTool(
    {
      name,
      inputSchema: definition.inputSchema,
      effect: settings.effect ?? definition.effect ?? "write",
      // An executor's own limit is for handlers that know none; this one does, and says better what happened.
      timeoutMs: Math.min(settings.timeoutMs + 2 * settings.graceMs, 2 ** 31 - 1),
      ...settings.policy,
      metadata: { ...definition.metadata, executableDigest: checked.digest, executable: Object.freeze(executable) },
      ...(definition.description === undefined ? {} : { description: definition.description }),
      ...(definition.outputSchema === undefined ? {} : { outputSchema: definition.outputSchema }),
      execute: call,
    },
    path,
  );

  async function askDefinition(): Promise<Definition> {
    const outcome = await run(["--schema"], "", {
      env: typeof settings.env === "function" ? {} : settings.env,
      timeoutMs: settings.schemaTimeoutMs,
      maxOutputBytes: settings.maxSchemaBytes,
      signal: settings.signal,
    });
    const loading = `The executable ${path} --schema`;
    const info = runOf(path, undefined, outcome);
    const limits = { ...settings, timeoutMs: settings.schemaTimeoutMs, maxOutputBytes: settings.maxSchemaBytes };
    const stopped = interruption(outcome.end, { ...limits, signal: settings.signal });
    if (stopped !== undefined) {
      throw new ExecutableError(stopped.code, `${loading} ${stopped.reason}.`, info, { cause: stopped.cause });
    }
    if (info.exitCode !== 0) {
      const ending = info.signal === null ? `ended with status ${info.exitCode}` : `was ended by ${info.signal}`;
      throw new ExecutableError("tool_failed", `${loading} ${ending}.${lastWords(info)}`, info);
    }
    const json = readJson(outcome.stdout, settings.maxDepth);
    if (!("value" in json)) {
      throw new ExecutableError(json.code, `${loading} ${json.reason}.`, info, { cause: json.cause });
    }
    try {
      return readDefinition(json.value);
    } catch (error) {
      if (!isToolError(error)) throw error;
      const { code, message, issues } = error;
      throw new ToolError(code, `${loading}: ${message}`, { issues, cause: error });
    }
  }

  async function call(input: unknown, context: ToolContext): Promise<unknown> {
    await checkAgain();
    const text = inputText(input);
    const outcome = await run([], text, {
      env: { ...callEnv(context), ...(typeof settings.env === "function" ? settings.env(context) : settings.env) },
      timeoutMs: settings.timeoutMs,
      maxOutputBytes: settings.maxOutputBytes,
      signal: context.signal,
      onProgress: (line) => context.progress(line),
    });
    const info = runOf(name, context.invocationId, outcome);
    const stopped = interruption(outcome.end, { ...settings, signal: context.signal });
    if (stopped !== undefined) {
      report(info);
      throw new ExecutableError(stopped.code, `The program ${stopped.reason}.`, info, { cause: stopped.cause });
    }
    const answer = readAnswer(outcome, settings.maxDepth);
    const told = { ...info, metadata: answer.metadata };
    report(told);
    if (answer.failure === undefined) {
      if (Object.hasOwn(answer.metadata, "undo")) context.undoData(answer.metadata["undo"]);
      return answer.result;
    }
    const { code, message, cause } = answer.failure;
    throw new ExecutableError(code, message, told, { cause });
  }

  /** Between the approval of a call and the call lies time: what is run now has to be what was loaded. */
  async function checkAgain(): Promise<void> {
    let now: CheckedFile;
    try {
      now = await checkFile(path, settings, digests);
    } catch (cause) {
      const code = isToolError(cause) ? cause.code : "executable_refused";
      throw new ToolError(code, "The program can not be run any more.", { cause });
    }
    if (now.digest === checked.digest && now.realPath === checked.realPath) return;
    throw new ToolError(
      "executable_changed",
      "The program was changed after it was loaded, and is not run. It has to be loaded and approved again.",
    );
  }

  function run(
    args: readonly string[],
    input: string,
    how: {
      env: Readonly<Record<string, string>>;
      timeoutMs: number;
      maxOutputBytes: number;
      signal: AbortSignal | undefined;
      onProgress?: ((line: ProgressLine) => unknown) | undefined;
    },
  ): Promise<ProcessOutcome> {
    return runProcess({
      file: checked.realPath,
      args,
      input,
      cwd: settings.cwd,
      graceMs: settings.graceMs,
      maxStderrBytes: settings.maxStderrBytes,
      onProgress: undefined,
      ...how,
      env: environmentOf(settings.inheritEnv, how.env),
    });
  }

  function report(info: ExecutableRun): void {
    try {
      settings.onRun?.(info);
    } catch {
      // a log that fails is no failure of the call
    }
  }
}

/** By these a program can see that it is asked twice for one thing. Ids come from providers, too: only plain ones. */
function callEnv({ invocationId, idempotencyKey }: ToolContext): Record<string, string> {
  const ids = { TOOLSTREAM_INVOCATION_ID: invocationId, TOOLSTREAM_IDEMPOTENCY_KEY: idempotencyKey };
  return Object.fromEntries(Object.entries(ids).filter(([, id]) => /^[\w.:+/=-]{1,256}$/.test(id)));
}

/** JSON.stringify writes a lone surrogate as an escape, so that the bytes are UTF-8 whatever the model wrote. */
function inputText(input: unknown): string {
  try {
    return JSON.stringify(input) ?? "null";
  } catch (cause) {
    throw new ToolError("invalid_input", "The input can not be written as JSON.", { cause });
  }
}

/** Whoever loads a program is its developer, and may read what it said. */
function lastWords({ stderr }: ExecutableRun): string {
  const last = stderr.trimEnd().split("\n").at(-1)!.trim();
  return last === "" ? "" : ` It says: ${last.slice(0, 500)}`;
}
