import type { Adapter } from "../adapter.ts";
import type { Tool } from "../tool/tool.ts";
import { installed } from "./usage-error.ts";
import { adapterNamed } from "./wires.ts";

export interface Ask {
  /** Where the provider is; default: its own address. */
  readonly baseUrl?: string | undefined;
  readonly apiKey: string;
  readonly model: string;
  readonly prompt: string;
  readonly tools: readonly Tool[];
}

/** How the official client of a provider opens a stream. */
export interface Client {
  readonly adapter: Adapter;
  /** The name people know. */
  readonly title: string;
  /** The environment variables that may hold the key. */
  readonly keys: readonly string[];
  readonly exampleModel: string;
  /** What its base URL has after that of the endpoint. */
  readonly basePath: string;
  /** Loads the SDK, so that loading does not count towards the stream's time. */
  load(): Promise<unknown>;
  open(ask: Ask): Promise<AsyncIterable<unknown>>;
}

const openai = () => installed("openai", () => import("openai"));
const anthropic = () => installed("@anthropic-ai/sdk", () => import("@anthropic-ai/sdk"));
const genai = () => installed("@google/genai", () => import("@google/genai"));
const cohere = () => installed("cohere-ai", () => import("cohere-ai"));

const GEMINI_KEYS = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

export const clients: readonly Client[] = [
  {
    adapter: adapterNamed("openai-chat"),
    title: "OpenAI Chat Completions",
    keys: ["OPENAI_API_KEY"],
    exampleModel: "gpt-5-mini",
    basePath: "/v1",
    load: openai,
    async open({ baseUrl, apiKey, model, prompt, tools }) {
      const client = await openaiClient(apiKey, baseUrl && `${baseUrl}${this.basePath}`);
      return client.chat.completions.create({
        model,
        messages: [{ role: "user", content: prompt }],
        tools: this.adapter.tools(tools),
        stream: true,
      });
    },
  },
  {
    adapter: adapterNamed("openai-responses"),
    title: "OpenAI Responses",
    keys: ["OPENAI_API_KEY"],
    exampleModel: "gpt-5-mini",
    basePath: "/v1",
    load: openai,
    async open({ baseUrl, apiKey, model, prompt, tools }) {
      const client = await openaiClient(apiKey, baseUrl && `${baseUrl}${this.basePath}`);
      return client.responses.create({ model, input: prompt, tools: this.adapter.tools(tools), stream: true });
    },
  },
  {
    adapter: adapterNamed("anthropic"),
    title: "Anthropic Messages",
    keys: ["ANTHROPIC_API_KEY"],
    exampleModel: "claude-haiku-4-5",
    basePath: "",
    load: anthropic,
    async open({ baseUrl, apiKey, model, prompt, tools }) {
      const { Anthropic } = await anthropic();
      const client = new Anthropic({ apiKey, ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) });
      return client.messages.create({
        model,
        max_tokens: 1024,
        messages: [{ role: "user", content: prompt }],
        tools: this.adapter.tools(tools),
        stream: true,
      });
    },
  },
  {
    adapter: adapterNamed("google"),
    title: "Google Gemini",
    keys: GEMINI_KEYS,
    exampleModel: "gemini-2.5-flash",
    basePath: "",
    load: genai,
    async open({ baseUrl, apiKey, model, prompt, tools }) {
      const client = await genaiClient(apiKey, baseUrl);
      return client.models.generateContentStream({
        model,
        contents: prompt,
        config: { tools: this.adapter.tools(tools) },
      });
    },
  },
  {
    adapter: adapterNamed("google-interactions"),
    title: "Google Gemini Interactions",
    keys: GEMINI_KEYS,
    exampleModel: "gemini-3-flash-preview",
    basePath: "",
    load: genai,
    async open({ baseUrl, apiKey, model, prompt, tools }) {
      const client = await genaiClient(apiKey, baseUrl);
      return client.interactions.create({
        model,
        input: prompt,
        tools: this.adapter.tools(tools),
        store: false,
        stream: true,
      });
    },
  },
  {
    adapter: adapterNamed("cohere"),
    title: "Cohere v2 chat",
    keys: ["CO_API_KEY", "COHERE_API_KEY"],
    exampleModel: "command-a-03-2025",
    basePath: "",
    load: cohere,
    async open({ baseUrl, apiKey, model, prompt, tools }) {
      const { CohereClientV2 } = await cohere();
      const client = new CohereClientV2({ token: apiKey, ...(baseUrl === undefined ? {} : { environment: baseUrl }) });
      return client.chatStream({
        model,
        messages: [{ role: "user", content: prompt }],
        tools: this.adapter.tools(tools),
      });
    },
  },
];

async function openaiClient(apiKey: string, baseURL: string | undefined) {
  const { OpenAI } = await openai();
  return new OpenAI({ apiKey, ...(baseURL === undefined ? {} : { baseURL }) });
}

async function genaiClient(apiKey: string, baseUrl: string | undefined) {
  const { GoogleGenAI } = await genai();
  return new GoogleGenAI({ apiKey, ...(baseUrl === undefined ? {} : { httpOptions: { baseUrl } }) });
}
