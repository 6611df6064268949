/** What can be kept: anything that `JSON.stringify` and `JSON.parse` give back unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** One value as the store knows it. */
export interface StoreEntry<Value = unknown> {
  readonly key: string;
  /** A copy: changing it changes nothing in the store. */
  readonly value: Value;
  /** Grows with every write to the store, never 0 and never used twice, also not after a delete. */
  readonly version: number;
  /** When the value vanishes, in milliseconds since 1970; `null`: never. */
  readonly expiresAt: number | null;
}

/** What `put()` may be told. */
export interface PutOptions {
  /**
   * Write only if this is the version now stored; `0`: only if there is none. Left out: write in any case.
   * Comparing and writing is one step, between processes too.
   */
  expectedVersion?: number;
  /**
   * How long the value is kept, in milliseconds. Left out or `null`: for ever, also when the last one had a limit;
   * `"keep"`: as long as the last one.
   */
  ttlMs?: number | "keep" | null;
}

/** What `delete()` may be told. */
export interface DeleteOptions {
  /** Delete only this version. When nothing is stored there is nothing to delete, and no conflict. */
  expectedVersion?: number;
}

/** What `list()` may be told. */
export interface ListOptions {
  /** Only keys behind this one: the last key of the page before. */
  after?: string;
  /** At most so many entries. Default: all. */
  limit?: number;
}

/**
 * One change under a prefix. The value may have changed again since: read it. `missed`: the connection was lost for a
 * while, `key` is the prefix of the subscription, and anything under it may have changed.
 */
export interface StoreChange {
  readonly key: string;
  readonly type: "put" | "delete" | "missed";
}

/**
 * Where approvals, undo data and the state of runs are kept. Few verbs, one suite for all drivers
 * (`test/store/conformance.ts`):
 *
 * ```
 * get(key) -> { value, version }      put(key, value, { expectedVersion: version })      // compare and set
 * list("approval/run_1/") -> in the order of their keys (by UTF-16 code unit)
 * subscribe("approval/run_1/", ({ key }) => …)
 * ```
 *
 * Keys are printable ASCII, made with {@link storeKey}; others are refused with a TypeError. A failing backend throws ToolError `store_failed`: whoever asked must then treat
 * the outcome as unknown, never as "not there".
 */
export interface Store {
  /** The driver's name, for messages. */
  readonly name: string;
  /** `undefined` when there is no value, or its time is over. */
  get<Value = unknown>(key: string): Promise<StoreEntry<Value> | undefined>;
  /**
   * Writes and gives the entry as it is now.
   *
   * @throws ToolError `version_conflict` when another version is stored than the expected one: nothing was written
   * @throws TypeError for a value that JSON can not hold
   */
  put<Value>(key: string, value: Value, options?: PutOptions): Promise<StoreEntry<Value>>;
  /** True when something was deleted. @throws ToolError `version_conflict` */
  delete(key: string, options?: DeleteOptions): Promise<boolean>;
  /** All entries whose key begins with the prefix, in key order. */
  list<Value = unknown>(prefix: string, options?: ListOptions): Promise<StoreEntry<Value>[]>;
  /**
   * Tells of each change under the prefix, whichever process made it. Several changes of one key may be told as one;
   * values that expire are not told. A listener that throws changes nothing.
   *
   * @returns ends the subscription; resolves when no more will be told
   */
  subscribe(prefix: string, listener: (change: StoreChange) => void): Promise<() => Promise<void>>;
  /** Gives back what the driver holds: its file, its subscriptions. The user's own client stays open. */
  close(): Promise<void>;
}

/**
 * A key of parts that may hold anything: `storeKey("approval", "run/1", "a")` is `approval/run%2F1/a`. With a part for
 * every level no id can reach into another's keys.
 */
export function storeKey(...parts: readonly (string | number)[]): string {
  return parts.map((part) => encoded(String(part))).join("/");
}

/** Lone surrogates, which no URI can hold, become `%uD800`: no other text is written so, as a `%` is always `%25`. */
function encoded(part: string): string {
  if (part.isWellFormed()) return encodeURIComponent(part);
  return Array.from(part, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  ).join("");
}
