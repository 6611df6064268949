// See index.ts.
/** @ts-ignore */
import type { Cohere } from "cohere-ai";
import type { Adapter, ToolsOptions } from "../../src/adapter.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import { checkClient, checkParams, type Conversation, type Model, type ModelOptions } from "../../src/model.ts";
import { modelOf, responseInfo } from "../../src/open-turn.ts";
import { pairMessages, type PairingRules } from "../../src/pairing.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";

/** The part of the `cohere-ai` client that is used: `CohereClientV2`. */
export interface CohereModelClient {
  chatStream(
    request: Cohere.V2ChatStreamRequest,
    options?: { abortSignal?: AbortSignal },
  ): PromiseLike<AsyncIterable<Cohere.V2ChatStreamResponse>> & {
    /** Since version 7.18. */
    withRawResponse?(): Promise<{
      data: AsyncIterable<Cohere.V2ChatStreamResponse>;
      rawResponse: { readonly status: number; readonly headers: unknown };
    }>;
  };
}

/** The parameters of `client.chatStream()`, without those that each turn sets. */
export type CohereModelParams = Omit<Cohere.V2ChatStreamRequest, "messages" | "tools" | "strictTools">;

/** The part of the adapter that is used: it can restrict the choice to some tools only by leaving out the others. */
export interface CohereAdapter extends Adapter<any, any, any, Cohere.ChatMessageV2> {
  request(tools: ToolSource, options?: ToolsOptions & { readonly choice?: ToolChoice | undefined }): object;
}

/** A model that uses the user's own client. */
export function cohereModel(
  adapter: CohereAdapter,
  client: CohereModelClient,
  params: CohereModelParams,
  options: ModelOptions = {},
): Model<Cohere.ChatMessageV2> {
  checkClient(client?.chatStream, "cohere.model()", "cohere-ai, a CohereClientV2");
  checkParams(params, "cohere.model()", options);
  const { strict, onLoss } = options;
  return modelOf(adapter, conversation, options, ({ messages, tools = [], instructions, toolChoice }) => {
    const body: Cohere.V2ChatStreamRequest = {
      ...params,
      messages: [
        ...(instructions === undefined ? [] : [{ role: "system" as const, content: instructions }]),
        ...messages,
      ],
      ...adapter.request(tools, { strict, onLoss, choice: toolChoice }),
    };
    return async (abortSignal) => {
      const asked = client.chatStream(body, { abortSignal });
      if (asked.withRawResponse === undefined) return { events: await asked };
      const { data, rawResponse } = await asked.withRawResponse();
      return { events: data, response: responseInfo(rawResponse.status, rawResponse.headers) };
    };
  });
}

export const conversation: Conversation<Cohere.ChatMessageV2> = {
  userMessage: (text) => ({ role: "user", content: text }),
  pair: (messages) => pairMessages(messages, PAIRING),
};

const PAIRING: PairingRules<Cohere.ChatMessageV2> = {
  joinsTurns: false,
  parts(message) {
    if ("parts" in message && !("content" in message)) throw new TypeError("it has parts, and no content");
    if (message.role === "assistant") {
      if ("tool_calls" in message) throw new TypeError("it has tool_calls, which the SDK spells toolCalls");
      const calls = (message.toolCalls ?? []).map(({ id, function: called }) => ({ id, name: called?.name ?? "" }));
      return { isModels: true, calls };
    }
    if (message.role !== "tool") return { isModels: false };
    if (typeof message.toolCallId !== "string") throw new TypeError("a result names its call in toolCallId");
    return { isModels: false, results: [{ id: message.toolCallId, name: "", message }] };
  },
  missing: ({ id }, text) => ({ role: "tool", toolCallId: id, content: JSON.stringify({ error: text }) }),
};
