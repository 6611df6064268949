import type { ParserSink } from "../adapter.ts";
import type { Reading } from "../read/index.ts";
import type { ToolChunk } from "../stream/chunk.ts";
import { isClean } from "../stream/finish-reason.ts";
import { resolveLimits } from "../stream/limits.ts";
import { toolList, type ToolSource } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";
import type { Notation, TextOptions } from "./notation.ts";
import { createScanner, type TextKnowledge } from "./scanner.ts";
import { splitThoughts } from "./thoughts.ts";
import { createWriter } from "./writer.ts";

/** A sink that finds calls in the text it is given. Call `end()` before the turn ends. */
export interface TextSink extends ParserSink {
  /** Whether the text so far ends in a block. */
  isInBlock(): boolean;
  end(): void;
}

export type ToolNames = Pick<Reading<unknown>, "toolName" | "namespaced">;

/**
 * A sink in front of another: text goes through the scanner of these notations, everything else is passed on unchanged.
 *
 * ```
 * parser -> text("…<tool_call>…") -> [scanner] -> text("…"), tool(chunk) -> the turn
 * ```
 */
export function textSink(
  sink: ParserSink,
  notations: readonly Notation[],
  { toolName, namespaced }: ToolNames,
  options: TextOptions = {},
): TextSink {
  const known = knownTools(toolName, options.tools);
  const nameOf = (written: string) => {
    const tool = known.get(written);
    return tool === undefined ? written : toolName(tool.name);
  };
  const context: TextKnowledge = {
    limits: resolveLimits(options.limits),
    variables: options.variables ?? {},
    tool: (name) => known.get(name) ?? known.get(namespaced?.exec(name)?.[1] ?? ""),
  };
  const said = { text: say, reasoning: (delta: string) => sink.reasoning(delta), tool: call };
  const text = createScanner(notations, createWriter(said, nameOf), context);
  const reasoning = plans();
  const thoughts = plans();
  const splitter = splitThoughts(
    (delta) => {
      sink.text(delta);
      thoughts.push(delta);
    },
    (delta) => text.push(delta),
  );
  /** The turn has said something besides its thoughts. */
  let hasSpoken = false;
  let isWhole = false;

  function say(delta: string): void {
    hasSpoken ||= /\S/.test(delta);
    sink.text(delta);
  }

  function call(chunk: ToolChunk): void {
    hasSpoken = true;
    sink.tool(chunk);
  }

  /** Finds the calls in thoughts, which have already been passed on unchanged. */
  function plans() {
    const calls: ToolChunk[] = [];
    const scanner = createScanner(
      notations,
      createWriter({ text() {}, reasoning() {}, tool: (chunk) => calls.push(chunk) }, nameOf),
      context,
    );
    return { ...scanner, calls };
  }

  return {
    start: (responseId, model) => sink.start(responseId, model),
    text: (delta) => splitter.push(delta),
    reasoning(delta) {
      sink.reasoning(delta);
      if (options.reasoning === true) reasoning.push(delta);
    },
    refusal(delta) {
      hasSpoken = true;
      sink.refusal(delta);
    },
    tool: call,
    providerTool: (made) => sink.providerTool(made),
    usage: (usage) => sink.usage(usage),
    finish(reason, providerReason, message) {
      isWhole = isClean(reason);
      sink.finish(reason, providerReason, message);
    },
    terminal: () => sink.terminal(),
    isInBlock: () => (splitter.isThinking() ? thoughts : text).isInBlock(),
    fail(error) {
      isWhole = false;
      // What was held back did arrive, and a failed turn accepts nothing more.
      end();
      sink.fail(error);
    },
    end,
  };

  /**
   * A call in the thoughts is usually a plan, which the answer carries out or drops: released as well, it would run
   * twice (PrimeIntellect-ai/renderers#80). If there is no other answer, it is the answer: some models end their turn
   * with it (sgl-project/sglang#11764, vllm-project/vllm#39056). In a turn that was cut off, one might still have come.
   */
  function end(): void {
    splitter.end();
    text.end(isWhole);
    thoughts.end(isWhole);
    reasoning.end(isWhole);
    // Servers that leave the thoughts in the text may also send them as reasoning.
    const planned = thoughts.calls.length > 0 ? thoughts.calls : reasoning.calls;
    if (!hasSpoken && isWhole) for (const chunk of planned) sink.tool(chunk);
    hasSpoken = true;
  }
}

function knownTools(toolName: (name: string) => string, tools: ToolSource | undefined): ReadonlyMap<string, Tool> {
  const list = tools === undefined ? [] : toolList(tools);
  const known = new Map<string, Tool>(list.map((tool) => [toolName(tool.name), tool]));
  // A model may also write a name as it was before it was fitted to the provider's charset.
  for (const tool of list) {
    for (const name of [tool.name, tool.qualifiedName]) if (!known.has(name)) known.set(name, tool);
  }
  return known;
}
