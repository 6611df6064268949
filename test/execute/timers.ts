import { onTestFinished, vi } from "vitest";

/** How many of the timers run that are started from now on with about this delay; for the rest of the test. */
export function timersOf(ms: number): () => number {
  const started = (["setTimeout", "setInterval"] as const).map((name) => vi.spyOn(globalThis, name));
  const stopped = (["clearTimeout", "clearInterval"] as const).map((name) => vi.spyOn(globalThis, name));
  onTestFinished(() => {
    for (const spy of [...started, ...stopped]) spy.mockRestore();
  });
  return () => {
    const isOver = new Set<unknown>(stopped.flatMap(({ mock }) => mock.calls.map(([timer]) => timer)));
    return started.flatMap(({ mock }) =>
      mock.calls.filter(
        ([, delay], at) => Math.abs(delay! - ms) < ms / 10 && !isOver.has(mock.results[at]!.value as unknown),
      ),
    ).length;
  };
}
