import type { EventPath } from "./delta.ts";
import { MAX_DIGITS, SLOT, type Slot } from "./template.ts";

/** A value in the JSON text of an event, or the padding at its end: what may differ in similar events. */
export interface Place {
  /** What may stand there instead; `undefined` for a number that is not a count: nothing may. */
  readonly slot: Slot | undefined;
  readonly path: EventPath;
  /** A string's place is inside its quotes. */
  readonly start: number;
  readonly end: number;
}

/** A string, a number, or what containers are written with. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[[\]{},]/g;

/**
 * The strings and numbers of an event, and the spaces before its last bracket: some servers pad with them. `undefined`
 * for what would need care: keys with escapes, duplicate keys, `__proto__`.
 *
 * @param data the JSON of an object or array
 */
export function placesOf(data: string): Place[] | undefined {
  const places: Place[] = [];
  const path: (string | number)[] = [];
  const keys: (Set<string> | undefined)[] = []; // of the objects around; `undefined` for an array
  let isKey = false;
  for (const { 0: token, index: start } of data.matchAll(TOKEN)) {
    const last = path.length - 1;
    switch (token[0]) {
      case "{":
      case "[":
        isKey = token === "{";
        keys.push(isKey ? new Set() : undefined);
        path.push(0);
        break;
      case "}":
      case "]":
        path.pop();
        keys.pop();
        if (last === 0) places.push({ slot: SLOT.SPACES, path: [], start: beforeSpaces(data, start), end: start });
        break;
      case ",":
        isKey = keys[last] !== undefined;
        if (!isKey) path[last] = (path[last] as number) + 1;
        break;
      case '"':
        if (isKey) {
          const key = token.slice(1, -1);
          if (key.includes("\\") || key === "__proto__" || keys[last]!.has(key)) return undefined;
          keys[last]!.add(key);
          path[last] = key;
          isKey = false;
        } else places.push({ slot: SLOT.STRING, path: [...path], start: start + 1, end: start + token.length - 1 });
        break;
      default: {
        const isCount = token.length <= MAX_DIGITS && /^\d+$/.test(token);
        const slot = isCount ? SLOT.COUNT : undefined;
        places.push({ slot, path: [...path], start, end: start + token.length });
      }
    }
  }
  return places;
}

/** The start of the spaces that end at `to`. */
function beforeSpaces(text: string, to: number): number {
  let at = to;
  while (text[at - 1] === " ") at--;
  return at;
}

/** An event without its values: similar events have the same. */
export function shapeOf({ head, data }: { head: string; data: string }, places: readonly Place[]): string {
  let shape = head;
  let from = 0;
  for (const { start, end } of places) {
    shape += `${data.slice(from, start)}\n`;
    from = end;
  }
  return shape;
}
