import { existsSync } from "node:fs";
import { changedLiteral, exceedsDepth, hasHugeNumber, parseJson } from "../json/index.ts";
import { messageOf, type ToolErrorCode } from "../errors.ts";
import { shortage, type ExecutableRun } from "./error.ts";
import type { Settings } from "./options.ts";
import type { ProcessOutcome } from "./process.ts";

/** Why a run's output cannot be read. */
export interface Unreadable {
  readonly code: ToolErrorCode;
  /** Continues "The program of x": contains no path, and nothing that the program printed. */
  readonly reason: string;
  readonly cause?: unknown;
}

const SHOWN = 16 * 1024;

/** What the caller is told about a run. */
export function runOf(
  tool: string,
  invocationId: string | undefined,
  { end, stdout, stderr, durationMs }: ProcessOutcome,
): ExecutableRun {
  return {
    tool,
    invocationId,
    metadata: {},
    exitCode: end.type === "exited" ? end.exitCode : null,
    signal: end.type === "exited" ? end.signal : null,
    stdout: stdout.toString("utf8", 0, SHOWN * 4).slice(0, SHOWN),
    stderr,
    durationMs,
  };
}

/** Why a run did not end by itself; `undefined` if it did. */
export function interruption(
  { end, stdout }: ProcessOutcome,
  limits: Pick<Settings, "timeoutMs" | "maxOutputBytes" | "maxStderrBytes" | "maxDepth" | "cwd"> & {
    readonly signal: AbortSignal | undefined;
  },
): Unreadable | undefined {
  switch (end.type) {
    case "exited":
      return undefined;
    case "timeout": {
      // An open connection or an interval keeps many a program alive that has done all it had to do.
      const hasAnswered = "value" in readJson(stdout, limits.maxDepth);
      const but = hasAnswered ? ", although it had printed its answer: it has to end by itself" : "";
      return { code: "timeout", reason: `took longer than ${limits.timeoutMs} ms and was ended${but}` };
    }
    case "aborted":
      return { code: "aborted", reason: "was ended, since the caller gave up", cause: limits.signal?.reason };
    case "too_large": {
      const max = end.stream === "stdout" ? limits.maxOutputBytes : limits.maxStderrBytes;
      return { code: "too_large", reason: `printed more than ${max} bytes to ${end.stream} and was ended` };
    }
    case "not_started":
      return {
        code: "spawn_failed",
        reason: `could not be started: ${startFailure(end.error, limits.cwd)}`,
        cause: end.error,
      };
    default:
      return end satisfies never;
  }
}

function startFailure({ code, message }: NodeJS.ErrnoException, cwd: string): string {
  // The system has the same codes for a folder that it cannot enter as for a program (nodejs/node#11520).
  if (/^(?:ENOENT|ENOTDIR|EACCES)$/.test(code ?? "") && !existsSync(`${cwd}/.`)) {
    return `the working directory is not there, or may not be entered (${code})`;
  }
  switch (code) {
    case "ENOENT":
      return "the interpreter that its first line names, or the loader of a compiled program, is not there (ENOENT)";
    case "EACCES":
      return "the system does not allow it (EACCES): its interpreter, its folder or its file system forbid it";
    case "ENOEXEC":
      return "the system does not know this kind of program (ENOEXEC)";
    case "E2BIG":
      return "the environment is too large (E2BIG)";
    case "ETXTBSY":
      return "its file is open for writing (ETXTBSY)";
    default:
      return shortage(code) ?? code ?? message;
  }
}

/** The single JSON value that a program printed. A leading byte order mark is skipped, as RFC 8259 allows. */
export function readJson(stdout: Buffer, maxDepth: number): { readonly value: unknown } | Unreadable {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(stdout);
  } catch {
    const isUtf16 = /^(?:\xff\xfe|\xfe\xff)/.test(stdout.toString("latin1", 0, 2));
    return invalid(isUtf16 ? "printed UTF-16; it has to be UTF-8" : "printed what is no UTF-8");
  }
  if (text.trim() === "") return invalid("printed nothing to stdout");
  if (exceedsDepth(text, maxDepth)) {
    return { code: "too_large", reason: `printed JSON that is nested deeper than ${maxDepth}` };
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    const hasMore = /^\s*[[{]/.test(text) && messageOf(cause).includes("after JSON"); // as V8 says it
    return invalid(hasMore ? "printed more after its JSON value" : "printed what is no JSON", cause);
  }
  const literal = hasHugeNumber(value) ? changedLiteral(text) : undefined;
  if (literal === undefined) return { value };
  return invalid(`printed a number that would be read as another one (${literal.slice(0, 40)}): it has to be a text`);
}

function invalid(reason: string, cause?: unknown): Unreadable {
  return { code: "invalid_answer", reason, cause };
}
