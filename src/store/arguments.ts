import { cut } from "../errors.ts";
import type { DeleteOptions, ListOptions, PutOptions } from "./store.ts";

/** User input is checked here, once, so that all drivers reject the same things with the same messages. */

/** Printable ASCII: here the order of UTF-16 code units equals the order of bytes, in every backend. */
const KEY = /^[\x20-\x7e]+$/;

/** @throws TypeError */
export function checkKey(key: string): void {
  if (typeof key !== "string" || !KEY.test(key)) {
    throw new TypeError(`Not a key of a store: ${shown(key)}. Expected printable ASCII, as storeKey() makes it.`);
  }
}

/** @throws TypeError */
export function checkPrefix(prefix: string): void {
  if (prefix !== "" && (typeof prefix !== "string" || !KEY.test(prefix))) {
    throw new TypeError(
      `Not a prefix of keys: ${shown(prefix)}. Expected the beginning of a key, as storeKey() makes it.`,
    );
  }
}

/** The first key after all keys with the prefix; `undefined` if every key has it. */
export function endOf(prefix: string): string | undefined {
  if (prefix === "") return undefined;
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

/** @throws TypeError */
export function checkPut(key: string, { expectedVersion, ttlMs }: PutOptions): void {
  checkKey(key);
  checkVersion(expectedVersion, 0);
  const wrong = ttlMs !== undefined && ttlMs !== null && ttlMs !== "keep" && !(ttlMs > 0 && ttlMs <= MAX_TTL_MS);
  if (wrong) throw new TypeError(`ttlMs is ${shown(ttlMs)}. Expected milliseconds above 0, "keep" or null.`);
}

/** A thousand years: anything longer is a mistake, and would overflow in some backends. */
const MAX_TTL_MS = 1_000 * 365 * 86_400_000;

/** @throws TypeError */
export function checkDelete(key: string, { expectedVersion }: DeleteOptions): void {
  checkKey(key);
  checkVersion(expectedVersion, 1);
}

/** @throws TypeError */
export function checkList(prefix: string, { after, limit }: ListOptions): void {
  checkPrefix(prefix);
  if (after !== undefined) checkPrefix(after);
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw new TypeError(`limit is ${shown(limit)}. Expected a whole number of entries.`);
  }
}

function checkVersion(version: number | undefined, least: number): void {
  if (version !== undefined && !(Number.isSafeInteger(version) && version >= least)) {
    throw new TypeError(`expectedVersion is ${shown(version)}. Expected the version of an entry that was read.`);
  }
}

function shown(value: unknown): string {
  return cut(typeof value === "string" ? JSON.stringify(value) : String(value), 100);
}
