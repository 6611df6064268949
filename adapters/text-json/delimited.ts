import { isHighSurrogate } from "../../src/json/index.ts";
import { Kept } from "../../src/text/kept.ts";
import { find, isSpace, look, lookFor, skipSpace } from "../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../src/text/writer.ts";
import { endOfGap, FOLLOWED } from "./block.ts";

/** The marks of a call whose strings stand between delimiters. */
export interface Delimiters {
  readonly open: string;
  readonly close: string;
  /** Before and after every string. Nothing escapes it. */
  readonly quote: string;
  /** Set if `open` was left out: what else may follow the call at once. */
  readonly next?: readonly string[];
}

const NO_END = "a string has no end";

/** The maximum length of a key without delimiters. */
const MAX_KEY = 256;

/**
 * One call, `call:name{key:<|"|>value<|"|>,list:[1,true]}` and its end mark. It becomes JSON as it comes: keys and
 * delimited strings are quoted, anything else is passed on, for the tool's `repair` policy to judge.
 *
 * Nothing escapes a delimiter, so one that no comma, bracket or colon follows may be a quote that belongs to the string.
 * Such a call is an error, and everything up to its end mark is ignored: the string may quote calls. If it has hidden
 * an end mark, which one is the call's own is unknown, and nothing after it is read.
 *
 * A bare call may have no end mark either: then the line, the next call or the text ends it.
 */
export class DelimitedCall implements BlockReader {
  state: BlockReader["state"] = "head";
  /** It is bare, and another such call may follow. */
  readonly isPreface: boolean;
  readonly #marks: Delimiters;
  readonly #words: readonly string[];
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  #call: CallWriter | undefined;
  /** What closes the open brackets. */
  readonly #closers: string[] = [];
  #expected: "key" | "bare key" | "colon" | "value" | "bare value" | "next" | "end" | "close" | "nothing" = "key";
  /** The key or the value that is open and stands between no delimiters. */
  #bare = "";
  /** The open string's delimiter, or quote. */
  #quote = "";
  #isKey = false;
  #isEscaped = false;
  /** Its arguments stand in parentheses, and in braces there. */
  #isWrapped = false;
  /** What follows the first mark in the string that is open, or has just been closed. */
  #kept: Kept | undefined;

  constructor(marks: Delimiters, writer: BlockWriter, context: TextContext) {
    this.#marks = marks;
    this.isPreface = marks.next !== undefined;
    this.#words = [marks.quote, marks.close, marks.open];
    this.#writer = writer;
    this.#context = context;
  }

  read(text: string, from: number): number {
    let at = from;
    if (this.state === "head") {
      const begin = this.isPreface ? bareHeadAt(text, at, this.#context) : headAt(text, at);
      if (begin === "none") this.state = "none";
      if (typeof begin === "string") return at;
      this.state = "open";
      this.#call = this.#writer.call();
      this.#call.name(begin.name);
      this.#isWrapped = begin.isWrapped;
      at = this.#open(text[begin.bracket]!, begin.bracket);
    }
    while (at < text.length && this.state === "open") {
      const next = this.#quote === "" ? this.#step(text, at) : this.#readString(text, at);
      if (next === "maybe") break;
      at = next;
    }
    return at;
  }

  end(rest: string): string | undefined {
    if (this.state === "head") {
      if (this.isPreface || rest.trim() === "") return undefined;
      this.#call = this.#writer.call();
    }
    this.state = "closed";
    if (this.isPreface && this.#context.isWhole && this.#expected === "end") {
      this.#call!.done();
      return rest === "" ? undefined : rest;
    }
    if (!this.#context.isWhole || this.#quote === "" || this.#kept === undefined) {
      this.#call!.cut();
      return undefined;
    }
    this.#call!.unreadable(NO_END);
    this.#kept.add(rest);
    return this.#kept.text;
  }

  /** @returns how far it got; `maybe` if it takes more text to decide */
  #step(text: string, at: number): number | "maybe" {
    const { quote, close, open } = this.#marks;
    switch (this.#expected) {
      case "bare key":
        return this.#readKey(text, at);
      case "nothing":
        return text.length;
      case "close": {
        const end = find(text, at, [close]);
        if (end.word !== undefined) this.state = "closed";
        return end.word === undefined && end.at === at ? "maybe" : end.at + (end.word?.length ?? 0);
      }
      default:
    }
    const character = text[at]!;
    const mark = character === quote[0] || character === close[0] ? lookFor(text, at, this.#words) : undefined;
    if (mark === "maybe") return "maybe";
    if (this.#expected === "bare value" && mark === undefined && !/[,}\])]/.test(character)) {
      const end = /[,}\])<]/.exec(text.slice(at + 1));
      const until = end === null ? text.length : at + 1 + end.index;
      this.#bare += text.slice(at, until);
      // Longer than all arguments may be: whatever it is, it is refused now.
      if (this.#bare.length > this.#context.limits.maxArgumentsLength) this.#say(this.#bare);
      return until;
    }
    if (mark?.word === close || (mark?.word === open && this.#expected === "end")) {
      if (this.#expected === "end") this.#call!.done();
      else this.#call!.unreadable("its arguments are not closed where the call ends");
      this.state = "closed";
      return mark.word === open ? at : at + close.length;
    }
    if (this.#expected === "end" && this.isPreface) return this.#endBare(text, at);
    if (isSpace(text.charCodeAt(at))) return at + 1;
    if (this.#expected === "end" && this.#isWrapped && character === ")") {
      this.#isWrapped = false;
      return at + 1;
    }
    if (mark?.word === open) return this.#refuse("another call begins in its arguments", at);
    return this.#readSign(mark === undefined ? character : quote, at);
  }

  /** @param from the end of the arguments of a bare call */
  #endBare(text: string, from: number): number | "maybe" {
    const { close, open, next = [] } = this.#marks;
    const at = endOfGap(text, from, /\s/);
    const mark = at === text.length ? "maybe" : lookFor(text, at, [close, open, ...next]);
    if (mark === "maybe") return mark;
    if (mark !== undefined || text.slice(from, at).includes("\n")) this.#call!.done();
    else this.#call!.unreadable(FOLLOWED);
    this.state = "closed";
    return mark?.word === close ? at + close.length : from;
  }

  /** A bracket, a separator, or the beginning of a key, a string or another value. */
  #readSign(sign: string, at: number): number {
    const { quote } = this.#marks;
    const isString = sign === quote || sign === '"' || sign === "'";
    const isList = this.#closers.at(-1) === "]";
    switch (this.#expected) {
      case "key":
      case "value":
        if (isString) return this.#beginString(sign, at);
        if (sign === this.#closers.at(-1) && (this.#expected === "key" || isList)) return this.#close(at);
        if (this.#expected === "key") {
          this.#expected = "bare key";
          return at;
        }
        if (sign === "{" || sign === "[") return this.#open(sign, at);
        if (/[,}\])]/.test(sign)) break;
        this.#expected = "bare value";
        return at;
      case "colon":
        if (sign === ":" || sign === "=") {
          this.#kept = undefined;
          this.#call!.args(":");
          this.#expected = "value";
          return at + 1;
        }
        break;
      case "bare value":
        // Models leave out the delimiter that begins a string (sgl-project/sglang#39240).
        this.#say(sign === quote ? JSON.stringify(this.#bare) : this.#bare);
        this.#expected = "next";
        return sign === quote ? at + quote.length : at;
      case "next":
        if (sign === this.#closers.at(-1)) return this.#close(at);
        if (sign !== ",") break;
        this.#kept = undefined;
        this.#call!.args(",");
        this.#expected = isList ? "value" : "key";
        return at + 1;
      default:
    }
    return this.#refuse(REASONS[this.#expected] ?? REASONS.next, at);
  }

  /** Writes what has stood between no delimiters. */
  #say(json: string): void {
    this.#call!.args(json);
    this.#bare = "";
  }

  #open(bracket: string, at: number): number {
    this.#closers.push(bracket === "{" ? "}" : bracket === "[" ? "]" : ")");
    this.#call!.args(bracket === "[" ? "[" : "{");
    this.#expected = bracket === "[" ? "value" : "key";
    return at + 1;
  }

  #close(at: number): number {
    this.#kept = undefined;
    this.#call!.args(this.#closers.pop() === "]" ? "]" : "}");
    this.#expected = this.#closers.length === 0 ? "end" : "next";
    return at + 1;
  }

  #readKey(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const character = text[at]!;
      if (character === ":" || character === "=") {
        this.#say(`${JSON.stringify(this.#bare.trim())}:`);
        this.#expected = "value";
        return at + 1;
      }
      if (/[,{}[\]<"]/.test(character) || this.#bare.length === MAX_KEY) {
        return this.#refuse("a key is not followed by a colon", at);
      }
      this.#bare += character;
    }
    return text.length;
  }

  #beginString(quote: string, at: number): number {
    this.#quote = quote;
    this.#isKey = this.#expected === "key";
    this.#call!.args(quote.length === 1 ? quote : '"');
    return at + quote.length;
  }

  #readString(text: string, from: number): number | "maybe" {
    const quote = this.#quote;
    const isJson = quote.length === 1;
    const { close, open } = this.#marks;
    let keptFrom = from;
    for (let at = from; ; at++) {
      const character = text[at];
      const isEnd = character === undefined;
      if (this.#isEscaped && !isEnd) this.#isEscaped = false;
      else if (isJson && character === "\\") this.#isEscaped = true;
      else if (isEnd || character === "<" || character === quote) {
        const mark = isEnd ? undefined : lookFor(text, at, isJson ? [quote, close, open] : this.#words);
        if (isEnd || mark === "maybe") {
          // The second half of a pair may follow.
          const until = !isJson && at > from && isHighSurrogate(text.charCodeAt(at - 1)) ? at - 1 : at;
          this.#pass(text.slice(from, until), isJson);
          this.#kept?.add(text.slice(keptFrom, until));
          return until === from ? "maybe" : until;
        }
        if (mark?.word === quote) {
          this.#pass(text.slice(from, at), isJson);
          this.#call!.args(isJson ? quote : '"');
          this.#quote = "";
          this.#expected = this.#isKey ? "colon" : "next";
          return at + quote.length;
        }
        if (mark !== undefined && mark.word === close && this.#context.isBlind) {
          this.#call!.unreadable(NO_END);
          this.state = "closed";
          return at + close.length;
        }
        if (mark !== undefined && this.#kept === undefined) {
          this.#kept = new Kept();
          keptFrom = mark.word === close ? at + close.length : at;
        }
      }
    }
  }

  #pass(piece: string, isJson: boolean): void {
    this.#call!.args(isJson ? piece : JSON.stringify(piece).slice(1, -1));
  }

  /** What follows is ignored. */
  #refuse(reason: string, at: number): number {
    this.#call!.unreadable(reason);
    this.#expected = this.#kept === undefined ? "close" : "nothing";
    return at;
  }
}

const REASONS: { readonly next: string; readonly [expected: string]: string } = {
  value: "a key has no value",
  end: "something follows its arguments",
  next: 'a value is followed by something else: write a quote in a string as "',
};

interface Head {
  readonly name: string;
  /** Where its arguments begin. */
  readonly bracket: number;
  readonly isWrapped: boolean;
}

function headAt(text: string, from: number): Head | "maybe" | "none" {
  // Models leave the word out (vllm-project/vllm#53431), or write the call as in Python (#53642).
  let at = skipSpace(text, from);
  const word = look(text, at, "call");
  if (word === "maybe") return "maybe";
  if (word === "yes") at = skipSpace(text, at + "call".length);
  if (at === text.length) return "maybe";
  if (text[at] !== ":") return "none";
  at = skipSpace(text, at + 1);
  // With the names of servers before it (jundot/omlx#1830): the model is told which tools there are.
  const [name = ""] = /^[\w.\-/]+(?::[\w.\-/]*)*/.exec(text.slice(at)) ?? [];
  const bracket = skipSpace(text, at + name.length);
  if (bracket === text.length) return "maybe";
  if (name === "" || (text[bracket] !== "{" && text[bracket] !== "(")) return "none";
  if (text[bracket] === "{") return { name, bracket, isWrapped: false };
  // Or an object between them (osaurus-ai/osaurus#1505).
  const inside = skipSpace(text, bracket + 1);
  if (inside === text.length) return "maybe";
  const isWrapped = text[inside] === "{";
  return { name, bracket: isWrapped ? inside : bracket, isWrapped };
}

/** What follows `call:` where no mark has come: the name of a tool, and the beginning of its arguments. */
function bareHeadAt(text: string, from: number, context: TextContext): Head | "maybe" | "none" {
  const [head, name, key] = /^([\w.\-/:]+)(?:\{\s*([\w$-]*))?/.exec(text.slice(from)) ?? [""];
  const next = text[from + head.length];
  if (next === undefined) return "maybe";
  if (name === undefined || key === undefined || next !== (key === "" ? "}" : ":")) return "none";
  if (context.tool(name) === undefined) return "none";
  return { name, bracket: from + name.length, isWrapped: false };
}
