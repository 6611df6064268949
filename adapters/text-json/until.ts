import { lookFor } from "../../src/text/look.ts";
import type { TextContext } from "../../src/text/notation.ts";
import { ValueEnd } from "./value.ts";

/** How much of what follows an end marker in a string is kept. */
const MAX_KEPT = 1_048_576;

const OPEN = 123;
const OPEN_LIST = 91;
/** What no text begins with, but the rest of a string in which an unescaped quote has let a bracket end the JSON. */
const REST = /["',:;)\]{}\\]/;

/** How many blanks may stand before such a character. */
const MAX_GAP = 64;

export interface UntilParts {
  readonly ends: readonly string[];
  /** What begins something else, and is left unread. */
  readonly nexts: readonly string[];
  /** The end of the JSON also counts as an end: at once, or once the next character shows that it is the end. */
  readonly endsWith?: (() => "json" | "next") | undefined;
  readonly context: TextContext;
  take(piece: string): void;
  /** An object or a list follows a closed value, or what seems to be more of it. */
  second(): void;
}

/**
 * Reads JSON up to a marker. A marker inside a string of the JSON is text of that string.
 *
 * With a broken quote, that would swallow everything else. So what follows the first end marker in a string, or begins
 * with the first `nexts` marker in one, is kept, and given back if no other end comes. If the value is closed after it,
 * no quote was broken.
 */
export class UntilMarker {
  /** An end was found. */
  isOver = false;
  readonly #parts: UntilParts;
  readonly #markers: readonly string[];
  readonly #firsts: ReadonlySet<number>;
  #value = new ValueEnd();
  #kept: string[] | undefined;
  #keptLength = 0;

  constructor(parts: UntilParts) {
    this.#parts = parts;
    this.#markers = [...parts.ends, ...parts.nexts];
    this.#firsts = new Set(this.#markers.map((marker) => marker.charCodeAt(0)));
  }

  /** Whether the first value has been closed. */
  get isClosed(): boolean {
    return this.#value.isClosed;
  }

  /** @returns how far it got: past the end if {@link isOver} is set */
  read(text: string, from: number): number {
    const { nexts, context, second } = this.#parts;
    const last = this.#parts.endsWith?.();
    let at = from;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#firsts.has(code)) {
        const found = lookFor(text, at, this.#markers);
        if (found === "maybe") break;
        if (found !== undefined) {
          const end = nexts.includes(found.word) ? at : at + found.word.length;
          if (context.isBlind || !this.#value.isQuoted) return this.#end(text.slice(from, at), end);
          if (this.#kept === undefined && this.#keptLength === 0) {
            // What follows is passed on like the rest of the string, and also kept.
            this.#pass(text.slice(from, end));
            from = end;
            this.#kept = [];
          }
        }
      }
      if (last === "next" && this.#value.isClosed) {
        const next = /[^ \t]/.exec(text.slice(at, at + MAX_GAP))?.[0];
        if (next === undefined && text.length < at + MAX_GAP) break;
        if (next !== undefined && REST.test(next)) second();
        return this.#end(text.slice(from, at), at);
      }
      if (code <= 32 && !this.#value.isQuoted) continue;
      if (this.#value.isClosed) {
        if (code === OPEN || code === OPEN_LIST) {
          this.#pass(text.slice(from, at));
          from = at;
          second();
        }
        this.#value = new ValueEnd();
      }
      this.#value.see(code);
      if (!this.#value.isClosed) continue;
      this.#forget();
      if (last === "json") return this.#end(text.slice(from, at + 1), at + 1);
    }
    this.#pass(text.slice(from, at));
    return at;
  }

  #end(piece: string, at: number): number {
    this.#pass(piece);
    this.isOver = true;
    return at;
  }

  /**
   * The text is over before a marker came. If it was not cut off, the first marker in an unclosed string was the end
   * after all.
   *
   * @returns what follows that marker
   */
  end(rest: string): string | undefined {
    if (this.#value.isClosed && this.#parts.endsWith?.() === "next") return rest;
    this.#pass(rest);
    return this.#parts.context.isWhole ? this.#kept?.join("") : undefined;
  }

  #forget(): void {
    this.#kept = undefined;
    this.#keptLength = 0;
  }

  #pass(piece: string): void {
    if (piece === "") return;
    this.#parts.take(piece);
    if (this.#kept === undefined) return;
    this.#keptLength += piece.length;
    this.#kept.push(piece);
    // Too much to read again: then all of it belongs to this block.
    if (this.#keptLength > MAX_KEPT) this.#kept = undefined;
  }
}
