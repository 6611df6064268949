// Without the SDK, as with `fetch`, its types become `any` in the declarations instead of errors.
/** @ts-ignore */
import type { BetaMessageParam } from "@anthropic-ai/sdk/resources/beta/messages/messages";
/** @ts-ignore */
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import { defineAdapter, type StreamSource, type Parser, type ParserSink } from "../../src/adapter.ts";
import type { Model, ResponseModelOptions } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions, type TurnStream } from "../../src/read/index.ts";
import type { StreamEvent } from "../../src/stream/events.ts";
import { namespaced } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isObject } from "../../src/wire/field.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, container, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  messagesModel,
  type BetaMessagesClient,
  type BetaMessagesModelParams,
  type MessagesAdapter,
  type MessagesClient,
  type MessagesModelParams,
} from "./model.ts";
import { AnthropicParser } from "./parser.ts";
import { toolChoice, toolName, tools } from "./schema.ts";
import type { WireEvent, WireMessage } from "./wire.ts";

export type {
  BetaMessagesClient,
  BetaMessagesModelParams,
  MessagesAdapter,
  MessagesClient,
  MessagesModelParams,
} from "./model.ts";
export { resultContent, type AssistantMessage, type ResultBlocks, type UserMessage } from "./messages.ts";
export type { WireEvent, WireMessage } from "./wire.ts";

const reading = {
  name: "anthropic",
  toolName,
  namespaced,
  // Gateways send a call twice (https://github.com/rynfar/meridian/pull/73), or one id for several calls
  // (https://github.com/HKUDS/nanobot/issues/4442).
  uniqueIds: true,
  parser: (sink: ParserSink): Parser<WireEvent | string> => new AnthropicParser(sink),
} as const;

/**
 * Anthropic's Messages API, and the servers that speak it.
 *
 * @example
 * const request = { model, max_tokens, messages, tools: anthropic.tools(tools), ...anthropic.toolChoice("auto") };
 * const stream = anthropic.read(await client.messages.create({ ...request, stream: true }), { tools });
 * for await (const event of stream) {
 *   if (event.type === "tool-use") await event.use.execute();
 * }
 * messages.push(...anthropic.assistantMessage(stream.turn), ...anthropic.toolResults(stream.turn));
 *
 * @example
 * // Fields that only this API has are added to its own type:
 * tools: anthropic.tools(tools).map((tool) => ({ ...tool, eager_input_streaming: true }));
 */
export const anthropic = defineAdapter({
  ...reading,
  capabilities: {
    streamsInput: true,
    wireIds: true,
    parallelCalls: true,
    strict: true,
    imagesInResults: true,
    errorFlag: true,
  },
  tools,
  toolChoice,
  /** Takes the events of `messages.create({ stream: true })` and of `messages.stream()`, stable or beta, or bytes. */
  read: <T extends Tool = Tool>(source: StreamSource<WireEvent>, options?: ReadOptions<T>): TurnStream<T> =>
    readTurn(reading, source, options),
  /** The same for a response that was not streamed. */
  parse: <T extends Tool = Tool>(response: WireMessage, options?: ReadOptions<T>): StreamEvent<T>[] =>
    parseResponse(reading, response, options),
  assistantMessage,
  container,
  /**
   * The result of one call, as a user message of its own: the API joins them. Text as it is, `resultContent()` as its
   * blocks, else JSON; `undefined` becomes `null`.
   */
  toolResult,
  /** A call that was not executed or failed, with the wire's own flag. */
  toolError,
  /**
   * The results of all calls of a finished turn, in call order: one user message, or none for a turn without calls. A
   * call that was handed out but not executed is reported to the model as such. Put whatever else the user says after
   * the results: the API wants them first.
   *
   * @throws TypeError while a call is still open or running: wait for the turn and for its executions first.
   */
  toolResults,
  recognizes,
  endpoint,
  conversation,
  model,
});

/**
 * A model for a loop, made of the user's own client (or its `beta`) and the parameters of its requests.
 *
 * @example anthropic.model(new Anthropic(), { model: "claude-sonnet-5-5", max_tokens: 4096 })
 */
function model(
  this: MessagesAdapter | void,
  client: MessagesClient,
  params: MessagesModelParams,
  options?: ResponseModelOptions,
): Model<MessageParam>;
function model(
  this: MessagesAdapter | void,
  client: BetaMessagesClient,
  params: BetaMessagesModelParams,
  options?: ResponseModelOptions,
): Model<BetaMessageParam>;
function model(
  this: MessagesAdapter | void,
  client: MessagesClient | BetaMessagesClient,
  params: MessagesModelParams | BetaMessagesModelParams,
  options?: ResponseModelOptions,
): Model<any> {
  // `this`, so that an adapter that wraps this one reads with what it adds.
  return messagesModel(this ?? anthropic, client as MessagesClient, params as MessagesModelParams, options);
}

const EVENT_TYPES: ReadonlySet<unknown> = new Set([
  "message_start",
  "message_delta",
  "message_stop",
  "ping",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
]);

function recognizes(event: unknown): boolean {
  if (!isObject(event)) return false;
  const { type, role, content, error } = event as Record<string, unknown>;
  if (type === "message") return role === "assistant" && Array.isArray(content);
  if (type === "error") return typeof (error as { type?: unknown } | null | undefined)?.type === "string";
  return EVENT_TYPES.has(type);
}
