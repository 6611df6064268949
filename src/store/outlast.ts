import { orderedText } from "../json/index.ts";
import { pause } from "../time.ts";
import { isConflict, isStoreFailure } from "./errors.ts";
import type { Store, StoreEntry } from "./store.ts";

/** How long to wait before each further attempt, in milliseconds, for a store that fails briefly. */
export const BRIEFLY: readonly number[] = [50, 200];

/** Tries again after each of the pauses, as long as the store fails; once the signal has fired, no more. */
export async function outlast<T>(
  pausesMs: readonly number[],
  attempt: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (const waitMs of pausesMs) {
    try {
      return await attempt();
    } catch (error) {
      if (!isStoreFailure(error) || signal?.aborted === true) throw error;
    }
    await pause(waitMs, signal);
  }
  return attempt();
}

/**
 * `put()` with an expected version, tried again after each of the pauses, as long as the store fails. A store that
 * failed may still have written, which a read shows.
 *
 * @returns `undefined` if another writer was faster
 * @throws ToolError `store_failed`
 */
export function putSurely<Value>(
  store: Store,
  key: string,
  value: Value,
  expectedVersion: number,
  pausesMs: readonly number[] = [],
): Promise<StoreEntry<Value> | undefined> {
  let isInDoubt = false;
  return outlast(pausesMs, async () => {
    try {
      return await store.put(key, value, { expectedVersion });
    } catch (error) {
      isInDoubt ||= !isConflict(error);
      // At once: after a pause, whoever takes what was released may have written on top of it.
      const stored = isInDoubt ? await store.get<Value>(key) : undefined;
      if (stored !== undefined && orderedText(stored.value) === orderedText(value)) return stored;
      if (isConflict(error)) return undefined;
      throw error;
    }
  });
}
