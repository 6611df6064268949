import type { ToolError } from "../errors.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import { invalidUtf8Error, notJsonError, tooLargeError } from "./errors.ts";
import { decodeCutUtf8, decodeLeniently, decodeUtf8, invalidUtf8At } from "./utf8.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

export interface JsonValuesOptions {
  /** The text of one value. A bare number or word that ends with the stream may be cut, and is not delivered. */
  onValue(text: string): void;
  /** `invalid_event` or `event_too_large`: ignore whatever comes after it. */
  onError(error: ToolError): void;
  readonly maxEventBytes: number;
  /** Position of the first byte in the whole body, for messages. */
  readonly offset: number;
}

/**
 * JSON values one after the other: one per line, with nothing between them, or over many lines.
 * An array at the root is not a value but a list of them, and its elements are delivered as they are closed.
 * Only finds where a value ends, by brackets and quotes; whether it is JSON is for its reader to say.
 */
export function createJsonValues(options: JsonValuesOptions): { feed(bytes: Uint8Array): void; end(): void } {
  const { onValue, onError, maxEventBytes } = options;
  const kept = createByteBuffer(); // the part of the open value that came before this chunk
  let offset = options.offset; // of the first byte of the chunk
  let inList = false;
  let open = false; // inside a value
  let depth = 0; // of the open value's brackets
  let inString = false;
  let escaped = false;

  function feed(bytes: Uint8Array): void {
    let start = 0; // of the open value in this chunk
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) {
          inString = false;
          if (depth === 0) close(bytes, start, i + 1);
        } else if (byte < SPACE) return broken(bytes, start, i); // a line end, say: the rest of this line is lost
      } else if (depth > 0) {
        if (byte === QUOTE) inString = true;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
        else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
          depth--;
          if (depth === 0) close(bytes, start, i + 1);
        }
      } else {
        if (open) {
          // a bare number or word lasts until something else begins
          if (!endsWord(byte)) continue;
          close(bytes, start, i);
        }
        if (isBetween(byte)) continue;
        start = i;
        open = true;
        if (byte === QUOTE) inString = true;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth = 1;
      }
    }
    if (open) {
      if (kept.length + bytes.length - start > maxEventBytes) return onError(tooLargeError(maxEventBytes));
      kept.append(bytes.subarray(start));
    }
    offset += bytes.length;
  }

  /** White space; also the brackets and commas of a list at the root. */
  function isBetween(byte: number): boolean {
    if (byte === SPACE || byte === 10 || byte === 13 || byte === 9) return true;
    if (inList) {
      if (byte === COMMA) return true;
      if (byte !== CLOSE_BRACKET) return false;
      inList = false;
      return true;
    }
    if (byte !== OPEN_BRACKET) return false;
    inList = true;
    return true;
  }

  function close(bytes: Uint8Array, start: number, end: number): void {
    open = false;
    const size = kept.length + end - start;
    if (size > maxEventBytes) return onError(tooLargeError(maxEventBytes));
    const valueOffset = offset + end - size;
    const value = takeValue(bytes, start, end);
    const text = decodeUtf8(value);
    if (text === undefined) return onError(invalidUtf8Error(valueOffset + invalidUtf8At(value)));
    onValue(text);
  }

  function takeValue(bytes: Uint8Array, start: number, end: number): Uint8Array {
    if (kept.length === 0) return bytes.subarray(start, end);
    kept.append(bytes.subarray(start, end));
    return kept.take();
  }

  function broken(bytes: Uint8Array, start: number, end: number): void {
    if (kept.length + end - start > maxEventBytes) return onError(tooLargeError(maxEventBytes));
    onError(notJsonError(decodeLeniently(takeValue(bytes, start, end)), "a line ends inside a string"));
  }

  /** An open value is not delivered, but it has to be UTF-8 text. */
  function finish(): void {
    const valueOffset = offset - kept.length;
    const value = kept.take();
    if (decodeCutUtf8(value) === undefined) onError(invalidUtf8Error(valueOffset + invalidUtf8At(value)));
  }

  return { feed, end: finish };
}

function endsWord(byte: number): boolean {
  return (
    byte <= SPACE ||
    byte === COMMA ||
    byte === QUOTE ||
    byte === OPEN_BRACKET ||
    byte === CLOSE_BRACKET ||
    byte === OPEN_BRACE ||
    byte === CLOSE_BRACE
  );
}
