import { cut, type ToolErrorCode } from "../errors.ts";
import { isRecord } from "../schema/json.ts";
import { readJson } from "./output.ts";
import type { ProcessOutcome } from "./process.ts";

/** Why a call failed; `message` is for the model. */
interface Failure {
  readonly code: ToolErrorCode;
  readonly message: string;
  readonly cause?: unknown;
}

/** The outcome of a call. */
export type Answer = (
  | { readonly failure: undefined; readonly result: unknown }
  | { readonly failure: Failure; readonly result?: undefined }
) & { readonly metadata: Readonly<Record<string, unknown>> };

const SHAPE = 'it has to print one JSON object: {"success": true, "result": ...} or {"success": false, "error": "..."}';
/** An error is read by the model: a sentence or a few, not a log. In UTF-16 units. */
const MAX_ERROR_LENGTH = 4_000;

/**
 * Reads a program's answer. Both what it prints and its exit status count.
 *
 * ```
 * {"success": true, "result": R, "metadata"?: {}}, status 0         -> R
 * {"success": false, "error": "why"}, {"error": "why"}, any status  -> tool_failed: why
 * {"success": true, ...}, status 1                                  -> tool_failed: says it succeeded, but ended with 1
 * anything else, status 1                                           -> tool_failed: ended with status 1
 * anything else, status 0                                           -> invalid_answer
 * ```
 *
 * @param outcome of a process that ended by itself
 */
export function readAnswer({ end, stdout }: ProcessOutcome, maxDepth: number): Answer {
  const status = end.type === "exited" ? (end.signal ?? end.exitCode) : null;
  const ending = typeof status === "string" ? `was ended by ${status}` : `ended with status ${status}`;
  const json = readJson(stdout, maxDepth);
  if (!("value" in json)) {
    const { code, reason, cause } = json;
    if (code === "too_large") return failed(code, `The program ${reason}.`, {}, cause);
    if (status !== 0) return failed("tool_failed", `The program ${ending}.`, {}, cause);
    return failed(code, `The program ${reason}; ${SHAPE}.`, {}, cause);
  }
  const value = isRecord(json.value) ? json.value : undefined;
  const metadata = isRecord(value?.["metadata"]) ? value["metadata"] : {};
  const success = value?.["success"];
  if (success === true) {
    if (status === 0) return { failure: undefined, result: value!["result"] ?? null, metadata };
    return failed("tool_failed", `The program says that it succeeded, but ${ending}.`, metadata);
  }
  if (success === false || (success === undefined && value !== undefined && Object.hasOwn(value, "error"))) {
    return failed(
      "tool_failed",
      errorText(value!["error"]) ?? `The program failed and says no more; it ${ending}.`,
      metadata,
    );
  }
  if (status !== 0) return failed("tool_failed", `The program ${ending}.`, metadata);
  const instead = value === undefined ? "no object" : 'no "success": true or false';
  return failed("invalid_answer", `The program printed ${instead}; ${SHAPE}.`, metadata);
}

function failed(code: ToolErrorCode, message: string, metadata: Answer["metadata"], cause?: unknown): Answer {
  return { failure: { code, message, cause }, metadata };
}

/** A string, or an object with one as its `message`. */
function errorText(error: unknown): string | undefined {
  const text = isRecord(error) && typeof error["message"] === "string" ? error["message"] : error;
  if (text === undefined || text === null || text === "") return undefined;
  return cut(typeof text === "string" ? text : JSON.stringify(text), MAX_ERROR_LENGTH);
}
