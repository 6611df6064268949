/** It reads no provider's wire: the provider's SDK does, and the deltas are written to the controller. */
import Anthropic from "@anthropic-ai/sdk";
import {
  AssistantMessageStream,
  createAssistantStream,
  type AssistantStreamController,
  type ToolCallStreamController,
} from "assistant-stream";
import OpenAI from "openai";
import type { Outcome } from "../floor.ts";
import type { Peer } from "../peer.ts";
import type { Stream } from "../workloads.ts";
import { BASE_URL, localFetch, outcome, PROMPT } from "./fetch.ts";

const { fetch, answer } = localFetch();
const openai = new OpenAI({ apiKey: "none", baseURL: BASE_URL, fetch });
const anthropic = new Anthropic({ apiKey: "none", baseURL: "http://localhost", fetch });
const messages = [{ role: "user" as const, content: PROMPT }];

async function writeOpenai(controller: AssistantStreamController): Promise<void> {
  const calls: ToolCallStreamController[] = [];
  for await (const chunk of await openai.chat.completions.create({ model: "gpt-5.2", messages, stream: true })) {
    for (const { index, id, function: part } of chunk.choices[0]?.delta.tool_calls ?? []) {
      if (id) calls[index] = controller.addToolCallPart({ toolCallId: id, toolName: part?.name ?? "" });
      if (part?.arguments) calls[index]!.argsText.append(part.arguments);
    }
  }
  for (const call of calls) call.close();
}

async function writeResponses(controller: AssistantStreamController): Promise<void> {
  const calls: ToolCallStreamController[] = [];
  for await (const event of await openai.responses.create({ model: "gpt-5.2", input: PROMPT, stream: true })) {
    if (event.type === "response.output_item.added" && event.item.type === "function_call") {
      const { call_id: toolCallId, name: toolName } = event.item;
      calls[event.output_index] = controller.addToolCallPart({ toolCallId, toolName });
    } else if (event.type === "response.function_call_arguments.delta") {
      calls[event.output_index]!.argsText.append(event.delta);
    } else if (event.type === "response.output_item.done") calls[event.output_index]?.close();
  }
}

async function writeAnthropic(controller: AssistantStreamController): Promise<void> {
  const calls: ToolCallStreamController[] = [];
  const request = { model: "claude-sonnet-4-6", max_tokens: 1024, messages, stream: true } as const;
  for await (const event of await anthropic.messages.create(request)) {
    if (event.type === "content_block_start" && event.content_block.type === "tool_use") {
      const { id, name } = event.content_block;
      calls[event.index] = controller.addToolCallPart({ toolCallId: id, toolName: name });
    } else if (event.type === "content_block_delta" && event.delta.type === "input_json_delta") {
      calls[event.index]!.argsText.append(event.delta.partial_json);
    } else if (event.type === "content_block_stop") calls[event.index]?.close();
  }
}

const accumulated = (write: typeof writeOpenai) => async (stream: Stream) => {
  answer(stream);
  const message = await AssistantMessageStream.fromAssistantStream(createAssistantStream(write)).unstable_result();
  const calls: Outcome["calls"][number][] = message.parts.flatMap((part) =>
    part.type === "tool-call"
      ? [{ id: part.toolCallId, name: part.toolName, input: JSON.parse(part.argsText) as unknown }]
      : [],
  );
  return outcome(calls);
};

export const peers: Peer[] = [
  {
    name: "assistant-stream, on the raw SDK",
    package: "assistant-stream",
    quadratic: true,
    wires: {
      "openai-chat": accumulated(writeOpenai),
      "openai-responses": accumulated(writeResponses),
      anthropic: accumulated(writeAnthropic),
    },
  },
];
