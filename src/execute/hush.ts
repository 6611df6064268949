/**
 * Takes the promises in a value that goes nowhere for handled: one that a handler forgot to await, and that is rejected
 * later, would end the process (https://nodejs.org/api/cli.html#--unhandled-rejectionsmode). Only those of the engine are
 * told of so; to ask another `then()` could begin what it stands for, a query for instance.
 */
export function hush(value: unknown): void {
  const seen = new Set<object>();
  const waiting = [value];
  while (waiting.length > 0 && seen.size < MAX_OBJECTS) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    unlessItThrows(() => {
      if (next instanceof Promise) void Promise.prototype.then.call(next, undefined, () => {});
    });
    const keys = unlessItThrows(() => Object.keys(next)) ?? [];
    for (const key of keys) waiting.push(unlessItThrows(() => (next as Record<string, unknown>)[key]));
  }
}

/** As a getter may, and all of a proxy. */
function unlessItThrows<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

const MAX_OBJECTS = 100_000;
