import { setOwn } from "../../src/schema/json.ts";
import { memoryStore, type Store, type StoreEntry } from "../../src/store/index.ts";

/** A store that keeps values as the `jsonb` of Postgres does: the keys of objects come back the short ones first. */
export function unorderedStore(inner: Store = memoryStore()): Store {
  const entryOf = <Value>(entry: StoreEntry<Value>) => ({ ...entry, value: reordered(entry.value) as Value });
  return {
    ...inner,
    async get<Value>(key: string) {
      const entry = await inner.get<Value>(key);
      return entry && entryOf(entry);
    },
    put: async (key, value, options) => entryOf(await inner.put(key, value, options)),
    list: async <Value>(prefix: string, options?: object) => (await inner.list<Value>(prefix, options)).map(entryOf),
  };
}

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  const object = {};
  for (const key of Object.keys(value).toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))) {
    setOwn(object, key, reordered((value as Record<string, unknown>)[key]));
  }
  return object;
}
