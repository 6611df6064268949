import * as fc from "../fast-check.ts";
import type { JsonChange } from "../../src/json/index.ts";

/** A text in pieces, cut at these places (taken modulo its length). */
export function cutAt(text: string, places: readonly number[]): string[] {
  const sorted = [...new Set(places.map((place) => place % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...sorted].map((from, i) => text.slice(from, sorted[i] ?? text.length));
}

/**
 * JSON texts as JSON.stringify never writes them: random spacing, escapes where none are needed, odd numbers,
 * lone surrogates, duplicate keys (unless `uniqueKeys`), keys like `__proto__`. No backslash in keys: after such a key
 * JSON.parse of V8 14 takes other keys for it (https://github.com/nodejs/node/issues/63785).
 */
export function jsonText({ uniqueKeys = false } = {}): fc.Arbitrary<string> {
  const space = fc.constantFrom("", "", "", " ", "\n\t", " \r\n ");
  const char = fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 }).map((text) => JSON.stringify(text).slice(1, -1)),
    fc.constantFrom(
      "\\n",
      "\\/",
      "\\u0041",
      "\\ud83d\\ude00",
      "\\ud83d",
      "\\udE00",
      "\ud83d",
      "\ude00",
      '\\"',
      "\\\\",
      "😀",
      "\u2028",
    ),
  );
  const string = fc.array(char, { maxLength: 6 }).map((chars) => `"${chars.join("")}"`);
  const number = fc.oneof(
    fc.double().map((value) => JSON.stringify(value)),
    fc.constantFrom("0", "-0", "1E5", "-1.50e-007", "1e400", "12345678901234567890", "0.10"),
  );
  const key = fc.oneof(
    string.filter(hasNoBackslash),
    fc.constantFrom('"__proto__"', '"a"', '"b"', '"0"', '"constructor"'),
  );
  const { text } = fc.letrec<{ text: string; object: string; array: string }>((tie) => ({
    text: fc
      .tuple(
        space,
        fc.oneof(
          { depthSize: "small" },
          string,
          number,
          fc.constantFrom("true", "false", "null"),
          tie("object"),
          tie("array"),
        ),
        space,
      )
      .map((pieces) => pieces.join("")),
    object: fc
      .array(fc.tuple(space, key, space, tie("text")), { maxLength: 4 })
      .map((entries) => (uniqueKeys ? entries.filter(isFirst) : entries))
      .map((entries) => `{${entries.map(([a, name, b, value]) => `${a}${name}${b}:${value}`).join(",")}}`),
    array: fc.array(tie("text"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
  }));
  return fc.oneof(text, fc.json().filter(hasNoBackslash));
}

/** What is meant by the content of a string in which line breaks and tabs are not escaped, and apostrophes are. */
function meant(text: string): string {
  return JSON.parse(`"${text.replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\\'", "'")}"`) as string;
}

/** A broken text and what is meant by it. */
export interface Broken {
  readonly text: string;
  readonly value: unknown;
}

/**
 * Objects and arrays as models break them, complete: bare words, single quotes, comments, line breaks in strings,
 * trailing commas. Brackets and commas stand in strings and comments too; bare quotes in strings do not, since no rule
 * tells for sure where such a string ends.
 */
export function brokenText(): fc.Arbitrary<Broken> {
  const space = fc.constantFrom("", "", " ", "\n", " // a } ] \n", '/* } ] " */ ');
  const word: fc.Arbitrary<Broken> = fc.constantFrom(
    { text: "Dave", value: "Dave" },
    { text: "New York", value: "New York" },
    { text: "größe", value: "größe" },
    { text: "True", value: true },
    { text: "None", value: null },
    { text: "12", value: 12 },
    { text: "-.5", value: -0.5 },
    { text: "00123", value: "00123" },
  );
  const char = fc.constantFrom(..."ab}{][:, \n\t/*å", "\\n", '\\"', "\\'", "\\\\", "\\u00e5", "//");
  const content = fc.array(char, { maxLength: 8 }).map((chars) => chars.join(""));
  const quoted: fc.Arbitrary<Broken> = fc.oneof(
    content.map((text) => ({ text: `"${text}"`, value: meant(text) })),
    content.map((text) => ({ text: `'${text}'`, value: meant(text) })),
    content.map((text) => ({ text: `"it's ${text}"`, value: `it's ${meant(text)}` })),
  );
  const name: fc.Arbitrary<Broken> = fc.oneof(
    fc.constantFrom({ text: "a", value: "a" }, { text: "key_1", value: "key_1" }, { text: "größe", value: "größe" }),
    quoted.filter(({ text }) => !text.includes("\n")),
  );
  const comma = fc.constantFrom("", ",");
  const { container } = fc.letrec<{ value: Broken; object: Broken; array: Broken; container: Broken }>((tie) => ({
    value: fc.oneof({ depthSize: "small" }, word, quoted, tie("container")),
    container: fc.oneof(tie("object"), tie("array")),
    object: fc
      .tuple(fc.array(fc.tuple(space, name, space, tie("value"), space), { maxLength: 4 }), comma)
      .map(([entries, last]) => ({
        text: `{${entries.map(([a, key, b, value, c]) => `${a}${key.text}${b}:${a}${value.text}${c}`).join(",")}${entries.length > 0 ? last : ""}}`,
        value: Object.fromEntries(entries.map(([, key, , value]) => [key.value, value.value])),
      })),
    array: fc.tuple(fc.array(fc.tuple(space, tie("value"), space), { maxLength: 4 }), comma).map(([items, last]) => ({
      text: `[${items.map(([a, item, b]) => `${a}${item.text}${b}`).join(",")}${items.length > 0 ? last : ""}]`,
      value: items.map(([, item]) => item.value),
    })),
  }));
  return container;
}

function hasNoBackslash(text: string): boolean {
  return !text.includes("\\\\");
}

function isFirst(entry: readonly string[], index: number, entries: readonly (readonly string[])[]): boolean {
  const name = JSON.parse(entry[1]!) as string;
  return entries.findIndex((other) => JSON.parse(other[1]!) === name) === index;
}

/** Is `partial` what one has seen of `whole`? Only the last thing in it may be unfinished. */
export function isPrefix(partial: unknown, whole: unknown): boolean {
  if (partial === undefined) return true;
  if (typeof partial === "string") return typeof whole === "string" && whole.startsWith(partial);
  if (typeof partial !== "object" || partial === null) return Object.is(partial, whole);
  if (typeof whole !== "object" || whole === null || Array.isArray(partial) !== Array.isArray(whole)) return false;
  // Integer-like keys come first whatever the text says, so the last key of an object is any one of them.
  const keys = Object.keys(partial);
  let unfinished = 0;
  for (const key of keys) {
    if (!Object.hasOwn(whole, key)) return false;
    const [a, b] = [(partial as Record<string, unknown>)[key], (whole as Record<string, unknown>)[key]];
    if (isSame(a, b)) continue;
    if (++unfinished > 1 || !isPrefix(a, b)) return false;
    if (Array.isArray(partial) && key !== String(partial.length - 1)) return false;
  }
  return true;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What an editor does: applies changes to what it has. */
export function applyChanges(value: unknown, changes: readonly JsonChange[]): unknown {
  const holder: Record<string | number, unknown> = { root: value };
  for (const change of changes) {
    const path = ["root", ...change.path];
    const last = path.pop()!;
    const parent = path.reduce<Record<string | number, unknown>>((at, key) => at[key] as typeof at, holder);
    if ("value" in change) define(parent, last, change.value);
    if ("append" in change) define(parent, last, (parent[last] as string) + change.append);
  }
  return holder["root"];
}

function define(parent: object, key: string | number, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true });
}

/** A copy that does not grow. */
export function copy<T>(value: T): T {
  return structuredClone(value);
}
