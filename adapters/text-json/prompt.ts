import { outputText } from "../../src/stream/history.ts";
import {
  countOf,
  withoutMarks,
  type TextDialect,
  type ToolDescription,
  type WrittenResult,
} from "../../src/text/dialect.ts";

/** All notations write names the same way. */
export type JsonDialect = Omit<TextDialect, "toolName">;

/** What a prompt says about the tools, with or without a tag around them. */
export function offer(tools: readonly ToolDescription[], tag?: string): string {
  const lines = toolLines(tools);
  return `You can call these functions. Each line describes one of them, with its parameters as a JSON Schema:

${tag === undefined ? lines : `<${tag}>\n${lines}\n</${tag}>`}`;
}

function outcomeOf({ output, isError }: WrittenResult): string {
  return outputText(isError ? { error: output } : output);
}

/** What stands around each result. */
interface ResultParts {
  readonly open: string;
  readonly close: string;
  /** What no result has in it, besides these two. */
  readonly marks: readonly string[];
  readonly separator?: string;
  /** What follows `open`. */
  head?(result: WrittenResult, index: number): string;
  textOf?(result: WrittenResult): string;
}

/** As several models know it from their training. */
export const TOOL_RESPONSE = { open: "<tool_response>\n", close: "\n</tool_response>", separator: "\n" } as const;

export function results({
  open,
  close,
  marks,
  separator = "",
  head = () => "",
  textOf = outcomeOf,
}: ResultParts): Pick<TextDialect, "countResults" | "writeResults"> & { readonly resultMarks: readonly string[] } {
  const own = [close.trim(), open.trim(), ...marks].filter((mark) => mark !== "");
  const written = (result: WrittenResult, index: number) =>
    open + head(result, index) + withoutMarks(textOf(result), own) + close;
  return {
    resultMarks: [open.trim()],
    countResults: (message) => countOf(message, open),
    writeResults: (list) => list.map(written).join(separator),
  };
}

/** The tools as models with tool calling have seen them in training: one JSON object per line. */
export function toolLines(tools: readonly ToolDescription[]): string {
  return tools.map((tool) => JSON.stringify({ type: "function", function: tool })).join("\n");
}
