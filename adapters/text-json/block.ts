import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../src/text/writer.ts";
import { UntilMarker } from "./until.ts";

/** Consumes the JSON of a block. */
export interface JsonConsumer {
  feed(piece: string): void;
  /** Another object or list begins after the closed one; without this method it counts as more of the same. */
  second?(): void;
  /** The model has ended the block. */
  end(): void;
  /** The text ended before the block did. */
  cut(): void;
}

export interface JsonBlockParts {
  /** Where the JSON begins; `more` while it is not known whether this is a block. */
  head(text: string, at: number): number | "more" | "none";
  /** Called once the block is known to be one. */
  begin(): JsonConsumer;
  /** What ends the block. */
  readonly ends: readonly string[];
  /** What can only begin the next block, and so ends this one too. */
  readonly nexts?: readonly string[];
  /** The end of the JSON is the end of the block, at once or at the next character; asked once it has begun. */
  readonly endsWith?: (() => "json" | "next") | undefined;
  readonly context: TextContext;
  /** Receives a call that was cut off before its head was complete. */
  readonly writer: BlockWriter;
}

/** A block made of a head, JSON and an end marker. */
export class JsonBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #parts: JsonBlockParts;
  readonly #until: UntilMarker;
  #consumer: JsonConsumer | undefined;

  constructor(parts: JsonBlockParts) {
    const { ends, nexts = [], endsWith, context } = parts;
    this.#parts = parts;
    this.#until = new UntilMarker({
      ends,
      nexts,
      endsWith,
      context,
      take: (piece) => this.#consumer!.feed(piece),
      second: () => this.#consumer!.second?.(),
    });
  }

  read(text: string, at: number): number {
    if (this.#consumer === undefined) {
      const begin = this.#parts.head(text, at);
      if (begin === "none") this.state = "none";
      if (typeof begin === "string") return at;
      this.state = "open";
      this.#consumer = this.#parts.begin();
      at = begin;
    }
    at = this.#until.read(text, at);
    if (this.#until.isOver) {
      this.#consumer.end();
      this.state = "closed";
    }
    return at;
  }

  end(rest: string): string | undefined {
    if (this.#consumer === undefined) {
      if (rest.trim() === "") return undefined;
      this.#parts.writer.call().cut();
      this.state = "closed";
      return undefined;
    }
    const behind = this.#until.end(rest);
    // An unclosed quote hid the end: the call was ended, and is broken.
    if (behind !== undefined) this.#consumer.end();
    else this.#consumer.cut();
    return behind;
  }
}

/** Consumes JSON that is the arguments of one call. */
export function argumentsOf(call: CallWriter): JsonConsumer {
  return {
    feed: (piece) => call.args(piece),
    second: () => call.unreadable(TWO_VALUES),
    end: () => call.done(),
    cut: () => call.cut(),
  };
}

/** Servers may send arguments again, but a text never does: which of the two is meant is unknown. */
export const TWO_VALUES = "it has two values for its arguments";
