import type { Delta, EventPath } from "./delta.ts";
import { utf8Length } from "./utf8.ts";

/** What two events have in common: the bytes between the values that differ, and the event to put new ones into. */
export interface Template {
  /** One more than there are slots; a slot of a string begins and ends between its quotes. */
  readonly fixed: readonly Fixed[];
  readonly slots: readonly Slot[];
  /** `undefined` where there is a delta, which needs no event. */
  readonly model: Model | undefined;
  /** What its events are a piece of; `undefined` where they are no piece, or say more than that. */
  readonly delta: Delta | undefined;
  readonly textSlot: number;
  /** -1 where the index is always the same: `index`. */
  readonly indexSlot: number;
  readonly index: number;
}

/** Bytes as words of four, since comparing them so takes a quarter of the time, and the rest. */
export interface Fixed {
  readonly length: number;
  readonly words: readonly number[];
  readonly rest: readonly number[];
}

export type Slot = typeof TEXT | typeof COUNT | typeof SPACES | typeof IGNORED;
/** A string. */
export const TEXT = 0;
/** A whole number without a sign. */
export const COUNT = 1;
/** Spaces between two tokens: some servers pad with them. */
export const SPACES = 2;
/** A string that means nothing. */
export const IGNORED = 3;

/** How to copy a container. */
export interface Model {
  readonly original: Container;
  readonly isArray: boolean;
  /** The containers and the slots in it. */
  readonly places: readonly Place[];
}

interface Place {
  readonly key: string | number;
  readonly model: Model | undefined;
  readonly slot: number;
}

export type Container = Record<string | number, unknown>;

const MAX_SLOTS = 6;
/** All numbers of so many digits are exact. */
export const MAX_DIGITS = 15;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const END = "\n\n";

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** A level of the JSON text while it is walked. */
interface Level {
  readonly isArray: boolean;
  /** Of an object: where the name of the open member begins and ends. */
  keyStart: number;
  keyEnd: number;
  index: number;
}

/** An event as it came: `head`, JSON text, a blank line. */
export interface Sample {
  readonly head: string;
  readonly data: string;
  /** What the text was parsed to. */
  readonly value: Container;
}

/**
 * What two texts, both of them JSON, have in common, if it is all but the values of some strings and numbers.
 * A string with an escape is a slot though it is the same in both: side by side calls begin with the same piece.
 * Refuses what would take care: escapes in keys, keys that come twice, `__proto__`, numbers that are no counts.
 */
export function templateOf(
  first: Sample,
  second: Sample,
  deltaOf: ((event: unknown) => Delta | undefined) | undefined,
): Template | undefined {
  if (first.head !== second.head) return undefined;
  const { value } = second;
  const keyCount = keysOf(value);
  // A first look; the parser may have changed its value.
  if (keysOf(first.value) !== keyCount) return undefined;
  const one = utf8.encode(first.data);
  const two = utf8.encode(second.head + second.data + END);
  const from = utf8Length(second.head);
  const to = two.length - END.length;
  const ends: number[] = []; // of fixed parts, and where those behind them begin
  const starts: number[] = [0];
  const slots: Slot[] = [];
  const paths: (string | number)[][] = [];
  const levels: Level[] = [];
  let keys = 0;
  let i = 0;
  let j = from;

  function addSlot(kind: Slot, start: number, end: number): void {
    ends.push(start);
    starts.push(end);
    slots.push(kind);
    paths.push(kind === SPACES ? [] : levels.map(stepOf));
  }

  function stepOf({ isArray, keyStart, keyEnd, index }: Level): string | number {
    return isArray ? index : text.decode(two.subarray(keyStart, keyEnd));
  }

  while (j < to) {
    const oneCode = one[i];
    const code = two[j]!;
    if (code === SPACE || oneCode === SPACE) {
      const oneEnd = afterSpaces(one, i);
      const twoEnd = afterSpaces(two, j);
      if (oneEnd - i !== twoEnd - j) addSlot(SPACES, j, twoEnd);
      i = oneEnd;
      j = twoEnd;
    } else if (isDigit(code) && isDigit(oneCode)) {
      const oneEnd = endOfNumber(one, i);
      const twoEnd = endOfNumber(two, j);
      if (oneEnd - i !== twoEnd - j || !isSame(one, i, two, j, twoEnd)) {
        if (two[j - 1] === MINUS || !isCount(two, j, twoEnd)) return undefined;
        addSlot(COUNT, j, twoEnd);
      }
      i = oneEnd;
      j = twoEnd;
    } else if (code !== oneCode) return undefined;
    else if (code === QUOTE) {
      let twoEnd = endOfSame(one, i, two, j);
      let oneEnd = i + twoEnd - j;
      const isSlot = twoEnd === -1;
      if (isSlot) {
        oneEnd = endOfString(one, i + 1);
        twoEnd = endOfString(two, j + 1);
        addSlot(TEXT, j + 1, twoEnd);
      }
      if (two[afterSpaces(two, twoEnd + 1)] === COLON) {
        if (isSlot) return undefined;
        keys++;
        const level = levels[levels.length - 1]!;
        level.keyStart = j + 1;
        level.keyEnd = twoEnd;
      }
      i = oneEnd + 1;
      j = twoEnd + 1;
    } else {
      if (code < SPACE) return undefined;
      if (code === OPEN_BRACE || code === OPEN_BRACKET)
        levels.push({ isArray: code === OPEN_BRACKET, keyStart: 0, keyEnd: 0, index: 0 });
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) levels.pop();
      else if (code === COMMA) levels[levels.length - 1]!.index++;
      i++;
      j++;
    }
    if (slots.length > MAX_SLOTS) return undefined;
  }
  if (i !== one.length || slots.length === 0 || keys !== keyCount) return undefined;
  ends.push(two.length);
  const fixed = ends.map((end, part) => fixedOf(two, starts[part]!, end));
  const delta = deltaOf?.(value);
  const places = delta === undefined ? undefined : placesOf(delta, value, slots, paths);
  return {
    fixed,
    slots: places?.slots ?? slots,
    // Of a value of our own: the other one may be kept, and changed, by who got it.
    model: places === undefined ? modelOf(JSON.parse(second.data) as Container, paths, 0) : undefined,
    delta: places === undefined ? undefined : delta,
    textSlot: places?.textSlot ?? -1,
    indexSlot: places?.indexSlot ?? -1,
    index: places?.index ?? 0,
  };
}

/** Which slots tell the delta; `undefined` if there is one that tells anything else. */
function placesOf(delta: Delta, original: Container, slots: readonly Slot[], paths: readonly EventPath[]) {
  const is = (slot: number, path: EventPath | undefined) =>
    path !== undefined && path.length === paths[slot]!.length && path.every((step, i) => step === paths[slot]![i]);
  const textSlot = slots.findIndex((kind, slot) => kind === TEXT && is(slot, delta.text));
  const indexSlot = slots.findIndex((kind, slot) => kind === COUNT && is(slot, delta.index));
  const isIgnored = (slot: number) => delta.ignored?.some((path) => is(slot, path)) === true;
  const isKnown = slots.every(
    (kind, slot) => kind === SPACES || slot === textSlot || slot === indexSlot || isIgnored(slot),
  );
  const index = delta.index === undefined ? 0 : valueAt(original, delta.index);
  if (textSlot === -1 || !isKnown || typeof index !== "number") return undefined;
  return {
    slots: slots.map((kind, slot) => (kind === TEXT && slot !== textSlot ? IGNORED : kind)),
    textSlot,
    indexSlot,
    index,
  };
}

function valueAt(value: unknown, path: EventPath): unknown {
  let at = value;
  for (const step of path) at = (at as Container | null | undefined)?.[step];
  return at;
}

/** `paths` are those of the slots that lie in this container, with their first `depth` steps. */
function modelOf(original: Container, paths: readonly (readonly (string | number)[])[], depth: number): Model {
  const isArray = Array.isArray(original);
  const places: Place[] = [];
  for (const name of Object.keys(original)) {
    const key = isArray ? Number(name) : name;
    const value = original[key];
    // Paths of other containers stay in the list, so that the index is the slot; they are emptied.
    const inside = paths.map((path) => (path[depth] === key ? path : []));
    if (typeof value === "object" && value !== null) {
      places.push({ key, model: modelOf(value as Container, inside, depth + 1), slot: -1 });
    } else {
      const slot = inside.findIndex((path) => path.length > 0);
      if (slot !== -1) places.push({ key, model: undefined, slot });
    }
  }
  return { original, isArray, places };
}

/** How many keys a value has, those of the values in it included; NaN where one is `__proto__`. */
function keysOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const key of Object.keys(value)) {
    if (key === "__proto__") return NaN;
    count += (Array.isArray(value) ? 0 : 1) + keysOf((value as Container)[key]);
  }
  return count;
}

function isSame(one: Uint8Array, oneAt: number, two: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (one[oneAt + at - from] !== two[at]) return false;
  return true;
}

/** The closing quote of the second string, if both strings are one and the same, without an escape; else -1. */
function endOfSame(one: Uint8Array, oneAt: number, two: Uint8Array, from: number): number {
  for (let at = from + 1; at < two.length; at++) {
    const code = two[at];
    if (code !== one[oneAt + at - from] || code === BACKSLASH) return -1;
    if (code === QUOTE) return at;
  }
  return -1;
}

function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}

function afterSpaces(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at++;
  return at;
}

function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const code = bytes[at]!;
    if (!isDigit(code) && code !== 0x2e && code !== 0x2b && code !== MINUS && (code | 0x20) !== 0x65) return at;
    at++;
  }
}

function isCount(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isDigit(bytes[at])) return false;
  return to - from <= MAX_DIGITS;
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 48 && code <= 57;
}

/** Plain lists: typed arrays are slow to make, and most streams are short. */
function fixedOf(bytes: Uint8Array, from: number, to: number): Fixed {
  const words: number[] = [];
  let at = from;
  for (; at + 4 <= to; at += 4) {
    words.push(bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
  }
  return { length: to - from, words, rest: [...bytes.subarray(at, to)] };
}
