import { GrowingText } from "../json/growing-text.ts";
import type { DataReader } from "./data.ts";
import { invalidUtf8Error, notJsonError, tooLargeError } from "./errors.ts";
import { Utf8Stream } from "./utf8.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/**
 * JSON values one after the other: one per line, with nothing between them, or over many lines.
 * An array at the root is not a value but a list of them, and its elements are delivered as they are closed.
 * Only finds where a value ends, by brackets and quotes; whether it is JSON is for its reader to say. A bare number or
 * word that ends with the stream may be cut, and is not delivered.
 *
 * @param offset of the first byte of the chunk in the whole body, for messages
 */
export function createJsonValues(
  data: DataReader,
  maxEventBytes: number,
  offset: number,
): { feed(bytes: Uint8Array): void } {
  const utf8 = new Utf8Stream();
  const kept = new GrowingText(); // the open value, as far as it came before this chunk
  let keptBytes = 0;
  let inList = false;
  let open = false; // inside a value
  let depth = 0; // of the open value's brackets
  let inString = false;
  let escaped = false;

  function feed(bytes: Uint8Array): void {
    read(utf8.decode(bytes));
    if (utf8.invalidAt !== undefined) data.fail(invalidUtf8Error(offset + utf8.invalidAt));
    offset += bytes.length;
  }

  function read(text: string): void {
    let start = 0; // of the open value in this text
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (inString) {
        if (escaped) escaped = false;
        else if (code === BACKSLASH) escaped = true;
        else if (code === QUOTE) {
          inString = false;
          if (depth === 0) deliver(text.slice(start, i + 1));
        } else if (code < SPACE) {
          // a line end, say: the rest of this line is lost
          return data.fail(notJsonError(close(text.slice(start, i)), "a line ends inside a string"));
        }
      } else if (depth > 0) {
        if (code === QUOTE) inString = true;
        else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
        else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
          depth--;
          if (depth === 0) deliver(text.slice(start, i + 1));
        }
      } else {
        if (open) {
          // a bare number or word lasts until something else begins
          if (!endsWord(code)) continue;
          deliver(text.slice(start, i));
        }
        if (isBetween(code)) continue;
        start = i;
        open = true;
        if (code === QUOTE) inString = true;
        else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth = 1;
      }
    }
    if (open) keep(text.slice(start));
  }

  /** White space; also the brackets and commas of a list at the root. */
  function isBetween(code: number): boolean {
    if (code === SPACE || code === 10 || code === 13 || code === 9) return true;
    if (inList) {
      if (code === COMMA) return true;
      if (code !== CLOSE_BRACKET) return false;
      inList = false;
      return true;
    }
    if (code !== OPEN_BRACKET) return false;
    inList = true;
    return true;
  }

  function keep(text: string): void {
    keptBytes += utf8.bytesIn(text);
    if (keptBytes > maxEventBytes) data.fail(tooLargeError(maxEventBytes));
    else kept.append(text);
  }

  /** @param text the end of the value */
  function deliver(text: string): void {
    data.readData(close(text), false);
  }

  /** The whole value, which ends with this text. */
  function close(text: string): string {
    // Counted only where it may matter: no character takes more than three bytes.
    if (keptBytes + 3 * text.length > maxEventBytes) keep(text);
    else kept.append(text);
    const value = kept.text;
    kept.clear();
    keptBytes = 0;
    open = false;
    return value;
  }

  return { feed };
}

function endsWord(code: number): boolean {
  return (
    code <= SPACE ||
    code === COMMA ||
    code === QUOTE ||
    code === OPEN_BRACKET ||
    code === CLOSE_BRACKET ||
    code === OPEN_BRACE ||
    code === CLOSE_BRACE
  );
}
