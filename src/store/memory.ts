import { parseJson } from "../json/parse.ts";
import { checkDelete, checkKey, checkList, checkPut, checkSubscribe, endOf } from "./arguments.ts";
import { closed, conflict } from "./errors.ts";
import { createListeners } from "./listeners.ts";
import { createSortedKeys } from "./sorted-keys.ts";
import type { ListOptions, PutOptions, Store, StoreChange, StoreEntry } from "./store.ts";
import { textOf } from "./value.ts";

/** A value is kept as its JSON: copied in, copied out, and what other stores would reject is rejected here too. */
interface Row {
  readonly text: string;
  readonly version: number;
  readonly expiresAt: number | null;
}

/** After this many writes (or as many as there are rows, if that is more), all rows are checked for expired ones. */
const SWEEP_AFTER = 1_000;

/**
 * A store in this process: for tests, and for applications whose approvals and runs may end with the process.
 *
 * @example
 * const store = memoryStore();
 * const { version } = await store.put(storeKey("note", "1"), { text: "Hi" });
 * await store.put(storeKey("note", "1"), { text: "Hello" }, { expectedVersion: version });
 */
export function memoryStore(): Store {
  const name = "memory";
  const rows = new Map<string, Row>();
  /** The keys of `rows`, sorted. */
  const keys = createSortedKeys();
  const listeners = createListeners();
  let lastVersion = 0;
  let writes = 0;
  let isClosed = false;

  function assertOpen(): void {
    if (isClosed) throw closed(name);
  }

  function find(key: string): Row | undefined {
    const row = rows.get(key);
    if (row === undefined || !isOver(row)) return row;
    remove(key);
    return undefined;
  }

  function remove(key: string): void {
    rows.delete(key);
    keys.delete(key);
  }

  function sweep(): void {
    if (++writes < Math.max(SWEEP_AFTER, rows.size)) return;
    writes = 0;
    for (const [key, row] of rows) if (isOver(row)) remove(key);
  }

  /** Deferred, so that no listener runs inside the writer's call. */
  function tell(change: StoreChange): void {
    if (!listeners.isEmpty) queueMicrotask(() => listeners.tell(change));
  }

  return {
    name,

    async get<Value>(key: string) {
      checkKey(key);
      assertOpen();
      const row = find(key);
      return row === undefined ? undefined : entryOf<Value>(key, row);
    },

    async put<Value>(key: string, value: Value, options: PutOptions = {}) {
      checkPut(key, options);
      const text = textOf(value);
      assertOpen();
      sweep();
      const { expectedVersion, ttlMs = null } = options;
      const stored = find(key);
      if (expectedVersion !== undefined && expectedVersion !== (stored?.version ?? 0)) {
        throw conflict(key, expectedVersion, stored?.version ?? 0);
      }
      if (stored === undefined) keys.add(key);
      const keptUntil = stored?.expiresAt ?? null;
      const expiresAt = ttlMs === "keep" ? keptUntil : ttlMs === null ? null : Date.now() + Math.ceil(ttlMs);
      const row: Row = { text, version: ++lastVersion, expiresAt };
      rows.set(key, row);
      tell({ key, type: "put" });
      return entryOf<Value>(key, row);
    },

    async delete(key, options = {}) {
      checkDelete(key, options);
      assertOpen();
      const stored = find(key);
      if (stored === undefined) return false;
      const { expectedVersion = stored.version } = options;
      if (expectedVersion !== stored.version) throw conflict(key, expectedVersion, stored.version);
      remove(key);
      tell({ key, type: "delete" });
      return true;
    },

    async list<Value>(prefix: string, options: ListOptions = {}) {
      checkList(prefix, options);
      assertOpen();
      const { after, limit = Infinity } = options;
      const end = endOf(prefix);
      const entries: StoreEntry<Value>[] = [];
      for (const key of keys.from(after !== undefined && after >= prefix ? after : prefix)) {
        if (entries.length >= limit || (end !== undefined && key >= end)) break;
        const row = rows.get(key)!;
        if (key !== after && !isOver(row)) entries.push(entryOf<Value>(key, row));
      }
      return entries;
    },

    async subscribe(prefix, listener) {
      checkSubscribe(prefix, listener);
      assertOpen();
      const stop = listeners.add(prefix, listener);
      return async () => stop();
    },

    async close() {
      isClosed = true;
      listeners.clear();
      rows.clear();
      keys.clear();
    },
  };
}

function isOver({ expiresAt }: Row): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

function entryOf<Value>(key: string, { text, version, expiresAt }: Row): StoreEntry<Value> {
  return { key, value: parseJson(text) as Value, version, expiresAt };
}
