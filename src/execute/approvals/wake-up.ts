import { MAX_TIMER_MS } from "../../time.ts";

/** Somebody who waits until woken, for a time, or until a signal fires; a wake-up before the wait is not lost. */
export interface WakeUp {
  wake(): void;
  /** Resolves when woken, after `ms`, or when the signal fires. */
  wait(ms: number): Promise<void>;
}

/** Only a wait listens to the signal, so that nothing stays with it whatever fails between the waits. */
export function createWakeUp(signal?: AbortSignal): WakeUp {
  let isAwake = false;
  let resume: (() => void) | undefined;
  return {
    wake() {
      isAwake = true;
      resume?.();
    },
    async wait(ms) {
      if (!isAwake && signal?.aborted !== true) {
        const woken = Promise.withResolvers<void>();
        resume = woken.resolve;
        signal?.addEventListener("abort", resume);
        const timer = setTimeout(resume, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
        await woken.promise;
        clearTimeout(timer);
        signal?.removeEventListener("abort", resume);
        resume = undefined;
      }
      isAwake = false;
    },
  };
}
