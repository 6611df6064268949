import {
  hexDigit,
  isHighSurrogate,
  nextNumberPart,
  START,
  text1,
  unescaped,
  ZERO,
  type NumberPart,
} from "./characters.ts";
import { copyOf, isRecord, put, putOwn, type Container } from "./container.ts";
import { GrowingText } from "./growing-text.ts";
import { Twin } from "./twin.ts";
import type { JsonChange, JsonParser, JsonState, TwinParser } from "./types.ts";

/** What the next character must be. */
const FIRST_ITEM = 0; // a value or "]"
const FIRST_KEY = 1; // a key or "}"
const NEXT = 2; // "," or the closing bracket: after these three, no bracket closes
const VALUE = 3;
const KEY = 4;
const COLON = 5;
const STRING = 6; // inside a string: see `escape`
const KEY_STRING = 7; // inside a key
const NUMBER = 8; // inside a number: see `numberPart`
const LITERAL = 9; // inside true, false or null
const DONE = 10; // white space only

/** Returned by the readers when the rest of the text must not be read. */
const STOP = Infinity;

/** A child put into a container that `changes()` has reported; its value is looked up at the next `changes()`. */
interface Placed {
  readonly level: number;
  readonly container: Container;
  readonly key: string | number;
  readonly path: readonly (string | number)[];
}

/**
 * Creates a parser for one JSON text (RFC 8259; what `JSON.parse` rejects is rejected), fed in pieces of any size.
 * Time is linear in the text, whether or not `value` and `changes()` are read after every piece; nothing recurses.
 * Limiting the size of the text is up to the caller.
 *
 * @param options.maxDepth how deep containers may nest; default 128.
 * @throws TypeError when `maxDepth` is not a number of at least 1.
 * @example
 * const parser = createJsonParser();
 * parser.feed('{"city": "Os');
 * parser.value; // { city: "Os" }
 */
export function createJsonParser({ maxDepth = 128 }: { readonly maxDepth?: number | undefined } = {}): JsonParser {
  if (!(maxDepth >= 1)) throw new TypeError(`maxDepth must be a number of at least 1, got ${String(maxDepth)}`);
  return new StreamingParser(maxDepth, false);
}

/** {@link createJsonParser} with a twin of its value. */
export function createTwinParser({ maxDepth }: { maxDepth: number }): TwinParser {
  return new StreamingParser(maxDepth, true);
}

/**
 * A class, so that its functions are shared: each of thousands of open streams has one of these. The fields that every
 * delta inside a string needs come first, since they lie in memory in that order.
 */
class StreamingParser implements TwinParser {
  #mode = VALUE;
  #isOver = false; // ended, invalid or too deep: no more is read
  #escape = 0; // 1 after a backslash, 2 to 5 while 0 to 3 digits of \uXXXX have been read
  #held = ""; // a high surrogate, until what follows is known
  readonly #string = new GrowingText(); // the string or number being read
  #isStale = false; // the container does not hold the latest string yet
  #wasRead = false; // a caller has the value, and may look into it again
  #grown: string | undefined; // what the string reported by changes() has gained since; `undefined`: not reported

  // The place being filled: in the innermost open container, or the root if there is none.
  #container: Container | undefined;
  #key: string | number = 0;
  #isInherited = false; // Object.prototype has a property of that name: see `set`
  #inArray = false;
  #root: unknown;
  #depth = 0; // how many containers are open
  // The places of the open containers, from the second one on; created once there is one.
  #outer: Container[] | undefined;
  #outerKeys: (string | number)[] | undefined;

  #state: JsonState = "empty";
  #hasEnded = false;
  readonly #maxDepth: number;
  #unit = 0; // of \uXXXX, as far as it has been read
  #numberPart: NumberPart = START;
  #literal = "";
  #literalAt = 0;
  #twin: Twin | undefined;

  // For changes(): the places at the lowest `known` depths have been reported (0: never called).
  #known = 0;
  #log: (JsonChange | Placed)[] | undefined;

  constructor(maxDepth: number, hasTwin: boolean) {
    this.#maxDepth = maxDepth;
    if (hasTwin) this.#twin = new Twin();
  }

  get state(): JsonState {
    return this.#state;
  }

  get value(): unknown {
    this.#wasRead = true;
    this.#show();
    return this.#root;
  }

  feed(text: string): void {
    if (this.#isOver) {
      if (this.#hasEnded) throw new TypeError("feed() after end(): make a new parser for a new text");
      return;
    }
    let at = 0;
    while (at < text.length) {
      if (this.#mode === STRING || this.#mode === KEY_STRING) at = this.#readString(text, at);
      else if (this.#mode === NUMBER) at = this.#readNumber(text, at);
      else if (this.#mode === LITERAL) at = this.#readLiteral(text, at);
      else at = this.#readToken(text, at);
    }
  }

  #fail(): number {
    this.#state = "invalid";
    this.#isOver = true;
    return STOP;
  }

  #readToken(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) return at + 1;
    if (this.#mode <= NEXT && code === (this.#inArray ? 0x5d : 0x7d) /* ] } */) return this.#close(at);
    switch (this.#mode) {
      case FIRST_ITEM:
      case VALUE:
        return this.#beginValue(code, at);
      case FIRST_KEY:
      case KEY:
        if (code !== 0x22 /* " */) return this.#fail();
        this.#mode = KEY_STRING;
        return at + 1;
      case COLON:
        if (code !== 0x3a /* : */) return this.#fail();
        this.#mode = VALUE;
        return at + 1;
      case NEXT:
        if (code !== 0x2c /* , */) return this.#fail();
        if (this.#inArray) this.#key = (this.#container as unknown[]).length;
        this.#mode = this.#inArray ? VALUE : KEY;
        return at + 1;
      default:
        return this.#fail(); // text after the root value
    }
  }

  #beginValue(code: number, at: number): number {
    this.#state = "open";
    if (code === 0x7b /* { */) return this.#open({}, at);
    if (code === 0x5b /* [ */) return this.#open([], at);
    if (code === 0x22 /* " */) {
      this.#isStale = true;
      this.#mode = STRING;
      this.#placed();
      return at + 1;
    }
    this.#literal = literalOf(code);
    this.#literalAt = 0;
    this.#numberPart = START;
    this.#mode = this.#literal === "" ? NUMBER : LITERAL;
    return at;
  }

  #open(opened: Container, at: number): number {
    if (this.#depth >= this.#maxDepth) {
      this.#state = "too_deep";
      this.#isOver = true;
      return STOP;
    }
    this.#set(opened);
    this.#placed();
    const inArray = Array.isArray(opened);
    if (this.#twin?.open(this.#key, inArray ? [] : {}) === false) this.#twin = undefined;
    if (this.#container !== undefined) {
      (this.#outer ??= []).push(this.#container);
      (this.#outerKeys ??= []).push(this.#key);
    }
    this.#enter(opened, 0, inArray);
    this.#depth++;
    this.#mode = inArray ? FIRST_ITEM : FIRST_KEY;
    return at + 1;
  }

  #close(at: number): number {
    const around = --this.#depth === 0 ? undefined : this.#outer!.pop();
    this.#enter(around, around === undefined ? 0 : this.#outerKeys!.pop()!, Array.isArray(around));
    this.#twin?.close();
    if (this.#known > this.#depth + 1) {
      this.#known = this.#depth + 1;
      this.#log!.push({ path: this.#path(), done: true });
    }
    this.#afterValue();
    if (this.#mode === DONE) this.#state = "closed";
    return at + 1;
  }

  /** Moves to a place. The name of one in an object is checked when it is read, before anything is set there. */
  #enter(container: Container | undefined, key: string | number, inArray: boolean): void {
    this.#container = container;
    this.#key = key;
    this.#isInherited = false;
    this.#inArray = inArray;
  }

  #afterValue(): void {
    this.#mode = this.#depth === 0 ? DONE : NEXT;
  }

  /** Puts a value at the current place. The name is checked once per key: a growing string is put there repeatedly. */
  #set(value: unknown): void {
    if (this.#container === undefined) {
      this.#root = value;
      return;
    }
    try {
      this.#put(value);
    } catch {
      this.#thaw();
      this.#put(value);
    }
  }

  #put(value: unknown): void {
    if (this.#isInherited) putOwn(this.#container!, this.#key, value);
    else (this.#container as Record<string | number, unknown>)[this.#key] = value;
  }

  /** A reader has frozen what was there, as state libraries do: the open containers go on as copies. */
  #thaw(): void {
    const frozen = Array.from({ length: this.#depth }, (_, i) => this.#containerAt(i + 1)!);
    const open = frozen.map(copyOf);
    for (let i = 1; i < open.length; i++) put(open[i - 1]!, this.#keyAt(i), open[i]);
    this.#log = this.#log?.map((entry) =>
      "level" in entry && frozen[entry.level - 1] === entry.container
        ? { ...entry, container: open[entry.level - 1]! }
        : entry,
    );
    this.#root = open[0];
    this.#container = open.pop();
    this.#outer = open;
  }

  #setTwin(value: unknown): void {
    if (this.#twin?.set(this.#key, value) === false) this.#twin = undefined;
  }

  /** A value that will not change any more. */
  #finished(value: unknown): void {
    this.#set(value);
    this.#setTwin(value);
    this.#placed();
    this.#afterValue();
  }

  // --- strings

  #readString(text: string, at: number): number {
    if (this.#escape !== 0) at = this.#readEscape(text, at);
    let run = ""; // part of this text, unescaped
    let from = at;
    for (; ; at++) {
      at = endOfPlain(text, at);
      if (at >= text.length) break;
      const code = text.charCodeAt(at);
      run += text.slice(from, at);
      const char = code === 0x5c ? unescaped(text.charCodeAt(at + 1)) : "";
      if (char !== "") {
        run += char;
        from = ++at + 1;
        continue;
      }
      this.#appendRun(run, text.charCodeAt(at - 1));
      if (code < 0x20) return this.#fail();
      if (code === 0x22) {
        this.#closeString();
        return at + 1;
      }
      // An escape that is cut, or \u, or an invalid one.
      run = "";
      this.#escape = 1;
      from = at = this.#readEscape(text, at + 1);
      at--;
    }
    this.#appendRun(run + text.slice(from), text.charCodeAt(at - 1));
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
        this.#appendRun(text1(this.#unit), this.#unit);
        return at;
      }
    }
    return at;
  }

  /**
   * Holds back a high surrogate at the end of a run until the next character, possibly its other half, is there.
   *
   * @param last unit of the run as written; passed in, since looking it up would flatten the string
   */
  #appendRun(run: string, last: number): void {
    if (run === "") return;
    if (!isHighSurrogate(last)) return this.#append(run);
    this.#append(run.slice(0, -1));
    this.#held = text1(last);
  }

  #append(text: string): void {
    if (this.#held !== "") {
      text = this.#held + text;
      this.#held = "";
    }
    this.#string.append(text);
    this.#isStale = true;
    if (this.#grown !== undefined) this.#grown += text;
  }

  /** The whole string or number just read; nothing is being read after that. */
  #take(): string {
    if (this.#held !== "") this.#append("");
    const whole = this.#string.text;
    this.#string.clear();
    return whole;
  }

  #closeString(): void {
    const text = this.#take();
    if (this.#mode === KEY_STRING) {
      this.#key = text;
      this.#isInherited = text in Object.prototype;
      this.#mode = COLON;
      return;
    }
    this.#set(text);
    this.#setTwin(text);
    if (this.#grown !== undefined) {
      this.#log!.push({ path: this.#path(), append: this.#grown, done: true });
      this.#grown = undefined;
    }
    this.#afterValue();
    if (this.#mode === DONE) this.#state = "closed";
  }

  /** Writes the growing string into its container. */
  #show(): void {
    if (this.#mode !== STRING || !this.#isStale) return;
    this.#set(this.#string.text);
    this.#isStale = false;
  }

  // --- numbers and literals

  #readNumber(text: string, at: number): number {
    const from = at;
    for (; at < text.length; at++) {
      const next = nextNumberPart(this.#numberPart, text.charCodeAt(at));
      if (next < 0) {
        this.#append(text.slice(from, at));
        return endsNumber(text.charCodeAt(at)) && this.#endNumber() ? at : this.#fail();
      }
      this.#numberPart = next;
    }
    this.#append(text.slice(from, at));
    return at;
  }

  #endNumber(): boolean {
    if (this.#numberPart < ZERO) return false;
    this.#finished(Number(this.#take()));
    return true;
  }

  #readLiteral(text: string, at: number): number {
    if (text.charCodeAt(at) !== this.#literal.charCodeAt(this.#literalAt)) return this.#fail();
    if (++this.#literalAt === this.#literal.length)
      this.#finished(this.#literal === "null" ? null : this.#literal === "true");
    return at + 1;
  }

  // --- changes

  /** The current place. */
  #path(): (string | number)[] {
    if (this.#depth === 0) return [];
    return this.#outerKeys === undefined ? [this.#key] : [...this.#outerKeys, this.#key];
  }

  /** Notes, if changes are being asked for, that there is a new value at the current place. */
  #placed(): void {
    if (this.#depth >= this.#known) return;
    this.#log!.push({ level: this.#depth, container: this.#container!, key: this.#key, path: this.#path() });
  }

  changes(): JsonChange[] {
    // Nearly always there is only more of a string that was already reported.
    const onlyGrows = this.#grown !== undefined;
    if (!onlyGrows || this.#wasRead) this.#show();
    if (onlyGrows) return this.#tellGrown([]);
    if (this.#root === undefined) return [];
    const told =
      this.#known === 0
        ? this.#tellRoot()
        : this.#log!.map((entry) => ("level" in entry ? this.#resolve(entry) : entry));
    this.#log = [];
    this.#known = this.#depth + 1;
    return this.#mode === STRING ? this.#tellGrown(told) : told;
  }

  /** Adds what the current string has gained since it was reported, if it was; from now on it counts as reported. */
  #tellGrown(told: JsonChange[]): JsonChange[] {
    const append = this.#grown;
    if (append !== undefined && append !== "") told.push({ path: this.#path(), append, done: false });
    this.#grown = "";
    return told;
  }

  /** Everything so far, for the first call: an object property by property, each under its own path. */
  #tellRoot(): JsonChange[] {
    const root = this.#root;
    const isOpen = this.#depth > 0;
    if (!isRecord(root))
      return [{ path: [], value: isOpen ? this.#copyOpen(1) : root, done: !isOpen && this.#mode !== STRING }];
    const told: JsonChange[] = [{ path: [], value: {}, done: false }];
    for (const key of Object.keys(root)) told.push(this.#resolve({ level: 1, container: root, key, path: [key] }));
    if (!isOpen) told.push({ path: [], done: true });
    return told;
  }

  #resolve({ level, container, key, path }: Placed): JsonChange {
    const value = (container as Record<string | number, unknown>)[key];
    const isCurrent = this.#containerAt(level) === container && this.#keyAt(level) === key;
    if (!isCurrent || (level === this.#depth && this.#mode !== STRING)) return { path, value, done: true };
    return { path, value: level === this.#depth ? value : this.#copyOpen(level + 1), done: false };
  }

  /** The container of the place at a depth; `undefined` for the root, and if none is open. */
  #containerAt(level: number): Container | undefined {
    return level === this.#depth ? this.#container : this.#outer?.[level - 1];
  }

  #keyAt(level: number): string | number {
    return level === this.#depth ? this.#key : this.#outerKeys![level - 1]!;
  }

  /** Copies the container of the place at a depth and the open ones inside it, so that they no longer grow. */
  #copyOpen(level: number): unknown {
    let copy: Container | undefined;
    for (let i = this.#depth; i >= level; i--) {
      const outer = copyOf(this.#containerAt(i)!);
      if (copy !== undefined) put(outer, this.#keyAt(i), copy);
      copy = outer;
    }
    return copy;
  }

  end(): void {
    if (this.#mode === NUMBER && this.#depth === 0 && this.#state === "open") this.#endNumber();
    if (this.#mode === DONE && this.#state === "open") this.#state = "closed";
    this.#isOver = this.#hasEnded = true;
  }

  takeTwin(): unknown {
    if (this.#state !== "closed") return undefined;
    const value = this.#twin?.root;
    this.#twin = undefined;
    return value;
  }
}

/** The index of the first character from `at` on that has a meaning inside a string. */
function endOfPlain(text: string, at: number): number {
  while (at < text.length && isPlain(text.charCodeAt(at))) at++;
  return at;
}

/** Neither a quote nor a backslash nor a control character. */
function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;
}

/** The literal that begins with this character; "" for a number, if anything. */
function literalOf(code: number): string {
  return code === 0x74 ? "true" : code === 0x66 ? "false" : code === 0x6e ? "null" : "";
}

/** Whether a number ends here, rather than being the beginning of unquoted text such as `2024-01-15`. */
function endsNumber(code: number): boolean {
  return code <= 0x20 || code === 0x2c /* , */ || code === 0x5d /* ] */ || code === 0x7d; /* } */
}
