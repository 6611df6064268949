import type { ToolError } from "../errors.ts";
import { createByteBuffer, decodeCutUtf8, decodeUtf8, invalidUtf8At } from "./bytes.ts";
import { invalidUtf8Error, tooLargeError } from "./errors.ts";

const LF = 10;
const CR = 13;

export interface LinesOptions {
  /**
   * One or more whole lines with their ends: LF or CR, one character each. Of a CRLF the LF may start the next text.
   */
  onLines(text: string): void;
  /** What follows the last line end, perhaps nothing; once, at the end of the bytes. */
  onTail(text: string): void;
  /** Reading has stopped: `invalid_event` (not UTF-8) or `event_too_large`. */
  onError(error: ToolError): void;
  readonly maxLineBytes: number;
  /** Position of the first byte in the whole body, for messages. */
  readonly offset: number;
}

/**
 * Bytes to text in whole lines, each byte decoded once and none copied that lies in a line whole inside its chunk:
 *
 * ```
 * chunk   …rest of a line⏎ line⏎ line⏎ line⏎ start of a li
 *         kept + first     decoded in one piece  kept
 * ```
 *
 * A line end is never part of a longer UTF-8 sequence, so no character is ever cut in two.
 */
export function createLines(options: LinesOptions): { feed(bytes: Uint8Array): void; end(): void } {
  const { onLines, onTail, onError, maxLineBytes } = options;
  const kept = createByteBuffer();
  let offset = options.offset; // of the first byte that has not been handed on
  let failed = false;

  function feed(bytes: Uint8Array): void {
    if (failed) return;
    const whole = afterLastLineEnd(bytes);
    if (whole === 0) return keep(bytes, bytes.length);
    let from = 0;
    if (kept.length > 0) {
      from = afterFirstLineEnd(bytes);
      keep(bytes.subarray(0, from), from - 1);
      if (failed) return;
      decode(kept.take());
    }
    if (from < whole && !failed) decode(from === 0 && whole === bytes.length ? bytes : bytes.subarray(from, whole));
    if (whole < bytes.length && !failed) keep(bytes.subarray(whole), bytes.length - whole);
  }

  function keep(bytes: Uint8Array, contentLength: number): void {
    if (kept.length + contentLength > maxLineBytes) return fail(tooLargeError(maxLineBytes));
    kept.append(bytes);
  }

  function decode(lines: Uint8Array): void {
    const text = lines.length <= maxLineBytes ? decodeUtf8(lines) : undefined;
    if (text === undefined) return decodeSingly(lines);
    offset += lines.length;
    onLines(text);
  }

  /** Something is wrong in these lines, or they are many: what comes before the wrong one still counts. */
  function decodeSingly(lines: Uint8Array): void {
    for (let rest = lines; rest.length > 0 && !failed;) {
      const end = afterFirstLineEnd(rest);
      const line = rest.subarray(0, end);
      if (end - 1 > maxLineBytes) return fail(tooLargeError(maxLineBytes));
      const text = decodeUtf8(line);
      if (text === undefined) return fail(invalidUtf8Error(offset + invalidUtf8At(line)));
      offset += end;
      onLines(text);
      rest = rest.subarray(end);
    }
  }

  function end(): void {
    if (failed) return;
    const tail = kept.take();
    const text = decodeCutUtf8(tail);
    if (text === undefined) return fail(invalidUtf8Error(offset + invalidUtf8At(tail)));
    onTail(text);
  }

  function fail(error: ToolError): void {
    failed = true;
    onError(error);
  }

  return { feed, end };
}

/** From the end: in nearly every chunk the last line end is near. */
function afterLastLineEnd(bytes: Uint8Array): number {
  for (let i = bytes.length - 1; i >= 0; i--) {
    const byte = bytes[i];
    if (byte === LF || byte === CR) return i + 1;
  }
  return 0;
}

function afterFirstLineEnd(bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === LF || byte === CR) return i + 1;
  }
  return bytes.length;
}
