import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { rescueTextCalls, textJson } from "../../adapters/text-json/index.ts";
import type { StreamEvent } from "../../src/index.ts";
import { sharedTools } from "../fixtures.ts";
import { readText } from "./support.ts";

const call = (city: string) => `<tool_call>{"name": "get_weather", "arguments": {"city": "${city}"}}</tool_call>`;

function citiesIn(events: readonly StreamEvent[]): unknown[] {
  return events.flatMap((event) => (event.type === "tool-use" ? [event.use.input["city"]] : []));
}

describe("a call in the thoughts of a text", () => {
  it.each<[string, string, unknown[], string]>([
    [
      "is a plan where another one follows",
      `<think>${call("Oslo")}</think>\n${call("Oslo")}`,
      ["Oslo"],
      `<think>${call("Oslo")}</think>\n`,
    ],
    [
      "whatever that one is given",
      ` <think>\n${call("Oslo")}${call("Bergen")}</think>${call("Rome")}`,
      ["Rome"],
      ` <think>\n${call("Oslo")}${call("Bergen")}</think>`,
    ],
    [
      "is one where the answer is a text",
      `<think>${call("Oslo")}</think>\nWhich city?`,
      [],
      `<think>${call("Oslo")}</think>\nWhich city?`,
    ],
    ["is made where there is no other answer", `<think>${call("Oslo")}</think>\n`, ["Oslo"], ""],
    ["or where the thoughts have no end", `<think>The weather. ${call("Oslo")}`, ["Oslo"], ""],
    ["is none where it is quoted", `<think>So \`${call("Oslo")}\` it is.</think>`, [], ""],
    [
      "is not one behind a tag that is written about",
      `The tag <think>: ${call("Oslo")}`,
      ["Oslo"],
      "The tag <think>: ",
    ],
    ["nor behind a tag that is not whole", `<thin${call("Oslo")}`, ["Oslo"], "<thin"],
    [
      "and has no end but that of its own tag",
      `<think>${call("Oslo")}</thinking>${call("Rome")}</think>Which city?`,
      [],
      `<think>${call("Oslo")}</thinking>${call("Rome")}</think>Which city?`,
    ],
    [
      "and harms no call behind it, if it has no end",
      `<think><tool_call>{"na</think>${call("Oslo")}`,
      ["Oslo"],
      '<think><tool_call>{"na</think>',
    ],
  ])("%s", async (_, text, cities, said) => {
    for (const pieces of [[text], text.split("")]) {
      const { events, turn } = await readText(textJson("hermes"), pieces, sharedTools);
      expect(citiesIn(events)).toEqual(cities);
      expect(turn.calls).toHaveLength(cities.length);
      expect(turn.text).toBe(said || text);
    }
  });

  it.each([
    "<thinking> </thinking>",
    "<thought> </thought>",
    "[THINK] [/THINK]",
    "<|think:start|> <|think:end|>",
    "<ifm|think> </ifm|think>",
    "<ifm|think_fast> </ifm|think_fast>",
    "<ifm|think_faster> </ifm|think_faster>",
    "<|plamo:begin_think:plamo|> <|plamo:end_think:plamo|>",
    "<seed:think> </seed:think>",
    "<think:opensource> </think:opensource>",
    "<think:6124c78e> </think:6124c78e>",
    "<|open|>think<|sep|> <|close|>think<|sep|>",
    "<|START_THINKING|> <|END_THINKING|>",
    "<|inner_prefix|> <|inner_suffix|>",
    "<|channel> <channel|>",
    "<mm:think> </mm:think>",
    "<reasoning> </reasoning>",
    "<|begin_of_thought|> <|end_of_thought|>",
    "◁think▷ ◁/think▷",
  ])("is a plan between %s", async (tags) => {
    const [open, close] = tags.split(" ");
    const text = `${open}thought\n${call("Oslo")}${close}${call("Rome")}`;
    for (const pieces of [[text], text.split("")]) {
      const { events, turn } = await readText(textJson("hermes"), pieces, sharedTools);
      expect(citiesIn(events)).toEqual(["Rome"]);
      expect(turn.text).toBe(`${open}thought\n${call("Oslo")}${close}`);
    }
  });

  it("is not made where the text was cut: an answer may have been to come", async () => {
    const text = `<think>${call("Oslo")}</think>`;
    const { events } = await readText(textJson("hermes"), [text, { type: "finish", reason: "length" }], sharedTools);
    expect(citiesIn(events)).toEqual([]);
  });

  it("has no end of its own that was a stop sequence in place of the answer's", async () => {
    const cut = (text: string) => text.slice(0, -"</tool_call>".length);
    for (const text of [`<think>${cut(call("Oslo"))}`, `<think></think>${cut(call("Oslo"))}`]) {
      const turn = await textJson("hermes")
        .read(new Response(text).body!.pipeThrough(new TextDecoderStream()), {
          tools: sharedTools,
          stop: "</tool_call>",
        })
        .done();
      expect(turn.calls.map(({ input }) => input)).toEqual([{ city: "Oslo" }]);
      expect(turn.calls.map(({ released }) => released)).toEqual([true]);
    }
  });

  it("is a plan in Python, too", async () => {
    const block = (city: string) => `<helpers>\nget_weather("${city}")\n</helpers>`;
    const text = `<think>${block("Oslo")}</think>${block("Rome")}`;
    const { events } = await readText(textHelpers(), text.split(""), sharedTools);
    expect(citiesIn(events)).toEqual(["Rome"]);
  });
});

describe("a call before the end of thoughts that began in the prompt", () => {
  const refund = (id: string) =>
    `<tool_call>{"name": "refund_order", "arguments": {"order_id": "${id}", "amount": 1}}</tool_call>`;
  const idsIn = (events: readonly StreamEvent[]) =>
    events.flatMap((event) =>
      event.type === "tool-use" ? [event.use.input["order_id"] ?? event.use.input["city"]] : [],
    );

  it.each<[string, string, unknown[]]>([
    ["is a plan where another one follows", `So: ${refund("1")}\n</think>\n${refund("2")}`, ["2"]],
    [
      "where it has no tag that ends it, either",
      `${refund("1")}</think>${refund("2")} </think>\n${refund("3")}`,
      ["3"],
    ],
    ["where the answer is a text", `${refund("1")}</think>Which one?`, []],
    [
      "where the answer is JSON",
      `${refund("1")}</think>\n{"name": "refund_order", "arguments": {"order_id": "2", "amount": 1}}`,
      ["2"],
    ],
    ["where a text came before them", `Well.\n<think>${refund("1")}</think>`, []],
    ["where the call has been read", `${refund("1")}</think>{"order_id": "2"}`, []],
    ["where they began in the text", `Well.\n<think>${refund("1")}</think>${refund("2")}`, ["2"]],
    ["where they are the second ones", `${refund("1")}<think>${refund("2")}</think>${refund("3")}`, ["1", "3"]],
    ["is made where there is no other answer", `So: ${refund("1")}</think>\n`, ["1"]],
    ["or where the tag is in the arguments", `${refund("</think>")} So.`, ["</think>"]],
    ["or in a fence", `${refund("1")}\n\`</think>\` ends them`, ["1"]],
    ["or one of a tag that is not there", `${refund("1")}<think> and text`, ["1"]],
  ])("%s: %s", async (_, text, ids) => {
    for (const pieces of [[text], text.split("")]) {
      for (const adapter of [textJson("hermes"), rescueTextCalls(textJson("kimi"))]) {
        const { events, turn } = await readText(adapter, pieces, sharedTools);
        expect(idsIn(events)).toEqual(ids);
        expect(turn.calls.map(({ input }) => (input as Record<string, unknown>)["order_id"])).toEqual(ids);
        expect(turn.text).toBe(text.replaceAll(/<tool_call>.*?<\/tool_call>|\{"name.*/g, ""));
      }
    }
  });

  it("is not made where the text was cut", async () => {
    const text = `${refund("1")}</think>`;
    const { events, turn } = await readText(
      textJson("hermes"),
      [text, { type: "finish", reason: "length" }],
      sharedTools,
    );
    expect([idsIn(events), turn.calls]).toEqual([[], []]);
  });

  it("is made where the stream ends without a word on why, as any other call", async () => {
    const fence = `\`\`\`json\n{"name": "refund_order", "arguments": {"order_id": "1", "amount": 1}}\n\`\`\``;
    for (const content of [`${refund("1")}</think>`, `<think>${refund("1")}</think>`, fence]) {
      const event = { object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] };
      const body = (...rest: string[]) =>
        new Response([JSON.stringify(event), ...rest].map((data) => `data: ${data}\n\n`).join(""));
      const chat = rescueTextCalls(openaiChat);
      const whole = await chat.read(body("[DONE]"), { tools: sharedTools }).done();
      expect(whole.calls.map(({ released }) => released)).toEqual([true]);
      const cut = await chat.read(body(), { tools: sharedTools }).done();
      expect(cut.calls).toEqual([]);
    }
  });

  it("may have run where it only reads, and gets no result", async () => {
    const { events, turn } = await readText(
      textJson("hermes"),
      [`${call("Oslo")}</think>${call("Rome")}`],
      sharedTools,
    );
    expect(idsIn(events)).toEqual(["Oslo", "Rome"]);
    expect(turn.calls.map(({ input }) => input)).toEqual([{ city: "Rome" }]);
  });

  it("does not run at all where the caller says that they began there", async () => {
    for (const [text, ids] of [
      [`${call("Oslo")}</think>${call("Rome")}`, ["Rome"]],
      [`${call("Oslo")}</think> Which?`, []],
      [`${call("Oslo")}`, ["Oslo"]],
      [`${call("Oslo")}</think>${call("Rome")}`.replaceAll("think", "seed:think"), ["Rome"]],
    ] as const) {
      const read = textJson("hermes").read(new Response(text).body!.pipeThrough(new TextDecoderStream()), {
        tools: sharedTools,
        thinking: true,
      });
      const events: StreamEvent[] = [];
      for await (const event of read) events.push(event);
      expect(idsIn(events)).toEqual(ids);
      const choice = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" };
      const chat = rescueTextCalls(openaiChat, { thinking: true });
      expect(
        idsIn(chat.parse({ object: "chat.completion", choices: [choice] } as never, { tools: sharedTools })),
      ).toEqual(ids);
    }
  });

  it("is a plan if it wraps others", async () => {
    const wrapped = (id: string) =>
      `<tool_call>${JSON.stringify({ name: "multi_tool_use.parallel", arguments: { tool_uses: [1, 2].map((n) => ({ recipient_name: "functions.refund_order", parameters: { order_id: `${id}${n}`, amount: 1 } })) } })}</tool_call>`;
    const { events } = await readText(textJson("hermes"), [`${wrapped("a")}</think>${wrapped("b")}`], sharedTools);
    expect(idsIn(events)).toEqual(["b1", "b2"]);
  });

  it.each<[string, string, string[], unknown[]]>([
    ["is the server's where there is no other answer", `${refund("1")}</think>`, ["1"], ["1"]],
    ["or only a text", `${refund("1")}</think>I see to it.`, ["1"], ["1"]],
    ["is made once where the text has both", `${refund("1")}</think>${refund("1")}`, ["1", "1"], ["1"]],
    ["is not made where the text has another one", `${refund("1")}</think>${refund("2")}`, ["1", "2"], ["2"]],
  ])("%s, if the server sends it in its field as well: %s", (_, content, sent, ids) => {
    const toolCalls = sent.map((id, index) => {
      const args = JSON.stringify({ order_id: id, amount: 1 });
      return { id: `call_${index}`, type: "function", function: { name: "refund_order", arguments: args } };
    });
    const message = { role: "assistant", content, tool_calls: toolCalls };
    const response = { object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    expect(idsIn(rescueTextCalls(openaiChat).parse(response as never, { tools: sharedTools }))).toEqual(ids);
  });
});

describe("a call in the reasoning", () => {
  const chat = rescueTextCalls(openaiChat, { reasoning: true });
  const read = (message: object) => {
    const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" };
    return chat.parse({ object: "chat.completion", choices: [choice] } as never, { tools: sharedTools });
  };

  it.each<[string, object, unknown[]]>([
    ["is a plan where the text has one", { content: call("Rome") }, ["Rome"]],
    ["where the text is an answer", { content: "Which city?" }, []],
    [
      "where the server has found one",
      {
        tool_calls: [{ id: "1", type: "function", function: { name: "get_weather", arguments: '{"city":"Rome"}' } }],
      },
      ["Rome"],
    ],
    ["where the model has refused", { refusal: "No." }, []],
    ["is made where there is nothing else", { content: "\n\n" }, ["Oslo"]],
    ["is made once, where the text has a plan for it", { content: `<think>${call("Rome")}</think>` }, ["Rome"]],
  ])("%s", (_, message, cities) => {
    const reasoning_content = `The weather. ${call("Oslo")}`;
    const events = read({ content: null, reasoning_content, ...message });
    expect(citiesIn(events)).toEqual(cities);
    const thought = events.flatMap((event) => (event.type === "reasoning-delta" ? [event.delta] : [])).join("");
    expect(thought).toBe(reasoning_content);
  });

  it("is a plan where the call follows in a block of its own", () => {
    const content = [
      { type: "thinking", thinking: call("Oslo"), signature: "x" },
      { type: "tool_use", id: "1", name: "get_weather", input: { city: "Rome" } },
    ];
    const events = rescueTextCalls(anthropic, { reasoning: true }).parse(
      { type: "message", role: "assistant", content, stop_reason: "tool_use" } as never,
      { tools: sharedTools },
    );
    expect(citiesIn(events)).toEqual(["Rome"]);
  });
});
