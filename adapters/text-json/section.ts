import { find, lookFor, skipSpace } from "../../src/text/look.ts";
import type { BlockReader } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";

export interface SectionParts {
  /** What begins a call, and what ends one. */
  readonly begins: readonly string[];
  readonly ends: readonly string[];
  /** What ends the section. */
  readonly sectionEnds: readonly string[];
  /** Reads one call, starting after its mark. */
  call(): BlockReader;
  /** Why a mark followed by something else is not a call. */
  readonly strange: string;
  readonly writer: BlockWriter;
}

/** Calls with their own marks, separated by white space only. Without a call, the section's mark is text. */
export class Section implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #parts: SectionParts;
  readonly #next: readonly string[];
  #call: BlockReader | undefined;
  /** Everything up to the end of the call is ignored. */
  #isStrange = false;

  constructor(parts: SectionParts) {
    this.#parts = parts;
    this.#next = [...parts.begins, ...parts.sectionEnds];
  }

  read(text: string, from: number): number {
    const { begins, ends, writer, call, strange } = this.#parts;
    for (let at = from; ;) {
      if (this.#call !== undefined) {
        at = this.#call.read(text, at);
        const { state } = this.#call;
        if (state === "open" || state === "head") return at;
        this.#isStrange = state === "none";
        if (this.#isStrange) writer.call().unreadable(strange);
        this.#call = undefined;
      }
      if (this.#isStrange) {
        const end = find(text, at, [...ends, ...this.#next]);
        if (end.word === undefined) return end.at;
        this.#isStrange = false;
        at = ends.includes(end.word) ? end.at + end.word.length : end.at;
      }
      at = skipSpace(text, at);
      const next = lookFor(text, at, this.#next);
      if (next === "maybe") return this.state === "head" ? from : at;
      if (next === undefined && this.state === "head") {
        this.state = "none";
        return from;
      }
      if (next !== undefined && begins.includes(next.word)) {
        this.state = "open";
        this.#call = call();
        at += next.word.length;
        continue;
      }
      // The section has ended, or something else has begun.
      this.state = "closed";
      return next === undefined ? at : at + next.word.length;
    }
  }

  end(rest: string): string | undefined {
    // Only the mark of the call has come.
    if (this.#call?.state === "head" && rest.trim() === "") this.#parts.writer.call().cut();
    return this.#call?.end(rest);
  }
}
