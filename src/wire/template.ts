import type { Delta } from "./delta.ts";
import type { Place } from "./places.ts";
import type { PlainEvent } from "./plain-event.ts";
import { encoder } from "./utf8.ts";

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
  /** The containers and slots inside it. */
  readonly members: readonly Member[];
}

interface Member {
  readonly key: string | number;
  readonly model: Model | undefined;
  readonly slot: number;
}

export type Container = Record<string | number, unknown>;

export const MAX_SLOTS = 12;
/**
 * Of an event to learn from, in characters: longer ones are rare, and what is kept of one is as long as the event. All
 * that is within it may stand in a slot, since learning in vain takes several times as long as `JSON.parse`.
 */
export const MAX_LENGTH = 2048;

/** Every number of this many digits is exact. */
export const MAX_DIGITS = 15;

/** The template of an event of which everything is fixed but these places; `undefined` if they are too many. */
export function templateOf(
  { head, data, end }: PlainEvent,
  slots: readonly Place[],
  read: Partial<Pick<Template, "model" | "delta" | "textSlot" | "indexSlot">>,
): Template | undefined {
  if (slots.length > MAX_SLOTS) return undefined;
  const words: number[] = [];
  const texts = [...slots, undefined].map((slot, i) => data.slice(slots[i - 1]?.end ?? 0, slot?.start));
  texts[0] = head + texts[0];
  texts[texts.length - 1] += end;
  const parts = texts.map((text) => partOf(text, words));
  const first = parts.reduceRight<Part | undefined>(
    (next, part, i) => ({ ...part, slot: slots[i]?.slot ?? SLOT.SPACES, next }),
    undefined,
  )!;
  const { model, delta, textSlot = -1, indexSlot = -1 } = read;
  return { first, words, model, delta, textSlot, indexSlot, lastUse: 0, next: -1 };
}

/** No character takes more than three bytes. */
const scratch = new Uint8Array(3 * MAX_LENGTH);
const scratchView = new DataView(scratch.buffer);

/**
 * Two doubles are equal only if their bytes are, except for the two zeros: those are replaced by NaN, which equals
 * nothing. The last word is never one: it ends with a line end or a character of JSON.
 */
function partOf(text: string, words: number[]): Omit<Part, "slot" | "next"> {
  scratch.fill(0, 0, 8);
  const { written: length } = encoder.encodeInto(text, scratch);
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
