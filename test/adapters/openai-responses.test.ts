import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openaiResponses, resultContent, type NativeTurn } from "../../adapters/openai-responses/index.ts";
import { ToolCallError } from "../../src/errors.ts";
import { jsonSchema } from "../../src/index.ts";
import type { ToolChunk } from "../../src/stream/chunk.ts";
import type { ProviderToolCall } from "../../src/stream/events.ts";
import { summarize } from "../../src/testing/index.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { ToolUse } from "../../src/tool/use.ts";
import { iterate } from "../iterate.ts";

type Event = { readonly type: string; readonly [field: string]: unknown };

const getWeather = defineTool({
  name: "get_weather",
  description: "Current weather of a city.",
  inputSchema: z.object({ city: z.string(), unit: z.enum(["celsius", "fahrenheit"]).optional() }),
  effect: "read",
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const writeFile = defineTool({
  name: "write_file",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => path,
});
const writeSql = defineTool({
  name: "write_sql",
  description: "A query.",
  inputSchema: z.string(),
  effect: "read",
  execute: (sql) => sql.length,
});

// -- what the wire says

function added(output_index: number, item: object): Event {
  return { type: "response.output_item.added", output_index, item };
}

function ended(output_index: number, item: object): Event {
  return { type: "response.output_item.done", output_index, item };
}

function delta(output_index: number, text: string): Event {
  return { type: "response.function_call_arguments.delta", output_index, item_id: `fc_${output_index}`, delta: text };
}

function call(n: number, args: string, more: object = {}): object {
  return { type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name: "get_weather", arguments: args, ...more };
}

function message(text: string): object {
  return {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

const completed: Event = {
  type: "response.completed",
  response: { id: "resp_1", model: "m", status: "completed", output: [] },
};

function completedWith(...output: object[]): Event {
  return { type: "response.completed", response: { id: "resp_1", model: "m", status: "completed", output } };
}

function request(path: string, body: unknown, method = "POST") {
  return { method, path, query: new URLSearchParams(), body };
}

/** What a parser says of some events, one line a sink call. */
function said(events: readonly unknown[]) {
  const lines: unknown[][] = [];
  const say =
    (what: string) =>
    (...args: unknown[]) =>
      void lines.push([what, ...args]);
  const parser = openaiResponses.parser({
    start: say("start"),
    text: say("text"),
    reasoning: say("reasoning"),
    refusal: say("refusal"),
    tool: say("tool"),
    providerTool: say("providerTool"),
    usage: say("usage"),
    finish: say("finish"),
    terminal: say("terminal"),
    fail: say("fail"),
  });
  for (const event of events) parser.push(event as never);
  parser.end();
  return {
    lines,
    native: parser.native as NativeTurn,
    all: (what: string) => lines.filter(([name]) => name === what).map(([, value]) => value),
    joined: (what: string) =>
      lines
        .filter(([name]) => name === what)
        .map(([, value]) => value)
        .join(""),
    chunks: lines.filter(([name]) => name === "tool").map(([, chunk]) => stated(chunk as ToolChunk)),
    providerTools: lines.filter(([name]) => name === "providerTool").map(([, tool]) => tool as ProviderToolCall),
  };
}

/** A chunk without the fields that say nothing. */
function stated(chunk: ToolChunk): Partial<ToolChunk> {
  return Object.fromEntries(Object.entries(chunk).filter(([, value]) => value !== undefined && value !== false));
}

async function turnOf(events: readonly Event[], tools: readonly Tool[] = [getWeather, writeFile, writeSql]) {
  return openaiResponses.read(iterate(events), { tools, runId: "run" }).done();
}

describe("the parser", () => {
  it("keeps two calls apart by output_index, whatever the item ids say", () => {
    const { chunks } = said([
      added(0, call(0, "")),
      added(1, call(1, "")),
      { ...delta(1, '{"b"'), item_id: "fc_0" },
      { ...delta(0, '{"a"'), item_id: "fc_1" },
    ]);
    expect(chunks.map(({ callIndex, argsTextDelta }) => [callIndex, argsTextDelta])).toEqual([
      [0, undefined],
      [1, undefined],
      [1, '{"b"'],
      [0, '{"a"'],
    ]);
  });

  it("asks the item id only where there is no index", () => {
    const { chunks } = said([
      { type: "response.output_item.added", item: call(0, "") },
      { type: "response.output_item.added", item: call(1, "") },
      { type: "response.function_call_arguments.delta", item_id: "fc_0", delta: "{}" },
      { type: "response.function_call_arguments.delta", item_id: "fc_1", delta: "[" },
      { type: "response.output_item.done", item: call(0, "{}") },
    ]);
    expect(chunks.slice(2).map(({ callIndex, argsTextDelta, done }) => [callIndex, argsTextDelta, done])).toEqual([
      [0, "{}", undefined],
      [1, "[", undefined],
      [0, undefined, true],
    ]);
  });

  it("takes no id that is no text", async () => {
    const piece = { type: "response.function_call_arguments.delta", item_id: [1], delta: "{" } as unknown as Event;
    const turn = await turnOf([piece]);
    expect(turn.calls.map(({ id, name, argsText }) => [id, name, argsText])).toEqual([[null, null, "{"]]);
  });

  it("opens another call where a server gives every item the same index", () => {
    const { chunks } = said([
      added(0, call(1, "")),
      delta(0, "{}"),
      ended(0, call(1, "{}")),
      added(0, call(2, "")),
      delta(0, "{}"),
      ended(0, call(2, "{}")),
    ]);
    expect(chunks.map(({ callIndex, id, done }) => [callIndex, id, done])).toEqual([
      [0, "call_1", undefined],
      [0, undefined, undefined],
      [0, undefined, true],
      [1, "call_2", undefined],
      [1, undefined, undefined],
      [1, undefined, true],
    ]);
  });

  it("takes an item that is told twice once", () => {
    const { chunks } = said([
      added(0, call(0, "")),
      added(0, call(0, "")),
      ended(0, call(0, "{}")),
      ended(0, call(0, "{}")),
    ]);
    expect(chunks).toHaveLength(2);
  });

  it.each([
    [
      "in .done",
      [
        added(0, call(0, "")),
        { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"a":1}' },
        ended(0, call(0, '{"a":1}')),
      ],
    ],
    ["in output_item.done", [added(0, call(0, "")), ended(0, call(0, '{"a":1}'))]],
    ["in output_item.done alone", [ended(0, call(0, '{"a":1}'))]],
    ["in output_item.added", [added(0, call(0, '{"a":1}')), ended(0, call(0, ""))]],
    ["in response.completed", [{ ...completed, response: { status: "completed", output: [call(0, '{"a":1}')] } }]],
  ])("takes whole arguments that come %s, once", (_, events) => {
    const { chunks } = said(events);
    expect(chunks.map(({ argsTextDelta }) => argsTextDelta ?? "").join("")).toBe('{"a":1}');
    expect(chunks.at(-1)?.done).toBe(true);
  });

  it("gives calls back under their ids where these are numbers", async () => {
    const paid = call(0, '{"city":"Oslo"}', { call_id: 7 });
    for (const events of [[added(0, paid), ended(0, paid), completed], [completedWith(paid)]]) {
      const turn = await turnOf(events);
      expect(turn.calls).toMatchObject([{ id: "7" }]);
      expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ call_id: "7" }]);
      expect(openaiResponses.toolResults(turn)).toMatchObject([{ call_id: "7" }]);
    }
  });

  it("reads arguments that only the whole response has where ids are numbers", async () => {
    const [bare, paid] = ["", '{"city":"Oslo"}'].map((args) => call(0, args, { call_id: 7 })) as [object, object];
    const turn = await turnOf([added(0, bare), ended(0, bare), completedWith(paid)]);
    expect(turn.calls).toMatchObject([{ id: "7", outcome: { input: { city: "Oslo" } } }]);
  });

  it("tells the result of a call among agents at the provider with the call", async () => {
    const type = "multi_agent_call";
    const asked = { type, id: "mac_1", call_id: "call_a", action: "spawn_agent", arguments: "{}" };
    const output = [{ type: "output_text", text: "spawned", annotations: [] }];
    const told = { type: "multi_agent_call_output", id: "maco_1", call_id: "call_a", action: "spawn_agent", output };
    const turn = await turnOf([added(0, asked), ended(0, asked), added(1, told), ended(1, told), completed]);
    expect(turn.providerToolCalls).toMatchObject([{ id: "mac_1", type, status: "completed", output }]);
    expect(openaiResponses.assistantMessage(turn)).toEqual([asked, told]);
  });

  // MoonshotAI/kimi-code#1455, diegosouzapw/OmniRoute#10223
  describe("arguments whose end tells others than their pieces", () => {
    const city = '{"city":"Oslo"}';
    const told: Event = { type: "response.function_call_arguments.done", output_index: 0, arguments: city };
    const outcomeOf = async (pieces: readonly string[], events: readonly Event[]) => {
      const turn = await turnOf([added(0, call(0, "")), ...pieces.map((piece) => delta(0, piece)), ...events]);
      return turn.calls[0];
    };
    const ends: [string, Event[]][] = [
      ["arguments.done", [told, completedWith()]],
      ["output_item.done", [ended(0, call(0, city)), completedWith(call(0, city))]],
      ["each of them", [told, ended(0, call(0, city)), completedWith(call(0, city))]],
      ["response.completed", [completedWith(call(0, city))]],
    ];
    const wrong: [string, string[]][] = [
      ["a piece is missing", ['{"city":', '"', '"}']],
      ["a piece came twice", ['{"city":"Os', "lo", "lo", '"}']],
      ["the first piece is missing", ['"Os', 'lo"}']],
      ["the first piece came twice", ["{", "{", '"city":"Oslo"}']],
    ];

    it.each(wrong.flatMap(([what, pieces]) => ends.map(([end, events]) => [what, end, pieces, events] as const)))(
      "where %s, are those of %s",
      async (_what, _end, pieces, events) => {
        expect(await outcomeOf(pieces, events)).toMatchObject({ argsText: city, outcome: { input: { city: "Oslo" } } });
      },
    );

    it.each([
      ["are written differently there", '{ "city": "\\u004fslo" }'],
      ["are none there", "{}"],
      ["cannot be read there", '{"city":"Ber'],
    ])("are those of the pieces if they %s", async (_, whole) => {
      const events = [{ ...told, arguments: whole }, ended(0, call(0, whole)), completedWith(call(0, whole))];
      expect(await outcomeOf(['{"city":', '"Oslo"}'], events)).toMatchObject({
        argsText: city,
        repairs: [],
        outcome: { input: { city: "Oslo" } },
      });
    });
  });

  it.each<[string, unknown]>([
    ["a list", [{ city: "Oslo" }]],
    ["a number", 5],
  ])("arguments that are %s are none that a call runs without", async (_, args) => {
    const now = defineTool({ name: "now", inputSchema: { type: "object" }, effect: "read", execute: () => 1 });
    const item = call(0, "", { name: "now", arguments: args });
    const streams = [
      [added(0, call(0, "", { name: "now" })), ended(0, item), completedWith(item)],
      [added(0, item), completedWith()],
      [completedWith(item)],
    ];
    for (const events of streams) {
      const turn = await turnOf(events, [now]);
      expect(turn.calls).toMatchObject([{ outcome: { code: "invalid_input" } }]);
    }
  });

  it("arguments that are an object count at the beginning, too, where the call has no end", async () => {
    const turn = await turnOf([added(0, call(0, "", { arguments: { city: "Oslo" } })), completedWith()]);
    expect(turn.calls).toMatchObject([{ outcome: { input: { city: "Oslo" } } }]);
  });

  // Gateways end all calls at the end of the response. Not to wait for that, the next call ends a call, too.
  it.each([
    ["a read has run", "get_weather", "city", { input: { city: "Oslolo" } }],
    ["a write fails", "write_file", "path", { code: "invalid_json" }],
  ])("other arguments, told when the next call has begun, come too late: %s", async (_, name, key, outcome) => {
    const [first, second] = [call(0, `{"${key}":"Oslo"}`, { name }), call(1, '{"city":"Rome"}')];
    const pieces = [`{"${key}":"Os`, "lo", "lo", '"}'].map((piece) => delta(0, piece));
    const begun = [added(0, call(0, "", { name })), ...pieces, added(1, call(1, "")), delta(1, '{"city":"Rome"}')];
    const turn = await turnOf([...begun, ended(0, first), ended(1, second), completedWith(first, second)]);
    expect(turn.calls).toMatchObject([{ outcome }, { outcome: { input: { city: "Rome" } } }]);
  });

  describe("arguments of which the last pieces did not come", () => {
    const city = '{"city":"Oslo"}';
    const begun = [added(0, call(0, "")), delta(0, '{"city":"Os')];
    const told: Event = { type: "response.function_call_arguments.done", output_index: 0, arguments: city };

    it.each<[string, Event[]]>([
      ["arguments.done", [told, completedWith()]],
      ["arguments.done, and once more with the call", [told, ended(0, call(0, city)), completedWith(call(0, city))]],
      ["output_item.done", [ended(0, call(0, city)), completedWith(call(0, city))]],
      ["response.completed", [completedWith(call(0, city))]],
    ])("are those that %s tells", async (_, events) => {
      const turn = await turnOf([...begun, ...events]);
      expect(turn.calls).toMatchObject([{ input: { city: "Oslo" }, argsText: city, outcome: { name: "get_weather" } }]);
    });

    it.each<[string, Event[]]>([
      ["are none of another call", [completedWith(call(1, city, { name: "write_file" }))]],
      ["are cut where the whole is, too", [ended(0, call(0, '{"city":"Os')), completedWith(call(0, '{"city":"Os'))]],
      ["are cut where the response is", [{ type: "response.incomplete", response: { output: [call(0, city)] } }]],
      ["are cut where nothing tells the whole", [completedWith()]],
    ])("%s", async (_, events) => {
      const turn = await turnOf([...begun, ...events]);
      expect(turn.calls[0]).toMatchObject({ argsText: '{"city":"Os', outcome: { code: "truncated" } });
    });
  });

  // llama.cpp: https://github.com/can1357/oh-my-pi/pull/1971
  describe("whole arguments that come without an index and an id while several calls are open", () => {
    const [one, two] = ['{"city":"Oslo"}', '{"city":"Rome"}'];
    const told = (args: string): Event => ({ type: "response.function_call_arguments.done", arguments: args });
    const begun = [added(0, call(0, "")), added(1, call(1, ""))];

    it.each<[string, Event[]]>([
      ["what the ends tell", [told(two), told(one), ended(0, call(0, one)), ended(1, call(1, two)), completedWith()]],
      ["what the response tells", [told(two), told(one), completedWith(call(0, one), call(1, two))]],
      [
        "what the response tells behind ends that tell none",
        [told(two), told(one), ended(0, call(0, "")), ended(1, call(1, "")), completedWith(call(0, one), call(1, two))],
      ],
      [
        "in order, where nothing but the order tells",
        [told(one), told(two), ended(0, call(0, "")), ended(1, call(1, "")), completedWith()],
      ],
    ])("are of the calls %s", async (_, events) => {
      const turn = await turnOf([...begun, ...events]);
      const inputs = turn.calls.map(({ id, outcome }) => [id, outcome instanceof ToolUse && outcome.input]);
      expect(inputs).toEqual([
        ["call_0", { city: "Oslo" }],
        ["call_1", { city: "Rome" }],
      ]);
    });

    it.each<[string, Event[]]>([
      ["never end", [completedWith()]],
      ["are cut", [{ type: "response.incomplete", response: { output: [] } }]],
    ])("are of none of those that %s", async (_, events) => {
      const turn = await turnOf([...begun, told(one), told(two), ...events]);
      expect(turn.calls.map(({ outcome }) => outcome)).toMatchObject([{ code: "truncated" }, { code: "truncated" }]);
    });

    it("change nothing of a call whose pieces came", async () => {
      const pieces = [delta(0, '{"city":'), delta(0, '"Oslo"}')];
      const ends = [ended(0, call(0, one)), ended(1, call(1, two)), completedWith()];
      const turn = await turnOf([...begun, ...pieces, told(`${two} `), told(one), ...ends]);
      expect(turn.calls).toMatchObject([{ argsText: one }, { argsText: two }]);
    });
  });

  describe("of a stream that is taken up in its middle", () => {
    const args = '{"unit":{"city":"Rome"},"city":"Oslo"}';
    const before = [
      { type: "reasoning", id: "rs_0", summary: [{ type: "summary_text", text: "Hm." }] },
      message("One moment."),
      call(2, '{"city":"Paris"}'),
    ];
    const output = [...before, call(3, args), call(4, '{"city":"Bergen"}')];
    const end = { type: "response.completed", response: { id: "resp_1", status: "completed", output } };
    const later = [added(4, call(4, "")), delta(4, '{"city":'), delta(4, '"Bergen"}'), ended(4, output[4]!), end];

    it.each(Array.from(args, (_, at) => at))("takes arguments whole, whose first %i characters came before", (at) => {
      const { chunks } = said([delta(3, args.slice(at)), ended(3, output[3]!), ...later]);
      const text = (index: number) =>
        chunks.filter(({ callIndex }) => callIndex === index).map((one) => one.argsTextDelta ?? "");
      expect(text(0).join("")).toBe(args);
      expect(text(1)).toEqual(["", '{"city":', '"Bergen"}', ""]);
    });

    it("takes pieces for the whole where nothing else tells it", () => {
      const pieces = [delta(0, '{"city"'), delta(0, ':"Oslo"}')];
      for (const output_index of [0, undefined]) {
        const { chunks } = said([...pieces, ended(0, call(0, ""))].map((event) => ({ ...event, output_index })));
        expect(chunks.map(({ argsTextDelta }) => argsTextDelta ?? "").join("")).toBe('{"city":"Oslo"}');
        expect(chunks.at(-1)).toMatchObject({ done: true });
      }
    });

    it("has the calls and the history of what came before, and says its text no second time", async () => {
      const turn = await turnOf([delta(3, args.slice(-5)), ended(3, output[3]!), ...later]);
      expect(openaiResponses.assistantMessage(turn)).toEqual(output);
      expect(turn.calls.map(({ id, argsText }) => [id, argsText]).toSorted()).toEqual([
        ["call_2", '{"city":"Paris"}'],
        ["call_3", args],
        ["call_4", '{"city":"Bergen"}'],
      ]);
      expect(turn).toMatchObject({ text: "", reasoning: "", finishReason: "tool-use" });
    });

    it("does not take a call for another one where a server counts from one", () => {
      const counted = [added(1, call(0, "")), delta(1, "{}"), ended(1, call(0, "{}"))];
      const { chunks } = said([...counted, { ...end, response: { status: "completed", output: [call(0, "{}")] } }]);
      expect(chunks.filter(({ done }) => done)).toHaveLength(1);
    });
  });

  describe("of servers that leave out events, indexes or ids", () => {
    const oslo = '{"city":"Oslo"}';
    const rome = '{"city":"Rome"}';
    const both = [call(0, oslo), call(1, rome, { name: "set_home" })];
    const begun = [call(0, ""), call(1, "", { name: "set_home" })];
    const setHome = defineTool({ name: "set_home", inputSchema: z.object({ city: z.string().optional() }) });
    const end = (...output: object[]): Event => ({ ...completed, response: { status: "completed", output } });
    const piece = (text: string, fields: object): Event => ({
      type: "response.function_call_arguments.delta",
      delta: text,
      ...fields,
    });
    const told = (text: string, fields: object): Event => ({
      type: "response.function_call_arguments.done",
      arguments: text,
      ...fields,
    });
    const item = (type: "added" | "done", wire: object, fields: object = {}): Event => ({
      type: `response.output_item.${type}`,
      item: wire,
      ...fields,
    });

    // https://github.com/anomalyco/opencode/pull/45081, https://github.com/lidge-jun/opencodex/pull/1361
    it.each(["item_id", "call_id"])("knows calls side by side by a call_id in the field %s alone", async (field) => {
      const of = (n: number) => ({ [field]: `call_${n}` });
      const pieces = [piece(oslo.slice(0, 5), of(0)), piece(rome, of(1)), piece(oslo.slice(5), of(0))];
      for (const between of [pieces, []]) {
        const turn = await turnOf(
          [...begun.map((wire) => item("added", wire)), ...between, told(rome, of(1)), told(oslo, of(0)), end()],
          [getWeather, setHome],
        );
        expect(turn.calls.map(({ id, input }) => [id, input])).toEqual([
          ["call_0", { city: "Oslo" }],
          ["call_1", { city: "Rome" }],
        ]);
        expect(turn.calls.every(({ outcome }) => outcome instanceof ToolUse)).toBe(true);
      }
    });

    it.each<[string, Event[], unknown[]]>([
      [
        "no beginnings, and pieces of two calls side by side",
        [
          delta(0, oslo.slice(0, 5)),
          delta(1, rome.slice(0, 7)),
          delta(0, oslo.slice(5)),
          delta(1, rome.slice(7)),
          ...both.map((wire, i) => ended(i, wire)),
          end(),
        ],
        [
          ["get_weather", oslo],
          ["set_home", rome],
        ],
      ],
      [
        "no beginnings, and one call after the other",
        [delta(0, oslo), ended(0, both[0]!), delta(1, rome), ended(1, both[1]!), end()],
        [
          ["get_weather", oslo],
          ["set_home", rome],
        ],
      ],
      [
        "one index for all, and pieces side by side",
        [
          ...begun.map((wire) => added(0, wire)),
          piece(oslo.slice(0, 5), { output_index: 0, item_id: "fc_0" }),
          piece(rome, { output_index: 0, item_id: "fc_1" }),
          piece(oslo.slice(5), { output_index: 0, item_id: "fc_0" }),
          end(...both),
        ],
        [
          ["get_weather", oslo],
          ["set_home", rome],
        ],
      ],
      [
        "one index for all, and the arguments only in the response",
        [...begun.map((wire) => added(0, wire)), end(...both)],
        [
          ["get_weather", oslo],
          ["set_home", rome],
        ],
      ],
      [
        "ends without arguments, which only the response tells",
        [...begun.flatMap((wire, i) => [added(i, wire), told("", { output_index: i }), ended(i, wire)]), end(...both)],
        [
          ["get_weather", oslo],
          ["set_home", rome],
        ],
      ],
      [
        "an end without arguments, and those of another call in the response",
        [added(0, begun[1]!), ended(0, begun[1]!), end(call(7, rome, { id: undefined, name: "set_home" }))],
        [["set_home", ""]],
      ],
      [
        "one index for all, no item ids, and a call without an end before another",
        [
          added(0, { ...begun[1]!, id: undefined }),
          told("", { output_index: 0 }),
          added(0, { ...begun[0]!, id: undefined }),
          piece(oslo, { output_index: 0 }),
          end(),
        ],
        [
          ["set_home", ""],
          ["get_weather", oslo],
        ],
      ],
      [
        "no index, and another item id in every event",
        [
          item("added", { ...begun[0]!, id: "r0" }),
          piece(oslo, { item_id: "r1" }),
          told(oslo, { item_id: "r2", name: "get_weather" }),
          item("done", { ...both[0]!, id: "r3" }),
          end({ ...both[0]!, id: "r4" }),
        ],
        [["get_weather", oslo]],
      ],
      ["pieces of a call that nobody tells of", [piece(oslo, { item_id: "r1" }), end()], [[null, "truncated"]]],
      [
        "no index, no item id, and the end twice",
        [...[item("added", begun[0]!), item("done", both[0]!), item("done", both[0]!)].map(withoutId), end()],
        [["get_weather", oslo]],
      ],
      [
        "nothing of a call but its beginning, without arguments",
        [added(0, begun[1]!), end()],
        [["set_home", "truncated"]],
      ],
      ["nothing of a call but its beginning, with them", [added(0, both[1]!), end()], [["set_home", rome]]],
      [
        "no index, and of one call nothing but what the response tells",
        [piece(rome, { item_id: "fc_1" }), end(...both)],
        [
          ["get_weather", oslo],
          ["set_home", rome],
        ],
      ],
      [
        "calls only in the response, text as it comes",
        [
          { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", content_index: 0, delta: "Hi" },
          end(message("Hi"), both[0]!),
        ],
        [["get_weather", oslo]],
      ],
    ])("%s", async (_, events, calls) => {
      const turn = await turnOf(events, [getWeather, setHome]);
      const outcomes = summarize(turn).toolCalls.map(({ name, status, argsText }) => [
        name,
        status === "complete" ? argsText : status,
      ]);
      expect(outcomes).toEqual(calls);
      expect(turn.text).toBe(events.some((event) => event["delta"] === "Hi") ? "Hi" : "");
    });

    function withoutId({ item: wire, ...event }: Event): Event {
      return { ...event, item: { ...(wire as object), id: undefined } };
    }
  });

  it("ends a call as truncated that the provider calls incomplete", () => {
    const { chunks } = said([added(0, call(0, "")), delta(0, "{}"), ended(0, call(0, "{}", { status: "incomplete" }))]);
    expect(chunks.at(-1)).toMatchObject({ errorType: "truncated" });
    expect(chunks.at(-1)?.done).toBeUndefined();
  });

  it("keeps what belongs to a call as its metadata", () => {
    const caller = { type: "program", caller_id: "call_p" };
    const { chunks } = said([added(0, call(0, "", { namespace: "crm", caller }))]);
    expect(chunks[0]?.metadata).toEqual({ item: 0, itemId: "fc_0", namespace: "crm", caller });
  });

  it("says text, refusal and reasoning once, from pieces or from the end", () => {
    const reasoning = {
      type: "reasoning",
      id: "rs_1",
      summary: [
        { type: "summary_text", text: "Hm." },
        { type: "summary_text", text: "Aha." },
      ],
    };
    const spoken = said([
      added(0, { type: "reasoning", id: "rs_1", summary: [] }),
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "Hm" },
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "." },
      ended(0, reasoning),
      added(1, { ...message(""), content: [] }),
      { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "Hel" },
      { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "lo" },
      { type: "response.output_text.done", output_index: 1, content_index: 0, text: "Hello" },
      {
        type: "response.content_part.done",
        output_index: 1,
        content_index: 0,
        part: { type: "output_text", text: "Hello" },
      },
      ended(1, {
        ...message("Hello"),
        content: [
          { type: "output_text", text: "Hello" },
          { type: "refusal", refusal: "No more." },
        ],
      }),
      completed,
    ]);
    expect(spoken.joined("reasoning")).toBe("Hm.\n\nAha.");
    expect(spoken.joined("text")).toBe("Hello");
    expect(spoken.joined("refusal")).toBe("No more.");
    expect(spoken.lines).toContainEqual(["finish", "refusal", "completed"]);
  });

  it("says a refusal as it comes, and once", () => {
    const refusal = { output_index: 0, content_index: 0 };
    const { all } = said([
      added(0, { ...message(""), content: [] }),
      { type: "response.refusal.delta", ...refusal, delta: "I " },
      { type: "response.refusal.delta", ...refusal, delta: null },
      { type: "response.refusal.delta", ...refusal, delta: "can't." },
      { type: "response.refusal.done", ...refusal, refusal: "I can't." },
      ended(0, { ...message(""), content: [{ type: "refusal", refusal: "I can't." }] }),
    ]);
    expect(all("refusal")).toEqual(["I ", "can't."]);
  });

  // https://github.com/TanStack/ai/pull/937
  it.each<[string, Event[]]>([
    ["its end", [{ type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hello" }]],
    ["its end without an index", [{ type: "response.output_text.done", item_id: "msg_1", text: "Hello" }]],
    [
      "its end, behind an empty piece",
      [
        { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "" },
        { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hello" },
      ],
    ],
  ])("says text once that is told by nothing but %s, and gives it back", async (_, told) => {
    const begun = added(0, { ...message(""), content: [] });
    for (const events of [
      [...told, completed],
      [begun, ...told, ended(0, { ...message(""), content: [] }), completed],
      [begun, ...told, ended(0, message("Hello")), completedWith(message("Hello"))],
    ]) {
      const turn = await turnOf(events);
      expect(turn.text).toBe("Hello");
      expect(JSON.stringify(openaiResponses.assistantMessage(turn))).toContain('"Hello"');
    }
  });

  it("says text no second time at an end that is told early, late, or of another item", () => {
    const piece = (text: string) => ({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta: text,
    });
    const told = (fields: object) => ({ type: "response.output_text.done", text: "Hel", ...fields });
    const spoken = said([
      added(0, { ...message(""), content: [] }),
      piece("Hel"),
      told({ output_index: 0, content_index: 0 }),
      told({}),
      piece("lo"),
      told({ output_index: 1, item_id: "msg_2" }),
      completed,
    ]);
    expect(spoken.joined("text")).toBe("Hello");
  });

  // https://github.com/vllm-project/vllm/issues/45742, https://github.com/vllm-project/vllm/pull/35184
  it.each([
    ["the parts of all items", [0, 0, 1, 1]],
    ["the pieces of an item", [0, 1, 0, 1]],
    ["all pieces", [0, 1, 2, 3]],
  ])("says text and reasoning once where the content index counts %s", (_, indexes) => {
    const thought = { type: "reasoning", id: "rs_1", summary: [] };
    const piece = (type: string, output_index: number, text: string) => ({
      type: `response.${type}.delta`,
      output_index,
      content_index: indexes.shift(),
      delta: text,
    });
    const spoken = said([
      added(0, thought),
      piece("reasoning_text", 0, "Think"),
      piece("reasoning_text", 0, " hard."),
      ended(0, { ...thought, content: [{ type: "reasoning_text", text: "Think hard." }] }),
      added(1, { ...message(""), content: [] }),
      piece("output_text", 1, "Hel"),
      piece("output_text", 1, "lo"),
      ended(1, message("Hello")),
      completed,
    ]);
    expect(spoken.joined("reasoning")).toBe("Think hard.");
    expect(spoken.joined("text")).toBe("Hello");
  });

  it("says each part of reasoning as a paragraph, that comes whole or is announced", () => {
    const content = ["First.", "Second."].map((text) => ({ type: "reasoning_text", text }));
    const whole = ended(0, { type: "reasoning", id: "rs_1", content });
    const pieces = content.flatMap(({ text }, content_index) => [
      { type: "response.content_part.added", output_index: 0, content_index },
      { type: "response.reasoning_text.delta", output_index: 0, content_index, delta: text },
    ]);
    for (const events of [[whole], [added(0, { type: "reasoning", id: "rs_1" }), ...pieces, whole]])
      expect(said([...events, completed]).joined("reasoning")).toBe("First.\n\nSecond.");
  });

  it.each([
    [
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
      { id: "ws_1", name: "web_search", executedBy: "provider", status: "completed", input: { type: "search" } },
    ],
    [
      { type: "openrouter:web_search", id: "st_1", status: "completed", action: { type: "search" } },
      { id: "st_1", name: "openrouter:web_search", executedBy: "provider", input: { type: "search" } },
    ],
    [
      { type: "mcp_call", id: "mcp_1", name: "shorten", arguments: "{}", output: "x" },
      { id: "mcp_1", name: "shorten", executedBy: "provider", output: "x" },
    ],
    [
      { type: "mcp_call", id: "mcp_1", name: "shorten", arguments: "{}", error: { message: "no" } },
      { status: "failed", output: { message: "no" } },
    ],
    [
      { type: "mcp_approval_request", id: "mcpr_1", name: "shorten", arguments: "{}" },
      { id: "mcpr_1", name: "shorten", executedBy: "provider", status: "started", input: "{}" },
    ],
    [
      { type: "program", id: "cm_1", call_id: "call_1", code: "1" },
      { id: "cm_1", name: "program", executedBy: "provider", input: "1" },
    ],
    [
      { type: "code_interpreter_call", id: "ci_1", status: "incomplete", code: "1", outputs: [] },
      { id: "ci_1", name: "code_interpreter", executedBy: "provider", status: "failed", input: "1", output: [] },
    ],
    [
      { type: "file_search_call", id: "fs_1", queries: ["q"], results: [] },
      { id: "fs_1", name: "file_search", executedBy: "provider", input: ["q"], output: [] },
    ],
    [
      { type: "image_generation_call", id: "ig_1", revised_prompt: "A fox.", result: "aGk=" },
      { id: "ig_1", name: "image_generation", executedBy: "provider", input: "A fox.", output: "aGk=" },
    ],
    [
      { type: "shell_call", id: "sh_1", call_id: "call_1", environment: { type: "container_reference" } },
      { id: "sh_1", executedBy: "provider" },
    ],
    [
      { type: "shell_call", id: "sh_1", call_id: "call_1", environment: { type: "local" }, action: { commands: [] } },
      { id: "call_1", name: "shell", executedBy: "client", input: { commands: [] } },
    ],
    [
      { type: "local_shell_call", id: "lsh_1", call_id: "call_1", action: { type: "exec" } },
      { id: "call_1", name: "local_shell", executedBy: "client", input: { type: "exec" } },
    ],
    [
      { type: "computer_call", id: "cu_1", call_id: "call_1", actions: [{ type: "wait" }] },
      { id: "call_1", name: "computer", executedBy: "client", input: [{ type: "wait" }] },
    ],
    // Before it had several: https://platform.openai.com/docs/guides/tools-computer-use (2025)
    [
      { type: "computer_call", id: "cu_1", call_id: "call_1", action: { type: "wait" } },
      { id: "call_1", input: { type: "wait" } },
    ],
    [
      { type: "apply_patch_call", id: "ap_1", call_id: "call_1", operation: { type: "delete_file" } },
      { id: "call_1", name: "apply_patch", executedBy: "client", input: { type: "delete_file" } },
    ],
    [
      { type: "tool_search_call", id: "ts_1", call_id: "call_1", execution: "client" },
      { id: "call_1", name: "tool_search", executedBy: "client" },
    ],
    [
      { type: "tool_search_call", id: "ts_1", call_id: null, execution: "server" },
      { id: "ts_1", executedBy: "provider" },
    ],
    [
      { type: "custom_tool_call", id: "ctc_1_xs_call_1", call_id: "xs_call_1", name: "x_keyword_search", input: "{}" },
      { id: "ctc_1_xs_call_1", name: "x_keyword_search", executedBy: "provider", input: "{}" },
    ],
    [
      { type: "dream_call", id: "dr_1" },
      { id: "dr_1", name: "dream", executedBy: "provider" },
    ],
  ])("reports $type as none of our calls: %#", (item, expected) => {
    const { chunks, providerTools } = said([added(0, item), ended(0, item)]);
    expect(chunks).toEqual([]);
    expect(openaiResponses.conversation.pair([item as never])).toEqual([item]);
    expect(providerTools.at(-1)).toMatchObject({ type: item.type, ...expected });
    // What the client has to run or to approve is told when it is complete, once: whoever is asked is not asked twice.
    const isClients = providerTools.at(-1)?.executedBy === "client" || item.type === "mcp_approval_request";
    expect(providerTools).toHaveLength(isClients ? 1 : 2);
  });

  it("takes the input of a search of the provider's for no call of ours, in whichever pieces it comes", () => {
    const item = { type: "custom_tool_call", id: "ctc_1", call_id: "xs_call_1", name: "x_search", input: "" };
    const input = { output_index: 0, item_id: "ctc_1" };
    const { chunks } = said([
      added(0, item),
      { type: "response.custom_tool_call_input.delta", ...input, delta: "{}" },
      { type: "response.custom_tool_call_input.done", ...input, input: "{}" },
      ended(0, { ...item, input: "{}" }),
    ]);
    expect(chunks).toEqual([]);
  });

  it.each([
    ["shell_call", { call_id: "c_1", environment: { type: "container_reference" } }, { output: [{ stdout: "a" }] }],
    ["program", { call_id: "c_1", code: "1" }, { result: "7" }],
    ["program", { call_id: "c_1", code: "boom()" }, { result: "Error: boom", status: "incomplete" }],
    ["tool_search_call", { call_id: null, execution: "server" }, { tools: [] }],
  ])("reports what a %s came to, which is an item of its own", async (type, told, result) => {
    const kind =
      type === "program"
        ? "program_output"
        : type.replace(/_call$/, type === "shell_call" ? "_call_output" : "_output");
    const { call_id } = told;
    const turn = await turnOf([
      ended(0, { type, id: "a_1", call_id: "another" }),
      ended(1, { type, id: "h_1", ...told }),
      ended(2, { type: kind, id: "o_1", call_id, ...result }),
      completed,
    ]);
    expect(turn.providerToolCalls.at(-1)).toMatchObject({
      id: "h_1",
      type,
      status: "status" in result ? "failed" : "completed",
      output: Object.values(result)[0],
    });
    expect(turn.providerToolCalls).toHaveLength(2);
  });

  it("tells a hosted call under one id, though the server ends it under another one", async () => {
    const run = { type: "shell_call", call_id: "c_1", environment: { type: "container_reference" } };
    const { providerTools } = said([
      added(0, { ...run, id: "h_1" }),
      ended(0, { ...run, id: "h_2" }),
      ended(1, { type: "shell_call_output", id: "o_1", call_id: "c_1", output: [{ stdout: "a" }] }),
    ]);
    expect(providerTools.map(({ id, status }) => [id, status])).toEqual([
      ["h_1", "started"],
      ["h_1", "completed"],
      ["h_1", "completed"],
    ]);
    expect(providerTools.at(-1)?.output).toEqual([{ stdout: "a" }]);
  });

  it("tells why an image was not made", async () => {
    const error = { code: "moderation_blocked", message: "No." };
    const turn = await turnOf([
      ended(0, { type: "image_generation_call", id: "ig_1", status: "failed", result: null, error }),
    ]);
    expect(turn.providerToolCalls).toMatchObject([{ status: "failed", output: error }]);
  });

  it.each(["mcp_list_tools", "function_call_output", "shell_call_output", "compaction", "additional_tools"])(
    "takes %s for no call",
    (type) => {
      const { chunks, providerTools } = said([added(0, { type }), ended(0, { type })]);
      expect([...chunks, ...providerTools]).toEqual([]);
    },
  );

  it.each(["function_call", "custom_tool_call"])(
    "takes a %s with its result in the same response for one that the server has run",
    async (type) => {
      const ran =
        type === "function_call"
          ? call(0, '{"path":"a"}', { name: "write_file" })
          : { ...call(0, "", { id: "ctc_0" }), type, name: "write_sql", input: "SELECT 1" };
      const result = { type: `${type}_output`, id: "fco_0", call_id: "call_0", output: "done" };
      const own = call(2, '{"path":"b"}', { name: "write_file" });
      const turn = await turnOf([
        ended(0, ran),
        added(1, { ...result, output: "" }),
        ended(1, result),
        added(2, call(2, "", { name: "write_file" })),
        ended(2, own),
        completed,
      ]);
      expect(turn.providerToolCalls).toMatchObject([
        { id: "call_0", type, status: "completed", executedBy: "provider", output: "done" },
      ]);
      expect(turn.calls.map(({ id }) => id)).toEqual(["call_2"]);
      expect(openaiResponses.assistantMessage(turn)).toEqual([ran, result, own]);
      expect(openaiResponses.toolResults(turn)).toMatchObject([{ call_id: "call_2" }]);
      expect((await turnOf([ended(0, ran), ended(1, result), completed])).finishReason).toBe("stop");
    },
  );

  it("keeps what agents at the provider tell each other, and says none of it", async () => {
    const item = {
      type: "agent_message",
      id: "am_1",
      author: "a",
      recipient: "b",
      content: [
        { type: "input_text", text: "Look there." },
        { type: "refusal", refusal: "No." },
      ],
    };
    const turn = await turnOf([
      added(0, item),
      ended(0, item),
      added(1, message("Done.")),
      ended(1, message("Done.")),
      completed,
    ]);
    expect(turn).toMatchObject({ text: "Done.", refusal: "", finishReason: "stop" });
    expect(openaiResponses.assistantMessage(turn)).toEqual([item, message("Done.")]);
  });

  it.each([
    ["completed", {}, "stop", "completed"],
    ["incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "length", "incomplete:max_output_tokens"],
    ["incomplete", { incomplete_details: { reason: "content_filter" } }, "content-filter", "incomplete:content_filter"],
    ["incomplete", { incomplete_details: { reason: "steered" } }, "length", "incomplete:steered"],
    ["incomplete", {}, "length", "incomplete"],
  ])("reads response.%s %j as %s", (status, more, reason, word) => {
    const { lines } = said([{ type: `response.${status}`, response: { status, output: [], ...more } }]);
    expect(lines.slice(-2)).toEqual([["finish", reason, word], ["terminal"]]);
    const { lines: whole } = said([{ object: "response", status, output: [], ...more }]);
    expect(whole.slice(-2)).toEqual([["finish", reason, word], ["terminal"]]);
  });

  it.each([
    ["an error event", { type: "error", code: "rate_limit_exceeded", message: "Slow down." }, "failed"],
    [
      "an error event that wraps the error",
      { type: "error", error: { code: "rate_limit_exceeded", message: "Slow down." } },
      "failed",
    ],
    [
      "an error event under the name of a response's event",
      { type: "response.error", error: { code: "rate_limit_exceeded", message: "Slow down." } },
      "failed",
    ],
    [
      "response.failed",
      { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "Slow down." } } },
      "failed",
    ],
    [
      "the body of an error answer",
      { error: { type: "rate_limit_exceeded", code: null, message: "Slow down." } },
      null,
    ],
  ])("fails at %s", (_, event, word) => {
    const { lines, all } = said([event, completed]);
    expect(lines).toContainEqual(["finish", "error", word, "rate_limit_exceeded: Slow down."]);
    expect(all("fail")).toMatchObject([{ code: "provider_error", message: "rate_limit_exceeded: Slow down." }]);
    expect(lines.at(-1)).toEqual(["terminal"]);
  });

  it.each<[string, object]>([
    ["an error without a wrapper", { object: "error", message: "Slow down.", type: "overloaded" }],
    ["nothing but a detail", { detail: "Slow down." }],
    ["a list of errors", { success: false, errors: [{ code: 1, message: "Slow down." }] }],
    ["an error in an error", { type: "error", error: { error: { message: "Slow down." } } }],
    ["an error event with a detail", { type: "error", error: { detail: [{ loc: ["body"], msg: "Slow down." }] } }],
  ])("tells the message of %s", (_, event) => {
    const [error] = said([event, completed]).all("fail");
    expect(error).toMatchObject({ code: "provider_error", message: expect.stringContaining("Slow down.") });
  });

  it.each([
    ["Slow down.", { type: "error", message: "Slow down.", code: null }],
    ["Slow down.", { type: "error", error: "Slow down." }],
    ["Slow down.", { error: '{"message":"Slow down."}' }],
    ["429: Slow down.", { type: "error", error: { code: 429, message: "Slow down." } }],
    ["The provider reported server_error.", { type: "error", error: { type: "server_error" } }],
    ["The provider reported an error without a message.", { type: "error", error: {} }],
    ["The response has failed.", { type: "response.failed", response: {} }],
    ["The response has been cancelled.", { object: "response", status: "cancelled", output: [call(0, "{}")] }],
    ["The response is queued: retrieve it again when it has ended.", { object: "response", status: "queued" }],
    [
      "The response is in_progress: retrieve it again when it has ended.",
      { object: "response", status: "in_progress" },
    ],
  ])("says %s of %j", (text, event) => {
    expect(said([event]).all("fail")).toMatchObject([{ code: "provider_error", message: text }]);
  });

  it.each([
    [{}, "stop", "completed"],
    [{ incomplete_details: { reason: "max_output_tokens" } }, "length", "incomplete:max_output_tokens"],
    [{ incomplete_details: {} }, "stop", "completed"],
    [{ error: { message: "No." } }, "error", "failed"],
  ])("tells by its fields how a response ended whose status is missing: %j", async (fields, reason, word) => {
    const turn = await turnOf([{ type: "response.done", response: { output: [message("Hi")], ...fields } }]);
    expect(turn).toMatchObject({ text: "Hi", finishReason: reason, providerFinishReason: word });
  });

  // What gateways call a response with calls: https://github.com/justlovemaki/AIClient2API/pull/472
  it("runs the calls of a whole response that requires action", () => {
    const output = [call(0, '{"path":"a"}', { name: "write_file", status: "completed" })];
    const response = { object: "response", status: "requires_action", output } as const;
    const events = openaiResponses.parse(response as never, { tools: [writeFile] });
    expect(events.at(-2)).toMatchObject({ type: "tool-use", use: { input: { path: "a" } } });
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-use" });
  });

  it("does not take [DONE] or an event that it does not know for an end", () => {
    const { lines } = said([
      "[DONE]",
      { type: "keepalive" },
      { type: "response.something.new", output_index: 7 },
      null,
      1,
      [],
      {},
    ]);
    expect(lines).toEqual([]);
  });

  it("passes over fields of another type", () => {
    const { joined, chunks } = said([
      { type: "response.created", response: "resp_1" },
      added(0, null as never),
      added(0, { type: "message", content: 7, summary: "x" }),
      ended(0, { type: "message", content: "All of it.", summary: [null, 1] }),
      added(1, { type: "function_call", call_id: [7], name: { first: "a" }, arguments: [1] }),
      ended(1, { type: "function_call", call_id: [7], name: null, arguments: 3, status: {} }),
      added(2, { type: "web_search_call", id: 3, name: 4, environment: "x" }),
      ended(2, "x" as never),
      { type: "response.output_text.done", output_index: 3, text: {} },
      ended(3, { type: "message", content: [{ text: {} }, { type: "output_text", text: 5 }] }),
      { type: "response.completed", response: { output: { 0: 1 }, usage: "many", incomplete_details: 3 } },
    ]);
    expect(joined("text")).toBe("All of it.");
    expect(chunks.map(({ callIndex, id, name, done }) => [callIndex, id, name, done])).toEqual([
      [1, undefined, undefined, undefined],
      [1, undefined, undefined, true],
    ]);
  });

  it.each<[string, unknown, object]>([
    ["text", "0", {}],
    ["missing", undefined, { item_id: "msg_0" }],
    ["missing, and ids", undefined, {}],
    ["something else", {}, { item_id: "msg_0" }],
  ])("says text once where indexes are %s", (name, index, more) => {
    const at = { output_index: index, content_index: index, ...more };
    const item = {
      type: "message",
      ...(name !== "missing, and ids" && { id: "msg_0" }),
      content: [{ type: "output_text", text: "Hello" }],
    };
    const { joined } = said([
      { type: "response.output_item.added", output_index: index, item: { ...item, content: [] } },
      { type: "response.content_part.added", ...at, part: { type: "output_text", text: "" } },
      { type: "response.output_text.delta", ...at, delta: "Hel" },
      { type: "response.output_text.delta", ...at, delta: "lo" },
      { type: "response.output_text.done", ...at, text: "Hello" },
      { type: "response.output_item.done", output_index: index, item },
      completedWith(item),
    ]);
    expect(joined("text")).toBe("Hello");
  });

  // Which of its four events have an index, and that index: servers leave it out, and count from 1.
  it("takes a call for one whose events partly lack their index", async () => {
    const args = '{"city":"Oslo"}';
    for (let which = 0; which < 32; which++) {
      const at = (bit: number) => ((which >> bit) & 1 ? { output_index: which >> 4 } : {});
      const events = [
        { type: "response.output_item.added", ...at(0), item: call(1, "") },
        { type: "response.function_call_arguments.delta", ...at(1), delta: args },
        { type: "response.function_call_arguments.done", ...at(2), arguments: args },
        { type: "response.output_item.done", ...at(3), item: call(1, args) },
        completed,
      ];
      for (const source of [events, events.toSpliced(1, 1)]) {
        const turn = await turnOf(source);
        expect(turn.calls.map(({ name, outcome }) => [name, outcome instanceof ToolUse])).toEqual([
          ["get_weather", true],
        ]);
      }
    }
  });

  it("keeps two calls apart whose indexes are text", async () => {
    const inputs = ['{"city":"Oslo"}', '{"city":"Bergen"}'];
    const events = [
      ...inputs.map((_, n) => added(n, call(n, ""))),
      ...inputs.map((text, n) => delta(n, text.slice(0, 9))),
      ...inputs.map((text, n) => delta(n, text.slice(9))),
    ].map((event) => ({ ...event, output_index: String(event["output_index"]), item_id: undefined }));
    const { calls } = await turnOf([...events, completed]);
    expect(calls).toMatchObject([{ input: { city: "Oslo" } }, { input: { city: "Bergen" } }]);
  });

  it.each([0, undefined])("says each part of a summary once, also without the index of each: %j", (first) => {
    const summary = ["Hm.", " Aha."].map((text) => ({ type: "summary_text", text }));
    const item = { type: "reasoning", id: "rs_0", summary };
    const piece = (summary_index: number | undefined, text: string) => ({
      type: "response.reasoning_summary_text.delta",
      output_index: 0,
      summary_index,
      delta: text,
    });
    const { joined } = said([
      added(0, { ...item, summary: [] }),
      piece(first, "Hm."),
      piece(first === undefined ? undefined : 1, " Aha."),
      ended(0, item),
      completedWith(item),
    ]);
    expect(joined("reasoning").match(/Aha/g)).toHaveLength(1);
  });

  it("reads hostile indexes and ids as what they are", () => {
    const { chunks } = said([
      added(4_294_967_295, { ...call(0, ""), id: "__proto__" }),
      added(-1, { ...call(1, ""), id: "constructor" }),
      delta(-1, "{}"),
      { type: "response.function_call_arguments.delta", item_id: "__proto__", delta: "[]" },
      { type: "response.function_call_arguments.delta", item_id: "toString", delta: "?" },
    ]);
    expect(chunks.slice(2).map(({ callIndex, argsTextDelta }) => [callIndex, argsTextDelta])).toEqual([
      [1, "{}"],
      [0, "[]"],
      [2, "?"],
    ]);
  });
});

describe("the turn", () => {
  it("runs a call whose name came with a namespace, and gives it back under the name that the API takes", async () => {
    const turn = await turnOf([
      added(0, call(0, "{}", { name: "functions.get_weather" })),
      ended(0, call(0, '{"city":"Oslo"}', { name: "functions.get_weather" })),
      completed,
    ]);
    expect(turn.calls[0]!.outcome).toBeInstanceOf(ToolUse);
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ type: "function_call", name: "get_weather" }]);
  });

  it("has the call_id that came last", async () => {
    const turn = await turnOf([
      added(0, call(0, "")),
      delta(0, '{"city":"Oslo"}'),
      ended(0, call(0, "", { call_id: "call_final" })),
      completed,
    ]);
    expect(turn.calls.map(({ id }) => id)).toEqual(["call_final"]);
    expect(openaiResponses.toolResults(turn)).toMatchObject([{ call_id: "call_final" }]);
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ id: "fc_0", call_id: "call_final" }]);
  });

  it.each<[string, (string | undefined)[]]>([
    ["neither", [undefined, undefined]],
    ["only the first", ["call_0", undefined]],
    ["only the second", [undefined, "call_0"]],
  ])("goes back under an id of its own, where two calls end with one and %s began with it", async (_, begun) => {
    const args = ['{"city":"Oslo"}', '{"city":"Rome"}'];
    const turn = await turnOf([
      ...begun.map((call_id, n) => added(n, call(n, "", { call_id }))),
      ...args.map((text, n) => ended(n, call(n, text, { call_id: "call_0" }))),
      completed,
    ]);
    const asked = openaiResponses.assistantMessage(turn) as { call_id: string; arguments: string }[];
    expect(asked.map((one) => one.arguments)).toEqual(args);
    expect(new Set(asked.map((one) => one.call_id)).size).toBe(2);
    const replies = openaiResponses.toolResults(turn) as { call_id: string }[];
    expect(replies.map((one) => one.call_id)).toEqual(asked.map((one) => one.call_id));
  });

  it("waits for the tool results of a client's built-in as for ours", async () => {
    const item = { type: "local_shell_call", id: "lsh_1", call_id: "call_1", status: "completed", action: {} };
    expect((await turnOf([added(0, item), ended(0, item), completed])).finishReason).toBe("tool-use");
  });

  it("gives free text to a custom tool", async () => {
    const item = { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "write_sql", input: "" };
    const turn = await turnOf([
      added(0, item),
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "SELECT " },
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "'{'" },
      ended(0, { ...item, input: "SELECT '{'", status: "completed" }),
      completed,
    ]);
    const use = turn.calls[0]?.outcome as ToolUse;
    expect(use.input).toBe("SELECT '{'");
    await use.execute();
    expect(openaiResponses.assistantMessage(turn)).toEqual([{ ...item, input: "SELECT '{'" }]);
    expect(openaiResponses.toolResults(turn)).toEqual([
      { type: "custom_tool_call_output", call_id: "call_1", output: "10" },
    ]);
  });

  it.each([
    ["are missing", ["DELETE FROM log"]],
    ["came twice", ["DELETE FROM log", "DELETE FROM log", " WHERE old"]],
    ["changed places", [" WHERE old", "DELETE FROM log"]],
  ])("runs no free text of which pieces %s", async (_, texts) => {
    const item = { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "write_sql", input: "" };
    const pieces = texts.map((text) => ({
      type: "response.custom_tool_call_input.delta",
      output_index: 0,
      delta: text,
    }));
    const input = "DELETE FROM log WHERE old";
    const whole = { ...item, input };
    const told = { type: "response.custom_tool_call_input.done", output_index: 0, input };
    for (const rest of [[ended(0, whole), completed], [completedWith(whole)], [told, completed]]) {
      const turn = await turnOf([added(0, item), ...pieces, ...rest]);
      expect(turn.calls).toMatchObject([{ outcome: { code: "truncated" } }]);
    }
  });

  describe("free text that came as the JSON around it", () => {
    // LiteLLM, for models without custom tools: its responses/litellm_completion_transformation/custom_tools.py
    const item = { type: "custom_tool_call", id: "call_1", call_id: "call_1", name: "write_sql", input: "" };
    const json = '{"content":"SELECT 1"}';
    const pieces = [
      added(1, { ...item, status: "in_progress" }),
      delta(1, json.slice(0, 10)),
      delta(1, json.slice(10)),
    ];
    const told: Event = { type: "response.function_call_arguments.done", output_index: 1, arguments: json };
    const whole = { ...item, status: "completed", input: "SELECT 1" };

    it.each<[string, Event[]]>([
      ["the call", [...pieces, told, ended(1, whole), completedWith(whole)]],
      ["the response", [...pieces, told, completedWith(whole)]],
      ["the call, and came in one piece", [pieces[0]!, told, ended(1, whole), completedWith(whole)]],
    ])("is the one at the end of %s", async (_, events) => {
      const turn = await turnOf(events);
      const use = turn.calls[0]?.outcome as ToolUse;
      expect(turn.calls).toHaveLength(1);
      expect(use.input).toBe("SELECT 1");
      await use.execute();
      expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ type: "custom_tool_call", input: "SELECT 1" }]);
      const bytes = new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
      const read = await openaiResponses.read(new Response(bytes), { tools: [writeSql] }).done();
      expect(read.calls).toMatchObject([{ input: "SELECT 1", outcome: { name: "write_sql" } }]);
    });

    it("does not run if nothing tells it", async () => {
      for (const end of [ended(1, { ...whole, input: "" }), ended(1, { ...whole, input: undefined }), completed]) {
        const turn = await turnOf([...pieces, told, end, completed]);
        expect(turn.calls).toMatchObject([{ outcome: { code: "truncated" } }]);
      }
    });
  });

  it.each([
    ["completed", ToolUse],
    ["incomplete", ToolCallError],
  ])("runs free text without a status only if the response is complete: %s", async (status, outcome) => {
    const item = {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "call_1",
      name: "write_sql",
      input: "DELETE FROM log",
    };
    const end = { type: `response.${status}`, response: { status, output: [item] } };
    for (const events of [[added(0, { ...item, input: "" }), ended(0, item), end], [end]]) {
      const turn = await turnOf(events);
      expect(turn.calls[0]?.outcome).toBeInstanceOf(outcome);
    }
  });

  it("does not run a call of a response that was filtered", async () => {
    const item = call(0, '{"path":"a"}', { name: "write_file", status: "completed" });
    const turn = await turnOf([
      added(0, { ...item, arguments: "" }),
      ended(0, item),
      { type: "response.incomplete", response: { incomplete_details: { reason: "content_filter" }, output: [item] } },
    ]);
    expect(turn.calls[0]?.outcome).toMatchObject({ code: "turn_not_finished" });
    expect(turn.finishReason).toBe("content-filter");
  });

  // https://github.com/raullenchai/Rapid-MLX/pull/866, https://github.com/jundot/omlx/pull/2817
  it.each<[string, object, string]>([
    ["incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "length"],
    ["failed", { error: { message: "No." } }, "error"],
    ["cancelled", {}, "error"],
  ])(
    "does not run a call of a response that is %s, though the event says that it is completed",
    async (status, end, reason) => {
      const item = call(0, '{"path":"a"}', { name: "write_file", status: "completed" });
      const turn = await turnOf([
        added(0, { ...item, arguments: "" }),
        ended(0, item),
        { type: "response.completed", response: { status, output: [item], ...end } },
      ]);
      expect(turn.calls[0]?.outcome).toMatchObject({ code: "turn_not_finished" });
      expect(turn.finishReason).toBe(reason);
    },
  );
});

describe("assistantMessage()", () => {
  const reasoning = {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "Hm." }],
    content: [],
    encrypted_content: "gAAA",
  };

  it("gives the output back as it came, in its order", async () => {
    const items = [
      reasoning,
      { ...message("Let me look."), phase: "commentary" },
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
      { type: "mcp_list_tools", id: "mcpl_1", server_label: "s", tools: [] },
      { type: "compaction", id: "cmp_1", encrypted_content: "gBBB" },
      { type: "program", id: "cm_1", call_id: "call_p", code: "1", fingerprint: "gCCC" },
      call(6, '{ "city": "Oslo" }', {
        status: "completed",
        namespace: "crm",
        caller: { type: "program", caller_id: "call_p" },
      }),
      { type: "something_new", id: "x_1", field: { deep: [1] } },
    ];
    const events = items.flatMap((item, index) => [
      added(index, { ...item, encrypted_content: "partial", arguments: "" }),
      ended(index, item),
    ]);
    const turn = await turnOf([...events, completed]);
    expect(openaiResponses.assistantMessage(turn)).toEqual(items);
    const [whole] = openaiResponses
      .parse({ object: "response", output: items } as never, { tools: [getWeather] })
      .slice(-1);
    expect(whole?.type === "finish" && openaiResponses.assistantMessage(whole.turn)).toEqual(items);
  });

  it("survives a checkpoint: the record is plain JSON", async () => {
    const turn = await turnOf([
      added(0, call(0, "")),
      delta(0, '{"city":"Oslo"}'),
      ended(0, call(0, '{"city":"Oslo"}')),
      completed,
    ]);
    expect(JSON.parse(JSON.stringify(turn.native))).toEqual(turn.native);
  });

  it("leaves out what the input does not take", async () => {
    const items = [
      { ...reasoning, status: "completed" },
      { ...call(1, '{"city":"Oslo"}'), status: null, created_by: "agent", parsed_arguments: { city: "Oslo" } },
      { type: "custom_tool_call", id: "ctc_1", call_id: "call_c", name: "write_sql", input: "x", status: "completed" },
      { type: "custom_tool_call_output", id: "cto_1", call_id: "call_c", output: "y", status: "completed" },
      { ...message("{}"), content: [{ type: "output_text", text: "{}", annotations: [], parsed: {} }] },
      { type: "shell_call_output", id: "sho_1", call_id: "call_s", output: [{ stdout: "a", created_by: "agent" }] },
      { type: "computer_call_output", id: "cuo_1", call_id: "call_s", output: {}, status: "failed" },
      { type: "additional_tools", id: "at_1", role: "developer", tools: [] },
      { type: "additional_tools", id: "at_2", role: "tool", tools: [] },
    ];
    const turn = await turnOf([...items.flatMap((item, index) => [added(index, item), ended(index, item)]), completed]);
    expect(openaiResponses.assistantMessage(turn)).toEqual([
      reasoning,
      call(1, '{"city":"Oslo"}'),
      { type: "custom_tool_call", id: "ctc_1", call_id: "call_c", name: "write_sql", input: "x" },
      { type: "custom_tool_call_output", id: "cto_1", call_id: "call_c", output: "y" },
      message("{}"),
      { type: "shell_call_output", id: "sho_1", call_id: "call_s", output: [{ stdout: "a" }] },
      { type: "computer_call_output", id: "cuo_1", call_id: "call_s", output: {} },
      { type: "additional_tools", id: "at_1", role: "developer", tools: [] },
    ]);
  });

  it.each([
    ['{"city":"Oslo"', JSON.stringify({ INVALID_JSON: '{"city":"Oslo"' })],
    ["", "{}"],
  ])("keeps a history that every server can read: arguments %j", async (args, sent) => {
    const turn = await turnOf(
      [added(0, call(0, "")), delta(0, args), ended(0, call(0, args)), completed],
      [getWeather],
    );
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ type: "function_call", arguments: sent }]);
  });

  it.each([
    ["look_up<|channel|>commentary", "look_up____channel____commentary"],
    ["get_weather\n", "get_weather"],
  ])("sends a name back that servers take: %j", async (name, sent) => {
    const turn = await turnOf([added(0, call(0, "", { name })), ended(0, call(0, "{}", { name })), completed]);
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ name: sent }]);
  });

  it("gives of a cut stream its text, what was complete, and every call", async () => {
    const turn = await turnOf([
      added(0, reasoning),
      ended(0, reasoning),
      added(1, call(1, "", { status: "in_progress" })),
      delta(1, '{"city":"Os'),
      added(2, { ...message(""), status: "in_progress", content: [] }),
      { type: "response.output_text.delta", output_index: 2, content_index: 0, delta: "And" },
    ]);
    expect(turn.error?.code).toBe("connection_lost");
    expect(openaiResponses.assistantMessage(turn)).toEqual([
      { role: "assistant", content: "And" },
      reasoning,
      {
        type: "function_call",
        call_id: "call_1",
        name: "get_weather",
        arguments: JSON.stringify({ INVALID_JSON: '{"city":"Os' }),
      },
    ]);
    expect(openaiResponses.toolResults(turn)).toMatchObject([
      { type: "function_call_output", call_id: "call_1", output: expect.stringContaining("error") },
    ]);
  });

  const thought = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };

  // https://github.com/vercel/ai/issues/8811
  it("refers to nothing in a turn that failed, which the API has not stored", async () => {
    const events = [
      added(0, thought),
      ended(0, thought),
      added(1, message("")),
      ended(1, message("I look.")),
      added(2, call(2, "")),
      ended(2, call(2, '{"city":"Oslo"}', { namespace: "crm" })),
    ];
    const items = async (end: Event[]) => openaiResponses.assistantMessage(await turnOf([...events, ...end]));
    expect(await items([])).toEqual([
      { role: "assistant", content: "I look." },
      {
        type: "function_call",
        call_id: "call_2",
        name: "get_weather",
        namespace: "crm",
        arguments: '{"city":"Oslo"}',
      },
    ]);
    expect(await items([completed])).toMatchObject([{ id: "rs_1" }, { id: "msg_1" }, { id: "fc_2" }]);
  });

  it("keeps reasoning with its text for the calls of a turn that failed", async () => {
    const open = { ...thought, summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
    const turn = await turnOf([ended(0, open), ended(1, call(1, '{"city":"Oslo"}'))]);
    expect(turn.error?.code).toBe("connection_lost");
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([open, { type: "function_call", call_id: "call_1" }]);
  });

  // https://github.com/GizClaw/flowcraft/issues/477
  it("writes the text of a turn that failed after the reasoning that came as text", async () => {
    const open = { ...thought, summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
    const came = { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "I look." };
    const turn = await turnOf([ended(0, open), added(1, message("")), came, ended(2, call(2, '{"city":"Oslo"}'))]);
    expect(turn.error?.code).toBe("connection_lost");
    const text = { role: "assistant", content: "I look." };
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([open, text, { type: "function_call" }]);
  });

  const text = (item_id: string, piece: string): Event => {
    return { type: "response.output_text.delta", output_index: 0, item_id, content_index: 0, delta: piece };
  };
  const begun = [added(0, { ...thought, summary: [] }), ended(0, thought)];
  const pieces = [text("msg_1", "Hel"), text("msg_1", "lo")];
  const told = ended(0, message("Hello"));
  const { id: _, ...unnamed } = message("Hello") as Record<string, unknown>;
  const renamed = { ...unnamed, id: "chatcmpl_1" };
  const paid = call(1, '{"city":"Oslo"}');
  // https://github.com/BerriAI/litellm/issues/41185, https://github.com/BerriAI/litellm/issues/37946
  it.each<[string, Event[], (string | undefined)[]]>([
    ["is not announced", [...begun, ...pieces, told, completedWith(thought, message("Hello"))], ["rs_1", "msg_1"]],
    [
      "is announced",
      [...begun, added(0, message("")), ...pieces, told, completedWith(thought, message("Hello"))],
      ["rs_1", "msg_1"],
    ],
    ["has no end of its own", [...begun, ...pieces, completedWith(thought, message("Hello"))], ["rs_1", "msg_1"]],
    ["has another id in the whole", [...begun, ...pieces, completedWith(thought, renamed)], ["rs_1", undefined]],
    [
      "is followed by a call",
      [...begun, ...pieces, added(1, call(1, "")), ended(1, paid), completedWith(thought, renamed, paid)],
      ["rs_1", undefined, "fc_1"],
    ],
  ])("says a message once that shares its index with reasoning and %s", async (_name, events, ids) => {
    for (const source of [
      iterate(events),
      new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")),
    ]) {
      const turn = await openaiResponses.read(source, { tools: [getWeather] }).done();
      expect(turn.text).toBe("Hello");
      expect(openaiResponses.assistantMessage(turn).map((item) => (item as { id?: string }).id)).toEqual(ids);
    }
  });

  const bare = { type: "function_call", call_id: "call_0", name: "get_weather" };
  const bit = (type: string, fields: object): Event => ({ type: `response.${type}`, output_index: 0, ...fields });
  const said0 = bit("output_text.delta", { content_index: 0, delta: "Hi" });
  const told0 = bit("function_call_arguments.done", { arguments: '{"city":"Oslo"}' });
  const whole0 = ended(0, { ...bare, arguments: '{"city":"Oslo"}' });
  it.each<[string, Event[], Event[]]>([
    ["as a piece", [said0], [told0, whole0]],
    ["as pieces, before a call that nothing ends", [said0, said0], []],
    ["as an item of its own", [added(0, message("")), said0, ended(0, message("Hi"))], [whole0]],
  ])("reads on with a call after text that has its index, and no ids: %s", async (_name, between, end) => {
    const input = (piece: string) => bit("function_call_arguments.delta", { delta: piece });
    const turn = await turnOf([
      added(0, { ...bare, arguments: "" }),
      input('{"city"'),
      ...between,
      input(':"Oslo"}'),
      ...end,
      completed,
    ]);
    expect(turn.text).toMatch(/^(Hi)+$/);
    expect(summarize(turn).toolCalls).toMatchObject([{ id: "call_0", input: { city: "Oslo" }, status: "complete" }]);
  });

  it.each<[string, Event[]]>([
    ["beginning", [added(0, bare), added(0, message("")), added(0, bare), whole0]],
    ["end", [added(0, bare), added(0, message("")), whole0, said0, whole0]],
  ])("takes the %s of a call, said once more after such text, for what it is", async (_name, events) => {
    const turn = await turnOf([...events, completed]);
    expect(summarize(turn).toolCalls).toMatchObject([{ id: "call_0", input: { city: "Oslo" }, status: "complete" }]);
  });

  // CLIProxyAPI, for Claude: its internal/translator/claude/openai/responses
  it.each([
    ["repeats the first", "Let me see. Done."],
    ["has its own text", "Done."],
  ])("says each text once where messages share an id, and the end of the second %s", async (_name, last) => {
    const saying = (piece: string, whole: string) => [
      added(0, { ...message(""), content: [] }),
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: piece },
      { type: "response.output_text.done", item_id: "msg_1", output_index: 0, content_index: 0, text: whole },
      ended(0, message(whole)),
    ];
    const weather = call(2, '{"city":"Oslo"}');
    const turn = await turnOf([
      ...saying("Let me see. ", "Let me see. "),
      added(2, call(2, "")),
      ended(2, weather),
      ...saying("Done.", last),
      completedWith(message(last), weather),
    ]);
    expect(turn.text).toBe("Let me see. Done.");
    expect(openaiResponses.assistantMessage(turn)).toEqual([message("Let me see. Done."), weather]);
  });

  it("says each text once where a message that nothing announces has the index of the one before it", async () => {
    const turn = await turnOf([
      added(0, message("")),
      text("msg_1", "Hel"),
      ended(0, message("Hel")),
      text("msg_2", "lo"),
      ended(0, { ...message("lo"), id: "msg_2" }),
      completed,
    ]);
    expect(turn.text).toBe("Hello");
    expect(openaiResponses.assistantMessage(turn)).toEqual([message("Hel"), { ...message("lo"), id: "msg_2" }]);
  });

  it("says a message once whose id changes from event to event, with the index of a hosted call", async () => {
    const turn = await turnOf([
      added(0, { ...message(""), id: "a" }),
      added(0, { type: "web_search_call", id: "ws_1", status: "in_progress" }),
      text("b", "Hel"),
      text("c", "lo"),
      ended(0, { ...message("Hello"), id: "d" }),
      completed,
    ]);
    expect(turn.text).toBe("Hello");
  });

  describe("calls that nothing begins, and no index or id tells apart", () => {
    const inputs = (...bits: string[]): Event[] =>
      bits.map((piece) => ({ type: "response.function_call_arguments.delta", delta: piece }));
    const tell = (args: string): Event => ({ type: "response.function_call_arguments.done", arguments: args });
    const bared = (n: number, args: string) => ({ ...call(n, args), id: undefined });
    const now = defineTool({ name: "get_weather", inputSchema: jsonSchema({ type: "object" }), effect: "read" });
    const outcomes = async (events: Event[]) => {
      const turn = await openaiResponses.read(iterate(events), { tools: [now] }).done();
      return turn.calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : outcome?.code));
    };

    it("have each the input that was told of it", async () => {
      const whole = completedWith(bared(0, ""), bared(1, '{"city":"Rome"}'));
      expect(await outcomes([tell(""), tell('{"city":"Rome"}'), whole])).toEqual([{}, { city: "Rome" }]);
    });

    it("take none of another's pieces", async () => {
      const whole = completedWith(bared(0, ""), bared(1, '{"city":"Rome"}'));
      expect(await outcomes([...inputs('{"city":', '"Rome"}'), whole])).toEqual([{ city: "Rome" }, "truncated"]);
    });
  });

  it("takes a hosted call without an index, whose id changes, for one", () => {
    const search = (id: string, status: string) => ({ item: { type: "web_search_call", id, status } });
    const { providerTools } = said([
      { type: "response.output_item.added", ...search("a", "in_progress") },
      { type: "response.output_item.done", ...search("b", "completed") },
      completed,
    ]);
    expect(providerTools.map(({ id, status }) => [id, status])).toEqual([
      ["a", "started"],
      ["a", "completed"],
    ]);
  });

  it("takes no other call, after such text, for the one before", async () => {
    const other = call(7, '{"city":"Rome"}');
    const turn = await turnOf([
      added(0, { ...bare, arguments: "" }),
      bit("function_call_arguments.delta", { delta: '{"city":"Oslo"}' }),
      said0,
      ended(0, other),
      completed,
    ]);
    expect(turn.calls.map(({ id, argsText }) => [id, argsText])).toEqual([
      ["call_0", '{"city":"Oslo"}'],
      ["call_7", '{"city":"Rome"}'],
    ]);
  });

  // https://github.com/vllm-project/vllm/issues/47916
  it.each<[string, object[]]>([
    ["beside reasoning that was not streamed", [thought, call(7, '{"city": "Oslo"}'), call(8, '{"city":"Rome"}')]],
    ["in another order", [call(8, '{"city":"Rome"}'), thought, call(7, '{"city":"Oslo"}')]],
  ])("hands calls out once that have other ids in the whole response, %s", async (_name, output) => {
    const calls = [call(0, '{"city":"Oslo"}'), call(1, '{"city":"Rome"}')];
    const turn = await turnOf([...calls.flatMap((one, i) => [added(i, one), ended(i, one)]), completedWith(...output)]);
    expect(turn.calls.map(({ id, argsText }) => [id, argsText])).toEqual([
      ["call_0", '{"city":"Oslo"}'],
      ["call_1", '{"city":"Rome"}'],
    ]);
  });

  it("gives calls of one id each its own arguments, and no call that of its result", async () => {
    const calls = [call(0, '{"city":"Oslo"}', { call_id: "c" }), call(1, '{"city":"Rome"}', { call_id: "c" })];
    const announced = calls.map((one, i) => added(i, { ...one, arguments: "" }));
    const result = { type: "function_call_output", id: "o_1", call_id: "call_7", output: "ran" };
    const turn = await turnOf([...announced, completedWith(...calls)]);
    expect(turn.calls.map(({ argsText }) => argsText)).toEqual(['{"city":"Oslo"}', '{"city":"Rome"}']);
    const ran = await turnOf([added(0, call(7, "")), completedWith(call(7, '{"city":"Oslo"}'), result)]);
    expect(ran.providerToolCalls.length + ran.calls.length).toBe(1);
    expect(openaiResponses.assistantMessage(ran)[0]).toMatchObject({ arguments: '{"city":"Oslo"}' });
  });

  describe("a call of which another item tells, with its call_id", () => {
    const oslo = '{"city":"Oslo"}';
    const item = (n: number, args: string) => call(n, args, { call_id: "call_0" });
    const whole = (n: number, args: string) => [added(n, item(n, "")), delta(n, args), ended(n, item(n, args))];
    const argumentsOf = (turn: { calls: readonly { argsText: string }[] }) =>
      turn.calls.map(({ argsText }) => argsText);

    // https://github.com/microsoft/agent-framework/issues/7485, https://github.com/NousResearch/hermes-agent/issues/94707
    it.each<[string, Event[]]>([
      ["once more", [...whole(0, oslo), ...whole(1, oslo)]],
      ["once more, written in another way", [...whole(0, oslo), ...whole(1, '{"city": "Oslo"}')]],
      ["once more, whole", [...whole(0, oslo), ended(1, item(1, oslo))]],
      ["once more, without its arguments", [...whole(0, oslo), added(1, item(1, "")), ended(1, item(1, ""))]],
      ["with its end", [added(0, item(0, "")), ended(1, item(1, oslo))]],
      ["with its end, behind its pieces", [added(0, item(0, "")), delta(0, oslo), ended(1, item(1, oslo))]],
    ])("is one: %s", async (_name, events) => {
      const turn = await turnOf([...events, completed]);
      expect(argumentsOf(turn)).toEqual([oslo]);
      expect(openaiResponses.assistantMessage(turn)).toHaveLength(1);
      expect(openaiResponses.toolResults(turn)).toHaveLength(1);
    });

    it("is another one where its arguments differ, and goes back under an id of its own, since each has one result", async () => {
      const turn = await turnOf([...whole(0, oslo), ...whole(1, '{"city":"Rome"}'), completed]);
      expect(argumentsOf(turn)).toEqual([oslo, '{"city":"Rome"}']);
      for (const sent of [openaiResponses.assistantMessage(turn), openaiResponses.toolResults(turn)])
        expect(sent).toMatchObject([{ call_id: "call_0" }, { call_id: "run-0-1" }]);
    });

    it("is run, where the one before it was cut", async () => {
      const cut = [added(0, item(0, "")), delta(0, '{"ci'), ended(0, item(0, '{"ci'))];
      const turn = await turnOf([...cut, ...whole(1, oslo), completed]);
      expect(turn.calls.map(({ outcome }) => outcome instanceof ToolUse)).toEqual([false, true]);
    });
  });

  // https://github.com/Oaklight/llm-rosetta/issues/418
  describe("calls that end at another index than they began at", () => {
    const [oslo, rome] = [call(0, '{"city":"Oslo"}'), call(1, '{"city":"Rome"}')];
    const begin = (n: number) => [added(n, call(n, "")), delta(n, n === 0 ? '{"city":"Oslo"}' : '{"city":"Rome"}')];
    const toldAt = (output_index: number, n: number, args: string) => {
      const type = "response.function_call_arguments.done";
      return { type, output_index, item_id: `fc_${n}`, arguments: args };
    };
    const end = (n: number) =>
      n === 0 ? [toldAt(1, 0, '{"city":"Oslo"}'), ended(1, oslo)] : [toldAt(2, 1, '{"city":"Rome"}'), ended(2, rome)];

    it.each<[string, Event[]]>([
      ["one after the other", [...begin(0), ...end(0), ...begin(1), ...end(1)]],
      ["side by side", [...begin(0), ...begin(1), ...end(0), ...end(1)]],
      ["side by side, without the whole input", [...begin(0), ...begin(1), ended(1, oslo), ended(2, rome)]],
      ["side by side, without pieces", [added(0, call(0, "")), added(1, call(1, "")), ...end(0), ...end(1)]],
      [
        "side by side, the input of one behind its end",
        [added(0, call(0, "")), added(1, call(1, "")), ...end(0).toReversed(), ...end(1)],
      ],
    ])("have each its own input: %s", async (_name, events) => {
      for (const last of [completed, completedWith(oslo, rome)]) {
        const turn = await turnOf([...events, last]);
        expect(turn.calls.map(({ id, outcome }) => [id, (outcome as ToolUse).input])).toEqual([
          ["call_0", { city: "Oslo" }],
          ["call_1", { city: "Rome" }],
        ]);
        expect(openaiResponses.assistantMessage(turn)).toEqual([oslo, rome]);
      }
    });

    it.each<[string, Event[]]>([
      ["nothing", []],
      ["another item", [added(0, { type: "reasoning", id: "rs_1" })]],
    ])("take pieces whose index has %s, but whose id is theirs", async (_name, before) => {
      const deltas = [...'{"city":"Oslo"}'].map((piece) => delta(0, piece));
      const events = [...before, added(1, call(0, "")), ...deltas, completed];
      const bytes = new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
      for (const source of [iterate(events), bytes]) {
        const turn = await openaiResponses.read(source, { tools: [getWeather] }).done();
        expect(turn.calls.map(({ id, argsText }) => [id, argsText])).toEqual([["call_0", '{"city":"Oslo"}']]);
      }
    });
  });

  it("takes a message for one whose pieces had another index than its end", async () => {
    const turn = await turnOf([
      ...begun,
      ...pieces,
      ended(1, message("Hello")),
      completedWith(thought, message("Hello")),
    ]);
    expect(turn.text).toBe("Hello");
    expect(openaiResponses.assistantMessage(turn)).toHaveLength(2);
  });

  it("hands out a call that only the whole response tells, beside one of the same name", async () => {
    const first = call(0, '{"city":"Oslo"}');
    const turn = await turnOf([
      added(0, first),
      ended(0, first),
      completedWith(thought, call(7, '{"city":"Oslo"}'), call(8, '{"city":"Rome"}')),
    ]);
    expect(turn.calls.map(({ argsText }) => argsText)).toEqual(['{"city":"Oslo"}', '{"city":"Rome"}']);
  });

  it("takes no call from a response in which it is still in progress", async () => {
    const open = call(1, "{}", { name: "look", status: "in_progress" });
    const look = defineTool({ name: "look", inputSchema: z.object({}), effect: "read", execute: () => "" });
    const response = { incomplete_details: { reason: "max_output_tokens" }, output: [message("Hi"), open] };
    const turn = await turnOf(
      [added(0, message("")), ended(0, message("Hi")), { type: "response.incomplete", response }],
      [look],
    );
    expect(turn).toMatchObject({ text: "Hi", calls: [] });
  });

  it("sends no reasoning without the item that it led to", async () => {
    const turn = await turnOf([
      added(0, message("Yes.")),
      ended(0, message("Yes.")),
      added(1, reasoning),
      ended(1, reasoning),
    ]);
    expect(openaiResponses.assistantMessage(turn)).toEqual([{ role: "assistant", content: "Yes." }]);
  });

  it("sends the text of a server that streams no items", async () => {
    const turn = await turnOf([
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hi" },
      completed,
    ]);
    expect(openaiResponses.assistantMessage(turn)).toEqual([{ role: "assistant", content: "Hi" }]);
  });

  // https://github.com/agentgateway/agentgateway/pull/3326, https://github.com/diegosouzapw/OmniRoute/issues/13693
  it.each<[string, object]>([
    ["without its text", { ...message(""), content: [] }],
    ["before it is over", message("Hel")],
  ])("sends what was said in a message that a server ends %s", async (_name, end) => {
    const piece = (words: string) => ({
      type: "response.output_text.delta",
      output_index: 1,
      content_index: 0,
      delta: words,
    });
    const turn = await turnOf([
      added(0, reasoning),
      ended(0, reasoning),
      added(1, { ...message(""), content: [] }),
      piece("Hel"),
      ended(1, end),
      piece("lo"),
      completed,
    ]);
    expect(turn.text).toBe("Hello");
    expect(openaiResponses.assistantMessage(turn)).toEqual([reasoning, message("Hello")]);
  });

  it("sends that once, in the first of several parts and messages, and leaves out none of another kind", async () => {
    const part = (words: string) => ({ type: "output_text", text: words, annotations: [] });
    const no = { type: "refusal", refusal: "No." };
    const turn = await turnOf([
      ended(0, { ...message(""), content: [part("a"), no, part("b")] }),
      ended(1, { ...message("c"), id: "msg_2" }),
      { type: "response.output_text.delta", output_index: 1, item_id: "msg_2", content_index: 0, delta: "d" },
      completed,
    ]);
    expect(turn.text).toBe("abcd");
    expect(openaiResponses.assistantMessage(turn)).toEqual([{ ...message(""), content: [part("abcd"), no] }]);
  });

  it("makes an id for a call that came without one, the same in call and result", async () => {
    const nameless = call(0, '{"city":"Oslo"}', { call_id: undefined });
    const turn = await turnOf([added(0, nameless), ended(0, nameless), completed]);
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ call_id: "run-0-0" }]);
    expect(openaiResponses.toolResults(turn)).toMatchObject([{ call_id: "run-0-0" }]);
  });

  it("leaves out an id that is longer than the API takes back", async () => {
    const id = "x".repeat(65);
    const items = [{ ...reasoning, id }, { ...message("Hi"), id, phase: "commentary" }, call(2, "{}", { id })];
    const turn = await turnOf([...items.map((item, index) => ended(index, item)), completed]);
    const sent = openaiResponses.assistantMessage(turn);
    const idless = { id: undefined };
    expect(sent).toEqual(items.map((item) => ({ ...item, ...idless })));
    expect(sent.map((item) => "id" in item)).toEqual([false, false, false]);
    expect(openaiResponses.toolResults(turn)).toMatchObject([{ call_id: "call_2" }]);
  });

  // https://github.com/BerriAI/litellm/issues/27333, https://github.com/openai/codex/issues/33176
  it.each([
    ["message", "chatcmpl-dfa2da3a"],
    ["message", "msg-92Y7BhMpWBhXt7dm"],
    ["message", "019f629b-43ee-7a82-acb1-3071dbffbdad"],
    ["function_call", "call_1"],
    ["function_call", "item_A9v0SNfS3VaLrfX0j3y4xhyK"],
    ["custom_tool_call", "fc_1w8xjn5yx1c0y"],
  ])("leaves out the id of a %s that OpenAI would refuse: %s", async (type, id) => {
    const item =
      type === "message"
        ? { ...message("Hi"), id }
        : { ...call(1, "", { id }), type, ...(type === "function_call" ? { arguments: "{}" } : { input: "SELECT 1" }) };
    const turn = await turnOf([ended(0, item), completed]);
    const [sent] = openaiResponses.assistantMessage(turn);
    expect(sent).toMatchObject({ type });
    expect(sent).not.toHaveProperty("id");
  });

  it("makes no id that is longer than the API takes", async () => {
    const nameless = call(0, '{"city":"Oslo"}', { call_id: undefined });
    const events = iterate([added(0, nameless), ended(0, nameless), completed]);
    const turn = await openaiResponses.read(events, { tools: [getWeather], runId: "r".repeat(64) }).done();
    const [sent] = openaiResponses.assistantMessage(turn) as { call_id: string }[];
    expect(sent?.call_id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(openaiResponses.toolResults(turn)).toMatchObject([{ call_id: sent?.call_id }]);
  });
});

describe("toolResult() and toolResults()", () => {
  const use = getWeather.use({ city: "Oslo" }, { id: "call_1" });

  it.each([
    ["sunny", "sunny"],
    [{ celsius: 21 }, '{"celsius":21}'],
    [undefined, "null"],
    [
      [{ type: "input_image", image_url: "https://example.org/a.png" }],
      '[{"type":"input_image","image_url":"https://example.org/a.png"}]',
    ],
    [resultContent([{ type: "input_text", text: "hot" }]), [{ type: "input_text", text: "hot" }]],
    [resultContent([{ type: "input_text", text: "hot \ud83d" }]), [{ type: "input_text", text: "hot \ufffd" }]],
  ])("sends %j", (output, sent) => {
    expect(openaiResponses.toolResult(use, output)).toEqual({
      type: "function_call_output",
      call_id: "call_1",
      output: sent,
    });
  });

  it("answers a custom tool's use that was made by hand as one", () => {
    expect(openaiResponses.toolResult(writeSql.use("SELECT 1", { id: "call_2" }), 8)).toMatchObject({
      type: "custom_tool_call_output",
    });
  });

  it("gives one result a call, in call order, with the caller that waits for it", async () => {
    const caller = { type: "program", caller_id: "call_p" };
    const turn = await turnOf([
      added(0, call(0, "", { caller })),
      added(1, call(1, "", { name: "nope" })),
      added(2, call(2, "")),
      ended(2, call(2, '{"city":"Rome"}')),
      ended(1, call(1, "{}", { name: "nope" })),
      ended(0, call(0, '{"city":"Oslo"}', { caller })),
      completed,
    ]);
    await (turn.calls[0]!.outcome as ToolUse).execute();
    expect(openaiResponses.toolResults(turn)).toEqual([
      { type: "function_call_output", call_id: "call_0", output: '{"city":"Oslo","celsius":21}', caller },
      { type: "function_call_output", call_id: "call_1", output: expect.stringContaining("There is no tool") },
      {
        type: "function_call_output",
        call_id: "call_2",
        output: '{"error":"The call of get_weather was not executed."}',
      },
    ]);
  });
});

describe("tools()", () => {
  it("says strict: false, since the API would try strict mode without it", () => {
    expect(openaiResponses.tools([getWeather])).toEqual([
      {
        type: "function",
        name: "get_weather",
        description: "Current weather of a city.",
        strict: false,
        parameters: {
          type: "object",
          properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
          required: ["city"],
        },
      },
    ]);
  });

  it("requires everything in strict mode, what was optional as null", () => {
    const [tool] = openaiResponses.tools([getWeather], { strict: true, onLoss: "throw" });
    expect(tool).toMatchObject({
      strict: true,
      parameters: {
        properties: {
          city: { type: "string" },
          unit: { type: ["string", "null"], enum: ["celsius", "fahrenheit", null] },
        },
        required: ["city", "unit"],
        additionalProperties: false,
      },
    });
  });

  it("makes a custom tool of a string schema, and reports what free text cannot say", () => {
    expect(openaiResponses.tools([writeSql], { strict: true, onLoss: "throw" })).toEqual([
      { type: "custom", name: "write_sql", description: "A query." },
    ]);
    const short = defineTool({ name: "short", inputSchema: z.string().max(10) });
    expect(() => openaiResponses.tools([short], { onLoss: "throw" })).toThrow(/maxLength/);
  });

  it.each([
    ["with an id", z.string().max(10).describe("A query.").meta({ id: "Query" })],
    ["with an id, limited later", z.string().meta({ id: "Query2" }).max(10).describe("A query.")],
  ])("makes a custom tool of a string schema %s, to which zod refers from the root", (_, inputSchema) => {
    const losses: string[] = [];
    const tools = [defineTool({ name: "sql", inputSchema })];
    const params = openaiResponses.tools(tools, { onLoss: ({ rule }) => losses.push(rule) });
    expect(params).toEqual([{ type: "custom", name: "sql", description: "A query." }]);
    expect(losses).toEqual(["unsupported:maxLength"]);
  });

  it("sends the schema of results that are objects", () => {
    const outputSchema = z.object({ celsius: z.number() });
    const tool = defineTool({ name: "a", inputSchema: z.object({}), outputSchema, execute: () => ({ celsius: 1 }) });
    expect(openaiResponses.tools([tool])).toMatchObject([
      { output_schema: { type: "object", properties: { celsius: { type: "number" } } } },
    ]);
    const text = defineTool({ name: "b", inputSchema: z.object({}), outputSchema: z.string(), execute: () => "" });
    expect(openaiResponses.tools([text])[0]).not.toHaveProperty("output_schema");
  });

  it("sends no pattern that the API refuses, also not in the schema of results", () => {
    const schema = z.object({ d: z.iso.duration() });
    const tool = defineTool({ name: "a", inputSchema: schema, outputSchema: schema, execute: (given) => given });
    expect(JSON.stringify(openaiResponses.tools([tool], { onLoss: "ignore" }))).not.toContain('"pattern":');
  });

  it("says tuples and references in the schema of results as in that of the input", () => {
    const schema = {
      type: "object",
      properties: { at: { type: "array", items: [{ $ref: "Size" }] } },
      definitions: { size: { $id: "Size", type: "number" } },
    };
    const tool = defineTool({ name: "a", inputSchema: schema, outputSchema: schema, execute: (given) => given });
    const lowered = {
      type: "object",
      properties: { at: { type: "array", prefixItems: [{ $ref: "#/$defs/Size" }] } },
      $defs: { Size: { type: "number" } },
    };
    expect(openaiResponses.tools([tool])).toMatchObject([{ output_schema: lowered }]);
  });

  it("keeps a union off the root, where the API refuses it in either mode", () => {
    const inputSchema = z.union([
      z.object({ kind: z.literal("a"), n: z.number() }),
      z.object({ kind: z.literal("b") }),
    ]);
    const tool = defineTool({ name: "u", inputSchema });
    for (const strict of [false, true]) {
      const [param] = openaiResponses.tools([tool], { strict, onLoss: "ignore" });
      expect(param).toMatchObject({ parameters: { type: "object", properties: { kind: {}, n: {} } } });
      for (const keyword of ["anyOf", "oneOf", "allOf", "enum", "not"])
        expect(param).not.toHaveProperty(["parameters", keyword]);
    }
  });

  it("maps a name that the API refuses, and maps it back", async () => {
    const add = defineTool({ name: "math.add", inputSchema: z.object({}), effect: "read", execute: () => 3 });
    expect(openaiResponses.tools([add])).toMatchObject([{ name: "math__add" }]);
    const wire = call(0, "{}", { name: "math__add" });
    const turn = await turnOf([added(0, wire), ended(0, wire), completed], [add]);
    expect(turn.calls[0]?.name).toBe("math.add");
    expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ name: "math__add" }]);
  });

  it("puts a _ before a digit at the front of a name, also where the model left it out", async () => {
    const search = defineTool({ name: "21st_search", inputSchema: z.object({}), effect: "read", execute: () => 3 });
    expect(openaiResponses.tools([search])).toMatchObject([{ name: "_21st_search" }]);
    for (const name of ["_21st_search", "21st_search"]) {
      const wire = call(0, "{}", { name });
      const turn = await turnOf([added(0, wire), ended(0, wire), completed], [search]);
      expect(turn.calls[0]?.name).toBe("21st_search");
      expect(openaiResponses.assistantMessage(turn)).toMatchObject([{ name: "_21st_search" }]);
    }
  });
});

describe("toolChoice()", () => {
  it.each([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [{ name: "math.add" }, { type: "function", name: "math__add" }],
    [{ name: "write_sql" }, { type: "custom", name: "write_sql" }],
    [
      { names: ["get_weather"] },
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "get_weather" }] },
    ],
    [
      { names: ["write_sql"], required: true },
      { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "write_sql" }] },
    ],
    [{ names: [] }, "none"],
  ] as const)("says %j", (choice, expected) => {
    expect(openaiResponses.toolChoice(choice, { tools: [getWeather, writeSql] })).toEqual({ tool_choice: expected });
  });

  it("says whether several calls may come", () => {
    expect(openaiResponses.toolChoice("auto", { parallel: false })).toEqual({
      tool_choice: "auto",
      parallel_tool_calls: false,
    });
  });
});

describe("the endpoint", () => {
  it("is POST …/responses", () => {
    const { match } = openaiResponses.endpoint;
    expect(match(request("/v1/responses", { stream: true }))).toBe("stream");
    expect(match(request("/openai/v1/responses", {}))).toBe("whole");
    expect(match(request("/v1/responses", undefined))).toBe("whole");
    expect(match(request("/v1/responses/resp_1", {}, "GET"))).toBeUndefined();
    expect(match(request("/v1/chat/completions", { stream: true }))).toBeUndefined();
  });
});
