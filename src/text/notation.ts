import type { Limits } from "../stream/limits.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";
import type { BlockWriter } from "./writer.ts";

/**
 * One way in which models write calls into their text: what a block begins with, and who reads it.
 *
 * ```
 * "Let me look. <tool_call>{…}</tool_call> Done."
 *               ^ marker   ^ block reader, to its end
 * ```
 */
export interface Notation {
  readonly name: string;
  /** What a block begins with. Text is held back no longer than the longest of them. */
  readonly markers: readonly string[];
  /** Those of the markers that begin a block only where the text begins: elsewhere nothing waits for them. */
  readonly leading?: readonly string[];
  /** Begins one text. What it keeps from block to block is in the closure. */
  start(writer: BlockWriter, context: TextContext): (marker: string) => BlockReader;
  /** Its marks in the arguments of calls that a server has read. */
  readonly leaks?: Leaks;
}

/** What a server may leave of a notation in the arguments of a call. */
export interface Leaks {
  /** What it begins with. */
  readonly marks: readonly string[];
  /**
   * What is to stand in place of `rest`, which begins with a mark, behind what came before it; `undefined` where that is
   * not certain.
   */
  readonly mend: (before: string, rest: string) => string | undefined;
}

/** Reads one block, from behind its marker on. */
export interface BlockReader {
  /**
   * - `head`: it is not known yet whether this is a block. Nothing has been said, nothing was taken
   * - `none`: it is not. The text goes to the next notation that has the marker, or to the reader
   * - `open`, `closed`: it is one
   */
  readonly state: "head" | "none" | "open" | "closed";
  /**
   * Reads on from `at`, and returns how far it came: what is left comes again. Who does not come on has more behind it
   * then; it is no longer than a marker, or than a head.
   */
  read(text: string, at: number): number;
  /**
   * The text is over, with this behind what was taken. Whoever has begun a call says that it was cut.
   *
   * @returns what turned out to stand behind the block, to be read once more, with `context.isBlind`
   */
  end(rest: string): string | undefined;
}

/** What a reader may ask about the text that it reads. */
export interface TextContext {
  /** The tool of a name that the model wrote; `undefined` where it is none, or where nobody knows the tools. */
  tool(name: string): Tool | undefined;
  readonly limits: Limits;
  /** Values that the model may refer to by their names, in notations that have names. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** At the end: the text was not cut. */
  readonly isWhole: boolean;
  /** A quote that nobody closed has hidden the end of a block: now every end counts, in strings too. */
  readonly isBlind: boolean;
}

/** What is needed to read calls from a text. */
export interface TextOptions {
  readonly tools?: ToolSource | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** Values that the model may refer to by their names, where the notation has names: results of earlier turns. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Look for calls in what comes as reasoning, too. Default `false`. They count only in a turn that says nothing else and
   * was not cut: then they are handed out at its end. It is the same with a `<think>` that the text begins with, always.
   */
  readonly reasoning?: boolean | undefined;
  /**
   * The end mark that was a stop sequence of the request, so that the server has cut it off. Where a text ends in a block
   * and the finish reason is `stop`, it is read, and goes back, as if the mark stood there. A model that fell silent in
   * the middle looks the same: what it had written by then runs, if it can be read. Default: none.
   */
  readonly stop?: string | undefined;
}

/** Longer than any head that has been seen: a marker, a name, some white space. */
export const MAX_HEAD = 256;
