// Without the SDK, as with `fetch`, its types become `any` in the declarations instead of errors.
/** @ts-ignore */
import type { Cohere } from "cohere-ai";
import { defineAdapter, type StreamSource, type Parser, type ParserSink } from "../../src/adapter.ts";
import type { Model, ModelOptions } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions, type TurnStream } from "../../src/read/index.ts";
import type { StreamEvent } from "../../src/stream/events.ts";
import { namespaced } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isNothing, isObject } from "../../src/wire/field.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  cohereModel,
  type CohereAdapter,
  type CohereModelClient,
  type CohereModelParams,
} from "./model.ts";
import { CohereParser } from "./parser.ts";
import { request, toolChoice, toolName, tools } from "./schema.ts";
import type { WireEvent } from "./wire.ts";

export type { CohereAdapter, CohereModelClient, CohereModelParams } from "./model.ts";
export { resultContent } from "./messages.ts";
export type { CohereRequestFields } from "./schema.ts";
export type { CohereContent, CohereNative, WireEvent } from "./wire.ts";

const reading = {
  name: "cohere",
  toolName,
  namespaced,
  uniqueIds: true,
  parser: (sink: ParserSink): Parser<WireEvent> => new CohereParser(sink),
} as const;

/**
 * Cohere's v2 chat, through `cohere-ai` or by hand.
 *
 * @example
 * const stream = await new CohereClientV2({ token }).chatStream({ model, messages, ...cohere.request(tools) });
 * const events = cohere.read(stream, { tools });
 * for await (const event of events) {
 *   if (event.type === "tool-use") await event.use.execute();
 * }
 * messages.push(...cohere.assistantMessage(events.turn), ...cohere.toolResults(events.turn));
 */
export const cohere = defineAdapter({
  ...reading,
  capabilities: {
    streamsInput: true,
    wireIds: true,
    parallelCalls: true,
    strict: true,
    imagesInResults: false,
    errorFlag: false,
  },
  tools,
  toolChoice,
  request,
  /** Takes the events of `chatStream()`, or bytes. */
  read: <T extends Tool = Tool>(source: StreamSource<WireEvent>, options?: ReadOptions<T>): TurnStream<T> =>
    readTurn(reading, source, options),
  /** The same for a response that was not streamed. */
  parse: <T extends Tool = Tool>(response: WireEvent, options?: ReadOptions<T>): StreamEvent<T>[] =>
    parseResponse(reading, response, options),
  assistantMessage,
  /** The result of one call: text as it is, `resultContent()` as its documents, else JSON, `undefined` as `null`. */
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
   * @example cohere.model(new CohereClientV2({ token }), { model: "command-a-03-2025" })
   */
  model(
    this: CohereAdapter | void,
    client: CohereModelClient,
    params: CohereModelParams,
    options?: ModelOptions,
  ): Model<Cohere.ChatMessageV2> {
    // `this`, so that an adapter that wraps this one reads with what it adds.
    return cohereModel(this ?? cohere, client, params, options);
  },
});

const EVENT_TYPES: ReadonlySet<unknown> = new Set([
  "message-start",
  "content-start",
  "content-delta",
  "content-end",
  "tool-plan-delta",
  "tool-call-start",
  "tool-call-delta",
  "tool-call-end",
  "citation-start",
  "citation-end",
  "message-end",
]);

/** Recognises an event of a stream by its type, a whole response by its message and finish reason. */
function recognizes(event: unknown): boolean {
  if (!isObject(event)) return false;
  const { type, message, finish_reason, finishReason } = event as WireEvent;
  if (!isNothing(type)) return EVENT_TYPES.has(type);
  return isObject(message) && message.role === "assistant" && typeof (finish_reason ?? finishReason) === "string";
}
