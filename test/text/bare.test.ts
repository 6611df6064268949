import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { rescueTextCalls, textJson } from "../../adapters/text-json/index.ts";
import { defineTool, jsonSchema, ToolUse, type ToolCallError } from "../../src/index.ts";
import { busyMs } from "../busy-ms.ts";
import { sharedTools } from "../fixtures.ts";
import { readText } from "./support.ts";

const oslo = '{"name": "get_weather", "arguments": {"city": "Oslo"}}';
const rome = '{"name": "get_weather", "parameters": {"city": "Rome"}}';
const city = (name: string) => ({ city: name });

const fenced = (json: string, info = "json") => `\`\`\`${info}\n${json}\n\`\`\``;

/** The text, the outcomes of its calls, and what is left of it. */
const cases: readonly [string, string, unknown[], string][] = [
  ["is one without any mark", oslo, [city("Oslo")], ""],
  ["may have white space around it", `\n ${oslo} \n`, [city("Oslo")], "\n  \n"],
  ["may be written by Llama", rome, [city("Rome")], ""],
  ["with its type", rome.replace("{", '{"type": "function", '), [city("Rome")], ""],
  ["under another key", rome.replace("name", "function"), [city("Rome")], ""],
  ["as on the wire", `{"type":"function","function":${oslo}}`, [city("Oslo")], ""],
  [
    "with its arguments as text",
    '{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}',
    [city("Oslo")],
    "",
  ],
  ["may be several", `${oslo}; ${rome};${oslo}`, [city("Oslo"), city("Rome"), city("Oslo")], ""],
  ["one a line", `${oslo}\n${rome}\n`, [city("Oslo"), city("Rome")], "\n"],
  ["or a list", `[${oslo}, ${rome}]`, [city("Oslo"), city("Rome")], ""],
  ["may stand before a text", `${oslo}\n\nI look.`, [city("Oslo")], "\n\nI look."],
  ["or before other JSON", `${oslo}\n{"city": "Rome"}`, [city("Oslo")], '\n{"city": "Rome"}'],
  ["may have no arguments", '{"name": "now", "arguments": {}}', [{}], ""],
  ["may follow the thoughts", `<think>So.</think>\n${oslo}`, [city("Oslo")], "<think>So.</think>\n"],
  ["may be in a fence, if that is all there is", fenced(oslo), [city("Oslo")], ""],
  ["with white space around it", `\n${fenced(`\n ${rome} \n`, "")}\n`, [city("Rome")], "\n"],
  [
    "in a list",
    fenced(JSON.stringify([JSON.parse(oslo), JSON.parse(oslo)], null, 2)),
    [city("Oslo"), city("Oslo")],
    "",
  ],
  ["before the end of a message", `${fenced(oslo)}<|eot_id|>`, [city("Oslo")], ""],
  ["with a fence in its arguments", fenced(oslo.replace("Oslo", "```")), [city("```")], ""],
  ["behind the thoughts", `<think>So.</think>\n${fenced(oslo)}`, [city("Oslo")], "<think>So.</think>\n"],
  ["is none without its last bracket", oslo.slice(0, -1), ["truncated"], ""],
  ["nor in a list that has no end", `[${oslo}, ${rome.slice(0, -1)}`, [city("Oslo"), "truncated"], ""],
  ["is not written about in its line", `${oslo} calls it.`, ["invalid_call"], " calls it."],
  ["in a list either", `[${rome}, ${oslo}] calls it.`, [city("Rome"), "invalid_call"], " calls it."],
];

/** What is text from its first letter to its last. */
const texts: readonly [string, string][] = [
  ["an answer in JSON", '{"name": "Ada", "arguments": {"city": "Oslo"}}'],
  ["an answer with the name of a tool", '{"name": "get_weather", "city": "Oslo"}'],
  ["one without arguments", '{"name": "get_weather"}'],
  ["one whose arguments are none", '{"name": "get_weather", "arguments": ["Oslo"]}'],
  ["one whose arguments come first", '{"arguments": {"city": "Oslo"}, "name": "get_weather"}'],
  [
    "the description of a tool",
    '{"type": "function", "function": {"name": "get_weather", "parameters": {"city": "x"}}}',
  ],
  ["a list", '["a", {"name": "get_weather"}]'],
  ["a list that begins with something else", `[1, ${oslo}]`],
  ["a call behind a text", `I look.\n${oslo}`],
  ["a call in a fence that has no end", `${fenced(oslo).slice(0, -4)}\n`],
  ["a call in a fence before a text", `${fenced(oslo)}\nThat is the call.`],
  ["a call in a fence before the first letter of one", `${fenced(oslo)}\n<`],
  ["a call in a fence behind a text", `So:\n${fenced(oslo)}`],
  ["a call in a fence beside others", fenced(`${oslo}\nand ${oslo}\n<tool_call>${oslo}</tool_call>`)],
  ["a call in the second fence", `${fenced("{}")}\n${fenced(oslo)}`],
  ["a call in a fence of another language", fenced(oslo, "js")],
  ["other JSON in a fence", fenced('{"name": "get_weather", "city": "Oslo"}')],
  ["a call of no tool in a fence", fenced(oslo.replace("get_weather", "get_wether"))],
  ["a marked call in a fence", fenced(`<tool_call>${oslo}</tool_call>`, "")],
  ["a call in quotes", `"${oslo}"`],
  ["a call that goes on for long before its name", `{${" ".repeat(400)}${oslo.slice(1)}`],
  ["a head", '{"name": "get_weather", "argu'],
  ["a bracket", "{"],
  ["two", "[ {"],
];

describe.each(["hermes", "function-tag"] as const)("a call that an answer begins with, %s", (name) => {
  it.each(cases)("%s: %j", async (_, text, outcomes, said) => {
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textJson(name), pieces, sharedTools);
      expect(turn.calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : outcome?.code))).toEqual(
        outcomes,
      );
      expect(turn.text).toBe(said);
    }
  });

  it("is handed out where its line ends", async () => {
    const { events } = await readText(textJson(name), [oslo, "\n\nI", " look."], sharedTools);
    const types = events.map(({ type }) => type);
    expect(types).toContain("tool-use");
    expect(types.indexOf("tool-use")).toBeLessThan(types.lastIndexOf("text-delta"));
  });

  it.each(texts)("is not %s: %j", async (_, text) => {
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textJson(name), pieces, sharedTools);
      expect(turn.calls).toEqual([]);
      expect(turn.text).toBe(text);
    }
  });

  it("is none of several where text follows the last one on its line", async () => {
    const set = defineTool({ name: "set", inputSchema: jsonSchema({ type: "object" }), execute: () => 1 });
    const call = '{"name": "set", "arguments": {"to": 1}}';
    const wrapped = '{"recipient_name": "functions.set", "parameters": {"to": 1}}';
    const wrapper = `{"name": "parallel", "arguments": {"tool_uses": [${wrapped}]}}`;
    const lists = [`[${call}, ${call}]`, `[${call}, ${wrapper}, ${call}]`, `[${call},]`];
    for (const calls of [...lists, `${call}; ${call}`, `${call}\n${call}`]) {
      for (const said of [" sets it.", "<"]) {
        for (const pieces of [[calls + said], (calls + said).split("")]) {
          const { turn } = await readText(textJson(name), pieces, [set]);
          const codes = turn.calls.map(({ outcome }) => (outcome as ToolCallError).code);
          expect(new Set(codes)).toEqual(new Set(["invalid_call"]));
          expect(turn.text).toBe(said);
        }
      }
    }
  });

  it("that only reads does not run either where the text is cut off before the line is over", async () => {
    for (const [text, inputs] of [
      [oslo, []],
      [`${oslo} `, []],
      [`${oslo}\n`, [city("Oslo")]],
    ] as const) {
      const { events } = await readText(textJson(name), [text, { type: "finish", reason: "length" }], sharedTools);
      expect(events.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []))).toEqual(inputs);
    }
  });

  it("is none where no tools are known", async () => {
    const { turn } = await readText(textJson(name), [oslo], undefined);
    expect([turn.calls, turn.text]).toEqual([[], oslo]);
  });

  it("runs where it is whole and the turn has ended well, cut it anywhere", async () => {
    const set = defineTool({
      name: "set",
      inputSchema: jsonSchema({ type: "object" }),
      execute: () => 1,
    });
    const text = '{"name": "set", "arguments": {"to": "}"}}\n{"name": "set", "arguments": {}}';
    const first = text.indexOf("\n");
    for (let at = 0; at <= text.length; at++) {
      const { events } = await readText(textJson(name), [text.slice(0, at)], [set]);
      const inputs = events.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []));
      expect([at, inputs]).toEqual([at, [{ to: "}" }, {}].slice(0, Number(at >= first) + Number(at === text.length))]);
      const cut = await readText(textJson(name), [text.slice(0, at), { type: "finish", reason: "length" }], [set]);
      expect(cut.events.filter(({ type }) => type === "tool-use")).toEqual([]);
    }
  });
});

describe("a call in a fence that is the whole answer", () => {
  it.each(["hermes", "function-tag"] as const)(
    "runs where the text ends behind it, and nowhere else: %s",
    async (name) => {
      const text = `${fenced('{"name": "refund_order", "arguments": {"order_id": "1", "amount": 1}}')}\n`;
      for (let at = 0; at <= text.length; at++) {
        for (const [reason, providerReason] of [["stop"], ["length"], ["unknown"], ["unknown", "odd"]] as const) {
          const pieces = [...text.slice(0, at), { type: "finish" as const, reason, providerReason }];
          const { turn } = await readText(textJson(name), pieces, sharedTools);
          // In a text that was cut, something may have followed.
          const isWhole = at >= text.length - 1 && reason !== "length" && providerReason === undefined;
          expect([at, turn.calls.map(({ released }) => released)]).toEqual([at, isWhole ? [true] : []]);
          expect(turn.text).toBe(isWhole ? "" : text.slice(0, at));
        }
      }
    },
  );
});

describe("a server that hands out the JSON of its model", () => {
  it("is mended without a word about the notation, and the call goes back in its field", () => {
    const chat = rescueTextCalls(openaiChat);
    for (const content of [oslo, rome, `[${oslo}]`]) {
      const choice = { index: 0, message: { role: "assistant", content }, finish_reason: "stop" };
      const events = chat.parse({ object: "chat.completion", choices: [choice] } as never, { tools: sharedTools });
      expect(events.map(({ type }) => type)).toContain("tool-use");
    }
  });

  it("is as fast with white space that has no end as with text", async () => {
    const time = async (text: string) => {
      const from = busyMs();
      await readText(textJson("hermes"), text.match(/[^]{1,16}/g)!, sharedTools);
      return busyMs() - from;
    };
    const size = 400_000;
    await time(`${oslo}\n${"x".repeat(size)}`);
    const plain = await time(`${oslo}\n${"x".repeat(size)}`);
    for (const one of [" ", "\n", ";", "{", '{"name":', "["]) {
      expect(await time(oslo + one.repeat(size / one.length))).toBeLessThan(20 * plain + 200);
    }
  });
});
