import { parseJson } from "../json/parse.ts";
import type { ToolError } from "../errors.ts";
import type { Delta } from "./delta.ts";
import { notJsonError } from "./errors.ts";
import { createJsonValues } from "./json-values.ts";
import { createSseReader, type SseReader } from "./sse-reader.ts";
import { dataStartOf } from "./sse.ts";
import { createTemplates } from "./templates.ts";
import { concat, decodeUtf8 } from "./utf8.ts";

export interface DecoderOptions {
  /** One event, parsed. The `[DONE]` that ends some streams comes as the string `"[DONE]"`. */
  onEvent(value: unknown): void;
  /** An event of which it is known that it is nothing but such a piece; if the answer is false, it comes to `onEvent`. */
  onDelta?(delta: Delta, text: string, index: number): boolean;
  /** What an event is a piece of, if it is one: with it, those like it come to `onDelta`. */
  deltaOf?: ((event: unknown) => Delta | undefined) | undefined;
  /** `invalid_event` or `event_too_large`: the last thing that is said. */
  onError(error: ToolError): void;
  /** The largest event, and with it the largest buffer. Default 32 MiB. */
  readonly maxEventBytes?: number | undefined;
}

/** The bytes of one stream, as they come, to the events in them. Synchronous; one instance a stream. */
export interface Decoder {
  /** @throws TypeError after `end()` */
  feed(bytes: Uint8Array): void;
  /** No more bytes. What was not ended is delivered if it is whole, and else dropped: a cut event carries nothing. */
  end(): void;
  /** Known from the first byte that is no whitespace. */
  readonly format: "sse" | "json" | undefined;
}

const NOTHING = new Uint8Array(0);
const BOM = [0xef, 0xbb, 0xbf];
const LF = 10;
/** Longer than any event that there is a template of. */
const NEAR = 8192;
const JSON_STARTS = [0x7b, 0x5b, 0x22]; // { [ "

/**
 * Decodes the body of a response, streamed or not. The format is told from the first bytes:
 * Server-Sent Events, or JSON (a value a line, one document, or one array whose elements are the events).
 * The same bytes give the same events, however they are split.
 *
 * @example
 * const decoder = createDecoder({ onEvent: (event) => parser.push(event), onError: (error) => sink.fail(error) });
 * for await (const bytes of response.body) decoder.feed(bytes);
 * decoder.end();
 */
export function createDecoder(options: DecoderOptions): Decoder {
  const { onEvent, onDelta, onError, deltaOf, maxEventBytes = 32 * 1024 * 1024 } = options;
  if (!(maxEventBytes > 0)) throw new TypeError(`maxEventBytes has to be a positive number, not ${maxEventBytes}`);
  let body: { feed(bytes: Uint8Array): void; end(): void } | undefined;
  let start: Uint8Array = NOTHING; // bytes that may turn out to be a byte order mark
  let bomPassed = false;
  let offset = 0; // of what has been passed over before the first event
  let failed = false;
  let ended = false;
  // A field, not a getter: see the end of src/json/parser.ts.
  const decoder = { feed, end, format: undefined as "sse" | "json" | undefined };

  function feed(bytes: Uint8Array): void {
    if (ended) throw new TypeError("this decoder has ended: create one for each stream");
    if (failed || bytes.length === 0) return;
    if (body !== undefined) return body.feed(bytes);
    const rest = afterByteOrderMark(bytes);
    if (rest !== undefined) open(rest);
  }

  /** Without the byte order mark; `undefined` while there may be one. */
  function afterByteOrderMark(bytes: Uint8Array): Uint8Array | undefined {
    if (start.length === 0 && bytes[0] !== BOM[0]) bomPassed = true;
    if (bomPassed) return bytes;
    const known = start.length === 0 ? bytes : concat(start, bytes);
    const isBom = BOM.every((byte, i) => i >= known.length || known[i] === byte);
    if (isBom && known.length < BOM.length) {
      start = known.slice();
      return undefined;
    }
    bomPassed = true;
    if (isBom) offset = BOM.length;
    return isBom ? known.subarray(BOM.length) : known;
  }

  function open(bytes: Uint8Array): void {
    const first = bytes.findIndex((byte) => byte !== 0x20 && byte !== 9 && byte !== 10 && byte !== 13);
    offset += first === -1 ? bytes.length : first;
    if (first === -1) return;
    const isJson = JSON_STARTS.includes(bytes[first]!);
    decoder.format = isJson ? "json" : "sse";
    body = isJson ? openJson() : openSse();
    body.feed(first === 0 ? bytes : bytes.subarray(first));
  }

  function openJson(): { feed(bytes: Uint8Array): void; end(): void } {
    return createJsonValues({ onValue: onText, onError: fail, maxEventBytes, offset });
  }

  function openSse(): { feed(bytes: Uint8Array): void; end(): void } {
    const templates = createTemplates(onDelta === undefined ? undefined : deltaOf);
    let reader: SseReader | undefined; // only a stream that needs it pays for it
    let skipped = 0; // bytes of events, before there was a reader

    function onSseData(data: string, cut: boolean, head: string | undefined): void {
      const value = onData(data, cut);
      if (head !== undefined) templates.learn(head, data, value);
    }

    function createReader(): SseReader {
      const created = createSseReader({ onData: onSseData, onStray: onValue, onError: fail, maxEventBytes, offset });
      if (skipped > 0) created.skip(skipped);
      return created;
    }

    function skip(bytes: number): void {
      if (reader === undefined) skipped += bytes;
      else reader.skip(bytes);
    }

    /** Event by event, so that after one that no template knows the next one may be known. */
    function feedEvents(bytes: Uint8Array): void {
      for (let at = 0; at < bytes.length && !failed;) {
        const isBetween = reader === undefined || reader.isIdle; // two events
        const next = isBetween ? templates.match(bytes, at) : -1;
        if (next !== -1 && next - at <= maxEventBytes && takeKnown()) {
          skip(next - at);
          at = next;
        } else if (at === 0 && isBetween && takePlain(bytes)) return;
        else {
          const to = templates.isHopeless ? bytes.length : afterBlankLine(bytes, at);
          const piece = at === 0 && to === bytes.length ? bytes : bytes.subarray(at, to);
          if (!isBetween || piece === bytes || !takePlain(piece)) (reader ??= createReader()).feed(piece);
          at = to;
        }
      }
    }

    /**
     * A shortcut for bytes that are one event, as it mostly comes: what lines and fields are for is known at a glance.
     *
     * @returns false for all others, and nothing was done
     */
    function takePlain(bytes: Uint8Array): boolean {
      const { length } = bytes;
      if (length > NEAR || length > maxEventBytes || bytes[length - 1] !== LF || bytes[length - 2] !== LF) return false;
      const text = decodeUtf8(bytes);
      const from = text === undefined ? -1 : dataStartOf(text);
      if (from === -1) return false;
      skip(length);
      onSseData(text!.slice(from, -2), false, text!.slice(0, from));
      return true;
    }

    function takeKnown(): boolean {
      if (templates.delta !== undefined) return onDelta!(templates.delta, templates.text, templates.index);
      onEvent(templates.value);
      return true;
    }

    return { feed: feedEvents, end: () => reader?.end() };
  }

  /** @returns the value of the data, if it is JSON */
  function onData(data: string, cut: boolean): unknown {
    if (failed) return undefined;
    if (data === "[DONE]") return onUnusualData(data, cut, undefined); // no need to throw for it
    let value: unknown;
    try {
      value = parseJson(data);
    } catch (cause) {
      return onUnusualData(data, cut, cause);
    }
    onEvent(value);
    return value;
  }

  /** `[DONE]`, a keep-alive without data, or lines that should have been events of their own. */
  function onUnusualData(data: string, cut: boolean, cause: unknown): void {
    const text = data.trim();
    if (text === "") return;
    if (text === "[DONE]") return onEvent("[DONE]");
    const lines = text.split("\n");
    if (lines.length > 1 && separate(lines, cut)) return;
    if (!cut) fail(notJsonError(data, reason(cause), cause));
  }

  /** Servers that end an event with one line end only: every line is an event, the last one may be cut. */
  function separate(lines: string[], cut: boolean): boolean {
    const values: unknown[] = [];
    for (const [i, line] of lines.entries()) {
      const text = line.trim();
      if (text === "" || text === "[DONE]") {
        if (text !== "") values.push(text);
        continue;
      }
      try {
        values.push(parseJson(text));
      } catch {
        if (cut && i === lines.length - 1) break;
        return false;
      }
    }
    for (const value of values) onValue(value);
    return true;
  }

  function onText(text: string, cut: boolean): void {
    if (failed) return;
    let value: unknown;
    try {
      value = parseJson(text);
    } catch (cause) {
      if (!cut) fail(notJsonError(text, reason(cause), cause));
      return;
    }
    onEvent(value);
  }

  function onValue(value: unknown): void {
    if (!failed) onEvent(value);
  }

  function fail(error: ToolError): void {
    if (failed) return;
    failed = true;
    onError(error);
  }

  function end(): void {
    if (ended) return;
    ended = true;
    if (!failed) body?.end();
  }

  return decoder;
}

/** Behind the next blank line; at the end of the bytes, if it is not near: what follows an event that long is as long. */
function afterBlankLine(bytes: Uint8Array, from: number): number {
  const near = bytes.length - from <= NEAR ? bytes : bytes.subarray(0, from + NEAR);
  for (let at = near.indexOf(LF, from); at !== -1; at = near.indexOf(LF, at + 1)) {
    if (near[at + 1] === LF) return at + 2;
  }
  return bytes.length;
}

/** The parser's complaint without the quotation that it adds: the message has its own. */
function reason(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/, ?(?:\.\.\.)?".*$/s, "").replace(/ in JSON at position \d+.*$/s, "");
}
