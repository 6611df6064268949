/**
 * The longest wait of a timer: one with a longer delay fires immediately.
 * https://developer.mozilla.org/docs/Web/API/Window/setTimeout#maximum_delay_value
 */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a timer can wait that long. */
export function isTimerMs(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= MAX_TIMER_MS;
}

/** Checks a setting that becomes a timer. @throws TypeError */
export function checkMs(name: string, ms: number, least = "above 0"): void {
  if (isTimerMs(ms)) return;
  const got = typeof ms === "string" ? JSON.stringify(ms) : String(ms);
  throw new TypeError(`${name} is ${got}. Expected milliseconds ${least}, at most ${MAX_TIMER_MS}.`);
}

/** Checks a setting that is waited for, or, if it is 0, not at all. @throws TypeError */
export function checkDelayMs(name: string, ms: number): void {
  if (ms !== 0) checkMs(name, ms, "from 0");
}

/**
 * Starts a timer, and returns what stops it. When it fires, events that have already come are handled first: while this
 * process was busy, or stopped in a debugger, what is waited for may have come in time.
 */
export function startTimer(ms: number, work: () => void): () => void {
  // A delay of 0, since fake timers may take none for NaN: those of node:test then find no timer behind it.
  let timer = setTimeout(() => (timer = setTimeout(work, 0)), ms);
  return () => clearTimeout(timer);
}

/** Elapsed whole milliseconds from now on. Never negative, even if the machine's clock is set back. */
export function stopwatch(): () => number {
  const startedAt = performance.now();
  return () => Math.round(performance.now() - startedAt);
}

/** Waits this many milliseconds (not at all if that is not positive), or until the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms > 0) await createWakeUp(signal).wait(ms);
}

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

/** Whether a promise settles, either way, within this many milliseconds; it is not waited for any longer. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let stopTimer!: () => void;
  const isOver = () => true;
  const tooLate = new Promise<false>((resolve) => (stopTimer = startTimer(ms, () => resolve(false))));
  return Promise.race([promise.then(isOver, isOver), tooLate]).finally(stopTimer);
}
