import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GoogleGenAI, type Interactions } from "@google/genai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { googleInteractions, resultContent } from "../../adapters/google-interactions/index.ts";
import { defineTool, jsonSchema, type StreamEvent, type Turn } from "../../src/index.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize } from "../../src/testing/index.ts";
import { fixtureNames, fixturesDir, loadFixture, readPieces, sharedTools } from "../fixtures.ts";
import { iterate } from "../iterate.ts";

const wire = "google-interactions";
const names = fixtureNames(wire);

let server: ReplayServer;
beforeAll(async () => {
  server = await serveReplay({ adapters: [googleInteractions], fixtures: fixturesDir });
});
afterAll(() => server.close());

/** The official client, pointed at a fixture. */
const interactions = (name: string) =>
  new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: `${server.url}/${wire}/${name}` } }).interactions;

/** Any input fits. */
const anyTools = [defineTool({ name: "write_file", inputSchema: jsonSchema({ type: "object" }), execute: () => "" })];

const request = { model: "gemini-3-flash-preview", input: "Go.", store: false };

const step = (index: number, what: object) => ({ event_type: "step.start", index, step: what });
const delta = (index: number, what: object) => ({ event_type: "step.delta", index, delta: what });
const stop = (index: number) => ({ event_type: "step.stop", index });
const completed = (status: string, more: object = {}) => ({
  event_type: "interaction.completed",
  interaction: { id: "v1_1", status, ...more },
});
const call = (index: number, id: string, name: string) => step(index, { type: "function_call", id, name });
const piece = (index: number, args: string) => delta(index, { type: "arguments_delta", arguments: args });

async function turnOf(...events: object[]): Promise<Turn> {
  return googleInteractions.read(iterate(events) as never, { tools: sharedTools, runId: "run" }).done();
}

function inputs(turn: Turn): unknown[] {
  return summarize(turn).toolCalls.map(({ name, status, released, input }) => [name, status, released, input]);
}

describe("through the official client", () => {
  it.each(names.filter((name) => !loadFixture(wire, name).isWhole && name !== "connection-cut"))(
    "%s reads as it does from the bytes",
    async (name) => {
      const { bytes, tools, expected } = loadFixture(wire, name);
      const events = await interactions(name).create({ ...request, stream: true });
      const turn = await googleInteractions.read(events, { tools, runId: "run" }).done();
      expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
      const { turn: direct } = await readPieces(googleInteractions, [bytes], tools);
      expect(googleInteractions.assistantMessage(turn)).toEqual(googleInteractions.assistantMessage(direct));
      expect(turn.usage).toEqual(direct.usage);
    },
  );

  it("writes nothing of a stream that was cut", async () => {
    const events = await interactions("connection-cut").create({ ...request, stream: true });
    const turn = await googleInteractions.read(events, { tools: sharedTools }).done();
    expect(turn.error?.code).toBe("connection_lost");
    expect(summarize(turn).toolCalls.filter(({ released }) => released)).toEqual([]);
  });

  // It passes on as text what is no JSON.
  it.each([
    ["no call from whose middle a piece is missing", -1, "invalid_event"],
    ["a call between whose pieces a comment came that a gateway made data", undefined, undefined],
  ])("runs %s", async (_, end, code) => {
    const created = { event_type: "interaction.created", interaction: { id: "v1_1", model: "m" } };
    const [open, middle, close] = [piece(0, '{"path":"a"'), piece(0, ',"content":"b"'), piece(0, "}")];
    const before = [created, call(0, "c1", "write_file"), open];
    const after = [close, stop(0), completed("requires_action")];
    const lines = [...before, middle, ...after].map((event) => JSON.stringify(event));
    lines.splice(3, 1, ": keepalive", lines[3]!.slice(0, end));
    const body = lines.map((line) => `data: ${line}\n\n`).join("");
    const gateway = createServer((sent, response) => {
      sent.resume();
      response.setHeader("content-type", "text/event-stream").end(body);
    });
    await once(gateway.listen(0, "127.0.0.1"), "listening");
    const baseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl } }).interactions;
    const turn = await googleInteractions
      .read(await client.create({ ...request, stream: true }), { tools: anyTools })
      .done();
    gateway.close();
    expect(turn.error?.code).toBe(code);
    const released = code === undefined;
    expect(summarize(turn).toolCalls).toMatchObject([{ name: "write_file", released }]);
  });

  it("runs no call from whose middle a piece is missing either if a comment came before its events", async () => {
    const created = { event_type: "interaction.created", interaction: { id: "v1_1", model: "m" } };
    const [open, torn, close] = [piece(0, '{"path":"a"'), '{"event_type":"step.delta","index":0,', piece(0, "}")];
    const before = [": keepalive", created, call(0, "c1", "write_file"), open];
    const events = [...before, torn, close, stop(0), completed("requires_action")];
    const turn = await googleInteractions.read(iterate<any>(events), { tools: anyTools }).done();
    expect(turn.error?.code).toBe("invalid_event");
    expect(summarize(turn).toolCalls).toMatchObject([{ name: "write_file", released: false }]);
  });

  it.each(names.filter((name) => loadFixture(wire, name).isWhole))(
    "%s parses as it does from the bytes",
    async (name) => {
      const { tools, expected } = loadFixture(wire, name);
      const last = googleInteractions.parse(await interactions(name).create(request), { tools }).at(-1)!;
      expect(JSON.parse(JSON.stringify(summarize((last as { turn: Turn }).turn)))).toEqual(expected);
    },
  );

  it("sends the tools, the choice, the history of a turn and its results as the wire spells them", async () => {
    const input: Interactions.Step[] = [googleInteractions.conversation.userMessage("Go.")];
    const events = await interactions("one-call").create({ ...request, input, stream: true });
    const stream = googleInteractions.read(events, { tools: sharedTools });
    for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
    input.push(...googleInteractions.assistantMessage(stream.turn), ...googleInteractions.toolResults(stream.turn));
    await interactions("text-only").create({
      ...request,
      input,
      stream: true,
      tools: googleInteractions.tools(sharedTools.slice(0, 2)),
      ...googleInteractions.toolChoice({ name: "get_weather" }),
    });
    const { body } = server.requests.at(-1)! as { body: Record<string, any> };
    expect(body["tools"]).toEqual([
      {
        type: "function",
        name: "get_weather",
        description: "Current weather of a city.",
        parameters: expect.objectContaining({ type: "object", required: ["city"] }),
      },
      { type: "function", name: "now", description: "The current time, UTC." },
    ]);
    expect(body["generation_config"]).toEqual({
      tool_choice: { allowed_tools: { mode: "any", tools: ["get_weather"] } },
    });
    expect(body["input"].map(({ type }: { type: string }) => type)).toEqual([
      "user_input",
      "thought",
      "function_call",
      "function_result",
    ]);
    const [, thought, called, result] = body["input"];
    expect(thought.signature).toMatch(/^E/);
    expect(called.arguments).toEqual({ city: "Oslo", unit: "celsius" });
    expect(result).toEqual({
      type: "function_result",
      call_id: called.id,
      name: "get_weather",
      result: JSON.stringify({ tool: "get_weather", input: { city: "Oslo", unit: "celsius" } }),
    });
  });
});

describe("the model", () => {
  const ai = (name: string) =>
    new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: `${server.url}/${wire}/${name}` } });

  it("keeps the other settings of the generation, and its own tools beside the client's", async () => {
    const model = googleInteractions.model(
      ai("text-only"),
      {
        model: "m",
        generation_config: { temperature: 0, tool_choice: "none" },
        tools: [{ type: "google_search" }],
        system_instruction: "Be brief.",
      },
      { strict: true },
    );
    const open = async (toolChoice?: ToolChoice, instructions?: string) => {
      await model
        .open({
          messages: [model.userMessage("Hi")],
          tools: sharedTools.slice(0, 1),
          ...(toolChoice !== undefined && { toolChoice }),
          ...(instructions !== undefined && { instructions }),
        })
        .done();
      return server.requests.at(-1)!.body as Record<string, any>;
    };
    expect(await open()).toMatchObject({
      generation_config: { temperature: 0, tool_choice: "none" },
      system_instruction: "Be brief.",
      tools: [{ name: "get_weather" }, { type: "google_search" }],
      input: [{ type: "user_input", content: [{ type: "text", text: "Hi" }] }],
      stream: true,
    });
    expect(await open("auto", "Be long.")).toMatchObject({
      generation_config: { temperature: 0, tool_choice: "validated" },
      system_instruction: "Be long.",
    });
  });

  it("keeps the results of calls that are in the history of the server", () => {
    const result = { type: "function_result", call_id: "a", name: "f", result: "1" } as const;
    const rest = [result, { type: "user_input", content: [{ type: "text", text: "And?" }] }] as Interactions.Step[];
    const stored = googleInteractions.model(ai("text-only"), { model: "m", previous_interaction_id: "v1_0" });
    expect(stored.pair(rest)).toEqual(rest);
    expect(googleInteractions.model(ai("text-only"), { model: "m" }).pair(rest)).toEqual(rest.slice(1));
  });

  it("tells of a call without a result that its outcome is unknown", () => {
    const history = [
      { type: "function_call", id: "a", name: "f", arguments: {} },
      { type: "user_input", content: [{ type: "text", text: "And?" }] },
    ] as Interactions.Step[];
    expect(googleInteractions.conversation.pair(history)[1]).toEqual({
      type: "function_result",
      call_id: "a",
      name: "f",
      result: expect.stringContaining("unknown"),
      is_error: true,
    });
  });
});

it.each<[ToolChoice, boolean, unknown]>([
  ["auto", false, "auto"],
  ["auto", true, "validated"],
  ["none", false, "none"],
  ["required", false, "any"],
  [{ name: "a b" }, false, { allowed_tools: { mode: "any", tools: [googleInteractions.toolName("a b")] } }],
  [{ names: ["a", "b"] }, false, { allowed_tools: { mode: "validated", tools: ["a", "b"] } }],
  [{ names: ["a"], required: true }, false, { allowed_tools: { mode: "any", tools: ["a"] } }],
])("the choice %j, strict %j", (choice, strict, expected) => {
  const { generation_config: config } = googleInteractions.toolChoice(choice, { strict });
  expect(config.tool_choice).toEqual(expected);
});

it("sends images of a result beside its text", async () => {
  const image = { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" } as const;
  const draw = defineTool({
    name: "draw",
    inputSchema: jsonSchema({ type: "object" }),
    execute: () => resultContent([{ type: "text", text: "a cat" }, image]),
  });
  const stream = googleInteractions.read(
    iterate([call(0, "c1", "draw"), stop(0), completed("requires_action")]) as never,
    { tools: [draw] },
  );
  for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
  expect(googleInteractions.toolResults(stream.turn)).toEqual([
    { type: "function_result", call_id: "c1", name: "draw", result: [{ type: "text", text: "a cat" }, image] },
  ]);
});

describe("which call a piece belongs to", () => {
  it("that at its index, in whatever order they end", async () => {
    const turn = await turnOf(
      call(0, "a", "get_weather"),
      call(1, "b", "refund_order"),
      piece(1, '{"order_id":"A",'),
      piece(0, '{"city":"Oslo"}'),
      piece(1, '"amount":1}'),
      stop(1),
      stop(0),
      completed("requires_action"),
    );
    expect(inputs(turn)).toEqual([
      ["get_weather", "complete", true, { city: "Oslo" }],
      ["refund_order", "complete", true, { order_id: "A", amount: 1 }],
    ]);
  });

  it("that at its index, though it was told to have ended before it had any", async () => {
    const turn = await turnOf(
      call(0, "a", "get_weather"),
      stop(0),
      piece(0, '{"city":'),
      piece(0, '"Oslo"}'),
      step(1, { type: "function_call", id: "b", name: "get_weather", arguments: {} }),
      stop(1),
      delta(1, { type: "arguments_delta", arguments: { city: "Rome" } }),
      completed("requires_action"),
    );
    expect(inputs(turn)).toEqual([
      ["get_weather", "complete", true, { city: "Oslo" }],
      ["get_weather", "complete", true, { city: "Rome" }],
    ]);
  });

  it("the only open one, if the index is that of another step", async () => {
    const turn = await turnOf(
      step(0, { type: "thought" }),
      call(1, "a", "get_weather"),
      piece(0, '{"city":"Oslo"}'),
      stop(1),
      completed("requires_action"),
    );
    expect(inputs(turn)).toEqual([["get_weather", "complete", true, { city: "Oslo" }]]);
  });

  it("none that can be told, if there are several: those without arguments do not run", async () => {
    const turn = await turnOf(
      call(0, "a", "now"),
      call(1, "b", "get_weather"),
      piece(1, '{"city":"Oslo"}'),
      piece(7, "{}"),
      stop(0),
      stop(1),
      completed("requires_action"),
    );
    expect(inputs(turn)).toEqual([
      ["now", "truncated", false, null],
      ["get_weather", "complete", true, { city: "Oslo" }],
    ]);
  });

  it("not a call of ours, if the index is that of a call of the server's", async () => {
    const turn = await turnOf(
      step(0, { type: "mcp_server_tool_call", id: "m", name: "search", server_name: "s", arguments: {} }),
      call(1, "a", "get_weather"),
      piece(0, '{"city":"Oslo"}'),
      piece(1, '{"city":"Rome"}'),
      stop(0),
      stop(1),
      completed("requires_action"),
    );
    expect(inputs(turn)).toEqual([["get_weather", "complete", true, { city: "Rome" }]]);
  });

  it("none that can be told: what came before such a piece is not joined with what comes after it", async () => {
    const thousand = async (...between: object[]) =>
      turnOf(
        step(0, { type: "thought" }),
        call(1, "a", "refund_order"),
        piece(0, '{"order_id":"A","amount":1'),
        call(2, "b", "now"),
        piece(0, "00"),
        ...between,
        stop(2),
        piece(0, "0}"),
        stop(1),
        completed("requires_action"),
      );
    const neither = [
      ["refund_order", "truncated", false, { order_id: "A" }],
      ["now", "truncated", false, null],
    ];
    expect(inputs(await thousand())).toEqual(neither);
    expect(inputs(await thousand(stop(1)))).toEqual(neither);
  });

  it("none that can be told, if two have one index before either has ended: what is whole counts", async () => {
    const turn = await turnOf(
      call(0, "a", "now"),
      call(0, "b", "get_weather"),
      piece(0, '{"city":"Oslo"}'),
      step(0, { type: "function_call", id: "c", name: "get_weather", arguments: { city: "Rome" } }),
      stop(0),
      stop(0),
      stop(0),
      completed("requires_action"),
    );
    expect(inputs(turn)).toEqual([
      ["now", "truncated", false, null],
      ["get_weather", "truncated", false, null],
      ["get_weather", "complete", true, { city: "Rome" }],
    ]);
  });

  it("nothing runs of a stream that was joined in the middle of a call", async () => {
    const turn = await turnOf(piece(3, '{"city":"Os'), piece(3, 'lo"}'), stop(3), completed("requires_action"));
    expect(turn.calls).toEqual([]);
  });
});

describe("a call that is stopped before its arguments began", () => {
  const bare = (index: number, id: string, name = "now") =>
    step(index, { type: "function_call", id, name, arguments: {} });

  it.each([
    ["incomplete", [completed("incomplete")], "truncated"],
    ["cut", [], "truncated"],
    ["complete", [completed("requires_action")], "complete"],
  ])("in an answer that is %s", async (_, rest, status) => {
    const turn = await turnOf(bare(0, "a"), stop(0), ...rest);
    expect(inputs(turn)).toEqual([["now", status, status === "complete", status === "complete" ? {} : null]]);
  });

  it("is whole if another one follows, and if it was not streamed", async () => {
    const turn = await turnOf(bare(0, "a"), stop(0), bare(1, "b"), stop(1), completed("incomplete"));
    expect(inputs(turn).map((input) => (input as unknown[])[1])).toEqual(["complete", "truncated"]);
    const amid = await turnOf(bare(0, "a"), bare(1, "b"), stop(0), stop(1), completed("incomplete"));
    expect(inputs(amid).map((input) => (input as unknown[])[1])).toEqual(["complete", "truncated"]);
    const steps = [
      null,
      { type: "function_call", id: "a", name: "now", arguments: {} },
      { type: "model_output", content: [{ type: "text", text: "Wait" }] },
    ];
    const types = googleInteractions.parse({ status: "incomplete", steps } as never, { tools: sharedTools });
    expect(types.map(({ type }) => type)).toContain("tool-use");
  });

  it("takes them when they come late, and then ends with the answer", async () => {
    const events = [bare(0, "a", "get_weather"), stop(0), piece(0, '{"city":"Oslo"'), piece(0, "}")];
    const whole = await turnOf(...events, completed("requires_action"));
    expect(inputs(whole)).toEqual([["get_weather", "complete", true, { city: "Oslo" }]]);
    const half = await turnOf(...events.slice(0, -1), completed("requires_action"));
    expect(inputs(half)).toEqual([["get_weather", "truncated", false, { city: "Oslo" }]]);
  });

  it("is cut if it is the last before a continuation", async () => {
    const next = [{ event_type: "interaction.created", interaction: { id: "v1_2" } }, completed("requires_action")];
    const turn = await turnOf(bare(0, "a"), stop(0), completed("requires_continuation"), ...next);
    expect(inputs(turn)).toEqual([["now", "truncated", false, null]]);
  });

  it("has the input {} if the server has run it", async () => {
    const result = step(1, { type: "function_result", call_id: "a", result: "noon" });
    const turn = await turnOf(bare(0, "a"), stop(0), result, stop(1), completed("completed"));
    expect(turn.providerToolCalls).toMatchObject([{ id: "a", name: "now", input: {}, output: "noon" }]);
  });
});

describe("an answer in several interactions", () => {
  const created = (id: string) => ({ event_type: "interaction.created", interaction: { id } });

  it("is cut if the connection is lost in one that continues it", async () => {
    const turn = await turnOf(
      created("v1_1"),
      completed("requires_continuation"),
      created("v1_2"),
      call(0, "a", "get_weather"),
      piece(0, '{"city":"Oslo"}'),
    );
    expect([turn.error?.code, turn.finishReason]).toEqual(["connection_lost", "error"]);
    expect(inputs(turn)).toEqual([["get_weather", "truncated", false, { city: "Oslo" }]]);
  });

  it("has ended with its length if none continues it", async () => {
    const turn = await turnOf(created("v1_1"), completed("requires_continuation"));
    expect([turn.error, turn.finishReason, turn.providerFinishReason]).toEqual([
      undefined,
      "length",
      "requires_continuation",
    ]);
  });

  it("counts the tokens of all of them", async () => {
    const usage = { total_input_tokens: 1, total_output_tokens: 2, total_tokens: 3 };
    const more = { total_input_tokens: 10, total_thought_tokens: 5, total_tokens: 15 };
    const turn = await turnOf(
      completed("requires_continuation", { usage }),
      created("v1_2"),
      completed("requires_continuation", { usage: more }),
      created("v1_3"),
      completed("completed", { usage }),
    );
    expect(turn.usage).toMatchObject({ inputTokens: 12, outputTokens: 9, totalTokens: 21, reasoningTokens: 5 });
  });

  it("has failed if the next one fails to begin", async () => {
    const failed = { event_type: "error", error: { code: "internal", message: "It broke." } };
    const turn = await turnOf(created("v1_1"), completed("requires_continuation"), failed);
    expect([turn.error?.message, turn.finishReason]).toEqual(["internal: It broke.", "error"]);
  });
});

// https://ai.google.dev/gemini-api/docs/migrate-to-interactions (2026-06), where nothing follows `requires_action`
describe("an interaction whose end does not come has ended as it was last told", () => {
  const oneCall = [call(0, "a", "save"), piece(0, '{"text":"Hi"}'), stop(0)];
  const told = (name: string, more: object = {}) => ({
    event_type: `interaction.${name}`,
    interaction_id: "v1_1",
    ...more,
  });
  const turnOfSave = (...events: object[]): Promise<Turn> =>
    googleInteractions.read(iterate(events) as never, { tools: [save] }).done();
  const save = defineTool({
    name: "save",
    inputSchema: jsonSchema({ type: "object", properties: { text: { type: "string" } } }),
    execute: () => "saved",
  });

  it.each([
    ["by the event's name", told("requires_action")],
    ["by its status", told("status_update", { status: "requires_action" })],
    ["with the interaction", told("requires_action", { interaction: { id: "v1_1", status: "requires_action" } })],
  ])("with calls, %s", async (_, last) => {
    const turn = await turnOfSave(told("in_progress"), ...oneCall, last);
    expect([turn.error, turn.finishReason]).toEqual([undefined, "tool-use"]);
    expect(inputs(turn)).toEqual([["save", "complete", true, { text: "Hi" }]]);
  });

  it.each([
    [told("failed", { error: { code: "internal", message: "It broke." } }), "internal: It broke."],
    [told("failed", { interaction: { errors: [{ message: "It broke." }] } }), "It broke."],
    [told("status_update", { status: "failed" }), "The interaction has failed."],
    [told("cancelled"), "The interaction has been cancelled."],
  ])("badly: %j", async (last, message) => {
    const turn = await turnOfSave(...oneCall, last);
    expect([turn.error?.code, turn.error?.message]).toEqual(["provider_error", message]);
    expect(inputs(turn)).toMatchObject([["save", "complete", false, { text: "Hi" }]]);
  });

  it("unless a step is open or began since, or the connection was lost", async () => {
    const second = [call(1, "b", "save"), piece(1, '{"text":"Ho"}')];
    const cut = [
      [...oneCall, told("requires_action"), ...second, stop(1)],
      [...oneCall, ...second, told("requires_action")],
      [...oneCall, told("requires_action"), told("in_progress")],
      [...oneCall, told("requires_action"), told("created", { interaction: { id: "v1_2" } })],
    ];
    const turns = await Promise.all(cut.map((events) => turnOfSave(...events)));
    const lost = async function* () {
      yield* [...oneCall, told("requires_action")];
      throw new Error("socket hang up");
    };
    turns.push(await googleInteractions.read(lost() as never, { tools: [save] }).done());
    for (const turn of turns) {
      expect(turn.error?.code).toBe("connection_lost");
      expect(summarize(turn).toolCalls.filter(({ released }) => released)).toEqual([]);
    }
  });

  it("and not, if the end comes after all", async () => {
    const usage = { total_input_tokens: 1, total_output_tokens: 2, total_tokens: 3 };
    const turn = await turnOfSave(...oneCall, told("requires_action"), completed("incomplete", { usage }));
    expect([turn.finishReason, turn.usage?.totalTokens]).toEqual(["length", 3]);
    expect(inputs(turn)).toMatchObject([["save", "complete", false, { text: "Hi" }]]);
  });
});

it.each([null, 5])("reads an error whose event has %j as its type, and leaves out what is none", async (event_type) => {
  const turn = await turnOf({ event_type }, { event_type, error: { message: "Too busy." } });
  expect(turn.error).toMatchObject({ code: "provider_error", message: "Too busy." });
});

it.each<[string, object]>([
  ["The interaction has failed.", { error: { status: 503 } }],
  ["Too busy.", { detail: "Too busy." }],
  ["Too busy.", { event_type: "error", message: "Too busy." }],
  ["unavailable", { error: { code: "unavailable", message: "unavailable" } }],
])("says %s of %j", async (message, event) => {
  expect((await turnOf(event)).error).toMatchObject({ code: "provider_error", message });
});

// The SDK drops such a line, and its stream ends without a word: https://github.com/googleapis/js-genai/issues/1973
it("knows from the bytes why the content was refused in the middle of a stream", async () => {
  const text = [
    "event: interaction.created",
    'data: {"interaction":{"id":"v1_1","status":"in_progress"},"event_type":"interaction.created"}',
    "",
    '{"error":{"message":"The content is prohibited.","code":"prohibited_content"}}',
    "",
  ].join("\n");
  const turn = await googleInteractions.read(new Response(text)).done();
  expect(turn.error).toMatchObject({
    code: "provider_error",
    message: "prohibited_content: The content is prohibited.",
  });
});

it("knows the id of an interaction whose stream was resumed", async () => {
  const turn = await turnOf(delta(2, { type: "text", text: "lo" }), stop(2), completed("completed"));
  expect([turn.responseId, turn.text]).toEqual(["v1_1", "lo"]);
});

describe("what comes in one piece", () => {
  it("arguments at the start count unless pieces follow", async () => {
    const whole = { type: "function_call", id: "a", name: "get_weather", arguments: { city: "Rome" } };
    const alone = await turnOf(step(0, whole), stop(0), completed("requires_action"));
    expect(inputs(alone)).toEqual([["get_weather", "complete", true, { city: "Rome" }]]);
    const both = await turnOf(step(0, whole), piece(0, '{"city":"Oslo"}'), stop(0), completed("requires_action"));
    expect(inputs(both)).toEqual([["get_weather", "complete", true, { city: "Oslo" }]]);
  });

  it("arguments at the start count though empty pieces follow, as events or as bytes", async () => {
    const whole = { type: "function_call", id: "b", name: "get_weather", arguments: { city: "Rome" } };
    const events = [
      call(0, "a", "get_weather"),
      ...[...'{"city":"Oslo"}'].map((one) => piece(0, one)),
      stop(0),
      step(1, whole),
      piece(1, ""),
      stop(1),
      completed("requires_action"),
    ];
    const expected = [
      ["get_weather", "complete", true, { city: "Oslo" }],
      ["get_weather", "complete", true, { city: "Rome" }],
    ];
    expect(inputs(await turnOf(...events))).toEqual(expected);
    const frames = events.map((event) => new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
    expect(inputs(await googleInteractions.read(iterate(frames), { tools: sharedTools }).done())).toEqual(expected);
  });

  it("text, a thought and media", async () => {
    const media = { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" };
    const turn = await turnOf(
      step(0, { type: "thought", summary: [{ type: "text", text: "Hm." }], signature: "c2ln" }),
      stop(0),
      step(1, { type: "model_output", content: [{ type: "text", text: "Here" }] }),
      delta(1, { type: "text", text: " it is." }),
      delta(1, media),
      stop(1),
      completed("completed"),
    );
    expect([turn.text, turn.reasoning, turn.finishReason]).toEqual(["Here it is.", "Hm.", "stop"]);
    expect(googleInteractions.assistantMessage(turn)).toEqual([
      { type: "thought", summary: [{ type: "text", text: "Hm." }], signature: "c2ln" },
      { type: "model_output", content: [{ type: "text", text: "Here it is." }, media] },
    ]);
  });

  it("all steps at the end, from a server that streams none", async () => {
    const steps = [{ type: "function_call", id: "a", name: "get_weather", arguments: { city: "Rome" } }];
    expect(inputs(await turnOf(completed("requires_action", { steps })))).toEqual([
      ["get_weather", "complete", true, { city: "Rome" }],
    ]);
  });

  it("all steps of each interaction at its end, where one continues the other", async () => {
    const created = { event_type: "interaction.created", interaction: { id: "v1_2" } };
    const said = { type: "model_output", content: [{ type: "text", text: "Now Rome." }] };
    const called = { type: "function_call", id: "a", name: "get_weather", arguments: { city: "Rome" } };
    const turn = await turnOf(
      completed("requires_continuation", { steps: [said] }),
      created,
      completed("requires_action", { steps: [called] }),
    );
    expect(turn.text).toBe("Now Rome.");
    expect(inputs(turn)).toEqual([["get_weather", "complete", true, { city: "Rome" }]]);
  });
});

it("leaves the events as they came", async () => {
  const event = step(0, { type: "model_output", content: [{ type: "text", text: "Here" }] });
  await turnOf(event, delta(0, { type: "text", text: " it is." }), completed("completed"));
  expect(event).toEqual(step(0, { type: "model_output", content: [{ type: "text", text: "Here" }] }));
});

it("reads a step whose content is no list", async () => {
  const turn = await turnOf(
    step(0, { type: "model_output", content: {} }),
    delta(0, { type: "text", text: "Hi" }),
    stop(0),
    step(1, { type: "model_output", content: [null, { type: "text", text: " there" }] }),
    stop(1),
    completed("completed"),
  );
  expect([turn.text, turn.error]).toEqual(["Hi there", undefined]);
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    { type: "model_output", content: [{ type: "text", text: "Hi" }] },
    { type: "model_output", content: [{ type: "text", text: " there" }] },
  ]);
});

it("sends no empty text, whether it reads events or bytes", async () => {
  const said = (index: number, ...texts: string[]) => [
    step(index, { type: "model_output" }),
    ...texts.map((text) => delta(index, { type: "text", text })),
    stop(index),
  ];
  const events = [...said(0, "a", "b", ""), ...said(1, ""), completed("completed")];
  const bytes = new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const { turn } = await readPieces(googleInteractions, [bytes], sharedTools);
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    { type: "model_output", content: [{ type: "text", text: "ab" }] },
  ]);
  expect(googleInteractions.assistantMessage(await turnOf(...events))).toEqual(
    googleInteractions.assistantMessage(turn),
  );
});

describe("a thought goes back with its signature", () => {
  const signed = { type: "thought_signature", signature: "c2ln" };
  const now = { type: "function_call", id: "a", name: "now", arguments: {} };

  it("if the call after it has its index, and its end was left out", async () => {
    const turn = await turnOf(
      step(0, { type: "thought" }),
      delta(0, signed),
      call(0, "a", "now"),
      stop(0),
      completed("requires_action"),
    );
    expect(googleInteractions.assistantMessage(turn)).toEqual([{ type: "thought", signature: "c2ln" }, now]);
  });

  it("if a resumed stream begins with the signature", async () => {
    const turn = await turnOf(delta(0, signed), stop(0), call(1, "a", "now"), stop(1), completed("requires_action"));
    expect(googleInteractions.assistantMessage(turn)).toEqual([{ type: "thought", signature: "c2ln" }, now]);
  });
});

it("takes from a call's second announcement what the first one lacked", async () => {
  const turn = await turnOf(
    call(0, "a", "get_weather"),
    step(0, {
      type: "function_call",
      id: "a",
      name: "get_weather",
      arguments: { city: "Oslo", unit: "celsius" },
      signature: "c2ln",
    }),
    stop(0),
    completed("requires_action"),
  );
  expect(turn.calls.map(({ input }) => input)).toEqual([{ city: "Oslo", unit: "celsius" }]);
  expect(turn.calls[0]!.metadata).toEqual({ signature: "c2ln" });
  expect(googleInteractions.assistantMessage(turn)).toMatchObject([{ type: "function_call", signature: "c2ln" }]);
});

it.each([{}, { signature: "" }])("a thought that is not signed (%o) stays: the API refuses it", async (signature) => {
  const summary = [{ type: "text", text: "Hm." }];
  const turn = await turnOf(
    step(0, { type: "thought", summary, ...signature }),
    stop(0),
    call(1, "a", "now"),
    stop(1),
    completed("requires_action"),
  );
  expect(turn.reasoning).toBe("Hm.");
  expect(googleInteractions.assistantMessage(turn).map(({ type }) => type)).toEqual(["function_call"]);
});

describe("of a call of the server's and its result, none goes back without the other", () => {
  const search = step(0, { type: "google_search_call", id: "s", arguments: { queries: ["x"] } });
  const text = [step(2, { type: "model_output", content: [{ type: "text", text: "x" }] }), stop(2)];
  const sent = (turn: Turn) => googleInteractions.assistantMessage(turn).map(({ type }) => type);

  it("a result that was cut", async () => {
    const turn = await turnOf(search, stop(0), step(1, { type: "google_search_result", call_id: "s" }));
    expect(sent(turn)).toEqual([]);
  });

  it.each([{ call_id: "s" }, { call_id: null }, {}])("a result whose call came before the stream: %j", async (id) => {
    const result = step(1, { type: "google_search_result", ...id, result: [] });
    const turn = await turnOf(result, stop(1), ...text, completed("completed"));
    expect(sent(turn)).toEqual(["model_output"]);
    expect(turn.providerToolCalls).toMatchObject([
      { id: id.call_id ?? null, name: "google_search", type: "google_search_call", status: "completed", output: [] },
    ]);
  });

  it("a result in pieces under the index of its call", async () => {
    const result = { type: "google_search_result", call_id: "s", result: [{ search_suggestions: "x" }] };
    const turn = await turnOf(search, delta(0, result), stop(0), completed("completed"));
    expect(googleInteractions.assistantMessage(turn)).toEqual([
      { type: "google_search_call", id: "s", arguments: { queries: ["x"] } },
      result,
    ]);
  });
});

it("puts the results of the server's calls together, in whatever order and pieces they come", async () => {
  const ran = { type: "code_execution_call", id: "c", arguments: { code: "6 * 7" } };
  const asked = { type: "google_search_call", id: "s", arguments: { queries: ["x"] } };
  const found = { type: "google_search_result", call_id: "s" };
  const gave = { type: "code_execution_result", call_id: "c" };
  const turn = await turnOf(
    step(0, ran),
    stop(0),
    step(1, asked),
    stop(1),
    step(2, found),
    delta(2, { ...found, result: [{ search_suggestions: "a" }] }),
    delta(2, { ...found, call_id: "", result: [{ search_suggestions: "b" }] }),
    stop(2),
    step(3, gave),
    delta(3, { ...gave, result: "4" }),
    delta(3, { ...gave, result: "2", is_error: true }),
    delta(3, { ...gave, result: null }),
    stop(3),
    completed("completed"),
  );
  const finds = [{ search_suggestions: "a" }, { search_suggestions: "b" }];
  expect(turn.providerToolCalls).toEqual([
    expect.objectContaining({ id: "c", name: "code_execution", status: "failed", input: ran.arguments, output: "42" }),
    expect.objectContaining({ id: "s", name: "google_search", input: asked.arguments, output: finds }),
  ]);
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    ran,
    asked,
    { ...found, result: finds },
    { ...gave, result: "42", is_error: true },
  ]);
});

it("leaves a call that the server has run to it, and sends it back with its arguments and its result", async () => {
  const result = { type: "function_result", call_id: "b", name: "get_weather", result: "9" };
  const other = step(3, { type: "function_result", result: "?" });
  const turn = await turnOf(
    call(0, "a", "get_weather"),
    piece(0, '{"city":"Oslo"}'),
    stop(0),
    call(1, "b", "get_weather"),
    piece(1, '{"city":"Rome"}'),
    stop(1),
    step(2, result),
    stop(2),
    other,
    stop(3),
    completed("requires_action"),
  );
  expect(turn.error).toBeUndefined();
  expect(turn.calls.map(({ id }) => id)).toEqual(["a"]);
  expect(turn.providerToolCalls).toMatchObject([{ id: "b", input: { city: "Rome" }, output: "9" }]);
  const weather = { type: "function_call", name: "get_weather" };
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    { ...weather, id: "a", arguments: { city: "Oslo" } },
    { ...weather, id: "b", arguments: { city: "Rome" } },
    result,
  ]);
});

it("keeps the annotations of a text, and the images of a summary, which go back with it", async () => {
  const [first, second] = [
    { type: "url_citation", url: "a" },
    { type: "url_citation", url: "b" },
  ];
  const noted = (annotations: unknown) => delta(1, { type: "text_annotation_delta", annotations });
  const image = { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" };
  const turn = await turnOf(
    step(0, { type: "thought", signature: "c2ln" }),
    delta(0, { type: "thought_summary", content: { type: "text", text: "Hm." } }),
    delta(0, { type: "thought_summary", content: image }),
    stop(0),
    step(1, { type: "model_output" }),
    noted([first]),
    delta(1, { type: "text", text: "Oslo" }),
    noted([first]),
    noted(null),
    noted([second]),
    stop(1),
    completed("completed"),
  );
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    { type: "thought", signature: "c2ln", summary: [{ type: "text", text: "Hm." }, image] },
    { type: "model_output", content: [{ type: "text", text: "Oslo", annotations: [first, second] }] },
  ]);
});

it("sends a thought back that did not stop before a step of the same index began", async () => {
  const thought = { type: "thought", signature: "c2ln" };
  const turn = await turnOf(step(0, thought), call(0, "a", "now"), stop(0), completed("requires_action"));
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    thought,
    { type: "function_call", id: "a", name: "now", arguments: {} },
  ]);
});

it("sends nothing of a search of the server's that was cut", async () => {
  const turn = await turnOf(
    step(0, { type: "google_search_call", id: "s", arguments: { queries: ["x"] } }),
    stop(0),
    step(1, { type: "model_output" }),
    delta(1, { type: "text", text: "I fo" }),
  );
  expect(turn.error?.code).toBe("connection_lost");
  expect(googleInteractions.assistantMessage(turn)).toEqual([
    { type: "model_output", content: [{ type: "text", text: "I fo" }] },
  ]);
});

it("reports a search of the server's when it starts, and with what it gave", async () => {
  const { bytes, tools } = loadFixture(wire, "provider-tool");
  const { events } = await readPieces(googleInteractions, [bytes], tools);
  const reported = events.filter(
    (event): event is StreamEvent & { type: "provider-tool" } => event.type === "provider-tool",
  );
  expect(reported.map(({ call: { name, status } }) => `${name} ${status}`)).toEqual([
    "google_search started",
    "google_search started",
    "google_search completed",
    "code_execution started",
    "code_execution started",
    "code_execution completed",
  ]);
  for (const at of [2, 5]) {
    expect(reported[at]!.call.input).toBeDefined();
    expect(reported[at]!.call.input).toEqual(reported[at - 1]!.call.input);
  }
});

it.each([
  ["failed", { errors: [{ code: "internal", message: "It broke." }] }, "It broke."],
  ["cancelled", {}, "The interaction has been cancelled."],
  ["in_progress", {}, "The interaction is in_progress: get it again when it has ended."],
])("an interaction that is %s is a failed turn", (status, more, message) => {
  const last = googleInteractions.parse({ status, steps: [], ...more }).at(-1)!;
  expect(last).toMatchObject({ type: "error", error: { code: "provider_error", message } });
});

it.each([
  [{ event_type: "interaction.created", interaction: { id: "a" } }, true],
  [{ event_type: "step.stop", index: 0 }, true],
  [{ object: "interaction", id: "a", status: "completed" }, true],
  [{ type: "response.created", response: {} }, false],
  [{ steps: [] }, false],
  [null, false],
])("recognizes %j: %j", (event, expected) => {
  expect(googleInteractions.recognizes(event)).toBe(expected);
});

it("gives back the result of a call that the server has run, also where the interaction began anew within the call", async () => {
  const created = { event_type: "interaction.created", interaction: { id: "v1_a" } };
  const turn = await googleInteractions
    .read(
      iterate([
        created,
        {
          event_type: "step.start",
          index: 0,
          step: { type: "function_call", id: "c1", name: "search", arguments: {} },
        },
        created,
        { event_type: "step.stop", index: 0 },
        { event_type: "step.start", index: 1, step: { type: "function_result", call_id: "c1", result: { items: [] } } },
        { event_type: "step.stop", index: 1 },
        { event_type: "interaction.completed", interaction: { id: "v1_a", status: "completed" } },
      ]) as never,
    )
    .done();
  expect(turn.calls).toEqual([]);
  expect(googleInteractions.assistantMessage(turn)).toMatchObject([
    { type: "function_call", id: "c1" },
    { type: "function_result", call_id: "c1" },
  ]);
});
