/**
 * The cost of a run compared with a loop by hand on the SDK, and the growth of a checkpoint.
 *
 *     node bench/run.bench.ts [--json]
 *
 * The run and the loop by hand use the same SDK client and the same local server, which answers immediately: a call of
 * a `read` tool, then text. By hand: read the stream, execute, push, ask again. The checkpoint is measured by how much
 * a run has written after a number of steps, and how much is in the store then: both must grow by the same amount per
 * step.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { z } from "zod";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { Orchestrator } from "../src/run/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import type { Store } from "../src/store/store.ts";
import { defineTool } from "../src/tool/tool.ts";

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });

const RUNS = 200;
const WARM_UP = 30;
const STEPS = [10, 100, 1_000];

const tool = defineTool({
  name: "get_weather",
  inputSchema: z.object({ city: z.string() }),
  effect: "read",
  execute: ({ city }) => ({ city, celsius: 21 }),
});

const called = { index: 0, id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":' } };
const CALL = chunks(
  { delta: { role: "assistant", content: null, tool_calls: [called] }, finish_reason: null },
  { delta: { tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }, finish_reason: null },
  { delta: {}, finish_reason: "tool_calls" },
);
const TEXT = chunks(
  ...["It ", "is ", "21 ", "degrees."].map((content) => ({ delta: { content }, finish_reason: null })),
  { delta: {}, finish_reason: "stop" },
);

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece: Buffer) => (body += piece.toString()));
  request.on("end", () => {
    const { messages } = JSON.parse(body) as { messages: { role: string }[] };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(messages.at(-1)!.role === "user" ? CALL : TEXT);
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const client = new OpenAI({ apiKey: "none", baseURL });
const dir = mkdtempSync(join(tmpdir(), "toolstream-bench-"));

const sqlite = sqliteStore(join(dir, "runs.db"));
const ways: Record<string, () => Promise<string>> = {
  "the SDK by hand": byHand,
  "this library's read(), no run": reading,
  "a run, in memory": () => running(memoryStore()),
  "a run, in SQLite": () => running(sqlite),
};

const overhead: { way: string; msPerRun: number; ratio: number; msAtOnce: number; ratioAtOnce: number }[] = [];
for (const [way, go] of Object.entries(ways)) {
  const check = async () => {
    if ((await go()) !== "It is 21 degrees.") throw new Error(`${way} is wrong`);
  };
  for (let count = 0; count < WARM_UP; count++) await check();
  const msPerRun = await msEach(async () => {
    for (let count = 0; count < RUNS; count++) await check();
  });
  const msAtOnce = await msEach(() => Promise.all(Array.from({ length: RUNS }, check)));
  const byHandMs = overhead[0] ?? { msPerRun, msAtOnce };
  overhead.push({
    way,
    msPerRun,
    ratio: msPerRun / byHandMs.msPerRun,
    msAtOnce,
    ratioAtOnce: msAtOnce / byHandMs.msAtOnce,
  });
}

const growth: { steps: number; stored: number; written: number; perStep: number }[] = [];
for (const steps of STEPS) growth.push(await grown(steps));

await sqlite.close();
rmSync(dir, { recursive: true, force: true });
server.close();
server.closeAllConnections();

if (values.json) console.log(JSON.stringify({ overhead, growth }));
else {
  console.table(
    overhead.map(({ way, msPerRun, ratio, msAtOnce, ratioAtOnce }) => ({
      way,
      "ms a run": round(msPerRun),
      "x by hand": round(ratio),
      "ms a run, all at once": round(msAtOnce),
      "x by hand, all at once": round(ratioAtOnce),
    })),
  );
  console.table(
    growth.map(({ steps, stored, written, perStep }) => ({
      steps,
      "bytes stored": stored,
      "bytes written": written,
      "written a step": round(perStep),
    })),
  );
}

async function msEach(all: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await all();
  return (performance.now() - startedAt) / RUNS;
}

async function byHand(): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "How warm is it in Oslo?" }];
  const tools = openaiChat.tools([tool]);
  for (;;) {
    const stream = await client.chat.completions.create({ model: "m", messages, tools, stream: true });
    let content = "";
    const calls: { id: string; name: string; args: string }[] = [];
    for await (const { choices } of stream) {
      const delta = choices[0]?.delta;
      content += delta?.content ?? "";
      for (const { index, id, function: named } of delta?.tool_calls ?? []) {
        const call = (calls[index] ??= { id: id!, name: "", args: "" });
        call.name ||= named?.name ?? "";
        call.args += named?.arguments ?? "";
      }
    }
    if (calls.length === 0) return content;
    messages.push({
      role: "assistant",
      content: content || null,
      tool_calls: calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } })),
    });
    for (const { id, args } of calls) {
      const output: unknown = await tool.execute!(JSON.parse(args), {} as never);
      messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(output) });
    }
  }
}

async function reading(): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "How warm is it in Oslo?" }];
  const model = openaiChat.model(client, { model: "m" });
  for (;;) {
    const turn = model.open({ messages, tools: [tool] });
    const executions: Promise<unknown>[] = [];
    for await (const event of turn) if (event.type === "tool-use") executions.push(event.use.execute());
    if (executions.length === 0) return turn.turn.text;
    await Promise.all(executions);
    messages.push(...openaiChat.assistantMessage(turn.turn), ...openaiChat.toolResults(turn.turn));
  }
}

async function running(store: Store): Promise<string> {
  const model = openaiChat.model(client, { model: "m" });
  const orchestrator = new Orchestrator({ model, tools: [tool], store });
  const { content, error } = await orchestrator.run({ input: "How warm is it in Oslo?" });
  if (error !== undefined) throw error;
  return content;
}

/** A run of this many turns, each with one call. */
async function grown(steps: number) {
  const inner = memoryStore();
  let written = 0;
  const store: Store = {
    ...inner,
    put(key, value, options) {
      if (key.startsWith("run")) written += JSON.stringify(value).length;
      return inner.put(key, value, options);
    },
  };
  let turn = 0;
  const scripted = openaiChat.model(
    {
      chat: {
        completions: {
          create: () => ({
            withResponse: async () => ({
              data: events(turn++ < steps ? CALL : TEXT),
              response: new Response(),
              request_id: null,
            }),
          }),
        },
      },
    },
    { model: "m" },
  );
  const orchestrator = new Orchestrator({ model: scripted, tools: [tool], store, maxSteps: steps + 1 });
  const { status } = await orchestrator.run({ conversationId: "c", input: "How warm is it in Oslo?" });
  if (status !== "completed") throw new Error(`the run of ${steps} steps ended with ${status}`);
  const stored = (await inner.list("run")).reduce((sum, { value }) => sum + JSON.stringify(value).length, 0);
  return { steps, stored, written, perStep: written / steps };
}

async function* events(body: string): AsyncIterable<OpenAI.ChatCompletionChunk> {
  for (const line of body.split("\n\n")) {
    if (line.startsWith("data: {")) yield JSON.parse(line.slice("data: ".length)) as OpenAI.ChatCompletionChunk;
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function chunks(...deltas: object[]): string {
  const lines = deltas.map(
    (choice) => `data: ${JSON.stringify({ id: "1", model: "m", choices: [{ index: 0, ...choice }] })}\n\n`,
  );
  return `${lines.join("")}data: [DONE]\n\n`;
}
