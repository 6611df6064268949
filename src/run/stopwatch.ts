/** Whole milliseconds from now on. The clock of the machine may be set back meanwhile, and no time is below zero. */
export function stopwatch(): () => number {
  const startedAt = performance.now();
  return () => Math.round(performance.now() - startedAt);
}
