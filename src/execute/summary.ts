import { cut } from "../errors.ts";
import { jsonForm } from "./forms.ts";
import { unlessItThrows } from "../quietly.ts";

/**
 * Replaces what must not be seen in events and logs: called for every value from the root down; its return value is
 * shown. The path starts with `"input"`, `"output"` or `"progress"`; values are JSON values.
 *
 * @example redact: (path, value) => (path.at(-1) === "card" ? "[hidden]" : value)
 */
export type Redact = (path: readonly (string | number)[], value: unknown) => unknown;

const MAX_LENGTH = 500;
const MAX_KEY = 100;
const MAX_VALUES = 200;
const MAX_DEPTH = 8;

/** A value as short JSON text, redacted, without control characters. Never throws and never takes long. */
export function summaryOf(kind: "input" | "output" | "progress", value: unknown, redact: Redact | undefined): string {
  const budget = { values: MAX_VALUES };
  // If redaction fails, show nothing.
  const text = unlessItThrows(() => JSON.stringify(shorten([kind], value, redact, budget)) ?? "null");
  return cut(printable(text ?? '"[not shown]"'), MAX_LENGTH);
}

/** A whole value with every part as `redact` shows it. */
export function redacted(path: readonly (string | number)[], given: unknown, redact: Redact | undefined): unknown {
  if (redact === undefined) return given;
  const value = redact(path, given);
  if (Array.isArray(value)) return value.map((item, index) => redacted([...path, index], item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, redacted([...path, key], part, redact)]));
}

/** What a person is asked if neither policy nor tool say so. */
export function defaultQuestion(toolName: string, input: unknown, redact: Redact | undefined): string {
  return `Run ${toolName} with ${summaryOf("input", input, redact)}?`;
}

function shorten(
  path: readonly (string | number)[],
  given: unknown,
  redact: Redact | undefined,
  budget: { values: number },
): unknown {
  const json = inJson(given);
  const value = redact === undefined ? json : inJson(redact(path, json));
  if (--budget.values < 0) return "…";
  switch (typeof value) {
    case "string":
      return cut(value, MAX_LENGTH);
    case "function":
    case "symbol":
      return `[${typeof value}]`;
    case "object":
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (path.length > MAX_DEPTH) return "…";
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let index = 0; index < value.length && budget.values > 0; index++) {
      items.push(shorten([...path, index], value[index], redact, budget));
    }
    if (items.length < value.length) items.push("…");
    return items;
  }
  const short: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value)) {
    if (budget.values <= 0) {
      short["…"] = "…";
      break;
    }
    short[cut(key, MAX_KEY)] = shorten([...path, key], (value as Record<string, unknown>)[key], redact, budget);
  }
  return short;
}

/** As `JSON.stringify` would write it. */
function inJson(value: unknown): unknown {
  const { toJSON } = (typeof value === "object" && value !== null ? value : {}) as { toJSON?: unknown };
  return jsonForm(typeof toJSON === "function" ? toJSON.call(value) : value);
}

/** Control and format characters (escape sequences of terminals, reversed text) as `\u` escapes. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
