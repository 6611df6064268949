import { MAX_TIMER_MS } from "../../time.ts";

/** Waits until woken, for a time, or until a signal fires. A wake-up before the wait is not lost. */
export interface WakeUp {
  wake(): void;
  /** Resolves when woken, after `ms`, or when the signal fires. */
  wait(ms: number): Promise<void>;
}

/** Listens to the signal only while waiting, so that no listener is left behind if something fails between waits. */
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
