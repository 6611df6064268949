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

/**
 * A copy of the messages of a turn, which came as JSON and may hold images, so they are not written out to look at them.
 * Ids stay as they are, since results refer to them.
 */
export function wellFormedTurn<T>(value: T, key = ""): T {
  if (typeof value === "string") return (/id$/i.test(key) ? value : value.toWellFormed()) as T;
  if (Array.isArray(value)) return value.map((inner: unknown) => wellFormedTurn(inner, key)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name.toWellFormed(), wellFormedTurn(inner, name)]);
  return Object.fromEntries(entries) as T;
}

/** A JSON text with whole characters only, written out or escaped; the text itself if it has no others. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed();
  if (!/\\ud/i.test(text)) return text;
  // Two halves of one character, half of one, or any other escape, which may be that of a backslash.
  return text.replaceAll(/\\(?:ud[89ab]..\\ud[c-f]..|ud[89a-f]..|.)/gi, (escape) =>
    escape.length === 6 ? "\ufffd" : escape,
  );
}
