import { cut, isToolError, ToolError } from "../errors.ts";
import { readDefinition, type Definition } from "./definition.ts";
import { ExecutableError } from "./error.ts";
import type { Settings } from "./options.ts";
import { interruption, readJson, runOf } from "./output.ts";
import type { Program } from "./program.ts";

/**
 * Asks a program what it is. The error messages are for the developer: they contain the path and the program's output.
 *
 * @throws ExecutableError `spawn_failed`, `timeout`, `too_large`, `tool_failed`, `invalid_answer`, `aborted`
 * @throws ToolError `invalid_tool`, `too_large` for an unusable definition
 */
export async function askDefinition(path: string, program: Program, settings: Settings): Promise<Definition> {
  const limits = {
    timeoutMs: settings.schemaTimeoutMs,
    maxOutputBytes: settings.maxSchemaBytes,
    signal: settings.signal,
  };
  const env = typeof settings.env === "function" ? {} : settings.env;
  const outcome = await program.run({ args: ["--schema"], input: "", env, onProgress: undefined, ...limits });
  const asked = `The executable ${path} --schema`;
  const run = runOf(path, undefined, outcome);
  const stopped = interruption(outcome, { ...settings, ...limits });
  if (stopped !== undefined) {
    throw new ExecutableError(stopped.code, `${asked} ${stopped.reason}.`, run, { cause: stopped.cause });
  }
  if (run.exitCode !== 0) {
    const ending = run.signal === null ? `ended with status ${run.exitCode}` : `was ended by ${run.signal}`;
    throw new ExecutableError("tool_failed", `${asked} ${ending}.${lineOf(run.stderr, -1)}`, run);
  }
  const json = readJson(outcome.stdout, settings.maxDepth);
  if (!("value" in json)) {
    // Where it is no JSON: mostly a usage, or a word in front of the JSON; else a word behind it.
    const line = json.reason.includes("more") ? -1 : 0;
    const said = json.cause === undefined ? lineOf(run.stderr, -1) : lineOf(String(outcome.stdout), line);
    throw new ExecutableError(json.code, `${asked} ${json.reason}.${said}`, run, { cause: json.cause });
  }
  try {
    return readDefinition(json.value);
  } catch (error) {
    if (!isToolError(error)) throw error;
    const { code, message, issues } = error;
    throw new ToolError(code, `${asked}: ${message}`, { issues, cause: error });
  }
}

/** One line of what a program printed, counted from its first or, with -1, its last one. */
function lineOf(text: string, at: number): string {
  const line = text.trim().split("\n").at(at)!.trim();
  return line === "" ? "" : ` It says: ${cut(line, 500)}`;
}
