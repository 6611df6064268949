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
 * Did the writer itself close the root and every string of this JSON text, however broken the text is? A tolerant scan:
 * linear, without recursion, and conservative. True means that every reading we know of ends where the text ends;
 * anything ambiguous (a lone quote in a string, say) is false.
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

/** Whether a piece of a JSON object is not its last one: the last one ends with a bracket. */
export function isAmidObject(piece: string): boolean {
  return /[^}\]\s]\s*$/.test(piece);
}

/** Is this {@link closedByItself}, with nothing before or after the root? Then it can be a value in another text. */
export function isClosedRoot(text: string): boolean {
  const reading = readerOf(text, false)?.read();
  return reading?.start === 0 && reading.end === text.length;
}

/** Replace `text.slice(from, to)` with `by`. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** The result of reading a broken text. */
export interface BrokenReading {
  /** The root is `text.slice(start, end)`. */
  readonly start: number;
  readonly end: number;
  /** What turns the root into JSON, as it was read; ordered by `from`, not overlapping. */
  readonly edits: readonly Edit[];
  /** The first escape sequence that JSON does not have (`\d`, `\.`), as written. */
  readonly unknownEscape: string | undefined;
}

/** Reads a broken text; `undefined` if it is not closed, or may not be. */
export function readBroken(text: string): BrokenReading | undefined {
  return readerOf(text, true)?.read();
}

function readerOf(text: string, takesNotes: boolean): BrokenReader | undefined {
  const [preamble, braces = ""] = PREAMBLE.exec(text)!;
  const start = preamble.length;
  if (text[start] !== "{" && text[start] !== "[") return undefined;
  return new BrokenReader(text, start, braces.split("{").length - 1, takesNotes);
}

/**
 * Before the root: white space (including a byte order mark), the opening line of a Markdown fence, and braces around
 * the object (https://github.com/tinyhumansai/tinyagents/pull/68).
 */
const PREAMBLE = /^\s*(?:```[a-z]*\s*)?((?:\{\s*(?=\{)){0,8})/i;

/**
 * After the root: white space, surplus brackets, a comma or semicolon, the end of a fence, a leaked control token, the
 * end mark of a call (`</tool_call>`).
 * One at a time: a regular expression that repeats an alternation runs out of stack after some ten million repetitions.
 */
const AFTERWORD = /[\s}\],;]+|```|<[|\uff5c/][^<>{}\s]{1,32}>/y;

/** A bare word: a number, a literal, or text that was not quoted. No quotes, brackets or other punctuation. */
const BARE_WORD = /[\p{L}\p{N}_$.+-][\p{L}\p{N}\p{M}_$.+\-%@#!?=*~^ \t]*/uy;

/** A number or literal followed by more: two values without a comma, or one text without quotes. */
const VALUE_AND_MORE =
  /^(?:(?:-|-?(?:\d+(?:\.\d*)?|\.\d*)(?:e[+-]?\d*)?)[ \t]|(?:true|false|null|none)(?![\w$]))[ \t]*[^ \t]/i;

const BEHIND_TEXT = /["']|[ \t]*\/\/[^\n"]*"/y;

/** A Python comment; or a number sign. */
const COMMENT = /[ \t]#[ \t]/;

/** A JSON number, also without a digit on one side of its point. With a needless leading zero it counts as text. */
const NUMBER = /^(-?)(?=\.?\d)(0|[1-9]\d*|)(\.\d*)?(e[+-]?\d+)?$/i;

/** The literals of JSON, and their counterparts in Python and JavaScript. */
const LITERALS: ReadonlyMap<string, string> = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["undefined", "null"],
]);

/** What may follow a backslash in a JSON string. */
const ESCAPED = '"\\/bfnrtu';

/** What must come next. */
type Expected = "key" | "colon" | "value" | "next";

/** How far back the text before a quote inside a string is examined. */
const MAX_INDENT = 64;

/** How often, on average, a character is examined before the text is given up. */
const MAX_LOOKS = 16;

/** Deeper than any repairable text can nest. */
const MAX_OWED = 1_048_576;

class BrokenReader {
  readonly #text: string;
  readonly #start: number;
  /** Opened before the root. */
  readonly #braces: number;
  /** Whether edits are recorded. For a long text they take many times its memory. */
  readonly #takesNotes: boolean;
  #at: number;
  /** The closing brackets still to come. */
  readonly #owed: number[] = [];
  readonly #edits: Edit[] = [];
  #unknownEscape: string | undefined;
  /** How much of the text after quotes may still be examined: one comment can follow many of them. */
  #left: number;

  constructor(text: string, start: number, braces: number, takesNotes: boolean) {
    this.#text = text;
    this.#start = start;
    this.#braces = braces;
    this.#takesNotes = takesNotes;
    this.#at = start;
    this.#left = MAX_LOOKS * text.length;
  }

  read(): BrokenReading | undefined {
    let expected: Expected | undefined = "value";
    let comma = -1; // the position of a comma, if that was the last thing read
    while (expected !== undefined) {
      this.#skipComments();
      const code = this.#text.charCodeAt(this.#at); // NaN, which nothing expects, at the end of the text
      const inObject = this.#owed[this.#owed.length - 1] === CLOSE_BRACE;

      if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        // After a key or its colon, something is missing; and a bracket of the wrong kind does not certainly close
        // anything.
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
    // Line breaks as in strings: https://github.com/OpenHands/software-agent-sdk/issues/2488
    while (/^\\[nrt][\s"{}[\],\\]/.test(this.#text.slice(this.#at, this.#at + 3)))
      this.#at = this.#skipSpace(this.#at + 2);
    if (/[/\\\ufeff]/.test(this.#text.slice(from, this.#at))) this.#edit(from, this.#at, " ");
  }

  #finish(): BrokenReading | undefined {
    if (this.#text.slice(this.#at).split("}").length <= this.#braces) return undefined;
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
    // After text, or in what looks like a comment there, a quote ends a string that has no beginning.
    BEHIND_TEXT.lastIndex = this.#at + said.length;
    if (meant === undefined && BEHIND_TEXT.test(this.#text)) return false;
    // With no space around it, what looks like a comment may be more of the word: `src/**/x.ts`, `7//2`; behind text,
    // two slashes may be, whatever follows: `total// 2`.
    const comment = meant === undefined ? /^\/(?!\*\s)/ : /^\/(?![*/]\s)/;
    if (comment.test(this.#text.slice(this.#at + said.length, this.#at + said.length + 3))) return false;
    // In a list, where it cannot begin a key, a quote after any word does, or belongs to more text: `ls "My Files"`.
    // So may a bracket: `argv[1]`. And a backslash belongs to any text: `src\new`.
    const after = this.#text[this.#at + word.length] ?? "";
    if (!inObject && /["'[{]/.test(after)) return false;
    if (meant === undefined && after === "\\") return false;
    this.#edit(this.#at, this.#at + said.length, meant ?? textOf(said));
    this.#at += word.length;
    return true;
  }

  /**
   * A quoted string. A quote ends it if what must follow it does follow. Other quotes belong to the string if they pair
   * up as a reader would pair them (`say "hi" to`); a lone one could be the end of a string whose rest never came, and
   * two adjacent ones in an array could be the end of one item and the beginning of the next. Keys contain neither
   * quotes nor line breaks: one that does is a key and a value with missing quotes.
   */
  #quoted(quote: number, isKey: boolean, inObject: boolean): boolean {
    const text = this.#text;
    const open = this.#at;
    let inner = 0;
    let innerQuote = open;
    let isObject = false;
    let apostrophes = quote === APOSTROPHE ? -1 : 0; // without the one that ends it
    let hasEscaped = false;
    if (quote === APOSTROPHE) this.#edit(open, open + 1, '"');
    for (let at = open + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === BACKSLASH) {
        // Between unescaped quotes, in code say, it may not be a JSON escape: `print("a\n")`.
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
        // At the beginning of a line it is the end anyway: files end with a line break.
        if (inner % 2 === 1 || (inner > 0 && looksOpening && text[at - 1] !== "\n")) return false;
        // Escaping one and not another means that the backslash is meant: `'it'\''s'` for a shell.
        if (hasEscaped && apostrophes > 0) this.#unknownEscape ??= "\\'";
        if (quote === APOSTROPHE) this.#edit(at, at + 1, '"');
        this.#at = at + 1;
        return true;
      }
      // In an array, two items without a comma between them look like this, too.
      if (!inObject && (at === open + 1 || /["']/.test(text[this.#skipSpace(at + 1)] ?? ""))) return false;
      // A quotation inside a string has no space after its opening quote. Three quotes are Python's.
      if (looksOpening && /\s/.test(text[at + 1] ?? "")) return false;
      if (at === open + 1 && text[at + 1] === text[open]) return false;
      inner++;
      if (isKey || looksOpening !== (inner % 2 === 1) || this.#left < 0) return false;
      if (!looksOpening && inObject && text.charCodeAt(this.#skipSpace(at + 1)) === COLON) {
        // A key after a value whose end is missing; but there are objects in code, and `if x == "a": ...`.
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
   * A backslash in a string. JSON does not have `\'`, but other languages do, for an apostrophe. Some models escape the
   * underscores of names as in Markdown (https://github.com/Pythagora-io/gpt-pilot/issues/756), and a key is a name.
   * Before any other character, and in values, it may belong to a regular expression, Markdown, a shell command or a
   * path.
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
    // A comma is missing: before what can only be a key, or at the end of a line. Not if it stands before the quote.
    if (code !== QUOTE || text.charCodeAt(quoteAt - 1) === COMMA) return false;
    if (!inObject) return text.slice(quoteAt, at).includes("\n");
    const end = endOfString(text, at);
    this.#left -= (end < 0 ? text.length : end) - at;
    return end >= 0 && text.charCodeAt(this.#skipSpace(end + 1)) === COLON && !/[\\\n]/.test(text.slice(at, end));
  }

  /** The end of the white space and comments that begin here; the length of the text for an unterminated comment. */
  #skipSpace(at: number): number {
    const text = this.#text;
    for (;;) {
      this.#left--;
      const code = text.charCodeAt(at);
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09 || code === 0xfeff) {
        at++;
      } else if (code === SLASH && text.charCodeAt(at + 1) === STAR) {
        const end = indexOrEnd(text, "*/", at + 2) + 2;
        this.#left -= end - at;
        at = end;
      } else if (code === SLASH && text.charCodeAt(at + 1) === SLASH) {
        const end = indexOrEnd(text, "\n", at);
        this.#left -= end - at;
        // With a quote that has no partner, it belongs to a string, behind a quote in it: `"5" // tall",`.
        if (text.slice(at, end).split(/(?<!\\)"/).length % 2 === 0) return at;
        at = end;
      } else {
        return at;
      }
    }
  }
}

/** Completed with the omitted digits; `undefined` if it is not a number. */
function numberOf(word: string): string | undefined {
  const [whole, sign, integer, fraction = "", exponent = ""] = NUMBER.exec(word) ?? [];
  if (whole === undefined) return undefined;
  return `${sign}${integer || 0}${fraction.replace(/\.$/, ".0")}${exponent}`;
}

/** A sum, or an ellipsis for something omitted, stays as it is: JSON cannot express it. */
function textOf(word: string): string {
  return /^\.{3}|\+/.test(word) ? word : JSON.stringify(word);
}

/** As written inside a JSON string. */
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
