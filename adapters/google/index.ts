// Users install one of the two SDKs: the types of the other become `any` in the declarations instead of errors.
/** @ts-ignore */
import type { Content } from "@google/genai";
/** @ts-ignore */
import type { Content as LegacyContent } from "@google/generative-ai";
import { defineAdapter, type StreamSource, type Parser, type ParserSink } from "../../src/adapter.ts";
import { checkClient, checkParams, type Model } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions } from "../../src/read/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { namespaced } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isObject } from "../../src/wire/field.ts";
import { endpoint } from "./endpoint.ts";
import { assistantMessage, toolError, toolResult, toolResults } from "./messages.ts";
import {
  conversation,
  genaiModel,
  legacyModel,
  type GenaiClient,
  type GenaiModelParams,
  type GoogleAdapter,
  type GoogleModelOptions,
  type LegacyModelClient,
  type LegacyModelParams,
} from "./model.ts";
import { GoogleParser } from "./parser.ts";
import { toolChoice, toolName, tools } from "./schema.ts";
import type { GoogleEvent, GoogleResponse } from "./wire.ts";

export type {
  GenaiClient,
  GenaiModelParams,
  GoogleAdapter,
  GoogleModelOptions,
  LegacyModelClient,
  LegacyModelParams,
} from "./model.ts";
export { resultContent } from "./messages.ts";
export type { GoogleNative } from "./wire.ts";
export type { GoogleToolChoice, GoogleToolChoiceOptions, GoogleTools, GoogleToolsOptions } from "./schema.ts";
export type * from "./wire.ts";

const reading = {
  name: "google",
  toolName,
  namespaced,
  // A gateway may send a call twice: https://github.com/QwenLM/qwen-code/pull/9436
  uniqueIds: true,
  parser: (sink: ParserSink): Parser<GoogleEvent> => new GoogleParser(sink),
} as const;

/**
 * Gemini's generateContent, through `@google/genai` or `@google/generative-ai`, on the Gemini API or Vertex AI.
 *
 * @example
 * const stream = await ai.models.generateContentStream({
 *   model, contents,
 *   config: { tools: google.tools(tools), ...google.toolChoice("auto") },
 * });
 * for await (const event of google.read(stream, { tools })) { ... }
 * contents.push(...google.assistantMessage(turn), ...google.toolResults(turn));
 *
 * @example <caption>`@google/generative-ai`</caption>
 * const model = genAI.getGenerativeModel({ model, tools: google.tools(tools, { dialect: "schema" }) });
 * const { stream } = await model.generateContentStream({ contents });
 */
export const google = defineAdapter({
  ...reading,
  capabilities: {
    // On Vertex AI, with `streamFunctionCallArguments: true`; elsewhere calls arrive whole.
    streamsInput: true,
    wireIds: false,
    parallelCalls: true,
    // Not per tool, but per request: `toolChoice("auto", { strict: true })`.
    strict: false,
    // Since Gemini 3.
    imagesInResults: true,
    errorFlag: true,
  },
  tools,
  toolChoice,
  /** Takes the chunks of `generateContentStream()` of either SDK, or bytes. */
  read: <T extends Tool = Tool>(source: StreamSource<GoogleEvent>, options?: ReadOptions<T>) =>
    readTurn<GoogleEvent, T>(reading, source, options),
  /** A whole response, or the array of chunks that a stream without `alt=sse` consists of. */
  parse: <T extends Tool = Tool>(response: GoogleResponse | readonly GoogleResponse[], options?: ReadOptions<T>) =>
    parseResponse<GoogleEvent, T>(reading, response, options),
  assistantMessage,
  /**
   * The result of one call, under the key `output`: text as it is, else JSON, `undefined` as `null`; the media of
   * `resultContent()` go next to it.
   */
  toolResult,
  /** A call that was not executed or failed, under the key `error`. */
  toolError,
  /**
   * The results of all calls of a finished turn, in call order: one content, as the API wants it, or none for a turn
   * without calls. A call that was handed out but not executed is reported to the model as such.
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
 * A model for a loop, made of the user's own client and the parameters of its requests. With `@google/generative-ai`,
 * whose model comes from `getGenerativeModel()`, the SDK adds what was given there (including its tools).
 *
 * @example google.model(new GoogleGenAI({ apiKey }), { model: "gemini-2.5-flash", config: { temperature: 0 } })
 */
function model(
  this: GoogleAdapter | void,
  client: GenaiClient,
  params: GenaiModelParams,
  options?: GoogleModelOptions,
): Model<Content>;
function model(
  this: GoogleAdapter | void,
  client: LegacyModelClient,
  params?: LegacyModelParams,
  options?: GoogleModelOptions,
): Model<LegacyContent>;
function model(
  this: GoogleAdapter | void,
  client: GenaiClient | LegacyModelClient,
  params?: GenaiModelParams | LegacyModelParams,
  options?: GoogleModelOptions,
): Model<any> {
  // `this`, so that an adapter that wraps this one reads with what it adds.
  const adapter = this ?? google;
  const isGenai = isObject(client) && "models" in client;
  checkClient(
    isGenai ? client.models?.generateContentStream : client?.generateContentStream,
    "google.model()",
    "@google/genai, or a model of @google/generative-ai",
  );
  // A model of the older package has its own.
  const given = isGenai ? params : (params ?? {});
  checkParams(given, "google.model()", options);
  return isGenai
    ? genaiModel(adapter, client, given as GenaiModelParams, options)
    : legacyModel(adapter, client, given as LegacyModelParams, options);
}

/** A response has candidates, or the reason for having none; an error has a number and a Google status word. */
function recognizes(event: unknown): boolean {
  if (Array.isArray(event)) return event.length > 0 && event.every(recognizes);
  if (!isObject(event)) return false;
  const { candidates, promptFeedback, usageMetadata, error } = event as Record<string, unknown>;
  if (Array.isArray(candidates) || isRecord(promptFeedback) || isRecord(usageMetadata)) return true;
  return isRecord(error) && typeof error["code"] === "number" && /^[A-Z_]+$/.test(String(error["status"]));
}
