import type { StoreChange } from "./store.ts";

type Listener = (change: StoreChange) => void;

/** Who listens under which prefix. */
export interface Listeners {
  readonly size: number;
  /** @returns ends it: nothing more is told from then on */
  add(prefix: string, listener: Listener): () => void;
  tell(change: StoreChange): void;
  /** Tells everyone to read again what they depend on. */
  tellMissed(): void;
  clear(): void;
}

/** A listener's failure is its own affair: it reaches neither the writer nor the other listeners. */
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
      // A listener that is removed by one before it is not told any more: a Set's iteration leaves it out.
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
