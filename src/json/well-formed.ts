/**
 * Lone surrogates become U+FFFD: a text that was cut by length may end in one. `JSON.stringify` keeps them, and
 * Anthropic then rejects the request, and every later one with the same history: "The request body is not valid JSON:
 * no low surrogate in string". https://github.com/anthropics/claude-code/issues/2108
 */
import { parseJson } from "./parse.ts";

/** A JSON value without lone surrogates, also in keys; the value itself if it has none. */
export function wellFormed<T>(value: T): T {
  if (typeof value === "string") return value.toWellFormed() as T;
  const json = JSON.stringify(value) ?? "null";
  const mended = wellFormedJson(json);
  return mended === json ? value : (parseJson(mended) as T);
}

/** @param json from `JSON.stringify`, which writes whole pairs as they are, and a \ud escape only for half of one */
export function wellFormedJson(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replaceAll(/\\(?:ud...|.)/g, (escape) => (escape.length > 2 ? "\ufffd" : escape));
}
