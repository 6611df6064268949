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

/** What events have in common: the bytes between the values that differ, and what to build from those values. */
export interface Template {
  /** The first of the fixed parts. */
  readonly first: Part;
  /**
   * The parts of eight bytes and more, as eight-byte words read as doubles: comparing them this way takes an eighth of
   * the time. The last word of a part ends with the part, and may overlap the word before.
   */
  readonly words: readonly number[];
  /** `undefined` for a delta, which needs no event. */
  readonly model: Model | undefined;
  /** How its events are read as pieces of something longer; `undefined` if they are not pieces. */
  readonly delta: Delta<any> | undefined;
  /** The slot that holds the piece. A string's slot begins and ends inside its quotes. */
  readonly textSlot: number;
  /** -1 where there is no index. */
  readonly indexSlot: number;
  /** The last time an event fitted, counted in uses of all templates. */
  lastUse: number;
  /** Index among all templates of the one that followed it last time; -1 if none did. */
  next: number;
}

/** The bytes that are the same in all events, from one slot to the next. */
export interface Part {
  /** In bytes. */
  readonly length: number;
  /** For parts shorter than eight bytes: the first four bytes and the rest, zero-padded, with masks to select them. */
  readonly head: number;
  readonly headMask: number;
  readonly rest: number;
  readonly restMask: number;
  /** What stands between this part and the next. Nothing follows the last part. */
  readonly slot: Slot;
  readonly next: Part | undefined;
}

/**
 * What may stand between two fixed parts. One object, so that hot paths can destructure it into constants of their own:
 * V8 looks up and checks an imported binding at every use.
 */
export const SLOT = {
  /** A string, which may be the same in many events. */
  STRING: 0,
  /** A whole number without a sign. */
  COUNT: 1,
  /** Spaces between two tokens: some servers pad with them. */
  SPACES: 2,
  /** A string without meaning. */
  IGNORED: 3,
  /** A string that differs in every event. */
  PIECE: 4,
} as const;
export type Slot = (typeof SLOT)[keyof typeof SLOT];

/** How to copy a container. */
export interface Model {
  readonly original: Container;
  readonly isArray: boolean;
  /** The containers and slots inside it. */
  readonly places: readonly Place[];
}

interface Place {
  readonly key: string | number;
  readonly model: Model | undefined;
  readonly slot: number;
}

export type Container = Record<string | number, unknown>;

export const MAX_SLOTS = 12;
/** Of a string, in bytes: for longer ones, `JSON.parse` is the better choice. */
export const MAX_SLOT_LENGTH = 1024;

const utf8 = new TextEncoder();

/** A nesting level of the JSON text while it is walked. */
interface Level {
  readonly isArray: boolean;
  /** For an object: where the name of the current member begins and ends. */
  keyStart: number;
  keyEnd: number;
  index: number;
}

/** What two events have in common. */
export interface Likeness {
  readonly template: Template;
  /** The second event, to compare a third with: its slots stay slots, and their values are not kept. */
  readonly blank: string;
}

/** Values that no event has: an escape, a number too long for a count, more spaces than any server pads with. */
const BLANKS = ["\\\\", "9".repeat(MAX_DIGITS + 1), " ".repeat(99)];

/**
 * What an event has in common with the text of another with the same head, if they differ only in the values of some
 * strings and numbers.
 * A string with an escape is a slot even if it is the same in both: parallel calls begin with the same piece.
 * Gives up on what would need care: escapes in keys, duplicate keys, `__proto__`, numbers that are not counts.
 */
export function likenessOf(one: string, event: PlainEvent): Likeness | undefined {
  const { data: two } = event;
  const ends: number[] = []; // of the fixed parts; `starts` is where they begin
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
      if (two.charCodeAt(twoEnd + 1) === COLON) {
        if (isSlot) return undefined;
        keys++;
        const level = levels[levels.length - 1]!;
        level.keyStart = j + 1;
        level.keyEnd = twoEnd;
      }
      i = oneEnd + 1;
      j = twoEnd + 1;
    } else {
      if (code === OPEN_BRACE || code === OPEN_BRACKET)
        levels.push({ isArray: code === OPEN_BRACKET, keyStart: 0, keyEnd: 0, index: 0 });
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) levels.pop();
      else if (code === COMMA) levels[levels.length - 1]!.index++;
      i++;
      j++;
    }
    if (slots.length > MAX_SLOTS) return undefined;
  }
  // A value of our own: whoever got the event's value may keep and change it.
  const value = parseJson(two) as Container;
  if (keys !== keysOf(value)) return undefined;
  ends.push(two.length);
  let blank = two.slice(0, ends[0]);
  slots.forEach((kind, slot) => (blank += BLANKS[kind]! + two.slice(starts[slot + 1], ends[slot + 1])));
  const fixed = fixedOf(event, starts, ends, slots);
  const model = modelOf(value, paths, 0);
  return { template: { ...fixed, model, delta: undefined, textSlot: -1, indexSlot: -1, lastUse: 0, next: -1 }, blank };
}

/**
 * The fixed parts: what no slot's value changes.
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

/** `paths` are those of the slots inside this container, including its own first `depth` steps. */
function modelOf(original: Container, paths: readonly (readonly (string | number)[])[], depth: number): Model {
  const isArray = Array.isArray(original);
  const places: Place[] = [];
  for (const name of Object.keys(original)) {
    const key = isArray ? Number(name) : name;
    const value = original[key];
    // Paths into other containers stay in the list, emptied, so that the index remains the slot.
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

/** How many keys a value has, including nested ones; NaN if one is `__proto__`. */
function keysOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const key of Object.keys(value)) {
    if (key === "__proto__") return NaN;
    count += (Array.isArray(value) ? 0 : 1) + keysOf((value as Container)[key]);
  }
  return count;
}

/** The closing quote of the second string, if the two strings are equal and have no escape; else -1. */
function endOfSame(one: string, oneAt: number, two: string, from: number): number {
  for (let at = from + 1; at < two.length; at++) {
    const code = two.charCodeAt(at);
    if (code !== one.charCodeAt(oneAt + at - from) || code === BACKSLASH) return -1;
    if (code === QUOTE) return at;
  }
  return -1;
}

/** As long as the longest event that may fit a template: a stream's own is made from one. */
const scratch = new Uint8Array(16_384);
const scratchView = new DataView(scratch.buffer);

/**
 * Two doubles are equal only if their bytes are, except for the two zeros: those are replaced by NaN, which equals
 * nothing. The last word is never one: it ends with a line end or a character of JSON.
 */
function partOf(text: string, words: number[]): Omit<Part, "slot" | "next"> {
  scratch.fill(0, 0, 8);
  const { written: length } = utf8.encodeInto(text, scratch);
  if (length >= 8) {
    for (let at = 0; at + 8 < length; at += 8) words.push(scratchView.getFloat64(at, true) || NaN);
    words.push(scratchView.getFloat64(length - 8, true));
  }
  const head = scratchView.getInt32(0, true);
  const rest = scratchView.getInt32(4, true);
  return { length, head, headMask: maskOf(length), rest, restMask: maskOf(length - 4) };
}

/** Selects this many bytes out of four. */
function maskOf(bytes: number): number {
  return bytes >= 4 ? -1 : bytes <= 0 ? 0 : (1 << (8 * bytes)) - 1;
}
