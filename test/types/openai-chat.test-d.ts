import type OpenAI from "openai";
import type { AzureOpenAI } from "openai";
import { z } from "zod";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import type { ToolCallError } from "../../src/errors.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";

declare const client: OpenAI;
declare const azure: AzureOpenAI;
declare const turn: Turn;
declare const use: ToolUse;
declare const error: ToolCallError;
const tools = [
  defineTool({ name: "get_weather", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
  defineTool({ name: "write_sql", inputSchema: z.string(), execute: (sql) => sql.length }),
];

/** A chunk as another SDK of this wire types it. */
interface OtherChunk {
  id: string;
  choices: {
    index: number;
    delta: { content?: string | null; reasoning?: string | null };
    finish_reason: string | null;
  }[];
  x_groq?: { usage?: { prompt_tokens: number } };
}

/** What the adapter makes goes into the SDK's requests, and what the SDK gives goes into the adapter, without a cast. */
export async function fitsTheSdk(): Promise<void> {
  const request = {
    model: "gpt-5.4",
    messages: [
      { role: "user", content: "Hi" },
      ...openaiChat.assistantMessage(turn),
      ...openaiChat.assistantMessage(turn, { reasoning: false }),
      ...openaiChat.toolResults(turn),
      openaiChat.toolResult(use, { celsius: 21 }),
      openaiChat.toolError(error),
    ],
    tools: openaiChat.tools(tools, { strict: "auto", onLoss: "throw" }),
    ...openaiChat.toolChoice({ names: ["get_weather"], required: true }, { parallel: false, tools }),
  } satisfies OpenAI.Chat.ChatCompletionCreateParams;

  openaiChat.read(await client.chat.completions.create({ ...request, stream: true }), { tools, choice: 1 });
  openaiChat.read(await azure.chat.completions.create({ ...request, stream: true }), { tools });
  openaiChat.read(client.chat.completions.stream(request), { tools });
  openaiChat.read(await client.chat.completions.create({ ...request, stream: true }).asResponse(), { tools });
  openaiChat.parse(await client.chat.completions.create(request), { tools });
  openaiChat.parse(await client.chat.completions.parse(request), { tools });
  const history: OpenAI.Chat.ChatCompletionMessageParam[] = openaiChat.assistantMessage(turn);
  history.push(...openaiChat.toolResults(turn));

  openaiChat.read({} as AsyncIterable<OtherChunk>, { tools });
  openaiChat.read({} as ReadableStream<Uint8Array>, { tools });

  // @ts-expect-error a response of the other API is no chat completion
  openaiChat.parse(await client.responses.create({ model: "gpt-5.4", input: "Hi" }));
  // @ts-expect-error a promise is no stream: await it
  openaiChat.read(client.chat.completions.create({ ...request, stream: true }));
  // @ts-expect-error no such choice
  openaiChat.toolChoice("any");
  // @ts-expect-error no such mode
  openaiChat.tools(tools, { strict: "always" });
  // @ts-expect-error a stream is read, not parsed
  openaiChat.parse(await client.chat.completions.create({ ...request, stream: true }));
}
