/**
 * Half characters (lone surrogates) become U+FFFD: a text that was cut by its length may end in one. `JSON.stringify` says
 * them, and Anthropic then refuses the request, and every one after it that has the same history: "The request body is not
 * valid JSON: no low surrogate in string". https://github.com/anthropics/claude-code/issues/2108
 */
import { parseJson } from "./parse.ts";

/** A JSON value without half characters, in keys too; the value itself, where it has none. */
export function wellFormed<T>(value: T): T {
  if (typeof value === "string") return value.toWellFormed() as T;
  const json = JSON.stringify(value) ?? "null";
  const mended = wellFormedJson(json);
  return mended === json ? value : (parseJson(mended) as T);
}

/** @param json of `JSON.stringify`, which writes a whole pair as it is, and an escape for nothing but half of one */
export function wellFormedJson(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replaceAll(/\\(?:ud...|.)/g, (escape) => (escape.length > 2 ? "\ufffd" : escape));
}
