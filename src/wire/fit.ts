import { unescaped } from "../json/characters.ts";
import { MAX_DIGITS, MAX_LENGTH, MAX_SLOTS, SLOT, type Template } from "./template.ts";
import { decodeUtf8 } from "./utf8.ts";

// Constants of this module, since they are read for every event: see SLOT.
const { COUNT, IGNORED, PIECE, STRING } = SLOT;
/** Of a string, in bytes: no character takes more than three of them. */
const LONGEST = 3 * MAX_LENGTH;
const DIGITS = MAX_DIGITS;

const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;

/** What the byte after a backslash stands for; 0 for nothing, and for `u`, which is rare. */
const UNESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => unescaped(byte).charCodeAt(0));

/** The longest string, in bytes, that is read here; for longer ones the engine's own functions are faster. */
const MAX_READ = 64;

/** The values of the slots of the last template that fitted: they are read and taken with nothing in between. */
const values: unknown[] = [];

export function valueOf(slot: number): unknown {
  return values[slot];
}

/** Where the event at `start` of the bytes ends, if it fits the template; -1 if it does not. */
export function fit({ first, words }: Template, bytes: Uint8Array, start: number): number {
  bringNear(bytes, start);
  const limit = nearLength;
  let at = start - nearFrom;
  let word = 0;
  let part = first;
  for (let slot = 0; ; slot++) {
    const end = at + part.length;
    if (end > limit) return -1;
    if (part.length >= 8) {
      for (; at < end - 8; at += 8) if (nearView.getFloat64(at, true) !== words[word++]) return -1;
      if (nearView.getFloat64(end - 8, true) !== words[word++]) return -1;
    } else {
      if ((nearView.getInt32(at, true) & part.headMask) !== part.head) return -1;
      if ((nearView.getInt32(at + 4, true) & part.restMask) !== part.rest) return -1;
    }
    const { next } = part;
    if (next === undefined) return end + nearFrom;
    // Tested inline, not in a function: a call costs as much as a slot.
    const kind = part.slot;
    if (kind === PIECE) at = readString(slot, end);
    else if (kind === IGNORED) at = passOver(slot, end);
    else if (kind === COUNT) at = readCount(slot, end);
    else if (kind === STRING) at = readAgain(slot, end);
    else at = afterSpaces(end);
    if (at === -1) return -1;
    part = next;
  }
}

/**
 * A copy of the bytes being matched: copying a network chunk costs less than making a view of its buffer, and far less
 * when each chunk has its own buffer. Shared by all streams.
 */
const NEAR = 16_384;
const near = new Uint8Array(NEAR + 8); // a short part is read as eight bytes
const nearView = new DataView(near.buffer);
/** Whose bytes these are, how many, and from which offset. */
let nearOf: Uint8Array | undefined;
let nearLength = 0;
let nearFrom = 0;
/** If the bytes do not all fit, at least this many are there. A longer event may fit no template. */
const REACH = 8192;

function bringNear(bytes: Uint8Array, at: number): void {
  if (bytes === nearOf && (nearLength === bytes.length || isInReach(bytes, at))) return;
  nearOf = bytes;
  const { length } = bytes;
  if (length <= NEAR) {
    near.set(bytes);
    nearLength = length;
    nearFrom = 0;
  } else {
    const piece = bytes.subarray(at, at + NEAR);
    near.set(piece);
    nearLength = piece.length;
    nearFrom = at;
  }
}

function isInReach(bytes: Uint8Array, at: number): boolean {
  return at >= nearFrom && (at - nearFrom <= NEAR - REACH || nearFrom + nearLength === bytes.length);
}

/** Call before matching new bytes: a source may reuse the same array with other bytes in it. */
export function lookAnew(): void {
  nearOf = undefined;
}

// The value in a slot that begins at `start`: each returns where it ends, or -1 if it is not one, and sets `values`.

function readCount(slot: number, start: number): number {
  let at = start;
  let count = 0;
  for (let byte = near[at]!; byte >= ZERO && byte <= ZERO + 9; byte = near[++at]!) count = count * 10 + byte - ZERO;
  const length = at - start;
  if (length === 0 || length > DIGITS || (length > 1 && near[start] === ZERO)) return -1;
  values[slot] = count;
  return at;
}

function afterSpaces(start: number): number {
  let at = start;
  while (near[at] === SPACE) at++;
  return at;
}

/** From after a string's opening quote to its closing one. */
function readString(slot: number, start: number): number {
  const end = endOfPlain(start);
  if (near[end] !== QUOTE || end - start > MAX_READ) return readOdd(slot, start, end);
  values[slot] = plainText(start, end - start);
  return end;
}

/**
 * Where the plain ASCII that begins here ends: mostly at the closing quote. Reads four bytes at a time. Two
 * subtractions set the highest bit of each byte that is not plain: the first for those below 0x21, after an XOR that
 * swaps the quote (0x22) with the space (0x20), the second for 0, to which an XOR maps the backslash; and at least one
 * of them leaves the bit set for non-ASCII. A borrow from the byte after such a byte does not matter: only the first
 * one counts.
 */
function endOfPlain(start: number): number {
  const limit = limitOf(start);
  for (let at = start; at < limit; at += 4) {
    const four = nearView.getInt32(at, true);
    const other = (((four ^ 0x02020202) - 0x21212121) | ((four ^ 0x5c5c5c5c) - 0x01010101)) & HIGHEST;
    if (other !== 0) return Math.min(limit, at + ((31 - Math.clz32(other & -other)) >> 3));
  }
  return limit;
}

/** The highest bit of each of four bytes. */
const HIGHEST = 0x80808080 | 0;

/** The closing quote of a string that goes on at `from` with more than plain ASCII. */
function endOfString(start: number, from: number): number {
  const limit = limitOf(start);
  let at = from;
  while (at < limit && near[at] !== QUOTE) at += near[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * No string is searched beyond this. Of one that is closed there or later, by a byte that is left from before, nothing
 * is left for what has to follow.
 */
function limitOf(start: number): number {
  return Math.min(nearLength, start + LONGEST);
}

/** A text of plain ASCII: a flat string of its own, not a slice of its network chunk. */
function plainText(start: number, count: number): string {
  // Mostly this short: for more characters, copying them into a list is faster than naming each.
  switch (count) {
    case 1:
      return String.fromCharCode(near[start]!);
    case 2:
      return String.fromCharCode(near[start]!, near[start + 1]!);
    case 3:
      return String.fromCharCode(near[start]!, near[start + 1]!, near[start + 2]!);
    case 4:
      return String.fromCharCode(near[start]!, near[start + 1]!, near[start + 2]!, near[start + 3]!);
  }
  const list = exact[count]!;
  for (let i = 0; i < list.length; i++) list[i] = near[start + i]!;
  return String.fromCharCode(...list);
}

/** Like {@link readString}, for a string that is long, or has escapes or non-ASCII characters from `plainEnd` on. */
function readOdd(slot: number, start: number, plainEnd: number): number {
  const limit = Math.min(limitOf(start), start + MAX_READ);
  if (plainEnd > limit) return readByEngine(slot, start, plainEnd);
  let count = 0;
  for (let at = start; at < plainEnd; at++) units[count++] = near[at]!;
  let at = plainEnd;
  for (; at <= limit; at++) {
    let unit = near[at]!;
    if (unit === QUOTE) {
      values[slot] = textOf(count);
      return at;
    }
    if (unit < SPACE) break;
    if (unit === BACKSLASH) {
      unit = UNESCAPED[near[++at]!]!;
      if (unit === 0) break;
    } else if (unit > 0x7f) {
      unit = character(at);
      if (unit === -1) break;
      at += unit < 0x800 ? 1 : 2;
    }
    units[count++] = unit;
  }
  return readByEngine(slot, start, at);
}

/** The text of the first `count` {@link units}. */
function textOf(count: number): string {
  const list = exact[count]!;
  for (let i = 0; i < list.length; i++) list[i] = units[i]!;
  return String.fromCharCode(...list);
}

/** The UTF-16 units of such a text. */
const units = new Uint16Array(MAX_READ + 1);
/** One reused list for each length: spreading a list is far faster than creating it. */
const exact = Array.from({ length: MAX_READ + 1 }, (_, length) => Array.from({ length }, () => 0));

/**
 * Like {@link readString}, by the engine's own functions: they are faster for many bytes, and know the rare cases. The
 * closing quote is searched from `from` on.
 */
function readByEngine(slot: number, start: number, from: number): number {
  const end = endOfString(start, from);
  const text = near[end] === QUOTE ? decodeUtf8(near.subarray(start, end)) : undefined;
  if (text === undefined) return -1;
  try {
    values[slot] = JSON.parse(`"${text}"`);
  } catch {
    return -1;
  }
  return end;
}

/** Like {@link readString}, for a string that may have been read recently: an id, a model's name, a resent argument. */
function readAgain(slot: number, start: number): number {
  for (const known of lately) {
    if (!isAt(start, known)) continue;
    values[slot] = known.text;
    return start + known.length;
  }
  const end = readString(slot, start);
  if (end - start < MIN_KNOWN) return end;
  keep(lately[oldest]!, start, end, values[slot] as string);
  oldest = (oldest + 1) % lately.length;
  return end;
}

/** Like {@link readString}, for a string that is not needed: plain ASCII, such as ids and padding, is only skipped. */
function passOver(slot: number, start: number): number {
  const known = passed[slot]!;
  if (isAt(start, known)) return start + known.length;
  const end = endOfPlain(start);
  if (near[end] !== QUOTE) return readOdd(slot, start, end);
  if (end - start >= MIN_KNOWN) keep(known, start, end, "");
  return end;
}

/** A string whose bytes are known, as the words of a {@link Template}. */
interface Known {
  length: number;
  readonly words: number[];
  /** Empty if it was only skipped. */
  text: string;
}

const MIN_KNOWN = 16;

/** The strings read last, of any stream: an id is mostly the same as in the event before, wherever it stands. */
const lately = Array.from({ length: 8 }, nothing);
/** The one to be replaced next. */
let oldest = 0;
/** What was last skipped in each slot, of any stream, without its text. */
const passed = Array.from({ length: MAX_SLOTS }, nothing);

function nothing(): Known {
  return { length: 0, words: [], text: "" };
}

function keep(known: Known, start: number, end: number, text: string): void {
  const { words } = known;
  let i = 0;
  for (let at = start; at < end - 8; at += 8) words[i++] = nearView.getFloat64(at, true);
  words[i] = nearView.getFloat64(end - 8, true);
  known.length = end - start;
  known.text = text;
}

/** Whether this is the whole string that begins at `start`. */
function isAt(start: number, { length, words }: Known): boolean {
  const end = start + length;
  if (length === 0 || near[end] !== QUOTE) return false;
  let i = 0;
  for (let at = start; at < end - 8; at += 8) if (nearView.getFloat64(at, true) !== words[i++]) return false;
  return nearView.getFloat64(end - 8, true) === words[i];
}

/** The character of two or three bytes that begins here; -1 for one of four, and for invalid UTF-8. */
function character(at: number): number {
  const first = near[at]!;
  const second = near[at + 1]!;
  if (first < 0xc2 || first >= 0xf0 || (second & 0xc0) !== 0x80) return -1;
  if (first < 0xe0) return ((first & 0x1f) << 6) | (second & 0x3f);
  const third = near[at + 2]!;
  const unit = ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
  return (third & 0xc0) === 0x80 && unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? unit : -1;
}
