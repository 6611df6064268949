import { closedByItself, readBroken, type Edit } from "./broken.ts";
import { jsonIn } from "./parse.ts";
import { exceedsDepth, isBalanced } from "./scan.ts";

/** The outcome of an attempt to repair a broken JSON text. `message` is written for the model that wrote the text. */
export type RepairOutcome =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | {
      readonly ok: false;
      /** Not closed by the model; not repairable with certainty; too long to try; nested too deep. */
      readonly reason: "truncated" | "invalid" | "too_large" | "too_deep";
      readonly message: string;
    };

/** If every character needs an edit, 1 Mi of them briefly take about 100 MB, and 0.3 s (Node 26). */
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
 * Repairs the syntax of a text that `JSON.parse` rejected: quotes, commas, comments, bare words, line breaks in
 * strings.
 *
 * It never finishes what the model did not: a text that does not close its own root and strings is `truncated`, and no
 * bracket, key or value is added, moved or dropped.
 *
 * @example
 * repairJson("{city: 'Oslo',}"); // { ok: true, value: { city: "Oslo" }, text: '{"city": "Oslo"}' }
 * repairJson('{"city": "Os'); // { ok: false, reason: "truncated", ... }
 */
export function repairJson(text: string, { maxLength = MAX_LENGTH, maxDepth = 128 }: RepairLimits = {}): RepairOutcome {
  if (!BEGINS_LIKE_JSON.test(text)) return refused("invalid", "The text is not a JSON object or array.");
  // Not read for a repair, which would record many times its length.
  const isTooLong = text.length > maxLength;
  if (isTooLong && closedByItself(text)) {
    return refused(
      "too_large",
      `The JSON is broken, and with ${text.length} characters too long to repair (at most ${maxLength}).`,
    );
  }
  const reading = isTooLong ? undefined : readBroken(text);
  if (reading === undefined) {
    // Not certainly closed. If every bracket and quote has its counterpart, it was not cut, but it cannot be read
    // either.
    if (isBalanced(text)) return refused("invalid", HOPELESS);
    return refused(
      "truncated",
      "The JSON is not closed: it ends early, or quotes in it leave open where a string ends. Write it again, complete, with the quotes in strings escaped.",
    );
  }
  const { start, end, edits, unknownEscape } = reading;
  const root = text.slice(start, end);
  if (exceedsDepth(root, maxDepth)) return refused("too_deep", `The JSON is nested deeper than ${maxDepth} levels.`);
  if (unknownEscape !== undefined) {
    // Without the backslash, a regular expression or a Windows path would be a different one.
    return refused(
      "invalid",
      `The JSON has the unknown escape sequence ${unknownEscape}: write \\\\ for a backslash in a string.`,
    );
  }
  const mended = edited(text, start, end, edits);
  const value = jsonIn(mended);
  return value === undefined ? refused("invalid", HOPELESS) : { ok: true, value, text: mended };
}

const HOPELESS = "The JSON is broken in a way that cannot be repaired for sure. Write it again.";

function refused(reason: "truncated" | "invalid" | "too_large" | "too_deep", message: string): RepairOutcome {
  return { ok: false, reason, message };
}

/** `text.slice(start, end)` with these edits applied. */
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
