import { settlesWithin } from "../time.ts";

/** Progress of a program, or of a server, on its way to who listens. */
export interface ProgressQueue<Value> {
  push(value: Value): void;
  /** Waits until all is told, or `waitMs` have passed; then tells no more. */
  end(waitMs: number): Promise<void>;
}

/** It can come faster than it can be told: of what waits, so many values are kept, and then the newest only. */
const MAX_WAITING = 100;

/** Tells one value after the other, each when the listener is done with the one before. What it throws is ignored. */
export function createProgressQueue<Value>(listener: (value: Value) => unknown): ProgressQueue<Value> {
  const waiting: Value[] = [];
  let telling: Promise<void> | undefined;

  return {
    push(value) {
      if (waiting.length === MAX_WAITING) waiting.pop();
      waiting.push(value);
      telling ??= tell();
    },
    async end(waitMs) {
      if (telling === undefined) return;
      await settlesWithin(waitMs, telling);
      waiting.length = 0;
    },
  };

  async function tell(): Promise<void> {
    while (waiting.length > 0) {
      try {
        await listener(waiting.shift()!);
      } catch {
        // whoever listens to progress has no say in the call
      }
    }
    telling = undefined;
  }
}
