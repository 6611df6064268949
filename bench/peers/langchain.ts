import { ChatAnthropic } from "@langchain/anthropic";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import type { Outcome } from "../floor.ts";
import type { Peer } from "../peer.ts";
import type { Stream } from "../workloads.ts";
import { BASE_URL, localFetch, outcome, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const gpt = { model: "gpt-5.2", apiKey: "none", configuration: { baseURL: BASE_URL, fetch } };
const openai = new ChatOpenAI(gpt);
const responses = new ChatOpenAI({ ...gpt, useResponsesApi: true });
const anthropic = new ChatAnthropic({
  model: "claude-sonnet-4-6",
  apiKey: "none",
  maxRetries: 0,
  clientOptions: { fetch },
});

type Model = typeof openai | typeof anthropic;

const concatenated = (model: Model, look: (message: AIMessageChunk) => void) => async (stream: Stream) => {
  answer(stream);
  let message: AIMessageChunk | undefined;
  for await (const chunk of await model.stream(PROMPT)) {
    message = message === undefined ? chunk : message.concat(chunk);
    look(message);
  }
  const calls: Outcome["calls"][number][] = (message?.tool_calls ?? []).map(({ id, name, args }) => ({
    id: id ?? null,
    name,
    input: args,
  }));
  return outcome(calls, message?.text);
};

const nothing = () => {};
let seen = 0;
const toolCalls = (message: AIMessageChunk) => {
  seen += message.tool_calls?.length ?? 0;
};

export const peers: Peer[] = [
  {
    name: "langchain, concat",
    package: "@langchain/core",
    quadratic: false,
    readsText: true,
    wires: {
      "openai-chat": concatenated(openai, nothing),
      "openai-responses": concatenated(responses, nothing),
      anthropic: concatenated(anthropic, nothing),
    },
  },
  {
    name: "langchain, concat, tool_calls at each chunk",
    package: "@langchain/core",
    quadratic: true,
    wires: {
      "openai-chat": concatenated(openai, toolCalls),
      "openai-responses": concatenated(responses, toolCalls),
      anthropic: concatenated(anthropic, toolCalls),
    },
  },
];
