// See index.ts.
/** @ts-ignore */
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
  ChatCompletionUserMessageParam,
} from "openai/resources/chat/completions";
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
import { pairMessages, type PairingRules } from "../../src/pairing.ts";
import { textMessage } from "./messages.ts";
import type { ToolChoiceOptions } from "./schema.ts";

/** The part of the `openai` client that is used: `OpenAI`, `AzureOpenAI`, or another server's client. */
export interface ChatClient {
  readonly chat: {
    readonly completions: {
      create(
        body: ChatCompletionCreateParamsStreaming,
        options?: { signal?: AbortSignal },
      ): Requested<ChatCompletionChunk>;
    };
  };
}

/** This adapter, or one that wraps it. */
export interface ChatAdapter extends Adapter<any, any, any, ChatCompletionMessageParam> {
  toolChoice(choice: ToolChoice, options?: ToolChoiceOptions): Record<string, unknown>;
}

/** The parameters of `client.chat.completions.create()`, without those that each turn sets. */
export type ChatModelParams = Omit<ChatCompletionCreateParamsStreaming, "messages" | "tools" | "stream">;

export interface ChatModelOptions extends ResponseModelOptions {
  /** The role of the message with the `instructions`. OpenAI's newer models call it `developer`. Default `system`. */
  readonly instructionsRole?: "system" | "developer" | undefined;
  /**
   * For servers that want the roles to alternate (Mistral, Perplexity, chat templates such as Gemma's): consecutive
   * user messages are merged, and a short message of the model goes between results and the user's next message.
   * Default false.
   */
  readonly alternatingRoles?: boolean | undefined;
}

/**
 * A model that uses the user's own client. Usage is requested, unless `params.stream_options` says otherwise; `null`
 * leaves the field out.
 */
export function chatModel(
  adapter: ChatAdapter,
  client: ChatClient,
  params: ChatModelParams,
  options: ChatModelOptions = {},
): Model<ChatCompletionMessageParam> {
  checkClient(client?.chat?.completions?.create, "openaiChat.model()", "openai");
  checkParams(params, "openaiChat.model()", options, {
    asResponse: true,
    instructionsRole: true,
    alternatingRoles: true,
  });
  const { instructionsRole = "system", alternatingRoles = false, parallel } = options;
  const { stream_options: streamOptions = { include_usage: true }, ...fields } = params;
  // "'parallel_tool_calls' is only allowed when 'tools' are specified": https://github.com/openai/swarm/issues/30
  const { parallel_tool_calls: _parallel, tool_choice: _choice, ...withoutTools } = fields;
  return modelOf(adapter, conversation, options, ({ messages, tools = [], instructions, toolChoice }) => {
    const offered = adapter.tools(tools, options);
    const body: ChatCompletionCreateParamsStreaming = {
      // Some servers refuse it (https://github.com/avante-corp/avante.nvim/issues/2347), others refuse `null`
      // (https://github.com/huggingface/text-generation-inference/issues/3155).
      ...(streamOptions !== null && { stream_options: streamOptions }),
      ...(offered.length > 0 ? fields : withoutTools),
      messages: [
        ...(instructions === undefined ? [] : [{ role: instructionsRole, content: instructions }]),
        ...(alternatingRoles ? alternating(messages) : messages),
      ],
      ...(offered.length > 0 && { tools: offered, ...(parallel !== undefined && { parallel_tool_calls: parallel }) }),
      ...(isSent(toolChoice, offered) && adapter.toolChoice(toolChoice, { tools })),
      stream: true,
    };
    return (signal) => opened(client.chat.completions.create(body, { signal }), options);
  });
}

/**
 * "Unexpected role 'user' after role 'tool'" (https://github.com/NousResearch/hermes-agent/issues/20154), "Conversation
 * roles must alternate user/assistant" (https://github.com/vllm-project/vllm/issues/6862).
 */
function alternating(messages: readonly ChatCompletionMessageParam[]): ChatCompletionMessageParam[] {
  const sent: ChatCompletionMessageParam[] = [];
  for (const message of messages) {
    const last = sent.at(-1);
    if (message.role === "user" && last?.role === "user") {
      sent[sent.length - 1] = { ...last, content: joined(last.content, message.content) };
      continue;
    }
    // Empty, Mistral would refuse it.
    if (message.role === "user" && last?.role === "tool") sent.push({ role: "assistant", content: INTERRUPTED });
    sent.push(message);
  }
  return sent;
}

const INTERRUPTED = "(I was interrupted.)";

type UserContent = ChatCompletionUserMessageParam["content"];

function joined(first: UserContent, second: UserContent): UserContent {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [first, second].flatMap((content) =>
    typeof content === "string" ? [{ type: "text" as const, text: content }] : content,
  );
}

export const conversation: Conversation<ChatCompletionMessageParam> = {
  userMessage: (text) => ({ role: "user", content: text }),
  modelMessage: textMessage,
  pair: (messages) => pairMessages(messages, PAIRING),
};

const PAIRING: PairingRules<ChatCompletionMessageParam> = {
  joinsTurns: false,
  parts(message) {
    if ("parts" in message && !("content" in message)) throw new TypeError("it has parts, and no content");
    switch (message.role) {
      case "assistant": {
        const calls = (message.tool_calls ?? []).map((call) => ({
          id: call.id,
          name: call.type === "custom" ? call.custom.name : call.function.name,
        }));
        const legacy = message.function_call ?? undefined;
        if (legacy !== undefined) calls.push({ id: "", name: legacy.name });
        return { isModels: true, calls };
      }
      case "tool":
        if (typeof message.tool_call_id !== "string") throw new TypeError("a result names its call in tool_call_id");
        return { isModels: false, results: [{ id: message.tool_call_id, name: "", message }] };
      case "function":
        return { isModels: false, results: [{ id: "", name: message.name, message }] };
      default:
        if (typeof message.role !== "string") throw new TypeError("it has no role");
        return { isModels: false };
    }
  },
  missing({ id, name }, text) {
    const content = JSON.stringify({ error: text });
    return id === "" ? { role: "function", name, content } : { role: "tool", tool_call_id: id, content };
  },
};
