import type { ParserSink } from "../adapter.ts";
import { isClean } from "../stream/finish-reason.ts";
import { resolveLimits } from "../stream/limits.ts";
import { toolList } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";
import type { Notation, TextOptions } from "./notation.ts";
import { createScanner, type TextKnowledge, type TextScanner } from "./scanner.ts";
import { createWriter } from "./writer.ts";

/** A sink that finds calls in the text it is given. `end()` before the turn ends. */
export interface TextSink extends ParserSink {
  /** The text so far ends in a block. */
  isInBlock(): boolean;
  end(): void;
}

/**
 * A sink before another one: text goes through the scanner of these notations, all else goes on as it came.
 *
 * ```
 * parser -> text("…<tool_call>…") -> [scanner] -> text("…"), tool(chunk) -> the turn
 * ```
 */
export function textSink(
  sink: ParserSink,
  notations: readonly Notation[],
  toolName: (name: string) => string,
  options: TextOptions = {},
): TextSink {
  const context = contextOf(toolName, options);
  const writer = createWriter(sink, (written) => {
    const tool = context.tool(written);
    return tool === undefined ? written : toolName(tool.name);
  });
  const text = createScanner(notations, writer, context);
  let reasoning: TextScanner | undefined;
  let isWhole = false;
  if (options.reasoning === true) {
    const thoughts = { ...writer, text: (delta: string) => sink.reasoning(delta) };
    reasoning = createScanner(notations, thoughts, context);
  }
  return {
    start: (responseId, model) => sink.start(responseId, model),
    text: (delta) => text.push(delta),
    reasoning: (delta) => (reasoning === undefined ? sink.reasoning(delta) : reasoning.push(delta)),
    refusal: (delta) => sink.refusal(delta),
    tool: (chunk) => sink.tool(chunk),
    providerTool: (call) => sink.providerTool(call),
    usage: (usage) => sink.usage(usage),
    finish(reason, providerReason, message) {
      isWhole = isClean(reason);
      sink.finish(reason, providerReason, message);
    },
    terminal: () => sink.terminal(),
    isInBlock: () => text.isInBlock(),
    fail(error) {
      isWhole = false;
      // What was held back did come, and a turn that has failed takes nothing more.
      end();
      sink.fail(error);
    },
    end,
  };

  function end(): void {
    reasoning?.end(isWhole);
    text.end(isWhole);
  }
}

function contextOf(toolName: (name: string) => string, { tools, limits, variables = {} }: TextOptions): TextKnowledge {
  const list = tools === undefined ? [] : toolList(tools);
  const known = new Map<string, Tool>(list.map((tool) => [toolName(tool.name), tool]));
  // A model may also write a name as it was before the provider's charset was heeded.
  for (const tool of list) {
    for (const name of [tool.name, tool.qualifiedName]) if (!known.has(name)) known.set(name, tool);
  }
  return { limits: resolveLimits(limits), variables, tool: (name) => known.get(name) };
}
