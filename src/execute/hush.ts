import { unlessItThrows } from "../quietly.ts";

/**
 * Marks the promises in a discarded value as handled: one that a handler forgot to await, and that rejects later, would
 * crash the process (https://nodejs.org/api/cli.html#--unhandled-rejectionsmode). Only native promises are reported that
 * way; calling `then()` of other thenables could start something, such as a lazy query.
 */
export function hush(value: unknown): void {
  const found = new Set<unknown>([value]);
  // It grows meanwhile.
  for (const object of found) {
    if (found.size > MAX_VALUES) return;
    if (typeof object !== "object" || object === null || ArrayBuffer.isView(object)) continue;
    // Getters may throw, and so may any operation on a proxy.
    unlessItThrows(() => {
      if (object instanceof Promise) void Promise.prototype.then.call(object, undefined, () => {});
      if (object instanceof Map) for (const entry of MAP.call(object)) found.add(entry);
      if (object instanceof Set) for (const item of SET.call(object)) found.add(item);
    });
    for (const key of unlessItThrows(() => Object.keys(object)) ?? []) {
      found.add(unlessItThrows(() => (object as Record<string, unknown>)[key]));
    }
  }
}

/** The built-in method, not an override in a subclass. */
const MAP = Map.prototype.entries as (this: Map<unknown, unknown>) => MapIterator<[unknown, unknown]>;
const SET = Set.prototype.values as (this: Set<unknown>) => SetIterator<unknown>;

const MAX_VALUES = 1_000_000;
