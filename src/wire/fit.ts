import { MAX_DIGITS } from "./json-text.ts";
import {
  IGNORED,
  MAX_SLOT_LENGTH,
  MAX_SLOTS,
  NO_SLOT,
  PIECE,
  SPACES,
  STRING,
  type Slot,
  type Template,
} from "./template.ts";
import { decodeUtf8 } from "./utf8.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;

/** What the byte after a backslash stands for; 0 for nothing, and for `u`, which is rare: JSON.parse knows all about it. */
const UNESCAPED = new Uint8Array(256);
for (const char of '"\\/bfnrt') UNESCAPED[char.charCodeAt(0)] = (JSON.parse(`"\\${char}"`) as string).charCodeAt(0);

/** The values of the slots, for whoever fitted last: nothing comes between their being read and taken. */
export const values: unknown[] = [];

/** Where the event at `start` of the bytes ends, if it is one of the template; -1 if it is none. */
export function fit({ parts, words }: Template, bytes: Uint8Array, start: number): number {
  bringNear(bytes, start);
  let at = start - nearFrom;
  let i = 0;
  let word = 0;
  for (let slot = 0; ; slot++) {
    const length = parts[i++]!;
    const end = at + length;
    if (end > nearLength) return -1;
    if (length >= 8) {
      for (; at < end - 8; at += 8) if (nearView.getFloat64(at, true) !== words[word++]) return -1;
      if (nearView.getFloat64(end - 8, true) !== words[word++]) return -1;
    } else if (length >= 4) {
      if (nearView.getInt32(at, true) !== parts[i++] || nearView.getInt32(end - 4, true) !== parts[i++]) return -1;
    } else for (; at < end; at++) if (near[at] !== parts[i++]) return -1;
    const kind = parts[i++] as Slot | typeof NO_SLOT;
    if (kind === NO_SLOT) return end + nearFrom;
    at = take(kind, slot, end);
    if (at === -1) return -1;
  }
}

/**
 * A copy of the bytes that are looked into: to copy a network chunk costs less than to make a view of its buffer, and
 * far less where each chunk has a buffer of its own. One for all streams.
 */
const near = new Uint8Array(16_384);
const nearView = new DataView(near.buffer);
/** Whose they are, how many, and from where on. */
let nearOf: Uint8Array | undefined;
let nearLength = 0;
let nearFrom = 0;
/** Of bytes that are too many, so many are there at least. A longer event may be nobody's. */
const REACH = 8192;

function bringNear(bytes: Uint8Array, at: number): void {
  if (bytes === nearOf && (nearLength === bytes.length || isInReach(bytes, at))) return;
  nearOf = bytes;
  const isShort = bytes.length <= near.length;
  const piece = isShort ? bytes : bytes.subarray(at, at + near.length);
  near.set(piece);
  nearLength = piece.length;
  nearFrom = isShort ? 0 : at;
}

function isInReach(bytes: Uint8Array, at: number): boolean {
  return at >= nearFrom && (at - nearFrom <= near.length - REACH || nearFrom + nearLength === bytes.length);
}

/** Before bytes are looked into: they may be an object as before with other bytes in it, where a source uses it again. */
export function lookAnew(): void {
  nearOf = undefined;
}

/** Puts the value of a slot that begins at `start` into `values`, and says where it ends. */
function take(kind: Slot, slot: number, start: number): number {
  if (kind === IGNORED) return isPassed(slot, start) ? start + passed[slot]!.length : skipString(slot, start);
  if (kind === PIECE) return readString(slot, start);
  if (kind === STRING) return readAgain(slot, start);
  let at = start;
  if (kind === SPACES) {
    while (near[at] === SPACE) at++;
    return at;
  }
  let count = 0;
  for (let byte = near[at]!; byte >= ZERO && byte <= ZERO + 9; byte = near[++at]!) count = count * 10 + byte - ZERO;
  const length = at - start;
  if (length === 0 || length > MAX_DIGITS || (length > 1 && near[start] === ZERO)) return -1;
  values[slot] = count;
  return at;
}

/** The string that is being read, in UTF-16 units: one place for all, since nothing comes between its being read and taken. */
const units: number[] = [];

/** Reads a string from behind its opening quote into `values`: the position of the closing one, -1 if it is not plain. */
function readString(slot: number, start: number): number {
  const last = nearLength - 1; // not a quote to end the string: the event goes on behind it
  let count = 0;
  let at = start;
  for (; at < last && count < MAX_UNITS; at++) {
    let unit = near[at]!;
    if (unit === QUOTE) {
      values[slot] = textOf(count);
      return at;
    }
    if (unit < SPACE) return -1;
    if (unit === BACKSLASH) {
      unit = UNESCAPED[near[++at]!]!;
      if (unit === 0) return -1;
    } else if (unit > 0x7f) {
      unit = character(at);
      if (unit === -1) return -1;
      at += unit < 0x800 ? 1 : 2;
    }
    units[count++] = unit;
  }
  return count === MAX_UNITS ? readLongString(slot, start, at) : -1;
}

/** The same for one of which some characters are known, up to `from`: of so many the engine's own functions are faster. */
function readLongString(slot: number, start: number, from: number): number {
  const last = Math.min(nearLength - 1, start + MAX_SLOT_LENGTH);
  let end = from;
  while (end < last && near[end] !== QUOTE) end += near[end] === BACKSLASH ? 2 : 1;
  const text = end < last ? decodeUtf8(near.subarray(start, end)) : undefined;
  if (text === undefined) return -1;
  try {
    values[slot] = JSON.parse(`"${text}"`);
  } catch {
    return -1;
  }
  return end;
}

/** The same for a string that may be the one that was read last: an id, a model's name. */
function readAgain(slot: number, start: number): number {
  const last = passed[slot]!;
  if (last.text !== undefined && isPassed(slot, start)) {
    values[slot] = last.text;
    return start + last.length;
  }
  const end = readString(slot, start);
  if (end - start >= MIN_PASSED) pass(slot, start, end, values[slot] as string);
  return end;
}

/** The same for a string that nobody wants: a plain one of ASCII, as ids and padding are, is only passed over. */
function skipString(slot: number, start: number): number {
  const last = Math.min(nearLength - 1, start + MAX_SLOT_LENGTH);
  for (let at = start; at < last; at++) {
    const byte = near[at]!;
    if (byte === QUOTE) {
      if (at - start >= MIN_PASSED) pass(slot, start, at, undefined);
      return at;
    }
    if (byte < SPACE || byte > 0x7e || byte === BACKSLASH) return readString(slot, start);
  }
  return -1;
}

/**
 * The string that came last in each slot, of any stream: in the next event an id is mostly the same. Words as those of a
 * {@link Template}; no text of one that was only passed over.
 */
interface Passed {
  length: number;
  readonly words: number[];
  text: string | undefined;
}

const passed = Array.from({ length: MAX_SLOTS }, (): Passed => ({ length: 0, words: [], text: undefined }));
const MIN_PASSED = 16;

function pass(slot: number, start: number, end: number, text: string | undefined): void {
  const { words } = passed[slot]!;
  let i = 0;
  for (let at = start; at < end - 8; at += 8) words[i++] = nearView.getFloat64(at, true);
  words[i] = nearView.getFloat64(end - 8, true);
  passed[slot]!.length = end - start;
  passed[slot]!.text = text;
}

function isPassed(slot: number, start: number): boolean {
  const { length, words } = passed[slot]!;
  const end = start + length;
  if (length === 0 || end >= nearLength || near[end] !== QUOTE) return false;
  let i = 0;
  for (let at = start; at < end - 8; at += 8) if (nearView.getFloat64(at, true) !== words[i++]) return false;
  return nearView.getFloat64(end - 8, true) === words[i];
}

/** The character of two or three bytes that begins here; -1 for one of four, and for what is no UTF-8. */
function character(at: number): number {
  const first = near[at]!;
  const second = near[at + 1]!;
  if (first < 0xc2 || first >= 0xf0 || (second & 0xc0) !== 0x80) return -1;
  if (first < 0xe0) return ((first & 0x1f) << 6) | (second & 0x3f);
  const third = near[at + 2]!;
  const unit = ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
  return (third & 0xc0) === 0x80 && unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? unit : -1;
}

/** The string in `units`: a flat one of its own, whatever network chunk it came in. */
function textOf(count: number): string {
  let list = exact[count];
  if (list === undefined) exact[count] = list = units.slice(0, count);
  else for (let i = 0; i < list.length; i++) list[i] = units[i]!;
  return String.fromCharCode(...list);
}

/** A list for each length, used again and again: to spread one is far faster than to make it. */
const MAX_UNITS = 64;
const exact: (number[] | undefined)[] = [];
