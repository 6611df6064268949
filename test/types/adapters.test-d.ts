import type Anthropic from "@anthropic-ai/sdk";
import type { Interactions } from "@google/genai";
import type { CohereClientV2 } from "cohere-ai";
import type OpenAI from "openai";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter, StreamSource } from "../../src/adapter.ts";
import { defineTool } from "../../src/tool/tool.ts";

type CohereMessages = Parameters<CohereClientV2["chatStream"]>[0]["messages"];

const tools = [
  defineTool({ name: "get_weather", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
];

/** A turn of any provider: the types of its events, tools and messages are found by the adapter. */
async function turn<E, R, P, M>(
  adapter: Adapter<E, R, P, M>,
  messages: M[],
  open: (messages: M[], tools: P[]) => Promise<StreamSource<E>>,
): Promise<void> {
  const stream = adapter.read(await open(messages, adapter.tools(tools)), { tools });
  for await (const event of stream) {
    if (event.type === "tool-use" && event.use.name === "get_weather") event.use.input.city satisfies string;
  }
  messages.push(...adapter.assistantMessage(stream.turn), ...adapter.toolResults(stream.turn));
}

export async function ofEveryAdapter(
  client: OpenAI,
  chat: OpenAI.ChatCompletionMessageParam[],
  responses: OpenAI.Responses.ResponseInputItem[],
  claude: Anthropic.MessageParam[],
  gemini: ReturnType<typeof google.assistantMessage>,
  steps: Interactions.Step[],
  command: CohereMessages,
): Promise<void> {
  const open = async (): Promise<Response> => new Response();
  await turn(openaiChat, chat, (messages, offered) =>
    client.chat.completions.create({ model: "m", messages, tools: offered, stream: true }),
  );
  await turn(openaiResponses, responses, open);
  await turn(anthropic, claude, open);
  await turn(google, gemini, open);
  await turn(googleInteractions, steps, open);
  await turn(cohere, command, open);
}
