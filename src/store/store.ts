/** What can be stored: anything that `JSON.stringify` and `JSON.parse` return unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** One value as the store knows it. */
export interface StoreEntry<Value = unknown> {
  readonly key: string;
  /** A copy: changing it does not change the store. */
  readonly value: Value;
  /** Grows with every write to the store; never 0 and never reused, not even after a delete. */
  readonly version: number;
  /** When the value expires, in milliseconds since 1970; `null`: never. */
  readonly expiresAt: number | null;
}

/** Options of `put()`. */
export interface PutOptions {
  /**
   * Write only if this is the stored version; `0`: only if there is none. If omitted: write in any case.
   * Comparing and writing is one atomic step, between processes too.
   */
  readonly expectedVersion?: number | undefined;
  /**
   * How long the value is kept, in milliseconds. If omitted or `null`: forever, even if the previous one had a limit;
   * `"keep"`: as long as the previous one.
   */
  readonly ttlMs?: number | "keep" | null | undefined;
}

/** Options of `delete()`. */
export interface DeleteOptions {
  /** Delete only this version. If nothing is stored, there is nothing to delete and no conflict. */
  readonly expectedVersion?: number | undefined;
}

/** Options of `list()`. */
export interface ListOptions {
  /** Only keys after this one: the last key of the previous page. */
  readonly after?: string | undefined;
  /** At most this many entries. Default: all. */
  readonly limit?: number | undefined;
}

/**
 * One change under a prefix. The value may have changed again since: read it. `missed`: the connection was lost for a
 * while; `key` is the prefix of the subscription, and anything under it may have changed.
 */
export interface StoreChange {
  readonly key: string;
  readonly type: "put" | "delete" | "missed";
}

/**
 * Where approvals, undo data and the state of runs are kept. Few methods, one suite for all drivers
 * (`test/store/conformance.ts`):
 *
 * ```
 * get(key) -> { value, version }      put(key, value, { expectedVersion: version })      // compare and set
 * list("approval/run_1/") -> in key order (by UTF-16 code unit)
 * subscribe("approval/run_1/", ({ key }) => …)
 * ```
 *
 * Keys are printable ASCII, made with {@link storeKey}; others are rejected with a TypeError. A failing backend throws
 * ToolError `store_failed`: the caller must then treat the outcome as unknown, never as "not there".
 */
export interface Store {
  /** The driver's name, for messages. */
  readonly name: string;
  /** `undefined` if there is no value, or it has expired. */
  get<Value = unknown>(key: string): Promise<StoreEntry<Value> | undefined>;
  /**
   * Writes, and returns the new entry.
   *
   * @throws ToolError `version_conflict` when the stored version is not the expected one: nothing was written
   * @throws TypeError for a value that JSON cannot hold
   */
  put<Value>(key: string, value: Value, options?: PutOptions): Promise<StoreEntry<Value>>;
  /** True if something was deleted. @throws ToolError `version_conflict` */
  delete(key: string, options?: DeleteOptions): Promise<boolean>;
  /** All entries whose key begins with the prefix, in key order. */
  list<Value = unknown>(prefix: string, options?: ListOptions): Promise<StoreEntry<Value>[]>;
  /**
   * Reports each change under the prefix, whichever process made it. Several changes of one key may be reported as one;
   * expired values are not reported. A listener that throws has no effect.
   *
   * @returns ends the subscription; resolves when nothing more will be reported
   */
  subscribe(prefix: string, listener: (change: StoreChange) => void): Promise<() => Promise<void>>;
  /** Releases what the driver holds: its file, its subscriptions. The user's own client stays open. */
  close(): Promise<void>;
}

/**
 * A key made of parts that may hold anything: `storeKey("approval", "run/1", "a")` is `approval/run%2F1/a`. With one
 * part per level, no id can reach into another's keys.
 */
export function storeKey(...parts: readonly (string | number)[]): string {
  return parts.map((part) => encoded(String(part))).join("/");
}

/** Lone surrogates, which no URI can hold, become `%uD800`: nothing else encodes to that, since `%` becomes `%25`. */
function encoded(part: string): string {
  if (part.isWellFormed()) return encodeURIComponent(part);
  return Array.from(part, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  ).join("");
}
