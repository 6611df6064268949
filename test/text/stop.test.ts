import { describe, expect, it } from "vitest";
import { z } from "zod";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { textJson, type NotationName } from "../../adapters/text-json/index.ts";
import { defineTool, type FinishReason, type ToolCallError } from "../../src/index.ts";
import type { TextAdapter, TextReadOptions } from "../../src/text/adapter.ts";
import { loadFixture, sharedTools } from "../fixtures.ts";
import { textOf } from "./support.ts";

/** The text in pieces of five characters, ended by the server. */
async function read(adapter: TextAdapter, text: string, options: TextReadOptions, reason: FinishReason = "stop") {
  async function* source() {
    for (let at = 0; at < text.length; at += 5) yield { type: "text-delta" as const, delta: text.slice(at, at + 5) };
    yield { type: "finish" as const, reason };
  }
  return adapter.read(source(), { tools: sharedTools, ...options }).done();
}

const rows: readonly (readonly [TextAdapter, string])[] = [
  [textHelpers(), "</helpers>"],
  [textHelpers({ tag: "tools" }), "</tools>"],
  ...(
    [
      ["hermes", "</tool_call>"],
      ["qwen-xml", "</tool_call>"],
      ["function-tag", "</function>"],
      ["kimi", "<|tool_call_end|>"],
      ["deepseek", "<\u{ff5c}tool\u2581call\u2581end\u{ff5c}>"],
      ["dsml", "</\u{ff5c}DSML\u{ff5c}function_calls>"],
      ["invoke", "</minimax:tool_call>"],
      ["xtml", "<|close|>tools<|sep|>"],
      ["gemma", "<tool_call|>"],
      ["pythonic", "<|tool_call_end|>"],
    ] as const
  ).map(([name, stop]) => [textJson(name as NotationName), stop] as const),
];

describe.each(rows)("$name, stopped at $1", (adapter, stop) => {
  const written = textOf(loadFixture(adapter.name, "one-call"));
  const text = stop === "</tools>" ? written.replaceAll("helpers>", "tools>") : written;
  const cut = text.slice(0, text.indexOf(stop));

  it("is read as if the mark stood there, when the caller says so and the server has stopped", async () => {
    expect(cut.length).toBeLessThan(text.length);
    const turn = await read(adapter, cut, { stop });
    expect(turn.calls.map(({ released }) => released)).toEqual([true]);
    // And goes back with it: the model sees what it wrote.
    expect(adapter.assistantMessage(turn)).toEqual([{ role: "assistant", content: cut + stop }]);
    const again = await read(adapter, cut + stop, {});
    expect(turn.calls.map(({ name, argsText }) => [name, argsText])).toEqual(
      again.calls.map(({ name, argsText }) => [name, argsText]),
    );
  });

  it("is cut for any other end, and at any earlier place", async () => {
    for (const reason of ["length", "content-filter", "unknown"] as const) {
      const turn = await read(adapter, cut, { stop }, reason);
      // Notations whose calls have an end of their own may have ended them before.
      const before = await read(adapter, cut, {}, reason);
      const releases = turn.calls.map(({ released }) => released);
      expect([reason, ...releases]).toEqual([reason, ...before.calls.map(({ released }) => released)]);
    }
    for (let at = 0; at < cut.trimEnd().length; at++) {
      const { calls } = await read(adapter, cut.slice(0, at), { stop });
      expect(calls.filter(({ released }) => released)).toEqual([]);
    }
  });

  it("stays as it is where no block is open", async () => {
    for (const plain of ["Hello.", text, `About ${stop}`, ""]) {
      const [turn, without] = [await read(adapter, plain, { stop }), await read(adapter, plain, {})];
      expect(adapter.assistantMessage(turn)).toEqual(adapter.assistantMessage(without));
      expect(turn.text).toBe(without.text);
    }
  });
});

describe("stop", () => {
  it("is an end mark of the notation", () => {
    for (const stop of ["", "\n\n", '")</helpers>', "</tool_call>", 1 as never]) {
      expect(() => textHelpers().parse("Hi", { stop })).toThrow(/text-helpers has the end marks <\/helpers>/);
    }
    expect(() => textJson("mistral").parse("Hi", { stop: "]" })).toThrow(/text-json\/mistral has no end marks/);
    expect(() => textJson("glm").parse("Hi", { stop: "</tool_call>" })).toThrow(/text-json\/glm has no end marks/);
  });

  it("is known to a model, and to its history", async () => {
    const asked: number[] = [];
    const model = textJson("hermes").model(
      async function* ({ messages }) {
        asked.push(messages.length);
        yield '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}';
      },
      { stop: "</tool_call>" },
    );
    const turn = await model.open({ messages: [], tools: sharedTools }).done();
    expect(turn.calls.map(({ released }) => released)).toEqual([true]);
    expect(model.pair(model.adapter.assistantMessage(turn))).toHaveLength(2);
  });
});

describe("an end mark in a string that is closed", () => {
  const note = defineTool({ name: "note", inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });
  const json = (text: string) => JSON.stringify({ text });

  it.each<[TextAdapter, begin: string, mark: string]>([
    [textHelpers(), `<helpers>\nnote("a </helpers> b")\nnote('c')\n`, "</helpers>"],
    [textHelpers(), `<helpers>\nnote("""a </helpers>\n b""")\n`, "</helpers>"],
    [textJson("hermes"), `<tool_call>{"name":"note","arguments":${json("a </tool_call> b")}}`, "</tool_call>"],
    [textJson("hermes"), `<tool_call>{"name":"note","arguments":${json("a <tool_call> b")}}`, "</tool_call>"],
    [textJson("function-tag"), `<function=note>${json("a </function> b")}`, "</function>"],
    [
      textJson("kimi"),
      `<|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>${json("a <|tool_call_end|> b")}`,
      "<|tool_call_end|>",
    ],
  ])("does not end a block of $name: it was cut, all of it", async (adapter, begin, mark) => {
    for (const behind of ["", " \n"]) {
      const turn = await read(adapter, `So: ${begin}${behind}`, { tools: [note] });
      expect(turn.calls.map(({ outcome }) => (outcome as ToolCallError).code)).toEqual(["truncated"]);
      expect(turn.text).toBe("So: ");
    }
    const whole = await read(adapter, `So: ${begin}${mark}`, { tools: [note] });
    expect(whole.calls.every(({ released }) => released)).toBe(true);
    expect(whole.text).toBe("So: ");
  });

  it("is part of a call that needs no end", async () => {
    const harmony = `<|channel|>commentary to=functions.note <|message|>${json("a <|call|> b")}`;
    const turn = await read(textJson("harmony"), harmony, { tools: [note] });
    expect(turn.calls.map(({ input }) => input)).toEqual([{ text: "a <|call|> b" }]);
    expect(turn.text).toBe("");
  });
});

describe("a block that is too long", () => {
  const helpers = textHelpers({ maxBlockLength: 100 });
  const block = (length: number) => `<helpers>${'get_weather("'.padEnd(length - 2, "x")}")</helpers>`;

  it("is one error, and the next block is read", async () => {
    const turn = await read(helpers, `${block(101)} and ${block(100)}`, {});
    expect(turn.calls.map(({ released }) => released)).toEqual([false, true]);
    expect(turn.calls[0]!.outcome).toMatchObject({
      code: "invalid_call",
      message: expect.stringContaining(
        "the block is longer than 100 characters (maxBlockLength of textHelpers()). Nothing in it was run",
      ),
    });
    expect(turn.text).toBe(" and ");
    const open = await read(helpers, block(200).slice(0, -9), {});
    expect(open.calls.map(({ outcome }) => outcome)).toMatchObject([{ code: "truncated" }]);
  });

  it("may be 128 Ki by default, and what the limit of arguments says", async () => {
    const outcome = async (length: number, options: TextReadOptions = {}) => {
      const { calls } = await textHelpers()
        .read(once(block(length)), { tools: sharedTools, ...options })
        .done();
      return (calls[0]!.outcome as ToolCallError).message ?? "";
    };
    expect(await outcome(131_072)).toBe("");
    expect(await outcome(131_073)).toContain("longer than 131072 characters");
    expect(await outcome(60, { limits: { maxArgumentsLength: 50 } })).toContain("50 characters (limits.");
    for (const maxBlockLength of [0, -1, 1.5, Number.NaN, "9" as never]) {
      expect(() => textHelpers({ maxBlockLength })).toThrow(TypeError);
    }
  });
});

async function* once(text: string): AsyncIterable<string> {
  yield text;
}
