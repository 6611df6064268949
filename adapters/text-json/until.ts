import { lookFor } from "../../src/text/look.ts";
import type { TextContext } from "../../src/text/notation.ts";
import { ValueEnd } from "./value.ts";

/** More of what stands behind the end marker in a string is not kept. */
const MAX_KEPT = 1_048_576;

const OPEN = 123;
const OPEN_LIST = 91;

/**
 * Reads JSON up to a marker. A marker inside a string of the JSON is text of that string.
 *
 * Where a quote is broken, that would swallow all the rest; so what stands behind the first marker in a string is kept,
 * and given back if no other end comes. Where the value is closed after it, no quote was broken.
 */
export class UntilMarker {
  /** The marker that was found. */
  found: string | undefined;
  readonly #markers: readonly string[];
  readonly #firsts: ReadonlySet<number>;
  readonly #take: (piece: string) => void;
  readonly #context: TextContext;
  readonly #onSecond: () => void;
  #value = new ValueEnd();
  #kept: string[] | undefined;
  #keptLength = 0;

  /** @param onSecond is told of an object or a list behind a value that was closed */
  constructor(markers: readonly string[], take: (piece: string) => void, context: TextContext, onSecond: () => void) {
    this.#markers = markers;
    this.#firsts = new Set(markers.map((marker) => marker.charCodeAt(0)));
    this.#take = take;
    this.#context = context;
    this.#onSecond = onSecond;
  }

  /** Whether the first value has been closed. */
  get isClosed(): boolean {
    return this.#value.isClosed;
  }

  /** @returns how far it came: behind the marker when `found` is set */
  read(text: string, from: number): number {
    let at = from;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#firsts.has(code)) {
        const word = lookFor(text, at, this.#markers);
        if (word === "maybe") break;
        if (word !== undefined && (this.#context.isBlind || !this.#value.isQuoted)) {
          this.#pass(text.slice(from, at));
          this.found = word.word;
          return at + word.word.length;
        }
        if (word !== undefined && this.#kept === undefined && this.#keptLength === 0) {
          // What stands behind it is passed on like the rest of the string, and kept, too.
          const end = at + word.word.length;
          this.#pass(text.slice(from, end));
          from = end;
          this.#kept = [];
        }
      }
      if (code <= 32 && !this.#value.isQuoted) continue;
      if (this.#value.isClosed) {
        if (code === OPEN || code === OPEN_LIST) {
          this.#pass(text.slice(from, at));
          from = at;
          this.#onSecond();
        }
        this.#value = new ValueEnd();
      }
      this.#value.see(code);
      if (this.#value.isClosed) this.#forget();
    }
    this.#pass(text.slice(from, at));
    return at;
  }

  /**
   * The text is over before a marker came. Where it was not cut, the first marker in a string that nobody closed was the
   * end after all: what stands behind it.
   */
  end(rest: string): string | undefined {
    this.#pass(rest);
    return this.#context.isWhole ? this.#kept?.join("") : undefined;
  }

  #forget(): void {
    this.#kept = undefined;
    this.#keptLength = 0;
  }

  #pass(piece: string): void {
    if (piece === "") return;
    this.#take(piece);
    if (this.#kept === undefined) return;
    this.#keptLength += piece.length;
    this.#kept.push(piece);
    // Too much to be read again: then all of it belongs to this block.
    if (this.#keptLength > MAX_KEPT) this.#kept = undefined;
  }
}
