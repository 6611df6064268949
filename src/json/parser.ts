import { GrowingText } from "./growing-text.ts";

/** What is known of a text that is still arriving. */
export type JsonState =
  /** Nothing but white space so far. */
  | "empty"
  /** A prefix of some JSON text. */
  | "open"
  /** The root value was closed: by its own last character, or by `end()` for a bare number or literal. */
  | "closed"
  /** No JSON text begins like this. What was read before stays as the value. */
  | "invalid"
  /** Nested deeper than `maxDepth`. What was read before stays as the value. */
  | "too_deep";

/**
 * What happened at one place of the value.
 *
 * ```
 * { path: [], value: {}, done: false }                  the object opened
 * { path: ["text"], value: "He", done: false }          a new value; open containers and strings are not done
 * { path: ["text"], append: "llo", done: true }         the string there grew, and is finished
 * { path: [], done: true }                              the object closed
 * ```
 * A `value` is a copy as far as it is still open; what is closed in it is shared with the parser's value: read, do not write.
 */
export type JsonChange =
  | { readonly path: readonly (string | number)[]; readonly value: unknown; readonly done: boolean }
  | { readonly path: readonly (string | number)[]; readonly append: string; readonly done: boolean }
  | { readonly path: readonly (string | number)[]; readonly done: true };

/** An incremental JSON parser with a live partial value. */
export interface JsonParser {
  /**
   * Reads more text, each character once. Text after `invalid` or `too_deep` is ignored.
   *
   * @throws TypeError after `end()`.
   */
  feed(text: string): void;
  /** No more text comes: a bare number or literal at the root is now closed. */
  end(): void;
  readonly state: JsonState;
  /**
   * The value so far; `undefined` before there is any. The same object grows from one read to the next.
   * A container appears when it opens, a string when it opens (and never shows half an escape or half a surrogate
   * pair), a number or literal when it is finished, a key together with its value.
   */
  readonly value: unknown;
  /** What changed since it was last asked, in order. All changes applied to `undefined` give `value`. */
  changes(): JsonChange[];
}

/** What the next character has to be. */
const VALUE = 0;
const FIRST_ITEM = 1; // a value or "]"
const FIRST_KEY = 2; // a key or "}"
const KEY = 3;
const COLON = 4;
const NEXT = 5; // "," or the closing bracket
const STRING = 6; // inside a string: see `isKey` and `escape`
const NUMBER = 7; // inside a number: see `numberPart`
const LITERAL = 8; // inside true, false or null
const DONE = 9; // white space only

/** Where in a number we are: RFC 8259, section 6. A number may end at ZERO, INTEGER, FRACTION and EXPONENT. */
const START = 0;
const MINUS = 1;
const ZERO = 2;
const INTEGER = 3;
const POINT = 4;
const FRACTION = 5;
const E = 6;
const E_SIGN = 7;
const EXPONENT = 8;

/** Containers, strings, numbers and literals of a twin: past that, to read all of the text again at its end costs less. */
const MAX_TWIN = 64;

/** Returned by the readers when the rest of the text is not to be read. */
const STOP = Infinity;

type Container = Record<string, unknown> | unknown[];

/** A child that was put into a container known to whoever asks for changes; its value is looked up when they ask. */
interface Placed {
  readonly level: number;
  readonly container: Container;
  readonly key: string | number;
  readonly path: readonly (string | number)[];
}

/**
 * Makes a parser for one JSON text (RFC 8259; what `JSON.parse` refuses is refused), fed in pieces of any size.
 * Time is linear in the text, whether or not `value` and `changes()` are read after every piece; nothing recurses.
 * The size of the text is the caller's to bound.
 *
 * @param options.maxDepth how many containers may be nested; default 128.
 * @throws TypeError when `maxDepth` is not a number of at least 1.
 * @example
 * const parser = createJsonParser();
 * parser.feed('{"city": "Os');
 * parser.value; // { city: "Os" }
 */
export function createJsonParser({ maxDepth = 128 }: { maxDepth?: number } = {}): JsonParser {
  if (!(maxDepth >= 1)) throw new TypeError(`maxDepth must be a number of at least 1, got ${String(maxDepth)}`);
  return makeParser(maxDepth, false);
}

/** A parser that makes its value twice: whoever looks at the live one might write to it. */
export interface TwinParser extends JsonParser {
  /** The value of a closed root that nobody has seen, once; `undefined` where there is none: it is given up when it is large. */
  takeTwin(): unknown;
}

/** {@link createJsonParser} with a twin of its value. */
export function createTwinParser({ maxDepth }: { maxDepth: number }): TwinParser {
  return makeParser(maxDepth, true);
}

function makeParser(maxDepth: number, hasTwin: boolean): TwinParser {
  let state: JsonState = "empty";
  let mode = VALUE;
  let ended = false;

  // The open containers, and in each the place that is being filled. The root value is item 0 of an array of our own.
  const holder: unknown[] = [];
  const stack: Container[] = [holder];
  const keys: (string | number)[] = [0];
  let container: Container = holder;
  let inArray = true;
  let isInherited = false; // the key last read: see `set`

  // The container of the twin that is being filled, as `container` is, without what is not finished; and those around it.
  let twin: Container | undefined = hasTwin ? [] : undefined;
  const aroundTwin: Container[] = [];
  let twinSize = 0;

  const string = new GrowingText(); // the string or number being read
  let isKey = false;
  let escape = 0; // 1 after a backslash, 2 to 5 while 0 to 3 digits of \uXXXX have been read
  let unit = 0;
  let held = ""; // a high surrogate, until we know what follows
  let stale = false; // the container does not show the string as it is now

  let numberPart = START;
  let literal = "";
  let literalAt = 0;

  // For changes(): the lowest `known` containers of the stack have been told of (0: nobody ever asked),
  // `grown` is what the string told of as open has got since.
  let known = 0;
  let log: (JsonChange | Placed)[] = [];
  let stringKnown = false;
  let grown = "";

  function feed(text: string): void {
    if (ended) throw new TypeError("feed() after end(): make a new parser for a new text");
    if (state === "invalid" || state === "too_deep") return;
    let at = 0;
    while (at < text.length) {
      if (mode === STRING) at = readString(text, at);
      else if (mode === NUMBER) at = readNumber(text, at);
      else if (mode === LITERAL) at = readLiteral(text, at);
      else at = readToken(text, at);
    }
  }

  function fail(): number {
    state = "invalid";
    return STOP;
  }

  function readToken(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) return at + 1;
    switch (mode) {
      case FIRST_ITEM:
        if (code === 0x5d /* ] */) return close(at);
        return beginValue(code, at);
      case VALUE:
        return beginValue(code, at);
      case FIRST_KEY:
        if (code === 0x7d /* } */) return close(at);
        return beginKey(code, at);
      case KEY:
        return beginKey(code, at);
      case COLON:
        if (code !== 0x3a /* : */) return fail();
        mode = VALUE;
        return at + 1;
      case NEXT:
        if (code === 0x2c /* , */) {
          if (inArray) keys[keys.length - 1] = (container as unknown[]).length;
          mode = inArray ? VALUE : KEY;
          return at + 1;
        }
        return code === (inArray ? 0x5d : 0x7d) ? close(at) : fail();
      default:
        return fail(); // text after the root value
    }
  }

  function beginKey(code: number, at: number): number {
    if (code !== 0x22 /* " */) return fail();
    isKey = true;
    mode = STRING;
    return at + 1;
  }

  function beginValue(code: number, at: number): number {
    switch (code) {
      case 0x22 /* " */:
        isKey = false;
        stale = true;
        mode = STRING;
        placed();
        break;
      case 0x7b /* { */:
        return open({}, at);
      case 0x5b /* [ */:
        return open([], at);
      case 0x74 /* t */:
        beginLiteral("true");
        break;
      case 0x66 /* f */:
        beginLiteral("false");
        break;
      case 0x6e /* n */:
        beginLiteral("null");
        break;
      default:
        if (code !== 0x2d /* - */ && (code < 0x30 || code > 0x39)) return fail();
        state = "open";
        numberPart = START;
        mode = NUMBER;
        return at;
    }
    state = "open";
    return at + 1;
  }

  function open(opened: Container, at: number): number {
    state = "open";
    if (stack.length > maxDepth) {
      state = "too_deep";
      return STOP;
    }
    set(opened);
    placed();
    if (twin !== undefined) openTwin(Array.isArray(opened) ? [] : {});
    stack.push(opened);
    keys.push(0);
    container = opened;
    inArray = Array.isArray(opened);
    mode = inArray ? FIRST_ITEM : FIRST_KEY;
    return at + 1;
  }

  function close(at: number): number {
    stack.pop();
    keys.pop();
    container = stack[stack.length - 1]!;
    inArray = Array.isArray(container);
    if (twin !== undefined) twin = aroundTwin.pop();
    if (known > stack.length) {
      known = stack.length;
      log.push({ path: keys.slice(1), done: true });
    }
    afterValue();
    if (mode === DONE) state = "closed";
    return at + 1;
  }

  function afterValue(): void {
    mode = stack.length === 1 ? DONE : NEXT;
  }

  /** Puts a value at the current place. The name is looked up once a key: a string that grows is put there again and again. */
  function set(value: unknown): void {
    setIn(container, value);
  }

  function setIn(target: Container, value: unknown): void {
    const key = keys[keys.length - 1]!;
    if (!inArray && isInherited) put(target, key, value);
    else (target as Record<string | number, unknown>)[key] = value;
  }

  function setTwin(value: unknown): void {
    if (twin === undefined) return;
    if (++twinSize > MAX_TWIN) twin = undefined;
    else setIn(twin, value);
  }

  function openTwin(opened: Container): void {
    const outer = twin!;
    setTwin(opened);
    aroundTwin.push(outer);
    if (twin !== undefined) twin = opened;
  }

  /** A value with nothing to come. */
  function finished(value: unknown): void {
    set(value);
    setTwin(value);
    placed();
    afterValue();
  }

  // --- strings

  function readString(text: string, at: number): number {
    if (escape !== 0) {
      at = readEscape(text, at);
      if (at >= text.length) return at;
    }
    let run = ""; // of this text, unescaped
    let from = at;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x20 && code !== 0x22 /* " */ && code !== 0x5c /* \ */) continue;
      if (from < at) run = run === "" ? text.slice(from, at) : run + text.slice(from, at);
      const char = code === 0x5c ? unescaped(text.charCodeAt(at + 1)) : "";
      if (char !== "") {
        run += char;
        from = ++at + 1;
        continue;
      }
      appendRun(run, from < at ? text.charCodeAt(at - 1) : 0);
      if (code < 0x20) return fail();
      if (code === 0x22) {
        closeString();
        return at + 1;
      }
      // An escape that is cut, or \u, or none.
      run = "";
      escape = 1;
      from = at = readEscape(text, at + 1);
      at--;
    }
    if (at !== text.length) return at;
    if (from < at) appendRun(run === "" ? text.slice(from) : run + text.slice(from), text.charCodeAt(at - 1));
    else appendRun(run, 0);
    return at;
  }

  function readEscape(text: string, at: number): number {
    while (at < text.length) {
      const code = text.charCodeAt(at++);
      if (escape === 1) {
        if (code === 0x75 /* u */) {
          escape = 2;
          unit = 0;
          continue;
        }
        const char = unescaped(code);
        if (char === "") return fail();
        escape = 0;
        append(char);
        return at;
      }
      const digit = hexDigit(code);
      if (digit < 0) return fail();
      unit = unit * 16 + digit;
      if (++escape === 6) {
        escape = 0;
        if (isHighSurrogate(unit)) hold(text1(unit));
        else append(text1(unit));
        return at;
      }
    }
    return at;
  }

  /** @param last unit of the run, told since to look it up would make the string flat; 0 where it was an escape */
  function appendRun(run: string, last: number): void {
    if (run === "") return;
    if (!isHighSurrogate(last)) return append(run);
    if (run.length > 1) append(run.slice(0, -1));
    hold(text1(last));
  }

  /** Keeps a high surrogate out of sight until the next character, its other half perhaps, is there. */
  function hold(high: string): void {
    if (held !== "") append("");
    held = high;
  }

  function append(text: string): void {
    if (held !== "") {
      text = held + text;
      held = "";
    }
    string.append(text);
    stale = true;
    if (stringKnown) grown += text;
  }

  /** All of the string or number that was read; there is none being read after that. */
  function take(): string {
    if (held !== "") append("");
    const whole = string.text;
    string.clear();
    return whole;
  }

  function closeString(): void {
    const text = take();
    if (isKey) {
      keys[keys.length - 1] = text;
      isInherited = text in Object.prototype;
      mode = COLON;
      return;
    }
    set(text);
    setTwin(text);
    if (stringKnown) {
      log.push({ path: keys.slice(1), append: grown, done: true });
      stringKnown = false;
      grown = "";
    }
    afterValue();
    if (mode === DONE) state = "closed";
  }

  /** Writes the growing string into its container. */
  function show(): void {
    if (mode !== STRING || isKey || !stale) return;
    set(string.text);
    stale = false;
  }

  // --- numbers and literals

  function readNumber(text: string, at: number): number {
    const from = at;
    for (; at < text.length; at++) {
      const next = nextNumberPart(numberPart, text.charCodeAt(at));
      if (next < 0) {
        if (from < at) append(text.slice(from, at));
        return endNumber() ? at : fail();
      }
      numberPart = next;
    }
    append(text.slice(from, at));
    return at;
  }

  function endNumber(): boolean {
    if (numberPart !== ZERO && numberPart !== INTEGER && numberPart !== FRACTION && numberPart !== EXPONENT)
      return false;
    finished(Number(take()));
    return true;
  }

  function beginLiteral(text: string): void {
    literal = text;
    literalAt = 1;
    mode = LITERAL;
  }

  function readLiteral(text: string, at: number): number {
    if (text.charCodeAt(at) !== literal.charCodeAt(literalAt)) return fail();
    if (++literalAt === literal.length) finished(literal === "null" ? null : literal === "true");
    return at + 1;
  }

  // --- changes

  /** Notes, if somebody asks for changes, that there is a new value at the current place. */
  function placed(): void {
    if (stack.length > known) return;
    const level = stack.length - 1;
    log.push({ level, container, key: keys[level]!, path: keys.slice(1) });
  }

  function changes(): JsonChange[] {
    show();
    if (known === 0 && holder.length > 0) log.push({ level: 0, container: holder, key: 0, path: [] });
    const told = log.map((entry) => ("level" in entry ? resolve(entry) : entry));
    log = [];
    if (grown !== "") told.push({ path: keys.slice(1), append: grown, done: false });
    grown = "";
    known = stack.length;
    stringKnown = mode === STRING && !isKey;
    return told;
  }

  function resolve({ level, container: parent, key, path }: Placed): JsonChange {
    const isCurrent = stack[level] === parent && keys[level] === key;
    const top = stack.length - 1;
    if (!isCurrent || (level === top && (mode !== STRING || isKey))) {
      return { path, value: (parent as Record<string | number, unknown>)[key], done: true };
    }
    return {
      path,
      value: level === top ? (parent as Record<string | number, unknown>)[key] : copyOpen(level + 1),
      done: false,
    };
  }

  /** Copies the container at a level of the stack and the open ones in it, so that they do not grow any more. */
  function copyOpen(level: number): unknown {
    let copy: Container | undefined;
    for (let i = stack.length - 1; i >= level; i--) {
      const original = stack[i]!;
      const outer = Array.isArray(original) ? original.slice() : { ...original };
      if (copy !== undefined) put(outer, keys[i]!, copy);
      copy = outer;
    }
    return copy;
  }

  function end(): void {
    if (mode === NUMBER && stack.length === 1 && state === "open") endNumber();
    if (mode === DONE && state === "open") state = "closed";
    ended = true;
  }

  function liveValue(): unknown {
    show();
    return holder[0];
  }

  function takeTwin(): unknown {
    return state === "closed" ? (twin as unknown[] | undefined)?.pop() : undefined;
  }

  return new Live(feed, end, changes, takeTwin, () => state, liveValue);
}

/** Always an own property, as `JSON.parse` makes it: `__proto__` and whatever else Object.prototype has included. */
function put(container: Container, key: string | number, value: unknown): void {
  if (typeof key === "string" && key in Object.prototype) {
    Object.defineProperty(container, key, { value, enumerable: true, writable: true, configurable: true });
  } else {
    (container as Record<string | number, unknown>)[key] = value;
  }
}

/** The part of the number that begins with this character; -1 when the number can not go on with it. */
function nextNumberPart(part: number, code: number): number {
  if (code >= 0x30 && code <= 0x39) {
    if (part === ZERO) return -1;
    if (part === START || part === MINUS) return code === 0x30 ? ZERO : INTEGER;
    if (part === POINT) return FRACTION;
    return part === E || part === E_SIGN ? EXPONENT : part;
  }
  if (code === 0x2e /* . */) return part === ZERO || part === INTEGER ? POINT : -1;
  if (code === 0x65 || code === 0x45 /* e E */) return part === ZERO || part === INTEGER || part === FRACTION ? E : -1;
  if (code === 0x2d /* - */ && part === START) return MINUS;
  return part === E && (code === 0x2b || code === 0x2d) /* + - */ ? E_SIGN : -1;
}

/** What the character after a backslash stands for; "" when it stands for nothing. */
function unescaped(code: number): string {
  switch (code) {
    case 0x22:
      return '"';
    case 0x5c:
      return "\\";
    case 0x2f:
      return "/";
    case 0x62:
      return "\b";
    case 0x66:
      return "\f";
    case 0x6e:
      return "\n";
    case 0x72:
      return "\r";
    case 0x74:
      return "\t";
    default:
      return "";
  }
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

const text1 = String.fromCharCode;

/**
 * The getters of a parser, on a prototype. In an object literal each getter is a new function every time, for which V8
 * makes a hidden class of its own: slow to make, and it keeps the whole parser until the next full garbage collection.
 */
class Live implements TwinParser {
  readonly feed: (text: string) => void;
  readonly end: () => void;
  readonly changes: () => JsonChange[];
  readonly takeTwin: () => unknown;
  readonly #state: () => JsonState;
  readonly #value: () => unknown;

  constructor(
    feed: (text: string) => void,
    end: () => void,
    changes: () => JsonChange[],
    takeTwin: () => unknown,
    state: () => JsonState,
    value: () => unknown,
  ) {
    this.feed = feed;
    this.end = end;
    this.changes = changes;
    this.takeTwin = takeTwin;
    this.#state = state;
    this.#value = value;
  }

  get state(): JsonState {
    return this.#state();
  }

  get value(): unknown {
    return this.#value();
  }
}
