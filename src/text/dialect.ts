import type { FailedCall } from "../errors.ts";
import type { Conversation } from "../model.ts";
import type { JsonSchema } from "../schema/types.ts";
import type { Tool } from "../tool/tool.ts";
import type { Notation } from "./notation.ts";

/** A tool as described in a prompt. */
export interface ToolDescription {
  /** As the model should write it. */
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: JsonSchema;
}

/** What tells a call from others, as its model knows it. */
interface KnownCall {
  readonly id: string | null;
  readonly name: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A call as it goes back to the model that wrote it. */
export interface WrittenCall extends KnownCall {
  readonly args: Readonly<Record<string, unknown>>;
  /** `undefined` if the turn knew no tool of this name. */
  readonly tool: Tool | undefined;
}

/** The outcome of a call, to be written as text. */
export interface WrittenResult extends KnownCall {
  readonly output: unknown;
  readonly isError: boolean;
}

/** A notation, and how to tell its model about tools and results. */
export interface TextDialect extends Notation {
  /** The name under which the model knows a tool. */
  toolName(name: string): string;
  /** The part of the system prompt that describes the tools and how to call them. */
  describe(tools: readonly ToolDescription[]): string;
  /** Calls as the model would have written them, for a history that another adapter read. */
  writeCalls(calls: readonly WrittenCall[]): string;
  writeResults(results: readonly WrittenResult[]): string;
  /** The number of results in a message written by {@link writeResults}; 0 for any other message. */
  countResults(message: string): number;
  /**
   * The marks that may have been a stop sequence: they end a block in which each call shows that it is whole. Empty if
   * the notation needs no such mark.
   */
  readonly ends: readonly string[];
  /** The variables assigned by the first `count` results of a message, in a notation that has variables. */
  assigned?(message: string, count: number): Readonly<Record<string, unknown>>;
  /** Fills results into a call that refers to them, in a notation with such references. */
  readonly resolve?: Conversation["resolve"];
}

export function knownCall({ toolName }: TextDialect, { id, name, metadata }: FailedCall): KnownCall {
  return { id, name: toolName(name ?? "unnamed"), metadata };
}

/** How often a mark occurs in a text that begins with it; 0 if the text does not. */
export function countOf(text: string, mark: string): number {
  return text.startsWith(mark) ? text.split(mark).length - 1 : 0;
}

/**
 * A result without the notation's own marks: content that a tool fetched must not end its block, or begin a call. The
 * first character of each mark becomes an entity.
 */
export function withoutMarks(text: string, marks: readonly string[]): string {
  let safe = text;
  for (const mark of marks) {
    if (safe.includes(mark)) safe = safe.replaceAll(mark, `&#${mark.charCodeAt(0)};${mark.slice(1)}`);
  }
  return safe;
}
