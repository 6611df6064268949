/**
 * The lowered tools of every adapter, plain and strict, are what each official SDK's own request types ask for, with no
 * cast. The other `*.test-d.ts` hold whole requests; here are all places that take tools. Checked by `tsc`.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type * as genai from "@google/genai";
import type * as legacy from "@google/generative-ai";
import type { Cohere } from "cohere-ai";
import type OpenAI from "openai";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../../src/adapter.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";

const tools = [
  defineTool({ name: "a", inputSchema: z.object({ city: z.string().optional() }), execute: ({ city }) => city }),
  defineTool({ name: "b", inputSchema: { type: "object", properties: {} } }),
];
const registry = new ToolRegistry(tools);

export const all: readonly Adapter[] = [openaiChat, openaiResponses, anthropic, google, googleInteractions, cohere];

export const openaiChatTools: OpenAI.Chat.ChatCompletionTool[][] = [
  openaiChat.tools(tools),
  openaiChat.tools(tools, { strict: true }),
  openaiChat.tools(registry, { strict: "auto", onLoss: (loss) => loss.rule }),
];
export const openaiChatParams: OpenAI.Chat.ChatCompletionCreateParamsStreaming = {
  model: "gpt-5.4",
  messages: [],
  stream: true,
  tools: openaiChat.tools(tools, { strict: true }),
  ...openaiChat.toolChoice({ name: "a" }),
};

export const openaiResponsesTools: OpenAI.Responses.Tool[][] = [
  openaiResponses.tools(tools),
  openaiResponses.tools(tools, { strict: true }),
  openaiResponses.tools(registry, { strict: "auto" }),
];
export const openaiResponsesParams: OpenAI.Responses.ResponseCreateParamsStreaming = {
  model: "gpt-5.4",
  input: "Hi",
  stream: true,
  tools: openaiResponses.tools(tools, { strict: true }),
  ...openaiResponses.toolChoice("required"),
};

export const anthropicTools: Anthropic.ToolUnion[][] = [
  anthropic.tools(tools),
  anthropic.tools(tools, { strict: true }),
  anthropic.tools(registry, { strict: "auto" }),
];
export const anthropicBetaTools: Anthropic.Beta.BetaToolUnion[] = anthropic.tools(tools, { strict: true });
export const anthropicCount: Anthropic.MessageCountTokensParams = {
  model: "claude-sonnet-5",
  messages: [],
  tools: anthropic.tools(tools),
  ...anthropic.toolChoice("required"),
};

// `@google/genai` takes both dialects: `parametersJsonSchema` and `parameters`.
export const genaiTools: genai.ToolListUnion[] = [
  google.tools(tools),
  google.tools(tools, { dialect: "json-schema" }),
  google.tools(tools, { dialect: "schema" }),
  google.tools(registry, { strict: "auto" }),
];
export const genaiDeclarations: genai.FunctionDeclaration[] = google
  .tools(tools)
  .flatMap(({ functionDeclarations }) => functionDeclarations);
export const genaiChat: genai.CreateChatParameters = {
  model: "gemini-3-flash-preview",
  config: { tools: google.tools(tools), ...google.toolChoice("auto", { strict: true }) },
};
export const genaiLive: genai.LiveConnectConfig = { tools: google.tools(tools) };
export const genaiCache: genai.CreateCachedContentConfig = { tools: google.tools(tools), ...google.toolChoice("none") };

// `@google/generative-ai` knows `parameters` only, and passes on what else is in a declaration.
export const legacyTools: legacy.Tool[][] = [google.tools(tools, { dialect: "schema" }), google.tools(tools)];
export const legacyModel: legacy.ModelParams = {
  model: "gemini-2.5-flash",
  tools: google.tools(tools, { dialect: "schema" }),
  ...google.toolChoice({ names: ["a"] }, { dialect: "schema" }),
};
export const legacyChat: legacy.StartChatParams = { tools: google.tools(registry, { dialect: "schema" }) };

export const cohereTools: Cohere.ToolV2[][] = [
  cohere.tools(tools),
  cohere.tools(tools, { strict: true }),
  cohere.tools(registry, { strict: "auto" }),
];
export const cohereRequests: (Cohere.V2ChatStreamRequest | Cohere.V2ChatRequest)[] = [
  { model: "command-a-03-2025", messages: [], ...cohere.request(tools) },
  { model: "command-a-03-2025", messages: [], ...cohere.request(tools, { strict: true, choice: "required" }) },
  { model: "command-a-03-2025", messages: [], tools: cohere.tools(tools), ...cohere.toolChoice("none") },
];

// @ts-expect-error tools of one wire are no tools of another
export const crossed: OpenAI.Chat.ChatCompletionTool[] = anthropic.tools(tools);
// @ts-expect-error nor are the two APIs of one provider the same
export const crossedToo: OpenAI.Responses.Tool[] = openaiChat.tools(tools);
