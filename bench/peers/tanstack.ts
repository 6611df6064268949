import { chat, StreamProcessor, toolDefinition } from "@tanstack/ai";
import { createAnthropicChat } from "@tanstack/ai-anthropic";
import { createOpenaiChat, createOpenaiChatCompletions } from "@tanstack/ai-openai";
import { z } from "zod";
import type { Outcome } from "../floor.ts";
import type { Peer } from "../peer.ts";
import { TOOL_NAME, type Stream } from "../workloads.ts";
import { BASE_URL, localFetch, outcome, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const openai = createOpenaiChatCompletions("gpt-5.2", "none", { baseURL: BASE_URL, fetch });
const responses = createOpenaiChat("gpt-5.2", "none", { baseURL: BASE_URL, fetch });
const anthropic = createAnthropicChat("claude-sonnet-4-6", "none", { baseURL: "http://localhost", fetch });

type Adapter = typeof openai | typeof responses | typeof anthropic;

// Without an implementation, so that the stream ends with the calls.
const tools = [
  toolDefinition({
    name: TOOL_NAME,
    description: "Writes a file.",
    inputSchema: z.object({ path: z.string(), content: z.string() }),
  }),
];

function start(adapter: Adapter, stream: Stream) {
  answer(stream);
  return chat({ adapter: adapter as typeof openai, messages: [{ role: "user", content: PROMPT }], tools });
}

const chunks = (adapter: Adapter) => async (stream: Stream) => {
  const names = new Map<string, string>();
  const calls: Outcome["calls"][number][] = [];
  let text = "";
  for await (const chunk of start(adapter, stream)) {
    if (chunk.type === "TEXT_MESSAGE_CONTENT") text += chunk.delta;
    else if (chunk.type === "TOOL_CALL_START") names.set(chunk.toolCallId, chunk.toolCallName);
    else if (chunk.type === "TOOL_CALL_END") {
      calls.push({ id: chunk.toolCallId, name: names.get(chunk.toolCallId)!, input: chunk.input });
    } else if (chunk.type === "RUN_ERROR") throw new Error(chunk.message);
  }
  return outcome(calls, text);
};

const processed = (adapter: Adapter) => async (stream: Stream) => {
  const processor = new StreamProcessor();
  await processor.process(start(adapter, stream));
  const calls = (processor.getMessages().at(-1)?.parts ?? []).flatMap((part) =>
    part.type === "tool-call" ? [{ id: part.id, name: part.name, input: part.input as unknown }] : [],
  );
  return outcome(calls);
};

export const peers: Peer[] = [
  {
    name: "tanstack, chat",
    package: "@tanstack/ai",
    quadratic: false,
    readsText: true,
    wires: { "openai-chat": chunks(openai), "openai-responses": chunks(responses), anthropic: chunks(anthropic) },
  },
  {
    name: "tanstack, StreamProcessor",
    package: "@tanstack/ai",
    quadratic: true,
    wires: {
      "openai-chat": processed(openai),
      "openai-responses": processed(responses),
      anthropic: processed(anthropic),
    },
  },
];
