import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ReadableStream } from "node:stream/web";
import { setTimeout } from "node:timers/promises";
import Anthropic, { betaRefusalFallbackMiddleware } from "@anthropic-ai/sdk";
import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic, resultContent, type MessagesModelParams } from "../../adapters/anthropic/index.ts";
import { plain, strict } from "../../adapters/anthropic/schema.ts";
import type { WireBlock, WireEvent, WireMessage } from "../../adapters/anthropic/wire.ts";
import { ToolError } from "../../src/errors.ts";
import { lowerSchema } from "../../src/schema/lower.ts";
import type { StreamEvent, Turn } from "../../src/stream/events.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import type { ToolUse } from "../../src/tool/use.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { summarize, type TurnSummary } from "../../src/testing/index.ts";
import { fixtureNames, fixturesDir, loadFixture, sharedTools } from "../fixtures.ts";
import { misread } from "../misread.ts";
import { iterate } from "../iterate.ts";

const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  effect: "read",
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const volume = defineTool({
  name: "set_volume",
  inputSchema: z.object({ level: z.number().optional(), room: z.string().optional() }),
  execute: () => "done",
});

async function readEvents(events: readonly unknown[], tools: readonly Tool[] = [weather, volume]) {
  const stream = anthropic.read(iterate(events as WireEvent[]), { tools, runId: "run" });
  const told: StreamEvent[] = [];
  for await (const event of stream) told.push(event);
  return { told, turn: stream.turn };
}

async function turnOf(name: string): Promise<Turn> {
  const { bytes, tools } = loadFixture("anthropic", name);
  return anthropic.read(iterate([bytes]), { tools, runId: "run" }).done();
}

const start: WireEvent = { type: "message_start", message: { id: "msg_1", model: "m", content: [] } };
const open = (index: number, content_block: WireBlock): WireEvent => ({
  type: "content_block_start",
  index,
  content_block,
});
const call = (index: number, id: string, name: string) => open(index, { type: "tool_use", id, name, input: {} });
const json = (index: number, partial_json: string): WireEvent => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});
const close = (index: number): WireEvent => ({ type: "content_block_stop", index });
const end = (stop_reason: string): WireEvent[] => [
  { type: "message_delta", delta: { stop_reason } },
  { type: "message_stop" },
];
const text = (index: number, said: string) => [
  open(index, { type: "text", text: "" }),
  delta(index, "text_delta", { text: said }),
  close(index),
];
const delta = (index: number, type: string, fields: object): WireEvent => ({
  type: "content_block_delta",
  index,
  delta: { type, ...fields },
});

describe("reading", () => {
  it("hands out a read as soon as its block ends, and a write at the end of the turn", async () => {
    const { told } = await readEvents([
      start,
      call(0, "toolu_1", "set_volume"),
      json(0, '{"level": 3}'),
      close(0),
      call(1, "toolu_2", "get_weather"),
      json(1, '{"city": "Oslo"}'),
      close(1),
      ...text(2, "So."),
      ...end("tool_use"),
    ]);
    const order = told.flatMap((event) =>
      event.type === "tool-use" ? [event.use.name] : event.type === "text-delta" ? [event.delta] : [],
    );
    expect(order).toEqual(["get_weather", "So.", "set_volume"]);
  });

  it("takes the stop of another block for nothing but that", async () => {
    const { turn } = await readEvents([
      start,

      call(0, "toolu_1", "get_weather"),
      json(0, '{"city":'),
      ...text(1, "x"),
      close(7),
      json(0, '"Oslo"}'),
      close(0),
      ...end("tool_use"),
    ]);
    expect(summarize(turn).toolCalls).toMatchObject([{ input: { city: "Oslo" }, status: "complete" }]);
  });

  it("reads the blocks of a message_start but those that come by themselves, or that nothing follows", async () => {
    const called = (id: string, level: number) => ({ type: "tool_use", id, name: "set_volume", input: { level } });
    const begin = (...content: WireBlock[]) => ({
      type: "message_start",
      message: { content, stop_reason: "tool_use" },
    });
    const one = called("toolu_1", 1);
    const two = called("toolu_2", 2);
    const three = [call(2, "toolu_3", "set_volume"), json(2, '{"level": 3}'), close(2)];
    const ids = async (...events: WireEvent[]) => {
      const { told } = await readEvents(events);
      return told.flatMap((event) => (event.type === "tool-use" ? [event.use.id] : []));
    };
    expect(await ids(begin(one, two), { type: "ping" }, { type: "message_stop" })).toEqual(["toolu_1", "toolu_2"]);
    expect(await ids(begin(one, two), ...three, ...end("tool_use"))).toEqual(["toolu_1", "toolu_2", "toolu_3"]);
    expect(await ids(begin(one, two, called("toolu_3", 3)), ...three, ...end("tool_use"))).toEqual([
      "toolu_1",
      "toolu_2",
      "toolu_3",
    ]);
    expect(await ids(begin(one, two), { type: "ping" })).toEqual([]);
    // Those that follow may be counted from 0 again, or not at all.
    for (const index of [0, undefined]) {
      const next = three.map((event) => ({ ...event, index }));
      expect(await ids(begin(one, two), ...next, ...end("tool_use"))).toEqual(["toolu_1", "toolu_2", "toolu_3"]);
      const words = [
        { type: "content_block_start", index, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index, delta: { type: "text_delta", text: "Hi" } },
      ];
      expect(await ids(begin(one, two), ...words, ...end("tool_use"))).toEqual(["toolu_1", "toolu_2"]);
      expect(await ids(begin(called("toolu_3", 3)), ...next, ...end("tool_use"))).toEqual(["toolu_3"]);
    }
  });

  it("takes a block that is begun twice for one", async () => {
    const begin = call(0, "toolu_1", "set_volume");
    const { turn } = await readEvents([start, begin, begin, json(0, '{"level": 3}'), close(0), ...end("tool_use")]);
    expect(summarize(turn).toolCalls).toMatchObject([{ input: { level: 3 }, status: "complete" }]);
    expect(anthropic.assistantMessage(turn)).toMatchObject([{ content: [{ id: "toolu_1" }] }]);
  });

  // https://github.com/decolua/9router/issues/2218
  it.each([
    ["pieces", ["content_block_delta"]],
    ["pieces and ends", ["content_block_delta", "content_block_stop"]],
    ["ends", ["content_block_stop"]],
    ["pieces, where no block ends,", ["content_block_delta"], ["content_block_stop"]],
  ])("gives %s without an index to the block that began last", async (_, types, missing: string[] = []) => {
    const events = [
      start,
      open(0, { type: "thinking", thinking: "" }),
      delta(0, "thinking_delta", { thinking: "Hm." }),
      delta(0, "signature_delta", { signature: "c2ln" }),
      close(0),
      ...text(1, "Louder."),
      call(2, "toolu_1", "set_volume"),
      json(2, '{"level":'),
      json(2, " 3}"),
      close(2),
      call(3, "toolu_2", "set_volume"),
      json(3, '{"level": 4}'),
      close(3),
      ...end("tool_use"),
    ];
    const bare = events
      .filter(({ type }) => !missing.includes(type!))
      .map((event) => (types.includes(event.type!) ? { ...event, index: undefined } : event));
    const { turn } = await readEvents(bare);
    expect(anthropic.assistantMessage(turn)).toMatchObject([
      {
        content: [
          { type: "thinking", thinking: "Hm.", signature: "c2ln" },
          { type: "text", text: "Louder." },
          { type: "tool_use", id: "toolu_1", input: { level: 3 } },
          { type: "tool_use", id: "toolu_2", input: { level: 4 } },
        ],
      },
    ]);
    expect(turn.calls.map(({ outcome }) => (outcome as ToolUse).input)).toEqual([{ level: 3 }, { level: 4 }]);
  });

  it("gives none of them to blocks that began earlier and have no end", async () => {
    const { turn } = await readEvents([
      start,
      open(0, { type: "text", text: "Louder." }),
      open(1, { type: "text", text: " So." }),
      call(0, "toolu_1", "set_volume"),
      { ...json(0, '{"level": 3}'), index: undefined },
      close(0),
      ...end("tool_use"),
    ]);
    expect(anthropic.assistantMessage(turn)).toMatchObject([
      { content: [{ text: "Louder." }, { text: " So." }, { type: "tool_use", id: "toolu_1", input: { level: 3 } }] },
    ]);
  });

  // https://github.com/jundot/omlx/pull/1577
  it("takes a name with white space around it for the tool's, and sends that back", async () => {
    const { turn } = await readEvents([start, call(0, "toolu_1", "set_volume\n"), close(0), ...end("tool_use")]);
    expect(turn.calls[0]?.tool).toBe(volume);
    expect(anthropic.assistantMessage(turn)).toMatchObject([{ content: [{ name: "set_volume" }] }]);
  });

  // https://github.com/rynfar/meridian/pull/73, https://github.com/rynfar/meridian/issues/528
  describe("a call that a gateway sends twice, under one id", () => {
    const whole = (index: number, input: object) => {
      const sent = JSON.stringify(input);
      return [
        call(index, "toolu_1", "set_volume"),
        json(index, sent.slice(0, 5)),
        json(index, sent.slice(5)),
        close(index),
      ];
    };
    const uses = (told: readonly StreamEvent[]) =>
      told.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []));
    const level = { level: 3 };

    it.each([
      ["at its own index", whole(0, level), level],
      ["at another index", whole(1, level), level],
      ["written in another way", [call(1, "toolu_1", "set_volume"), json(1, '{"level": 3}'), close(1)], level],
      ["whole", [open(1, { type: "tool_use", id: "toolu_1", name: "set_volume", input: level }), close(1)], level],
      ["without arguments", [call(1, "toolu_1", "set_volume"), close(1)], {}],
    ])("is one, where it comes %s", async (_, again, input) => {
      const first = input === level ? whole(0, level) : [call(0, "toolu_1", "set_volume"), close(0)];
      const { told, turn } = await readEvents([start, ...first, ...again, ...end("tool_use")]);
      expect(uses(told)).toEqual([input]);
      expect(anthropic.assistantMessage(turn)[0]?.content).toHaveLength(1);
      expect(anthropic.toolResults(turn)[0]?.content).toHaveLength(1);
    });

    it("is one in a message that was not streamed", () => {
      const block = { type: "tool_use", id: "toolu_1", name: "set_volume", input: level };
      const response = { type: "message", content: [block, block], stop_reason: "tool_use" };
      expect(uses(anthropic.parse(response, { tools: [volume] }))).toEqual([level]);
    });

    it("is two where the arguments differ, which go back under two ids, since the API takes each once", async () => {
      const { told, turn } = await readEvents([
        start,
        ...whole(0, level),
        ...whole(1, { level: 4 }),
        ...end("tool_use"),
      ]);
      expect(uses(told)).toEqual([level, { level: 4 }]);
      const back = anthropic.assistantMessage(turn)[0]!.content as { id?: string }[];
      expect(back.map(({ id }) => id)).toEqual(["toolu_1", "run-0-1"]);
      const results = anthropic.toolResults(turn)[0]!.content as { tool_use_id?: string }[];
      expect(results.map((result) => result.tool_use_id)).toEqual(["toolu_1", "run-0-1"]);
    });

    it("does not free its id: a third call with other arguments goes back under an id of its own", async () => {
      const calls = [...whole(0, level), ...whole(1, level), ...whole(2, { level: 4 })];
      const { told, turn } = await readEvents([start, ...calls, ...end("tool_use")]);
      expect(uses(told)).toEqual([level, { level: 4 }]);
      const back = anthropic.assistantMessage(turn)[0]!.content as { id?: string }[];
      expect(back.map(({ id }) => id)).toEqual(["toolu_1", "run-0-2"]);
      const results = anthropic.toolResults(turn)[0]!.content as { tool_use_id?: string }[];
      expect(results.map((result) => result.tool_use_id)).toEqual(["toolu_1", "run-0-2"]);
    });

    it("is one, though nothing ends it before its message is over", async () => {
      const begun = (index: number) => call(index, "toolu_1", "set_volume");
      const { told, turn } = await readEvents([start, begun(0), begun(1), begun(2), ...end("tool_use")]);
      expect(uses(told)).toEqual([{}]);
      expect(turn.calls).toHaveLength(1);
    });

    it("runs, where the first of them was cut", async () => {
      const cut = [call(0, "toolu_1", "set_volume"), json(0, '{"lev'), close(0)];
      const { told } = await readEvents([start, ...cut, ...whole(1, level), ...end("tool_use")]);
      expect(uses(told)).toEqual([level]);
    });
  });

  it("reads text and thinking of a block that was never begun", async () => {
    const { turn } = await readEvents([
      start,
      delta(6, "thinking_delta", { thinking: "Hm." }),
      delta(5, "text_delta", { text: "Hi" }),
      ...end("end_turn"),
    ]);
    expect([turn.reasoning, turn.text]).toEqual(["Hm.", "Hi"]);
    const content = [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Hi" },
    ];
    expect(anthropic.assistantMessage(turn)).toEqual([{ role: "assistant", content }]);
  });

  it("opens a second call when an index is used twice", async () => {
    const { turn } = await readEvents([
      start,
      call(0, "toolu_1", "get_weather"),
      json(0, '{"city": "Oslo"}'),
      close(0),
      call(0, "toolu_2", "get_weather"),
      json(0, '{"city": "Bergen"}'),
      close(0),
      ...end("tool_use"),
    ]);
    expect(turn.calls.map(({ id, outcome }) => [id, (outcome as ToolUse).input])).toEqual([
      ["toolu_1", { city: "Oslo" }],
      ["toolu_2", { city: "Bergen" }],
    ]);
  });

  it("prefers pieces to an input that came with the start, and never joins the two", async () => {
    const { turn } = await readEvents([
      start,
      open(0, { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Bergen" } }),
      json(0, '{"city": "Oslo"}'),
      close(0),
      ...end("tool_use"),
    ]);
    expect(summarize(turn).toolCalls).toMatchObject([{ argsText: '{"city": "Oslo"}', status: "complete" }]);
  });

  it("reads an input that a gateway left as text", () => {
    const message: WireMessage = {
      type: "message",
      role: "assistant",
      content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: '{"city": "Oslo"}' }],
      stop_reason: "tool_use",
    };
    expect(anthropic.parse(message, { tools: [weather] })).toContainEqual(
      expect.objectContaining({ type: "tool-use", use: expect.objectContaining({ input: { city: "Oslo" } }) }),
    );
  });

  it.each(["refusal", "length"])("executes nothing that a %s fell into", async (reason) => {
    const block = { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" } };
    const content = [block];
    const whole = anthropic.parse(
      { type: "message", role: "assistant", content, stop_reason: reason },
      { tools: [weather] },
    );
    const { told } = await readEvents([start, open(0, block), ...end(reason)]);
    for (const events of [whole, told]) {
      expect(events.filter(({ type }) => type === "tool-use")).toEqual([]);
      expect(events).toContainEqual(
        expect.objectContaining({ type: "tool-error", error: expect.objectContaining({ code: "truncated" }) }),
      );
    }
  });

  it("takes the stop reason for the end of the blocks that a gateway left open, unless it is a cut", async () => {
    const filled = { type: "tool_use", id: "toolu_1", name: "set_volume", input: { level: 3 } };
    const ended = await readEvents([
      start,
      open(0, filled),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
    ]);
    expect(summarize(ended.turn).toolCalls).toMatchObject([
      { input: { level: 3 }, status: "complete", released: true },
    ]);
    const cut = await readEvents([start, open(0, filled), ...end("max_tokens")]);
    expect(summarize(cut.turn).toolCalls).toMatchObject([{ status: "truncated", released: false }]);
  });

  it("keeps a message whose end was said, though no message_stop came before the next one", async () => {
    const { turn } = await readEvents([
      start,
      call(0, "toolu_1", "set_volume"),
      json(0, '{"level": 3}'),
      close(0),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      start,
      ...text(0, "Done."),
      ...end("end_turn"),
    ]);
    expect(summarize(turn).toolCalls).toMatchObject([{ status: "complete", released: true }]);
  });

  it.each([
    { type: "message_start", message: { content: "text" } },
    { type: "message_start" },
    { type: "content_block_start", index: 0 },
    { type: "content_block_delta", index: 0 },
    { type: "message_delta" },
    { type: "message", content: [null, {}] },
    "[DONE]",
    null,
    7,
  ])("does not stumble over %j", async (event) => {
    const { turn } = await readEvents([start, event, ...text(0, "Hi"), ...end("end_turn")]);
    expect(turn.error).toBeUndefined();
  });

  it("keeps the retry of a gateway apart, also when it repeats the id of the open call", async () => {
    const { turn } = await readEvents([
      start,
      call(0, "toolu_1", "get_weather"),
      json(0, '{"city": "Os'),
      start,
      call(0, "toolu_1", "get_weather"),
      json(0, '{"city": "Oslo"}'),
      close(0),
      ...end("tool_use"),
    ]);
    expect(summarize(turn).toolCalls.map(({ argsText, status }) => [argsText, status])).toEqual([
      ['{"city": "Os', "truncated"],
      ['{"city": "Oslo"}', "complete"],
    ]);
  });

  it("runs no write twice when a gateway begins again after the first one was complete", async () => {
    const turn = await turnOf("overlapping-messages");
    expect(summarize(turn).toolCalls.map(({ id, status, released }) => [id, status, released])).toEqual([
      ["toolu_01first_a", "truncated", false],
      ["toolu_01first_b", "truncated", false],
      ["toolu_01second", "complete", true],
    ]);
  });

  it("leaves a read alone that ran before the gateway began again", async () => {
    const { turn } = await readEvents([
      start,
      call(0, "toolu_1", "get_weather"),
      json(0, '{"city": "Oslo"}'),
      close(0),
      start,
      ...text(0, "Hi"),
      ...end("end_turn"),
    ]);
    expect(summarize(turn).toolCalls).toMatchObject([{ status: "complete", released: true }]);
    expect(anthropic.assistantMessage(turn)[0]?.content).toMatchObject([
      { type: "text" },
      { type: "tool_use", id: "toolu_1" },
    ]);
  });

  it("tells the input of a provider's call when it is whole, and its result with it", async () => {
    const { bytes } = loadFixture("anthropic", "quirk-35-server-tool-deltas");
    const stream = anthropic.read(iterate([bytes]), { tools: sharedTools });
    const told = [];
    for await (const event of stream) if (event.type === "provider-tool") told.push(event.call);
    const input = { url: "https://example.com/" };
    const same = { id: "srvtoolu_01q35", name: "web_fetch", type: "server_tool_use", executedBy: "provider" };
    expect(told).toEqual([
      { ...same, status: "started" },
      { ...same, status: "started", input },
      {
        ...same,
        status: "failed",
        input,
        output: { type: "web_fetch_tool_result_error", error_code: "url_not_accessible" },
      },
    ]);
    expect(stream.turn.providerToolCalls).toEqual([told.at(-1)]);
  });

  // https://github.com/can1357/oh-my-pi/pull/1817
  it("tells the result of a provider's call that comes as a client's would, and gives both back", async () => {
    const asked = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search_prime" };
    const found = { type: "tool_result", tool_use_id: "srvtoolu_1", content: "[{'text': []}]" };
    const { turn } = await readEvents([start, open(0, asked), close(0), open(1, found), close(1), ...end("end_turn")]);
    expect(turn.providerToolCalls).toMatchObject([{ id: "srvtoolu_1", status: "completed", output: found.content }]);
    expect(anthropic.assistantMessage(turn)).toMatchObject([{ content: [asked, found] }]);
  });

  // https://github.com/Wei-Shaw/sub2api/issues/5209
  it("tells results under the ids of their calls, in order, where they have ids of their own", async () => {
    const asked = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: { query: id } });
    const found = (id: string) => ({ type: "web_search_tool_result", tool_use_id: id, content: [] });
    const blocks = [asked("a"), found("x"), asked("b"), asked("c"), found("c"), found("y")];
    const { turn } = await readEvents([
      start,
      ...blocks.flatMap((block, at) => [open(at, block), close(at)]),
      ...end("end_turn"),
    ]);
    expect(turn.providerToolCalls.map(({ id, status }) => [id, status])).toEqual([
      ["a", "completed"],
      ["b", "completed"],
      ["c", "completed"],
    ]);
    expect(anthropic.assistantMessage(turn)).toEqual([
      { role: "assistant", content: [asked("a"), found("a"), asked("b"), asked("c"), found("c"), found("b")] },
    ]);
  });

  it("adds up what was read fresh, written to the cache and read from it, and takes the last count of each", async () => {
    const { turn } = await readEvents([
      {
        type: "message_start",
        message: {
          usage: { input_tokens: 10, cache_read_input_tokens: 1000, cache_creation_input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { input_tokens: null, output_tokens: 40 } },
      { type: "message_stop" },
    ]);
    expect(turn.usage).toEqual({
      inputTokens: 1015,
      outputTokens: 40,
      totalTokens: 1055,
      cacheReadTokens: 1000,
      cacheWriteTokens: 5,
      raw: { input_tokens: 10, cache_read_input_tokens: 1000, cache_creation_input_tokens: 5, output_tokens: 40 },
    });
  });

  // https://github.com/envoyproxy/ai-gateway/pull/1631
  it("keeps the count of what was read where the end says that nothing was", async () => {
    const zero = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const { turn } = await readEvents([
      { type: "message_start", message: { usage: { ...zero, input_tokens: 17, output_tokens: 0 } } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { ...zero, output_tokens: 8 } },
      { type: "message_stop" },
    ]);
    expect(turn.usage).toMatchObject({ inputTokens: 17, outputTokens: 8, totalTokens: 25 });
  });

  it("takes a lower count of what was read at the end, and all of it from a cache", async () => {
    const { turn } = await readEvents([
      { type: "message_start", message: { usage: { input_tokens: 900, output_tokens: 0 } } },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: { input_tokens: 0, cache_read_input_tokens: 850, output_tokens: 8 },
      },
      { type: "message_stop" },
    ]);
    expect(turn.usage).toMatchObject({ inputTokens: 850, cacheReadTokens: 850, totalTokens: 858 });
  });

  it("tells the usage that it knows when the stream is cut", async () => {
    const { told } = await readEvents([
      { type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1 } } },
    ]);
    expect(told.map(({ type }) => type)).toEqual(["start", "usage", "error"]);
  });

  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["tool_use", "tool-use"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "refusal"],
    ["stop", "stop"],
    ["tool_calls", "tool-use"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["something_new", "unknown"],
  ])("says %s as %s", async (word, reason) => {
    const { turn } = await readEvents([start, ...end(word)]);
    expect([turn.finishReason, turn.providerFinishReason]).toEqual([reason, word]);
  });

  it("keeps the words of a refusal", async () => {
    expect((await turnOf("refusal")).finishMessage).toBe("The request goes against the usage policy.");
  });

  it("fails with the provider's error, whatever is left of its form", async () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const { turn } = await readEvents([start, error]);
    expect(turn.error).toMatchObject({ code: "provider_error", message: "overloaded_error: Overloaded", cause: error });
    expect((await readEvents([{ error: { message: "no type" } }])).turn.error?.message).toBe("no type");
    expect((await readEvents([{ error: "only text" }])).turn.error?.message).toBe("only text");
    const bare = (await readEvents([{ error: { type: "overloaded_error" } }])).turn.error?.message;
    expect(bare).toBe("overloaded_error: the provider reported an error without a message");
    // Gateways: wrapped once more, unwrapped behind `event: error`, as a list.
    for (const event of [
      { type: "error", error: { error: { message: "deep" } } },
      { message: "deep" },
      { detail: [{ loc: ["body"], msg: "deep" }] },
    ])
      expect((await readEvents([start, event as WireEvent])).turn.error).toMatchObject({
        code: "provider_error",
        message: "deep",
      });
    expect(anthropic.parse(error as WireMessage).at(-1)).toMatchObject({
      type: "error",
      error: { code: "provider_error" },
    });
  });

  it("changes no event that it is given", async () => {
    const { bytes } = loadFixture("anthropic", "provider-tool");
    const events = new TextDecoder()
      .decode(bytes)
      .split("\n")
      .flatMap((line) => (line.startsWith("data:") ? [JSON.parse(line.slice(5))] : []));
    const before = structuredClone(events);
    await readEvents(events);
    expect(events).toEqual(before);
  });
});

describe("the history", () => {
  it("gives back what came, in order: thinking with its signature, redacted thinking, text, calls", async () => {
    expect(anthropic.assistantMessage(await turnOf("reasoning"))).toEqual([
      {
        role: "assistant",
        content: [
          {
            type: "thinking",
            thinking: "The user wants the weather. I will call get_weather.",
            signature: "EqABCkgIARABGAIiQL8xSIGNATUREofTHEfirstBLOCK==",
          },
          { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix/OPAQUEdata==" },
          { type: "text", text: "I look it up." },
          { type: "tool_use", id: "toolu_01think", name: "get_weather", input: { city: "Tromsø" } },
        ],
      },
    ]);
  });

  it("gives signed thinking back where it was, also that of which no words came", async () => {
    const [message] = anthropic.assistantMessage(await turnOf("thinking-between-calls"));
    expect(message?.content).toMatchObject([
      { type: "thinking", thinking: "Two cities. First the one in the north." },
      { id: "toolu_01north" },
      { type: "thinking", thinking: "", signature: "EqABCkgIBxABGAIiQSECONDofTwoBLOCKS==" },
      { id: "toolu_01south" },
    ]);
  });

  it("gives back server tools with their input and result, and text with its citations", async () => {
    const [message] = anthropic.assistantMessage(await turnOf("provider-tool"));
    expect(message?.content).toMatchObject([
      { type: "server_tool_use", id: "srvtoolu_01web", name: "web_search", input: { query: "rain in Bergen" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_01web",
        content: [{ encrypted_content: "RXhhbXBsZSByZXN1bHQ=" }],
      },
      { type: "text", text: "It rains a lot: " },
      { type: "text", text: "240 days a year.", citations: [{ encrypted_index: "RXhhbXBsZSBpbmRleA==" }] },
    ]);
  });

  it("gives back every citation of a text, those of its start first", async () => {
    const cites = (citation: object) => delta(0, "citations_delta", { citation });
    for (const first of [[], [{ cited_text: "a" }]]) {
      const begun = open(0, { type: "text", text: "Hi", ...(first.length > 0 && { citations: first }) });
      const { turn } = await readEvents([
        start,
        begun,
        cites({ cited_text: "b" }),
        cites({ cited_text: "c" }),
        close(0),
      ]);
      const citations = [...first, { cited_text: "b" }, { cited_text: "c" }];
      expect(anthropic.assistantMessage(turn)[0]?.content).toEqual([{ type: "text", text: "Hi", citations }]);
    }
  });

  it("gives no citation back where a piece has none", async () => {
    const pieces = [{}, { citation: null }, { citation: "a" }].map((none) => delta(0, "citations_delta", none));
    const { turn } = await readEvents([start, open(0, { type: "text", text: "Hi" }), ...pieces, close(0)]);
    expect(anthropic.assistantMessage(turn)[0]?.content).toEqual([{ type: "text", text: "Hi" }]);
  });

  it("gives text and thinking back as blocks of their own that came under the index of another kind", async () => {
    const says = (words: string) => delta(0, "text_delta", { text: words });
    const thinks = (words: string) => delta(0, "thinking_delta", { thinking: words });
    const content = async (events: WireEvent[]) => {
      const { turn } = await readEvents([start, ...events, close(0), ...end("tool_use")]);
      return anthropic.assistantMessage(turn)[0]?.content;
    };
    const level = [json(0, '{"lev'), says("Loud"), says("er."), json(0, 'el": 3}')];
    expect(await content([call(0, "toolu_1", "set_volume"), thinks("Hm"), thinks("m."), ...level])).toEqual([
      { type: "thinking", thinking: "Hmm." },
      { type: "text", text: "Louder." },
      { type: "tool_use", id: "toolu_1", name: "set_volume", input: { level: 3 } },
    ]);
    expect(await content([open(0, { type: "thinking", thinking: "Hm" }), says("Louder."), thinks("m.")])).toEqual([
      { type: "thinking", thinking: "Hmm." },
      { type: "text", text: "Louder." },
    ]);
  });

  // https://github.com/looplj/axonhub/issues/1105
  it("gives a signature back with the thinking, though it came behind its end, or as that of what follows", async () => {
    const thinking = open(0, { type: "thinking", thinking: "", signature: "" });
    const thought = delta(0, "thinking_delta", { thinking: "Hm." });
    const signed = (index: number) => delta(index, "signature_delta", { signature: "S1" });
    const called = [call(1, "toolu_1", "set_volume"), signed(1), json(1, "{}"), close(1)];
    const said = [open(1, { type: "text", text: "" }), signed(1), delta(1, "text_delta", { text: "Hi" }), close(1)];
    const back = async (...events: WireEvent[]) =>
      anthropic.assistantMessage((await readEvents([start, ...events, ...end("end_turn")])).turn)[0]?.content;
    const block = { type: "thinking", thinking: "Hm.", signature: "S1" };
    const use = { type: "tool_use", id: "toolu_1", name: "set_volume", input: {} };
    const hi = { type: "text", text: "Hi" };
    expect(await back(thinking, thought, close(0), signed(0), ...text(1, "Hi"))).toEqual([block, hi]);
    expect(await back(thinking, thought, close(0), ...called)).toEqual([block, use]);
    expect(await back(thinking, thought, close(0), ...said)).toEqual([block, { type: "text", text: "Hi" }]);
    // https://github.com/maximhq/bifrost/issues/5638
    const misplaced = delta(0, "thinking_delta", { signature: "S1" });
    expect(await back(thinking, thought, misplaced, close(0), ...called)).toEqual([block, use]);
    // https://github.com/anomalyco/opencode/pull/38733
    const whole = open(0, { type: "thinking", thinking: "Hm.", signature: "S1" });
    expect(await back(whole, close(0), ...called)).toEqual([block, use]);
    expect(await back(whole, signed(0), close(0), ...called)).toEqual([block, use]);
    // What is signed stays so, and nothing else takes a signature.
    expect(await back(thinking, thought, signed(0), close(0), ...called)).toEqual([block, use]);
    expect(await back(...said)).toEqual([{ type: "text", text: "Hi" }]);
    // Thinking that came as that of a call, too.
    const first = [call(0, "toolu_1", "set_volume"), thought, signed(0), json(0, "{}"), close(0)];
    expect(await back(...first)).toEqual([block, use]);
  });

  it("leaves out a citation that did not come, which the API would refuse in every request from then on", async () => {
    const cites = (citation?: unknown) => delta(0, "citations_delta", { citation });
    const { turn } = await readEvents([
      start,
      open(0, { type: "text", text: "Hi", citations: [null] }),
      cites(),
      cites(null),
      cites({ cited_text: "a" }),
      close(0),
      ...end("end_turn"),
    ]);
    const said = { type: "text", text: "Hi", citations: [{ cited_text: "a" }] };
    expect(anthropic.assistantMessage(turn)[0]?.content).toEqual([said]);
  });

  it("leaves the file out of citations, which the API refuses to take back", async () => {
    const place = { type: "char_location", cited_text: "It rains.", document_index: 0, start_char_index: 0 };
    const citation = { ...place, file_id: null };
    const said = { type: "text", text: "It rains.", citations: [citation] };
    const found = { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [said] };
    const { turn } = await readEvents([
      start,
      open(0, { type: "mcp_tool_use", id: "mcptoolu_1", name: "look", input: {} }),
      close(0),
      open(1, found),
      close(1),
      open(2, { type: "text", text: "It rains.", citations: [] }),
      delta(2, "citations_delta", { citation: { ...place, file_id: "file_1" } }),
      close(2),
      ...end("end_turn"),
    ]);
    const cited = { type: "text", text: "It rains.", citations: [place] };
    expect(anthropic.assistantMessage(turn)[0]?.content.slice(1)).toEqual([{ ...found, content: [cited] }, cited]);
  });

  it("gives back blocks and fields that it does not know", async () => {
    const [message] = anthropic.assistantMessage(await turnOf("unknown-blocks"));
    expect(message?.content).toEqual([
      { type: "compaction", content: "The user asked about Oslo." },
      { type: "hologram", frames: [1, 2] },
      { type: "tool_use", id: "toolu_01new", name: "get_weather", input: { city: "Oslo" } },
    ]);
  });

  // As the client does it: https://github.com/anthropics/anthropic-sdk-typescript/issues/1164
  it("takes what is told of a compaction for its last word, also that there is none", async () => {
    const block = { type: "compaction", content: "", encrypted_content: "first" };
    const content = async (...told: object[]) => {
      const { turn } = await readEvents([
        start,
        open(0, block),
        ...told.map((fields) => delta(0, "compaction_delta", fields)),
        delta(0, "signature_delta", { signature: "S1" }),
        close(0),
        ...end("compaction"),
      ]);
      return anthropic.assistantMessage(turn)[0]?.content;
    };
    const last = { content: "The user is in Oslo.", encrypted_content: "last" };
    const kept = { type: "compaction", ...last, signature: "S1" };
    expect(await content(last)).toEqual([kept]);
    expect(await content({ content: "The user" }, last)).toEqual([kept]);
    expect(await content({ content: null })).toEqual([{ ...block, content: null, signature: "S1" }]);
  });

  it("gives back who called, and which toolset, with the call and its result", async () => {
    const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
    const block = {
      type: "tool_use",
      id: "toolu_1",
      name: "get_weather",
      input: { city: "Oslo" },
      caller,
      toolset_name: "browser",
    };
    const { turn } = await readEvents([start, open(0, block), close(0), ...end("tool_use")]);
    const use = turn.calls[0]!.outcome as ToolUse;
    expect(use.metadata).toEqual({ caller, toolset_name: "browser" });
    expect(anthropic.assistantMessage(turn)[0]?.content).toEqual([block]);
    expect(anthropic.toolResult(use, "warm").content).toEqual([
      { type: "tool_result", tool_use_id: "toolu_1", content: "warm", toolset_name: "browser" },
    ]);
  });

  it("wraps an input that is no JSON object, and keeps one that was mended", async () => {
    const turn = await turnOf("quirk-34-eager-invalid-json");
    expect(anthropic.assistantMessage(turn)[0]?.content).toMatchObject([
      { type: "tool_use", input: { customer: "Dave", limit: 5 } },
      { type: "tool_use", input: { INVALID_JSON: '{"order_id": "A-17" "amount" 3 3}' } },
    ]);
  });

  it("wraps the input of a call that was cut", async () => {
    const content = anthropic.assistantMessage(await turnOf("truncated-by-length"))[0]?.content;
    expect(content).toMatchObject([
      { type: "text" },
      { input: { city: "Oslo" } },
      { input: { INVALID_JSON: '{"path": "report.md", "content": "# Report\\n\\nThe first half' } },
    ]);
  });

  it("mends half a character in an input, for which the API refuses the whole request", async () => {
    const search = open(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} });
    const { turn } = await readEvents([
      start,
      search,
      json(0, '{"query": "\\ud83d"}'),
      close(0),
      call(1, "toolu_1", "get_weather"),
      json(1, '{"city": "Oslo \\ud83d", "\\ude00": "\\ud83d\\ude00"}'),
      close(1),
      ...end("tool_use"),
    ]);
    expect(anthropic.assistantMessage(turn)[0]?.content).toMatchObject([
      { input: { query: "\ufffd" } },
      { input: { city: "Oslo \ufffd", "\ufffd": "\u{1F600}" } },
    ]);
    // What runs is what the model wrote.
    expect((turn.calls[0]!.outcome as ToolUse).input).toEqual({ city: "Oslo \ud83d" });
  });

  it("leaves out text without letters, and thinking that was cut before its signature", async () => {
    const { turn } = await readEvents([
      start,
      ...text(0, " \n"),
      open(1, { type: "thinking", thinking: "", signature: "" }),
      delta(1, "thinking_delta", { thinking: "Let me" }),
    ]);
    expect(turn.reasoning).toBe("Let me");
    expect(anthropic.assistantMessage(turn)).toEqual([]);
  });

  it.each(["max_tokens", "refusal"])(
    "leaves out thinking that %s has cut, though its block was closed",
    async (reason) => {
      const { turn } = await readEvents([
        start,
        open(0, { type: "thinking", thinking: "", signature: "" }),
        delta(0, "thinking_delta", { thinking: "Let me" }),
        close(0),
        ...end(reason),
      ]);
      expect(anthropic.assistantMessage(turn)).toEqual([]);
    },
  );

  it.each(["max_tokens", "refusal"])(
    "keeps of a whole message that ended with %s what cannot be cut",
    (stop_reason) => {
      const blocks = [
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
        { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      ];
      const kept = (...content: WireBlock[]) => {
        const last = anthropic.parse({ type: "message", role: "assistant", content, stop_reason }).at(-1);
        return last?.type === "finish"
          ? anthropic.assistantMessage(last.turn).flatMap((message) => message.content)
          : [];
      };
      expect(kept(...blocks)).toEqual(blocks);
      expect(kept(blocks[0]!)).toEqual([]);
      const thinking = { type: "redacted_thinking", data: "xyz" };
      const said = { type: "text", text: "Hi" };
      expect(kept(thinking, said)).toEqual([thinking, said]);
      expect(kept({ type: "thinking", thinking: "Let me" }, said)).toEqual([said]);
      const compaction = { type: "compaction", content: "The user asked about Oslo.", encrypted_content: "xyz" };
      const listing = { type: "mcp_tool_listing", mcp_server_name: "shop", tools: [] };
      expect(kept(said, compaction)).toEqual([said, compaction]);
      expect(kept(listing)).toEqual([listing]);
    },
  );

  it("keeps the unsigned thinking of servers that sign nothing", async () => {
    const thinking = { type: "thinking", thinking: "Hm." };
    const content = async (...events: WireEvent[]) => {
      const { turn } = await readEvents([start, open(0, thinking), ...events]);
      return anthropic.assistantMessage(turn)[0]?.content;
    };
    const said = { type: "text", text: "Hi" };
    expect(await content(close(0), ...text(1, "Hi"), ...end("end_turn"))).toEqual([thinking, said]);
    // Nor say where it ends: https://github.com/ollama/ollama/issues/17101
    expect(await content(...text(0, "Hi"), ...end("end_turn"))).toEqual([thinking, said]);
  });

  // https://github.com/NousResearch/hermes-agent/issues/16748
  it.each<[string, WireEvent[]]>([
    ["the tokens ran out", end("max_tokens")],
    ["the connection was lost", []],
  ])("keeps the unsigned thinking that led to a call, without which servers reject the call: %s", async (_, rest) => {
    const thinking = { type: "thinking", thinking: "Hm." };
    const use = { type: "tool_use", id: "toolu_1", name: "set_volume", input: {} };
    const { turn } = await readEvents([
      start,
      open(0, thinking),
      close(0),
      open(1, use),
      json(1, '{"level": 1'),
      ...rest,
    ]);
    expect(anthropic.assistantMessage(turn)).toMatchObject([{ content: [thinking, { type: "tool_use" }] }]);
  });

  it("keeps signed thinking of a turn that was cut after it, since its signature shows that it is whole", async () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "EqABsigned==" };
    for (const rest of [end("max_tokens"), []]) {
      const { turn } = await readEvents([start, open(0, thinking), close(0), ...text(1, "Hi"), ...rest]);
      expect(anthropic.assistantMessage(turn)).toMatchObject([{ content: [thinking, { type: "text", text: "Hi" }] }]);
    }
  });

  it("leaves out a result that was begun and not ended, and its call with it", async () => {
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
    const result = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
    const { turn } = await readEvents([
      start,
      ...text(0, "Hi"),
      open(1, search),
      json(1, '{"query": "x"}'),
      close(1),
      open(2, result),
    ]);
    expect(anthropic.assistantMessage(turn)).toEqual([{ role: "assistant", content: [{ type: "text", text: "Hi" }] }]);
  });

  // "The final block in an assistant message cannot be `thinking`": https://github.com/tailcallhq/forgecode/issues/3071
  it.each([
    { type: "thinking", thinking: "Hm.", signature: "EqABsigned==" },
    { type: "redacted_thinking", data: "xyz" },
  ])("leaves out $type that nothing follows, since the API rejects every request with it", (thinking) => {
    const kept = (...content: WireBlock[]) => {
      const { turn } = anthropic
        .parse({ type: "message", role: "assistant", content, stop_reason: "end_turn" })
        .at(-1) as Extract<StreamEvent, { type: "finish" }>;
      return anthropic.assistantMessage(turn).map((message) => message.content);
    };
    const said = { type: "text", text: "Hi" };
    const use = { type: "tool_use", id: "toolu_1", name: "set_volume", input: {} };
    expect(kept(thinking)).toEqual([]);
    expect(kept(thinking, said, thinking, thinking)).toEqual([[thinking, said]]);
    expect(kept(use, thinking)).toEqual([[thinking, use]]);
    expect(kept(thinking, use, thinking)).toEqual([[thinking, use]]);
  });

  it.each([
    ["pause_turn", 1],
    ["tool_use", 1],
    ["max_tokens", 0],
    ["refusal", 0],
  ])("after %s, keeps %i server calls that have no result", async (reason, kept) => {
    const block = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
    const { turn } = await readEvents([start, open(0, block), json(0, '{"query": "x"}'), close(0), ...end(reason)]);
    expect(anthropic.assistantMessage(turn)).toHaveLength(kept);
  });

  it("keeps the input of a server call as the model wrote it, whatever was read before, and wraps what nests too deep", async () => {
    const block = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
    const kept = async (input: string) => {
      const { turn } = await readEvents([start, open(0, block), json(0, input), close(0), ...end("pause_turn")]);
      return anthropic.assistantMessage(turn)[0]?.content;
    };
    const input = misread();
    expect(await kept(JSON.stringify(input))).toEqual([{ ...block, input }]);
    const deep = '{"a":'.repeat(20_000) + "1" + "}".repeat(20_000);
    expect(await kept(deep)).toEqual([{ ...block, input: { INVALID_JSON: deep } }]);
  });

  describe("of a turn that goes on behind a call", () => {
    const call1 = [call(0, "toolu_1", "get_weather"), json(0, '{"city": "Oslo"}'), close(0)];
    const call2 = [call(2, "toolu_2", "get_weather"), json(2, '{"city": "Bergen"}'), close(2)];
    const search = [
      open(3, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } }),
      close(3),
      open(4, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
      close(4),
    ];
    const thought = (index: number, type = "thinking") => [
      open(index, { type, signature: "c2ln", data: "ZGF0YQ==" } as WireBlock),
      close(index),
    ];
    const types = async (...events: WireEvent[]) => {
      const { turn } = await readEvents([start, ...events, ...end("tool_use")]);
      return (anthropic.assistantMessage(turn)[0]!.content as { type: string; id?: string }[]).map(
        ({ type, id }) => id ?? type,
      );
    };

    it("moves it behind text and what the server ran", async () => {
      expect(await types(...call1, ...text(1, "and"), ...call2)).toEqual(["text", "toolu_1", "toolu_2"]);
      expect(await types(...call1, ...text(1, "and"))).toEqual(["text", "toolu_1"]);
      // https://github.com/vercel/ai/issues/13013
      const ran = ["srvtoolu_1", "web_search_tool_result"];
      expect(await types(...call1, ...search, ...call2)).toEqual([...ran, "toolu_1", "toolu_2"]);
    });

    // https://github.com/UKGovernmentBEIS/inspect_ai/pull/4922: `thinking` blocks ... cannot be modified
    it.each(["thinking", "redacted_thinking"])("moves none over %s", async (type) => {
      const interleaved = [...thought(5), ...call1, ...thought(6, type), ...call2];
      expect(await types(...interleaved)).toEqual(["thinking", "toolu_1", type, "toolu_2"]);
      expect(await types(...interleaved, ...text(7, "and"))).toEqual(["thinking", "toolu_1", type, "text", "toolu_2"]);
    });
  });

  it("keeps of a message that a gateway gave up nothing but the calls, since each of them gets a result", async () => {
    const turn = await turnOf("overlapping-messages");
    const [message] = anthropic.assistantMessage(turn);
    expect(message?.content).toMatchObject([
      { type: "thinking", signature: "EqABsecondATTEMPT==" },
      { id: "toolu_01first_a" },
      { id: "toolu_01first_b", input: { INVALID_JSON: expect.any(String) } },
      { id: "toolu_01second" },
    ]);
  });

  it("answers every call, in call order, in one user message", async () => {
    const turn = await turnOf("parallel");
    const uses = turn.calls.map(({ outcome }) => outcome as ToolUse);
    await uses[1]!.execute();
    await uses[0]!.execute();
    expect(anthropic.toolResults(turn)).toEqual([
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_01par_a",
            content: '{"tool":"get_weather","input":{"city":"Oslo"}}',
          },
          {
            type: "tool_result",
            tool_use_id: "toolu_01par_b",
            content: '{"tool":"get_weather","input":{"city":"Bergen"}}',
          },
          {
            type: "tool_result",
            tool_use_id: "toolu_01par_c",
            content: "The call of refund_order was not executed.",
            is_error: true,
          },
        ],
      },
    ]);
    expect(anthropic.toolResults(await turnOf("text-only"))).toEqual([]);
  });

  it("answers every call of every fixture once, under the ids that the assistant message has", async () => {
    for (const name of fixtureNames("anthropic")) {
      const turn = await turnOf(name);
      const blocks = (messages: { content: unknown }[]) =>
        messages.flatMap(({ content }) => content as Record<string, unknown>[]);
      const asked = blocks(anthropic.assistantMessage(turn)).flatMap(({ type, id }) =>
        type === "tool_use" ? [id] : [],
      );
      const answered = blocks(anthropic.toolResults(turn)).map((block) => block["tool_use_id"]);
      expect({ name, answered }).toEqual({ name, answered: asked });
    }
  });

  it("gives a call without an id one of its own, the same in the call and in its result", async () => {
    const { turn } = await readEvents([
      start,
      call(0, "", "get_weather"),
      json(0, '{"city": "Oslo"}'),
      close(0),
      ...end("tool_use"),
    ]);
    const [{ id }] = anthropic.assistantMessage(turn)[0]!.content as unknown as [{ id: string }];
    expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(anthropic.toolResult(turn.calls[0]!.outcome as ToolUse, "").content).toMatchObject([{ tool_use_id: id }]);
  });

  it("sends a string as it is, marked blocks as blocks, nothing as null, and everything else as JSON", () => {
    const use = weather.use({ city: "Oslo" }, { id: "toolu_1" });
    const contentOf = (output: unknown) =>
      (anthropic.toolResult(use, output).content as unknown as [{ content: unknown }])[0].content;
    const blocks = [{ type: "text" as const, text: "warm" }];
    expect(contentOf("warm")).toBe("warm");
    expect(contentOf(resultContent(blocks))).toEqual(blocks);
    expect(contentOf(resultContent([{ type: "text", text: "\ud83d" }]))).toEqual([{ type: "text", text: "\ufffd" }]);
    expect(contentOf(blocks)).toBe('[{"type":"text","text":"warm"}]');
    expect(contentOf({ celsius: 21 })).toBe('{"celsius":21}');
    expect(contentOf(undefined)).toBe("null");
  });

  it("leaves text without letters out of a result with images", () => {
    const use = weather.use({ city: "Oslo" }, { id: "toolu_1" });
    const image = { mediaType: "image/png", data: "aGk=" };
    const [block] = anthropic.toolResult(use, anthropic.conversation.imageResult?.("", [image])).content;
    expect(block).toMatchObject({ content: [{ type: "image" }] });
  });

  it("refuses a turn that it has not read, or not to its end", async () => {
    const { bytes } = loadFixture("anthropic", "one-call");
    const { turn } = anthropic.read(iterate([bytes]));
    expect(() => anthropic.assistantMessage(turn)).toThrow(/^assistantMessage\(\) takes a turn .* read to its end/);
  });

  it("refuses to answer while a call is running", async () => {
    const slow = defineTool({
      name: "get_weather",
      inputSchema: z.object({}).loose(),
      execute: () => new Promise(() => {}),
    });
    const { turn } = await readEvents(
      [start, call(0, "toolu_1", "get_weather"), json(0, "{}"), close(0), ...end("tool_use")],
      [slow],
    );
    void (turn.calls[0]!.outcome as ToolUse).execute();
    expect(() => anthropic.toolResults(turn)).toThrow(TypeError);
  });
});

describe("tools", () => {
  it("says name, description and schema, and nothing else", () => {
    expect(anthropic.tools([weather])).toEqual([
      {
        name: "get_weather",
        description: "Current weather of a city.",
        input_schema: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
        },
      },
    ]);
  });

  it("maps a name that the API refuses, and maps it back", async () => {
    const add = defineTool({ name: "math.add", inputSchema: z.object({}), effect: "read", execute: () => 1 });
    expect(anthropic.tools([add])[0]?.name).toBe("math__add");
    const { turn } = await readEvents(
      [start, call(0, "toolu_1", "math__add"), json(0, "{}"), close(0), ...end("tool_use")],
      [add],
    );
    expect(turn.calls[0]).toMatchObject({ name: "math.add", tool: add });
    expect(anthropic.assistantMessage(turn)[0]?.content).toMatchObject([{ name: "math__add" }]);
  });

  it("keeps almost all of a schema in plain mode: only the root has to be a plain object", () => {
    const { schema, losses } = lowerSchema(
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        $ref: "#/definitions/Node",
        definitions: {
          Node: {
            type: "object",
            properties: {
              value: {
                oneOf: [
                  { type: "string", pattern: "^a" },
                  { type: "integer", minimum: 1 },
                ],
              },
              pair: { type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false },
              next: { $ref: "#/definitions/Node" },
            },
            required: ["value"],
          },
        },
      },
      plain,
    );
    expect(losses).toEqual([]);
    expect(schema).toEqual({
      type: "object",
      properties: {
        value: {
          oneOf: [
            { type: "string", pattern: "^a" },
            { type: "integer", minimum: 1 },
          ],
        },
        pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
        next: { $ref: "#/$defs/Node" },
      },
      required: ["value"],
      $defs: { Node: expect.anything() },
    });
  });

  it("keeps a reference into a part of the root that is merged in plain mode", () => {
    const first = { type: "object", properties: { city: { type: "string" } } };
    const other = { type: "object", properties: { next: { $ref: "#/anyOf/0" } } };
    const { schema } = lowerSchema({ anyOf: [first, other] }, plain);
    expect(schema).toMatchObject({ properties: { next: { $ref: "#/$defs/0" } }, $defs: { 0: first } });
  });

  it("reports a union at the root, and property names that the API refuses", () => {
    const union = lowerSchema(
      {
        anyOf: [
          { type: "object", properties: { a: { type: "string" } } },
          { type: "object", properties: { b: { type: "string" } } },
        ],
      },
      plain,
    );
    expect(union.schema).not.toHaveProperty("anyOf");
    expect(union.losses).toMatchObject([{ rule: "flattenRootUnion", path: "" }]);
    const names = lowerSchema(
      { type: "object", properties: { "the city": {}, ok: {} }, required: ["the city", "ok"] },
      plain,
    );
    expect(names.schema).toEqual({
      type: "object",
      properties: { ok: {} },
      required: ["ok"],
      description: '(property "the city": {})',
    });
    expect(names.losses).toMatchObject([{ rule: "keepLegalKeys", path: "" }]);
  });

  it("leaves objects open for a property whose name the API refuses, and forbids no more without it", () => {
    const $filter = { type: "string" };
    const closed = { type: "object", properties: { $filter }, required: ["$filter"], additionalProperties: false };
    const opened = {
      type: "object",
      properties: {},
      required: [],
      description: '(property "$filter": {"type":"string"})',
    };
    expect(lowerSchema(closed, plain).schema).toEqual(opened);
    // A grammar holds closed objects only.
    expect(lowerSchema(closed, strict).schema).toEqual({ ...opened, additionalProperties: false });

    const item = { properties: { $filter } };
    const lowered = lowerSchema(
      { type: "object", properties: { a: { not: item }, b: { oneOf: [item, true] } } },
      plain,
    );
    expect(lowered.schema["properties"]).toEqual({
      a: { description: '(not: {"properties":{"$filter":{"type":"string"}}})' },
      b: { anyOf: [{ properties: {}, description: '(property "$filter": {"type":"string"})' }, true] },
    });
    expect(lowered.losses.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      "/properties/a unsupported:not",
      "/properties/b oneOfToAnyOf",
      "/properties/b/oneOf/0 keepLegalKeys",
    ]);
  });

  it("closes objects and moves what a grammar cannot hold into the description in strict mode", () => {
    const { schema, losses } = lowerSchema(
      {
        type: "object",
        properties: {
          count: { type: "integer", minimum: 1, description: "How many." },
          when: { type: "string", format: "date" },
          shape: { oneOf: [{ type: "string", const: "round" }, { type: "null" }] },
          inner: { type: "object", properties: { tags: { type: "array", items: { type: "string" }, minItems: 2 } } },
        },
        required: ["when"],
      },
      strict,
    );
    expect(schema).toMatchObject({
      properties: {
        count: { type: "integer", description: expect.stringContaining("minimum") },
        when: { type: "string", format: "date" },
        shape: { anyOf: [{ type: "string", const: "round" }, { type: "null" }] },
        inner: { properties: { tags: { minItems: 1 } }, additionalProperties: false },
      },
      required: ["when"],
      additionalProperties: false,
    });
    expect(schema).not.toHaveProperty("properties.count.minimum");
    expect(losses.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      "/properties/inner/properties/tags unsupported:minItems",
      "/properties/count unsupported:minimum",
    ]);
  });

  it("makes in strict mode what the SDK's own rules leave as it is", () => {
    const pair = { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false };
    const orNull = { type: ["string", "null"], format: "date" };
    const { schema } = lowerSchema(
      {
        type: "object",
        properties: {
          pair,
          orNull,
          ref: { $ref: "#/$defs/A", description: "An a." },
          open: { type: "object", properties: {} },
        },
        $defs: { A: { type: "object", properties: { a: { type: "integer", multipleOf: 2 } }, required: ["a"] } },
      },
      strict,
    );
    expect(transformJSONSchema(schema)).toEqual(schema);
    for (const { inputSchema } of sharedTools) {
      const lowered = lowerSchema(inputSchema.jsonSchema, strict).schema;
      expect(withoutTypesOfEnums(transformJSONSchema(lowered))).toEqual(withoutTypesOfEnums(lowered));
    }
  });

  it("makes tools strict where nothing is lost by it, and no more than one request may have", () => {
    const bounded = defineTool({ name: "bounded", inputSchema: z.object({ n: z.number().min(1) }) });
    const many = Array.from({ length: 21 }, (_, i) =>
      defineTool({ name: `tool_${i}`, inputSchema: z.object({ a: z.string() }) }),
    );
    const params = anthropic.tools([bounded, ...many], { strict: "auto", onLoss: "throw" });
    expect(params[0]).not.toHaveProperty("strict");
    expect(params[0]).toHaveProperty("input_schema.properties.n.minimum", 1);
    expect(params.filter(({ strict: isStrict }) => isStrict).length).toBe(20);

    const optional = Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`p${i}`, z.string().optional()]));
    const wide = ["one", "two"].map((name) => defineTool({ name, inputSchema: z.object(optional) }));
    expect(anthropic.tools(wide, { strict: "auto" }).map(({ strict: isStrict }) => isStrict)).toEqual([
      true,
      undefined,
    ]);
  });

  it("throws for losses where that is asked for", () => {
    const bounded = defineTool({ name: "bounded", inputSchema: z.object({ n: z.number().min(1) }) });
    expect(() => anthropic.tools([bounded], { strict: true, onLoss: "throw" })).toThrow(ToolError);
  });

  it.each([
    ["", z.string()],
    [", which has an id", z.string().meta({ id: "Command" })],
  ])("refuses a tool whose input is one string%s, since the API has no free text", (_, inputSchema) => {
    const shell = defineTool({ name: "shell", inputSchema });
    expect(() => anthropic.tools([shell], { onLoss: "ignore" })).toThrow(/shell/);
  });
});

/** The SDK leaves the type out beside a list of values; both forms are taken. */
function withoutTypesOfEnums(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (_, node) => {
    if (typeof node !== "object" || node === null || !Array.isArray(node.enum)) return node;
    const { type: _type, ...rest } = node;
    return rest;
  });
}

describe("a stop reason before the end of a block", () => {
  const stopped: WireEvent = { type: "message_delta", delta: { stop_reason: "tool_use" } };
  const done: WireEvent = { type: "message_stop" };
  const begun = call(0, "toolu_1", "set_volume");
  const whole = open(0, { type: "tool_use", id: "toolu_1", name: "set_volume", input: { level: 3 } });

  it.each<[string, WireEvent[], unknown]>([
    ["leaves it its input", [begun, stopped, json(0, '{"level": 3}'), close(0), done], { level: 3 }],
    ["leaves it its input, though nothing ends it", [begun, stopped, json(0, '{"level": 3}'), done], { level: 3 }],
    ["ends it with the message", [begun, stopped, done], {}],
    ["ends it with the message, with what came at its start", [whole, stopped, done], { level: 3 }],
    ["ends it with the stream, if its input is whole", [begun, json(0, '{"level": 3}'), stopped], { level: 3 }],
    ["ends it with the next message", [begun, stopped, start, ...text(0, "Done."), ...end("end_turn")], {}],
  ])("%s", async (_, events, input) => {
    const { told } = await readEvents([start, ...events]);
    expect(told.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []))).toEqual([input]);
  });

  it.each<[string, WireEvent[]]>([
    ["before its input", [begun, stopped]],
    ["in its input", [begun, stopped, json(0, '{"level":')]],
  ])("does not vouch for a call that was cut %s", async (_, events) => {
    const { told, turn } = await readEvents([start, ...events]);
    expect(told.some(({ type }) => type === "tool-use")).toBe(false);
    expect(turn.calls).toMatchObject([{ outcome: { code: "truncated" } }]);
  });
});

describe("input that comes when no block is open for it", () => {
  const early = [call(0, "toolu_1", "set_volume"), close(0)];
  const level = [json(0, '{"lev'), json(0, 'el": 3}')];
  const listed = open(0, { type: "tool_use", id: "toolu_1", name: "set_volume", input: [] });

  it.each<[string, WireEvent[]]>([
    ["that it was stopped before", [...early, ...level]],
    ["that it was stopped before, and again behind it", [...early, ...level, close(0)]],
    ["that it was stopped before, where PHP wrote `{}` as a list", [listed, close(0), ...level]],
    ["that it was stopped before, with text between", [...early, ...text(1, ""), ...level]],
    ["whose index text was given behind it", [...early, ...text(0, "Louder."), ...level]],
    ["whose index text was given before its end", [early[0]!, open(0, { type: "text", text: "Louder." }), ...level]],
  ])("is of the call %s", async (_, events) => {
    const { told, turn } = await readEvents([start, ...events, ...end("tool_use")]);
    expect(told.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []))).toEqual([{ level: 3 }]);
    const others = anthropic.assistantMessage(turn)[0]!.content.filter(({ type }) => type !== "tool_use");
    expect(others.some((block) => "input" in block)).toBe(false);
  });

  it.each<[string, WireEvent[]]>([
    ["goes on in the midst of it", [...early, json(0, '{"lev'), ...end("max_tokens")]],
    ["ends in the midst of it", [...early, json(0, '{"lev'), ...end("tool_use")]],
    ["gives it an index that no block has", [...early, json(2, '{"level": 3}'), close(2), ...end("tool_use")]],
    [
      "gives it the index of text",
      [...early, open(1, { type: "text", text: "Louder." }), json(1, '{"level": 3}'), close(1), ...end("tool_use")],
    ],
    [
      "gives it such an index while the call is open",
      [early[0]!, json(2, '{"level": 3}'), early[1]!, ...end("tool_use")],
    ],
  ])("leaves no call without input where the server %s", async (_, events) => {
    const { told, turn } = await readEvents([start, ...events]);
    expect(told.some(({ type }) => type === "tool-use")).toBe(false);
    expect(turn.calls).toMatchObject([{ outcome: { code: "truncated" } }]);
  });

  it("cuts no call beside it that has input", async () => {
    const other = [call(0, "toolu_1", "set_volume"), ...level, close(0), open(1, { type: "text", text: "And" })];
    const lost = [call(2, "toolu_2", "set_volume"), close(2), json(7, '{"level": 4}')];
    const { told, turn } = await readEvents([start, ...other, ...lost, ...end("tool_use")]);
    expect(told.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []))).toEqual([{ level: 3 }]);
    expect(turn.calls[1]).toMatchObject({ outcome: { code: "truncated" } });
  });

  it.each<[string, WireEvent[], string[]]>([
    ["alone", [...level, close(0)], ["unknown_tool"]],
    ["in a message that is begun again", [...level, start], ["truncated"]],
    ["beside a whole call", [...early, ...level, close(0), json(1, '{"level": 4}'), close(1)], ["", "unknown_tool"]],
    ["cut", [json(0, '{"lev')], ["unknown_tool"]],
    ["under the index of text", [open(0, { type: "text", text: "Hi" }), ...level, close(0)], ["unknown_tool"]],
    ["before that start", [...level, ...early], ["unknown_tool", "truncated"]],
    [
      "under another index than a later start",
      [...level, call(1, "toolu_1", "set_volume"), close(1)],
      ["unknown_tool", "truncated"],
    ],
  ])("is told of where the start of its call was lost: %s", async (_, events, codes) => {
    const { told, turn } = await readEvents([start, ...events, ...end("tool_use")]);
    const given = turn.calls.map(({ outcome }) => (outcome instanceof ToolError ? outcome.code : ""));
    expect(given).toEqual(codes);
    expect(told.filter(({ type }) => type === "tool-error")).toHaveLength(codes.filter(Boolean).length);
    const sent = anthropic.assistantMessage(turn)[0]!.content.filter(({ type }) => type === "tool_use");
    expect(sent).toHaveLength(codes.length);
    await Promise.all(told.map((event) => event.type === "tool-use" && event.use.execute()));
    expect(anthropic.toolResults(turn)[0]!.content).toHaveLength(codes.length);
  });

  it("changes no call that has input, and none without where its block is known", async () => {
    const other = [call(0, "toolu_1", "set_volume"), ...level, close(0)];
    const events = [...other, ...level, call(1, "toolu_2", "set_volume"), close(1), ...level];
    const { turn } = await readEvents([start, ...events, ...end("tool_use")]);
    expect(turn.calls.map(({ outcome }) => (outcome as ToolUse).input)).toEqual([{ level: 3 }, {}]);
  });
});

describe("a call that is stopped amid its input", () => {
  const begun = [call(0, "toolu_1", "set_volume"), json(0, '{"level": '), close(0)];
  const rest = json(0, "3} ");

  it.each<[string, WireEvent[]]>([
    ["at once", [rest, close(0)]],
    ["at once, and nothing stops it again", [rest]],
    ["behind a text", [...text(1, "One moment."), rest, close(0)]],
    ["behind the same start", [begun[0]!, rest, close(0)]],
    ["though text was given its index", [...text(0, "One moment."), rest]],
  ])("goes on %s", async (_, events) => {
    const { told } = await readEvents([start, ...begun, ...events, ...end("tool_use")]);
    expect(told.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []))).toEqual([{ level: 3 }]);
  });

  it.each<[string, WireEvent[]]>([
    ["the message ends", end("tool_use")],
    ["the message ends by its length", end("max_tokens")],
    ["the stream is cut", []],
    ["another call takes its place", [call(0, "toolu_2", "set_volume"), rest, close(0), ...end("tool_use")]],
  ])("is truncated where nothing comes before %s", async (_, events) => {
    const { turn } = await readEvents([start, ...begun, ...events]);
    expect(turn.calls[0]).toMatchObject({ outcome: { code: "truncated" } });
  });

  it("is one of the provider's, which goes back whole", async () => {
    const search = open(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} });
    const found = open(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] });
    const events = [search, json(0, '{"query": '), close(0), json(0, '"cats"}'), close(0), found, close(1)];
    const { turn } = await readEvents([start, ...events, ...end("end_turn")]);
    expect(turn.providerToolCalls).toMatchObject([{ id: "srvtoolu_1", input: { query: "cats" } }]);
    expect(anthropic.assistantMessage(turn)[0]!.content[0]).toMatchObject({ input: { query: "cats" } });
  });
});

describe("a model that goes on where another declined", () => {
  const handover = [open(9, { type: "fallback", to: { model: "next" } }), close(9)];
  const thinking = (index: number, signature: string) => [
    open(index, { type: "thinking", thinking: "Hm.", signature }),
    close(index),
  ];
  const volumeOf = (index: number, id: string) => [
    call(index, id, "set_volume"),
    json(index, '{"level": 3}'),
    close(index),
  ];

  it.each([
    ["complete", volumeOf(0, "toolu_1")],
    ["still without arguments when its block was closed", [call(0, "toolu_1", "set_volume"), close(0)]],
    ["still open", [call(0, "toolu_1", "set_volume"), json(0, '{"level": 3}')]],
    ["of no tool that is known", [call(0, "toolu_1", "set_light"), close(0)]],
  ])("takes back a write that is %s", async (_, first) => {
    const { told, turn } = await readEvents([
      start,
      ...first,
      ...handover,
      ...volumeOf(10, "toolu_2"),
      ...end("tool_use"),
    ]);
    expect(told.flatMap((event) => (event.type === "tool-use" ? [event.use.id] : []))).toEqual(["toolu_2"]);
    expect(told.flatMap((event) => (event.type === "tool-error" ? [event.error.call.id] : []))).toEqual(["toolu_1"]);
    expect(turn.calls.map(({ id }) => id)).toEqual(["toolu_2"]);
    expect(turn.model).toBe("next");
  });

  it("ends the turn, if nothing but what was taken back was called", async () => {
    const { turn } = await readEvents([
      start,
      ...volumeOf(0, "toolu_1"),
      ...handover,
      ...text(10, "No."),
      ...end("end_turn"),
    ]);
    expect(turn.finishReason).toBe("stop");
    expect(anthropic.toolResults(turn)).toEqual([]);
  });

  it("gives back neither the thinking nor the calls of the first, and nothing for them", async () => {
    const search = (index: number, id: string) => [
      open(index, { type: "server_tool_use", id, name: "web_search", input: { query: "x" } }),
      close(index),
    ];
    const { turn } = await readEvents([
      start,
      ...thinking(0, "sig_1"),
      open(1, { type: "redacted_thinking", data: "xyz" } as WireBlock),
      close(1),
      ...text(2, "Let me"),
      ...search(3, "srvtoolu_1"),
      open(4, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
      close(4),
      ...search(5, "srvtoolu_2"),
      call(6, "toolu_1", "get_weather"),
      json(6, '{"city": "Oslo"}'),
      close(6),
      ...handover,
      ...thinking(10, "sig_2"),
      ...volumeOf(11, "toolu_2"),
      ...end("tool_use"),
    ]);
    const [message] = anthropic.assistantMessage(turn);
    expect(message?.content).toMatchObject([
      { type: "text", text: "Let me" },
      { type: "server_tool_use", id: "srvtoolu_1" },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1" },
      { type: "fallback", to: { model: "next" } },
      { type: "thinking", signature: "sig_2" },
      { type: "tool_use", id: "toolu_2" },
    ]);
    expect(anthropic.toolResults(turn)[0]?.content).toMatchObject([{ tool_use_id: "toolu_2" }]);
  });

  it.each(["events", "response"])("is told by the client's own middleware, and read from its %s", async (given) => {
    const refused = [
      { type: "message_start", message: { ...message, model: "first" } },
      call(0, "toolu_1", "set_volume"),
      {
        type: "message_delta",
        delta: {
          stop_reason: "refusal",
          stop_details: { type: "refusal", fallback_credit_token: "t", fallback_has_prefill_claim: false },
        },
        usage: { output_tokens: 1 },
      },
      { type: "message_stop" },
    ];
    const served = [{ type: "message_start", message }, ...text(0, "Hi"), ...end("end_turn")].map((event) =>
      event.type === "message_delta" ? { ...event, usage: { output_tokens: 1 } } : event,
    );
    const answers = [refused, served];
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of answers.shift() ?? [])
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    }).listen(0);
    const client = new Anthropic({
      apiKey: "none",
      maxRetries: 0,
      logLevel: "off",
      baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      middleware: [betaRefusalFallbackMiddleware([{ model: "next" }])],
    });
    const asked = client.beta.messages.create({ ...request, stream: true });
    const source = given === "events" ? await asked : await asked.asResponse();
    const turn = await anthropic.read(source, { tools: [volume] }).done();
    server.close();
    expect(turn).toMatchObject({ text: "Hi", model: "next", finishReason: "stop", calls: [], error: undefined });
    expect(anthropic.assistantMessage(turn)[0]?.content.map(({ type }) => type)).toEqual(["fallback", "text"]);
  });

  const message = { type: "message", id: "msg_1", role: "assistant", model: "next", content: [], usage: {} };
});

describe("the container of code at the provider", () => {
  const program = { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "…" } };
  const called = {
    type: "tool_use",
    id: "toolu_1",
    name: "get_weather",
    input: { city: "Oslo" },
    caller: { type: "code_execution_20260120", tool_id: "srvtoolu_1" },
  };
  const waiting = (stop_reason: string) => [
    { type: "message_start", message: { content: [program, called] } },
    { type: "message_delta", delta: { stop_reason, container: { id: "container_1", expires_at: "2026-11-22" } } },
    { type: "message_stop" },
  ];
  const sse = (events: readonly { type: string }[]) =>
    new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""), {
      headers: { "content-type": "text/event-stream" },
    });

  it("is told, from a stream and from a whole message", async () => {
    expect(anthropic.container(await anthropic.read(sse(waiting("tool_use"))).done())).toEqual({
      container: "container_1",
    });
    const whole = { type: "message", content: [], container: { id: "container_2" }, stop_reason: "end_turn" };
    const last = anthropic.parse(whole).at(-1);
    expect(last?.type === "finish" && anthropic.container(last.turn)).toEqual({ container: "container_2" });
    expect(anthropic.container(await anthropic.read(sse([])).done())).toStrictEqual({});
  });

  /** What the client sends for the second turn of a run whose first one ended so. */
  async function secondRequest(stopReason: string, params: Partial<MessagesModelParams> = {}) {
    const bodies: Record<string, any>[] = [];
    const client = new Anthropic({
      apiKey: "none",
      fetch: async (_, init) => {
        bodies.push(JSON.parse(init?.body as string) as Record<string, any>);
        return sse(waiting(stopReason));
      },
    });
    const model = anthropic.model(client, { model: "m", max_tokens: 9, ...params });
    const messages = [model.userMessage("Hi")];
    const turn = await model.open({ messages }).done();
    messages.push(...model.adapter.assistantMessage(turn), ...model.adapter.toolResults(turn));
    // As a checkpoint keeps it, in another process.
    await anthropic
      .model(client, { model: "m", max_tokens: 9, ...params })
      .open({ messages: model.pair(JSON.parse(JSON.stringify(messages)) as never[]) })
      .done();
    return bodies.at(-1)!;
  }

  it("goes back with the results that a program waits for, beside the messages", async () => {
    const body = await secondRequest("tool_use");
    expect(body["container"]).toBe("container_1");
    expect(body["messages"].map((message: object) => Object.keys(message))).toEqual(
      [1, 2, 3].map(() => ["role", "content"]),
    );
    const skills = [{ type: "anthropic" as const, skill_id: "pptx" }];
    expect(await secondRequest("pause_turn", { container: { skills } })).toMatchObject({
      container: { id: "container_1", skills },
    });
  });

  it("stays away when nothing waits in it, since it may be gone", async () => {
    expect(await secondRequest("end_turn")).not.toHaveProperty("container");
    expect(await secondRequest("end_turn", { container: "mine" })).toMatchObject({ container: "mine" });
  });
});

it.each([
  ["pause_turn", true],
  ["compaction", true],
  ["end_turn", false],
])("a turn that stopped with %s goes on by itself: %s", async (stop_reason, expected) => {
  const events = anthropic.parse({ type: "message", role: "assistant", content: [], stop_reason });
  const last = events.at(-1);
  expect(last?.type === "finish" && anthropic.conversation.goesOn?.(last.turn)).toBe(expected);
});

describe("toolChoice", () => {
  it.each([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "any" }],
    [{ name: "math.add" }, { type: "tool", name: "math__add" }],
    [{ names: ["a", "b"] }, { type: "auto" }],
    [{ names: [] }, { type: "none" }],
    [{ names: ["a", "b"], required: true }, { type: "any" }],
    [
      { names: ["a"], required: true },
      { type: "tool", name: "a" },
    ],
  ] as const)("says %j as %j", (choice, tool_choice) => {
    expect(anthropic.toolChoice(choice)).toEqual({ tool_choice });
  });

  it("asks for one call at a time with parallel: false", () => {
    expect(anthropic.toolChoice("auto", { parallel: false })).toEqual({
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    });
    expect(anthropic.toolChoice("none", { parallel: false })).toEqual({ tool_choice: { type: "none" } });
  });
});

describe("the endpoint", () => {
  const request = (path: string, body: unknown, method = "POST") => ({
    method,
    path,
    query: new URLSearchParams(),
    body,
  });

  it("knows its requests", () => {
    expect(anthropic.endpoint.match(request("/v1/messages", { stream: true }))).toBe("stream");
    expect(anthropic.endpoint.match(request("/anthropic/v1/messages", {}))).toBe("whole");
    expect(anthropic.endpoint.match(request("/v1/messages/count_tokens", {}))).toBeUndefined();
    expect(anthropic.endpoint.match(request("/v1/messages", {}, "GET"))).toBeUndefined();
    expect(anthropic.endpoint.match(request("/v1/messages", undefined))).toBe("whole");
  });

  it("answers errors as the API does", () => {
    expect(anthropic.endpoint.errorBody(529, "Overloaded")).toEqual({
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
    });
  });
});

describe("through @anthropic-ai/sdk", () => {
  let server: ReplayServer;
  beforeAll(async () => {
    server = await serveReplay({ adapters: [anthropic], fixtures: fixturesDir });
  });
  afterAll(() => server.close());
  const clientFor = (name: string) =>
    new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: `${server.url}/anthropic/${name}` });
  const streamed = fixtureNames("anthropic").filter((name) => !loadFixture("anthropic", name).isWhole);
  const whole = fixtureNames("anthropic").filter((name) => loadFixture("anthropic", name).isWhole);

  it.each(streamed)("create({ stream: true }) gives the same as the bytes: %s", async (name) => {
    const { tools, expected } = loadFixture("anthropic", name);
    const stream = await clientFor(name).messages.create({ ...request, stream: true });
    const summary = plainSummary(await anthropic.read(stream, { tools, runId: "run" }).done());
    // For an error event the SDK throws an error in its own words; the code is the same.
    if (expected.error?.code === "provider_error") expect(summary.error?.code).toBe("provider_error");
    else expect(summary).toEqual(expected);
  });

  it("stream() can be read as it is", async () => {
    const { tools, expected } = loadFixture("anthropic", "reasoning");
    const stream = anthropic.read(clientFor("reasoning").messages.stream(request), { tools });
    expect(plainSummary(await stream.done())).toEqual(expected);
  });

  // The SDK makes the whole message of the one in message_start: a late reader finds in it what is still to come.
  describe.each<[how: string, late: (source: AsyncIterable<WireEvent>) => Promise<AsyncIterable<WireEvent>>]>([
    [
      "through a generator that takes its time",
      async function (source) {
        return (async function* () {
          for await (const event of source) {
            await setTimeout(2);
            yield event;
          }
        })();
      },
    ],
    [
      "as a ReadableStream, when something else was done",
      async (source) => {
        const stream = ReadableStream.from(source);
        await setTimeout(50);
        return stream;
      },
    ],
  ])("stream() read late, %s", (_, late) => {
    it.each(["reasoning", "parallel", "provider-tool", "tool-use-in-message-start"])("says %s once", async (name) => {
      const { tools, expected } = loadFixture("anthropic", name);
      const { messages, beta } = clientFor(name);
      for (const ask of [() => messages.stream(request), () => beta.messages.stream(request)]) {
        const stream = anthropic.read(await late(ask()), { tools });
        expect(plainSummary(await stream.done())).toEqual(expected);
      }
    });
  });

  it("executes nothing with the half of an input that stream() has put into message_start", async () => {
    const executed: unknown[] = [];
    const remove = defineTool({
      name: "remove",
      inputSchema: z.object({ dir: z.string(), only: z.string().optional() }),
      execute: (input) => void executed.push(input),
    });
    const message = { type: "message", id: "msg_1", role: "assistant", model: "m", content: [], usage: {} };
    const sse = (events: WireEvent[]) =>
      events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    const half = [
      { type: "message_start", message },
      call(0, "toolu_1", "remove"),
      json(0, '{"dir":"/srv","only":"*.tmp'),
    ];
    const { promise: wasRead, resolve: read } = Promise.withResolvers<void>();
    const slow = createServer(async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(sse(half));
      await wasRead;
      const [stop, last] = end("tool_use");
      response.end(sse([json(0, '"}'), close(0), { ...stop, usage: {} }, last!]));
    }).listen(0);
    const baseURL = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const source = new Anthropic({ apiKey: "none", maxRetries: 0, baseURL }).messages.stream(request);
    const shown = new Promise((resolve) => source.on("inputJson", (_, input) => resolve(input)));
    async function* logged() {
      for await (const event of source) {
        expect(await shown).toEqual({ dir: "/srv" });
        yield event;
        read();
      }
    }
    for await (const event of anthropic.read(logged(), { tools: [remove] })) {
      if (event.type === "tool-use") await event.use.execute();
    }
    slow.close();
    expect(executed).toEqual([{ dir: "/srv", only: "*.tmp" }]);
  });

  it("create() hands out the response, which is read without its events", async () => {
    const { tools, expected } = loadFixture("anthropic", "parallel");
    const response = await clientFor("parallel")
      .messages.create({ ...request, stream: true })
      .asResponse();
    expect(plainSummary(await anthropic.read(response, { tools, runId: "run" }).done())).toEqual(expected);
  });

  it.each(whole)("create() gives a message to parse: %s", async (name) => {
    const { tools, expected } = loadFixture("anthropic", name);
    const last = anthropic.parse(await clientFor(name).messages.create(request), { tools }).at(-1);
    expect(last?.type === "finish" && plainSummary(last.turn)).toEqual(expected);
  });

  it("sends what the adapter makes, through the SDK, as it is", async () => {
    const turn = await turnOf("reasoning");
    const body = {
      ...request,
      messages: [...request.messages, ...anthropic.assistantMessage(turn), ...anthropic.toolResults(turn)],
      tools: anthropic.tools(sharedTools),
      ...anthropic.toolChoice("required", { parallel: false }),
    };
    await clientFor("non-streamed").messages.create(body);
    expect(server.requests.at(-1)?.body).toEqual(JSON.parse(JSON.stringify(body)));
  });
});

const request = { model: "claude-sonnet-5", max_tokens: 64, messages: [{ role: "user" as const, content: "Hi" }] };

function plainSummary(turn: Turn): TurnSummary {
  return JSON.parse(JSON.stringify(summarize(turn)));
}

it("recognises its events and answers, and nothing else", () => {
  expect(anthropic.recognizes({ type: "message", role: "assistant", content: [] })).toBe(true);
  expect(anthropic.recognizes({ type: "content_block_delta", index: 0, delta: {} })).toBe(true);
  expect(anthropic.recognizes({ type: "error", error: { type: "api_error", message: "" } })).toBe(true);
  for (const other of [
    null,
    "[DONE]",
    {},
    { type: "message-start" },
    { type: "error", code: "x", message: "y" },
    { type: "message", role: "user" },
  ]) {
    expect(anthropic.recognizes(other)).toBe(false);
  }
});
