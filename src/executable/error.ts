import { ToolError, type ToolErrorCode } from "../errors.ts";

/** What is known of one run of a program. */
export interface ExecutableRun {
  readonly tool: string;
  /** `undefined` while the program is loaded. */
  readonly invocationId: string | undefined;
  /** The answer's `metadata`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** `null` if a signal ended it, or if it was never started. */
  readonly exitCode: number | null;
  /** Also `null` if it was ended by us, at a limit or for the caller: the error's code says why. */
  readonly signal: string | null;
  /** The first 16 Ki characters of what it printed. */
  readonly stdout: string;
  /** The last 16 Ki characters, without progress lines. */
  readonly stderr: string;
  readonly durationMs: number;
}

/** What the system lacks at the moment; `undefined` if the code says something else. */
export function shortage(code: string | undefined): string | undefined {
  if (!/^(?:EAGAIN|EMFILE|ENFILE|ENOMEM)$/.test(code ?? "")) return undefined;
  return `the system has no room for another process or file (${code})`;
}

/**
 * A failed run. The `message` is for the model: it contains no path, and of the program's output only its `error`. The
 * details for the developer are in `run`.
 */
export class ExecutableError extends ToolError {
  readonly run: ExecutableRun;

  constructor(code: ToolErrorCode, message: string, run: ExecutableRun, options: { cause?: unknown } = {}) {
    super(code, message, options);
    this.name = "ExecutableError";
    this.run = run;
  }
}
