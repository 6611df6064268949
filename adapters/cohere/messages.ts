// See index.ts.
/** @ts-ignore */
import type { Cohere } from "cohere-ai";
import type { FailedCall } from "../../src/errors.ts";
import type { ToolCall } from "../../src/stream/call.ts";
import type { Turn } from "../../src/stream/events.ts";
import { wellFormed, wellFormedTurn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { answers, historyArguments, onlySaid, outputText, recordOf, wireId } from "../../src/stream/history.ts";
import { toolName } from "./schema.ts";
import type { CohereContent, CohereNative } from "./wire.ts";

/**
 * The turn as the message that goes back, in the SDK's spelling: one, or none for a turn in which nothing came. Plan,
 * thinking, citations and ids are as they came; every call is included, since every call gets a result. Text next to
 * calls becomes part of the plan, a plan without calls becomes text.
 */
export const assistantMessage = (turn: Turn): Cohere.ChatMessageV2[] => {
  const none = { toolPlan: "", content: [], citations: [] };
  const { toolPlan, content: recorded, citations } = recordOf<CohereNative>(turn, "toolPlan", none);
  // Calls with another turn index do not come from the wire: they were found in its text.
  const said = turn.calls.some(({ turnIndex }) => turnIndex !== 0) ? onlySaid(recorded, turn.text) : recorded;
  if (toolPlan === "" && said.length === 0 && turn.calls.length === 0) return [];
  // A plan without a call goes back as text: models are shown a plan only together with calls.
  // https://huggingface.co/CohereLabs/c4ai-command-r7b-12-2024/blob/main/tokenizer_config.json
  const isPlan = turn.calls.length > 0;
  const plan = isPlan ? [toolPlan] : [];
  const content: CohereContent[] = isPlan || toolPlan === "" ? [] : [{ type: "text", text: toolPlan }];
  for (const block of said) {
    // "text content is not allowed when tool_calls are provided": https://github.com/vercel/ai/issues/5794
    if (isPlan && block.type === "text") plan.push(block.text);
    else content.push({ ...block });
  }
  const planned = plan.filter((text) => text !== "").join("\n");
  return wellFormedTurn<Cohere.ChatMessageV2[]>([
    {
      role: "assistant",
      ...(planned !== "" && { toolPlan: planned }),
      ...(turn.calls.length > 0 && { toolCalls: turn.calls.map(toolCallOf) }),
      ...(content.length > 0 && { content }),
      ...(citations.length > 0 && { citations: citations.filter(isRecord).map(citationOf) }),
    },
  ]);
};

export const { toolResult, toolError, toolResults } = answers<Cohere.ChatMessageV2>({
  result: (use, output) => reply(use, contentOf(output, use.note)),
  // The wire has no error flag: a failure is the JSON `{"error":"…"}`.
  error: (call, message) => reply(call, outputText({ error: message })),
});

const RESULT_CONTENT: unique symbol = Symbol.for("toolstream.cohere.resultContent");

/**
 * Marks a handler's output as documents, to which citations refer by their ids. Without the mark an array is data and
 * is sent as JSON. https://docs.cohere.com/docs/tool-use-overview
 *
 * @example
 * execute: async () => resultContent([{ type: "document", document: { id: "faq-7", data: { title, text } } }]),
 */
export function resultContent(documents: Cohere.ToolContent[]): { readonly content: Cohere.ToolContent[] } {
  return Object.freeze({ [RESULT_CONTENT]: true, content: documents });
}

function contentOf(output: unknown, note: string | undefined): Cohere.ToolMessageV2Content {
  if (!isRecord(output) || !(RESULT_CONTENT in output)) return outputText(output);
  const documents = output["content"] as Cohere.ToolContent[];
  return wellFormed(note === undefined ? documents : [...documents, { type: "text", text: note }]);
}

function reply(call: FailedCall, content: Cohere.ToolMessageV2Content): Cohere.ChatMessageV2 {
  return { role: "tool", toolCallId: wireId(call), content };
}

function toolCallOf(call: ToolCall): Cohere.ToolCallV2 {
  const name = toolName(call.name ?? "unnamed");
  return { id: wireId(call), type: "function", function: { name, arguments: historyArguments(call) } };
}

/** In the SDK's spelling, which the SDK converts back: raw streams have `content_index` and `tool_output`. */
function citationOf(citation: object): Cohere.Citation {
  const { content_index, ...rest } = citation as { content_index?: number } & Cohere.Citation;
  return {
    ...rest,
    ...(content_index !== undefined && { contentIndex: content_index }),
    ...(Array.isArray(rest.sources) && { sources: rest.sources.filter(isRecord).map(sourceOf) }),
  };
}

function sourceOf(source: Cohere.Source): Cohere.Source {
  const { tool_output, ...rest } = source as { tool_output?: Record<string, unknown> } & Cohere.Source;
  return (tool_output === undefined ? rest : { ...rest, toolOutput: tool_output }) as Cohere.Source;
}
