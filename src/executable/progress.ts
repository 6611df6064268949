import type { ProgressLine } from "./stderr.ts";

/** Progress on its way to who listens. */
export interface ProgressQueue {
  push(line: ProgressLine): void;
  /** Waits until all is told, or `waitMs` have passed; then tells no more. */
  end(waitMs: number): Promise<void>;
}

/** A program can print faster than it can be told: of what waits, so many lines are kept, and then the newest only. */
const MAX_WAITING = 100;

/** Tells one line after the other, each when the listener is done with the one before. What it throws is ignored. */
export function createProgressQueue(listener: (line: ProgressLine) => unknown): ProgressQueue {
  const waiting: ProgressLine[] = [];
  let telling: Promise<void> | undefined;

  return {
    push(line) {
      if (waiting.length === MAX_WAITING) waiting.pop();
      waiting.push(line);
      telling ??= tell();
    },
    async end(waitMs) {
      if (telling === undefined) return;
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((done) => (timer = setTimeout(done, waitMs)));
      await Promise.race([telling, patience]);
      clearTimeout(timer);
      waiting.length = 0;
    },
  };

  async function tell(): Promise<void> {
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      try {
        await listener(line);
      } catch {
        // whoever listens to progress has no say in the call
      }
    }
    telling = undefined;
  }
}
