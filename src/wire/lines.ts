import type { ToolError } from "../errors.ts";
import { invalidUtf8Error, tooLargeError } from "./errors.ts";
import { createUtf8Stream, utf8Length } from "./utf8.ts";

const LF = 10;
const CR = 13;

export interface LinesOptions {
  /** One or more whole lines with their ends: LF or CR, one character each. A CRLF's LF may begin the next text. */
  onLines(text: string): void;
  /** What follows the last line end, possibly nothing; called once, at the end of the bytes. */
  onTail(text: string): void;
  /** `invalid_event` (not UTF-8) or `event_too_large`: ignore whatever comes after it. */
  onError(error: ToolError): void;
  readonly maxLineBytes: number;
  /** Position of the first byte in the whole body, for messages. */
  readonly offset: number;
}

export interface Lines {
  feed(bytes: Uint8Array): void;
  /** This many bytes, whole lines of text, were read elsewhere; only allowed while `isIdle`. */
  skip(bytes: number): void;
  end(): void;
  /** Everything fed has been handed on. */
  readonly isIdle: boolean;
}

/**
 * Bytes to text in whole lines. Each byte is decoded once, and a line that lies whole within its chunk is not copied:
 *
 * ```
 * chunk   …rest of a line⏎ line⏎ line⏎ line⏎ start of a li
 *         kept + first     handed on in one text  kept
 * ```
 */
export function createLines(options: LinesOptions): Lines {
  const { onLines, onTail, onError, maxLineBytes, offset } = options;
  const utf8 = createUtf8Stream();
  let kept: string[] = []; // the open line: joined once, when it ends
  let keptBytes = 0;
  let skipped = 0; // bytes
  // A field, not a getter: see utf8.ts.
  const lines = { feed, skip, end: finish, isIdle: true };

  function feed(bytes: Uint8Array): void {
    const text = utf8.decode(bytes);
    split(text, utf8.decodedBytes);
    lines.isIdle = kept.length === 0 && utf8.isWhole;
    if (utf8.invalidAt !== -1) onError(invalidUtf8Error(offset + skipped + utf8.invalidAt));
  }

  function skip(bytes: number): void {
    skipped += bytes;
  }

  function split(text: string, bytes: number): void {
    // The usual case: one or more whole events in one piece.
    if (kept.length === 0 && text.charCodeAt(text.length - 1) === LF) return handOn(text);
    // Two cheap searches before the slower one from the end: most of a long line has no line end in it.
    const lf = text.indexOf("\n");
    const cr = text.indexOf("\r");
    if (lf === -1 && cr === -1) return keep(text, bytes);
    let from = 0;
    if (kept.length > 0) {
      from = 1 + (lf === -1 || (cr !== -1 && cr < lf) ? cr : lf);
      closeKept(text.slice(0, from));
    }
    const last = afterLastLineEnd(text);
    if (from < last) handOn(from === 0 && last === text.length ? text : text.slice(from, last));
    const tail = text.slice(last);
    keep(tail, text.length === bytes ? tail.length : utf8Length(tail));
  }

  function keep(text: string, bytes: number): void {
    if (text === "") return;
    keptBytes += bytes;
    if (keptBytes > maxLineBytes) return onError(tooLargeError(maxLineBytes));
    kept.push(text);
  }

  function closeKept(rest: string): void {
    if (isTooLarge(rest, maxLineBytes - keptBytes)) return onError(tooLargeError(maxLineBytes));
    kept.push(rest);
    const line = kept.join("");
    kept = [];
    keptBytes = 0;
    onLines(line);
  }

  function handOn(text: string): void {
    if (3 * text.length <= maxLineBytes) return onLines(text);
    // long enough that a line may be too large: the lines before that one still count
    for (let at = 0; at < text.length;) {
      const end = afterFirstLineEnd(text, at);
      const line = text.slice(at, end);
      if (isTooLarge(line, maxLineBytes)) return onError(tooLargeError(maxLineBytes));
      onLines(line);
      at = end;
    }
  }

  function finish(): void {
    onTail(kept.join(""));
  }

  return lines;
}

/** Whether a line has more bytes than this, not counting its end. */
function isTooLarge(line: string, maxBytes: number): boolean {
  return 3 * line.length > maxBytes && utf8Length(line) - 1 > maxBytes;
}

function afterLastLineEnd(text: string): number {
  for (let i = text.length - 1; i >= 0; i--) {
    const unit = text.charCodeAt(i);
    if (unit === LF || unit === CR) return i + 1;
  }
  return 0;
}

function afterFirstLineEnd(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === LF || unit === CR) return i + 1;
  }
  return text.length;
}
