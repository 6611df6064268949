import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  defineTool,
  jsonSchema,
  tool as decorated,
  ToolBuffer,
  ToolCallError,
  toolChunk,
  ToolRegistry,
  toolsOf,
  ToolUse,
  type Schema,
  type SchemaSource,
  type Tool,
  type ToolBufferOptions,
  type ToolChunk,
} from "../../src/index.ts";

const weather = defineTool({
  name: "get_weather",
  inputSchema: z.object({ city: z.string(), days: z.number().optional(), unit: z.string().optional() }),
  effect: "read",
});
const refund = defineTool({
  name: "refund",
  inputSchema: jsonSchema({
    type: "object",
    properties: { id: { type: "string" }, amount: { type: "number" } },
    required: ["id"],
    additionalProperties: false,
  }),
});
const anything = defineTool({ name: "anything", inputSchema: jsonSchema({ type: "object" }) });
const tools: Tool[] = [weather, refund, anything];

function call(name: string | undefined, args: string, more: Partial<ToolChunk> = {}): ToolChunk {
  return { id: "a", callIndex: 0, name, argsTextDelta: args, done: true, ...more };
}

/** The outcome of one whole call. */
function one(
  chunk: ToolChunk,
  options: ToolBufferOptions = {},
  offered: readonly Tool[] | null = tools,
): ToolUse | ToolCallError {
  const buffer = new ToolBuffer(offered ?? undefined, options);
  const outcome = buffer.append(chunk) ?? buffer.end("tool-use")[0];
  expect(buffer.end("tool-use")).toEqual([]);
  return outcome!;
}

describe("a call by hand", () => {
  it("has not ended with a `{}` when the next one begins: that may hold the place of what is still to come", () => {
    const buffer = new ToolBuffer(tools);
    expect(buffer.append(call("anything", "{}", { done: undefined }))).toBeUndefined();
    const next = call("anything", '{"n":2}', { id: "b", callIndex: 1, done: undefined });
    expect(buffer.append(next)).toBeUndefined();
    buffer.append(call(undefined, '{"n":1}', { done: undefined }));
    expect(buffer.end("tool-use").map((use) => (use as ToolUse).input)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("keeps a name that comes with every piece, though twice it would be the name of another tool", () => {
    const twice = defineTool({ name: "anythinganything", inputSchema: jsonSchema({ type: "object" }) });
    const buffer = new ToolBuffer([anything, twice]);
    buffer.append(call("anything", '{"a":', { done: undefined }));
    expect(buffer.append(call("anything", "1}"))).toMatchObject({ name: "anything", input: { a: 1 } });
  });

  it("is handed out when it is complete, with all that is known of it", () => {
    const buffer = new ToolBuffer(tools, { runId: "run-1" });
    expect(buffer.append({ id: "call_1", turnIndex: 0, callIndex: 0, name: "get_weather" })).toBeUndefined();
    expect(buffer.append({ callIndex: 0, argsTextDelta: '{"city":"Os' })).toBeUndefined();
    expect(buffer.partial("run-1-0-0")).toEqual({ city: "Os" });
    expect(buffer.partial("run-1-0-1")).toBeUndefined();
    expect(buffer.current?.outcome).toBeUndefined();
    expect(buffer.append({ callIndex: 0, argsTextDelta: 'lo"}', metadata: { signature: "s" } })).toBeUndefined();
    expect(buffer.added).toBe('lo"}');
    const use = buffer.append({ callIndex: 0, done: true }) as ToolUse;
    expect(use).toBeInstanceOf(ToolUse);
    expect(use).toMatchObject({
      invocationId: "run-1-0-0",
      id: "call_1",
      name: "get_weather",
      input: { city: "Oslo" },
      argsText: '{"city":"Oslo"}',
      repairs: [],
      turnIndex: 0,
      position: 0,
      metadata: { signature: "s" },
      executed: false,
    });
    expect(use.tool).toBe(weather);
    expect(buffer.calls.map((known) => known.outcome)).toEqual([use]);
    expect(buffer.call("run-1-0-0")).toBe(buffer.current);
    expect(buffer.errors).toEqual([]);
    expect(buffer.end("tool-use")).toEqual([]);
  });

  it("of which one chunk ends two is handed out by append() and next()", () => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ id: "a", name: "anything", argsTextDelta: '{"x":1}' });
    const first = buffer.append(call("anything", '{"x":2}', { id: "b", callIndex: 1 })) as ToolUse;
    const second = buffer.next() as ToolUse;
    expect([first.input, second.input]).toEqual([{ x: 1 }, { x: 2 }]);
    expect(buffer.next()).toBeUndefined();
  });

  it("is one of many, with ids of its own, whatever the provider's ids are", () => {
    const buffer = new ToolBuffer(tools, { runId: "r" });
    for (const turnIndex of [0, 1])
      for (const callIndex of [0, 1])
        buffer.append(call("anything", `{"n":${callIndex}}`, { id: "same", turnIndex, callIndex }));
    expect(buffer.calls.map((known) => [known.id, known.invocationId, known.turnIndex, known.position])).toEqual([
      ["same", "r-0-0", 0, 0],
      ["same", "r-0-1", 0, 1],
      ["same", "r-1-2", 1, 2],
      ["same", "r-1-3", 1, 3],
    ]);
    expect(new ToolBuffer(tools).runId).toMatch(/^[0-9a-f]{16}$/);
    expect(new ToolBuffer(tools).runId).not.toBe(new ToolBuffer(tools).runId);
  });

  // The getRandomValues() of React Native: https://github.com/LinusU/react-native-get-random-values/blob/master/index.js
  it("has a random run id also where no integers of 64 bits can be random", () => {
    const random = vi.spyOn(crypto, "getRandomValues");
    for (let runs = 0; random.mock.calls.length === 0 && runs < 2000; runs++) void new ToolBuffer().runId;
    expect(random.mock.calls).toEqual([[expect.any(Uint8Array)]]);
    random.mockRestore();
  });

  it("can be made of toolChunk()s, too", () => {
    expect(one(toolChunk(0, 0, "a", "anything", '{"x":1}', true))).toMatchObject({ input: { x: 1 } });
  });

  it("takes tools from a registry", () => {
    const registry = new ToolRegistry();
    registry.register(weather);
    expect(one(call("get_weather", '{"city":"x"}'), {}, registry as never)).toBeInstanceOf(ToolUse);
  });
});

describe("the end of the turn", () => {
  it.each(["stop", "tool-use"] as const)("%s completes what is closed and not ended, in call order", (finish) => {
    const buffer = new ToolBuffer(tools);
    for (const i of [0, 1, 2]) buffer.append({ callIndex: i, id: `${i}`, name: "anything" });
    buffer.append({ callIndex: 2, argsTextDelta: '{"n":2' });
    buffer.append({ callIndex: 1, argsTextDelta: '{"n":1' });
    buffer.append({ callIndex: 2, argsTextDelta: "}" });
    expect(buffer.append({ callIndex: 1, argsTextDelta: "}" })).toBeUndefined();
    const rest = buffer.end(finish) as ToolUse[];
    expect(rest.map((use) => [use.position, use.input])).toEqual([
      [0, {}],
      [1, { n: 1 }],
      [2, { n: 2 }],
    ]);
  });

  it.each(["length", "content-filter", "refusal", "error", "unknown", undefined] as const)(
    "%s vouches for nothing that does not show its own end",
    (finish) => {
      const buffer = new ToolBuffer(tools);
      buffer.append({ callIndex: 0, name: "anything" });
      buffer.append({ callIndex: 1, name: "anything", argsTextDelta: '{"x":"}' });
      buffer.append({ callIndex: 2, name: "anything", argsPathPatch: [{ path: ["x"], value: 1 }] });
      buffer.append({ callIndex: 3, name: "anything", argsTextDelta: "some t", metadata: { custom: true } });
      buffer.append({ callIndex: 4, name: "anything", argsTextDelta: '{"a":{}}', metadata: { custom: true } });
      buffer.append({ callIndex: 5, name: "anything", argsTextDelta: "{}" });
      buffer.append({ callIndex: 6, name: "anything", argsTextDelta: "", done: true });
      expect(buffer.end(finish).map((out) => (out instanceof ToolCallError ? out.code : out.input))).toEqual(
        Array.from({ length: 7 }, () => "truncated"),
      );
    },
  );

  it("completes empty arguments that the provider ended and something followed", () => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ callIndex: 0, name: "anything", done: true });
    expect(buffer.append({ callIndex: 1, name: "anything", argsTextDelta: '{"x' })).toMatchObject({ input: {} });
    expect(buffer.end("length")).toMatchObject([{ code: "truncated" }]);
  });

  it.each(['{"x":1}', "{x: 1}"])("that is a cut completes what shows its own end: %s", (args) => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ callIndex: 0, name: "anything", argsTextDelta: args });
    expect(buffer.end("length")).toMatchObject([{ input: { x: 1 } }]);
  });

  it.each(['{"x":1}', "{x: 1}"])("of a cut turn completes no call that was not ended, be it closed: %s", (args) => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ callIndex: 0, name: "anything", argsTextDelta: args });
    expect(buffer.end()).toMatchObject([{ code: "truncated" }]);
  });

  it("is not needed by what was ended, and got its name later", () => {
    const buffer = new ToolBuffer(tools);
    expect(buffer.append({ callIndex: 0, id: "a", argsTextDelta: '{"x":1}', done: true })).toBeUndefined();
    expect(buffer.append({ callIndex: 0, name: "anything" })).toMatchObject({ input: { x: 1 } });
  });

  it("is not needed by free text that is empty", () => {
    const buffer = new ToolBuffer();
    expect(buffer.append({ name: "note", done: true, metadata: { custom: true } })).toMatchObject({ input: "" });
  });

  it("comes once: append() after it is a mistake", () => {
    const buffer = new ToolBuffer(tools);
    buffer.end("stop");
    expect(() => buffer.append({})).toThrow(TypeError);
    expect(buffer.end("stop")).toEqual([]);
  });
});

describe("what is wrong with a call", () => {
  it.each<[title: string, chunk: ToolChunk, code: string, says: RegExp]>([
    [
      "an unknown tool",
      call("get_wether", "{}"),
      "unknown_tool",
      /"get_wether"\. The tools are: get_weather, refund, anything\./,
    ],
    ["no name", call(undefined, "{}"), "unknown_tool", /without the name/],
    [
      "input that does not fit",
      call("get_weather", '{"city":5}'),
      "invalid_input",
      /^The input of get_weather does not fit its schema: city: .*\. Correct the arguments/,
    ],
    ["too many properties", call("refund", '{"id":"x","why":1}'), "invalid_input", /why/],
    ["an array", call("anything", "[1]"), "invalid_input", /the arguments are a JSON object, got an array/],
    ["a number", call("anything", "5"), "invalid_input", /got a number/],
    [
      "no JSON",
      call("anything", "hello"),
      "invalid_json",
      /^The arguments of anything are not valid JSON\. .*[^.]\. Send the call again\.$/,
    ],
    [
      "broken JSON that may not be mended",
      call("refund", "{id: 'x'}"),
      "invalid_json",
      /^The arguments of refund are not valid JSON: .*[^.]\. Send the call again\.$/,
    ],
    [
      "a number that cannot be kept",
      call("anything", '{"id":12345678901234567890}'),
      "invalid_input",
      /^The arguments of anything hold the number 12345678901234567890, .*\. Send the call again\.$/,
    ],
    [
      "an end inside",
      call("anything", '{"x":"y'),
      "truncated",
      /^The call of anything was not executed: its arguments were cut before the model closed them\. Send it again, whole/,
    ],
    [
      "a quote that may be the end",
      call("anything", '{"x":"a 65" TV"}'),
      "truncated",
      /: its arguments were cut before the model closed them, or a quote in them is not escaped\. Send it again, whole/,
    ],
    [
      "too long",
      call("anything", `{"x":"${"y".repeat(200)}"}`),
      "too_large",
      /^The arguments of anything are longer than 150 characters/,
    ],
    [
      "too deep",
      call("anything", `{"x":${"[".repeat(50)}${"]".repeat(50)}}`),
      "too_large",
      /^The arguments of anything nest deeper than 20 levels/,
    ],
    [
      "a path that fits nothing",
      { ...call("anything", ""), argsPathPatch: [{ path: ["x", 99], value: 1 }] },
      "rejected",
      /^The arguments of anything do not fit together: the index 99 is too far past the end of an array of 0\. Send/,
    ],
    [
      "null at the root",
      { ...call("anything", ""), argsPathPatch: [{ path: [], value: null }] },
      "invalid_input",
      /the arguments are a JSON object, got null/,
    ],
    ["text and object", { ...call("anything", '{"x":1}'), done: false, argsKvPatch: { x: 2 } }, "", /^$/],
    [
      "refused by the provider",
      { ...call("anything", "{}"), error: "bad call", errorType: "rejected" },
      "rejected",
      /^The provider refused the call of anything: bad call/,
    ],
    ["refused without a reason", { ...call("anything", "{}"), errorType: "weird" }, "rejected", /: weird/],
    [
      "cut, says the provider",
      { ...call("anything", '{"x":1}'), error: "no tokens left", errorType: "truncated" },
      "truncated",
      /its arguments were cut: no tokens left\. Send/,
    ],
  ])("%s", (_, chunk, code, says) => {
    const outcome = one(chunk, { repair: "off", limits: { maxArgumentsLength: 150, maxDepth: 20 } });
    if (code === "")
      return expect(outcome).toMatchObject({ input: { x: 2 }, repairs: [{ kind: "object", after: { x: 2 } }] });
    expect(outcome).toBeInstanceOf(ToolCallError);
    expect(outcome).toMatchObject({ code, id: "a" });
    expect((outcome as ToolCallError).message).toMatch(says);
    expect((outcome as ToolCallError).message).not.toMatch(/\.\.|undefined|\n/);
  });

  it("is what was wrong first, and shows the input as far as it came", () => {
    const error = one(call("nothing", '{"x":{"y":"z')) as ToolCallError;
    expect(error).toMatchObject({
      code: "truncated",
      call: { name: "nothing", input: { x: { y: "z" } }, argsText: '{"x":{"y":"z' },
    });
  });

  it.each<ToolChunk>([{ argsTextDelta: "x" }, { error: "refused" }])(
    "is told once, whatever comes after it: %j",
    (late) => {
      const buffer = new ToolBuffer(tools);
      const error = buffer.append(call("get_weather", '{"city":5}'));
      expect(error).toMatchObject({ code: "invalid_input" });
      expect(buffer.append({ callIndex: 0, ...late })).toBeUndefined();
      expect(buffer.calls.map((known) => known.outcome)).toEqual([error]);
    },
  );

  it("is told with the piece that makes the arguments too long, which is not the last", () => {
    const buffer = new ToolBuffer(tools, { limits: { maxArgumentsLength: 10 } });
    expect(buffer.append({ id: "a", name: "anything", argsTextDelta: '{"x":"' })).toBeUndefined();
    expect(buffer.append({ id: "a", argsTextDelta: "yyyyy" })).toMatchObject({ code: "too_large", id: "a" });
    expect(buffer.end("tool-use")).toEqual([]);
  });

  it("is among the errors of the buffer, in call order, and no other call is", () => {
    const buffer = new ToolBuffer(tools);
    const [bad, , worse] = [
      buffer.append(call("get_weather", "{}", { id: "a", callIndex: 0 })),
      buffer.append(call("get_weather", '{"city":"Oslo"}', { id: "b", callIndex: 1 })),
      buffer.append(call("nothing", "{}", { id: "c", callIndex: 2 })),
    ];
    expect(bad).toBeInstanceOf(ToolCallError);
    expect(buffer.errors).toEqual([bad, worse]);
  });

  it("lists few names, and a long name in short", () => {
    const many = Array.from({ length: 30 }, (_, i) => defineTool({ name: `t${i}`, inputSchema: jsonSchema({}) }));
    const error = one(call("x".repeat(10_000_000), "{}"), {}, many) as ToolCallError;
    expect(error.message.length).toBeLessThan(500);
    expect(error.message).toContain("t19 and 10 more");
    expect((one(call("x", "{}"), {}, []) as ToolCallError).message).toContain("no tools were offered");
  });

  it("more arguments after the call was complete take the call back", () => {
    const late: ToolChunk[] = [
      { callIndex: 0, argsTextDelta: ',"y":2' },
      { callIndex: 0, argsKvPatch: { y: 2 } },
      { callIndex: 0, argsPathPatch: [{ path: ["y"], value: 2 }] },
      { callIndex: 0, argsPathPatch: [{ path: ["y"], append: "2", done: true }] },
    ];
    for (const chunk of late) {
      const buffer = new ToolBuffer(tools);
      expect(buffer.append(call("anything", '{"x":1}'))).toBeInstanceOf(ToolUse);
      const error = buffer.append(chunk);
      expect(error).toMatchObject({
        code: "invalid_json",
        message: "More arguments of anything came after the call was complete. Send the call again.",
      });
      expect(buffer.calls.map((known) => known.outcome)).toEqual([error]);
      expect(buffer.end("tool-use")).toEqual([]);
    }
  });

  it.each<ToolChunk>([{ argsKvPatch: { y: 2 } }, { argsPathPatch: [{ path: ["y"], value: 2 }] }])(
    "what is added to an object is added, though the object came as text, too: %j",
    (more) => {
      const buffer = new ToolBuffer(tools);
      buffer.append({ ...call("anything", '{"x":1}'), done: false });
      buffer.append({ callIndex: 0, argsKvPatch: { x: 1 } });
      buffer.append({ callIndex: 0, ...more });
      expect(buffer.calls[0]!.input).toEqual({ x: 1, y: 2 });
      expect(buffer.append({ callIndex: 0, done: true })).toMatchObject({ input: { x: 1, y: 2 } });
    },
  );

  it.each<ToolChunk>([
    { callIndex: 0, argsTextDelta: '{"x":1}' },
    { callIndex: 0, argsTextDelta: " \n" },
    { callIndex: 0, argsTextDelta: "" },
    { callIndex: 0, argsTextDelta: JSON.stringify('{"x":1}') },
    { callIndex: 0, argsKvPatch: { x: 1 } },
    { callIndex: 0, argsPathPatch: [{ path: ["x"], append: "", done: true }] },
    { callIndex: 0, argsPathPatch: [{ path: ["x"], done: true }] },
    { callIndex: 0, done: true },
    { callIndex: 0, id: "a", name: "anything" },
    { callIndex: 0, id: "a", name: "anything", argsTextDelta: '{"x":1}', done: true },
  ])("a copy or an end that comes late is harmless: %j", (chunk) => {
    const buffer = new ToolBuffer(tools);
    const use = buffer.append(call("anything", '{"x":1}'));
    expect(buffer.append(chunk)).toBeUndefined();
    expect(buffer.calls.map((known) => known.outcome)).toEqual([use]);
  });

  it.each([{ error: "on second thought" }, { errorType: "rejected" }])(
    "a provider that refuses it after that is believed: %j",
    (refusal) => {
      const buffer = new ToolBuffer(tools);
      buffer.append(call("anything", "{}"));
      expect(buffer.append({ callIndex: 0, ...refusal })).toMatchObject({ code: "rejected" });
    },
  );

  it.each<ToolChunk>([
    { callIndex: 0, argsTextDelta: '{"y":2}' },
    { callIndex: 0, error: "on second thought" },
  ])("what has been executed is not taken back: %j", (chunk) => {
    const buffer = new ToolBuffer(tools);
    const use = buffer.append(call("anything", "{}")) as ToolUse;
    use.provideResult(1);
    expect(buffer.append(chunk)).toBeUndefined();
    expect(buffer.calls.map((known) => known.outcome)).toEqual([use]);
  });

  it("metadata that comes late is seen on the call, and its names are only names", () => {
    const buffer = new ToolBuffer(tools);
    const use = buffer.append(call("anything", "{}")) as ToolUse;
    buffer.append({ callIndex: 0, metadata: JSON.parse('{"signature":"s","__proto__":{"polluted":1}}') });
    expect(use.metadata["signature"]).toBe("s");
    expect(Object.keys(use.metadata)).toEqual(["signature", "__proto__"]);
    expect(use.metadata["polluted"]).toBeUndefined();
  });

  it("a check that throws is the end of its call only", () => {
    const schema = {
      jsonSchema: {},
      validate: () => {
        throw new Error("boom");
      },
    } as unknown as Schema;
    const broken = { ...anything, name: "broken", inputSchema: schema };
    expect(one(call("broken", "{}"), {}, [broken])).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("boom"),
    });
  });
});

describe("names that look like a tool's", () => {
  it.each([
    "Get_Weather",
    "get_wеather",
    "get_weather\u200b",
    "get-weather",
    "get_weathe",
    "get_weatherx",
    "getWeather",
    "constructor",
    "__proto__",
  ])("%j is none", (name) => {
    expect(one(call(name, '{"city":"x"}'))).toMatchObject({ code: "unknown_tool" });
  });

  // https://github.com/ml-explore/mlx-lm/pull/1756, https://github.com/openclaw/openclaw/issues/27045
  it.each([" get_weather", "get_weather\n"])("%j is the tool's, since no name has white space", (name) => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ callIndex: 0, id: "a", name, argsTextDelta: '{"city"' });
    buffer.append({ callIndex: 0, name, argsTextDelta: ':"x"}' });
    buffer.end("stop");
    expect(buffer.calls).toMatchObject([{ name: "get_weather", outcome: { input: { city: "x" } } }]);
  });

  it("white space alone is no name, wherever in a call it comes", () => {
    const pieces = ["", '{"city"', ':"x"}', ""].map((argsTextDelta) => ({ callIndex: 0, name: " ", argsTextDelta }));
    for (const at of [0, 2]) {
      const buffer = new ToolBuffer(tools);
      const chunks = pieces.with(at, { ...pieces[at]!, name: "get_weather" });
      for (const chunk of chunks) buffer.append(chunk);
      buffer.end("stop");
      expect(buffer.calls).toMatchObject([{ name: "get_weather", outcome: { input: { city: "x" } } }]);
    }
  });

  const namespaced = /^(?:functions|default_api)[.:](.+?)(?::\d+)?$/;

  // https://github.com/tontinton/maki/pull/518, https://github.com/tya5/reyn/pull/1992
  it.each([
    "functions.get_weather",
    "default_api.get_weather",
    "default_api:get_weather",
    "functions.get_weather:12",
    " functions.get_weather",
  ])("%j is the tool's, since models are shown their tools in such a namespace", (name) => {
    const use = one(call(name, '{"city":"Oslo"}'), { namespaced }) as ToolUse;
    expect([use.name, use.tool, use.input]).toEqual(["get_weather", weather, { city: "Oslo" }]);
    expect(use.repairs).toEqual([{ kind: "name", before: name.trim(), after: "get_weather" }]);
  });

  it.each([
    "tools.get_weather",
    "functions.",
    "functions.functions.get_weather",
    "functions.weather",
    "functions/get_weather",
    "get_weather:0",
    "functions.constructor",
  ])("%j is no tool's", (name) => {
    expect(one(call(name, "{}"), { namespaced })).toMatchObject({ code: "unknown_tool", call: { name } });
  });

  it("a name with a namespace is no tool's, where none is known", () => {
    expect(one(call("functions.get_weather", "{}"))).toMatchObject({ code: "unknown_tool" });
  });

  it("a name with such a namespace is the tool's that has all of it", () => {
    const own = ["functions.f", "f"].map((name) => defineTool({ name, inputSchema: jsonSchema({ type: "object" }) }));
    const use = one(call("functions.f", "{}"), { namespaced }, own) as ToolUse;
    expect([use.tool, use.repairs]).toEqual([own[0], []]);
  });

  it("a name with such a namespace that is said on every piece, of calls side by side, is told once", () => {
    const buffer = new ToolBuffer(tools, { namespaced });
    for (const [callIndex, piece] of [
      [0, '{"ci'],
      [1, '{"id":'],
      [0, 'ty":"Oslo"}'],
      [1, '"7"}'],
    ] as const) {
      const name = callIndex === 0 ? "functions.get_weather" : "functions.refund";
      buffer.append({ callIndex, id: `c${callIndex}`, name, argsTextDelta: piece });
    }
    expect((buffer.end("tool-use") as ToolUse[]).map((use) => [use.name, use.input, use.repairs.length])).toEqual([
      ["get_weather", { city: "Oslo" }, 1],
      ["refund", { id: "7" }, 1],
    ]);
  });

  it("a provider's name stands for the tool's, and after it the tool's own, as of `$web_search` at Moonshot", () => {
    const options = { toolName: (name: string) => `mcp__${name}` };
    expect(one(call("mcp__anything", "{}"), options)).toMatchObject({ name: "anything" });
    expect(one(call("anything", "{}"), options)).toMatchObject({ name: "anything" });
    // The model was told of no other names.
    expect(one(call("any", "{}"), options)).toMatchObject({
      code: "unknown_tool",
      message: 'There is no tool "any". The tools are: mcp__get_weather, mcp__refund, mcp__anything.',
    });
    const [a, b] = ["a", "b"].map((name) => defineTool({ name, inputSchema: {} })) as [Tool, Tool];
    const shifted = { toolName: (name: string) => (name === "a" ? "b" : "c") };
    expect(one(call("b", "{}"), shifted, [a, b])).toMatchObject({ tool: a });
    expect(one(call("c", "{}"), shifted, [a, b])).toMatchObject({ tool: b });
  });

  it("a qualified name stands for a tool, too, where none has it for its own", () => {
    class Weather {
      @decorated({ description: "Reads.", inputSchema: {} })
      get() {}
    }
    const known = toolsOf(new Weather());
    expect(one(call("Weather.get", "{}"), {}, known)).toMatchObject({ name: "get" });
    const own = defineTool({ name: "Weather.get", inputSchema: {} });
    expect(one(call("Weather.get", "{}"), {}, [...known, own])).toMatchObject({ tool: own });
  });
});

describe("repairs", () => {
  const kinds = (outcome: ToolUse | ToolCallError) =>
    outcome instanceof ToolUse
      ? outcome.repairs.map(({ kind, path, before, after }) => [kind, path, before, after])
      : outcome.code;

  it.each<[title: string, name: string, args: string, policy: ToolBufferOptions["repair"], outcome: unknown]>([
    ["nothing to mend", "get_weather", '{"city":"x"}', undefined, []],
    [
      "a read tool's types are mended by default",
      "get_weather",
      '{"city":"x","days":"5"}',
      undefined,
      [["coerce", ["days"], "5", 5]],
    ],
    ["not where only syntax may be mended", "get_weather", '{"city":"x","days":"5"}', "syntax", "invalid_input"],
    ["a write tool's are not", "refund", '{"id":"x","amount":"5"}', undefined, "invalid_input"],
    ["unless asked for", "refund", '{"id":"x","amount":"5"}', "coerce", [["coerce", ["amount"], "5", 5]]],
    [
      "a write tool's syntax is mended by default",
      "refund",
      "{id:'x'}",
      undefined,
      [["syntax", undefined, "{id:'x'}", '{"id":"x"}']],
    ],
    ["unless told not to", "refund", "{id:'x'}", "off", "invalid_json"],
    [
      "null for an optional is absent, under any policy",
      "refund",
      '{"id":"x","amount":null}',
      "off",
      [["null_dropped", ["amount"], null, undefined]],
    ],
    ["null for what is required is wrong", "refund", '{"id":null}', "coerce", "invalid_input"],
    [
      "both at once",
      "get_weather",
      '{"city":"x","days":"5","unit":null}',
      undefined,
      [
        ["null_dropped", ["unit"], null, undefined],
        ["coerce", ["days"], "5", 5],
      ],
    ],
    [
      "what coercion does not make right is not coerced",
      "get_weather",
      '{"city":[],"days":"5"}',
      undefined,
      "invalid_input",
    ],
    [
      "a number that would lose digits is not coerced",
      "refund",
      '{"id":"x","amount":"12345678901234567890"}',
      "coerce",
      "invalid_input",
    ],
  ])("%s", (_, name, args, repair, outcome) => {
    expect(kinds(one(call(name, args), { repair }))).toEqual(outcome);
  });

  it("a tool's own policy counts, and the reader's takes its place", () => {
    const strict = defineTool({
      name: "strict",
      inputSchema: jsonSchema({ type: "object", properties: { n: { type: "number" } } }),
      effect: "read",
      repair: "off",
    });
    expect(kinds(one(call("strict", '{"n":"5"}'), {}, [strict]))).toBe("invalid_input");
    expect(kinds(one(call("strict", '{"n":"5"}'), { repair: "coerce" }, [strict]))).toHaveLength(1);
  });

  it("the model is told why no alternative fits", () => {
    const tool = defineTool({
      name: "t",
      inputSchema: z.object({ at: z.union([z.object({ city: z.string() }), z.string()]) }),
    });
    expect((one(call("t", '{"at":{"city":1}}'), {}, [tool]) as ToolCallError).message).toContain(
      "at: Invalid input; at.city: must be a string, got a number.",
    );
  });

  it("the model is not told that a null for an optional is wrong, when something else is", () => {
    const tool = defineTool({
      name: "t",
      inputSchema: z.object({
        n: z.number(),
        tag: z.string().optional(),
        at: z.object({ unit: z.string() }).optional(),
      }),
    });
    const error = one(call("t", '{"n":"x","tag":null,"at":null}'), {}, [tool]) as ToolCallError;
    expect(error.issues).toEqual([{ path: ["n"], message: "Invalid input: expected number, received string" }]);
  });

  it("null for an optional is absent, also where the schema would make a value of it", () => {
    const { number, string, boolean } = z.coerce;
    const options = z.object({ limit: number().optional(), tag: string().optional() });
    const tool = defineTool({
      name: "t",
      inputSchema: z.object({ options, force: boolean().optional(), after: number().nullable().optional() }),
    });
    const use = one(call("t", '{"options":{"limit":null,"tag":"x"},"force":null,"after":null}'), {}, [tool]) as ToolUse;
    expect(use.input).toEqual({ options: { tag: "x" }, after: null });
    expect(kinds(use)).toEqual([
      ["null_dropped", ["options", "limit"], null, undefined],
      ["null_dropped", ["force"], null, undefined],
    ]);
  });

  it("null for an optional stays where the schema takes it, and does not take the rest without it", () => {
    const limit = z.coerce.number().optional();
    const inputSchema = z.object({ limit, all: limit }).refine((input) => "limit" in input || "all" in input);
    const tool = defineTool({ name: "t", inputSchema });
    expect(one(call("t", '{"limit":null}'), {}, [tool])).toMatchObject({ input: { limit: 0 }, repairs: [] });
  });

  it.each<[title: string, inputSchema: SchemaSource, args: string, input: object]>([
    [
      "leave out what it does not know",
      z.object({
        x: z.union([
          z.object({ text: z.string(), style: z.string().optional() }),
          z.object({ url: z.string().optional() }),
        ]),
      }),
      '{"x":{"text":"Hello","style":null}}',
      { x: { text: "Hello" } },
    ],
    [
      "refuse the call",
      z.object({
        x: z.union([z.object({ to: z.email() }), z.object({ to: z.string(), name: z.string().optional() })]),
      }),
      '{"x":{"to":"Ann","name":null}}',
      { x: { to: "Ann" } },
    ],
    [
      "let the null pass",
      jsonSchema({
        properties: {
          x: {
            anyOf: [
              { properties: { id: { type: "string" }, note: { type: "string" } }, required: ["id"] },
              { properties: { id: { type: "string" } }, required: ["id"] },
            ],
          },
        },
      }),
      '{"x":{"id":"1","note":null}}',
      { x: { id: "1" } },
    ],
  ])("null for an optional is absent, also where another alternative would %s", (_, inputSchema, args, input) => {
    const tool = defineTool({ name: "t", inputSchema });
    expect((one(call("t", args), {}, [tool]) as ToolUse).input).toEqual(input);
  });

  it("defaults and transforms of the schema are in the input, and not in the arguments", () => {
    const tool = defineTool({
      name: "t",
      inputSchema: z.object({ n: z.number().default(3), s: z.string().transform((text) => text.length) }),
    });
    expect(one(call("t", '{"s":"four"}'), {}, [tool])).toMatchObject({
      input: { n: 3, s: 4 },
      argsText: '{"s":"four"}',
    });
  });
});

describe("without tools", () => {
  it("every name is a tool's, external, and every input fits", async () => {
    const use = one(call("whatever you like", '{"x":1}'), {}, null) as ToolUse;
    expect(use).toMatchObject({ name: "whatever you like", input: { x: 1 } });
    await expect(use.execute()).rejects.toMatchObject({ code: "external_tool" });
  });

  it.each(["5", "true", '"x"', "[1]"])("arguments that are no object fit nothing: %s", (args) => {
    expect(one(call("whatever you like", args), {}, null)).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("the arguments are a JSON object"),
    });
  });
});

describe("a call that is taken back", () => {
  const withdrawn = { callIndex: 0, error: "another model goes on", errorType: "withdrawn" };

  it.each([
    ["open", call("anything", '{"a":', { done: false })],
    ["complete", call("anything", "{}")],
  ])("while it is %s becomes an error, and is no call of the turn", (_, chunk) => {
    const buffer = new ToolBuffer(tools);
    buffer.append(chunk);
    const error = buffer.append(withdrawn);
    expect(error).toMatchObject({ code: "rejected", message: expect.stringContaining("took back") });
    expect(buffer.append({ callIndex: 0, argsTextDelta: "1}", done: true })).toBeUndefined();
    expect([buffer.calls, buffer.errors, buffer.end("tool-use")]).toEqual([[], [], []]);
  });

  it("when it has run keeps its result, and is no call of the turn", () => {
    const buffer = new ToolBuffer(tools);
    const use = buffer.append(call("anything", "{}")) as ToolUse;
    use.provideResult("done");
    expect(buffer.append(withdrawn)).toBeUndefined();
    expect(use.state).toBe("done");
    expect(buffer.calls).toEqual([]);
  });
});

describe("a call with the id of another, where ids are unique", () => {
  const again = (name: string, args: string) => {
    const buffer = new ToolBuffer(tools, { uniqueIds: true });
    buffer.append(call("anything", '{"n":1}', { id: "a", callIndex: 0 }));
    buffer.append(call("anything", '{"n":2}', { id: "b", callIndex: 1 }));
    buffer.append(call("refund", '{"id":"x"}', { id: "c", callIndex: 2 }));
    const id = name === "refund" ? "b" : "c";
    return buffer.append(call(name, args, { id, callIndex: 3 }));
  };

  it("runs once where it is whole before the provider has ended the first", () => {
    const buffer = new ToolBuffer(tools, { uniqueIds: true });
    const sent = [
      { id: "a", callIndex: 0, name: "anything" },
      { id: "b", callIndex: 1, name: "refund" },
      { callIndex: 0, argsTextDelta: '{"n":' },
      { callIndex: 0, argsTextDelta: "1}" },
      { callIndex: 1, argsTextDelta: '{"id":' },
    ];
    const outcomes = [...sent, ...sent, { callIndex: 0, done: true }].map((chunk) => buffer.append(chunk));
    const uses = [...outcomes, ...buffer.end("tool-use")].filter((outcome) => outcome instanceof ToolUse);
    expect(uses).toMatchObject([{ input: { n: 1 } }]);
    expect(buffer.calls.map(({ name }) => name)).toEqual(["refund", "anything"]);
  });

  it("runs once where the end of the first tells its id", () => {
    const buffer = new ToolBuffer(tools, { uniqueIds: true });
    buffer.append({ callIndex: 0, id: "item", name: "anything" });
    const first = buffer.append({ callIndex: 0, argsTextDelta: '{"n":1}', done: true, metadata: { id: "a" } });
    expect(first).toMatchObject({ id: "a", input: { n: 1 } });
    expect(buffer.append(call("anything", '{"n":1}', { id: "a", callIndex: 1 }))).toBeUndefined();
    expect(buffer.end("tool-use")).toEqual([]);
    expect(buffer.calls).toHaveLength(1);
  });

  it("runs once though another one with its id came between", () => {
    const buffer = new ToolBuffer(tools, { uniqueIds: true });
    const sent = ['{"n":1}', '{"n":2}', '{"n":2}', '{"n":1}'];
    const outcomes = sent.map((args, callIndex) => buffer.append(call("anything", args, { callIndex })));
    expect(outcomes.map((outcome) => outcome instanceof ToolUse)).toEqual([true, true, false, false]);
    expect(buffer.calls.map(({ position }) => position)).toEqual([0, 1]);
  });

  it.each([
    ["anything", '{"n":1}'],
    ["anything", '{"id":"x"}'],
    ["refund", '{"id":"x"}'],
  ])("is another one, unless name and arguments are that one's, too: %s %s", (name, args) => {
    expect(again(name, args)).toMatchObject({ name, input: JSON.parse(args) });
  });
});

describe("retract()", () => {
  it("takes no other call with it that waits to be handed out, when it is removed", () => {
    const buffer = new ToolBuffer(tools, { runId: "run" });
    expect(buffer.append(call("anything", '{"n":1}', { done: undefined }))).toBeUndefined();
    expect(buffer.append(call("anything", '{"n":2}', { id: "b", callIndex: 1 }))).toMatchObject({ id: "a" });
    expect(buffer.retract("run-0-0")).toMatchObject({ id: "a" });
    expect(buffer.next()).toMatchObject({ id: "b" });
  });

  it("takes a call out, and what still comes for it is nobody's", () => {
    const buffer = new ToolBuffer(tools, { runId: "r" });
    buffer.append({ callIndex: 0, id: "a", name: "anything", argsTextDelta: "{" });
    buffer.append({ callIndex: 1, id: "b", name: "anything", argsTextDelta: "{}" });
    expect(buffer.retract("r-0-0")?.id).toBe("a");
    expect(buffer.retract("r-0-0")).toBeUndefined();
    expect(buffer.retract("nonsense")).toBeUndefined();
    expect(buffer.append({ callIndex: 0, argsTextDelta: "}", done: true })).toBeUndefined();
    expect(buffer.next()).toBeUndefined();
    expect(buffer.end("tool-use")).toMatchObject([{ id: "b" }]);
    expect(buffer.calls.map((known) => known.id)).toEqual(["b"]);
    expect(buffer.calls[0]!.position).toBe(1);
  });

  it("takes out the call that is going on, and one that has ended and was not handed out", () => {
    const buffer = new ToolBuffer(tools, { runId: "r" });
    buffer.append({ callIndex: 0, name: "anything", argsTextDelta: '{"n":' });
    buffer.retract("r-0-0");
    expect(buffer.append({ callIndex: 0, argsTextDelta: "1", done: true })).toBeUndefined();
    buffer.append({ callIndex: 1, name: "anything", argsTextDelta: '{"n":2}' });
    expect(buffer.append(call("anything", '{"n":3}', { callIndex: 2 }))).toMatchObject({ input: { n: 2 } });
    buffer.retract("r-0-2");
    expect([buffer.next(), buffer.end("tool-use")]).toEqual([undefined, []]);
  });
});

describe("a call that the provider runs itself", () => {
  const metadata = { providerExecuted: true };

  it.each<[string, readonly ToolChunk[]]>([
    ["ended by its own chunk", [call("anything", "{}", { metadata })]],
    [
      "ended by the next call",
      [call("anything", "{}", { metadata, done: undefined }), call("none", "{}", { id: "b" })],
    ],
    ["that fails", [call("anything", "{]", { metadata })]],
    ["ended by the turn", [call("anything", "{}", { metadata, done: undefined })]],
  ])("is not handed out: one %s", (_, chunks) => {
    const buffer = new ToolBuffer(tools);
    const given = [...chunks.map((chunk) => buffer.append(chunk)), buffer.next(), ...buffer.end("tool-use")];
    const { invocationId, outcome } = buffer.calls[0]!;
    expect(outcome).toBeDefined();
    expect(given.filter((each) => each?.invocationId === invocationId)).toEqual([]);
  });
});

describe("misuse", () => {
  it.each<[string, () => unknown]>([
    ["a limit that does not exist", () => new ToolBuffer(tools, { limits: { maxSize: 3 } as never })],
    ["a limit that is no number", () => new ToolBuffer(tools, { limits: { maxCalls: "3" as never } })],
    ["limits that are none", () => new ToolBuffer(tools, { limits: 3 as never })],
    ["an option that is spelt like one", () => new ToolBuffer(tools, { limit: { maxCalls: 3 } } as object)],
    ["a limit of zero", () => new ToolBuffer(tools, { limits: { maxDepth: 0 } })],
    ["NaN", () => new ToolBuffer(tools, { limits: { maxDepth: Number.NaN } })],
    ["an unknown repair policy", () => new ToolBuffer(tools, { repair: "all" as never })],
    ["a run id that fits into no id", () => new ToolBuffer(tools, { runId: "a b" })],
    ["an empty run id", () => new ToolBuffer(tools, { runId: "" })],
    ["tools that are none", () => new ToolBuffer([{}] as never)],
    ["tools that are no list", () => new ToolBuffer({} as never)],
  ])("%s is a TypeError at once", (_, make) => {
    expect(make).toThrow(TypeError);
  });

  it.each([100_000, Infinity])("a depth of %d does not overflow the stack: the call fails alone", (maxDepth) => {
    const buffer = new ToolBuffer(tools, { limits: { maxDepth } });
    const deep = `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    const outcome = buffer.append(call("anything", deep, { callIndex: 0, id: "a", done: true }));
    expect(outcome).toMatchObject({ code: "too_large", message: expect.stringContaining("deeper than 1000 levels") });
    expect(buffer.append(call("anything", "{}", { callIndex: 1, id: "b", done: true }))).toMatchObject({ input: {} });
  });

  it("is not a limit that is undefined: the default holds", () => {
    const buffer = new ToolBuffer(tools, { limits: { maxCalls: undefined, maxDepth: 5 } as never });
    expect(buffer.limits).toEqual({ ...new ToolBuffer(tools).limits, maxDepth: 5 });
  });

  it("two tools of one name, or of one name at the provider, are an error that names both", () => {
    expect(() => new ToolBuffer([anything, anything])).toThrow(/Two tools are called anything/);
    expect(() => new ToolBuffer([anything, refund], { toolName: () => "same" })).toThrow(/anything.*refund/);
  });
});

describe("arguments that came as a value", () => {
  it.each([10, 5000])("have the text that they came with, whatever is done to the input (%i characters)", (length) => {
    const args = { list: ["x".repeat(length)], deep: { n: 1, "": null } };
    const buffer = new ToolBuffer(tools);
    const use = buffer.append({ name: "anything", argsKvPatch: args, done: true }) as ToolUse;
    const text = JSON.stringify(args);
    (use.input as typeof args).list.push("more");
    expect({ ...use }.argsText).toBe(text);
    expect(use.argsText).toBe(text);
    expect(buffer.calls[0]!.argsText).toBe(text);
  });

  it("have the text of what is kept, where they hold what no JSON can", () => {
    const buffer = new ToolBuffer(tools);
    const args = { big: 1n, text: "x".repeat(5000) };
    const use = buffer.append({ name: "anything", argsKvPatch: args, done: true }) as ToolUse;
    expect(use.argsText).toBe(JSON.stringify({ ...args, big: null }));
  });
});
