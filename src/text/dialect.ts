import type { Conversation } from "../model.ts";
import type { JsonSchema } from "../schema/types.ts";
import type { Tool } from "../tool/tool.ts";
import type { Notation } from "./notation.ts";

/** A tool as a prompt describes it. */
export interface ToolDescription {
  /** As the model is to write it. */
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: JsonSchema;
}

/** A call as it goes back to the model that wrote it. */
export interface WrittenCall {
  readonly id: string | null;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** `undefined` where the turn knew none of this name. */
  readonly tool: Tool | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What came of a call, as text. */
export interface WrittenResult extends Omit<WrittenCall, "args" | "tool"> {
  readonly output: unknown;
  readonly isError: boolean;
}

/** A notation, and how its model is told of tools and results. */
export interface TextDialect extends Notation {
  /** The name under which the model knows a tool. */
  toolName(name: string): string;
  /** The part of the system prompt that describes the tools, and how they are called. */
  describe(tools: readonly ToolDescription[]): string;
  /** Calls as the model would have written them: for a history that another adapter has read. */
  writeCalls(calls: readonly WrittenCall[]): string;
  writeResults(results: readonly WrittenResult[]): string;
  /** How many results a message holds that {@link writeResults} wrote; 0 for any other. */
  countResults(message: string): number;
  /**
   * The marks that may have been a stop sequence: they end a block in which each call says by itself that it is whole.
   * None where the notation needs no such mark.
   */
  readonly ends: readonly string[];
  /** What the first results of a message have assigned to variables, in a notation that has them. */
  assigned?(message: string, count: number): Readonly<Record<string, unknown>>;
  /** Fills results into a call that refers to them, in a notation that has such calls. */
  readonly resolve?: Conversation["resolve"];
}

/** How often a mark stands in a text that begins with it. */
export function countOf(text: string, mark: string): number {
  return text.startsWith(mark) ? text.split(mark).length - 1 : 0;
}

/**
 * A result without the notation's own marks: what a tool has fetched must not end its block, or begin a call.
 * Each mark loses its first character to an entity.
 */
export function withoutMarks(text: string, marks: readonly string[]): string {
  let safe = text;
  for (const mark of marks) {
    if (safe.includes(mark)) safe = safe.replaceAll(mark, `&#${mark.charCodeAt(0)};${mark.slice(1)}`);
  }
  return safe;
}
