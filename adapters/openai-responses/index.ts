// Without the SDK, as with `fetch`, its types become `any` in the declarations instead of errors.
/** @ts-ignore */
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { defineAdapter, type StreamSource, type Parser, type ParserSink } from "../../src/adapter.ts";
import type { Model, ResponseModelOptions } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions, type TurnStream } from "../../src/read/index.ts";
import type { StreamEvent } from "../../src/stream/events.ts";
import { namespaced } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isObject } from "../../src/wire/field.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  responsesModel,
  type ResponsesAdapter,
  type ResponsesClient,
  type ResponsesModelParams,
} from "./model.ts";
import { ResponsesParser } from "./parser.ts";
import { toolChoice, toolName, tools } from "./schema.ts";
import type { StreamedEvent, WholeResponse, WireEvent, WireResponse } from "./wire.ts";

export type { ResponsesAdapter, ResponsesClient, ResponsesModelParams } from "./model.ts";
export { resultContent, type ResultParts } from "./messages.ts";
export type { ToolChoiceFields, ToolChoiceOptions } from "./schema.ts";
export type { NativeItem, NativeTurn, StreamedEvent, WholeResponse } from "./wire.ts";

const reading = {
  name: "openai-responses",
  toolName,
  namespaced,
  // Servers send a call twice, as another item (microsoft/agent-framework#7485).
  uniqueIds: true,
  parser: (sink: ParserSink): Parser<unknown> => new ResponsesParser(sink),
} as const;

/**
 * OpenAI's Responses API, and servers that speak it: Azure, LM Studio, DeepSeek, GitHub Copilot, OpenRouter, xAI.
 *
 * @example
 * const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "What is the weather in Oslo?" }];
 * const stream = openaiResponses.read(
 *   await client.responses.create({ model, input, stream: true, tools: openaiResponses.tools(tools) }),
 *   { tools },
 * );
 * for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
 * input.push(...openaiResponses.assistantMessage(stream.turn), ...openaiResponses.toolResults(stream.turn));
 */
export const openaiResponses = defineAdapter({
  ...reading,
  capabilities: {
    streamsInput: true,
    wireIds: true,
    parallelCalls: true,
    strict: true,
    imagesInResults: true,
    errorFlag: false,
  },
  tools,
  toolChoice,
  /** Takes the events of `responses.create({ stream: true })` and of `responses.stream()`, stable or beta, or bytes. */
  read: <T extends Tool = Tool>(source: StreamSource<StreamedEvent>, options?: ReadOptions<T>): TurnStream<T> =>
    readTurn(reading, source, options),
  /** The same for a response that was not streamed. */
  parse: <T extends Tool = Tool>(response: WholeResponse, options?: ReadOptions<T>): StreamEvent<T>[] =>
    parseResponse(reading, response, options),
  assistantMessage,
  /** The result of one call: text as it is, `resultContent()` as its parts, else JSON; `undefined` becomes `null`. */
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
   * @example openaiResponses.model(new OpenAI(), { model: "gpt-5-mini", store: false, include: ["reasoning.encrypted_content"] })
   */
  model(
    this: ResponsesAdapter | void,
    client: ResponsesClient,
    params: ResponsesModelParams,
    options?: ResponseModelOptions,
  ): Model<ResponseInputItem> {
    // `this`, so that an adapter that wraps this one reads with what it adds.
    return responsesModel(this ?? openaiResponses, client, params, options);
  },
});

/** All of its events are called `response.…`; an `error` alone could be from any wire. */
function recognizes(event: unknown): boolean {
  if (!isObject(event)) return false;
  const { type } = event as WireEvent;
  return (typeof type === "string" && type.startsWith("response.")) || (event as WireResponse).object === "response";
}
