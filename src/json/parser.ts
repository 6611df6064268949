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
  return new StreamingParser(maxDepth, false);
}

/** A parser that makes its value twice: whoever looks at the live one might write to it. */
export interface TwinParser extends JsonParser {
  /** The value of a closed root that nobody has seen, once; `undefined` where there is none: it is given up when it is large. */
  takeTwin(): unknown;
}

/** {@link createJsonParser} with a twin of its value. */
export function createTwinParser({ maxDepth }: { maxDepth: number }): TwinParser {
  return new StreamingParser(maxDepth, true);
}

/** A class, so that its functions are shared: of thousands of open streams each has one of these. */
class StreamingParser implements TwinParser {
  readonly #maxDepth: number;
  #state: JsonState = "empty";
  #mode = VALUE;
  #ended = false;

  // The open containers, and in each the place that is being filled. The root value is item 0 of an array of our own.
  readonly #holder: unknown[] = [];
  readonly #stack: Container[] = [this.#holder];
  readonly #keys: (string | number)[] = [0];
  #container: Container = this.#holder;
  #inArray = true;
  #isInherited = false; // the key last read: see `set`

  // The container of the twin that is being filled, as `container` is, without what is not finished; and those around it.
  #twin: Container | undefined;
  readonly #aroundTwin: Container[] = [];
  #twinSize = 0;

  readonly #string = new GrowingText(); // the string or number being read
  #isKey = false;
  #escape = 0; // 1 after a backslash, 2 to 5 while 0 to 3 digits of \uXXXX have been read
  #unit = 0;
  #held = ""; // a high surrogate, until we know what follows
  #stale = false; // the container does not show the string as it is now

  #numberPart = START;
  #literal = "";
  #literalAt = 0;

  // For changes(): the lowest `known` containers of the stack have been told of (0: nobody ever asked),
  // `grown` is what the string told of as open has got since.
  #known = 0;
  #log: (JsonChange | Placed)[] = [];
  #stringKnown = false;
  #grown = "";

  constructor(maxDepth: number, hasTwin: boolean) {
    this.#maxDepth = maxDepth;
    if (hasTwin) this.#twin = [];
  }

  get state(): JsonState {
    return this.#state;
  }

  get value(): unknown {
    this.#show();
    return this.#holder[0];
  }

  feed(text: string): void {
    if (this.#ended) throw new TypeError("feed() after end(): make a new parser for a new text");
    if (this.#state === "invalid" || this.#state === "too_deep") return;
    let at = 0;
    while (at < text.length) {
      if (this.#mode === STRING) at = this.#readString(text, at);
      else if (this.#mode === NUMBER) at = this.#readNumber(text, at);
      else if (this.#mode === LITERAL) at = this.#readLiteral(text, at);
      else at = this.#readToken(text, at);
    }
  }

  #fail(): number {
    this.#state = "invalid";
    return STOP;
  }

  #readToken(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) return at + 1;
    switch (this.#mode) {
      case FIRST_ITEM:
        if (code === 0x5d /* ] */) return this.#close(at);
        return this.#beginValue(code, at);
      case VALUE:
        return this.#beginValue(code, at);
      case FIRST_KEY:
        if (code === 0x7d /* } */) return this.#close(at);
        return this.#beginKey(code, at);
      case KEY:
        return this.#beginKey(code, at);
      case COLON:
        if (code !== 0x3a /* : */) return this.#fail();
        this.#mode = VALUE;
        return at + 1;
      case NEXT:
        if (code === 0x2c /* , */) {
          if (this.#inArray) this.#keys[this.#keys.length - 1] = (this.#container as unknown[]).length;
          this.#mode = this.#inArray ? VALUE : KEY;
          return at + 1;
        }
        return code === (this.#inArray ? 0x5d : 0x7d) ? this.#close(at) : this.#fail();
      default:
        return this.#fail(); // text after the root value
    }
  }

  #beginKey(code: number, at: number): number {
    if (code !== 0x22 /* " */) return this.#fail();
    this.#isKey = true;
    this.#mode = STRING;
    return at + 1;
  }

  #beginValue(code: number, at: number): number {
    switch (code) {
      case 0x22 /* " */:
        this.#isKey = false;
        this.#stale = true;
        this.#mode = STRING;
        this.#placed();
        break;
      case 0x7b /* { */:
        return this.#open({}, at);
      case 0x5b /* [ */:
        return this.#open([], at);
      case 0x74 /* t */:
        this.#beginLiteral("true");
        break;
      case 0x66 /* f */:
        this.#beginLiteral("false");
        break;
      case 0x6e /* n */:
        this.#beginLiteral("null");
        break;
      default:
        if (code !== 0x2d /* - */ && (code < 0x30 || code > 0x39)) return this.#fail();
        this.#state = "open";
        this.#numberPart = START;
        this.#mode = NUMBER;
        return at;
    }
    this.#state = "open";
    return at + 1;
  }

  #open(opened: Container, at: number): number {
    this.#state = "open";
    if (this.#stack.length > this.#maxDepth) {
      this.#state = "too_deep";
      return STOP;
    }
    this.#set(opened);
    this.#placed();
    if (this.#twin !== undefined) this.#openTwin(Array.isArray(opened) ? [] : {});
    this.#stack.push(opened);
    this.#keys.push(0);
    this.#container = opened;
    this.#inArray = Array.isArray(opened);
    this.#mode = this.#inArray ? FIRST_ITEM : FIRST_KEY;
    return at + 1;
  }

  #close(at: number): number {
    this.#stack.pop();
    this.#keys.pop();
    this.#container = this.#stack[this.#stack.length - 1]!;
    this.#inArray = Array.isArray(this.#container);
    if (this.#twin !== undefined) this.#twin = this.#aroundTwin.pop();
    if (this.#known > this.#stack.length) {
      this.#known = this.#stack.length;
      this.#log.push({ path: this.#keys.slice(1), done: true });
    }
    this.#afterValue();
    if (this.#mode === DONE) this.#state = "closed";
    return at + 1;
  }

  #afterValue(): void {
    this.#mode = this.#stack.length === 1 ? DONE : NEXT;
  }

  /** Puts a value at the current place. The name is looked up once a key: a string that grows is put there again and again. */
  #set(value: unknown): void {
    this.#setIn(this.#container, value);
  }

  #setIn(target: Container, value: unknown): void {
    const key = this.#keys[this.#keys.length - 1]!;
    if (!this.#inArray && this.#isInherited) put(target, key, value);
    else (target as Record<string | number, unknown>)[key] = value;
  }

  #setTwin(value: unknown): void {
    if (this.#twin === undefined) return;
    if (++this.#twinSize > MAX_TWIN) this.#twin = undefined;
    else this.#setIn(this.#twin, value);
  }

  #openTwin(opened: Container): void {
    const outer = this.#twin!;
    this.#setTwin(opened);
    this.#aroundTwin.push(outer);
    if (this.#twin !== undefined) this.#twin = opened;
  }

  /** A value with nothing to come. */
  #finished(value: unknown): void {
    this.#set(value);
    this.#setTwin(value);
    this.#placed();
    this.#afterValue();
  }

  // --- strings

  #readString(text: string, at: number): number {
    if (this.#escape !== 0) {
      at = this.#readEscape(text, at);
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
      this.#appendRun(run, from < at ? text.charCodeAt(at - 1) : 0);
      if (code < 0x20) return this.#fail();
      if (code === 0x22) {
        this.#closeString();
        return at + 1;
      }
      // An escape that is cut, or \u, or none.
      run = "";
      this.#escape = 1;
      from = at = this.#readEscape(text, at + 1);
      at--;
    }
    if (at !== text.length) return at;
    if (from < at) this.#appendRun(run === "" ? text.slice(from) : run + text.slice(from), text.charCodeAt(at - 1));
    else this.#appendRun(run, 0);
    return at;
  }

  #readEscape(text: string, at: number): number {
    while (at < text.length) {
      const code = text.charCodeAt(at++);
      if (this.#escape === 1) {
        if (code === 0x75 /* u */) {
          this.#escape = 2;
          this.#unit = 0;
          continue;
        }
        const char = unescaped(code);
        if (char === "") return this.#fail();
        this.#escape = 0;
        this.#append(char);
        return at;
      }
      const digit = hexDigit(code);
      if (digit < 0) return this.#fail();
      this.#unit = this.#unit * 16 + digit;
      if (++this.#escape === 6) {
        this.#escape = 0;
        if (isHighSurrogate(this.#unit)) this.#hold(text1(this.#unit));
        else this.#append(text1(this.#unit));
        return at;
      }
    }
    return at;
  }

  /** @param last unit of the run, told since to look it up would make the string flat; 0 where it was an escape */
  #appendRun(run: string, last: number): void {
    if (run === "") return;
    if (!isHighSurrogate(last)) return this.#append(run);
    if (run.length > 1) this.#append(run.slice(0, -1));
    this.#hold(text1(last));
  }

  /** Keeps a high surrogate out of sight until the next character, its other half perhaps, is there. */
  #hold(high: string): void {
    if (this.#held !== "") this.#append("");
    this.#held = high;
  }

  #append(text: string): void {
    if (this.#held !== "") {
      text = this.#held + text;
      this.#held = "";
    }
    this.#string.append(text);
    this.#stale = true;
    if (this.#stringKnown) this.#grown += text;
  }

  /** All of the string or number that was read; there is none being read after that. */
  #take(): string {
    if (this.#held !== "") this.#append("");
    const whole = this.#string.text;
    this.#string.clear();
    return whole;
  }

  #closeString(): void {
    const text = this.#take();
    if (this.#isKey) {
      this.#keys[this.#keys.length - 1] = text;
      this.#isInherited = text in Object.prototype;
      this.#mode = COLON;
      return;
    }
    this.#set(text);
    this.#setTwin(text);
    if (this.#stringKnown) {
      this.#log.push({ path: this.#keys.slice(1), append: this.#grown, done: true });
      this.#stringKnown = false;
      this.#grown = "";
    }
    this.#afterValue();
    if (this.#mode === DONE) this.#state = "closed";
  }

  /** Writes the growing string into its container. */
  #show(): void {
    if (this.#mode !== STRING || this.#isKey || !this.#stale) return;
    this.#set(this.#string.text);
    this.#stale = false;
  }

  // --- numbers and literals

  #readNumber(text: string, at: number): number {
    const from = at;
    for (; at < text.length; at++) {
      const next = nextNumberPart(this.#numberPart, text.charCodeAt(at));
      if (next < 0) {
        if (from < at) this.#append(text.slice(from, at));
        return this.#endNumber() ? at : this.#fail();
      }
      this.#numberPart = next;
    }
    this.#append(text.slice(from, at));
    return at;
  }

  #endNumber(): boolean {
    if (
      this.#numberPart !== ZERO &&
      this.#numberPart !== INTEGER &&
      this.#numberPart !== FRACTION &&
      this.#numberPart !== EXPONENT
    )
      return false;
    this.#finished(Number(this.#take()));
    return true;
  }

  #beginLiteral(text: string): void {
    this.#literal = text;
    this.#literalAt = 1;
    this.#mode = LITERAL;
  }

  #readLiteral(text: string, at: number): number {
    if (text.charCodeAt(at) !== this.#literal.charCodeAt(this.#literalAt)) return this.#fail();
    if (++this.#literalAt === this.#literal.length)
      this.#finished(this.#literal === "null" ? null : this.#literal === "true");
    return at + 1;
  }

  // --- changes

  /** Notes, if somebody asks for changes, that there is a new value at the current place. */
  #placed(): void {
    if (this.#stack.length > this.#known) return;
    const level = this.#stack.length - 1;
    this.#log.push({ level, container: this.#container, key: this.#keys[level]!, path: this.#keys.slice(1) });
  }

  changes(): JsonChange[] {
    this.#show();
    if (this.#known === 0 && this.#holder.length > 0)
      this.#log.push({ level: 0, container: this.#holder, key: 0, path: [] });
    const told = this.#log.map((entry) => ("level" in entry ? this.#resolve(entry) : entry));
    this.#log = [];
    if (this.#grown !== "") told.push({ path: this.#keys.slice(1), append: this.#grown, done: false });
    this.#grown = "";
    this.#known = this.#stack.length;
    this.#stringKnown = this.#mode === STRING && !this.#isKey;
    return told;
  }

  #resolve({ level, container: parent, key, path }: Placed): JsonChange {
    const isCurrent = this.#stack[level] === parent && this.#keys[level] === key;
    const top = this.#stack.length - 1;
    if (!isCurrent || (level === top && (this.#mode !== STRING || this.#isKey))) {
      return { path, value: (parent as Record<string | number, unknown>)[key], done: true };
    }
    return {
      path,
      value: level === top ? (parent as Record<string | number, unknown>)[key] : this.#copyOpen(level + 1),
      done: false,
    };
  }

  /** Copies the container at a level of the stack and the open ones in it, so that they do not grow any more. */
  #copyOpen(level: number): unknown {
    let copy: Container | undefined;
    for (let i = this.#stack.length - 1; i >= level; i--) {
      const original = this.#stack[i]!;
      const outer = Array.isArray(original) ? original.slice() : { ...original };
      if (copy !== undefined) put(outer, this.#keys[i]!, copy);
      copy = outer;
    }
    return copy;
  }

  end(): void {
    if (this.#mode === NUMBER && this.#stack.length === 1 && this.#state === "open") this.#endNumber();
    if (this.#mode === DONE && this.#state === "open") this.#state = "closed";
    this.#ended = true;
  }

  takeTwin(): unknown {
    return this.#state === "closed" ? (this.#twin as unknown[] | undefined)?.pop() : undefined;
  }
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
