import type { ParserSink } from "../adapter.ts";
import type { Reading } from "../read/index.ts";
import type { ToolChunk } from "../stream/chunk.ts";
import { isClean } from "../stream/finish-reason.ts";
import { resolveLimits } from "../stream/limits.ts";
import { toolsByEachName } from "../tool/tool-set.ts";
import { holdingSink, MAX_HELD, type HoldingSink } from "./held.ts";
import type { Notation, TextOptions } from "./notation.ts";
import { createScanner, type TextKnowledge } from "./scanner.ts";
import { splitThoughts, thoughtTags } from "./thoughts.ts";
import { createWriter, UNESCAPED, type TextWriter } from "./writer.ts";

/** A sink that finds calls in the text it is given. Call `end()` before the turn ends. */
export interface TextSink extends HoldingSink {
  /** Whether the text so far ends in a block. */
  isInBlock(): boolean;
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
  const known = toolsByEachName(options.tools ?? [], toolName);
  const nameOf = (written: string) => {
    const tool = known.get(written);
    return tool === undefined ? written : toolName(tool.name);
  };
  const context: TextKnowledge = {
    limits: resolveLimits(options.limits),
    variables: options.variables ?? {},
    tool: (name) => known.get(name) ?? known.get(namespaced?.exec(name)?.[1] ?? ""),
  };
  const said = { text: say, reasoning: (delta: string) => sink.reasoning(delta), tool: write };
  const writer = createWriter(said, nameOf);
  const text = createScanner([...notations, madeUpResults(notations, writer), thoughtTags(onTag)], writer, context);
  let reasoning: ReturnType<typeof plans> | undefined;
  let thoughts: ReturnType<typeof plans> | undefined;
  const splitter = splitThoughts(
    (delta) => {
      sink.text(delta);
      (thoughts ??= plans()).push(delta);
    },
    (delta) => text.push(delta),
    options.thinking,
  );
  /** The text has said something besides its thoughts. */
  let hasSpoken = false;
  /** The same at the last tag: what came since may turn out to be thoughts. */
  let hadSpoken = false;
  let hadStage = writer.stage;
  /** The turn has a call of the wire, or a refusal. */
  let hasOther = false;
  /** The turn has ended well, as far as is known. */
  let isWhole = false;
  let hasReason = false;
  /** Calls of the wire, behind calls in the text that are not reported yet: they may be echoes of those. */
  let waiting: ToolChunk[] = [];
  let waitingLength = 0;
  /** The calls in the text since thoughts may have begun, and those that turned out to be in them. */
  let recent: ToolChunk[] = [];
  const planned: ToolChunk[] = [];
  /** The last call in the text, and what was said behind it. */
  let last: ToolChunk | undefined;
  let behind = "";

  function say(delta: string): void {
    hasSpoken ||= /\S/.test(delta);
    if (last !== undefined) behind += delta;
    sink.text(delta);
  }

  /** Text that ends as a call's JSON does is its rest: a quote that is not escaped has ended the call too early. */
  function checkBehind(): void {
    const isRest = /["']\s*[}\]]+\s*$/.test(behind) && closes(behind);
    if (isRest) sink.tool({ ...last, error: UNESCAPED, errorType: "unreadable" });
    behind = "";
  }

  function write(chunk: ToolChunk): void {
    hasSpoken = true;
    const { turnIndex, callIndex } = chunk;
    if (behind !== "") checkBehind();
    if (last?.callIndex !== callIndex) last = { turnIndex, callIndex };
    if (recent.at(-1)?.callIndex !== callIndex) recent.push({ turnIndex, callIndex });
    sink.tool(chunk);
  }

  function onTag(tag: string, isEnd: boolean): void {
    sink.text(tag);
    if (isEnd) {
      planned.push(...recent);
      hasSpoken = hadSpoken;
      writer.stage = hadStage;
    }
    hadSpoken = hasSpoken;
    hadStage = writer.stage;
    recent = [];
  }

  function call(chunk: ToolChunk): void {
    hasOther = true;
    if (text.holdsCalls() && waitingLength <= MAX_HELD) {
      waiting.push(chunk);
      waitingLength += chunk.argsTextDelta?.length ?? 0;
      return;
    }
    if (waiting.length > 0) passOn();
    sink.tool(chunk);
  }

  function passOn(): void {
    const chunks = waiting;
    waiting = [];
    for (const chunk of chunks) sink.tool(chunk);
  }

  /** Finds the calls in thoughts, which have already been passed on unchanged. */
  function plans() {
    const calls: ToolChunk[] = [];
    const quiet = createWriter({ text() {}, reasoning() {}, tool: (chunk) => calls.push(chunk) }, nameOf);
    return { ...createScanner([...notations, madeUpResults(notations, quiet)], quiet, context), calls };
  }

  return {
    ...holdingSink(sink, {
      tool: call,
      end,
      giveUp() {
        isWhole = false;
        end();
      },
    }),
    text: (delta) => splitter.push(delta),
    reasoning(delta) {
      sink.reasoning(delta);
      if (options.reasoning === true) (reasoning ??= plans()).push(delta);
    },
    refusal(delta) {
      hasOther = true;
      sink.refusal(delta);
    },
    finish(reason, providerReason, message) {
      // As in the turn: an unknown word does not override a known one, and a turn without any word ended well.
      if (reason !== "unknown" || (providerReason && !hasReason)) {
        isWhole = isClean(reason);
        hasReason = true;
      } else isWhole ||= !hasReason;
      sink.finish(reason, providerReason, message);
    },
    terminal() {
      isWhole ||= !hasReason;
      sink.terminal();
    },
    isInBlock: () => (splitter.isThinking() ? thoughts : text)?.isInBlock() === true,
  };

  /**
   * A call in the thoughts is usually a plan, which the answer carries out or drops: released as well, it would run
   * twice (PrimeIntellect-ai/renderers#80). If there is no other answer, it is the answer: some models end their turn
   * with it (sgl-project/sglang#11764, vllm-project/vllm#39056). In a turn that was cut off, one might still have come.
   */
  function end(): void {
    splitter.end();
    text.end(isWhole);
    checkBehind();
    passOn();
    thoughts?.end(isWhole);
    reasoning?.end(isWhole);
    if (hasOther || hasSpoken || !isWhole) {
      for (const label of planned) sink.tool({ ...label, error: "it is in the thoughts", errorType: "withdrawn" });
    } else if (planned.length === 0) {
      // Servers that leave the thoughts in the text may also send them as reasoning.
      const plan = [thoughts, reasoning].find((one) => one !== undefined && one.calls.length > 0);
      for (const chunk of plan?.calls ?? []) sink.tool(chunk);
    }
    hasOther = true;
    planned.length = 0;
  }
}

/** Whether it closes more brackets than it opens. */
function closes(text: string): boolean {
  return text.split(/[}\]]/).length > text.split(/[{[]/).length;
}

/**
 * Notices the results that a model makes up to go on with its calls (anthropics/claude-code#71806,
 * NousResearch/hermes-agent#83379). They stay text.
 */
function madeUpResults(notations: readonly Notation[], writer: TextWriter): Notation {
  return {
    markers: notations.flatMap(({ resultMarks = [] }) => resultMarks),
    start: () => () => {
      if (writer.stage === "call") writer.stage = "result";
      return { state: "none", read: (_, at) => at, end: () => undefined };
    },
  };
}
