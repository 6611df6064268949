// See index.ts.
/** @ts-ignore */
import type {
  Content,
  GenerateContentConfig,
  GenerateContentParameters,
  GenerateContentResponse,
  Tool,
} from "@google/genai";
/** @ts-ignore */
import type {
  Content as LegacyContent,
  EnhancedGenerateContentResponse,
  FunctionDeclarationsTool,
  GenerateContentRequest,
  Tool as LegacyTool,
} from "@google/generative-ai";
import type { Adapter } from "../../src/adapter.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import { isSent, type Conversation, type Model, type ModelOptions, type ModelRequest } from "../../src/model.ts";
import { modelOf, responseInfo } from "../../src/open-turn.ts";
import { pairMessages, unpaired, type HistoryCall, type PairingRules } from "../../src/pairing.ts";
import { isRecord } from "../../src/schema/json.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";
import { resultContent } from "./messages.ts";
import type { GoogleContent, GoogleEvent, GoogleFunctionResponsePart, GooglePart } from "./wire.ts";

/** The part of the `@google/genai` client that is used. */
export interface GenaiClient {
  readonly models: {
    generateContentStream(params: GenerateContentParameters): Promise<AsyncIterable<GenerateContentResponse>>;
  };
}

/** The parameters of `ai.models.generateContentStream()`, without those that each turn sets. */
export interface GenaiModelParams extends Omit<GenerateContentParameters, "contents" | "config"> {
  config?: Omit<GenerateContentConfig, "tools" | "abortSignal"> & {
    /** Tools that the provider runs (`{ googleSearch: {} }`, …), offered in every turn alongside yours. */
    readonly tools?: readonly Omit<Tool, "functionDeclarations">[] | undefined;
  };
}

/** A model of `@google/generative-ai`: the result of `genAI.getGenerativeModel()`, made without tools. */
export interface LegacyModelClient {
  generateContentStream(
    request: GenerateContentRequest,
    options?: { signal?: AbortSignal },
  ): Promise<{ stream: AsyncIterable<EnhancedGenerateContentResponse>; response: Promise<unknown> }>;
}

/** The request of `model.generateContentStream()`, without what each turn sets. */
export interface LegacyModelParams extends Omit<GenerateContentRequest, "contents" | "tools"> {
  /** Tools that the provider runs (`{ codeExecution: {} }`), offered in every turn alongside yours. */
  readonly tools?: readonly Exclude<LegacyTool, FunctionDeclarationsTool>[] | undefined;
}

export interface GoogleModelOptions extends ModelOptions {
  /** With `toolChoice: "auto"`: calls are held to their declarations. */
  readonly strict?: boolean | undefined;
}

/** The part of the adapter that is used. */
export interface GoogleAdapter extends Adapter<any, any, any, GoogleContent> {
  tools(tools: ToolSource, options?: object): any[];
  toolChoice(
    choice: ToolChoice,
    options?: { readonly parallel?: boolean | undefined; readonly strict?: boolean | undefined },
  ): Record<string, unknown>;
}

/** A model that uses the user's own client of `@google/genai`. */
export function genaiModel(
  adapter: GoogleAdapter,
  client: GenaiClient,
  params: GenaiModelParams,
  options: GoogleModelOptions = {},
): Model<Content> {
  const { tools: hosted = [], ...config } = params.config ?? {};
  return modelOf<GoogleEvent, Content>(adapter as Adapter, conversation as Conversation, options, (request) => {
    const { instructions } = request;
    const { tools: own, toolConfig } = fieldsOf(adapter, request, options, "json-schema", config.toolConfig);
    const tools: Tool[] = [...own, ...hosted];
    return async (abortSignal) => {
      const stream = await client.models.generateContentStream({
        ...params,
        contents: [...request.messages],
        config: {
          ...config,
          ...(instructions !== undefined && { systemInstruction: instructions }),
          ...(tools.length > 0 && { tools }),
          ...toolConfig,
          abortSignal,
        },
      });
      return {
        events: stream as AsyncIterable<GoogleEvent>,
        // The SDK puts the headers on each chunk, and exposes no status.
        responseOf: (event) => {
          const { headers } = (event as GenerateContentResponse).sdkHttpResponse ?? {};
          return headers === undefined ? undefined : responseInfo(200, headers);
        },
      };
    };
  });
}

/** A model that uses the user's own model of `@google/generative-ai`, which exposes no headers. */
export function legacyModel(
  adapter: GoogleAdapter,
  client: LegacyModelClient,
  params: LegacyModelParams = {},
  options: GoogleModelOptions = {},
): Model<LegacyContent> {
  const { tools: hosted = [], ...fields } = params;
  return modelOf<GoogleEvent, LegacyContent>(adapter as Adapter, conversation as Conversation, options, (request) => {
    const { instructions } = request;
    const { tools: own, toolConfig } = fieldsOf(adapter, request, options, "schema", fields.toolConfig);
    const tools: LegacyTool[] = [...own, ...hosted];
    return async (signal) => {
      const { stream, response } = await client.generateContentStream(
        {
          ...fields,
          contents: [...request.messages],
          // The SDK sends a bare text unchanged, and the API rejects that.
          ...(instructions !== undefined && { systemInstruction: { role: "system", parts: [{ text: instructions }] } }),
          ...(tools.length > 0 && { tools }),
          ...toolConfig,
        },
        { signal },
      );
      // The other half of the SDK's result: it rejects when the stream does.
      response.catch(() => {});
      return { events: stream as AsyncIterable<GoogleEvent> };
    };
  });
}

function fieldsOf(
  adapter: GoogleAdapter,
  { tools = [], toolChoice }: ModelRequest,
  { strict, onLoss }: GoogleModelOptions,
  dialect: "json-schema" | "schema",
  given: GivenToolConfig | undefined,
) {
  const declared = adapter.tools(tools, { dialect, onLoss }).filter(declares);
  const chosen = isSent(toolChoice, declared) && adapter.toolChoice(toolChoice, { strict });
  return { tools: declared, toolConfig: toolConfigOf() };

  function toolConfigOf(): { toolConfig?: any } {
    if (chosen !== false) return { toolConfig: withGiven(chosen["toolConfig"] as GivenToolConfig, given) };
    if (given?.functionCallingConfig === undefined || declared.length > 0) return {};
    // Gemini refuses it: https://github.com/musistudio/claude-code-router/issues/1207
    const { functionCallingConfig: _, ...others } = given;
    return { toolConfig: Object.keys(others).length > 0 ? others : undefined };
  }
}

interface GivenToolConfig {
  readonly functionCallingConfig?: { readonly mode?: unknown; readonly allowedFunctionNames?: unknown };
}

/** The choice, plus the parameters' other settings: streamed arguments, a location, tools that the server runs. */
function withGiven(chosen: GivenToolConfig, given: GivenToolConfig | undefined): any {
  const { mode: _, allowedFunctionNames: __, ...others } = given?.functionCallingConfig ?? {};
  return { ...given, functionCallingConfig: { ...others, ...chosen.functionCallingConfig } };
}

/** No tools means no `Tool`: the API rejects one without declarations. */
function declares(tool: { functionDeclarations?: readonly unknown[] }): boolean {
  return (tool.functionDeclarations?.length ?? 0) > 0;
}

export const conversation: Conversation<GoogleContent> = {
  userMessage: (text) => ({ role: "user", parts: [{ text }] }),
  modelMessage: (text) => ({ role: "model", parts: [{ text }] }),
  pair: (messages) => pairMessages(messages, PAIRING),
  imageResult: (output, images) =>
    resultContent(
      output,
      images.map(({ mediaType, data }) => ({ inlineData: { mimeType: mediaType, data } })),
    ),
};

const PAIRING: PairingRules<GoogleContent> = {
  joinsTurns: true,
  // `ai.chats` keeps each chunk as a content of its own. Gemini 3 takes each for a step, and only the first of parallel
  // calls is signed: https://github.com/googleapis/js-genai/issues/1275
  joinTurn: (contents) => ({ role: "model", parts: contents.flatMap(({ parts }) => parts) }),
  inOneMessage: true,
  parts(content) {
    const { parts, role } = content as { parts: GooglePart[]; role?: string };
    if (!Array.isArray(parts)) throw new TypeError("it has no list of parts");
    if (role === "assistant" || role === "system") throw new TypeError(`the role is "user" or "model", not "${role}"`);
    if (role === "model") return { isModels: true, calls: openCalls(parts) };
    const results = parts.filter(isResponse);
    const others = parts.filter((part) => !isResponse(part));
    return {
      isModels: false,
      results: results.map((part) => ({ ...named(part.functionResponse), message: { role: "user", parts: [part] } })),
      rest: others.length === 0 ? undefined : { ...content, parts: others },
      // Vertex AI accepts no results next to anything else: https://github.com/Prism-Shadow/agenthub/pull/189
      isMixed: others.length > 0,
    };
  },
  missing({ id, name }, text) {
    const functionResponse = { ...(id !== "" && { id }), name, response: { error: text } };
    return { role: "user", parts: [{ functionResponse }] };
  },
  join: (contents) => [{ role: "user", parts: contents.flatMap(({ parts }) => parts) }],
};

/** The calls that need a result: those that the server ran itself have theirs next to them. */
function openCalls(parts: readonly GooglePart[]): HistoryCall[] {
  const { take, left } = unpaired(
    parts.flatMap((part) => ("functionCall" in part && isRecord(part.functionCall) ? [named(part.functionCall)] : [])),
  );
  for (const { functionResponse } of parts.filter(isResponse)) take(named(functionResponse));
  return [...left];
}

function isResponse(part: GooglePart): part is GoogleFunctionResponsePart {
  return "functionResponse" in part && isRecord(part.functionResponse);
}

function named({ id, name }: { id?: string; name?: string }): { id: string; name: string } {
  return { id: id ?? "", name: name ?? "" };
}
