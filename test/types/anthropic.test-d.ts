import type Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { anthropic, resultContent } from "../../adapters/anthropic/index.ts";
import type { ToolCallError } from "../../src/errors.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";

/** Every block goes back in the form in which it comes. */
export const sent = (blocks: Anthropic.ContentBlock[]): Anthropic.ContentBlockParam[] => blocks;
export const sentBeta = (blocks: Anthropic.Beta.BetaContentBlock[]): Anthropic.Beta.BetaContentBlockParam[] => blocks;

declare const client: Anthropic;
declare const turn: Turn;
declare const use: ToolUse;
declare const error: ToolCallError;
const tools = [
  defineTool({ name: "get_weather", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
];

/** What the adapter makes goes into the SDK's requests, and what the SDK gives goes into the adapter, without a cast. */
export async function fitsTheSdk(): Promise<void> {
  const request = {
    model: "claude-sonnet-5",
    max_tokens: 1024,
    messages: [
      { role: "user", content: "Hi" },
      ...anthropic.assistantMessage(turn),
      ...anthropic.toolResults(turn),
      anthropic.toolResult(use, { celsius: 21 }),
      anthropic.toolResult(use, resultContent([{ type: "text", text: "hot" }])),
      anthropic.toolError(error),
    ],
    tools: anthropic.tools(tools, { strict: "auto", onLoss: "throw" }),
    ...anthropic.toolChoice({ name: "get_weather" }, { parallel: false }),
  } satisfies Anthropic.MessageCreateParams;

  anthropic.read(await client.messages.create({ ...request, stream: true }), { tools });
  anthropic.read(client.messages.stream(request), { tools });
  anthropic.read(await fetch("https://example.com"), { tools });
  anthropic.parse(await client.messages.create(request), { tools });
  anthropic.tools(tools).map((tool): Anthropic.Tool => ({ ...tool, eager_input_streaming: true }));

  anthropic.read(await client.beta.messages.create({ ...request, stream: true }), { tools });
  anthropic.parse(await client.beta.messages.create(request));

  // @ts-expect-error: a whole message is parsed, not read
  anthropic.read(await client.messages.create(request));
  // @ts-expect-error: there is no such choice
  anthropic.toolChoice("any");
  // @ts-expect-error: a result holds no thinking
  resultContent([{ type: "thinking", thinking: "", signature: "" }]);
}
