// A user has one of the two SDKs: in the declarations, what comes from the other is `any` and no error.
/** @ts-ignore */
import type { Content, FunctionCallingConfigMode, ToolConfig } from "@google/genai";
/** @ts-ignore */
import type { Content as LegacyContent, ToolConfig as LegacyToolConfig } from "@google/generative-ai";
import { defineAdapter, type EventSource, type Parser, type ParserSink } from "../../src/adapter.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import type { Model } from "../../src/model.ts";
import { parseResponse, readTurn, type ReadOptions } from "../../src/read/index.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";
import { isRecord } from "../../src/schema/json.ts";
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
import { lowerGoogleTools, toolName, type GoogleToolsOptions } from "./schema.ts";
import type { GoogleEvent, GoogleResponse, GoogleSchemaTool, GoogleTool } from "./wire.ts";

export type {
  GenaiClient,
  GenaiModelParams,
  GoogleModelOptions,
  LegacyModelClient,
  LegacyModelParams,
} from "./model.ts";
export { resultContent } from "./messages.ts";
export type { GoogleNative } from "./wire.ts";
export type { GoogleToolsOptions } from "./schema.ts";
export type * from "./wire.ts";

const reading = { name: "google", toolName, parser: createParser };

/**
 * Gemini's generateContent, by `@google/genai` or `@google/generative-ai`, at the Gemini API or at Vertex AI.
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
  name: reading.name,
  capabilities: {
    // At Vertex AI, with `streamFunctionCallArguments: true`; elsewhere calls come whole.
    streamsInput: true,
    wireIds: false,
    parallelCalls: true,
    // Not of a tool, but of a request: `toolChoice("auto", { strict: true })`.
    strict: false,
    // Since Gemini 3.
    imagesInResults: true,
    errorFlag: true,
  },
  toolName,
  tools,
  toolChoice,
  parser: createParser,
  read: (source: EventSource<GoogleEvent>, options?: ReadOptions) => readTurn<GoogleEvent>(reading, source, options),
  /** A whole response, or the array of chunks that a stream without `alt=sse` is. */
  parse: (response: GoogleResponse | readonly GoogleResponse[], options?: ReadOptions) =>
    parseResponse<GoogleEvent>(reading, response, options),
  assistantMessage,
  toolResult,
  toolError,
  toolResults,
  recognises,
  endpoint,
  conversation,
  model,
});

function createParser(sink: ParserSink): Parser<GoogleEvent> {
  return new GoogleParser(sink);
}

/**
 * A model for a loop: the user's own client, and the parameters of its requests. Of `@google/generative-ai`, whose model
 * comes from `getGenerativeModel()`, what is given there (also its tools) is added by the SDK.
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
  params: GenaiModelParams | LegacyModelParams = {},
  options?: GoogleModelOptions,
): Model<any> {
  // As `this`, so that an adapter that wraps this one reads with what it adds.
  const adapter = this ?? google;
  return "models" in client
    ? genaiModel(adapter, client, params as GenaiModelParams, options)
    : legacyModel(adapter, client, params as LegacyModelParams, options);
}

/** The tools as one `Tool` with all declarations. `dialect: "schema"` gives the form of `@google/generative-ai`. */
function tools(source: ToolSource, options: GoogleToolsOptions & { readonly dialect: "schema" }): GoogleSchemaTool[];
function tools(source: ToolSource, options?: GoogleToolsOptions): GoogleTool[];
function tools(source: ToolSource, options?: GoogleToolsOptions): GoogleTool[] | GoogleSchemaTool[] {
  return lowerGoogleTools(source, options);
}

export interface GoogleToolChoiceOptions {
  /** Nothing on this wire forbids several calls in one turn: `false` is passed over. */
  readonly parallel?: boolean;
  /** With `"auto"`: calls are held to their declarations (mode `VALIDATED`). A forced call always is. */
  readonly strict?: boolean;
  /** `"schema"` gives the types of `@google/generative-ai`; what is sent is the same. */
  readonly dialect?: "json-schema" | "schema";
}

/**
 * `{ toolConfig }`, to be spread into `config` (`@google/genai`) or into the request (`@google/generative-ai`).
 * Some tools or none of them is mode `VALIDATED` with their names; `AUTO` takes no names.
 *
 * @throws TypeError when the choice is none, or requires one of no tools
 */
function toolChoice(
  choice: ToolChoice,
  options: GoogleToolChoiceOptions & { readonly dialect: "schema" },
): { toolConfig: LegacyToolConfig };
function toolChoice(choice: ToolChoice, options?: GoogleToolChoiceOptions): { toolConfig: ToolConfig };
function toolChoice(choice: ToolChoice, options: GoogleToolChoiceOptions = {}): { toolConfig: any } {
  return { toolConfig: { functionCallingConfig: callingConfig(choice, options.strict ?? false) } };
}

function callingConfig(
  wanted: ToolChoice,
  strict: boolean,
): { mode: `${FunctionCallingConfigMode}`; allowedFunctionNames?: string[] } {
  const choice = checkedChoice(wanted);
  if (choice === "auto") return { mode: strict ? "VALIDATED" : "AUTO" };
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required") return { mode: "ANY" };
  if ("name" in choice) return { mode: "ANY", allowedFunctionNames: [toolName(choice.name)] };
  return { mode: choice.required === true ? "ANY" : "VALIDATED", allowedFunctionNames: choice.names.map(toolName) };
}

/** A response has candidates, or says why it has none; an error has a number and a word of Google's. */
function recognises(event: unknown): boolean {
  if (Array.isArray(event)) return event.length > 0 && event.every(recognises);
  if (typeof event !== "object" || event === null) return false;
  const { candidates, promptFeedback, usageMetadata, error } = event as Record<string, unknown>;
  if (Array.isArray(candidates) || isRecord(promptFeedback) || isRecord(usageMetadata)) return true;
  return isRecord(error) && typeof error["code"] === "number" && /^[A-Z_]+$/.test(String(error["status"]));
}
