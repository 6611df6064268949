import { settlesWithin } from "../time.ts";

/** Progress of a program or a server, on its way to a listener. */
export interface ProgressQueue<Value> {
  push(value: Value): void;
  /** Waits for a second at most until everything is delivered, unless the signal has fired; then delivers no more. */
  end(signal: AbortSignal | undefined): Promise<void>;
}

/** Progress can come faster than it is delivered: this many values wait, and beyond that only the newest is kept. */
const MAX_WAITING = 100;
/** How long listeners may delay an outcome, which is told after the progress. */
const MAX_WAIT_MS = 1_000;

/** Delivers values one at a time, each once the listener is done with the one before. Its errors are ignored. */
export function createProgressQueue<Value>(listener: (value: Value) => unknown): ProgressQueue<Value> {
  const waiting: Value[] = [];
  let telling: Promise<void> | undefined;

  return {
    push(value) {
      if (waiting.length === MAX_WAITING) waiting.pop();
      waiting.push(value);
      telling ??= tell();
    },
    async end(signal) {
      if (telling !== undefined && signal?.aborted !== true) await settlesWithin(MAX_WAIT_MS, telling);
      waiting.length = 0;
    },
  };

  async function tell(): Promise<void> {
    while (waiting.length > 0) {
      try {
        await listener(waiting.shift()!);
      } catch {
        // a progress listener has no say in the call
      }
    }
    telling = undefined;
  }
}
