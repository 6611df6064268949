import type { DataReader } from "./data.ts";
import type { DecoderOptions } from "./decoder.ts";
import { fit, lookAnew } from "./fit.ts";
import { SseReader } from "./sse-reader.ts";
import { plainEventOf } from "./plain-event.ts";
import type { Template } from "./template.ts";
import { indexIn, Templates, textIn } from "./templates.ts";
import { decodeUtf8 } from "./utf8.ts";
import { valueIn } from "./value-template.ts";

const LF = 10;
const CR = 13;
const D = 100;
const E = 101;
/** Longer than any event that has a template. */
const NEAR = 8192;
/** Most events are shorter than this. */
const GLANCE = 2048;
/** After this many events without a known template, the search for one ends. */
const PATIENCE = 32;

/**
 * A body of Server-Sent Events, read in three ways, each slower but more general than the one before:
 *
 * ```
 * an event like one before it       templates
 * one event, whole in the bytes     takePlain
 * everything else                   SseReader
 * ```
 */
export class SseBody {
  readonly #templates: Templates;
  /** The template that fitted last, and mostly fits next. */
  #fitted: Template | undefined;
  readonly #options: DecoderOptions;
  #reader: SseReader | undefined; // only a stream that needs it pays for it
  /** Events that fitted no template, before the first one that did. */
  #unknown = 0;
  #sawEvent = false; // one that the reader did not see
  readonly #maxEventBytes: number;
  readonly #data: DataReader;
  /** Of the next bytes in the whole body, for messages. */
  #offset: number;

  /** @param offset of the first byte in the whole body, for messages */
  constructor(data: DataReader, maxEventBytes: number, offset: number) {
    const { options } = data;
    this.#data = data;
    this.#options = options;
    this.#templates = options.templates ?? new Templates();
    this.#templates.begin();
    this.#maxEventBytes = maxEventBytes;
    this.#offset = offset;
  }

  /** Event by event, so that after an event without a template the next one may fit one. */
  feed(bytes: Uint8Array): void {
    lookAnew();
    for (let at = 0; at < bytes.length;) {
      const isBetween = this.#reader === undefined || this.#reader.isIdle; // two events
      const next = isBetween ? this.#match(bytes, at) : -1;
      const isKnown = next !== -1 && next - at <= this.#maxEventBytes;
      if (isKnown && this.#takeKnown(this.#fitted!)) {
        this.#passed();
        at = next;
      } else if (at === 0 && isBetween && this.#takePlain(bytes, isKnown)) at = bytes.length;
      else {
        const to = this.#isHopeless ? bytes.length : endOfPiece(bytes, at);
        const piece = at === 0 && to === bytes.length ? bytes : bytes.subarray(at, to);
        if (!isBetween || piece === bytes || !this.#takePlain(piece, isKnown))
          (this.#reader ??= this.#createReader()).feed(piece, this.#offset + at);
        if (this.#data.hasFailed) return;
        at = to;
      }
    }
    this.#offset += bytes.length;
  }

  end(): void {
    this.#reader?.end();
  }

  /** Where the event at `at` ends, if it fits a template, which is then `#fitted`; -1 if it does not. */
  #match(bytes: Uint8Array, at: number): number {
    let end = this.#fitted === undefined ? -1 : fit(this.#fitted, bytes, at);
    if (end !== -1 || this.#isHopeless) return end;
    end = this.#templates.find(bytes, at, this.#fitted);
    if (end === -1) return -1;
    this.#fitted = this.#templates.found;
    return end;
  }

  /** The events of this stream are unlike any before and unlike each other. */
  get #isHopeless(): boolean {
    return this.#unknown >= PATIENCE;
  }

  #takeKnown(template: Template): boolean {
    const { delta } = template;
    if (delta !== undefined) return this.#options.onDelta?.(delta, textIn(template), indexIn(template)) === true;
    this.#data.say(valueIn(template));
    return true;
  }

  /**
   * A shortcut for bytes that are exactly one event in its usual form: no splitting into lines and fields is needed.
   *
   * @returns false for anything else, with nothing done
   */
  #takePlain(bytes: Uint8Array, isKnown: boolean): boolean {
    const { length } = bytes;
    if (!beginsEvent(bytes[0]) || length > this.#maxEventBytes || bytes[length - 1] !== LF) return false;
    if (bytes[length - 2] !== LF && bytes[length - 3] !== LF) return false;
    // Many bytes may be many events: do not decode them just to find that out.
    if (length > NEAR && endOfPiece(bytes.subarray(0, GLANCE), 0) < GLANCE) return false;
    const text = decodeUtf8(bytes);
    const plain = text === undefined ? undefined : plainEventOf(text);
    if (plain === undefined) return false;
    this.#passed();
    const value = this.#data.readData(plain.data, false);
    // A keep-alive, or the end of the stream: there is nothing to learn from it.
    if (isKnown || value === undefined) return true;
    if (this.#fitted === undefined) this.#unknown++;
    this.#templates.learn(plain, value);
    return true;
  }

  #passed(): void {
    this.#sawEvent = true;
    this.#reader?.passed();
  }

  #createReader(): SseReader {
    const created = new SseReader(this.#data, this.#maxEventBytes);
    if (this.#sawEvent) created.passed();
    return created;
  }
}

/**
 * After the next blank line; if none is near, the end of the bytes: what follows an event that long is long, too.
 * Comments and further blank lines are one piece, up to what may be an event in its usual form.
 */
function endOfPiece(bytes: Uint8Array, from: number): number {
  const near = bytes.length - from <= NEAR ? bytes : bytes.subarray(0, from + NEAR);
  const isEvent = beginsEvent(bytes[from]);
  for (let at = near.indexOf(LF, from); at !== -1; at = near.indexOf(LF, at + 1)) {
    const next = near[at + 1] === LF ? at + 2 : near[at + 1] === CR && near[at + 2] === LF ? at + 3 : -1;
    if (next !== -1 && (isEvent || beginsEvent(near[next]))) return next;
  }
  return bytes.length;
}

/** With a `data` or an `event` field: see plainEventOf(). */
function beginsEvent(byte: number | undefined): boolean {
  return byte === D || byte === E;
}
