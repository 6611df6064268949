import type { DataReader } from "./data.ts";
import type { DecoderOptions } from "./decoder.ts";
import { lookAnew } from "./fit.ts";
import { createSseReader, type SseReader } from "./sse-reader.ts";
import { dataStartOf } from "./sse.ts";
import { Templates } from "./templates.ts";
import { decodeUtf8 } from "./utf8.ts";

const LF = 10;
/** Longer than any event that there is a template of. */
const NEAR = 8192;

/**
 * A body of Server-Sent Events. Three ways lead through it, each slower than the one before and for more:
 *
 * ```
 * an event like one before it       templates
 * one event, whole in the bytes     takePlain
 * everything else                   SseReader
 * ```
 */
export class SseBody {
  readonly #templates: Templates;
  readonly #options: DecoderOptions;
  #reader: SseReader | undefined; // only a stream that needs it pays for it
  #skipped = 0; // bytes of events, before there was a reader
  readonly #maxEventBytes: number;
  readonly #data: DataReader;
  readonly #offset: number;

  /** @param offset of the first byte in the whole body, for messages */
  constructor(data: DataReader, maxEventBytes: number, offset: number) {
    const { options } = data;
    this.#data = data;
    this.#options = options;
    this.#templates = new Templates(options.onDelta === undefined ? undefined : options);
    this.#maxEventBytes = maxEventBytes;
    this.#offset = offset;
  }

  /** Event by event, so that after one that no template knows the next one may be known. */
  feed(bytes: Uint8Array): void {
    const templates = this.#templates;
    lookAnew();
    for (let at = 0; at < bytes.length;) {
      const isBetween = this.#reader === undefined || this.#reader.isIdle; // two events
      const next = isBetween ? templates.match(bytes, at) : -1;
      if (next !== -1 && next - at <= this.#maxEventBytes && this.#takeKnown()) {
        this.#skip(next - at);
        at = next;
      } else if (at === 0 && isBetween && this.#takePlain(bytes)) return;
      else {
        const to = templates.isHopeless ? bytes.length : afterBlankLine(bytes, at);
        const piece = at === 0 && to === bytes.length ? bytes : bytes.subarray(at, to);
        if (!isBetween || piece === bytes || !this.#takePlain(piece))
          (this.#reader ??= this.#createReader()).feed(piece);
        if (this.#data.hasFailed) return;
        at = to;
      }
    }
  }

  end(): void {
    this.#reader?.end();
  }

  #takeKnown(): boolean {
    const templates = this.#templates;
    const { delta } = templates;
    if (delta !== undefined) return this.#options.onDelta!(delta, templates.text, templates.index);
    this.#data.say(templates.value);
    return true;
  }

  /**
   * A shortcut for bytes that are one event, as it mostly comes: what lines and fields are for is known at a glance.
   *
   * @returns false for all others, and nothing was done
   */
  #takePlain(bytes: Uint8Array): boolean {
    const { length } = bytes;
    if (length > NEAR || length > this.#maxEventBytes || bytes[length - 1] !== LF || bytes[length - 2] !== LF)
      return false;
    const text = decodeUtf8(bytes);
    const from = text === undefined ? -1 : dataStartOf(text);
    if (from === -1) return false;
    this.#skip(length);
    this.#take(text!.slice(from, -2), false, text!.slice(0, from));
    return true;
  }

  #take(data: string, cut: boolean, head: string | undefined): void {
    const value = this.#data.readData(data, cut);
    if (head !== undefined) this.#templates.learn(head, data, value);
  }

  #skip(bytes: number): void {
    if (this.#reader === undefined) this.#skipped += bytes;
    else this.#reader.skip(bytes);
  }

  #createReader(): SseReader {
    const created = createSseReader({
      onData: (data, cut, head) => this.#take(data, cut, head),
      onStray: (event) => this.#data.say(event),
      onError: (error) => this.#data.fail(error),
      maxEventBytes: this.#maxEventBytes,
      offset: this.#offset,
    });
    if (this.#skipped > 0) created.skip(this.#skipped);
    return created;
  }
}

/** Behind the next blank line; at the end of the bytes, if it is not near: what follows an event that long is as long. */
function afterBlankLine(bytes: Uint8Array, from: number): number {
  const near = bytes.length - from <= NEAR ? bytes : bytes.subarray(0, from + NEAR);
  for (let at = near.indexOf(LF, from); at !== -1; at = near.indexOf(LF, at + 1)) {
    if (near[at + 1] === LF) return at + 2;
  }
  return bytes.length;
}
