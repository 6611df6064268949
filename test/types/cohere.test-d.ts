import type { Cohere, CohereClientV2 } from "cohere-ai";
import { z } from "zod";
import { cohere, resultContent } from "../../adapters/cohere/index.ts";
import type { ToolCallError } from "../../src/errors.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";

declare const client: CohereClientV2;
declare const turn: Turn;
declare const use: ToolUse;
declare const error: ToolCallError;
const tools = [
  defineTool({ name: "get_weather", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
];

/** What the adapter makes goes into the SDK's requests, and what the SDK gives goes into the adapter, without a cast. */
export async function fitsTheSdk(): Promise<void> {
  const request = {
    model: "command-a-03-2025",
    messages: [
      { role: "user", content: "Hi" },
      ...cohere.assistantMessage(turn),
      ...cohere.toolResults(turn),
      cohere.toolResult(use, { celsius: 21 }),
      cohere.toolResult(use, resultContent([{ type: "document", document: { id: "a", data: { text: "hot" } } }])),
      cohere.toolError(error),
    ],
  } satisfies Cohere.V2ChatRequest;
  const byHand = {
    ...request,
    tools: cohere.tools(tools, { strict: true }),
    strictTools: true,
    ...cohere.toolChoice("required"),
  };
  const atOnce = { ...request, ...cohere.request(tools, { strict: "auto", choice: { name: "get_weather" } }) };

  cohere.read(await client.chatStream(byHand), { tools });
  cohere.read(await client.chatStream(atOnce), { tools });
  cohere.parse(await client.chat(byHand), { tools });
  cohere.parse(await client.chat(atOnce), { tools });
}

// @ts-expect-error a stream is no whole response
export const streamForResponse = (stream: AsyncIterable<Cohere.V2ChatStreamResponse>) => cohere.parse(stream);

// @ts-expect-error there is no such choice
cohere.toolChoice("any");
