import { jsonrepair } from "jsonrepair";
import { exceedsDepth, readBroken } from "./scan.ts";

/** What came of an attempt to mend a broken JSON text. `message` is written for the model that wrote the text. */
export type RepairOutcome =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | {
      readonly ok: false;
      /** Not closed by the model; not mendable for sure; longer, or more broken, than we try; nested too deep. */
      readonly reason: "truncated" | "invalid" | "too_large" | "too_deep";
      readonly message: string;
    };

/** Bounds of {@link repairJson}. */
export interface RepairLimits {
  /** Characters; default 1,048,576. */
  maxLength?: number | undefined;
  /** Nested containers; default 128. */
  maxDepth?: number | undefined;
}

/**
 * How many mends of the costly kind we let jsonrepair make in one text. Most of what it does is linear (0.02 to 0.2 s
 * per MB, measured with 3.15 on Node 26), but for each missing or trailing comma it copies all its output so far, so
 * that its time is mends x length. One copy of 1 MB took up to 0.5 ms: 2,000 mends would fit into 1 s per MB, whatever
 * the length, and 500 do where memory is four times slower. Quotes in strings, its worst case (80 s for 250 KB of them),
 * are escaped before it sees them.
 * https://github.com/josdejong/jsonrepair
 */
const MAX_MENDS = 500;

/** A bracket, or the quote of a text that was encoded twice, perhaps in a Markdown fence or after a comment. */
const BEGINS_LIKE_JSON = /^[\s\ufeff]*(?:[{["]|```|\/[/*])/;

/**
 * Mends the syntax of a text that `JSON.parse` refused: quotes, commas, comments, bare words, line breaks in strings.
 * It never finishes what the model did not: a text that does not close its own root and strings is `truncated`, and a
 * repair that added, moved or dropped a bracket, a key or a value is refused.
 *
 * @example
 * repairJson("{city: 'Oslo',}"); // { ok: true, value: { city: "Oslo" }, text: '{"city": "Oslo"}' }
 * repairJson('{"city": "Os'); // { ok: false, reason: "truncated", ... }
 */
export function repairJson(text: string, { maxLength = 1_048_576, maxDepth = 128 }: RepairLimits = {}): RepairOutcome {
  if (!BEGINS_LIKE_JSON.test(text)) return refused("invalid", "The text is not a JSON object or array.");
  const reading = readBroken(text);
  if (reading === undefined) {
    return refused(
      "truncated",
      "The JSON is not closed: it ends early, or quotes in it leave open where a string ends. Write it again, complete, with the quotes in strings escaped.",
    );
  }
  const { start, end, skeleton, bareQuotes, mends, unknownEscape } = reading;
  if (text.length > maxLength) {
    return refused(
      "too_large",
      `The JSON is broken, and with ${text.length} characters too long to repair (at most ${maxLength}).`,
    );
  }
  if (mends > MAX_MENDS) {
    return refused("too_large", `The JSON is broken in ${mends} places, too many to repair (at most ${MAX_MENDS}).`);
  }
  const root = text.slice(start, end);
  if (exceedsDepth(root, maxDepth)) return refused("too_deep", `The JSON is nested deeper than ${maxDepth} levels.`);
  if (unknownEscape !== undefined) {
    // jsonrepair would drop the backslash: of a regular expression or a Windows path, that makes another one.
    return refused(
      "invalid",
      `The JSON has the unknown escape sequence ${unknownEscape}: write \\\\ for a backslash in a string.`,
    );
  }
  try {
    const repaired = isJson(root) ? root : jsonrepair(escaped(text, start, end, bareQuotes));
    const value: unknown = JSON.parse(repaired);
    if (readBroken(repaired)?.skeleton === skeleton) return { ok: true, value, text: repaired };
  } catch (error) {
    // jsonrepair recurses: the depth we count is not always the depth that it sees.
    if (error instanceof RangeError) return refused("too_deep", `The JSON is nested deeper than ${maxDepth} levels.`);
  }
  return refused("invalid", "The JSON is broken in a way that can not be repaired for sure. Write it again.");
}

function refused(reason: "truncated" | "invalid" | "too_large" | "too_deep", message: string): RepairOutcome {
  return { ok: false, reason, message };
}

/** `text.slice(start, end)` with a backslash before the characters at these places. */
function escaped(text: string, start: number, end: number, places: readonly number[]): string {
  const ends = [...places, end];
  return ends.map((to, i) => text.slice(ends[i - 1] ?? start, to)).join("\\");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
