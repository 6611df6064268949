import { jsonrepair } from "jsonrepair";
import { closedByItself, readBroken, type Edit } from "./broken.ts";
import { createJsonParser, type JsonParser } from "./parser.ts";
import { exceedsDepth, isBalanced } from "./scan.ts";

/** What came of an attempt to mend a broken JSON text. `message` is written for the model that wrote the text. */
export type RepairOutcome =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | {
      readonly ok: false;
      /** Not closed by the model; not mendable for sure; longer than we try; nested too deep. */
      readonly reason: "truncated" | "invalid" | "too_large" | "too_deep";
      readonly message: string;
    };

/**
 * jsonrepair builds its output character by character, and each addition to a string costs a JavaScript engine about
 * 32 bytes until the string is used: 1 Mi characters are 32 MB for a moment, and 0.1 to 0.2 s (3.15 on Node 26).
 */
const MAX_LENGTH = 1_048_576;

/** Bounds of {@link repairJson}. */
export interface RepairLimits {
  /** Characters; default 1,048,576. */
  maxLength?: number | undefined;
  /** Nested containers; default 128. */
  maxDepth?: number | undefined;
}

/** A bracket, or the quote of a text that was encoded twice, perhaps in a Markdown fence. */
const BEGINS_LIKE_JSON = /^\s*(?:[{["]|```)/;

/**
 * Mends the syntax of a text that `JSON.parse` refused: quotes, commas, comments, bare words, line breaks in strings.
 *
 * The scan that has to read the text anyway escapes quotes in strings, adds and removes commas and removes comments:
 * for each of these jsonrepair copies all its output so far, which made it need 80 s for 250 KB of quotes. For the rest
 * (bare words, single quotes, control characters, numbers, literals) its time is linear.
 *
 * It never finishes what the model did not: a text that does not close its own root and strings is `truncated`, and a
 * repair that added, moved or dropped a bracket, a key or a value is refused.
 *
 * @example
 * repairJson("{city: 'Oslo',}"); // { ok: true, value: { city: "Oslo" }, text: '{"city": "Oslo"}' }
 * repairJson('{"city": "Os'); // { ok: false, reason: "truncated", ... }
 */
export function repairJson(text: string, { maxLength = MAX_LENGTH, maxDepth = 128 }: RepairLimits = {}): RepairOutcome {
  if (!BEGINS_LIKE_JSON.test(text)) return refused("invalid", "The text is not a JSON object or array.");
  // Not read for a repair, which takes notes of many times its length.
  const isTooLong = text.length > maxLength;
  if (isTooLong && closedByItself(text)) {
    return refused(
      "too_large",
      `The JSON is broken, and with ${text.length} characters too long to repair (at most ${maxLength}).`,
    );
  }
  const reading = isTooLong ? undefined : readBroken(text);
  if (reading === undefined) {
    // Not for sure closed. Where every bracket and quote has its partner it was not cut, but neither can it be read.
    if (isBalanced(text)) return refused("invalid", HOPELESS);
    return refused(
      "truncated",
      "The JSON is not closed: it ends early, or quotes in it leave open where a string ends. Write it again, complete, with the quotes in strings escaped.",
    );
  }
  const { start, end, skeleton, edits, unknownEscape } = reading;
  const root = text.slice(start, end);
  if (exceedsDepth(root, maxDepth)) return refused("too_deep", `The JSON is nested deeper than ${maxDepth} levels.`);
  if (unknownEscape !== undefined) {
    // jsonrepair would drop the backslash: of a regular expression or a Windows path, that makes another one.
    return refused(
      "invalid",
      `The JSON has the unknown escape sequence ${unknownEscape}: write \\\\ for a backslash in a string.`,
    );
  }
  const strict = read(root, maxDepth);
  if (strict.state === "closed") return { ok: true, value: strict.value, text: root };
  try {
    const repaired = jsonrepair(edited(text, start, end, edits));
    const parser = read(repaired, maxDepth);
    if (parser.state === "closed" && readBroken(repaired)?.skeleton === skeleton) {
      return { ok: true, value: parser.value, text: repaired };
    }
  } catch (error) {
    // jsonrepair recurses: the depth we count is not always the depth that it sees.
    if (error instanceof RangeError) return refused("too_deep", `The JSON is nested deeper than ${maxDepth} levels.`);
  }
  return refused("invalid", HOPELESS);
}

const HOPELESS = "The JSON is broken in a way that can not be repaired for sure. Write it again.";

function refused(reason: "truncated" | "invalid" | "too_large" | "too_deep", message: string): RepairOutcome {
  return { ok: false, reason, message };
}

/** `text.slice(start, end)` after these edits. */
function edited(text: string, start: number, end: number, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let from = start;
  for (const edit of edits) {
    pieces.push(text.slice(from, edit.from), edit.by);
    from = edit.to;
  }
  pieces.push(text.slice(from, end));
  return pieces.join("");
}

/** Not `JSON.parse`, which gets some keys with escapes wrong in V8 14: https://github.com/nodejs/node/issues/63785 */
function read(text: string, maxDepth: number): JsonParser {
  const parser = createJsonParser({ maxDepth });
  parser.feed(text);
  parser.end();
  return parser;
}
