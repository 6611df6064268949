import { describe, expect, it } from "vitest";
import { defineTool, ToolBuffer, type FinishReason, type Limits } from "../../src/index.ts";
import { historyArguments, historyInput, repliesOf } from "../../src/stream/history.ts";
import { TurnReader } from "../../src/stream/turn.ts";

const accept = { name: "accept", description: "Takes any object.", effect: "read", execute: () => null } as const;
const tools = [
  defineTool({ ...accept, inputSchema: { type: "object" } }),
  defineTool({ ...accept, name: "refuse", inputSchema: { type: "object", maxProperties: 0 } }),
  defineTool({ ...accept, name: "write", effect: "write", inputSchema: { type: "object" } }),
];

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

interface Case {
  readonly name?: string;
  readonly args: string;
  readonly done?: boolean;
  /** `undefined` for a turn that was cut. */
  readonly finish?: FinishReason | undefined;
  readonly limits?: Partial<Limits>;
}

function callOf({ name = "accept", args, done = true, finish, limits }: Case) {
  const buffer = new ToolBuffer(tools, { limits });
  buffer.append({ callIndex: 0, id: "1", name, argsTextDelta: args });
  if (done) buffer.append({ callIndex: 0, done: true });
  buffer.end(finish);
  return buffer.calls[0]!;
}

describe("the arguments in the history", () => {
  // Deeper than the engine's own serializer, which recurses, can go, though the engine's parser has no trouble with it.
  const abyss = nested(20_000);

  it.each<[what: string, code: string, call: Case]>([
    ["of a call that nests too deep", "too_large", { args: abyss, finish: "tool-use" }],
    ["of a tool that nobody knows", "unknown_tool", { name: "nope", args: abyss, finish: "tool-use" }],
    ["of a call that was cut", "truncated", { args: abyss, done: false }],
  ])("can be serialized: those %s", (_, code, given) => {
    const call = callOf(given);
    expect(call.outcome).toMatchObject({ code });
    expect(JSON.parse(JSON.stringify(historyInput(call)))).toEqual({ INVALID_JSON: abyss });
  });

  it("can be serialized while the call is open", () => {
    const buffer = new ToolBuffer(tools);
    buffer.append({ callIndex: 0, id: "1", name: "accept", argsTextDelta: abyss });
    const call = buffer.calls[0]!;
    expect(call.outcome).toBeUndefined();
    expect(historyInput(call)).toEqual({ INVALID_JSON: abyss });
  });

  it.each<[what: string, call: Case]>([
    ["of a tool that nobody knows", { name: "nope", args: nested(128), finish: "tool-use" }],
    ["of a call that was cut", { args: nested(128), done: false }],
    ["of a call that ran", { args: ` ${nested(500)}`, finish: "tool-use", limits: { maxDepth: 1000 } }],
    ["that the tool refuses", { name: "refuse", args: nested(500), finish: "tool-use", limits: { maxDepth: 1000 } }],
  ])("stay as the model wrote them within the limits: those %s", (_, given) => {
    expect(historyArguments(callOf(given))).toBe(given.args);
  });

  const twice = JSON.stringify('{"a":1}');

  it.each<[what: string, args: string, history: object]>([
    ["that were mended", "{a: 1}", { a: 1 }],
    ["that were encoded twice", twice, { a: 1 }],
    ["that are a list, mended", "[1,]", { INVALID_JSON: "[1,]" }],
    ["that are none", "null", {}],
    ["that are an empty list", "[]", {}],
  ])("are an object, as servers want it: those %s", (_, args, history) => {
    expect(historyInput(callOf({ args, finish: "tool-use" }))).toEqual(history);
  });

  it("are an object where there is no such tool and no arguments", () => {
    expect(historyArguments(callOf({ name: "nope", args: "[]", finish: "tool-use" }))).toBe("{}");
  });

  it.each<[what: string, args: string, history: string]>([
    ["as the model wrote them", '{ "a": 1 }', '{ "a": 1 }'],
    ["without their second encoding", twice, '{"a":1}'],
  ])("of a write that was not released are there %s", (_, argsTextDelta, history) => {
    const reader = new TurnReader("test", tools, { repair: "coerce" });
    reader.tool({ callIndex: 0, name: "write", argsTextDelta, done: true });
    reader.finish("length", "max_tokens");
    reader.end();
    const [call] = reader.turn.calls;
    expect(call!.outcome).toMatchObject({ code: "turn_not_finished" });
    expect(historyArguments(call!)).toBe(history);
  });
});

it("the results of a turn wait for the end of its calls", () => {
  const reader = new TurnReader("test", tools);
  reader.tool({ callIndex: 0, id: "1", name: "write", argsTextDelta: '{"a":' });
  const replies = { result: () => "result", error: () => "error" };
  expect(() => repliesOf(reader.turn, replies)).toThrow("Call 1 (write) has not ended: read the stream to its end");
  reader.end();
  expect(repliesOf(reader.turn, replies)).toEqual(["error"]);
});
