/**
 * Tracks whether the next character is in a code fence (https://spec.commonmark.org/0.31.2/#fenced-code-blocks), in a
 * line of a block quote, or in inline code or quotes: there, the model only writes about a marker, or repeats one.
 *
 * It sees each character once and never looks ahead. The closing ticks of a code span may never come, so it ends with
 * its line, as quotes do. If a marker is in them, a call with its line breaks may be quoted: then they go on, as in
 * Markdown, to the end of the paragraph at the latest.
 */
export class Fence {
  /**
   * The position in the line: its indent, the number and the sign of a list item, a run of fence characters, what
   * follows the run, anything else.
   */
  #line: "indent" | "number" | "sign" | "run" | "info" | "rest" = "indent";
  #indent = 0;
  /** Where the sign of the last list item ends: what it holds is indented from there. */
  #item = -1;
  #run = 0;
  #char = 0;
  /** The open fence: its character and length. One that began like inline code ends wherever its run comes. */
  #open: { readonly char: number; readonly run: number; readonly isInline?: boolean } | undefined;
  #last = 0;
  /** The length of the current run of ticks, and of the run that opened a code span. */
  #ticks = 0;
  #codeTicks = 0;
  /** What has come since the run that opened the code span. */
  #info: "nothing" | "word" | "text" = "text";
  /** A marker is in the code span. */
  #hasMarker = false;
  /** The unpaired quotes in the line. */
  readonly #quotes = new Set<number>();
  /** The quote before a marker: it extends to its partner. That of a block quote has none. */
  #quote = 0;
  /** The line has a low quote: its high ones end something. */
  #isLow = false;
  /** The first of its guillemets, which is the one that begins something: «a» or »a«. */
  #guillemet = -1;

  /** Whether a marker that begins here is text. */
  isQuoting(): boolean {
    if (this.#quote === 0) this.#quote = this.#quotes.has(this.#last) ? this.#last : this.#closer();
    // Nothing but a marker can follow the end of a fence on its line: some models write none there.
    const isRun = this.#line === "run" || this.#line === "info";
    if (isRun && this.#char === this.#open?.char && this.#run >= this.#open.run) {
      this.#open = undefined;
      this.#ticks = this.#codeTicks = 0;
      this.#line = "rest";
    }
    this.#endTicks();
    if (this.#quote === BLOCK_QUOTE) this.#quote = MARKED_QUOTE;
    this.#hasMarker = this.#codeTicks > 0;
    return this.#open !== undefined || this.#hasMarker || this.#quote !== 0;
  }

  see(code: number): void {
    if (code === this.#quote) this.#quote = 0;
    if (isQuote(code)) this.#seeQuote(code);
    else if (code === LOW || code === LOW_SINGLE) this.#isLow = true;
    else if ((code === LEFT || code === RIGHT) && this.#guillemet < 0) this.#guillemet = code;
    this.#last = code;
    if (code === NEWLINE) return this.#endLine();
    if (code === BACKTICK) this.#ticks++;
    else {
      this.#endTicks(code);
      if (this.#info !== "text" && code !== RETURN) this.#info = isWord(code) ? "word" : "text";
    }
    if (this.#line === "rest") return;
    if (this.#line !== "run" && this.#line !== "info") this.#seeIndent(code);
    if (this.#line === "run") {
      if (code === this.#char) this.#run++;
      else this.#line = "info";
    }
    // "```code``` in a line" is no fence; only white space may follow a closing run.
    if (
      this.#line === "info" &&
      (this.#open === undefined ? this.#char === BACKTICK && code === BACKTICK : !isSpace(code))
    )
      this.#line = "rest";
  }

  /** What follows a block of calls does not begin its line. */
  seeBlock(): void {
    this.#line = "rest";
  }

  /** A list item may begin with a fence or a block quote, and holds those that are indented as it is. */
  #seeIndent(code: number): void {
    const line = this.#line;
    if (isSpace(code) && line !== "number") {
      if (line === "sign") this.#item = this.#indent;
      this.#line = "indent";
      this.#indent += code === TAB ? 4 : 1;
      return;
    }
    this.#line = "rest";
    const isNear = line === "indent" && this.#indent <= this.#item + 4;
    if (this.#open === undefined) {
      if (isDigit(code) && (isNear || line === "number")) this.#line = "number";
      else if (line === "number" ? code === DOT || code === ROUND : isNear && isBullet(code)) this.#line = "sign";
      if (this.#line !== "rest") this.#indent++;
      else if (this.#indent === 0) this.#item = -1;
    }
    if (!isNear) return;
    if (code === GREATER) this.#quote = BLOCK_QUOTE;
    if (code === BACKTICK || code === TILDE) {
      this.#line = "run";
      this.#char = code;
      this.#run = 0;
    }
  }

  /**
   * A quote after a space opens; elsewhere, it opens if none is open yet. An apostrophe in or after a word is not a
   * quote.
   */
  #seeQuote(code: number): void {
    const isNew = this.#last <= SPACE || !(this.#quotes.has(code) || (code === APOSTROPHE && isWord(this.#last)));
    if (isNew) this.#quotes.add(code);
    else this.#quotes.delete(code);
  }

  /** What ends a quote that has a sign of its own to begin it, and has just begun; 0 if none has. */
  #closer(): number {
    const last = this.#last;
    if (last === HIGH || last === HIGH_SINGLE) return this.#isLow ? 0 : last + 1;
    if (last === LOW || last === LOW_SINGLE) return last - 2;
    if (last === this.#guillemet) return LEFT + RIGHT - last;
    return last === CORNER || last === CORNER + 2 ? last + 1 : 0;
  }

  #endTicks(next = 0): void {
    if (this.#ticks === 0) return;
    if (this.#open?.isInline === true && this.#ticks === this.#open.run) {
      this.#open = undefined;
      // "```xml" that begins a line ends nothing: it begins a fence.
      const isBegin = this.#line === "run" && isWord(next);
      this.#codeTicks = isBegin ? 0 : this.#ticks;
      if (!isBegin) this.#line = "rest";
    }
    if (this.#codeTicks === 0) {
      this.#codeTicks = this.#ticks;
      this.#info = "nothing";
      this.#hasMarker = false;
    } else if (this.#codeTicks === this.#ticks) this.#codeTicks = 0;
    this.#ticks = 0;
  }

  #endLine(): void {
    this.#endTicks();
    // "Like this: ```xml" is no fence in Markdown, but it quotes what follows, and is meant as one.
    if (this.#line === "rest" && this.#open === undefined && this.#codeTicks >= 3 && this.#info === "word")
      this.#open = { char: BACKTICK, run: this.#codeTicks, isInline: true };
    const isOver = this.#line === "indent" || this.#open !== undefined;
    if (isOver || !this.#hasMarker) this.#codeTicks = 0;
    if (isOver || this.#quote === BLOCK_QUOTE) this.#quote = 0;
    this.#quotes.clear();
    this.#isLow = false;
    this.#guillemet = -1;
    const isRun = this.#run >= 3 && (this.#line === "run" || this.#line === "info");
    if (isRun) {
      // With a marker on its line it is meant as inline code, and may end as that does.
      const isInline = this.#codeTicks === this.#run;
      if (this.#open === undefined) this.#open = { char: this.#char, run: this.#run, isInline };
      else if (this.#char === this.#open.char && this.#run >= this.#open.run) this.#open = undefined;
    }
    this.#line = "indent";
    this.#indent = 0;
  }
}

const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const APOSTROPHE = 39;
const ROUND = 41;
const DOT = 46;
const GREATER = 62;
const BACKTICK = 96;
const TILDE = 126;
/** As in ‘a’, “a”, ‚a‘, „a“, «a», 「a」 and 『a』. */
const HIGH_SINGLE = 0x2018;
const HIGH = 0x201c;
const LOW_SINGLE = 0x201a;
const LOW = 0x201e;
const CORNER = 0x300c;
const LEFT = 0xab;
const RIGHT = 0xbb;
const BLOCK_QUOTE = -1;
/** One with a marker in it. */
const MARKED_QUOTE = -2;

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB || code === RETURN;
}

function isQuote(code: number): boolean {
  return code === 34 || code === APOSTROPHE;
}

/** `-`, `*` or `+`. */
function isBullet(code: number): boolean {
  return code === 45 || code === 42 || code === 43;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** A letter or a digit. */
function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || isDigit(code);
}
