import { find, lookFor, skipSpace } from "../../src/text/look.ts";
import type { BlockReader, Notation } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { JsonBlock, type Head } from "./block.ts";

/** A notation of sections of calls, in which each call has marks of its own, and may stand without a section. */
export interface SectionParts {
  /** What begins a section, and what ends one. */
  readonly sections: readonly string[];
  readonly sectionEnds: readonly string[];
  /** What begins a call, and what ends one. */
  readonly begins: readonly string[];
  readonly ends: readonly string[];
  head(text: string, at: number): Head | "maybe" | "none";
  /** What follows the name of a call. */
  readonly separator: string;
}

export function sectionNotation(parts: SectionParts): Pick<Notation, "markers" | "start"> {
  const { sections, sectionEnds, begins, ends, head } = parts;
  return {
    markers: [...sections, ...begins],
    start(writer, context) {
      const nexts = [...begins, ...sectionEnds];
      const call = () => new JsonBlock({ head, ends, nexts }, writer, context);
      return (marker) => (begins.includes(marker) ? call() : new Section(parts, nexts, call, writer));
    },
  };
}

/** Calls with their own marks, separated by white space only. Without a call, the section's mark is text. */
class Section implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #parts: SectionParts;
  /** What may follow a call. */
  readonly #nexts: readonly string[];
  /** Reads one call, starting after its mark. */
  readonly #callReader: () => BlockReader;
  readonly #writer: BlockWriter;
  #call: BlockReader | undefined;
  /** Everything up to the end of the call is ignored. */
  #isStrange = false;

  constructor(parts: SectionParts, nexts: readonly string[], callReader: () => BlockReader, writer: BlockWriter) {
    this.#parts = parts;
    this.#nexts = nexts;
    this.#callReader = callReader;
    this.#writer = writer;
  }

  read(text: string, from: number): number {
    const { begins, ends, separator } = this.#parts;
    for (let at = from; ;) {
      if (this.#call !== undefined) {
        at = this.#call.read(text, at);
        const { state } = this.#call;
        if (state === "open" || state === "head") return at;
        this.#isStrange = state === "none";
        if (this.#isStrange) this.#writer.call().unreadable(`it does not begin with a name and ${separator}`);
        this.#call = undefined;
      }
      if (this.#isStrange) {
        const end = find(text, at, [...ends, ...this.#nexts]);
        if (end.word === undefined) return end.at;
        this.#isStrange = false;
        at = ends.includes(end.word) ? end.at + end.word.length : end.at;
      }
      at = skipSpace(text, at);
      const next = lookFor(text, at, this.#nexts);
      if (next === "maybe") return this.state === "head" ? from : at;
      if (next === undefined && this.state === "head") {
        this.state = "none";
        return from;
      }
      if (next !== undefined && begins.includes(next.word)) {
        this.state = "open";
        this.#call = this.#callReader();
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
    if (this.#call?.state === "head" && rest.trim() === "") this.#writer.call().cut();
    return this.#call?.end(rest);
  }
}
