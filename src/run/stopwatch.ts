/** Elapsed whole milliseconds from now on. Never negative, even if the machine's clock is set back. */
export function stopwatch(): () => number {
  const startedAt = performance.now();
  return () => Math.round(performance.now() - startedAt);
}
