import { printable, short } from "./text.ts";

/** How much of one string, and how many entries of one container, are drawn: inputs may be many megabytes. */
const CHARACTERS = 2000;
const ENTRIES = 12;
const DEPTH = 6;

/**
 * A JSON value as lines that a person can read at a glance: names and values, text with its real line breaks.
 * If it is too much, the `end` is kept while it grows, the `start` once it is finished.
 *
 * ```
 * path: trip/packing.md
 * content:
 *   # Packing list
 *   - rain coat
 * ```
 */
export function renderValue(value: unknown, keep: "start" | "end"): string[] {
  return render(value, keep, 0);
}

function render(value: unknown, keep: "start" | "end", depth: number): string[] {
  if (typeof value !== "object" || value === null) return scalar(value, keep);
  if (depth >= DEPTH) return ["…"];
  const isList = Array.isArray(value);
  const names = isList ? undefined : Object.keys(value);
  const count = names?.length ?? (value as unknown[]).length;
  if (count === 0) return [isList ? "(empty list)" : depth === 0 ? "(no arguments)" : "(empty)"];
  const from = keep === "end" ? Math.max(0, count - ENTRIES) : 0;
  const to = Math.min(count, from + ENTRIES);
  const lines: string[] = from > 0 ? [`… ${from} before`] : [];
  for (let at = from; at < to; at++) {
    if (names === undefined) lines.push(...item(render((value as unknown[])[at], keep, depth + 1)));
    else lines.push(...property(names[at]!, (value as Record<string, unknown>)[names[at]!], keep, depth));
  }
  if (to < count) lines.push(`… ${count - to} more`);
  return lines;
}

function property(name: string, value: unknown, keep: "start" | "end", depth: number): string[] {
  const lines = render(value, keep, depth + 1);
  const label = `${printable(name).replaceAll("\n", " ")}:`;
  const isInline = lines.length === 1 && (isEmpty(value) || typeof value !== "object");
  return isInline ? [`${label} ${lines[0]!}`] : [label, ...lines.map((line) => `  ${line}`)];
}

function item([first, ...rest]: readonly string[]): string[] {
  return [`- ${first ?? ""}`, ...rest.map((line) => `  ${line}`)];
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function scalar(value: unknown, keep: "start" | "end"): string[] {
  if (typeof value !== "string") return value === undefined ? [] : [String(value)];
  if (isAmbiguous(value)) return [JSON.stringify(value)];
  const rest = value.length - CHARACTERS;
  if (rest <= 0) return printable(value).split("\n");
  const part = printable(keep === "end" ? value.slice(-CHARACTERS) : value.slice(0, CHARACTERS)).split("\n");
  return keep === "end" ? [`… ${rest} characters before`, ...part] : [...part, `… ${rest} characters more`];
}

/** Text that would look like a number, a literal or nothing. */
function isAmbiguous(text: string): boolean {
  return text.trim() === "" || /^(?:-?\d[\d.eE+-]*|true|false|null)$/.test(text);
}

/** A JSON value on one line: `city: Oslo, celsius: 8`. Only the start of a long one. */
export function inlineValue(value: unknown, length: number): string {
  return short(inline(value, length), length);
}

/** No more than is needed for this many characters. */
function inline(value: unknown, length: number): string {
  if (typeof value === "string") return value.slice(0, length * 2);
  if (typeof value !== "object" || value === null) return String(value);
  const parts: string[] = [];
  let used = 0;
  for (const name of Object.keys(value)) {
    if (used > length) break;
    const entry = (value as Record<string, unknown>)[name];
    const text = typeof entry === "object" && entry !== null ? `{${inline(entry, length)}}` : inline(entry, length);
    const part = Array.isArray(value) ? text : `${name}: ${Array.isArray(entry) ? `[${text.slice(1, -1)}]` : text}`;
    parts.push(part);
    used += part.length;
  }
  return parts.join(", ");
}
