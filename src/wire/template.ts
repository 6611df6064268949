import { parseJson } from "../json/parse.ts";
import type { Delta } from "./delta.ts";
import {
  afterSpaces,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endOfNumber,
  endOfString,
  isCount,
  isDigit,
  MAX_DIGITS,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from "./json-text.ts";
import type { PlainEvent } from "./sse.ts";

/** What events have in common: the bytes between the values that differ, and what to make of these. */
export interface Template {
  /** Of the fixed parts. */
  readonly first: Part;
  /**
   * Those of eight bytes and more, eight bytes each, read as doubles: comparing them so takes an eighth of the time. The
   * last word of a part ends with it, and may overlap the one before.
   */
  readonly words: readonly number[];
  /** `undefined` where there is a delta, which needs no event. */
  readonly model: Model | undefined;
  /** What its events are a piece of; `undefined` where they are no piece. */
  readonly delta: Delta<any> | undefined;
  /** Of the slots, which is the piece. That of a string begins and ends between its quotes. */
  readonly textSlot: number;
  /** -1 where there is no index. */
  readonly indexSlot: number;
  /** When an event fitted last, in uses of all of them. */
  lastUse: number;
  /** Where among all of them the one is that came behind it last time; -1 where none did. */
  next: number;
}

/** What is the same in all events, from one slot to the next. */
export interface Part {
  /** In bytes. */
  readonly length: number;
  /** Of fewer than eight bytes, the first four and the others: zeros where there is none, and masks to make them so. */
  readonly head: number;
  readonly headMask: number;
  readonly rest: number;
  readonly restMask: number;
  /** What stands between it and the next one. Behind the last one there is nothing. */
  readonly slot: Slot;
  readonly next: Part | undefined;
}

/**
 * What may stand between two fixed parts. In one object, for whoever is in a hurry to take them out of it: a constant
 * that is imported by its own name V8 looks up and checks at every use.
 */
export const SLOT = {
  /** A string, which may be the same in many events. */
  STRING: 0,
  /** A whole number without a sign. */
  COUNT: 1,
  /** Spaces between two tokens: some servers pad with them. */
  SPACES: 2,
  /** A string that means nothing. */
  IGNORED: 3,
  /** A string that is another one in every event. */
  PIECE: 4,
} as const;
export type Slot = (typeof SLOT)[keyof typeof SLOT];

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

export const MAX_SLOTS = 12;
/** Of a string, in bytes: JSON.parse has its merits with longer ones. */
export const MAX_SLOT_LENGTH = 1024;

const utf8 = new TextEncoder();

/** A level of the JSON text while it is walked. */
interface Level {
  readonly isArray: boolean;
  /** Of an object: where the name of the open member begins and ends. */
  keyStart: number;
  keyEnd: number;
  index: number;
}

/** What two events have in common. */
export interface Likeness {
  readonly template: Template;
  /** The second one, to compare a third with: what was a slot will be one again, and what was in it is not kept. */
  readonly blank: string;
}

/** What can be the same in no event: an escape, a number too long for a count, more spaces than anybody pads with. */
const BLANKS = ["\\\\", "9".repeat(MAX_DIGITS + 1), " ".repeat(99)];

/**
 * What an event has in common with the text of one that has the same head, if it is all but the values of some strings
 * and numbers.
 * A string with an escape is a slot though it is the same in both: side by side calls begin with the same piece.
 * Refuses what would take care: escapes in keys, keys that come twice, `__proto__`, numbers that are no counts.
 */
export function likenessOf(one: string, event: PlainEvent): Likeness | undefined {
  const { data: two } = event;
  const ends: number[] = []; // of fixed parts, and where those behind them begin
  const starts: number[] = [0];
  const slots: Slot[] = [];
  const paths: (string | number)[][] = [];
  const levels: Level[] = [];
  let keys = 0;
  let i = 0;
  let j = 0;

  function addSlot(kind: Slot, start: number, end: number): void {
    ends.push(start);
    starts.push(end);
    slots.push(kind);
    paths.push(kind === SLOT.SPACES ? [] : levels.map(stepOf));
  }

  function stepOf({ isArray, keyStart, keyEnd, index }: Level): string | number {
    return isArray ? index : two.slice(keyStart, keyEnd);
  }

  while (j < two.length) {
    const oneCode = one.charCodeAt(i);
    const code = two.charCodeAt(j);
    if (code === SPACE || oneCode === SPACE) {
      const oneEnd = afterSpaces(one, i);
      const twoEnd = afterSpaces(two, j);
      if (oneEnd - i !== twoEnd - j) addSlot(SLOT.SPACES, j, twoEnd);
      i = oneEnd;
      j = twoEnd;
    } else if (isDigit(code) && isDigit(oneCode)) {
      const oneEnd = endOfNumber(one, i);
      const twoEnd = endOfNumber(two, j);
      if (one.slice(i, oneEnd) !== two.slice(j, twoEnd)) {
        if (two.charCodeAt(j - 1) === MINUS || !isCount(two, j, twoEnd)) return undefined;
        addSlot(SLOT.COUNT, j, twoEnd);
      }
      i = oneEnd;
      j = twoEnd;
    } else if (code !== oneCode) return undefined;
    else if (code === QUOTE) {
      let twoEnd = endOfSame(one, i, two, j);
      let oneEnd = i + twoEnd - j;
      const isSlot = twoEnd === -1;
      if (isSlot) {
        twoEnd = endOfString(two, j + 1);
        if (twoEnd - j > MAX_SLOT_LENGTH) return undefined;
        oneEnd = endOfString(one, i + 1);
        addSlot(SLOT.STRING, j + 1, twoEnd);
      }
      if (two.charCodeAt(afterSpaces(two, twoEnd + 1)) === COLON) {
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
  // A value of our own: that of the event may be kept, and changed, by who got it.
  const value = parseJson(two) as Container;
  if (i !== one.length || keys !== keysOf(value)) return undefined;
  ends.push(two.length);
  let blank = two.slice(0, ends[0]);
  slots.forEach((kind, slot) => (blank += BLANKS[kind]! + two.slice(starts[slot + 1], ends[slot + 1])));
  const fixed = fixedOf(event, starts, ends, slots);
  const model = modelOf(value, paths, 0);
  return { template: { ...fixed, model, delta: undefined, textSlot: -1, indexSlot: -1, lastUse: 0, next: -1 }, blank };
}

/**
 * What no value of a slot changes.
 *
 * @param starts where the fixed parts begin in the JSON text, and `ends` where they end
 */
export function fixedOf(
  { head, data, end }: PlainEvent,
  starts: readonly number[],
  ends: readonly number[],
  slots: readonly Slot[],
): Pick<Template, "first" | "words"> {
  const words: number[] = [];
  const texts = ends.map((to, i) => data.slice(starts[i], to));
  texts[0] = head + texts[0];
  texts[texts.length - 1] += end;
  const parts = texts.map((text) => partOf(text, words));
  const first = parts.reduceRight<Part | undefined>(
    (next, part, i) => ({ ...part, slot: slots[i] ?? SLOT.SPACES, next }),
    undefined,
  )!;
  return { first, words };
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
      if (slot === -1) continue;
      places.push({ key, model: undefined, slot });
      if (typeof value === "string") original[key] = ""; // not kept
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

/** The closing quote of the second string, if both strings are one and the same, without an escape; else -1. */
function endOfSame(one: string, oneAt: number, two: string, from: number): number {
  for (let at = from + 1; at < two.length; at++) {
    const code = two.charCodeAt(at);
    if (code !== one.charCodeAt(oneAt + at - from) || code === BACKSLASH) return -1;
    if (code === QUOTE) return at;
  }
  return -1;
}

/** Longer than any event that a template is made of. */
const scratch = new Uint8Array(8192);
const scratchView = new DataView(scratch.buffer);

/**
 * Doubles are equal only where their bytes are, but for the two zeros: in their place stands NaN, which is equal to
 * nothing.
 */
function partOf(text: string, words: number[]): Omit<Part, "slot" | "next"> {
  scratch.fill(0, 0, 8);
  const { written: length } = utf8.encodeInto(text, scratch);
  if (length >= 8) {
    for (let at = 0; at + 8 < length; at += 8) words.push(scratchView.getFloat64(at, true) || NaN);
    words.push(scratchView.getFloat64(length - 8, true) || NaN);
  }
  const head = scratchView.getInt32(0, true);
  const rest = scratchView.getInt32(4, true);
  return { length, head, headMask: maskOf(length), rest, restMask: maskOf(length - 4) };
}

/** Of so many bytes out of four. */
function maskOf(bytes: number): number {
  return bytes >= 4 ? -1 : bytes <= 0 ? 0 : (1 << (8 * bytes)) - 1;
}
