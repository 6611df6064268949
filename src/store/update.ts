import { checkOptionNames, fromZero, type OptionNames } from "../tool/option-names.ts";
import { isConflict } from "./errors.ts";
import { pause } from "../time.ts";
import type { PutOptions, Store, StoreEntry } from "./store.ts";

/** Options of `updateEntry()`. */
export interface UpdateOptions {
  /** How long the new value is kept. Default: `"keep"`, as long as the previous one. */
  readonly ttlMs?: PutOptions["ttlMs"] | undefined;
  /** How often it may lose against other writers before it gives up. Default 100. */
  readonly maxConflicts?: number | undefined;
  /** Ends the wait between two attempts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads, changes and writes one value so that no other writer's change is lost: if another writer came in between, it
 * reads again, after a short random wait.
 *
 * `change` gets a copy of the value (`undefined` if there is none), which it may modify and return. It may run several
 * times, so it should do nothing else. If it returns `undefined`, nothing is written.
 *
 * @returns the current entry; `undefined` if there was none and none was created
 * @throws ToolError `version_conflict` after `maxConflicts`; whatever `change` or the store throws
 * @example
 * await updateEntry<number>(store, storeKey("calls", runId), (count = 0) => count + 1);
 */
export async function updateEntry<Value>(
  store: Store,
  key: string,
  change: (
    value: Value | undefined,
    entry: StoreEntry<Value> | undefined,
  ) => Value | undefined | Promise<Value | undefined>,
  options: UpdateOptions = {},
): Promise<StoreEntry<Value> | undefined> {
  checkOptionNames("updateEntry()", options, OPTIONS);
  const { ttlMs = "keep", maxConflicts = 100, signal } = options;

  async function attempt(): Promise<StoreEntry<Value> | undefined> {
    const entry = await store.get<Value>(key);
    const value = await change(entry?.value, entry);
    if (value === undefined) return entry;
    return store.put(key, value, { expectedVersion: entry?.version ?? 0, ttlMs });
  }

  for (let conflicts = 0; ; conflicts++) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || conflicts >= maxConflicts) throw error;
    }
    await pause(Math.min(2 ** conflicts * (1 + Math.random()), MAX_PAUSE_MS), signal);
  }
}

const OPTIONS: OptionNames<UpdateOptions> = { ttlMs: true, maxConflicts: fromZero, signal: true };
const MAX_PAUSE_MS = 50;
