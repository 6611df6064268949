// Without the SDK, as with `fetch`, its types become `any` in the declarations instead of errors.
/** @ts-ignore */
import type { Interactions } from "@google/genai";
import { defineAdapter, type Parser, type ParserSink, type StreamSource } from "../../src/adapter.ts";
import type { Model } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions, type TurnStream } from "../../src/read/index.ts";
import type { StreamEvent } from "../../src/stream/events.ts";
import { namespaced } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isObject } from "../../src/wire/field.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  interactionsModel,
  type InteractionsAdapter,
  type InteractionsClient,
  type InteractionsModelOptions,
  type InteractionsModelParams,
} from "./model.ts";
import { InteractionsParser } from "./parser.ts";
import { toolChoice, toolName, tools } from "./schema.ts";
import type { StreamedEvent, WholeInteraction, WireEvent, WireInteraction } from "./wire.ts";

export type {
  InteractionsAdapter,
  InteractionsClient,
  InteractionsModelOptions,
  InteractionsModelParams,
} from "./model.ts";
export { resultContent, type ResultParts } from "./messages.ts";
export type { InteractionsToolChoiceOptions, ToolChoiceFields } from "./schema.ts";
export type { InteractionsNative, StreamedEvent, WholeInteraction } from "./wire.ts";

const reading = {
  name: "google-interactions",
  toolName,
  namespaced,
  // "A unique ID for this specific tool call."
  uniqueIds: true,
  parser: (sink: ParserSink): Parser<unknown> => new InteractionsParser(sink),
} as const;

/**
 * Gemini's Interactions API, through `@google/genai` 2 or later.
 *
 * @example
 * const input: Interactions.Step[] = [{ type: "user_input", content: [{ type: "text", text: "Weather in Oslo?" }] }];
 * const stream = googleInteractions.read(
 *   await ai.interactions.create({ model, input, stream: true, tools: googleInteractions.tools(tools) }),
 *   { tools },
 * );
 * for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
 * input.push(...googleInteractions.assistantMessage(stream.turn), ...googleInteractions.toolResults(stream.turn));
 *
 * @example <caption>The server keeps the history</caption>
 * { previous_interaction_id: stream.turn.responseId, input: googleInteractions.toolResults(stream.turn) }
 */
export const googleInteractions = defineAdapter({
  ...reading,
  capabilities: {
    streamsInput: true,
    wireIds: true,
    parallelCalls: true,
    // Not per tool, but per request: `toolChoice("auto", { strict: true })`.
    strict: false,
    imagesInResults: true,
    errorFlag: true,
  },
  tools,
  toolChoice,
  /** Takes the events of `ai.interactions.create({ stream: true })`, or bytes. */
  read: <T extends Tool = Tool>(source: StreamSource<StreamedEvent>, options?: ReadOptions<T>): TurnStream<T> =>
    readTurn(reading, source, options),
  /** The same for an interaction that was not streamed. */
  parse: <T extends Tool = Tool>(response: WholeInteraction, options?: ReadOptions<T>): StreamEvent<T>[] =>
    parseResponse(reading, response, options),
  assistantMessage,
  /** The result of one call: text as it is, `resultContent()` as its parts, else JSON; `undefined` becomes `null`. */
  toolResult,
  /** A call that was not executed or failed, with `is_error`. */
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
   * @example googleInteractions.model(new GoogleGenAI({ apiKey }), { model: "gemini-3-flash-preview", store: false })
   */
  model(
    this: InteractionsAdapter | void,
    client: InteractionsClient,
    params: InteractionsModelParams,
    options?: InteractionsModelOptions,
  ): Model<Interactions.Step> {
    // `this`, so that an adapter that wraps this one reads with what it adds.
    return interactionsModel(this ?? googleInteractions, client, params, options);
  },
});

/** Its events have an `event_type` of their own; a whole interaction says what it is. */
function recognizes(event: unknown): boolean {
  if (!isObject(event)) return false;
  const { event_type: type } = event as WireEvent;
  if (typeof type === "string") return /^(interaction|step)\./.test(type);
  const { object, steps, status } = event as WireInteraction;
  return object === "interaction" || (Array.isArray(steps) && typeof status === "string");
}
