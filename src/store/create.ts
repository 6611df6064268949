import { isConflict } from "./errors.ts";
import type { PutOptions, Store, StoreEntry } from "./store.ts";

/**
 * Writes an entry if there is none under its key: of several writers, one succeeds.
 *
 * @returns `undefined` if there is one already
 * @throws ToolError `store_failed`
 */
export async function create<Value>(
  store: Store,
  key: string,
  value: Value,
  options: Pick<PutOptions, "ttlMs"> = {},
): Promise<StoreEntry<Value> | undefined> {
  try {
    return await store.put(key, value, { ...options, expectedVersion: 0 });
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}
