import type { GivenLimits, Limits } from "../stream/limits.ts";
import type { OptionNames } from "../tool/option-names.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";
import type { BlockWriter } from "./writer.ts";

/**
 * One way in which models write calls into their text: what a block begins with, and what reads it.
 *
 * ```
 * "Let me look. <tool_call>{…}</tool_call> Done."
 *               ^ marker   ^ block reader, to its end
 * ```
 *
 * Every rule about calls in text follows from one of these. A call runs only if
 *
 * - the model says it rather than quotes it: its marker is outside code and quotes, or, without a marker, it is all that
 *   the answer begins with; and it is not in thoughts that an answer follows
 * - what follows the marker can only be a call (the head of a block)
 * - the model has ended it: by an end mark outside the strings of its arguments or, if the notation has none or servers
 *   hide it, by closed arguments and a clean end of the turn
 * - it does not follow from a result that the model made up
 * - it cannot have ended elsewhere: if a quote or a value has no certain end, it is an error, and what follows is read
 */
export interface Notation {
  /** What a block begins with. No more text is held back than the longest of them. */
  readonly markers: readonly string[];
  /** The markers that begin a block only at the beginning of the text: elsewhere nothing is held back for them. */
  readonly leading?: readonly string[];
  /**
   * What the result of a tool begins with, where nothing else does. A model that writes one behind a call of its own has
   * made it up, and what it says then rests on that.
   */
  readonly resultMarks?: readonly string[];
  /** Begins one text. The closure holds any state kept from block to block. */
  start(writer: BlockWriter, context: TextContext): (marker: string) => BlockReader;
  /** Its marks in the arguments of calls that a server has parsed. */
  readonly leaks?: Leaks;
}

/** Remains of a notation that a server may leave in the arguments of a call. */
export interface Leaks {
  /** What they begin with. */
  readonly marks: readonly string[];
  /**
   * The replacement for `rest`, which begins with a mark and follows `before`; `undefined` if it is not certain what
   * was meant.
   */
  readonly mend: (before: string, rest: string) => string | undefined;
}

/** Reads one block, starting after its marker. */
export interface BlockReader {
  /**
   * - `head`: it is not known yet whether this is a block. Nothing was emitted or consumed
   * - `none`: it is not. The text goes to the next notation that has the marker, or is plain text
   * - `open`, `closed`: it is one
   */
  readonly state: "head" | "none" | "open" | "closed";
  /** What follows the block is the beginning of an answer. */
  readonly isPreface?: boolean;
  /** Its calls are reported only when it is over. */
  readonly holdsCalls?: boolean;
  /**
   * Reads on from `at` and returns how far it got: the rest is passed again, followed by more text. That rest is never
   * longer than a marker or a head.
   */
  read(text: string, at: number): number;
  /**
   * The text is over, with `rest` left unconsumed. A reader that has begun a call reports it as cut off;
   * one that is still a head has read nothing.
   *
   * @returns what turned out to follow the block, to be read once more, with `context.isBlind`
   */
  end(rest: string): string | undefined;
}

/** A mark that is a block by itself. */
export function markAlone(isPreface: boolean): BlockReader {
  return { state: "closed", isPreface, read: (_, at) => at, end: () => undefined };
}

/** What a reader may ask about the text it reads. */
export interface TextContext {
  /** The tool with a name that the model wrote; `undefined` if there is none, or if the tools are unknown. */
  tool(name: string): Tool | undefined;
  readonly limits: Limits;
  /** Values that the model may refer to by name, in notations that have variables. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Set at the end: the text was not cut off. */
  readonly isWhole: boolean;
  /** An unclosed quote has hidden the end of a block: now every end counts, even in strings. */
  readonly isBlind: boolean;
}

/** How to read calls from a text. */
export interface TextOptions {
  readonly tools?: ToolSource | undefined;
  readonly limits?: GivenLimits | undefined;
  /** Values that the model may refer to by name, if the notation has variables: results of earlier turns. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Look for calls in the reasoning, too. Default `false`. They count only in a turn that says nothing else and was not
   * cut off, and are released at its end. A `<think>` at the beginning of the text is always treated this way.
   */
  readonly reasoning?: boolean | undefined;
  /**
   * The prompt ended with the tag that begins the thoughts (`<think>`), so the text begins inside them. Default `false`:
   * calls before a lone `</think>` are taken back, but those with effect `read` may already have run.
   */
  readonly thinking?: boolean | undefined;
  /**
   * The end mark that was a stop sequence of the request, so that the server cut it off. If a text ends inside a block
   * and the finish reason is `stop`, it is read, and goes back, as if the mark were there. A model that stopped in the
   * middle looks the same: what it had written by then runs, if it can be read. Default: none.
   */
  readonly stop?: string | undefined;
}

/** Those that only text has. */
export const TEXT_OPTIONS: OptionNames<Omit<TextOptions, "tools" | "limits">> = {
  variables: true,
  reasoning: true,
  thinking: true,
  stop: true,
};

/** Longer than any head seen so far: a marker, a name, some white space. */
export const MAX_HEAD = 256;
