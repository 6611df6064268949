/**
 * Marks the promises in a discarded value as handled: one that a handler forgot to await, and that rejects later, would
 * crash the process (https://nodejs.org/api/cli.html#--unhandled-rejectionsmode). Only native promises are reported that
 * way; calling `then()` of other thenables could start something, such as a lazy query.
 */
export function hush(value: unknown): void {
  const seen = new Set<object>();
  const waiting: object[] = [];
  let looks = 0;
  const look = (at: unknown) => {
    if (typeof at === "object" && at !== null && !seen.has(at)) waiting.push(at);
    return ++looks < MAX_LOOKS;
  };
  look(value);
  for (let next = waiting.pop(); next !== undefined && looks < MAX_LOOKS; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const object = next;
    unlessItThrows(() => {
      if (object instanceof Promise) void Promise.prototype.then.call(object, undefined, () => {});
    });
    // Nothing but bytes.
    if (ArrayBuffer.isView(object)) continue;
    unlessItThrows(() => {
      if (object instanceof Map) for (const [key, item] of MAP.call(object)) if (!look(key) || !look(item)) break;
      if (object instanceof Set) for (const item of SET.call(object)) if (!look(item)) break;
    });
    for (const key of unlessItThrows(() => Object.keys(object)) ?? []) {
      if (!look(unlessItThrows(() => (object as Record<string, unknown>)[key]))) break;
    }
  }
}

/** Getters may throw, and so may any operation on a proxy. */
function unlessItThrows<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** The built-in method, not an override in a subclass. */
const MAP = Map.prototype.entries as (this: Map<unknown, unknown>) => MapIterator<[unknown, unknown]>;
const SET = Set.prototype.values as (this: Set<unknown>) => SetIterator<unknown>;

const MAX_LOOKS = 1_000_000;
