/**
 * Replaces what must not be seen in events and logs: called for every value on the way down; what it returns is shown.
 * The path begins with `"input"`, `"output"` or `"progress"`.
 *
 * @example redact: (path, value) => (path.at(-1) === "card" ? "[hidden]" : value)
 */
export type Redact = (path: readonly (string | number)[], value: unknown) => unknown;

const MAX_LENGTH = 500;
const MAX_VALUES = 200;
const MAX_DEPTH = 8;

/** A value as short JSON text, redacted, without control characters. Never throws and never takes long. */
export function summaryOf(kind: "input" | "output" | "progress", value: unknown, redact: Redact | undefined): string {
  try {
    const budget = { values: MAX_VALUES };
    const text = JSON.stringify(shorten([kind], value, redact, budget)) ?? "null";
    return printable(text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text);
  } catch {
    // A redaction that fails shows nothing.
    return '"[not shown]"';
  }
}

/** What a person is asked where neither policy nor tool say it. */
export function defaultQuestion(toolName: string, input: unknown, redact: Redact | undefined): string {
  return `Run ${toolName} with ${summaryOf("input", input, redact)}?`;
}

function shorten(
  path: readonly (string | number)[],
  given: unknown,
  redact: Redact | undefined,
  budget: { values: number },
): unknown {
  const value = redact === undefined ? given : redact(path, given);
  if (--budget.values < 0) return "…";
  switch (typeof value) {
    case "string":
      return value.length > MAX_LENGTH ? `${value.slice(0, MAX_LENGTH)}…` : value;
    case "bigint":
      return String(value);
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
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
    const all: readonly unknown[] = Array.isArray(value) ? value : [...value];
    const items: unknown[] = [];
    for (let index = 0; index < all.length && budget.values > 0; index++) {
      items.push(shorten([...path, index], all[index], redact, budget));
    }
    if (items.length < all.length) items.push("…");
    return items;
  }
  const short: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value)) {
    if (budget.values <= 0) {
      short["…"] = "…";
      break;
    }
    const name = key.length > 100 ? `${key.slice(0, 100)}…` : key;
    short[name] = shorten([...path, key], (value as Record<string, unknown>)[key], redact, budget);
  }
  return short;
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
