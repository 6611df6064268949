import { describe, expect, it } from "vitest";
import { z } from "zod";
import { google, resultContent } from "../../adapters/google/index.ts";
import type {
  GoogleEvent,
  GoogleFunctionResponsePart,
  WireFunctionCall,
  WirePart,
  WirePartialArg,
} from "../../adapters/google/wire.ts";
import type { StreamEvent, Turn } from "../../src/stream/events.ts";
import { summarize } from "../../src/testing/index.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { loadFixture } from "../fixtures.ts";
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

/** A chunk with these parts, and a finish reason if there is one. */
function chunk(parts: readonly WirePart[], finishReason?: string, finishMessage?: string): GoogleEvent {
  return {
    candidates: [
      {
        content: { role: "model", parts },
        index: 0,
        ...(finishReason && { finishReason }),
        ...(finishMessage && { finishMessage }),
      },
    ],
    modelVersion: "gemini-test",
    responseId: "r1",
  };
}

const call = (functionCall: WireFunctionCall): WirePart => ({ functionCall });
const begin = (name: string): WirePart => call({ name, willContinue: true });
const pieces = (...partialArgs: WirePartialArg[]): WirePart => call({ partialArgs, willContinue: true });
/** A call with arguments of any kind. */
const odd = (args: unknown): WirePart => call({ name: "set_volume", args: args as object });
const stop = chunk([{ text: "" }], "STOP");

async function readChunks(chunks: readonly GoogleEvent[], tools: readonly Tool[] | null = [weather, volume]) {
  const stream = google.read(iterate(chunks), { tools: tools ?? undefined, runId: "run" });
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, turn: stream.turn, calls: summarize(stream.turn).toolCalls };
}

/** The names of the calls that were handed out, and the text between them. */
function orderOf(events: readonly StreamEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "tool-use" ? [event.use.name] : event.type === "text-delta" ? [event.delta] : [],
  );
}

async function turnOf(name: string): Promise<Turn> {
  const { bytes, tools } = loadFixture("google", name);
  return google.read(iterate([bytes]), { tools, runId: "run" }).done();
}

/** The parts of the one content that goes back. */
function partsOf(turn: Turn): unknown[] {
  const contents = google.assistantMessage(turn);
  expect(contents).toHaveLength(1);
  expect(contents[0]!.role).toBe("model");
  return contents[0]!.parts;
}

describe("calls that come whole", () => {
  it("are handed out with their chunk if they read, at the end of the turn if they write", async () => {
    const { events } = await readChunks([
      chunk([call({ name: "set_volume", args: { level: 1 } }), call({ name: "get_weather", args: { city: "Oslo" } })]),
      chunk([{ text: "So." }], "STOP"),
    ]);
    expect(orderOf(events)).toEqual(["get_weather", "So.", "set_volume"]);
  });

  it("stay apart though neither id nor name nor arguments tell them apart", async () => {
    const same = call({ name: "get_weather", args: { city: "Oslo" } });
    const { calls } = await readChunks([chunk([same, same]), chunk([same], "STOP")]);
    expect(calls.map(({ id, status }) => ({ id, status }))).toEqual(
      [0, 1, 2].map(() => ({ id: null, status: "complete" })),
    );
    const { calls: nameless } = await readChunks([
      chunk([call({ name: "set_volume" }), call({ name: "set_volume" })], "STOP"),
    ]);
    expect(nameless.map(({ input, released }) => ({ input, released }))).toEqual(
      [0, 1].map(() => ({ input: {}, released: true })),
    );
  });

  // https://github.com/QwenLM/qwen-code/pull/9436
  it("are one where they come twice under one id, and two where their arguments differ, with an id each", async () => {
    const once = call({ id: "x", name: "set_volume", args: { level: 1 } });
    const streamed = { id: "x", name: "set_volume", willContinue: true };
    const again = [call(streamed), pieces({ jsonPath: "$.level", numberValue: 1 }), call({})];
    for (const copies of [[once], again]) {
      const { turn, calls } = await readChunks([chunk([once]), chunk(copies, "STOP")]);
      expect(calls).toMatchObject([{ id: "x", input: { level: 1 }, released: true }]);
      expect(partsOf(turn)).toEqual([once]);
      expect(google.toolResults(turn)[0]!.parts).toHaveLength(1);
    }
    const other = call({ id: "x", name: "set_volume", args: { level: 2 } });
    const { turn, calls } = await readChunks([chunk([once, other], "STOP")]);
    expect(calls.map(({ input, released }) => ({ input, released }))).toEqual(
      [1, 2].map((level) => ({ input: { level }, released: true })),
    );
    const ids = (parts: readonly unknown[]) =>
      (parts as Record<string, { id: string }>[]).map((part) => (part["functionCall"] ?? part["functionResponse"])!.id);
    expect(ids(partsOf(turn))).toEqual(["x", "run-0-1"]);
    expect(ids(google.toolResults(turn)[0]!.parts)).toEqual(["x", "run-0-1"]);
    const { turn: mixed } = await readChunks([chunk([once, once, other], "STOP")]);
    expect(ids(partsOf(mixed))).toEqual(["x", "run-0-2"]);
    expect(ids(google.toolResults(mixed)[0]!.parts)).toEqual(["x", "run-0-2"]);
  });

  it("without a name are told, and are no call of a tool", async () => {
    const { calls } = await readChunks([chunk([call({ args: { level: 3 } })], "STOP")]);
    expect(calls).toMatchObject([{ name: null, status: "unknown-tool", released: false }]);
  });

  // https://github.com/mcowger/plexus/issues/702
  it("are not executed where more arguments come behind them, under no name, which is no other call", async () => {
    const more = ['{"le', 'vel":3}'].map((text) => chunk([call({ name: "", args: { arguments: text } })]));
    const { turn, calls } = await readChunks([
      chunk([call({ name: "set_volume", args: { level: 1 } })]),
      chunk([call({ name: "set_volume", args: {} })]),
      ...more,
      stop,
    ]);
    expect(calls).toMatchObject([
      { input: { level: 1 }, released: true },
      { status: "rejected", released: false },
    ]);
    expect(partsOf(turn)).toHaveLength(2);
    // Nor where they only read, and would run at once.
    const look = defineTool({
      name: "look",
      inputSchema: z.object({ at: z.string().optional() }),
      effect: "read",
      execute: () => "",
    });
    for (const head of [{ name: "look", args: {} }, { name: "look" }]) {
      const { calls: looks } = await readChunks([chunk([call(head)]), ...more, stop], [look]);
      expect(looks).toMatchObject([{ status: "rejected", released: false }]);
      const { calls: whole } = await readChunks([chunk([call(head), call(head)], "MAX_TOKENS")], [look]);
      expect(whole).toMatchObject([0, 1].map(() => ({ input: {}, repairs: [], released: true })));
      const { calls: cut } = await readChunks([chunk([call(head), call(head)])], [look]);
      expect(cut).toMatchObject([{ released: true }, { status: "truncated", released: false }]);
    }
  });

  it("are not harmed by a call without a name behind them that can be none of their arguments", async () => {
    const { calls } = await readChunks([
      chunk([call({ name: "set_volume", args: { level: 1 } }), call({ name: "", args: { level: 2 } })]),
      stop,
    ]);
    expect(calls).toMatchObject([
      { input: { level: 1 }, released: true },
      { name: null, status: "unknown-tool", released: false },
    ]);
  });

  it("take an end that names them by their id for nothing else", async () => {
    const { calls } = await readChunks([
      chunk([call({ id: "x", name: "set_volume", args: { level: 1 } }), call({ id: "x" })]),
      stop,
    ]);
    expect(calls).toMatchObject([{ input: { level: 1 }, released: true }]);
  });

  it("are read from candidate 0 only", async () => {
    const { turn } = await readChunks([
      {
        candidates: [
          {
            index: 1,
            content: { parts: [{ text: "no" }, call({ name: "get_weather", args: { city: "Lima" } })] },
            finishReason: "STOP",
          },
          { index: 0, content: { parts: [{ text: "yes" }] }, finishReason: "STOP" },
        ],
      },
    ]);
    expect(turn.text).toBe("yes");
    expect(turn.calls).toEqual([]);
  });

  it("are read where the index of the candidate is text", async () => {
    const { turn } = await readChunks([
      { candidates: [{ index: "1", content: { parts: [{ text: "no" }] } }] },
      { candidates: [{ index: "0", content: { parts: [{ text: "yes" }] }, finishReason: "STOP" }] },
    ] as unknown as GoogleEvent[]);
    expect(turn).toMatchObject({ text: "yes", finishReason: "stop" });
  });

  it("keep arguments that are no object: text is read, anything else is refused", async () => {
    const { turn, calls } = await readChunks([
      chunk([odd('{"level":7}'), odd('{"level":'), odd([1]), odd(null)], "STOP"),
    ]);
    expect(calls.map(({ status, input }) => ({ status, input }))).toEqual([
      { status: "complete", input: { level: 7 } },
      { status: "truncated", input: expect.anything() },
      { status: "invalid", input: [1] },
      { status: "complete", input: {} },
    ]);
    expect(partsOf(turn)[0]).toEqual({ functionCall: { name: "set_volume", args: { level: 7 } } });
    expect(partsOf(turn)[2]).toEqual({ functionCall: { name: "set_volume", args: {} } });
  });

  it("survive parts that are null, unknown or of the wrong kind", async () => {
    const parts = [
      null,
      7,
      { videoMetadata: {} },
      { functionCall: null },
      { text: 5 },
      call({}),
    ] as unknown as WirePart[];
    const { turn } = await readChunks([chunk(parts), { candidates: null }, {} as GoogleEvent, stop]);
    expect(turn.error).toBeUndefined();
    expect(turn.calls).toEqual([]);
  });
});

describe("calls whose arguments are streamed", () => {
  const path = "$.room";

  it("show their input while it grows", async () => {
    const stream = google.read(
      iterate([
        chunk([begin("set_volume")]),
        chunk([pieces({ jsonPath: path, stringValue: "kit", willContinue: true })]),
        chunk([pieces({ jsonPath: path, stringValue: "chen" }, { jsonPath: "$.level", numberValue: 2 })]),
        chunk([call({})], "STOP"),
      ]),
      { tools: [volume] },
    );
    const seen: unknown[] = [];
    for await (const event of stream)
      if (event.type === "tool-input-delta") seen.push(structuredClone(event.call.input), event.call.changes());
    expect(seen.slice(0, 4)).toEqual([
      { room: "kit" },
      [
        { path: [], value: {}, done: false },
        { path: ["room"], value: "kit", done: false },
      ],
      { room: "kitchen", level: 2 },
      [
        { path: ["room"], append: "chen", done: true },
        { path: ["level"], value: 2, done: true },
      ],
    ]);
  });

  it.each<[string, WirePart[]]>([
    ["the end marker", [begin("get_weather"), pieces({ jsonPath: "$.city", stringValue: "Oslo" }), call({})]],
    ["the last piece", [begin("get_weather"), call({ partialArgs: [{ jsonPath: "$.city", stringValue: "Oslo" }] })]],
    ["the only part", [call({ name: "get_weather", partialArgs: [{ jsonPath: "$.city", stringValue: "Oslo" }] })]],
  ])("are handed out with %s if they read", async (_, parts) => {
    const { events } = await readChunks([chunk(parts), chunk([{ text: "So." }])]);
    expect(orderOf(events)).toEqual(["get_weather", "So."]);
  });

  it("take a place that is left for finished, and a whole string for a new value", async () => {
    const { calls } = await readChunks(
      [
        chunk([
          begin("any"),
          pieces({ jsonPath: "$.a", stringValue: "x", willContinue: true }),
          pieces({ jsonPath: "$.b", stringValue: "y", willContinue: true }),
        ]),
        chunk([
          pieces(
            { jsonPath: "$.b" },
            { jsonPath: "$.c", stringValue: "old" },
            { jsonPath: "$.c", stringValue: "new" },
            { jsonPath: "$.d", nullValue: null },
            { jsonPath: "$.e", stringValue: "5", willContinue: true },
            { jsonPath: "$.e", numberValue: 5 },
            { jsonPath: "$.f", stringValue: "x", willContinue: true },
            { jsonPath: "$.f", nullValue: "NULL_VALUE" },
          ),
        ]),
        chunk([call({}), { text: "" }], "STOP"),
      ],
      null,
    );
    expect(calls).toMatchObject([{ status: "complete", input: { a: "x", b: "y", c: "new", d: null, e: 5, f: null } }]);
  });

  it("keep their text over pieces without a value, missing or null, in its middle and at its end", async () => {
    const nothing = { stringValue: null, numberValue: null, boolValue: null, nullValue: null };
    const { calls } = await readChunks([
      chunk([begin("set_volume"), pieces({ jsonPath: "$.room", stringValue: "ha", willContinue: true })]),
      chunk([pieces({ jsonPath: "$.room", willContinue: true })]),
      chunk([pieces({ jsonPath: "$.room", stringValue: "l", willContinue: true })]),
      chunk([pieces({ jsonPath: "$.room", ...(nothing as object), willContinue: true })]),
      chunk([pieces({ jsonPath: "$.room", stringValue: "l" }), call({})]),
      chunk([begin("set_volume"), pieces({ jsonPath: "$.room", stringValue: "hall", willContinue: true })]),
      chunk([pieces({ jsonPath: "$.room", ...(nothing as object) }), call({})], "STOP"),
    ]);
    expect(calls).toMatchObject([0, 1].map(() => ({ status: "complete", input: { room: "hall" } })));
  });

  it("may begin with whole arguments, or with pieces beside the name", async () => {
    const { calls } = await readChunks([
      chunk([
        call({ name: "set_volume", args: { level: 1 }, willContinue: true }),
        pieces({ jsonPath: path, stringValue: "hall" }),
        call({}),
      ]),
      chunk([call({ name: "set_volume", partialArgs: [{ jsonPath: "$.level", numberValue: 5 }] })], "STOP"),
    ]);
    expect(calls.map(({ input, status }) => ({ input, status }))).toEqual([
      { input: { level: 1, room: "hall" }, status: "complete" },
      { input: { level: 5 }, status: "complete" },
    ]);
    const whole = call({ name: "set_volume", args: { level: 1 }, willContinue: true });
    const { calls: ended } = await readChunks([chunk([whole], "STOP")]);
    expect(ended).toMatchObject([{ input: { level: 1 }, status: "complete", released: true }]);
  });

  it("may have an empty list beside them, as PHP writes an object without anything", async () => {
    const { calls } = await readChunks([
      chunk([call({ name: "set_volume", args: [], willContinue: true })]),
      chunk([pieces({ jsonPath: path, stringValue: "hall" }), call({})]),
      stop,
    ]);
    expect(calls).toMatchObject([{ status: "complete", input: { room: "hall" } }]);
  });

  it("go on over text, and over a repeated id and name", async () => {
    const { calls, turn } = await readChunks([
      chunk([call({ id: "c1", name: "set_volume", willContinue: true })]),
      chunk([{ text: "Louder" }]),
      chunk([
        call({
          id: "c1",
          name: "set_volume",
          partialArgs: [{ jsonPath: "$.level", numberValue: 5 }],
          willContinue: true,
        }),
      ]),
      chunk([call({ id: "c1" })], "STOP"),
    ]);
    expect(turn.text).toBe("Louder");
    expect(calls).toMatchObject([{ id: "c1", input: { level: 5 }, status: "complete", released: true }]);
    const late = call({ id: "c1", partialArgs: [{ jsonPath: "$.level", numberValue: 5 }] });
    const { calls: named } = await readChunks([chunk([begin("set_volume"), late], "STOP")]);
    expect(named).toMatchObject([{ input: { level: 5 }, status: "complete", released: true }]);
  });

  it("keep a signature that comes with a later part", async () => {
    const { turn } = await readChunks([
      chunk([begin("set_volume"), { ...pieces({ jsonPath: "$.level", numberValue: 5 }), thoughtSignature: "S" }]),
      chunk([{ ...call({}), thoughtSignature: "too late" }], "STOP"),
    ]);
    expect(partsOf(turn)).toEqual([
      { functionCall: { name: "set_volume", args: { level: 5 } }, thoughtSignature: "S" },
    ]);
  });

  it("keep a signature that comes as the call is sent again", async () => {
    const whole = call({ id: "c1", name: "set_volume", args: { level: 5 } });
    const { turn, calls } = await readChunks([chunk([whole]), chunk([{ ...whole, thoughtSignature: "S" }], "STOP")]);
    expect(calls).toHaveLength(1);
    expect(turn.calls[0]!.metadata).toEqual({ thoughtSignature: "S" });
    expect(partsOf(turn)).toEqual([{ ...whole, thoughtSignature: "S" }]);
  });

  it("leave a signature where it came if another call has its id", async () => {
    const [one, other] = [1, 2].map((level) => call({ id: "c1", name: "set_volume", args: { level } }));
    const { turn } = await readChunks([chunk([one!]), chunk([{ ...other!, thoughtSignature: "S" }], "STOP")]);
    expect(partsOf(turn)).toMatchObject([
      expect.not.objectContaining({ thoughtSignature: "S" }),
      { thoughtSignature: "S" },
    ]);
  });

  it.each([null, ""])("keep it where the first part has %j for it", async (none) => {
    const { turn } = await readChunks([
      chunk([{ ...begin("set_volume"), thoughtSignature: none as never }]),
      chunk([{ ...pieces({ jsonPath: "$.level", numberValue: 5 }), thoughtSignature: "S" }, call({})], "STOP"),
    ]);
    expect(partsOf(turn)).toEqual([
      { functionCall: { name: "set_volume", args: { level: 5 } }, thoughtSignature: "S" },
    ]);
  });

  it("without any arguments are complete if the wire ends them, or goes on to the next call", async () => {
    const { calls } = await readChunks([
      chunk([begin("set_volume"), call({}), begin("set_volume"), begin("set_volume"), call({ partialArgs: [] })]),
      stop,
    ]);
    expect(calls.map(({ input, status }) => ({ input, status }))).toEqual(
      [0, 1, 2].map(() => ({ input: {}, status: "complete" })),
    );
    const look = defineTool({ name: "look", inputSchema: z.object({}), effect: "read", execute: () => "" });
    const { events } = await readChunks([chunk([begin("look"), call({})]), chunk([{ text: "So." }])], [look]);
    expect(orderOf(events)).toEqual(["look", "So."]);
  });

  it("are not executed where one is told of under the id of another", async () => {
    const begun = (id: string) => call({ id, name: "set_volume", willContinue: true });
    const level = (numberValue: number) => ({ partialArgs: [{ jsonPath: "$.level", numberValue }] });
    const first = [begun("a"), call({ id: "a", ...level(1), willContinue: true })];
    const second = [begun("b"), call({ ...level(2), willContinue: true })];
    for (const astray of [{ id: "a", ...level(3), willContinue: true }, { id: "a", ...level(3) }, { id: "a" }]) {
      const { calls } = await readChunks([chunk([...first, ...second, call(astray), call({ id: "b" })]), stop]);
      expect(calls.map(({ status, released }) => ({ status, released }))).toEqual(
        [0, 1].map(() => ({ status: "rejected", released: false })),
      );
    }
    const { calls: alone, turn } = await readChunks([chunk([...first, call({ id: "c" })]), stop]);
    expect(turn.error).toBeUndefined();
    expect(alone).toMatchObject([{ status: "rejected", released: false }]);
    const { calls } = await readChunks([chunk([...first, call({ id: "a" }), ...second, call({ id: "b" })]), stop]);
    expect(calls.map(({ input, released }) => ({ input, released }))).toEqual(
      [1, 2].map((at) => ({ input: { level: at }, released: true })),
    );
  });

  it.each<[string, GoogleEvent[]]>([
    ["the end marker comes inside a string", [chunk([call({})]), stop]],
    ["the next call begins inside a string", [chunk([call({ name: "get_weather", args: { city: "Oslo" } })]), stop]],
    ["the next call begins in pieces inside a string", [chunk([begin("get_weather")]), chunk([call({})]), stop]],
    ["STOP comes inside a string", [stop]],
    ["MAX_TOKENS comes inside a string", [chunk([], "MAX_TOKENS")]],
    ["OTHER comes inside a string", [chunk([], "OTHER")]],
    ["[DONE] comes without a finish reason", ["[DONE]"]],
    ["the stream just ends", []],
  ])("are cut when %s", async (_, rest) => {
    const { calls, events } = await readChunks([
      chunk([begin("set_volume")]),
      chunk([pieces({ jsonPath: path, stringValue: "ki", willContinue: true })]),
      ...rest,
    ]);
    expect(calls[0]).toMatchObject({
      status: "truncated",
      input: { room: "ki" },
      released: false,
      error: { code: "truncated" },
    });
    expect(events.some((event) => event.type === "tool-error" && event.error.code === "truncated")).toBe(true);
  });

  it("are cut when STOP came before the last piece", async () => {
    const level = pieces({ jsonPath: "$.level", numberValue: 5 });
    const { calls } = await readChunks([chunk([begin("set_volume")], "STOP"), chunk([level])]);
    expect(calls).toMatchObject([{ status: "truncated", released: false }]);
  });

  it.each(["MAX_TOKENS", "SAFETY", "OTHER", "MALFORMED_FUNCTION_CALL"])(
    "are cut between two arguments when %s comes",
    async (reason) => {
      const { calls } = await readChunks([
        chunk([begin("set_volume"), pieces({ jsonPath: "$.level", numberValue: 5 })]),
        chunk([], reason),
      ]);
      expect(calls).toMatchObject([{ status: "truncated", released: false }]);
    },
  );

  it.each<[string, WirePartialArg]>([
    ["a path that is none", { jsonPath: "$.a[*]", stringValue: "x" }],
    ["no path", { stringValue: "x" }],
    ["a number that JSON has not", { jsonPath: "$.level", numberValue: "NaN" as unknown as number }],
    ["no value", { jsonPath: "$.level" }],
    ["a path that is no text", { jsonPath: 5 as unknown as string, stringValue: "x" }],
    ["a piece that is none", null as unknown as WirePartialArg],
    ["a path through a value that is no object", { jsonPath: "$.level.unit", stringValue: "dB" }],
  ])("fail alone over %s", async (_, piece) => {
    const { calls, turn } = await readChunks([
      chunk([
        begin("set_volume"),
        pieces({ jsonPath: "$.level", numberValue: 1 }),
        pieces(piece),
        pieces({ jsonPath: path, stringValue: "hall" }),
        call({}),
      ]),
      chunk([call({ name: "get_weather", args: { city: "Oslo" } })], "STOP"),
    ]);
    expect(calls).toMatchObject([
      { name: "set_volume", status: "rejected", released: false, error: { code: "rejected" } },
      { name: "get_weather", status: "complete", released: true },
    ]);
    expect(turn.error).toBeUndefined();
  });

  it("are no call's without a name, and none of a call that came whole", async () => {
    const astray = pieces({ jsonPath: "$.level", numberValue: 5 });
    const { calls } = await readChunks([chunk([astray, call({})]), stop]);
    expect(calls).toMatchObject([{ name: null, status: "unknown-tool", released: false }]);
    const { calls: behind } = await readChunks([chunk([call({ name: "set_volume" }), astray, call({})]), stop]);
    expect(behind).toMatchObject([{ name: "set_volume", status: "rejected", released: false }]);
  });

  it("are one piece, where that is in no list", async () => {
    const one = call({ partialArgs: { jsonPath: "$.level", numberValue: 5 } as never });
    const { calls } = await readChunks([chunk([begin("set_volume"), one], "STOP")]);
    expect(calls).toMatchObject([{ input: { level: 5 }, status: "complete", released: true }]);
  });

  it.each(["", "x", 0, {}, true])("are not run without a piece that cannot be read: %j", async (none) => {
    const unread = { partialArgs: none as never };
    const amid = [begin("set_volume"), call({ ...unread, willContinue: true }), call({})];
    for (const parts of [amid, [call({ name: "set_volume", ...unread })]]) {
      const { calls } = await readChunks([chunk(parts, "STOP")]);
      expect(calls).toMatchObject([{ name: "set_volume", status: "rejected", released: false }]);
    }
  });

  it.each(["x", 0, true, [1]])("are not run beside arguments that are no object: %j", async (args) => {
    const beside = { args: args as never, willContinue: true };
    const last = call({ partialArgs: [{ jsonPath: "$.level", numberValue: 5 }] });
    for (const parts of [[call({ name: "set_volume", ...beside })], [begin("set_volume"), call(beside)]]) {
      const { calls } = await readChunks([chunk([...parts, last], "STOP")]);
      expect(calls).toMatchObject([{ name: "set_volume", status: "rejected", released: false }]);
    }
  });

  it("change no prototype", async () => {
    const turn = await turnOf("quirk-52-hostile-paths");
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(JSON.stringify(partsOf(turn)[0])).toContain('"__proto__":{"polluted":true}');
  });
});

const usage = (n: number): GoogleEvent => ({
  candidates: [{ content: { parts: [{ text: "a" }] }, ...(n === 2 && { finishReason: "STOP" }) }],
  usageMetadata: {
    promptTokenCount: 10,
    toolUsePromptTokenCount: 3,
    candidatesTokenCount: n,
    thoughtsTokenCount: 4,
    totalTokenCount: 17 + n,
  },
});

describe("the end", () => {
  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["RECITATION", "content-filter"],
    ["PROHIBITED_CONTENT", "content-filter"],
    ["IMAGE_SAFETY", "content-filter"],
    ["TOO_MANY_TOOL_CALLS", "error"],
    ["MISSING_THOUGHT_SIGNATURE", "error"],
    ["ESCALATION", "content-filter"],
    ["PUP_LIMITED_DISABLED", "error"],
    ["OTHER", "unknown"],
    ["A_WORD_OF_TOMORROW", "unknown"],
  ])("%s is %s", async (word, reason) => {
    const { events } = await readChunks([chunk([{ text: "x" }], word)]);
    expect(events.at(-1)).toMatchObject({ type: "finish", reason, providerReason: word });
  });

  it("tells the model what to do about a call that the provider dropped", async () => {
    const { events } = await readChunks([
      { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed: f(" }] },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "finish",
      reason: "error",
      message: expect.stringMatching(/Call the function again.*\(Malformed: f\(\)/),
    });
    const { turn } = await readChunks([chunk([], "MALFORMED_FUNCTION_CALL"), chunk([], "STOP")]);
    expect(turn).toMatchObject({
      finishReason: "error",
      finishMessage: expect.stringMatching(/Call the function again, .* declaration\.$/),
    });
  });

  it("is the last of several finish reasons, and what comes after one still counts", async () => {
    const { turn } = await readChunks([
      chunk([{ text: "a" }], "STOP"),
      chunk([{ text: "b" }]),
      chunk([{ text: "c" }], "MAX_TOKENS"),
      chunk([{ text: "d" }]),
    ]);
    expect(turn.text).toBe("abcd");
    expect(turn.providerFinishReason).toBe("MAX_TOKENS");
  });

  // https://github.com/Chevey339/kelivo/issues/1003
  it("is not that of empty chunks before the answer", async () => {
    const empty = chunk([], "STOP");
    const answer = chunk([{ text: "a" }, call({ name: "set_volume", args: { level: 1 } })]);
    const { events, calls } = await readChunks([empty, empty, answer]);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "connection_lost" } });
    expect(calls).toMatchObject([{ released: false }]);
    const { events: ended, calls: released } = await readChunks([empty, empty, answer, empty]);
    expect(ended.at(-1)).toMatchObject({ type: "finish", reason: "tool-use", providerReason: "STOP" });
    expect(released).toMatchObject([{ released: true }]);
    const { events: nothing } = await readChunks([chunk([], "STOP", "No words.")]);
    expect(nothing.at(-1)).toMatchObject({ type: "finish", reason: "stop", message: "No words." });
  });

  it("without a finish reason is a lost connection, unless a gateway says that it is all", async () => {
    const { events } = await readChunks([chunk([{ text: "a" }])]);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "connection_lost" } });
    const { events: ended } = await readChunks([chunk([{ text: "a" }]), "[DONE]"]);
    expect(ended.at(-1)).toMatchObject({ type: "finish", reason: "unknown", providerReason: null });
  });

  it("is an error of the provider's with its code and word", async () => {
    const { events } = await readChunks([
      chunk([{ text: "a" }]),
      { error: { code: 429, message: "Quota exceeded.", status: "RESOURCE_EXHAUSTED" } },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "error",
      error: { code: "provider_error", message: "Quota exceeded. (429 RESOURCE_EXHAUSTED)" },
    });
  });

  it.each([
    ["Slow down. (429 RESOURCE_EXHAUSTED)", { code: 429, message: "Slow down.", status: "RESOURCE_EXHAUSTED" }],
    ["Slow down.", { detail: [{ loc: ["body"], msg: "Slow down." }] }],
    ["Slow down.", { success: false, errors: [{ code: 1, message: "Slow down." }] }],
  ])("says %s of an error without a wrapper: %j", async (message, event) => {
    const { turn } = await readChunks([event as unknown as GoogleEvent]);
    expect(turn.error).toMatchObject({ code: "provider_error", message });
  });

  it.each([
    ["Slow down. (429)", { code: 429, message: { message: "Slow down." } }],
    ["Slow down. (429)", { code: 429, error: { message: "Slow down." } }],
    ["Slow down.", [{ message: "Slow down." }]],
    ["Slow down.", "Slow down."],
    ["The provider reported an error (429)", { code: 429 }],
  ])("says %s of %j, and has that as the cause", async (message, error) => {
    const { turn } = await readChunks([{ error } as unknown as GoogleEvent]);
    expect(turn.error).toMatchObject({ code: "provider_error", message, cause: error });
  });

  it("counts tokens once, thoughts and the use of tools with them", async () => {
    const { events } = await readChunks([usage(1), usage(2)]);
    const told = events.filter((event) => event.type === "usage");
    expect(told).toMatchObject([{ usage: { inputTokens: 13, outputTokens: 6, totalTokens: 19 } }]);
    const { turn } = await readChunks([{ ...(stop as object), usageMetadata: {} }]);
    expect(turn.usage).toBeUndefined();
  });
});

describe("tools that the server runs", () => {
  it("are told when they start and when they are done, each as one call of the provider's", async () => {
    const { bytes, tools } = loadFixture("google", "provider-tool");
    const stream = google.read(iterate([bytes]), { tools });
    const told: unknown[] = [];
    for await (const event of stream)
      if (event.type === "provider-tool") told.push([event.call.name, event.call.status]);
    expect(told).toEqual([
      ["code_execution", "started"],
      ["code_execution", "completed"],
      ["GOOGLE_SEARCH_WEB", "started"],
      ["GOOGLE_SEARCH_WEB", "completed"],
    ]);
    expect(stream.turn.providerToolCalls).toMatchObject([
      {
        id: "code1",
        type: "executableCode",
        status: "completed",
        input: { language: "PYTHON", code: "print(17 * 23)" },
        output: "391\n",
      },
      {
        id: "srch1",
        type: "toolCall",
        status: "completed",
        input: { queries: ["weather oslo"] },
        output: { search_suggestions: "…" },
      },
    ]);
  });

  it("are paired without ids, and fail with their outcome", async () => {
    const { turn } = await readChunks([
      chunk([
        { executableCode: { language: "PYTHON", code: "1/0" } },
        { codeExecutionResult: { outcome: "OUTCOME_FAILED", output: "ZeroDivisionError" } },
      ]),
      chunk(
        [
          { executableCode: { language: "PYTHON", code: "1" } },
          { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
        ],
        "STOP",
      ),
    ]);
    expect(turn.providerToolCalls.map(({ id, status, output }) => ({ id, status, output }))).toEqual([
      { id: null, status: "failed", output: "ZeroDivisionError" },
      { id: null, status: "completed", output: "1" },
    ]);
  });

  it("are paired by their ids, where several run at once", async () => {
    const { turn } = await readChunks([
      chunk([
        { executableCode: { id: "a", language: "PYTHON", code: "1" } },
        { executableCode: { id: "b", language: "PYTHON", code: "2" } },
        { codeExecutionResult: { id: "a", outcome: "OUTCOME_OK", output: "1" } },
        { codeExecutionResult: { id: "b", outcome: "OUTCOME_OK", output: "2" } },
      ]),
      stop,
    ]);
    expect(turn.providerToolCalls).toMatchObject([
      { id: "a", input: { code: "1" }, output: "1" },
      { id: "b", input: { code: "2" }, output: "2" },
    ]);
  });

  it("tell what they found, once, though no part says that they ran", async () => {
    const found = (groundingMetadata: object, urlContextMetadata?: object) => ({
      candidates: [{ content: { parts: [{ text: "Oslo" }] }, groundingMetadata, urlContextMetadata }],
    });
    const grounding = {
      webSearchQueries: ["capital of norway"],
      groundingChunks: [{ web: { uri: "https://example.com", title: "Norway" } }],
      groundingSupports: [{ segment: { endIndex: 4 }, groundingChunkIndices: [0] }],
    };
    const pages = { urlMetadata: [{ retrievedUrl: "https://example.com" }] };
    const { events, turn } = await readChunks([
      found({ webSearchQueries: ["capital of norway"] }),
      found(grounding, pages),
      found({}),
      stop,
    ]);
    const calls = [
      { id: null, name: "grounding", type: "groundingMetadata", status: "completed", output: grounding },
      { id: null, name: "url_context", type: "urlContextMetadata", status: "completed", output: pages },
    ];
    expect(turn.providerToolCalls).toMatchObject(calls);
    expect(events.flatMap((event) => (event.type === "provider-tool" ? [event.call] : []))).toMatchObject(calls);
    expect(google.assistantMessage(turn)).toEqual([{ role: "model", parts: [{ text: "OsloOsloOslo" }] }]);
  });

  it("take their function calls from the client, by id or the first of the name", async () => {
    const { turn } = await readChunks([
      chunk([
        call({ name: "get_weather", args: { city: "Oslo" } }),
        call({ name: "set_volume", args: { level: 1 } }),
        call({ id: "b", name: "set_volume", args: { level: 2 } }),
      ]),
      chunk([
        { functionResponse: { id: "b", name: "set_volume", response: { ok: 2 } } },
        { functionResponse: { name: "set_volume", response: { ok: 1 } } },
      ]),
      chunk([{ functionResponse: { name: "stranger", response: {} } }], "STOP"),
    ]);
    expect(turn.calls.map(({ name }) => name)).toEqual(["get_weather"]);
    expect(turn.providerToolCalls).toMatchObject([
      { id: "b", name: "set_volume", input: { level: 2 }, output: { ok: 2 } },
      { id: null, name: "set_volume", input: { level: 1 }, output: { ok: 1 } },
    ]);
    expect(turn.error).toBeUndefined();
    expect(partsOf(turn)).toHaveLength(6);
    expect(google.toolResults(turn)[0]!.parts).toHaveLength(1);
    const { turn: alike } = await readChunks([
      chunk([1, 2].map((level) => call({ name: "set_volume", args: { level } }))),
      chunk([1, 2, 3].map((ok) => ({ functionResponse: { name: "set_volume", response: { ok } } }))),
      stop,
    ]);
    expect(alike.providerToolCalls).toMatchObject([1, 2].map((n) => ({ input: { level: n }, output: { ok: n } })));
    const { turn: streamed, events } = await readChunks([
      chunk([begin("get_weather"), pieces({ jsonPath: "$.city", stringValue: "Oslo" })]),
      chunk([{ functionResponse: { name: "get_weather", response: { ok: 1 } } }], "STOP"),
    ]);
    expect(orderOf(events)).toEqual([]);
    expect(streamed.calls).toEqual([]);
    expect(streamed.providerToolCalls).toMatchObject([{ input: { city: "Oslo" }, output: { ok: 1 } }]);
  });
});

describe("assistantMessage", () => {
  it("sends nothing back of arguments that were too large to read", async () => {
    let args: object = {};
    for (let depth = 0; depth < 100_000; depth++) args = { args };
    const { turn } = await readChunks([chunk([odd(args)]), stop]);
    expect(turn.calls[0]!.outcome).toMatchObject({ code: "too_large" });
    expect(JSON.stringify(google.assistantMessage(turn))).toContain('"args":{}');
  });

  it("joins text, and keeps every signature on its part, also on an empty one", async () => {
    const { turn } = await readChunks([
      chunk([{ text: "Th", thought: true }]),
      chunk([{ text: "ink.", thought: true }]),
      chunk([{ text: "A" }]),
      chunk([{ text: "B" }, { text: "" }]),
      chunk([{ text: "C", thoughtSignature: "S1" }]),
      chunk([{ text: "D" }, { text: "", thoughtSignature: "S2" }, { text: "E" }], "STOP"),
    ]);
    expect(turn).toMatchObject({ text: "ABCDE", reasoning: "Think." });
    expect(partsOf(turn)).toEqual([
      { text: "Think.", thought: true },
      { text: "AB" },
      { text: "C", thoughtSignature: "S1" },
      { text: "D" },
      { text: "", thoughtSignature: "S2" },
      { text: "E" },
    ]);
  });

  it("sends back no part that is empty, and the signature on one as that of an empty text", async () => {
    const { turn } = await readChunks([
      chunk([{}, { text: "Hi" }, { thought: true }]),
      chunk([{ thoughtSignature: "S1" }, {}], "STOP"),
    ]);
    expect(partsOf(turn)).toEqual([{ text: "Hi" }, { text: "", thoughtSignature: "S1" }]);
    expect(google.assistantMessage((await readChunks([chunk([{}], "STOP")])).turn)).toEqual([]);
  });

  // Where a signature goes back empty, it is refused: https://github.com/NousResearch/hermes-agent/pull/111559
  it("takes an empty signature for none, as all that is empty beside a text or a call", async () => {
    const unsigned = { thoughtSignature: "", partMetadata: null } as object;
    const { turn } = await readChunks([
      chunk([
        { text: "Let me", thought: true, ...unsigned },
        { text: "", ...unsigned },
      ]),
      chunk([{ text: "Lou", ...unsigned }]),
      chunk(
        [
          { text: "der.", ...unsigned },
          { ...call({ name: "set_volume", args: { level: 1 } }), ...unsigned },
        ],
        "STOP",
      ),
    ]);
    expect(partsOf(turn)).toEqual([
      { text: "Let me", thought: true },
      { text: "Louder." },
      { functionCall: { name: "set_volume", args: { level: 1 } } },
    ]);
    const image = { inlineData: { mimeType: "image/png", data: "AA==" } };
    const text = { text: "Hi", partMetadata: { a: 1 } } as object;
    const parts = [image, text].map((part) => ({ ...part, thoughtSignature: "" }));
    expect(partsOf((await readChunks([chunk(parts, "STOP")])).turn)).toEqual([image, text]);
  });

  it("neither says nor sends back a text that is no string, but sends back the signature beside it", async () => {
    const text = { lines: ["Hi"] } as never;
    const { turn } = await readChunks([chunk([{ text }, { text: "Hi" }, { text, thoughtSignature: "S1" }], "STOP")]);
    expect(turn.text).toBe("Hi");
    expect(partsOf(turn)).toEqual([{ text: "Hi" }, { text: "", thoughtSignature: "S1" }]);
  });

  it("sends back nothing that is no part, which the API would refuse in every request from then on", async () => {
    const many = [call({ name: "set_volume", args: { level: 1 } })] as unknown as WirePart;
    const { turn } = await readChunks([chunk([{ text: "Hi" }, many, null as unknown as WirePart], "STOP")]);
    expect(partsOf(turn)).toEqual([{ text: "Hi" }]);
  });

  it("sends back what stands beside a call, whole or in pieces, but for what is empty", async () => {
    const beside = { partMetadata: { source: "a" }, thought: true, mediaResolution: { level: "MEDIA_RESOLUTION_LOW" } };
    const { turn } = await readChunks([
      chunk([{ ...call({ name: "set_volume", args: { level: 1 } }), ...beside, text: "", fileData: null } as WirePart]),
      chunk([{ ...begin("set_volume"), ...beside } as WirePart, call({})], "STOP"),
    ]);
    expect(partsOf(turn)).toEqual([
      { functionCall: { name: "set_volume", args: { level: 1 } }, ...beside },
      { functionCall: { name: "set_volume", args: {} }, ...beside },
    ]);
  });

  it("says the text that a part has beside its call, and sends it back before it", async () => {
    const { turn } = await readChunks([
      chunk([{ text: "Louder.", ...call({ name: "set_volume", args: { level: 1 } }), thoughtSignature: "S" }], "STOP"),
    ]);
    expect(turn.text).toBe("Louder.");
    const sound = { functionCall: { name: "set_volume", args: { level: 1 } }, thoughtSignature: "S" };
    expect(partsOf(turn)).toEqual([{ text: "Louder." }, sound]);
  });

  it("keeps parallel calls in one content, in order, each with its own signature or none", async () => {
    const parts = partsOf(await turnOf("quirk-40-signature-on-first-only"));
    expect(parts).toEqual([
      { functionCall: { id: "s1", name: "get_weather", args: { city: "Oslo" } }, thoughtSignature: expect.any(String) },
      { functionCall: { id: "s2", name: "get_weather", args: { city: "Rome" } } },
      { functionCall: { id: "s3", name: "now", args: {} } },
    ]);
  });

  it("has no ids that the wire did not give, and args where it gave none", async () => {
    const parts = partsOf(await turnOf("quirk-39-no-ids"));
    expect(parts).toEqual([
      { functionCall: { name: "set_volume", args: { level: 3 } } },
      { functionCall: { name: "set_volume", args: {} }, thoughtSignature: expect.any(String) },
      { functionCall: { name: "now", args: {} } },
    ]);
  });

  it("puts streamed arguments together, also those of a call that was cut", async () => {
    expect(partsOf(await turnOf("truncated-by-length"))).toEqual([
      { functionCall: { name: "set_volume", args: { level: 4 } }, thoughtSignature: expect.any(String) },
      { functionCall: { name: "write_file", args: { path: "/etc/motd", content: "Welcome to " } } },
    ]);
  });

  it("returns the parts of tools that the server ran as they came", async () => {
    const { bytes } = loadFixture("google", "provider-tool");
    const sent = new TextDecoder()
      .decode(bytes)
      .match(/(?<=data: ).*/g)!
      .flatMap((line) => JSON.parse(line).candidates[0].content.parts as unknown[]);
    expect(partsOf(await turnOf("provider-tool"))).toEqual(sent);
  });

  it("is nothing for a turn in which nothing came", async () => {
    expect(google.assistantMessage(await turnOf("blocked-prompt"))).toEqual([]);
    expect(google.toolResults(await turnOf("blocked-prompt"))).toEqual([]);
  });

  it("leaves out calls past the limit, which have no result", async () => {
    const many = Array.from({ length: 4 }, (_, level) => call({ name: "set_volume", args: { level } }));
    const turn = await google.read(iterate([chunk(many, "STOP")]), { tools: [volume], limits: { maxCalls: 2 } }).done();
    expect(partsOf(turn)).toHaveLength(2);
    expect(google.toolResults(turn)[0]!.parts).toHaveLength(2);
  });
});

const use = (output: unknown) => google.toolResult(weather.use({ city: "Oslo" }, { id: "c1" }), output).parts[0];

describe("results", () => {
  it.each([
    ["text", "sunny", "sunny"],
    ["an object, also one with a key error", { error: null, celsius: 3 }, { error: null, celsius: 3 }],
    ["a list", [1, "a"], [1, "a"]],
    ["nothing", undefined, null],
    ["what has a JSON form", new Date(0), "1970-01-01T00:00:00.000Z"],
  ])("wraps %s as output", (_, given, output) => {
    expect(use(given)).toEqual({ functionResponse: { id: "c1", name: "get_weather", response: { output } } });
  });

  it("has the keys that the tool gave it, whatever was read before", () => {
    const output = misread();
    expect(use(output)).toEqual({ functionResponse: { id: "c1", name: "get_weather", response: { output } } });
  });

  it("has images and documents beside it, where it is marked", () => {
    const parts = [{ inlineData: { mimeType: "image/png", data: "AAAA" } }];
    const response = { id: "c1", name: "get_weather", response: { output: { sky: "grey" } }, parts };
    expect(use(resultContent({ sky: "grey" }, parts))).toEqual({ functionResponse: response });
    const image = { mediaType: "image/png", data: "AAAA" };
    expect(use(google.conversation.imageResult?.({ sky: "grey" }, [image]))).toEqual({ functionResponse: response });
    expect(use({ output: 1, parts })).toMatchObject({
      functionResponse: { response: { output: { output: 1, parts } } },
    });
  });

  // https://github.com/NousResearch/hermes-agent/issues/93014
  it("is text where a $ref in it can name no part", () => {
    const schema = { properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: {} } };
    const output = (given: unknown) => (use(given) as GoogleFunctionResponsePart).functionResponse.response["output"];
    expect(output(schema)).toBe('{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{}}}');
    const others = [{ $ref: 1 }, { $ref: {} }, { text: '{"$ref":"x"}' }, "$ref"];
    expect(output(others)).toEqual(others);
    const parts = [{ inlineData: { mimeType: "image/png", data: "AAAA", displayName: "chart" } }];
    expect(output(resultContent({ image: { $ref: "chart" } }, parts))).toEqual({ image: { $ref: "chart" } });
  });

  it("refuses what has no JSON form", () => {
    expect(() => use({ n: 1n })).toThrow(TypeError);
  });

  it("sends no id where the wire gave none", () => {
    expect(google.toolResult(volume.use({}), 1).parts[0]).toEqual({
      functionResponse: { name: "set_volume", response: { output: 1 } },
    });
  });

  it("answers every call of a turn, in call order, in one content", async () => {
    const turn = await turnOf("parallel");
    const uses = turn.calls
      .map((one) => one.outcome)
      .filter((outcome) => outcome !== undefined && "execute" in outcome);
    for (const one of uses.slice(1).toReversed()) await one.execute();
    expect(google.toolResults(turn)).toEqual([
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              id: "aa10",
              name: "get_weather",
              response: { error: "The call of get_weather was not executed." },
            },
          },
          {
            functionResponse: {
              id: "bb20",
              name: "get_weather",
              response: { output: { tool: "get_weather", input: { city: "Lima" } } },
            },
          },
          {
            functionResponse: {
              id: "cc30",
              name: "refund_order",
              response: { output: expect.objectContaining({ tool: "refund_order" }) },
            },
          },
        ],
      },
    ]);
  });

  it("tells the model why a call did not happen", async () => {
    const turn = await turnOf("unknown-tool");
    expect(google.toolResults(turn)[0]!.parts[0]).toEqual({
      functionResponse: {
        id: "unk1",
        name: "delete_order",
        response: { error: expect.stringContaining('no tool "delete_order"') },
      },
    });
  });

  it("go by the provider's name of a tool", async () => {
    const add = defineTool({ name: "1/add", inputSchema: z.object({}), effect: "read", execute: () => 1 });
    const name = google.toolName(add.name);
    expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_.:-]*$/);
    const { turn, calls } = await readChunks([chunk([call({ name, args: {} })], "STOP")], [add]);
    expect(calls).toMatchObject([{ name: "1/add", status: "complete" }]);
    expect(partsOf(turn)).toEqual([{ functionCall: { name, args: {} } }]);
    expect(google.toolResults(turn)[0]!.parts[0]).toMatchObject({ functionResponse: { name } });
  });
});

describe("a whole response", () => {
  it("is read like a stream, and so is an array of chunks", () => {
    const whole = google.parse(
      chunk([{ text: "a" }, call({ name: "get_weather", args: { city: "Oslo" } })], "STOP") as object,
      { tools: [weather] },
    );
    expect(whole.map(({ type }) => type)).toEqual([
      "start",
      "text-delta",
      "tool-input-start",
      "tool-input-delta",
      "tool-use",
      "finish",
    ]);
    const array = google.parse([chunk([{ text: "a" }]), chunk([{ text: "b" }], "STOP")] as object[]);
    expect(array.at(-1)).toMatchObject({ type: "finish", turn: { text: "ab" } });
  });
});

describe("recognizes", () => {
  it.each([
    [{ candidates: [] }, true],
    [{ promptFeedback: { blockReason: "OTHER" } }, true],
    [{ usageMetadata: { promptTokenCount: 1 } }, true],
    [[{ candidates: [] }], true],
    [[{ candidates: [] }, { type: "message_start" }], false],
    [{ error: { code: 400, message: "m", status: "INVALID_ARGUMENT" } }, true],
    [{ error: { code: "rate_limit_exceeded", message: "m", type: "requests" } }, false],
    [{ error: { message: "m", code: 400, type: "invalid" } }, false],
    [{ error: { message: "m", status: "FAILED" } }, false],
    [{ choices: [] }, false],
    [[], false],
    ["[DONE]", false],
    [null, false],
  ])("%j: %s", (event, expected) => {
    expect(google.recognizes(event)).toBe(expected);
  });
});

describe("endpoint", () => {
  it.each([
    ["/v1beta/models/gemini-3-flash-preview:streamGenerateContent", "stream"],
    ["/v1beta/models/gemini-3-flash-preview:generateContent", "whole"],
    ["/v1/models/gemini-2.5-flash:generateContent", "whole"],
    ["/v1beta/tunedModels/mine-1:streamGenerateContent", "stream"],
    [
      "/v1/projects/p/locations/us-central1/publishers/google/models/gemini-3-pro-preview:streamGenerateContent",
      "stream",
    ],
    ["/v1beta1/publishers/google/models/gemini-3-pro-preview:generateContent", "whole"],
    ["/v1beta/models/gemini-2.5-flash:countTokens", undefined],
    ["/v1beta/models", undefined],
  ])("%s: %s", (path, expected) => {
    const request = { path, query: new URLSearchParams("alt=sse"), body: {} };
    expect(google.endpoint.match({ method: "POST", ...request })).toBe(expected);
    expect(google.endpoint.match({ method: "GET", ...request })).toBeUndefined();
  });

  it("answers errors as Google does", () => {
    expect(google.endpoint.errorBody(429, "Slow down.")).toEqual({
      error: { code: 429, message: "Slow down.", status: "RESOURCE_EXHAUSTED" },
    });
  });
});

it("an error of the client is told at once, whatever it says", async () => {
  async function* failing(): AsyncGenerator<GoogleEvent> {
    yield chunk([{ text: "Hi" }]);
    throw new Error("{".repeat(200_000));
  }
  const { error } = await google.read(failing()).done();
  expect(error?.code).toBe("connection_lost");
});
