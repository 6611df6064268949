import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../adapter.ts";
import type { Model } from "../model.ts";
import { installed } from "./usage-error.ts";

export interface Ask {
  /** Where the provider is; default: its own address. */
  readonly baseUrl?: string | undefined;
  readonly apiKey: string;
  readonly model: string;
}

/** The official client of a provider. */
export interface Client {
  readonly adapter: Adapter;
  /** The name people know. */
  readonly title: string;
  /** The environment variables that may hold the key. */
  readonly keys: readonly string[];
  readonly exampleModel: string;
  /** What its base URL has after that of the endpoint. */
  readonly basePath: string;
  /** Loads the SDK, and makes its client. */
  model(ask: Ask): Promise<Model>;
}

const OPENAI_PATH = "/v1";
const GEMINI_KEYS = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

export const clients: readonly Client[] = [
  {
    adapter: openaiChat,
    title: "OpenAI Chat Completions",
    keys: ["OPENAI_API_KEY"],
    exampleModel: "gpt-5-mini",
    basePath: OPENAI_PATH,
    model: async (ask) => openaiChat.model(await openai(ask), { model: ask.model }),
  },
  {
    adapter: openaiResponses,
    title: "OpenAI Responses",
    keys: ["OPENAI_API_KEY"],
    exampleModel: "gpt-5-mini",
    basePath: OPENAI_PATH,
    model: async (ask) => openaiResponses.model(await openai(ask), { model: ask.model }),
  },
  {
    adapter: anthropic,
    title: "Anthropic Messages",
    keys: ["ANTHROPIC_API_KEY"],
    exampleModel: "claude-haiku-4-5",
    basePath: "",
    async model({ apiKey, model, baseUrl: baseURL }) {
      const { Anthropic } = await installed("@anthropic-ai/sdk", () => import("@anthropic-ai/sdk"));
      const client = new Anthropic({ apiKey, ...(baseURL !== undefined && { baseURL }) });
      return anthropic.model(client, { model, max_tokens: 1024 });
    },
  },
  {
    adapter: google,
    title: "Google Gemini",
    keys: GEMINI_KEYS,
    exampleModel: "gemini-2.5-flash",
    basePath: "",
    model: async (ask) => google.model(await genai(ask), { model: ask.model }),
  },
  {
    adapter: googleInteractions,
    title: "Google Gemini Interactions",
    keys: GEMINI_KEYS,
    exampleModel: "gemini-3-flash-preview",
    basePath: "",
    model: async (ask) => googleInteractions.model(await genai(ask), { model: ask.model, store: false }),
  },
  {
    adapter: cohere,
    title: "Cohere v2 chat",
    keys: ["CO_API_KEY", "COHERE_API_KEY"],
    exampleModel: "command-a-03-2025",
    basePath: "",
    async model({ apiKey: token, model, baseUrl: environment }) {
      const { CohereClientV2 } = await installed("cohere-ai", () => import("cohere-ai"));
      const client = new CohereClientV2({ token, ...(environment !== undefined && { environment }) });
      return cohere.model(client, { model });
    },
  },
];

async function openai({ apiKey, baseUrl }: Ask) {
  const { OpenAI } = await installed("openai", () => import("openai"));
  return new OpenAI({ apiKey, ...(baseUrl !== undefined && { baseURL: `${baseUrl}${OPENAI_PATH}` }) });
}

async function genai({ apiKey, baseUrl }: Ask) {
  const { GoogleGenAI } = await installed("@google/genai", () => import("@google/genai"));
  return new GoogleGenAI({ apiKey, ...(baseUrl !== undefined && { httpOptions: { baseUrl } }) });
}
