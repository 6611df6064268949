import type { Delta, EventPath } from "./delta.ts";
import {
  beforeSpaces,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfNumber,
  endOfString,
  isCount,
  isDigit,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json-text.ts";
import type { PlainEvent } from "./sse.ts";
import { fixedOf, MAX_SLOTS, SLOT, type Slot, type Template } from "./template.ts";

/** One of the delta's places while the text is walked. */
interface Place {
  readonly path: EventPath;
  /** How many of its first steps lead to the current position. */
  matched: number;
  /** The highest `matched` so far: a step taken twice means a duplicate key. */
  reached: number;
}

/**
 * The template of one event that is a delta. The delta says what may change in similar events, so that one event is
 * enough; everything else is fixed, except for the spaces before the last brace if it is padded with some.
 *
 * @param isOwn for this stream alone: the steady places are fixed, and so are the spaces. Faster, but fits fewer
 * events.
 * @returns `undefined` if the piece is not found, one of the delta's places comes twice, its index is not a count, or a
 *   key has an escape and so could be any key
 */
export function deltaTemplateOf(event: PlainEvent, delta: Delta<any>, isOwn = false): Template | undefined {
  const { data } = event;
  const text = placeOf(delta.text);
  const index = delta.index === undefined ? undefined : placeOf(delta.index);
  const places = [text];
  if (index !== undefined) places.push(index);
  if (delta.ignored !== undefined) for (const path of delta.ignored) places.push(placeOf(path));
  if (!isOwn && delta.steady !== undefined) for (const path of delta.steady) places.push(placeOf(path));

  const ends: number[] = []; // of the fixed parts; `starts` is where they begin
  const starts: number[] = [0];
  const slots: Slot[] = [];
  let textSlot = -1;
  let indexSlot = -1;
  const outer: number[] = []; // `item` of the containers around
  let depth = 0;
  let item = -1; // position in the innermost array; -1 in an object
  let isKey = false;

  for (let at = 0; at < data.length;) {
    const code = data.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(data, at + 1);
      if (isKey) {
        isKey = false;
        const key = data.slice(at + 1, end);
        if (key.includes("\\") || !stepTo(places, depth, key)) return undefined;
      } else {
        const place = placeAt(places, depth);
        if (place !== undefined) {
          if (place === text) textSlot = slots.length;
          slots.push(place === text ? SLOT.PIECE : SLOT.IGNORED);
          ends.push(at + 1);
          starts.push(end);
        }
      }
      at = end + 1;
    } else if (isDigit(code) || code === MINUS) {
      const end = endOfNumber(data, at);
      const place = isCount(data, at, end) ? placeAt(places, depth) : undefined;
      if (place !== undefined) {
        if (place === index) indexSlot = slots.length;
        slots.push(SLOT.COUNT);
        ends.push(at);
        starts.push(end);
      }
      at = end;
    } else {
      if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        outer.push(item);
        depth++;
        isKey = code === OPEN_BRACE;
        item = isKey ? -1 : 0;
        if (!isKey && !stepTo(places, depth, item)) return undefined;
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        item = outer.pop()!;
        depth--;
        const padding = depth === 0 && !isOwn ? beforeSpaces(data, at) : at;
        if (padding < at) {
          slots.push(SLOT.SPACES);
          ends.push(padding);
          starts.push(at);
        }
      } else if (code === COMMA) {
        isKey = item === -1;
        if (!isKey && !stepTo(places, depth, ++item)) return undefined;
      }
      at++;
    }
  }
  if (textSlot === -1 || (index !== undefined && indexSlot === -1) || slots.length > MAX_SLOTS) return undefined;
  ends.push(data.length);
  const fixed = fixedOf(event, starts, ends, slots);
  return { ...fixed, model: undefined, delta, textSlot, indexSlot, lastUse: 0, next: -1 };
}

function placeOf(path: EventPath): Place {
  return { path, matched: 0, reached: 0 };
}

/** The place whose value is at this depth, if there is one. */
function placeAt(places: readonly Place[], depth: number): Place | undefined {
  for (const place of places) if (place.matched === depth && place.path.length === depth) return place;
  return undefined;
}

/** The next member of the container at this depth. @returns false for a duplicate key */
function stepTo(places: readonly Place[], depth: number, step: string | number): boolean {
  for (const place of places)
    if (place.matched >= depth - 1 && !match(place, depth, place.path[depth - 1] === step)) return false;
  return true;
}

function match(place: Place, depth: number, isStep: boolean): boolean {
  place.matched = isStep ? depth : depth - 1;
  if (!isStep) return true;
  if (place.reached >= depth) return false;
  place.reached = depth;
  return true;
}
