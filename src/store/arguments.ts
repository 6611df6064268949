import { cut } from "../errors.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
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
function checkPrefix(prefix: string): void {
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
export function checkSubscribe(prefix: string, listener: unknown): void {
  checkPrefix(prefix);
  if (typeof listener !== "function") throw new TypeError(`The listener is ${shown(listener)}. Expected a function.`);
}

/** @throws TypeError */
export function checkPut(key: string, options: PutOptions): void {
  checkKey(key);
  checkOptionNames("put()", options, PUT);
}

/** A thousand years: anything longer is a mistake, and would overflow in some backends. */
const MAX_TTL_MS = 1_000 * 365 * 86_400_000;

/** @throws TypeError */
export function checkDelete(key: string, options: DeleteOptions): void {
  checkKey(key);
  checkOptionNames("delete()", options, DELETE);
}

/** @throws TypeError */
export function checkList(prefix: string, options: ListOptions): void {
  checkPrefix(prefix);
  checkOptionNames("list()", options, LIST);
}

// A condition with a typo in its name would be none: the write would replace whatever is there.
const PUT: OptionNames<PutOptions> = {
  expectedVersion: (_, version) => checkVersion(version, 0),
  ttlMs(_, ms) {
    if (ms === null || ms === "keep" || (ms > 0 && ms <= MAX_TTL_MS)) return;
    throw new TypeError(`ttlMs is ${shown(ms)}. Expected milliseconds above 0, "keep" or null.`);
  },
};
const DELETE: OptionNames<DeleteOptions> = { expectedVersion: (_, version) => checkVersion(version, 1) };
const LIST: OptionNames<ListOptions> = {
  after: (_, after) => checkPrefix(after),
  limit(_, limit) {
    if (Number.isSafeInteger(limit) && limit >= 0) return;
    throw new TypeError(`limit is ${shown(limit)}. Expected a whole number of entries.`);
  },
};

function checkVersion(version: number, least: number): void {
  if (Number.isSafeInteger(version) && version >= least) return;
  throw new TypeError(`expectedVersion is ${shown(version)}. Expected the version of an entry that was read.`);
}

function shown(value: unknown): string {
  return cut(typeof value === "string" ? JSON.stringify(value) : String(value), 100);
}
