import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { CallWriter } from "../../src/text/writer.ts";
import { UntilMarker } from "./until.ts";

/** Who takes the JSON of a block. */
export interface JsonConsumer {
  feed(piece: string): void;
  /** The model has ended the block. */
  end(): void;
  /** The text ended before the block did. */
  cut(): void;
}

export interface JsonBlockParts {
  /** Where the JSON begins; `more` while it is not known whether this is a block. */
  head(text: string, at: number): number | "more" | "none";
  /** Made when the block is known to be one. */
  begin(): JsonConsumer;
  /** What ends the block. */
  readonly ends: readonly string[];
  /** What can only be the next block, and ends this one too. */
  readonly nexts?: readonly string[];
  readonly context: TextContext;
  /** A call that was cut before its head was whole. */
  cutHead(rest: string): void;
}

/** A block that is a head, JSON and an end marker. */
export function jsonBlock(parts: JsonBlockParts): BlockReader {
  const { nexts = [], context } = parts;
  let consumer: JsonConsumer | undefined;
  const until = new UntilMarker([...parts.ends, ...nexts], (piece) => consumer!.feed(piece), context);
  let state: BlockReader["state"] = "head";
  return {
    get state() {
      return state;
    },
    read(text, at) {
      if (consumer === undefined) {
        const begin = parts.head(text, at);
        if (begin === "none") state = "none";
        if (typeof begin === "string") return at;
        state = "open";
        consumer = parts.begin();
        at = begin;
      }
      at = until.read(text, at);
      if (until.found === undefined) return at;
      consumer.end();
      state = "closed";
      return nexts.includes(until.found) ? at - until.found.length : at;
    },
    end(rest) {
      if (consumer === undefined) {
        if (rest.trim() === "") return undefined;
        parts.cutHead(rest);
        state = "closed";
        return undefined;
      }
      const behind = until.end(rest);
      // The end was hidden by a quote that is not closed: the call was ended, and is broken.
      if (behind !== undefined) consumer.end();
      else consumer.cut();
      return behind;
    },
  };
}

/** Takes JSON that is the arguments of one call. */
export function argumentsOf(call: CallWriter): JsonConsumer {
  return { feed: (piece) => call.args(piece), end: () => call.done(), cut: () => call.cut() };
}
