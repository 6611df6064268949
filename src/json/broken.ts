import { endOfString } from "./scan.ts";

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const COLON = 0x3a;
const SLASH = 0x2f;
const STAR = 0x2a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Did the writer itself close the root and every string of this JSON text, broken as the text may be? A tolerant scan:
 * linear, without recursion, and conservative. True means that every reading we know of ends where the text ends;
 * whatever can be read in two ways (a lone quote in a string, say) is false.
 *
 * Only objects and arrays count: the end of any other broken root is a guess.
 *
 * @example
 * closedByItself("{city: 'Oslo',}"); // true: broken, but complete
 * closedByItself('{"city": "Os'); // false
 */
export function closedByItself(text: string): boolean {
  return readerOf(text, false)?.read() !== undefined;
}

/** Whether a piece of a JSON object is not its last one: that ends with a bracket. */
export function isAmidObject(piece: string): boolean {
  return /[^}\]\s]\s*$/.test(piece);
}

/** Is this {@link closedByItself}, with nothing before or behind the root? It can stand as a value in another text. */
export function isClosedRoot(text: string): boolean {
  const reading = readerOf(text, false)?.read();
  return reading?.start === 0 && reading.end === text.length;
}

/** `text.slice(from, to)` is to become `by`. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** How a broken text was read. */
export interface BrokenReading {
  /** The root is `text.slice(start, end)`. */
  readonly start: number;
  readonly end: number;
  /** What makes JSON of the root, as it was read; in order of `from`, apart from each other. */
  readonly edits: readonly Edit[];
  /** An escape sequence that JSON does not have (`\d`, `\.`): the first such, as written. */
  readonly unknownEscape: string | undefined;
}

/** Reads a broken text; `undefined` when it is not closed, or when we can not be sure that it is. */
export function readBroken(text: string): BrokenReading | undefined {
  return readerOf(text, true)?.read();
}

function readerOf(text: string, takesNotes: boolean): BrokenReader | undefined {
  const start = PREAMBLE.exec(text)![0].length;
  if (text[start] !== "{" && text[start] !== "[") return undefined;
  return new BrokenReader(text, start, takesNotes);
}

/** Before the root: white space (a byte order mark is some), the opening line of a Markdown fence. */
const PREAMBLE = /^\s*(?:```[a-z]*\s*)?/i;

/**
 * After the root: white space, brackets too many, a comma or semicolon, the end of a fence, a leaked control token.
 * One of them at a time: a regular expression that repeats a choice runs out of stack in some ten million of them.
 */
const AFTERWORD = /[\s}\],;]+|```|<\|[a-z_]{1,32}\|>/iy;

/** A bare word: a number, a literal, or text that somebody forgot to quote. No quotes, brackets or other punctuation. */
const BARE_WORD = /[\p{L}\p{N}_$.+-][\p{L}\p{N}\p{M}_$.+\-%@#!?=*~^ \t]*/uy;

/** A number or literal with more behind it: two values without a comma, or one text without quotes. */
const VALUE_AND_MORE =
  /^(?:(?:-|-?(?:\d+(?:\.\d*)?|\.\d*)(?:e[+-]?\d*)?)[ \t]|(?:true|false|null|none)(?![\w$]))[ \t]*[^ \t]/i;

const BEHIND_TEXT = /["']|[ \t]*\/\/[^\n"]*"/y;

/** Of Python; or a number of something. */
const COMMENT = /[ \t]#[ \t]/;

/** A number as JSON has it, or without a digit on one side of its point. One that begins with a needless zero is a text. */
const NUMBER = /^(-?)(?=\.?\d)(0|[1-9]\d*|)(\.\d*)?(e[+-]?\d+)?$/i;

/** Those of JSON, and what Python and JavaScript say instead. */
const LITERALS: ReadonlyMap<string, string> = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["undefined", "null"],
]);

/** What may follow a backslash in a string of JSON. */
const ESCAPED = '"\\/bfnrtu';

/** What comes next. */
type Expected = "key" | "colon" | "value" | "next";

/** What stands before a quote in a string is looked at no further back. */
const MAX_INDENT = 64;

/** Deeper than any text that is repaired can nest. */
const MAX_OWED = 1_048_576;

class BrokenReader {
  readonly #text: string;
  readonly #start: number;
  /** Whether edits are noted. For a long text they take many times its memory. */
  readonly #takesNotes: boolean;
  #at: number;
  /** The closing brackets that are owed. */
  readonly #owed: number[] = [];
  readonly #edits: Edit[] = [];
  #unknownEscape: string | undefined;
  /** The next end of a comment, and of a line: looked up once for each. */
  #starSlash = -1;
  #newline = -1;

  constructor(text: string, start: number, takesNotes: boolean) {
    this.#text = text;
    this.#start = start;
    this.#takesNotes = takesNotes;
    this.#at = start;
  }

  read(): BrokenReading | undefined {
    let expected: Expected | undefined = "value";
    let comma = -1; // where the last thing read, a comma, is
    while (expected !== undefined) {
      this.#skipComments();
      if (this.#at >= this.#text.length) return undefined;
      const code = this.#text.charCodeAt(this.#at);
      const inObject = this.#owed[this.#owed.length - 1] === CLOSE_BRACE;

      if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        // After a key or its colon something is missing; and a bracket of the wrong kind closes nothing for sure.
        if (expected === "colon" || (expected === "value" && inObject) || code !== this.#owed.pop()) return undefined;
        if (comma >= 0) this.#edit(comma, comma + 1, "");
        comma = -1;
        this.#at++;
        if (this.#owed.length === 0) return this.#finish();
        expected = "next";
        continue;
      }
      if (expected === "next") {
        if (code === COMMA) comma = this.#at++;
        else this.#edit(this.#at, this.#at, ",");
        expected = inObject ? "key" : "value";
        continue;
      }
      comma = -1;
      if (expected === "colon") {
        if (code !== COLON) return undefined;
        this.#at++;
        expected = "value";
      } else if (expected === "key") {
        expected = this.#scalar(code, true, inObject) ? "colon" : undefined;
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        if (this.#owed.length === MAX_OWED) return undefined;
        this.#at++;
        this.#owed.push(code === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
        expected = code === OPEN_BRACE ? "key" : "value";
      } else {
        expected = this.#scalar(code, false, inObject) ? "next" : undefined;
      }
    }
    return undefined;
  }

  #edit(from: number, to: number, by: string): void {
    if (this.#takesNotes) this.#edits.push({ from, to, by });
  }

  #skipComments(): void {
    const from = this.#at;
    this.#at = this.#skipSpace(from);
    if (/[/\ufeff]/.test(this.#text.slice(from, this.#at))) this.#edit(from, this.#at, " ");
  }

  #finish(): BrokenReading | undefined {
    for (let at = this.#at; at < this.#text.length; at = AFTERWORD.lastIndex) {
      AFTERWORD.lastIndex = at;
      if (!AFTERWORD.test(this.#text)) return undefined;
    }
    return {
      start: this.#start,
      end: this.#at,
      edits: this.#edits.toSorted((a, b) => a.from - b.from),
      unknownEscape: this.#unknownEscape,
    };
  }

  #scalar(code: number, isKey: boolean, inObject: boolean): boolean {
    return code === QUOTE || code === APOSTROPHE ? this.#quoted(code, isKey, inObject) : this.#bare(isKey, inObject);
  }

  #bare(isKey: boolean, inObject: boolean): boolean {
    BARE_WORD.lastIndex = this.#at;
    const [word] = BARE_WORD.exec(this.#text) ?? [];
    if (word === undefined || VALUE_AND_MORE.test(word) || COMMENT.test(word)) return false;
    const said = word.trimEnd();
    const meant = isKey ? undefined : (LITERALS.get(said) ?? numberOf(said));
    // Behind a text, or in what looks like a comment there, a quote is the end of a string that has no begin.
    BEHIND_TEXT.lastIndex = this.#at + said.length;
    if (meant === undefined && BEHIND_TEXT.test(this.#text)) return false;
    // In a list, where none can begin a key, it is that behind anything, or more of a text: `ls "My Files"`.
    if (!inObject && /["']/.test(this.#text[this.#at + word.length] ?? "")) return false;
    this.#edit(this.#at, this.#at + said.length, meant ?? textOf(said));
    this.#at += word.length;
    return true;
  }

  /**
   * A quoted string. A quote ends it when what has to follow it follows. Other quotes belong to it if they pair up as
   * a reader would pair them (`say "hi" to`); a lone one could be the end of a string whose rest never came, and two of
   * them next to each other in an array that of one item and the begin of the next. Keys hold neither quotes nor line
   * breaks: what does is a key and a value whose quotes are missing.
   */
  #quoted(quote: number, isKey: boolean, inObject: boolean): boolean {
    const text = this.#text;
    const open = this.#at;
    let inner = 0;
    let innerQuote = open;
    let isObject = false;
    let apostrophes = quote === APOSTROPHE ? -1 : 0; // but the one that ends it
    let hasEscaped = false;
    if (quote === APOSTROPHE) this.#edit(open, open + 1, '"');
    for (let at = open + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === BACKSLASH) {
        // Between quotes that are not escaped, of code say, it may be none of JSON's: `print("a\n")`.
        if (inner % 2 === 1) return false;
        hasEscaped ||= text[at + 1] === "'";
        this.#escape(at++, isKey);
        continue;
      }
      if (code === APOSTROPHE) {
        if (isLetter(text[at - 1]!) && isLetter(text[at + 1] ?? "")) continue; // it's
        apostrophes++;
      }
      if (code !== quote) {
        if (isKey && code === NEWLINE) return false;
        if (code === QUOTE || code < 0x20) this.#edit(at, at + 1, escaped(text[at]!));
        continue;
      }
      const looksOpening = at === open + 1 || /[\s([{=:]/.test(text[at - 1]!);
      if (this.#endsString(at, isKey, inObject)) {
        // At the begin of a line it is the end all the same: files end with a line break.
        if (inner % 2 === 1 || (inner > 0 && looksOpening && text[at - 1] !== "\n")) return false;
        // Who escapes one and leaves another means the backslash: `'it'\''s'` for a shell.
        if (hasEscaped && apostrophes > 0) this.#unknownEscape ??= "\\'";
        if (quote === APOSTROPHE) this.#edit(at, at + 1, '"');
        this.#at = at + 1;
        return true;
      }
      // In an array two items without a comma between them look like this, too.
      if (!inObject && (at === open + 1 || /["']/.test(text[this.#skipSpace(at + 1)] ?? ""))) return false;
      // Who quotes in a string leaves no space behind the quote that begins it. Three are those of Python.
      if (looksOpening && /\s/.test(text[at + 1] ?? "")) return false;
      if (at === open + 1 && text[at + 1] === text[open]) return false;
      inner++;
      if (isKey || looksOpening !== (inner % 2 === 1)) return false;
      if (!looksOpening && inObject && text.charCodeAt(this.#skipSpace(at + 1)) === COLON) {
        // A key behind a value whose end is missing; but there are objects in code, and `if x == "a": ...`.
        const from = Math.max(open + 1, innerQuote - MAX_INDENT);
        const before = text.slice(from, innerQuote).replaceAll(/\\[nrt]/g, " ");
        isObject ||= /\{\s*$/.test(before);
        if (!isObject && /(?:^|[^=?:([+\-*/<>&|!\s])(?:\s+|,)$/.test(before)) return false;
      }
      innerQuote = at;
      if (quote === QUOTE) this.#edit(at, at + 1, escaped('"'));
    }
    return false;
  }

  /**
   * A backslash in a string. JSON does not have `\'`, but others do, and mean an apostrophe. Some models escape the
   * underscores of names as Markdown does (https://github.com/Pythagora-io/gpt-pilot/issues/756), which a key is.
   * Before anything else, and in values, it may be one of a regular expression, of Markdown, of a shell or of a path.
   */
  #escape(at: number, isKey: boolean): void {
    const char = this.#text[at + 1] ?? "";
    if (ESCAPED.includes(char)) return;
    if (char === "'" || (isKey && char === "_")) this.#edit(at, at + 2, char);
    else this.#unknownEscape ??= this.#text.slice(at, at + 2);
  }

  #endsString(quoteAt: number, isKey: boolean, inObject: boolean): boolean {
    const text = this.#text;
    const at = this.#skipSpace(quoteAt + 1);
    const code = text.charCodeAt(at);
    if (isKey) return code === COLON;
    if (code === COMMA || code === (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) return true;
    // A comma is missing: before what can only be a key, or at the end of a line.
    if (code !== QUOTE) return false;
    if (!inObject) return text.slice(quoteAt, at).includes("\n");
    const end = endOfString(text, at);
    return end >= 0 && text.charCodeAt(this.#skipSpace(end + 1)) === COLON && !/[\\\n]/.test(text.slice(at, end));
  }

  /** Where the white space and comments that begin here end; the length of the text for a comment without end. */
  #skipSpace(at: number): number {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09 || code === 0xfeff) {
        at++;
      } else if (code === SLASH && text.charCodeAt(at + 1) === STAR) {
        if (this.#starSlash < at + 2) this.#starSlash = indexOrEnd(text, "*/", at + 2);
        at = this.#starSlash + 2;
      } else if (code === SLASH && text.charCodeAt(at + 1) === SLASH) {
        if (this.#newline < at) this.#newline = indexOrEnd(text, "\n", at);
        at = this.#newline;
      } else {
        return at;
      }
    }
  }
}

/** With what was left out of it; `undefined` if it is none. */
function numberOf(word: string): string | undefined {
  const [whole, sign, integer, fraction = "", exponent = ""] = NUMBER.exec(word) ?? [];
  if (whole === undefined) return undefined;
  return `${sign}${integer || 0}${fraction.replace(/\.$/, ".0")}${exponent}`;
}

/** A sum, or an ellipsis for what was left out, stays as it is: JSON can not say it. */
function textOf(word: string): string {
  return /^\.{3}|\+/.test(word) ? word : JSON.stringify(word);
}

/** As it is written in a string of JSON. */
function escaped(char: string): string {
  return JSON.stringify(char).slice(1, -1);
}

function indexOrEnd(text: string, wanted: string, from: number): number {
  const at = text.indexOf(wanted, from);
  return at < 0 ? text.length : at;
}

function isLetter(char: string): boolean {
  return /^\p{L}$/u.test(char);
}
