/**
 * Events of a stream repeat one another but for a few values: the delta, a number that counts, a padding. What was seen
 * twice is a template: the text between those values, and the parsed event to put new ones into. An event that has the
 * same text between its values needs no `JSON.parse`; at the slightest difference it is nobody's and is parsed as ever.
 *
 * ```
 * data: {"type":"delta","n":7,"delta":"lo","index":0}⏎⏎
 * ----- fixed -------------|1|-- fixed --|2-|-- fixed ---
 * ```
 */
export interface Templates {
  /**
   * Where the event at `at` of the text ends, if it is one of a template: its value is then in `value`. -1 for any other.
   * A value is made anew for every event, nothing in it is shared.
   */
  match(text: string, at: number): number;
  readonly value: unknown;
  /** An event that was parsed: `head`, the JSON text `data`, a blank line. */
  learn(head: string, data: string, value: unknown): void;
}

interface Template {
  /** One more than there are slots; a slot of a string begins and ends between its quotes. */
  readonly fixed: readonly string[];
  readonly slots: readonly Slot[];
  readonly model: Model;
}

type Slot = typeof TEXT | typeof COUNT | typeof SPACES;
const TEXT = 0; // a string
const COUNT = 1; // a whole number without a sign
const SPACES = 2; // between two tokens: some servers pad with them

/** How to copy a container. */
interface Model {
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

type Container = Record<string | number, unknown>;

interface Sample {
  readonly head: string;
  readonly data: string;
}

const MAX_TEMPLATES = 4;
const MAX_SAMPLES = 2;
const MAX_SLOTS = 6;
/** Longer events are rare, and JSON.parse has its merits there. */
const MAX_DATA_LENGTH = 4096;
const MAX_SLOT_LENGTH = 256;
/** Comparisons that may fail before no more is learned; each event that fits a template earns one. */
const PATIENCE = 16;

/** All numbers of so many digits are exact. */
const MAX_DIGITS = 15;

/** What the character after a backslash stands for. */
const UNESCAPED = new Map(
  Array.from('"\\/bfnrt', (char) => [char.charCodeAt(0), JSON.parse(`"\\${char}"`) as string] as const),
);

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const END = "\n\n";

export function createTemplates(): Templates {
  const templates: Template[] = [];
  const samples: Sample[] = [];
  const values: unknown[] = [];
  let patience = PATIENCE;
  const self = { match, learn, value: undefined as unknown };

  function match(text: string, at: number): number {
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i]!;
      const end = fit(template, text, at);
      if (end === -1) continue;
      if (i > 0) {
        templates[i] = templates[i - 1]!;
        templates[i - 1] = template;
      }
      if (patience < PATIENCE) patience++;
      self.value = copy(template.model, values);
      return end;
    }
    return -1;
  }

  function fit({ fixed, slots }: Template, text: string, from: number): number {
    let part = fixed[0]!;
    if (!isAt(text, from, part)) return -1;
    let at = from + part.length;
    for (let slot = 0; slot < slots.length; slot++) {
      const end = take(slots[slot]!, slot, text, at);
      if (end === -1) return -1;
      part = fixed[slot + 1]!;
      at = end + part.length;
      if (!isAt(text, end, part)) return -1;
    }
    return at;
  }

  /** Puts the value of a slot that begins at `start` into `values`, and says where it ends. */
  function take(kind: Slot, slot: number, text: string, start: number): number {
    let at = start;
    if (kind === SPACES) {
      while (text.charCodeAt(at) === SPACE) at++;
      return at;
    }
    if (kind === COUNT) {
      let count = 0;
      for (let code = text.charCodeAt(at); isDigit(code); code = text.charCodeAt(++at))
        count = count * 10 + code - ZERO;
      const length = at - start;
      if (length === 0 || length > MAX_DIGITS || (length > 1 && text.charCodeAt(start) === ZERO)) return -1;
      values[slot] = count;
      return at;
    }
    let read = "";
    let from = start;
    for (const limit = start + MAX_SLOT_LENGTH; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (!(code >= SPACE) || at > limit) return -1; // past the end of the text it is NaN
      if (code !== BACKSLASH) continue;
      const char = UNESCAPED.get(text.charCodeAt(at + 1));
      if (char === undefined) return -1; // \u is rare, and JSON.parse knows all about it
      if (from < at) read += ownCopy(text, from, at);
      read += char;
      at++;
      from = at + 1;
    }
    values[slot] = from === start ? ownCopy(text, start, at) : from < at ? read + ownCopy(text, from, at) : read;
    return at;
  }

  function learn(head: string, data: string, value: unknown): void {
    if (patience === 0 || data.length > MAX_DATA_LENGTH || typeof value !== "object" || value === null) return;
    for (const sample of samples) {
      const template = sample.head === head ? templateOf(sample.data, data, head, value as Container) : undefined;
      if (template === undefined) continue;
      if (templates.length === MAX_TEMPLATES) templates.pop();
      templates.unshift(template);
      break;
    }
    patience--;
    if (samples.length === MAX_SAMPLES) samples.pop();
    samples.unshift({ head, data });
  }

  return self;
}

function isAt(text: string, at: number, part: string): boolean {
  const { length } = part;
  // Not startsWith(), which is many times slower for a long part.
  if (length > 24) return text.slice(at, at + length) === part;
  for (let i = 0; i < length; i++) if (text.charCodeAt(at + i) !== part.charCodeAt(i)) return false;
  return true;
}

/**
 * A piece of a text that does not keep all of the text in memory, as V8's slices of 13 characters and more do.
 * Short slices are copies, and adding up a few of them is the fastest way to a longer one.
 */
function ownCopy(text: string, from: number, to: number): string {
  if (to - from < 13) return text.slice(from, to);
  if (to - from > 48) return JSON.parse(`"${text.slice(from, to)}"`) as string;
  let piece = text.slice(from, from + 12);
  for (let at = from + 12; at < to; at += 12) piece += text.slice(at, Math.min(at + 12, to));
  return piece;
}

/** A fresh value: the copies of all containers, with the values of the slots in their places. */
function copy({ original, isArray, places }: Model, values: readonly unknown[]): Container {
  const made = (isArray ? (original as unknown as unknown[]).slice() : { ...original }) as Container;
  for (let i = 0; i < places.length; i++) {
    const { key, model, slot } = places[i]!;
    made[key] = model === undefined ? values[slot] : copy(model, values);
  }
  return made;
}

/** A level of the JSON text while it is walked. */
interface Level {
  readonly isArray: boolean;
  key: string | number;
}

/**
 * What two texts, both of them JSON, have in common, if it is all but the values of some strings and numbers.
 * Refuses what would take care: escapes outside of slots, keys that come twice, `__proto__`, numbers that are no counts.
 */
function templateOf(one: string, two: string, head: string, value: Container): Template | undefined {
  const fixed: string[] = [];
  const slots: Slot[] = [];
  const paths: (string | number)[][] = [];
  const levels: Level[] = [];
  let keys = 0;
  let from = 0; // of the open fixed part, in `two`
  let i = 0;
  let j = 0;

  function addSlot(kind: Slot, start: number, end: number): void {
    fixed.push(two.slice(from, start));
    from = end;
    slots.push(kind);
    paths.push(kind === SPACES ? [] : levels.map(({ key }) => key));
  }

  while (j < two.length) {
    const oneCode = one.charCodeAt(i);
    const code = two.charCodeAt(j);
    if (code === SPACE || oneCode === SPACE) {
      const oneEnd = afterSpaces(one, i);
      const twoEnd = afterSpaces(two, j);
      if (oneEnd - i !== twoEnd - j) addSlot(SPACES, j, twoEnd);
      i = oneEnd;
      j = twoEnd;
    } else if (isDigit(code) && isDigit(oneCode)) {
      const oneEnd = endOfNumber(one, i);
      const twoEnd = endOfNumber(two, j);
      const number = two.slice(j, twoEnd);
      if (one.slice(i, oneEnd) !== number) {
        if (two[j - 1] === "-" || number.length > MAX_DIGITS || !/^\d+$/.test(number)) return undefined;
        addSlot(COUNT, j, twoEnd);
      }
      i = oneEnd;
      j = twoEnd;
    } else if (code !== oneCode) return undefined;
    else if (code === QUOTE) {
      const oneEnd = endOfString(one, i + 1);
      const twoEnd = endOfString(two, j + 1);
      const text = two.slice(j + 1, twoEnd);
      const isKey = two.charCodeAt(afterSpaces(two, twoEnd + 1)) === COLON;
      if (one.slice(i + 1, oneEnd) !== text) {
        if (isKey) return undefined;
        addSlot(TEXT, j + 1, twoEnd);
      } else if (text.includes("\\") || text === "__proto__") return undefined;
      if (isKey) {
        keys++;
        levels.at(-1)!.key = text;
      }
      i = oneEnd + 1;
      j = twoEnd + 1;
    } else {
      if (code < SPACE) return undefined;
      if (code === OPEN_BRACE || code === OPEN_BRACKET) levels.push({ isArray: code === OPEN_BRACKET, key: 0 });
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) levels.pop();
      else if (code === COMMA) {
        const level = levels.at(-1)!;
        if (level.isArray) level.key = (level.key as number) + 1;
      }
      i++;
      j++;
    }
    if (slots.length > MAX_SLOTS) return undefined;
  }
  if (i !== one.length || slots.length === 0 || keys !== keysOf(value)) return undefined;
  fixed.push(two.slice(from) + END);
  fixed[0] = head + fixed[0]!;
  // A value of our own: the other one may be kept, and changed, by who got it.
  return { fixed: fixed.map(flat), slots, model: modelOf(JSON.parse(two) as Container, paths, 0) };
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

function keysOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const key of Object.keys(value)) count += (Array.isArray(value) ? 0 : 1) + keysOf((value as Container)[key]);
  return count;
}

function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++;
  return at;
}

function afterSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SPACE) at++;
  return at;
}

function endOfNumber(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (!isDigit(code) && code !== 0x2e && code !== 0x2b && code !== 0x2d && (code | 0x20) !== 0x65) return at;
    at++;
  }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** V8 compares a text with one that was put together, or is a slice, much slower than with a plain one. */
function flat(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
