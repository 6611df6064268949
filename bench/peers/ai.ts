import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { readUIMessageStream, streamText, tool, type LanguageModel } from "ai";
import { z } from "zod";
import type { Outcome } from "../floor.ts";
import type { Peer } from "../peer.ts";
import { TOOL_NAME, type Stream } from "../workloads.ts";
import { BASE_URL, localFetch, outcome, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const provider = createOpenAI({ apiKey: "none", baseURL: BASE_URL, fetch });
const openai = provider.chat("gpt-4.1");
const responses = provider.responses("gpt-4.1");
const compatible = createOpenAICompatible({ name: "local", baseURL: BASE_URL, fetch })("gpt-4.1");
const anthropic = createAnthropic({ apiKey: "none", baseURL: BASE_URL, fetch })("claude-sonnet-4-6");

// Without `execute`, so that the stream ends with the calls.
const tools = { [TOOL_NAME]: tool({ inputSchema: z.object({ path: z.string(), content: z.string() }) }) };

function start(model: LanguageModel, stream: Stream) {
  answer(stream);
  return streamText({ model, prompt: PROMPT, tools, maxRetries: 0 });
}

const full = (model: LanguageModel) => async (stream: Stream) => {
  const calls: Outcome["calls"][number][] = [];
  let text = "";
  for await (const part of start(model, stream).fullStream) {
    if (part.type === "text-delta") text += part.text;
    else if (part.type === "tool-call") calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    else if (part.type === "error") throw part.error;
  }
  return outcome(calls, text);
};

const uiChunks = (model: LanguageModel) => async (stream: Stream) => {
  const calls: Outcome["calls"][number][] = [];
  let text = "";
  for await (const part of start(model, stream).toUIMessageStream()) {
    if (part.type === "text-delta") text += part.delta;
    else if (part.type === "tool-input-available") {
      calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    }
  }
  return outcome(calls, text);
};

const uiMessages = (model: LanguageModel) => async (stream: Stream) => {
  const calls = new Map<string, Outcome["calls"][number]>();
  let text = "";
  for await (const { parts } of readUIMessageStream({ stream: start(model, stream).toUIMessageStream() })) {
    text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    for (const part of parts) {
      if (!part.type.startsWith("tool-") || !("toolCallId" in part) || part.state !== "input-available") continue;
      const { toolCallId: id, type, input } = part;
      calls.set(id, { id, name: type.slice("tool-".length), input });
    }
  }
  return outcome([...calls.values()], text);
};

export const peers: Peer[] = [
  {
    name: "ai, streamText",
    package: "ai",
    quadratic: false,
    readsText: true,
    wires: { "openai-chat": full(openai), "openai-responses": full(responses), anthropic: full(anthropic) },
  },
  {
    name: "ai, streamText, openai-compatible",
    package: "@ai-sdk/openai-compatible",
    quadratic: false,
    readsText: true,
    wires: { "openai-chat": full(compatible) },
  },
  {
    name: "ai, UI message chunks",
    package: "ai",
    quadratic: false,
    readsText: true,
    wires: { "openai-chat": uiChunks(openai), "openai-responses": uiChunks(responses), anthropic: uiChunks(anthropic) },
  },
  {
    name: "ai, UI messages",
    package: "ai",
    quadratic: true,
    readsText: true,
    wires: {
      "openai-chat": uiMessages(openai),
      "openai-responses": uiMessages(responses),
      anthropic: uiMessages(anthropic),
    },
  },
];
