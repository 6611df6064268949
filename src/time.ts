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
export function checkMs(name: string, ms: number): void {
  if (isTimerMs(ms)) return;
  const got = typeof ms === "string" ? JSON.stringify(ms) : String(ms);
  throw new TypeError(`${name} is ${got}. Expected milliseconds above 0, at most ${MAX_TIMER_MS}.`);
}

/**
 * Starts a timer, and returns what stops it. When it fires, events that have already come are handled first: while this
 * process was busy, or stopped in a debugger, what is waited for may have come in time.
 */
export function startTimer(ms: number, work: () => void): () => void {
  let timer = setTimeout(() => (timer = setTimeout(work)), ms);
  return () => clearTimeout(timer);
}

/** Waits this many milliseconds (not at all if that is not positive), or until the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (!(ms > 0) || signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
    signal?.addEventListener("abort", end);
  });
}

/** Whether a promise settles, either way, within this many milliseconds; it is not waited for any longer. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let stopTimer!: () => void;
  const isOver = () => true;
  const tooLate = new Promise<false>((resolve) => (stopTimer = startTimer(ms, () => resolve(false))));
  return Promise.race([promise.then(isOver, isOver), tooLate]).finally(stopTimer);
}
