import type { StoreChange } from "./store.ts";

type Listener = (change: StoreChange) => void;

/** The listeners of a store, by prefix. */
export interface Listeners {
  readonly size: number;
  /** @returns a function that removes it: nothing is reported to it from then on */
  add(prefix: string, listener: Listener): () => void;
  tell(change: StoreChange): void;
  /** Tells all listeners to read again what they depend on. */
  tellMissed(): void;
  clear(): void;
}

/** A listener's failure does not reach the writer or the other listeners. */
export function createListeners(): Listeners {
  const all = new Set<{ readonly prefix: string; readonly listener: Listener }>();
  return {
    get size() {
      return all.size;
    },
    add(prefix, listener) {
      const entry = { prefix, listener };
      all.add(entry);
      return () => void all.delete(entry);
    },
    tell(change) {
      // A listener that an earlier one removes is not called any more: iterating a Set skips it.
      for (const { prefix, listener } of all) if (change.key.startsWith(prefix)) call(listener, change);
    },
    tellMissed() {
      for (const { prefix, listener } of all) call(listener, { type: "missed", key: prefix });
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
