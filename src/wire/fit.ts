import { lastMade } from "../json/index.ts";
import { MAX_DIGITS } from "./json-text.ts";
import { MAX_SLOT_LENGTH, MAX_SLOTS, SLOT, type Template } from "./template.ts";
import { decodeUtf8 } from "./utf8.ts";

// Constants of this module's own, since they are asked for in every event: see SLOT.
const { COUNT, IGNORED, PIECE, STRING } = SLOT;
const LONGEST = MAX_SLOT_LENGTH;
const DIGITS = MAX_DIGITS;

const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;

/** What the byte after a backslash stands for; 0 for nothing, and for `u`, which is rare. */
const UNESCAPED = new Uint8Array(256);
for (const char of '"\\/bfnrt') UNESCAPED[char.charCodeAt(0)] = (JSON.parse(`"\\${char}"`) as string).charCodeAt(0);

/** Bytes of a string that is read here; longer ones are read by the engine's own functions, which are faster then. */
const MAX_READ = lastMade.units.length - 1;

/** The values of the slots, for whoever fitted last: nothing comes between their being read and taken. */
const values: unknown[] = [];

export function valueOf(slot: number): unknown {
  return values[slot];
}

/** Where the event at `start` of the bytes ends, if it is one of the template; -1 if it is none. */
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
    // Which of them is asked here and not in a function of its own: a call costs as much as a slot.
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
 * A copy of the bytes that are looked into: to copy a network chunk costs less than to make a view of its buffer, and
 * far less where each chunk has a buffer of its own. One for all streams.
 */
const NEAR = 16_384;
const near = new Uint8Array(NEAR + 8); // a short part is read as eight bytes
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

/** Before bytes are looked into: they may be an object as before with other bytes in it, where a source uses it again. */
export function lookAnew(): void {
  nearOf = undefined;
}

// What stands in a slot that begins at `start`: each says where it ends, -1 if it is not that, and puts it into `values`.

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

/** From behind the opening quote of a string to the closing one. */
function readString(slot: number, start: number): number {
  const end = endOfPlain(start);
  if (near[end] !== QUOTE || end - start > MAX_READ) return readOdd(slot, start, end);
  values[slot] = made(plainText(start, end - start), end - start);
  return end;
}

/** Notes of a string how many of its first characters are plain ASCII. */
function made(text: string, plain: number): string {
  lastMade.text = text;
  lastMade.plain = plain;
  return text;
}

/**
 * Where plain ASCII ends that begins here: mostly with the closing quote. Four bytes at a time, of which two subtractions
 * bring out in the highest bit of each whether it is another one: the first those below 0x21, when the quote (0x22) has
 * changed places with the space (0x20), the second 0, when the backslash has become that; and one of them at the least
 * leaves it set in what is not ASCII. What is borrowed from the byte behind such a one does not matter: it is not the first.
 */
function endOfPlain(start: number): number {
  const limit = limitOf(start);
  for (let at = start; at < limit; at += 4) {
    const four = nearView.getInt32(at, true);
    const other = (((four ^ 0x02020202) - 0x21212121) | ((four ^ 0x5c5c5c5c) - 0x01010101)) & HIGHEST;
    if (other !== 0) return Math.min(limit, at + ((31 - Math.clz32(other & -other)) >> 3));
  }
  return Math.max(start, limit);
}

/** Of each of four bytes the highest bit. */
const HIGHEST = 0x80808080 | 0;

/** Where the closing quote is, of a string that goes on at `from` with more than plain ASCII. */
function endOfString(start: number, from: number): number {
  const limit = limitOf(start);
  let at = from;
  while (at < limit && near[at] !== QUOTE) at += near[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * No string is looked through beyond this; the last byte of all closes none, since the event goes on behind it. Of a
 * character that begins before it the end may be behind it: then nothing is left for what has to follow.
 */
function limitOf(start: number): number {
  return Math.min(nearLength - 2, start + LONGEST);
}

/** The text of plain ASCII: a flat string of its own, whatever network chunk it came in. */
function plainText(start: number, count: number): string {
  // Mostly it is so short: for more, to copy them into a list is faster than to name them.
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

/** Like {@link readString}, for one that is long, or has escapes or characters outside of ASCII from `plainEnd` on. */
function readOdd(slot: number, start: number, plainEnd: number): number {
  const limit = Math.min(limitOf(start), start + MAX_READ);
  if (plainEnd > limit) return readByEngine(slot, start, plainEnd);
  let count = 0;
  for (let at = start; at < plainEnd; at++) units[count++] = near[at]!;
  let at = plainEnd;
  for (; at <= limit; at++) {
    let unit = near[at]!;
    if (unit === QUOTE) {
      values[slot] = made(textOf(count), plainEnd - start);
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

/** The text of so many {@link units}. */
function textOf(count: number): string {
  const list = exact[count]!;
  for (let i = 0; i < list.length; i++) list[i] = units[i]!;
  return String.fromCharCode(...list);
}

/** The UTF-16 units of an odd text: whoever parses it next needs them, too. */
const { units } = lastMade;
/** A list for each length, used again and again: to spread one is far faster than to make it. */
const exact = Array.from({ length: MAX_READ + 1 }, (_, length) => Array.from({ length }, () => 0));

/**
 * Like {@link readString}, by the engine's own functions: they are faster for many bytes, and know what is rare. The
 * closing quote is looked for from `from` on.
 */
function readByEngine(slot: number, start: number, from: number): number {
  made("", 0); // its units are overwritten
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

/** Like {@link readString}, for one that may have been read a moment ago: an id, a model's name, arguments once more. */
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

/** Like {@link readString}, for one that nobody wants: plain ASCII, as ids and padding are, is only passed over. */
function passOver(slot: number, start: number): number {
  const known = passed[slot]!;
  if (isAt(start, known)) return start + known.length;
  const end = endOfPlain(start);
  if (near[end] !== QUOTE) return readOdd(slot, start, end);
  if (end - start >= MIN_KNOWN) keep(known, start, end, "");
  return end;
}

/** A string of which it is known what its bytes are, as the words of a {@link Template}. */
interface Known {
  length: number;
  readonly words: number[];
  /** Empty where it was only passed over. */
  text: string;
}

const MIN_KNOWN = 16;

/** The strings that were read last, of any stream: an id is mostly that of the event before, wherever it stands in it. */
const lately = Array.from({ length: 8 }, nothing);
/** Which of them is the first to go. */
let oldest = 0;
/** What was only passed over last in each slot, of any stream, and its text not kept. */
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

/** Whether it is the whole string that begins at `start`. */
function isAt(start: number, { length, words }: Known): boolean {
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
