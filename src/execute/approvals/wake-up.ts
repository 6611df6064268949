import { MAX_TIMER_MS } from "../../time.ts";

/** Somebody who waits until woken, for a time, or until a signal fires; a wake-up before the wait is not lost. */
export interface WakeUp {
  wake(): void;
  /** Resolves when woken, after `ms`, or when the signal fires. */
  wait(ms: number): Promise<void>;
  /** No more waiting: gives the signal its listener back. */
  end(): void;
}

export function createWakeUp(signal?: AbortSignal): WakeUp {
  let isAwake = signal?.aborted === true;
  let resume: (() => void) | undefined;
  const wake = () => {
    isAwake = true;
    resume?.();
  };
  signal?.addEventListener("abort", wake);
  return {
    wake,
    async wait(ms) {
      if (!isAwake) {
        let timer: ReturnType<typeof setTimeout> | undefined;
        await new Promise<void>((resolve) => {
          resume = resolve;
          timer = setTimeout(resolve, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
        });
        clearTimeout(timer);
        resume = undefined;
      }
      isAwake = false;
    },
    end() {
      signal?.removeEventListener("abort", wake);
      wake();
    },
  };
}
