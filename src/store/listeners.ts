import type { StoreChange } from "./store.ts";

type Listener = (change: StoreChange) => void;

/** The listeners of a store, by prefix. */
export interface Listeners {
  readonly isEmpty: boolean;
  /** @returns a function that removes it: nothing is reported to it from then on */
  add(prefix: string, listener: Listener): () => void;
  tell(change: StoreChange): void;
  /** Tells all listeners to read again what they depend on. */
  tellMissed(): void;
  clear(): void;
}

/** A listener's failure does not reach the writer or the other listeners. */
export function createListeners(): Listeners {
  /**
   * By the length of their prefixes, then by prefix: a change looks up one prefix of each length, however many
   * listeners wait for other keys.
   */
  const all = new Map<number, Map<string, Set<{ readonly listener: Listener }>>>();
  return {
    get isEmpty() {
      return all.size === 0;
    },
    add(prefix, listener) {
      const { length } = prefix;
      const entry = { listener };
      const alike = all.get(length) ?? new Map<string, Set<typeof entry>>();
      const same = alike.get(prefix) ?? new Set();
      all.set(length, alike.set(prefix, same.add(entry)));
      return () => {
        if (!same.delete(entry) || same.size > 0) return;
        alike.delete(prefix);
        if (alike.size === 0) all.delete(length);
      };
    },
    tell(change) {
      // A listener that an earlier one removes is not called any more: iterating a Set skips it.
      for (const [length, alike] of all) {
        for (const { listener } of alike.get(change.key.slice(0, length)) ?? []) call(listener, change);
      }
    },
    tellMissed() {
      for (const alike of all.values()) {
        for (const [key, same] of alike) for (const { listener } of same) call(listener, { type: "missed", key });
      }
    },
    clear() {
      all.clear();
    },
  };
}

function call(listener: Listener, change: StoreChange): void {
  try {
    const result: unknown = listener(change);
    if (result instanceof Promise) result.catch(() => {});
  } catch {}
}
