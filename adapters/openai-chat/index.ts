// Without the SDK, as with `fetch`, its types become `any` in the declarations instead of errors.
/** @ts-ignore */
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { defineAdapter, type StreamSource, type Parser, type ParserSink } from "../../src/adapter.ts";
import type { Model } from "../../src/model.ts";
import { parseResponse, readTurn, type Reading, type ReadOptions } from "../../src/read/index.ts";
import { namespaced } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isObject } from "../../src/wire/field.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  chatModel,
  type ChatAdapter,
  type ChatClient,
  type ChatModelOptions,
  type ChatModelParams,
} from "./model.ts";
import { ChatParser, type ChatParserOptions } from "./parser.ts";
import { toolChoice, toolName, tools } from "./schema.ts";
import type { WireEvent } from "./wire.ts";

export type { ChatAdapter, ChatClient, ChatModelOptions, ChatModelParams } from "./model.ts";
export { wireId, type AssistantMessageOptions } from "./messages.ts";
export type { ChatParserOptions } from "./parser.ts";
export type { ToolChoiceOptions, ToolChoiceParams } from "./schema.ts";
export type { NativeMessage, WireEvent } from "./wire.ts";

/** A chunk as the `openai` package types it, or as another server or SDK of this wire sends it. */
export type ChatEvent = ChatCompletionChunk | WireEvent;
/** The same for a response that was not streamed. */
export type ChatResponse = ChatCompletion | (WireEvent & Required<Pick<WireEvent, "choices">>);

export interface ChatReadOptions<T extends Tool = Tool> extends ReadOptions<T>, ChatParserOptions {}

/**
 * Ids with twelve random characters in a row. Servers that number their calls, name them after the tool, or give all of
 * them one short id may mean two equal calls; others sent one twice: https://github.com/mudler/LocalAI/issues/9722,
 * https://github.com/QuantumNous/new-api/issues/6278
 */
const uniqueIds = /(?=[a-z]{0,11}\d)[a-z\d]{12}/i;

/**
 * OpenAI's Chat Completions, and servers that speak it: Azure, vLLM, SGLang, TGI, Ollama, Groq, Mistral, DeepSeek,
 * Kimi, OpenRouter, LiteLLM, Gemini's and Anthropic's compatible endpoints, ...
 *
 * @example
 * const stream = openaiChat.read(
 *   await client.chat.completions.create({ model, messages, stream: true, tools: openaiChat.tools(tools) }),
 *   { tools },
 * );
 * for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
 * messages.push(...openaiChat.assistantMessage(stream.turn), ...openaiChat.toolResults(stream.turn));
 */
export const openaiChat = defineAdapter({
  name: "openai-chat",
  capabilities: {
    streamsInput: true,
    wireIds: true,
    parallelCalls: true,
    strict: true,
    imagesInResults: false,
    errorFlag: false,
  },
  toolName,
  namespaced,
  uniqueIds,
  tools,
  toolChoice,
  parser: createParser,
  /** Takes the chunks of `create({ stream: true })`, or bytes. */
  read: <T extends Tool = Tool>(source: StreamSource<ChatEvent>, options: ChatReadOptions<T> = {}) =>
    readTurn(reading(options), source, options),
  /** The same for a response that was not streamed. */
  parse: <T extends Tool = Tool>(response: ChatResponse, options: ChatReadOptions<T> = {}) =>
    parseResponse<ParserEvent, T>(reading(options), response, options),
  assistantMessage,
  /** The result of one call: text as it is, anything else, and blank text, as JSON; `undefined` becomes `null`. */
  toolResult,
  /** A call that was not executed or failed. The wire has no error flag: it is the JSON `{"error":"…"}`. */
  toolError,
  /**
   * One result for every call of a finished turn, in call order. A call that was handed out but not executed is
   * reported to the model as such.
   *
   * @throws TypeError while a call is still open or running: wait for the turn and for its executions first.
   */
  toolResults,
  recognizes,
  endpoint,
  conversation,
  /**
   * A model for a loop, made of the user's own client and the parameters of its requests.
   *
   * @example openaiChat.model(new OpenAI(), { model: "gpt-5-mini", reasoning_effort: "low" })
   */
  model(
    this: ChatAdapter | void,
    client: ChatClient,
    params: ChatModelParams,
    options?: ChatModelOptions,
  ): Model<ChatCompletionMessageParam> {
    // `this`, so that an adapter that wraps this one reads with what it adds.
    return chatModel(this ?? openaiChat, client, params, options);
  },
});

/** Text is `[DONE]`, or what is no JSON. */
type ParserEvent = ChatEvent | ChatResponse | string;

function createParser(sink: ParserSink, options?: ChatParserOptions): Parser<ParserEvent> {
  return new ChatParser(sink, options);
}

/** What nearly every stream is read with. */
const firstChoice = { name: "openai-chat", toolName, namespaced, uniqueIds, parser: createParser };

function reading(options: ChatParserOptions): Reading<ParserEvent> {
  if (options.choice === undefined) return firstChoice;
  return { ...firstChoice, parser: (sink: ParserSink) => createParser(sink, options) };
}

/** Choices that contain a message, whole or in pieces. `choices[].text` is the older API of plain completions. */
function recognizes(event: unknown): boolean {
  if (!isObject(event)) return false;
  const { object, choices } = event as WireEvent;
  if (object === "chat.completion" || object === "chat.completion.chunk") return true;
  if (!Array.isArray(choices)) return false;
  if (choices.length === 0) return object === "" || object === undefined;
  return choices.some(
    (choice: unknown) => isObject(choice) && !("text" in choice) && ("delta" in choice || "message" in choice),
  );
}
