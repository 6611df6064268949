import { onTestFinished, vi } from "vitest";

/** How many of the timers run that are started from now on with about this delay; for the rest of the test. */
export function timersOf(ms: number): () => number {
  const [started, stopped] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
  onTestFinished(() => {
    started.mockRestore();
    stopped.mockRestore();
  });
  return () => {
    const timers = started.mock.calls.flatMap(([, delay], at) =>
      Math.abs(delay! - ms) < ms / 10 ? [started.mock.results[at]!.value as unknown] : [],
    );
    return timers.filter((timer) => !stopped.mock.calls.some(([one]) => one === timer)).length;
  };
}
