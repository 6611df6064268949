import { Kept } from "../../src/text/kept.ts";
import { lookFor } from "../../src/text/look.ts";
import { MAX_HEAD, type BlockReader, type TextContext } from "../../src/text/notation.ts";
import { UNESCAPED, type BlockWriter, type CallWriter } from "../../src/text/writer.ts";
import { ValueEnd } from "./value.ts";

/** Takes the JSON of a block. */
export interface JsonConsumer {
  feed(piece: string): void;
  /** Something like more JSON follows after it was closed: so it was closed too early. */
  second?(): void;
  /** Further values are no such thing. */
  readonly isSequence?: boolean;
  /** Text follows it on its line, though it should stand alone. */
  followed?(): void;
  /** By its brackets and quotes, all that came is closed: what it still takes for open is malformed. */
  balanced?(): void;
  /** The model has ended the block. */
  end(): void;
  /** The text ended before the block did. */
  cut(): void;
  /** What comes is in no string, whatever the quotes before it seem to say: it is text, or no object is open. */
  readonly isUnquoted?: boolean;
}

/** What stands between the marker of a block and its JSON. */
export interface Head {
  /** Where the JSON begins. */
  readonly json: number;
  /** Called once. */
  begin(writer: BlockWriter, context: TextContext): JsonConsumer;
  /** The end of the JSON is the end of the block, once its line shows that it does not go on. */
  readonly endsWithLine?: boolean | undefined;
  /** No mark began the block: nothing else may stand on that line, and another such block may follow. */
  readonly isBare?: boolean;
}

export interface JsonBlockParts {
  /** `maybe` while it is not known whether this is a block. */
  head(text: string, at: number): Head | "maybe" | "none";
  /** Whether a text that ends in the head ends in a call. Default: if anything follows the marker. */
  isCall?(rest: string): boolean;
  /** What ends the block. */
  readonly ends: readonly string[];
  /** What can only begin the next block, and so ends this one too. A `>` or `)` before it belongs to this one. */
  readonly nexts?: readonly string[];
  /** Servers may hide the end: if the text ends after closed JSON, the end of the turn decides about the call. */
  readonly isEndHidden?: boolean;
}

/**
 * A block made of a head, JSON and an end marker. A marker inside a string of the JSON is text of that string.
 *
 * With a broken quote, that would swallow everything else. So what follows the first end marker in a string, or begins
 * with the first `nexts` marker in one, is kept, and given back if no other end comes. If the value is closed after it,
 * no quote was broken.
 */
export class JsonBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #parts: JsonBlockParts;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  readonly #markers: readonly string[];
  readonly #firsts: ReadonlySet<number>;
  #consumer: JsonConsumer | undefined;
  #endsWithLine = false;
  isPreface = false;
  #value = new ValueEnd();
  #kept: Kept | undefined;
  /** Where strings begin and end is not known any more: all that comes is only kept. */
  #isLost = false;

  constructor(parts: JsonBlockParts, writer: BlockWriter, context: TextContext) {
    const { ends, nexts = [] } = parts;
    this.#parts = parts;
    this.#writer = writer;
    this.#context = context;
    this.#markers = [...ends, ...nexts];
    this.#firsts = new Set(this.#markers.map((marker) => marker.charCodeAt(0)));
  }

  read(text: string, from: number): number {
    let at = from;
    if (this.#consumer === undefined) {
      const head = this.#parts.head(text, at);
      if (head === "none") this.state = "none";
      if (typeof head === "string") return at;
      this.state = "open";
      this.#consumer = head.begin(this.#writer, this.#context);
      this.isPreface = head.isBare === true;
      this.#endsWithLine = this.isPreface || head.endsWithLine === true;
      at = head.json;
    }
    return this.#isLost ? this.#pass(text, at, text.length) : this.#readJson(this.#consumer, text, at);
  }

  #readJson(consumer: JsonConsumer, text: string, begin: number): number {
    const { nexts = [] } = this.#parts;
    let from = begin;
    let at = begin;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#firsts.has(code)) {
        const found = lookFor(text, at, this.#markers);
        if (found === "maybe") break;
        if (found !== undefined) {
          const { word } = found;
          const end = at + (nexts.includes(word) ? word.search(/[^>)]/) : word.length);
          from = this.#pass(text, from, at);
          const isSure = this.#kept === undefined && consumer.isUnquoted === true;
          if (this.#context.isBlind || isSure || !this.#value.isQuoted) {
            consumer.end();
            this.state = "closed";
            return end;
          }
          if (this.#kept === undefined) {
            // What follows is passed on like the rest of the string, and also kept.
            from = this.#pass(text, from, end);
            this.#kept = new Kept();
          }
        }
      }
      if (code === OPEN && this.#kept !== undefined && this.#value.isQuoted) {
        from = this.#pass(text, from, at);
        // Its object would be read here, and once more behind the block.
        if (consumer.isUnquoted === true) {
          this.#isLost = true;
          return this.#pass(text, from, text.length);
        }
      }
      if (this.#endsWithLine && this.#value.isClosed) {
        const next = this.#nextAt(consumer, text, at);
        if (next === "maybe") break;
        if (next === undefined) {
          const end = endOfSequence(consumer, text, at);
          const line = this.#lineAt(text, end);
          if (line === undefined) break;
          this.#pass(text, from, at);
          this.#endLine(consumer, line);
          this.state = "closed";
          return end;
        }
        if (next > at) {
          at = next - 1;
          continue;
        }
      }
      if (code <= 32 && !this.#value.isQuoted) continue;
      if (this.#value.isClosed) {
        if (consumer.isSequence !== true && (code === OPEN || code === OPEN_LIST)) {
          from = this.#pass(text, from, at);
          consumer.second?.();
        }
        this.#value = new ValueEnd();
      }
      this.#value.see(code);
      if (this.#value.isClosed) this.#kept = undefined;
    }
    return this.#pass(text, from, at);
  }

  end(rest: string): string | undefined {
    const { isCall = isSome, isEndHidden } = this.#parts;
    const consumer = this.#consumer;
    if (consumer === undefined) {
      if (!isCall(rest)) return undefined;
      this.#writer.call().cut();
      this.state = "closed";
      return undefined;
    }
    const { isClosed } = this.#value;
    if (this.#endsWithLine && isClosed) {
      const behind = rest.slice(endOfSequence(consumer, rest, 0));
      this.#endLine(consumer, behind);
      return behind;
    }
    this.#pass(rest, 0, rest.length);
    // If the text was not cut off, the first marker in an unclosed string was the end after all.
    const behind = this.#context.isWhole ? this.#kept?.text : undefined;
    if (behind !== undefined) consumer.end();
    else if (isEndHidden !== true || !isClosed) consumer.cut();
    return behind;
  }

  /** Of what is closed, the next call or the end of the turn decides. */
  #endLine(consumer: JsonConsumer, behind: string): void {
    if (GOES_ON.test(behind)) consumer.second?.();
    else if (this.isPreface && behind.trim() !== "") consumer.followed?.();
    consumer.balanced?.();
  }

  /** @returns how far it has come: what may be a marker can begin inside the one that came in a string */
  #pass(text: string, from: number, until: number): number {
    if (until <= from) return from;
    const piece = text.slice(from, until);
    if (!this.#isLost) this.#consumer!.feed(piece);
    this.#kept?.add(piece);
    return until;
  }

  /** Where the next value of a sequence begins, or the mark that ends it; `undefined` if neither follows. */
  #nextAt(consumer: JsonConsumer, text: string, at: number): number | "maybe" | undefined {
    if (consumer.isSequence !== true) return undefined;
    const next = endOfSequence(consumer, text, at);
    const found = next === text.length ? "maybe" : lookFor(text, next, this.#markers);
    if (found === "maybe") return found;
    return found !== undefined || text[next] === "{" ? next : undefined;
  }

  /** The rest of a line, or the part of it before the next block; `undefined` while more of it may come. */
  #lineAt(text: string, at: number): string | undefined {
    const near = text.slice(at, at + MAX_HEAD);
    const ends = ["\n", ...(this.#parts.nexts ?? [])].map((word) => near.indexOf(word)).filter((end) => end >= 0);
    if (ends.length === 0 && near.length < MAX_HEAD) return undefined;
    return near.slice(0, Math.min(...ends, MAX_HEAD));
  }
}

/** Takes JSON that is the arguments of one call. */
export function argumentsOf(call: CallWriter): JsonConsumer {
  return {
    feed: (piece) => call.args(piece),
    second: () => call.unreadable(UNESCAPED),
    followed: () => call.unreadable(FOLLOWED),
    end: () => call.done(),
    cut: () => call.cut(),
  };
}

/** The same for a new call. */
export function namedCall(writer: BlockWriter, name: string, id?: string): JsonConsumer {
  const call = writer.call();
  call.name(name, id);
  return argumentsOf(call);
}

/** Why a call that no mark began is none. */
export const FOLLOWED = "text follows it on its line, as if it were only written about";

/** What no text begins with, and what no text has in it, but the rest of a string after such a quote. */
const GOES_ON = /^[ \t]*["',:;)\]{}\\]|["'][ \t]*[}\]]/;

/** The end of what may stand between the values of a sequence, and behind the last one. */
function endOfSequence({ isSequence }: JsonConsumer, text: string, from: number): number {
  return isSequence === true ? endOfGap(text, from, /[\s;,\]}]/) : from;
}

/** The end of whatever may separate two calls. */
export function endOfGap(text: string, from: number, signs = /[\s;,]/): number {
  let at = from;
  while (at < text.length && at - from < MAX_HEAD && signs.test(text[at]!)) at++;
  return at;
}

const OPEN = 123;
const OPEN_LIST = 91;

function isSome(rest: string): boolean {
  return rest.trim() !== "";
}
