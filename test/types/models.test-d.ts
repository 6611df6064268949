import type Anthropic from "@anthropic-ai/sdk";
import type { Content, GoogleGenAI, Interactions } from "@google/genai";
import type { Content as LegacyContent, GenerativeModel } from "@google/generative-ai";
import type { CohereClientV2 } from "cohere-ai";
import type OpenAI from "openai";
import type { AzureOpenAI } from "openai";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Model } from "../../src/model.ts";
import { Orchestrator } from "../../src/run/index.ts";
import type { Store } from "../../src/store/store.ts";

declare const openai: OpenAI;
declare const azure: AzureOpenAI;
declare const claude: Anthropic;
declare const ai: GoogleGenAI;
declare const legacy: GenerativeModel;
declare const co: CohereClientV2;
declare const store: Store;
declare const params: OpenAI.ChatCompletionMessageParam[];

/** The clients as they are, their parameters as the SDKs type them. */
export const chat: Model<OpenAI.ChatCompletionMessageParam> = openaiChat.model(openai, {
  model: "gpt-5-mini",
  reasoning_effort: "low",
  metadata: { run: "1" },
});
export const others: readonly Model[] = [
  openaiChat.model(azure, { model: "deployment" }, { instructionsRole: "developer", strict: true }),
  openaiResponses.model(openai, { model: "gpt-5-mini", store: false, reasoning: { effort: "low" } }),
  anthropic.model(claude, { model: "claude-sonnet-4-5", max_tokens: 4096, thinking: { type: "adaptive" } }),
  google.model(ai, { model: "gemini-2.5-flash", config: { temperature: 0 } }) satisfies Model<Content>,
  google.model(legacy) satisfies Model<LegacyContent>,
  googleInteractions.model(ai, {
    model: "m",
    generation_config: { temperature: 0 },
  }) satisfies Model<Interactions.Step>,
  cohere.model(co, { model: "command-a-03-2025", temperature: 0 }),
];

/** Tools that the provider runs go beside ours. */
export const hosted: readonly Model[] = [
  openaiResponses.model(openai, { model: "gpt-5-mini", tools: [{ type: "web_search" }] }),
  anthropic.model(claude, { model: "m", max_tokens: 1, tools: [{ type: "web_search_20250305", name: "web_search" }] }),
  anthropic.model(claude.beta, {
    model: "m",
    max_tokens: 1,
    betas: ["mcp-client-2025-11-20"],
    mcp_servers: [{ type: "url", name: "docs", url: "https://example.com/mcp" }],
    tools: [{ type: "mcp_toolset", mcp_server_name: "docs" }],
    fallbacks: "default",
  }) satisfies Model<Anthropic.Beta.BetaMessageParam>,
  google.model(ai, { model: "m", config: { tools: [{ googleSearch: {} }] } }),
  google.model(legacy, { tools: [{ codeExecution: {} }] }),
  googleInteractions.model(ai, { model: "m", tools: [{ type: "google_search" }] }),
];

/** What each turn brings is not the user's to give, and what the SDK does not know is refused. */
export const refused = [
  // @ts-expect-error -- messages are the turn's
  openaiChat.model(openai, { model: "m", messages: [] }),
  // @ts-expect-error -- so is stream
  openaiResponses.model(openai, { model: "m", stream: true }),
  // @ts-expect-error -- max_tokens is missing
  anthropic.model(claude, { model: "m" }),
  // @ts-expect-error -- functions are the turn's
  google.model(ai, { model: "m", config: { tools: [{ functionDeclarations: [] }] } }),
  // @ts-expect-error -- functions are the turn's
  openaiResponses.model(openai, { model: "m", tools: [{ type: "function", name: "f", parameters: {}, strict: null }] }),
  // @ts-expect-error -- functions are the turn's
  anthropic.model(claude, { model: "m", max_tokens: 1, tools: [{ name: "f", input_schema: { type: "object" } }] }),
  // @ts-expect-error -- of the beta only
  anthropic.model(claude, { model: "m", max_tokens: 1, mcp_servers: [] }),
  // @ts-expect-error -- nothing is hosted there
  cohere.model(co, { model: "m", tools: [] }),
  // @ts-expect-error -- another provider's client
  cohere.model(openai, { model: "m" }),
  // @ts-expect-error -- no such effort
  openaiChat.model(openai, { model: "m", reasoning_effort: "huge" }),
];

/** A run's messages are the provider's. */
export async function messagesOfARun(): Promise<OpenAI.ChatCompletionMessageParam[]> {
  const orchestrator = new Orchestrator({ model: chat, store });
  const { messages } = await orchestrator.run({ input: "Hi", messages: params });
  // @ts-expect-error -- no message of this provider's
  await orchestrator.run({ messages: [{ role: "model", parts: [] }] });
  return [...messages];
}
