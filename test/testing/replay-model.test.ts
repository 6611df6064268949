import { readFileSync } from "node:fs";
import { join } from "node:path";
import type OpenAI from "openai";
import { expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { defineTool, jsonSchema } from "../../src/index.ts";
import type { ConversationAdapter } from "../../src/model.ts";
import { replayModel } from "../../src/testing/index.ts";
import { adapters } from "../adapters.ts";

const request = { messages: [], tools: [] };

it.each([
  ["a path", "fixtures/anthropic/parallel", '"fixtures/anthropic/parallel"; loadRecording(path) reads a file'],
  ["nothing", undefined, "got undefined"],
  ["a recording that nobody waited for", Promise.resolve(new Uint8Array()), "got a promise, which must be awaited"],
  ["an object", {}, "got an object with no keys"],
  ["a whole answer", { role: "assistant", content: [] }, "with role, content; Response.json(answer) makes one of"],
])("refuses %s for an answer", (_, answer, words) => {
  const open = () => replayModel(anthropic, [() => answer as never]).open(request);
  expect(open).toThrow(TypeError);
  expect(open).toThrow(words);
});

it("says that there is no answer left", () => {
  expect(() => replayModel(anthropic, []).open(request)).toThrow("was asked for turn 1 and has 0");
});

it("says so, where the answer before it was cut or is of another wire, since a loop asks again after that", async () => {
  const model = replayModel(anthropic, [[{ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }]]);
  await model.open(request).done();
  expect(() => model.open(request)).toThrow(
    "This replayModel() was asked for turn 2 and has 1. Give it another recording. Turn 1 failed: The stream ended " +
      "before the provider ended the turn: nothing in it means anything to anthropic. Is it another provider's stream?",
  );
});

/** By wire, a whole answer that calls a tool: a table of `docs/replay.md`. */
const page = readFileSync(join(import.meta.dirname, "../../docs/replay.md"), "utf8");
const rows = page
  .split("a whole answer that calls a tool")[1]!
  .split("\n\n")[0]!
  .matchAll(/^\| `(\S+)` +\| `(.+)`/gm);
const answers = new Map(Array.from(rows, ([, wire, answer]) => [wire!, answer!]));

it.each(adapters)(
  "answers with a whole answer of $adapter.name that was written by hand, as docs/replay.md shows it",
  async ({ adapter }) => {
    const answer = answers.get(adapter.name);
    const make = new Function("id", "call_id", "name", `return ${answer}`) as (...args: string[]) => unknown;
    const model = replayModel(adapter as ConversationAdapter, [Response.json(make("c1", "c1", "now"))]);
    const now = defineTool({ name: "now", inputSchema: jsonSchema({ type: "object" }) });
    const turn = await model.open({ messages: [], tools: [now] }).done();
    expect(turn).toMatchObject({ error: undefined, finishReason: "tool-use" });
    expect(turn.calls.map(({ name, outcome }) => [name, outcome?.constructor.name])).toEqual([["now", "ToolUse"]]);
  },
);

it("fails as a request does that was refused, if its answer throws what the SDK would", async () => {
  async function* refused() {
    yield { type: "ping" };
    throw Object.assign(new Error("Overloaded"), { status: 529 });
  }
  const model = replayModel(anthropic, [refused(), new Response()]);
  expect((await model.open(request).done()).error).toMatchObject({ code: "provider_error", message: "Overloaded" });
  expect(model.requests).toHaveLength(1);
});

it("fails as a request does that was refused, if its answer is a Response that says so, and tells of its headers", async () => {
  const body = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
  const refused = new Response(body, { status: 529, headers: { "retry-after": "7" } });
  const model = replayModel(anthropic, [refused, new Response("", { headers: { "request-id": "r1" } })]);
  const turn = model.open(request);
  expect((await turn.done()).error).toMatchObject({
    code: "provider_error",
    message: "The provider refused the request with status 529: Overloaded",
  });
  expect(turn.response).toMatchObject({ status: 529, rateLimits: { "retry-after": "7" } });
  const next = model.open(request);
  await next.done();
  expect(next.response).toMatchObject({ status: 200, requestId: "r1" });
});

it("answers with bytes, with a recording and with events, and keeps the requests as they were", async () => {
  const text = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const bytes = new TextEncoder().encode(text);
  const events = [{ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }];
  const model = replayModel(openaiChat, [bytes, { bytes, chunks: [], complete: true }, events]);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hello" }];
  for (let turn = 1; turn <= 3; turn++) {
    const { text: said, runId, error } = await model.open({ messages, tools: [], runId: `run-${turn}` }).done();
    expect([said, runId, error]).toEqual(["Hi", `run-${turn}`, undefined]);
  }
  messages[0]!.content = "changed";
  expect(model.requests.map((asked) => asked.messages)).toEqual(
    [1, 2, 3].map(() => [{ role: "user", content: "Hello" }]),
  );
});

it("ends with the signal of the request, and without a body before the provider has said anything", async () => {
  const model = replayModel(openaiChat, [() => new Response(null), new Response(null)]);
  const turn = model.open({ messages: [], tools: [], signal: AbortSignal.abort() });
  expect((await turn.done()).error).toMatchObject({ code: "aborted" });
  expect((await model.open(request).done()).error).toMatchObject({
    code: "connection_lost",
    message: expect.stringMatching(/^The stream ended before the provider ended the turn/),
  });
});
