/** `examples/own-adapter`: an adapter from outside, made of the names of the package's root only. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { ollama, ollamaModel, type ChatEvent } from "../examples/own-adapter/ollama.ts";
import { defineTool, OUTCOME_UNKNOWN, type StreamEvent } from "../src/index.ts";
import { serveReplay, type Recording } from "../src/replay/index.ts";
import { Orchestrator } from "../src/run/index.ts";
import { memoryStore } from "../src/store/index.ts";

const created_at = (at: number) => `2026-11-26T08:00:0${at % 10}.123456Z`;
const event = (message: ChatEvent["message"], at = 0) => ({
  model: "qwen3",
  created_at: created_at(at),
  message: { role: "assistant", ...message },
  done: false,
});
const done = { ...event({ content: "" }), done: true, done_reason: "stop", prompt_eval_count: 169, eval_count: 15 };
const call = (name: string, args: object, id?: string) =>
  event({ content: "", tool_calls: [{ ...(id && { id }), function: { name, arguments: args } as never }] });

const bytesOf = (events: readonly object[]) =>
  new TextEncoder().encode(events.map((each) => `${JSON.stringify(each)}\n`).join(""));
const recordingOf = (events: readonly object[]): Recording => ({
  bytes: bytesOf(events),
  chunks: [],
  complete: true,
});

const pay = vi.fn(({ amount }: { amount: number }) => ({ paid: amount }));
const tools = [
  defineTool({
    name: "get_weather",
    inputSchema: z.object({ city: z.string() }),
    effect: "read",
    execute: ({ city }) => ({ city, celsius: 21 }),
  }),
  defineTool({ name: "pay", description: "Pays.", inputSchema: z.object({ amount: z.number() }), execute: pay }),
];

const calling = [
  event({ content: "", thinking: "Let me " }),
  event({ content: "", thinking: "look." }, 1),
  ...["Look", "ing ", "it ", "up", ". Æ ", "→ ", "\n"].map((content, at) => event({ content }, at)),
  call("get_weather", { city: "Oslo" }),
  call("get_weather", { city: "Bergen" }, "call_2"),
  call("get_weather", { town: "Bodø" }),
  call("pay", { amount: 12.5 }),
  done,
];

function bodyOf(bytes: Uint8Array, size: number): Response {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

function eventsOf(source: Response | AsyncIterable<ChatEvent>): Promise<StreamEvent[]> {
  return all(ollama.read(source, { tools, runId: "run" }));
}

/** With the deltas of text joined: where they are split is the network's business. */
function shown(events: readonly StreamEvent[]): unknown[] {
  return events.flatMap((each): unknown[] => {
    if (each.type === "tool-use") return [{ name: each.use.name, input: each.use.input, id: each.use.id }];
    if (each.type === "tool-error") return [{ code: each.error.code }];
    if (each.type === "finish") return [each.reason, each.turn.text, each.turn.reasoning, each.turn.usage?.totalTokens];
    return each.type === "error" ? [each.error.code] : [];
  });
}

const expected = [
  { name: "get_weather", input: { city: "Oslo" }, id: null },
  { name: "get_weather", input: { city: "Bergen" }, id: "call_2" },
  { code: "invalid_input" },
  { name: "pay", input: { amount: 12.5 }, id: null },
  ["tool-use", "Looking it up. Æ → \n", "Let me look.", 184],
].flat();

it("imports nothing but the root of the package", () => {
  const text = readFileSync(join(import.meta.dirname, "../examples/own-adapter/ollama.ts"), "utf8");
  expect(Array.from(text.matchAll(/ from "(.*)"/g), ([, from]) => from)).toEqual(["../../src/index.ts"]);
});

it.each([1, 2, 7, 100, 100_000])("reads the same in pieces of %i bytes, and in events", async (size) => {
  const bytes = bytesOf(calling);
  expect(shown(await eventsOf(bodyOf(bytes, size)))).toEqual(expected);
  const iterable = (async function* () {
    yield* calling as ChatEvent[];
  })();
  expect(shown(await eventsOf(iterable))).toEqual(expected);
});

it("releases no write of a stream that was cut, at whichever byte", async () => {
  const bytes = bytesOf(calling);
  const last = bytesOf([done]).length;
  for (let at = 0; at <= bytes.length - last; at += 11) {
    const events = await eventsOf(bodyOf(bytes.slice(0, at), 100_000));
    expect(events.some((each) => each.type === "tool-use" && each.use.name === "pay")).toBe(false);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "connection_lost" } });
  }
});

it("reads a whole response, and an error in the middle of a stream", async () => {
  const whole = { ...done, message: { ...calling[9]!.message, content: "Both." } };
  expect(shown(ollama.parse(whole as ChatEvent, { tools }))).toEqual([expected[0], "tool-use", "Both.", "", 184]);
  const failed = await eventsOf(bodyOf(bytesOf([...calling.slice(0, 5), { error: "out of memory" }]), 100));
  expect(failed.at(-1)).toMatchObject({ error: { code: "provider_error", message: "out of memory" } });
});

it("is the wire of a run over HTTP: tools out, calls in, results back", async () => {
  pay.mockClear();
  const answer = [event({ content: "It is " }), event({ content: "21 °C." }), done];
  const fixtures = new Map([["ollama/weather", { stream: [recordingOf(calling), recordingOf(answer)] }]]);
  const server = await serveReplay({ adapters: [ollama], fixtures });
  onTestFinished(() => server.close());
  const model = ollamaModel(`${server.url}/ollama/weather`, { model: "qwen3", think: true });
  const orchestrator = new Orchestrator({ model, tools, store: memoryStore() });
  const result = await orchestrator.run({ input: "Weather?", instructions: "Be brief." });
  expect(result).toMatchObject({ status: "completed", content: "It is 21 °C." });
  expect(pay).toHaveBeenCalledOnce();

  const [first, second] = server.requests.map(({ body }) => body as { messages: any[]; tools: any[] });
  expect(first).toMatchObject({
    model: "qwen3",
    think: true,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Weather?" },
    ],
    tools: [{ function: { name: "get_weather" } }, { function: { name: "pay", description: "Pays." } }],
  });
  const [, , assistant, ...results] = second!.messages;
  expect(assistant).toMatchObject({
    content: "Looking it up. Æ → \n",
    thinking: "Let me look.",
    tool_calls: [
      { function: { name: "get_weather", arguments: { city: "Oslo" } } },
      { id: "call_2", function: { name: "get_weather", arguments: { city: "Bergen" } } },
      { function: { name: "get_weather", arguments: { town: "Bodø" } } },
      { function: { name: "pay", arguments: { amount: 12.5 } } },
    ],
  });
  expect(results.map(({ tool_call_id: id }) => id)).toEqual(assistant.tool_calls.map(({ id }: { id: string }) => id));
  expect(new Set(results.map(({ tool_call_id: id }) => id)).size).toBe(4);
  expect(results.map(({ content }) => JSON.parse(content))).toEqual([
    { city: "Oslo", celsius: 21 },
    { city: "Bergen", celsius: 21 },
    { error: expect.stringContaining("city") },
    { paid: 12.5 },
  ]);
});

it("pairs the calls and results of a history, also where they have no ids", () => {
  const question = { role: "user" as const, content: "Weather?" };
  const asked = (names: readonly string[]) => ({
    role: "assistant" as const,
    content: "",
    tool_calls: names.map((name) => ({ function: { name, arguments: {} } })),
  });
  const result = (tool_name: string) => ({ role: "tool" as const, tool_name, content: "{}" });
  const sound = [question, asked(["look", "pay"]), result("look"), result("pay")];
  const { pair } = ollama.conversation;
  expect(pair(sound)).toEqual(sound);
  expect(pair([question, asked(["look", "pay"]), result("pay"), result("other")])).toEqual([
    question,
    asked(["look", "pay"]),
    { role: "tool", tool_name: "look", content: JSON.stringify({ error: OUTCOME_UNKNOWN }) },
    result("pay"),
  ]);
});

it("says what a server says that refuses a request", async () => {
  const behavior = { "ollama/busy": { status: 503, message: "model is loading" } };
  const fixtures = new Map([["ollama/busy", { stream: recordingOf([done]) }]]);
  const server = await serveReplay({ adapters: [ollama], fixtures, behavior });
  onTestFinished(() => server.close());
  const turn = ollamaModel(`${server.url}/ollama/busy`, { model: "qwen3" }).open({
    messages: [{ role: "user", content: "Hi" }],
  });
  expect((await all(turn)).at(-1)).toMatchObject({
    error: { code: "provider_error", message: expect.stringContaining("503: model is loading") },
  });
  expect(turn.response?.status).toBe(503);
});

it("offers only the tools that may be called", async () => {
  const server = await serveReplay({
    adapters: [ollama],
    fixtures: new Map([["ollama/plain", { stream: recordingOf([done]) }]]),
  });
  onTestFinished(() => server.close());
  const model = ollamaModel(`${server.url}/ollama/plain`, { model: "qwen3" });
  const messages = [{ role: "user" as const, content: "Hi" }];
  await all(model.open({ messages, tools, toolChoice: { names: ["pay"] } }));
  await all(model.open({ messages, tools, toolChoice: "none" }));
  expect(server.requests.map(({ body }) => (body as { tools: { function: object }[] }).tools.length)).toEqual([1, 0]);
  expect(() => model.open({ messages, tools, toolChoice: "required" })).toThrow(/cannot make a model call a tool/);
});
