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
