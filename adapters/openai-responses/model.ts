// See index.ts.
/** @ts-ignore */
import type {
  CustomTool,
  FunctionTool,
  ResponseCreateParamsStreaming,
  ResponseCustomToolCall,
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseReasoningItem,
  Tool,
} from "openai/resources/responses/responses";
import type { Adapter } from "../../src/adapter.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import {
  checkClient,
  checkParams,
  isSent,
  type Conversation,
  type Model,
  type ResponseModelOptions,
} from "../../src/model.ts";
import { modelOf, opened, type Requested } from "../../src/open-turn.ts";
import { pairMessages, type HistoryCall, type PairingRules } from "../../src/pairing.ts";
import { outputText } from "../../src/stream/history.ts";
import { isNothing } from "../../src/wire/field.ts";
import { isCall, mayLackId } from "./item.ts";
import { resultContent } from "./messages.ts";
import type { ToolChoiceOptions } from "./schema.ts";
import type { StreamedEvent } from "./wire.ts";

/** The part of the `openai` client that is used, or what sends requests in another way, over a WebSocket say. */
export interface ResponsesClient {
  readonly responses: {
    create(body: ResponseCreateParamsStreaming, options?: { signal?: AbortSignal }): Requested<StreamedEvent>;
  };
}

/** This adapter, or one that wraps it. */
export interface ResponsesAdapter extends Adapter<any, any, any, ResponseInputItem> {
  toolChoice(choice: ToolChoice, options?: ToolChoiceOptions): Record<string, unknown>;
}

/** The parameters of `client.responses.create()`, without those that each turn sets. */
export interface ResponsesModelParams extends Omit<ResponseCreateParamsStreaming, "input" | "tools" | "stream"> {
  /** Tools that the provider runs (`web_search`, `file_search`, …), offered in every turn alongside yours. */
  readonly tools?: readonly Exclude<Tool, FunctionTool | CustomTool>[] | undefined;
}

/** A model that uses the user's own client. */
export function responsesModel(
  adapter: ResponsesAdapter,
  client: ResponsesClient,
  params: ResponsesModelParams,
  options: ResponseModelOptions = {},
): Model<ResponseInputItem> {
  checkClient(client?.responses?.create, "openaiResponses.model()", "openai 5 or later");
  checkParams(params, "openaiResponses.model()", options, { asResponse: true });
  const { parallel } = options;
  const { tools: hosted = [], ...fields } = params;
  // Then the provider has the history, and in it the calls of the first results.
  const keepsOrphans = !isNothing(params.previous_response_id) || !isNothing(params.conversation);
  const pair = (messages: readonly ResponseInputItem[]) => pairMessages(messages, { ...PAIRING, keepsOrphans });
  return modelOf(adapter, { ...conversation, pair }, options, ({ messages, tools = [], instructions, toolChoice }) => {
    const offered: Tool[] = [...adapter.tools(tools, options), ...hosted];
    const body: ResponseCreateParamsStreaming = {
      ...fields,
      input: inputOf(messages, params),
      ...(instructions !== undefined && { instructions }),
      ...(offered.length > 0 && { tools: offered, ...(parallel !== undefined && { parallel_tool_calls: parallel }) }),
      ...(isSent(toolChoice, offered) && adapter.toolChoice(toolChoice, { tools })),
      stream: true,
    };
    return (signal) => opened(client.responses.create(body, { signal }), options);
  });
}

/**
 * The part of the history that is sent.
 *
 * - A `conversation` keeps what was sent and answered, and rejects items that it already has
 *   (https://github.com/openai/openai-agents-js/issues/425): only what came after the provider's own last item is new.
 * - Without storage the API cannot find a reasoning item that has only an id
 *   (https://github.com/anomalyco/opencode/issues/7724): `include: ["reasoning.encrypted_content"]` asks for more.
 * - What came with an id behind reasoning is refused without it ("provided without its required 'reasoning' item",
 *   https://github.com/openai/openai-dotnet/issues/1050): behind reasoning that is left out, and where a history that
 *   was trimmed begins with the model, items go without their ids, and calls that need theirs are left out.
 */
function inputOf(
  messages: readonly ResponseInputItem[],
  { conversation: kept, previous_response_id: previous, store }: ResponsesModelParams,
): ResponseInputItem[] {
  if (!isNothing(kept)) {
    const last = messages.findLastIndex((item) => PAIRING.parts(item).isModels && hasId(item));
    // A result with an id belongs to a call that the provider has run.
    return messages.slice(last + 1).filter((item) => PAIRING.parts(item).results === undefined || !hasId(item));
  }
  let lacksReasoning = isNothing(previous);
  return messages.flatMap((item) => {
    if (item.type === "reasoning") lacksReasoning = store === false && !hasContent(item);
    else lacksReasoning &&= PAIRING.parts(item).isModels;
    if (!lacksReasoning) return [item];
    const { id: _, ...rest } = item as { id?: unknown };
    if (mayLackId(item)) return [rest as ResponseInputItem];
    return /^reasoning$|_call(_output)?$/.test(item.type ?? "") ? [] : [item];
  });
}

function hasId(item: ResponseInputItem): boolean {
  return "id" in item && !isNothing(item.id);
}

function hasContent({ encrypted_content: encrypted, content }: ResponseReasoningItem): boolean {
  return Boolean(encrypted) || (content !== undefined && content.length > 0);
}

export const conversation: Conversation<ResponseInputItem> = {
  userMessage: (text) => ({ role: "user", content: text }),
  pair: (messages) => pairMessages(messages, PAIRING),
  imageResult: (output, images) =>
    resultContent([
      { type: "input_text", text: outputText(output) },
      ...images.map(({ mediaType, data }) => ({
        type: "input_image" as const,
        image_url: `data:${mediaType};base64,${data}`,
        detail: "auto" as const,
      })),
    ]),
};

const PAIRING: PairingRules<ResponseInputItem> = {
  joinsTurns: true,
  parts(item) {
    switch (item.type) {
      case "function_call":
      case "custom_tool_call":
        return { isModels: true, calls: isCall(item) ? [callOf(item)] : [] };
      case "function_call_output":
      case "custom_tool_call_output":
        // Without the id of a call it is input from the application, and the API treats it as such.
        if (!item.call_id) return { isModels: false };
        return { isModels: false, results: [{ id: item.call_id, name: kindOf(item.type), message: item }] };
      default: {
        const { content } = item as { content?: unknown };
        // What the server sent has a type, and goes back as it came.
        const isWritten = "role" in item && item.type === undefined;
        if (isWritten && typeof content !== "string" && !Array.isArray(content)) {
          throw new TypeError("a message has content, a text or a list of parts");
        }
        if ("tool_call_id" in item) throw new TypeError("a result is an item, function_call_output");
        // Reasoning and the items of hosted tools have no role and belong to the model's turn; so do the tools that its
        // search has found, which come among its calls with the role `developer`.
        const isModels = !("role" in item) || item.role === "assistant" || item.type === "additional_tools";
        // It refers to an item at the provider, which may be a call.
        const mayHoldCalls = "id" in item && !("role" in item) && (item.type ?? "item_reference") === "item_reference";
        return { isModels, mayHoldCalls };
      }
    }
  },
  missing({ id, name, caller }: Call, text) {
    const reference = { call_id: id, output: JSON.stringify({ error: text }), ...(caller && { caller }) };
    return name === "custom"
      ? { type: "custom_tool_call_output", ...reference }
      : { type: "function_call_output", ...reference };
  },
};

/** A call, and the program that waits for its result, if any. */
interface Call extends HistoryCall {
  readonly caller?: NonNullable<ResponseFunctionToolCall["caller"]>;
}

function callOf({ call_id: id, type, caller }: ResponseFunctionToolCall | ResponseCustomToolCall): Call {
  return { id, name: kindOf(type), ...(caller && { caller }) };
}

function kindOf(type: string): string {
  return type.startsWith("custom") ? "custom" : "function";
}
