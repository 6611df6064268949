import type { GoogleGenAI, Interactions } from "@google/genai";
import { z } from "zod";
import { googleInteractions, resultContent } from "../../adapters/google-interactions/index.ts";
import type { ToolCallError } from "../../src/errors.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";

declare const ai: GoogleGenAI;
declare const turn: Turn;
declare const use: ToolUse;
declare const error: ToolCallError;
const tools = [
  defineTool({ name: "get_weather", inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
];

/** What the adapter makes goes into the SDK's requests, and what the SDK gives goes into the adapter, without a cast. */
export async function fitsTheSdk(): Promise<void> {
  const input: Interactions.Step[] = [
    googleInteractions.conversation.userMessage("Hi"),
    ...googleInteractions.assistantMessage(turn),
    ...googleInteractions.toolResults(turn),
    googleInteractions.toolResult(use, { celsius: 21 }),
    googleInteractions.toolResult(use, resultContent([{ type: "image", mime_type: "image/png", data: "" }])),
    googleInteractions.toolError(error),
  ];
  const request = {
    model: "gemini-3-flash-preview",
    input,
    tools: [...googleInteractions.tools(tools), { type: "google_search" as const }],
    ...googleInteractions.toolChoice("required"),
  };
  googleInteractions.read(await ai.interactions.create({ ...request, stream: true }), { tools });
  googleInteractions.parse(await ai.interactions.create(request), { tools });
  googleInteractions.read(await ai.interactions.get("v1_1", { stream: true }), { tools });
  // The server keeps the history.
  await ai.interactions.create({
    ...request,
    previous_interaction_id: turn.responseId,
    input: googleInteractions.toolResults(turn),
  });
}

// @ts-expect-error there is no such choice
googleInteractions.toolChoice("any");
