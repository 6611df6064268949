import isNetworkError from "is-network-error";
import { ToolError } from "../errors.ts";
import { pause, startTimer } from "../time.ts";
import { settle } from "../tool/progress.ts";
import type { Tool } from "../tool/tool.ts";

/** How the handler ended. */
export type HandlerEnd =
  | { readonly ok: true; readonly value: unknown }
  /**
   * `code`: `timeout`, `aborted`, `unbegun` (aborted before it began), `lost` (another process has taken over), or
   * `execution_failed`.
   */
  | {
      readonly ok: false;
      readonly code: "timeout" | "aborted" | "unbegun" | "lost" | "execution_failed";
      readonly cause: unknown;
    };

/** The end of a handler that did not return. */
export type HandlerFailure = Extract<HandlerEnd, { readonly ok: false }>;

/** How a handler is run. */
export interface HandlerRun {
  /** Begins one attempt. */
  readonly handler: (attempt: number, signal: AbortSignal) => unknown;
  /**
   * Records an attempt before it begins; the first one was recorded already. Throws when it must not begin: the one
   * before it was then the last.
   */
  readonly beforeAttempt?: (attempt: number) => Promise<void>;
  readonly onProgress?: (value: unknown) => Promise<void>;
  /** The handler came to its end after it had been given up. */
  readonly onLate?: (end: HandlerEnd) => void;
  /** Default 1. */
  readonly firstAttempt?: number;
  /** Default 0. */
  readonly retries?: number | undefined;
  /** Milliseconds before the first retry; doubles with each. */
  readonly retryDelayMs?: number;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Started, and to be stopped from outside. */
export interface RunningHandler {
  readonly ended: Promise<HandlerEnd>;
  /** Another process has taken over. */
  lose(): void;
}

/**
 * Runs a handler to its end, to its timeout or to the caller's abort, whichever is first, with retries. Settles then,
 * even if the handler never does; never rejects.
 */
export function runHandler(run: HandlerRun): RunningHandler {
  const { timeoutMs, signal } = run;
  // A signal that has already fired does not fire again: a handler started now would never notice.
  if (signal?.aborted === true) {
    return { ended: Promise.resolve({ ok: false, code: "unbegun", cause: signal.reason }), lose: () => {} };
  }
  const controller = new AbortController();
  let giveUp!: (code: "timeout" | "aborted" | "lost", cause: unknown) => void;
  const givenUp = new Promise<HandlerEnd>((resolve) => {
    giveUp = (code, cause) => {
      resolve({ ok: false, code, cause });
      controller.abort(cause);
    };
  });
  const onAbort = () => giveUp("aborted", signal!.reason);
  const onTimeout = () => giveUp("timeout", new ToolError("timeout", `It took longer than ${timeoutMs} ms.`));
  const stopTimer = timeoutMs === undefined ? () => {} : startTimer(timeoutMs, onTimeout);
  signal?.addEventListener("abort", onAbort);

  const ended = attempts(run, controller.signal).then((end) => {
    // The handler merely reacting to our own abort is not worth reporting.
    const isHeard = !end.ok && end.cause === controller.signal.reason;
    if (controller.signal.aborted && !isHeard) run.onLate?.(end);
    return end;
  });
  const first = Promise.race([ended, givenUp]).finally(() => {
    stopTimer();
    signal?.removeEventListener("abort", onAbort);
    // The signal of a handler that has ended does not fire.
    giveUp = () => {};
  });
  return {
    ended: first,
    lose: () => giveUp("lost", new ToolError("aborted", "Another process has taken over.")),
  };
}

async function attempts(run: HandlerRun, signal: AbortSignal): Promise<HandlerEnd> {
  const { handler, onProgress = async () => {}, firstAttempt = 1, retries = 0, retryDelayMs = 0 } = run;
  const last = firstAttempt + retries;
  try {
    for (let attempt = firstAttempt; ; attempt++) {
      let failure: unknown;
      try {
        return { ok: true, value: await settle(await handler(attempt, signal), onProgress, signal) };
      } catch (error) {
        if (attempt >= last || signal.aborted || isMistake(error)) throw error;
        failure = error;
      }
      const delayMs = retryDelayMs * 2 ** (attempt - firstAttempt) * (1 + Math.random());
      await pause(delayMs, signal);
      signal.throwIfAborted();
      await run.beforeAttempt?.(attempt + 1).catch(() => {
        throw failure;
      });
      // The signal may have fired during that write: a handler started now would never notice.
      signal.throwIfAborted();
    }
  } catch (cause) {
    return { ok: false, code: "execution_failed", cause };
  }
}

/**
 * What is told of a handler that was cut short; `undefined` if it ended by itself, with an error.
 *
 * @param who the tool's name, or "It"
 */
export function cutShort(
  { code }: HandlerFailure,
  who: string,
  { effect }: Tool,
  timeoutMs: number | undefined,
): { readonly code: "timeout" | "aborted"; readonly message: string } | undefined {
  if (code === "execution_failed") return undefined;
  const mayHave = effect === "write" ? " It may have had its effect nevertheless." : "";
  if (code === "timeout") return { code, message: `${who} did not end within ${timeoutMs} ms.${mayHave}` };
  return { code: "aborted", message: `${who} was aborted while it ran.${mayHave}` };
}

/** A bug in the handler, which a retry does not help. Network failures of `fetch` are TypeErrors too, and are none. */
function isMistake(error: unknown): boolean {
  return error instanceof TypeError && !isNetworkError(error);
}
