/**
 * A model calls a program and an MCP server's tool in one turn, over HTTP and through the official clients; both results
 * go back in the order of the calls, though the first to be called is the last to answer.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { setTimeout } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { loadExecutable } from "../../src/executable/index.ts";
import { defineTool, ToolRegistry } from "../../src/index.ts";
import { mcpTools, serveMcp } from "../../src/mcp/index.ts";
import type { Model } from "../../src/model.ts";
import { serveReplay } from "../../src/replay/index.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { program, shTool } from "../executable/support.ts";
import { encoders, type NeutralTurn } from "../run/encode.ts";
import { connections, newServer } from "./support.ts";

const turns: readonly NeutralTurn[] = [
  {
    text: "I look at both.",
    calls: [
      { id: "call_words", name: "count_words", args: { text: "one two; $(touch three)" } },
      { id: "call_notes", name: "notes__find", args: { text: "harbour" } },
      { id: "call_none", name: "count_words", args: { text: "" } },
    ],
  },
  { text: "Five words, one note." },
];

/** A program that takes its time, in a shell script that the model's text does not reach as code. */
const countWords = shTool(
  `sleep 0.3
input=$(cat)
text=\${input#*'"text":"'}; text=\${text%'"}'}
[ -n "$text" ] || { echo '{"success":false,"error":"There is no text."}'; exit 1; }
printf '{"success":true,"result":{"words":%d}}' "$(printf '%s' "$text" | wc -w)"`,
  { name: "count_words", parameters: '{"text":{"type":"string","required":true}}' },
);

const order: string[] = [];
const findNotes = defineTool({
  name: "find",
  description: "Finds notes that hold a text.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  outputSchema: { type: "object", properties: { notes: { type: "array", items: { type: "string" } } } },
  effect: "read",
  async execute({ text }: { text: string }) {
    await setTimeout(1);
    order.push("mcp");
    return { notes: [`The ${text} at dusk.`] };
  },
});

const models: Record<string, (url: string) => Model> = {
  "openai-chat": (url) =>
    openaiChat.model(new OpenAI({ apiKey: "none", baseURL: `${url}/v1` }), { model: "m", stream_options: null }),
  anthropic: (url) => anthropic.model(new Anthropic({ apiKey: "none", baseURL: url }), { model: "m", max_tokens: 99 }),
};

it.each(Object.entries(models))("%s: a program and an MCP tool in one turn", async (wire, modelAt) => {
  order.length = 0;
  const mcpServer = newServer("notes");
  serveMcp(mcpServer, [findNotes]);
  const notes = await mcpTools(await connections["client 2, MCP 2026-07-28"](mcpServer));
  const words = await loadExecutable(program(countWords), {
    effect: "read",
    onRun: ({ exitCode }) => order.push(`program ${exitCode}`),
  });

  const stream = turns.map((turn) => ({ bytes: encoders[wire]!(turn), chunks: [], complete: true }));
  const fixtures = new Map([[`${wire}/turns`, { stream }]]);
  const server = await serveReplay({ adapters: [openaiChat, anthropic], fixtures });
  onTestFinished(() => server.close());

  const orchestrator = new Orchestrator({
    model: modelAt(`${server.url}/${wire}/turns`),
    tools: new ToolRegistry([words, ...notes.tools()]),
    store: memoryStore(),
  });
  const result = await orchestrator.run({ input: "How many words, and which notes?" });

  expect(result).toMatchObject({ status: "completed", content: "Five words, one note." });
  expect(order[0]).toBe("mcp"); // it was the second call, and the first to answer
  expect(order.slice(1).toSorted()).toEqual(["program 0", "program 1"]);
  const sent = JSON.stringify(server.requests[1]!.body);
  const answers = [String.raw`{\"words\":4}`, String.raw`{\"notes\":[\"The harbour at dusk.\"]}`, "There is no text."];
  const places = answers.map((answer) => sent.indexOf(answer));
  expect(places.every((place) => place > 0)).toBe(true);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  const offered = JSON.stringify((server.requests[0]!.body as { tools: unknown }).tools);
  expect(offered).toContain('"count_words"');
  expect(offered).toContain('"notes__find"');
});
