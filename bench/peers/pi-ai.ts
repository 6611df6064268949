import type { AssistantMessageEvent, Model } from "@earendil-works/pi-ai";
import { stream as anthropic } from "@earendil-works/pi-ai/api/anthropic-messages";
import { stream as openai } from "@earendil-works/pi-ai/api/openai-completions";
import { stream as responses } from "@earendil-works/pi-ai/api/openai-responses";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import type { Outcome } from "../floor.ts";
import type { Peer } from "../peer.ts";
import { BASE_URL, localFetch, outcome, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const options = { apiKey: "none", fetch };
const context = normalizeContext({ messages: [{ role: "user", content: PROMPT, timestamp: 0 }] });

function model<A extends "openai-completions" | "openai-responses" | "anthropic-messages">(
  api: A,
  id: string,
): Model<A> {
  return {
    id,
    name: id,
    api,
    provider: "local",
    baseUrl: BASE_URL,
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 131_072,
    maxTokens: 32_000,
  };
}

const gpt = model("openai-completions", "gpt-5.2");
const gptResponses = model("openai-responses", "gpt-5.2");
const claude = model("anthropic-messages", "claude-sonnet-4-6");

async function read(events: AsyncIterable<AssistantMessageEvent>): Promise<Outcome> {
  const calls: Outcome["calls"][number][] = [];
  let text = "";
  for await (const event of events) {
    if (event.type === "text_delta") text += event.delta;
    else if (event.type === "toolcall_end") {
      const { id, name, arguments: input } = event.toolCall;
      // With OpenAI Responses it consists of the call's id and the item's.
      calls.push({ id: id.split("|", 1)[0]!, name, input });
    } else if (event.type === "error") throw new Error(event.error.errorMessage);
  }
  return outcome(calls, text);
}

export const peers: Peer[] = [
  {
    name: "pi-ai, stream",
    package: "@earendil-works/pi-ai",
    quadratic: false,
    readsText: true,
    wires: {
      "openai-chat"(stream) {
        answer(stream);
        return read(openai(gpt, context, options));
      },
      "openai-responses"(stream) {
        answer(stream);
        return read(responses(gptResponses, context, options));
      },
      anthropic(stream) {
        answer(stream);
        return read(anthropic(claude, context, options));
      },
    },
  },
];
