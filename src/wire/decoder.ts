import type { ToolError } from "../errors.ts";
import { DataReader } from "./data.ts";
import type { Delta } from "./delta.ts";
import { createJsonValues } from "./json-values.ts";
import { SseBody } from "./sse-body.ts";
import type { Templates } from "./templates.ts";
import { concat } from "./utf8.ts";

export interface DecoderOptions {
  /** One event, parsed. The `[DONE]` that ends some streams comes as the string `"[DONE]"`. */
  onEvent(value: unknown): void;
  /** What is known about the events of this wire. Default: only what this stream teaches. */
  readonly templates?: Templates | undefined;
  /** An event that `templates` recognise as a delta; if this returns false, the event goes to `onEvent`. */
  onDelta?(delta: Delta<any>, text: string, index: number): boolean;
  /** `invalid_event` or `event_too_large`: the last callback. */
  onError(error: ToolError): void;
  /** The largest event, and with it the largest buffer. Default 32 MiB. */
  readonly maxEventBytes?: number | undefined;
}

/** Turns the bytes of one stream, as they arrive, into its events. Synchronous; one instance per stream. */
export interface Decoder {
  feed(bytes: Uint8Array): void;
  /** No more bytes; call once. An unterminated event is delivered if whole, else dropped: a cut one carries nothing. */
  end(): void;
  /** Known from the first byte that is not white space. */
  readonly format: "sse" | "json" | undefined;
}

interface Body {
  feed(bytes: Uint8Array): void;
  /** What has come without its end may be whole. */
  end?(): void;
}

const NOTHING = new Uint8Array(0);
const BOM = [0xef, 0xbb, 0xbf];
const JSON_STARTS = [0x7b, 0x5b, 0x22]; // { [ "

/**
 * Decodes the body of a response, streamed or not. The first bytes tell the format:
 * Server-Sent Events, or JSON (one value per line, one document, or one array whose elements are the events).
 * The same bytes give the same events, however they are split.
 *
 * @example
 * const decoder = createDecoder({ onEvent: (event) => parser.push(event), onError: (error) => sink.fail(error) });
 * for await (const bytes of response.body) decoder.feed(bytes);
 * decoder.end();
 */
export function createDecoder(options: DecoderOptions): Decoder {
  return new BodyDecoder(options);
}

/**
 * Classes, not closures, on the path of every event: otherwise each of thousands of open streams would have its own
 * functions. And few objects, since each of them is far away in memory.
 */
class BodyDecoder extends DataReader implements Decoder {
  #body: Body | undefined;
  format: "sse" | "json" | undefined;
  readonly #maxEventBytes: number;
  #start: Uint8Array | undefined = NOTHING; // bytes that may turn out to be a byte order mark, while there may be one
  #offset = 0; // of the first event: bytes passed over before it

  constructor(options: DecoderOptions) {
    const { maxEventBytes = 32 * 1024 * 1024 } = options;
    super(options);
    this.#maxEventBytes = maxEventBytes;
  }

  feed(bytes: Uint8Array): void {
    if (this.hasFailed) return;
    if (this.#body !== undefined) return this.#body.feed(bytes);
    const rest = this.#afterByteOrderMark(bytes);
    if (rest !== undefined) this.#open(rest);
  }

  end(): void {
    this.#body?.end?.();
  }

  /** The bytes after the byte order mark; `undefined` while there may still be one. */
  #afterByteOrderMark(bytes: Uint8Array): Uint8Array | undefined {
    const start = this.#start;
    if (start === undefined) return bytes;
    const known = start.length === 0 ? bytes : concat(start, bytes);
    const isBom = BOM.every((byte, i) => i >= known.length || known[i] === byte);
    if (isBom && known.length < BOM.length) {
      this.#start = new Uint8Array(known);
      return undefined;
    }
    this.#start = undefined;
    if (isBom) this.#offset = BOM.length;
    return isBom ? known.subarray(BOM.length) : known;
  }

  #open(bytes: Uint8Array): void {
    const first = bytes.findIndex((byte) => byte !== 0x20 && byte !== 9 && byte !== 10 && byte !== 13);
    this.#offset += first === -1 ? bytes.length : first;
    if (first === -1) return;
    const isJson = JSON_STARTS.includes(bytes[first]!);
    this.format = isJson ? "json" : "sse";
    this.#body = isJson
      ? createJsonValues(this, this.#maxEventBytes, this.#offset)
      : new SseBody(this, this.#maxEventBytes, this.#offset);
    this.#body.feed(bytes.subarray(first));
  }
}
