import type { DecoderOptions } from "./decoder.ts";
import type { Delta } from "./delta.ts";
import { deltaTemplateOf } from "./delta-template.ts";
import { MAX_DIGITS } from "./json-text.ts";
import {
  IGNORED,
  MAX_SLOT_LENGTH,
  NO_SLOT,
  SPACES,
  templateOf,
  TEXT,
  type Container,
  type Model,
  type Sample,
  type Slot,
  type Template,
} from "./template.ts";

const MAX_TEMPLATES = 4;
const MAX_SAMPLES = 2;
/** Longer events are rare. */
const MAX_DATA_LENGTH = 2048;
/** Comparisons that may fail before no more is learned; each event that fits a template earns one. */
const PATIENCE = 16;
/** Events that are only read before any are compared: for those of a short stream that costs more than it saves. */
const UNCOMPARED = 8;
/** Templates of deltas that may be made, one after the other, without one that fits. */
const MAX_MISSES = 4;

const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;

/** What the byte after a backslash stands for; 0 for nothing, and for `u`, which is rare: JSON.parse knows all about it. */
const UNESCAPED = new Uint8Array(256);
for (const char of '"\\/bfnrt') UNESCAPED[char.charCodeAt(0)] = (JSON.parse(`"\\${char}"`) as string).charCodeAt(0);

/**
 * Events of a stream repeat one another but for a few values: the delta, a number that counts, a padding. One that is a
 * delta makes a template, and so do two that are none but are alike: the bytes between those values, and the parsed event
 * to put new ones into. An event that has the same bytes between its values needs no text and no `JSON.parse`; at the
 * slightest difference it is nobody's and is read as ever.
 *
 * ```
 * data: {"type":"delta","n":7,"delta":"lo","index":0}⏎⏎
 * ----- fixed -------------|1|-- fixed --|2-|-- fixed ---
 * ```
 */
export class Templates {
  /** Nothing is known and nothing will be: the events of this stream are not alike. */
  isHopeless = false;
  /** What fitted last, and mostly fits next. */
  #fitted: Template | undefined;
  #patience = UNCOMPARED + PATIENCE;
  #misses = 0; // templates of deltas that were made since one fitted
  /** All of them. */
  #templates: Template[] = NO_TEMPLATES;
  #samples: Sample[] = NO_SAMPLES;
  readonly #parser: Pick<DecoderOptions, "deltaOf"> | undefined;

  /** @param parser knows what an event is a piece of, if it is one: asked once for each template */
  constructor(parser?: Pick<DecoderOptions, "deltaOf">) {
    this.#parser = parser;
  }

  /**
   * Where the event at `at` of the bytes ends, if it is one of a template; -1 for any other. What is in it is then told
   * by `delta`, `text` and `index` or, where the template is no delta's, by `value`: at once, since nothing of it is kept.
   */
  match(bytes: Uint8Array, at: number): number {
    let end = this.#fitted === undefined ? -1 : fit(this.#fitted, bytes, at);
    if (end === -1) end = this.#matchOther(bytes, at);
    if (end === -1) return -1;
    if (this.#patience < PATIENCE) this.#patience++;
    if (this.delta !== undefined) this.#misses = 0;
    return end;
  }

  get delta(): Delta | undefined {
    return this.#fitted!.delta;
  }

  get text(): string {
    return values[this.#fitted!.textSlot] as string;
  }

  get index(): number {
    const { indexSlot } = this.#fitted!;
    return indexSlot === -1 ? 0 : (values[indexSlot] as number);
  }

  /** Made anew each time, nothing in it is shared. */
  get value(): unknown {
    return copy(this.#fitted!.model!);
  }

  #matchOther(bytes: Uint8Array, at: number): number {
    const templates = this.#templates;
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i]!;
      const end = template === this.#fitted ? -1 : fit(template, bytes, at);
      if (end === -1) continue;
      // To the front: what has not fitted for the longest time gives way to what is new.
      templates.splice(i, 1);
      templates.unshift(template);
      template.isProven = true;
      this.#fitted = template;
      return end;
    }
    return -1;
  }

  /** An event that was parsed: `head`, the JSON text `data`, a blank line. */
  learn(head: string, data: string, value: unknown): void {
    if (this.#patience === 0 || data.length > MAX_DATA_LENGTH || typeof value !== "object" || value === null) return;
    const event: Sample = { head, data, value: value as Container };
    const template = this.#deltaTemplate(event) ?? this.#valueTemplate(event);
    if (template !== undefined) {
      this.#templates = [template, ...this.#templates.slice(0, MAX_TEMPLATES - 1)];
    }
    if (--this.#patience === 0) this.#templates = this.#templates.filter(({ isProven }) => isProven);
    this.isHopeless = this.#patience === 0 && this.#templates.length === 0;
  }

  /** What a delta says of itself. If that did not fit the next one, more may change than it said. */
  #deltaTemplate(event: Sample): Template | undefined {
    const delta = this.#misses < MAX_MISSES ? this.#parser?.deltaOf?.(event.value) : undefined;
    return delta === undefined ? undefined : deltaTemplateOf(event, delta, this.#misses++ > 0);
  }

  /** What an event has in common with one before it. */
  #valueTemplate(event: Sample): Template | undefined {
    if (this.#patience > PATIENCE) return undefined;
    let template: Template | undefined;
    for (let i = 0; i < this.#samples.length && template === undefined; i++)
      template = templateOf(this.#samples[i]!, event);
    this.#samples = [event, ...this.#samples.slice(0, MAX_SAMPLES - 1)];
    return template;
  }
}

const NO_TEMPLATES: Template[] = [];
const NO_SAMPLES: Sample[] = [];

/** The values of the slots, for whoever fitted last: nothing comes between their being read and taken. */
const values: unknown[] = [];

/** Where the event that begins here ends, if it is one of the template; -1 if it is none. */
function fit({ parts }: Template, bytes: Uint8Array, start: number): number {
  if (bytes !== viewed) lookInto(bytes);
  const data = view;
  let at = start;
  let i = 0;
  for (let slot = 0; ; slot++) {
    const length = parts[i++]! | 0; // whole as it is; so it is counted with as an integer
    const end = at + length;
    if (end > bytes.length) return -1;
    let from = viewFrom + at;
    if (length < 8) {
      for (const to = viewFrom + end; from < to; from++) if (data.getUint8(from) !== parts[i++]) return -1;
    } else {
      const last = viewFrom + end - 8;
      for (; from < last; from += 8) if (data.getFloat64(from, true) !== parts[i++]) return -1;
      if (data.getFloat64(last, true) !== parts[i++]) return -1;
    }
    const kind = (parts[i++]! | 0) as Slot | typeof NO_SLOT;
    if (kind === NO_SLOT) return end;
    at = take(kind, slot, bytes, end);
    if (at === -1) return -1;
  }
}

/** Puts the value of a slot that begins at `start` into `values`, and says where it ends. */
function take(kind: Slot, slot: number, bytes: Uint8Array, start: number): number {
  if (kind === IGNORED) return skipString(bytes, start);
  if (kind === TEXT) {
    const end = readString(bytes, start);
    if (end !== -1) values[slot] = readText();
    return end;
  }
  let at = start;
  if (kind === SPACES) {
    while (bytes[at] === SPACE) at++;
    return at;
  }
  let count = 0;
  for (let byte = bytes[at]!; byte >= ZERO && byte <= ZERO + 9; byte = bytes[++at]!) count = count * 10 + byte - ZERO;
  const length = at - start;
  if (length === 0 || length > MAX_DIGITS || (length > 1 && bytes[start] === ZERO)) return -1;
  values[slot] = count;
  return at;
}

/**
 * The bytes looked into last, and a view of their buffer: network chunks are often pieces of one. One for all streams,
 * so that an open one does not hold on to its last chunk. To ask bytes for their buffer is not free.
 */
let viewed: Uint8Array = new Uint8Array(0);
let buffer: ArrayBufferLike = viewed.buffer;
let view: DataView = new DataView(buffer);
let viewFrom = 0;

function lookInto(bytes: Uint8Array): void {
  viewed = bytes;
  viewFrom = bytes.byteOffset;
  const own = bytes.buffer;
  if (own === buffer) return;
  buffer = own;
  view = new DataView(own);
}

/** The string read last, in UTF-16 units: one place for all streams, since nothing comes between its being read and taken. */
const units: number[] = Array.from({ length: MAX_SLOT_LENGTH }, () => 0);
let unitCount = 0;

/** Reads a string from behind its opening quote into `units`: the position of the closing one, -1 if it is not plain. */
function readString(bytes: Uint8Array, start: number): number {
  const last = bytes.length - 1; // not a quote to end the string: the event goes on behind it
  let count = 0;
  for (let at = start; at < last && count < MAX_SLOT_LENGTH; at++) {
    let unit = bytes[at]!;
    if (unit === QUOTE) {
      unitCount = count;
      return at;
    }
    if (unit < SPACE) return -1;
    if (unit === BACKSLASH) {
      unit = UNESCAPED[bytes[++at]!]!;
      if (unit === 0) return -1;
    } else if (unit > 0x7f) {
      unit = character(bytes, at);
      if (unit === -1) return -1;
      at += unit < 0x800 ? 1 : 2;
    }
    units[count++] = unit;
  }
  return -1;
}

/** The same for a string that nobody wants: a plain one of ASCII, as ids and padding are, is only passed over. */
function skipString(bytes: Uint8Array, start: number): number {
  const end = Math.min(bytes.length - 1, start + MAX_SLOT_LENGTH);
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte < SPACE || byte > 0x7e || byte === BACKSLASH) return readString(bytes, start);
  }
  return -1;
}

/** The character of two or three bytes that begins here; -1 for one of four, and for what is no UTF-8. */
function character(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  const second = bytes[at + 1]!;
  if (first < 0xc2 || first >= 0xf0 || (second & 0xc0) !== 0x80) return -1;
  if (first < 0xe0) return ((first & 0x1f) << 6) | (second & 0x3f);
  const third = bytes[at + 2]!;
  const unit = ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
  return (third & 0xc0) === 0x80 && unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? unit : -1;
}

/** The string in `units`: a flat one of its own, whatever network chunk it came in. */
function readText(): string {
  let list = exact[unitCount];
  if (list === undefined) {
    list = units.slice(0, unitCount);
    if (unitCount < MAX_EXACT) exact[unitCount] = list;
  } else for (let i = 0; i < list.length; i++) list[i] = units[i]!;
  return String.fromCharCode(...list);
}

/** A list for each short length, used again and again: to spread one is far faster than to make it. */
const MAX_EXACT = 64;
const exact: (number[] | undefined)[] = [];

/** A fresh value: the copies of all containers, with the values of the slots in their places. */
function copy({ original, isArray, places }: Model): Container {
  const made = (isArray ? (original as unknown as unknown[]).slice() : { ...original }) as Container;
  for (let i = 0; i < places.length; i++) {
    const { key, model, slot } = places[i]!;
    made[key] = model === undefined ? values[slot] : copy(model);
  }
  return made;
}
