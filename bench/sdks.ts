/** The official clients, each with a `fetch` that answers in this process. */
import { responseOf } from "./response.ts";
import type { Wire } from "./wires.ts";
import type { Stream } from "./workloads.ts";

/** Requests a stream through the SDK, as the SDK's docs show it. */
export type OpenSdk = (stream: Stream) => Requested;

/** What an SDK returns for a request. Some give access to the `Response`, too. */
export interface Requested extends Promise<AsyncIterable<unknown>> {
  asResponse?(): Promise<Response>;
}

/** The wires whose SDKs give access to the `Response`. */
export const RESPONSE_WIRES: readonly Wire[] = ["openai-chat", "openai-responses", "anthropic"];

const PROMPT = "Write the file.";
const messages = [{ role: "user" as const, content: PROMPT }];

/** Loads one SDK: the others would only fill the memory of the process. */
export async function loadSdk(wire: Wire): Promise<OpenSdk> {
  const waiting: Stream[] = [];
  // Requests arrive in the order in which they were made, even if a thousand are made at once.
  const fetch = async () => responseOf(waiting.shift()!);
  const open = await loaders[wire](fetch);
  return (stream) => {
    waiting.push(stream);
    return open();
  };
}

const loaders: Record<Wire, (fetch: () => Promise<Response>) => Promise<() => Requested>> = {
  async "openai-chat"(fetch) {
    const { OpenAI } = await import("openai");
    const client = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch });
    return () => client.chat.completions.create({ model: "gpt-5.2", messages, stream: true });
  },
  async "openai-responses"(fetch) {
    const { OpenAI } = await import("openai");
    const client = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch });
    return () => client.responses.create({ model: "gpt-5.2", input: PROMPT, stream: true });
  },
  async anthropic(fetch) {
    const { Anthropic } = await import("@anthropic-ai/sdk");
    const client = new Anthropic({ apiKey: "none", baseURL: "http://localhost", fetch });
    return () => client.messages.create({ model: "claude-sonnet-4-6", max_tokens: 1024, messages, stream: true });
  },
  async google(fetch) {
    const client = await genai("http://gemini.invalid", fetch);
    return () => client.models.generateContentStream({ model: "gemini-3-flash", contents: PROMPT });
  },
  async "google-interactions"(fetch) {
    const client = await genai("http://interactions.invalid", fetch);
    return () => client.interactions.create({ model: "gemini-3-flash", input: PROMPT, stream: true });
  },
  async cohere(fetch) {
    const { CohereClientV2 } = await import("cohere-ai");
    const client = new CohereClientV2({ token: "none", environment: "http://localhost", fetch });
    return () => client.chatStream({ model: "command-a-03-2025", messages });
  },
};

/** Not through its option `fetch`, with which it skips work that it does for ordinary requests (3.3.0). */
async function genai(baseUrl: string, fetch: () => Promise<Response>) {
  const { GoogleGenAI } = await import("@google/genai");
  const { fetch: native } = globalThis;
  globalThis.fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    return url.startsWith(baseUrl) ? fetch() : native(input, init);
  };
  return new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl } });
}
