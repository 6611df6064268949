import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { rescueTextCalls, textJson, type NotationName } from "../../adapters/text-json/index.ts";
import { notations } from "../../adapters/text-json/notations/index.ts";
import { ToolUse, type Turn } from "../../src/index.ts";
import type { JsonDialect } from "../../adapters/text-json/prompt.ts";
import { sharedTools } from "../fixtures.ts";
import { readText } from "./support.ts";

/** The cities that were asked for, or why not. */
function outcomesOf({ calls }: Turn): unknown[] {
  return calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input["city"] : outcome?.code));
}

/** A call, its result, and a call that rests on it, as a model writes all three at once. */
function madeUp({ writeCalls, writeResults }: JsonDialect): [string, string, string] {
  const call = (city: string) =>
    writeCalls([{ id: "functions.get_weather:0", name: "get_weather", args: { city }, tool: undefined, metadata: {} }]);
  const result = { id: null, name: "get_weather", metadata: {}, output: { celsius: 21 }, isError: false };
  return [call("Oslo"), writeResults([result]), call("Rome")];
}

describe("a call behind a result that the model made up", () => {
  /** Their results begin like something else. */
  const others: NotationName[] = ["harmony", "xtml", "invoke"];
  it.each((Object.keys(notations) as NotationName[]).filter((name) => !others.includes(name)))(
    "is not run, in %s (anthropics/claude-code#71806, NousResearch/hermes-agent#83379)",
    async (name) => {
      const [first, result, second] = madeUp(notations[name]);
      const text = [first, result, second].join("\n");
      for (const pieces of [[text], text.split("")]) {
        const { turn } = await readText(textJson(name), pieces, sharedTools);
        expect(outcomesOf(turn)).toEqual(["Oslo", "invalid_call"]);
        expect(turn.text).toContain(result);
      }
    },
  );

  it("is not run in a block of Python either", async () => {
    const text = `<helpers>\nw = get_weather("Oslo")\n</helpers>\n<helpers_result>\nw = 21\n</helpers_result>\n<helpers>\nget_weather("Rome")\n</helpers>`;
    const { turn } = await readText(textHelpers(), [text], sharedTools);
    expect(outcomesOf(turn)).toEqual(["Oslo", "invalid_call"]);
  });

  const call = (city: string) => `<tool_call>{"name": "get_weather", "arguments": {"city": "${city}"}}</tool_call>`;
  const result = "<tool_response>\n21\n</tool_response>";

  it("says so to the model", async () => {
    const { turn } = await readText(textJson("hermes"), [`${call("Oslo")}${result}${call("Rome")}`], sharedTools);
    expect(turn.calls[1]!.outcome).toMatchObject({
      message: expect.stringContaining("it follows a result that you wrote yourself; wait for the one of the tool"),
    });
  });

  it("is not run where the server sends the call as well", async () => {
    const sent = ["Oslo", "Rome"].map((city, index) => {
      return { index, id: `call_${index}`, function: { name: "get_weather", arguments: JSON.stringify({ city }) } };
    });
    const delta = { content: `${call("Oslo")}${result}${call("Rome")}`, tool_calls: sent };
    const choice = { index: 0, delta, finish_reason: "tool_calls" };
    const body = `data: ${JSON.stringify({ id: "1", model: "m", choices: [choice] })}\n\ndata: [DONE]\n\n`;
    const stream = rescueTextCalls(openaiChat).read(new Response(body), { tools: sharedTools });
    expect(outcomesOf(await stream.done())).toEqual(["Oslo", "invalid_call"]);
  });

  it("is not run where all of it is in the reasoning", async () => {
    const chat = rescueTextCalls(openaiChat, { reasoning: true });
    const delta = { reasoning_content: `${call("Oslo")}${result}${call("Rome")}` };
    const choice = { index: 0, delta, finish_reason: "stop" };
    const body = `data: ${JSON.stringify({ id: "1", model: "m", choices: [choice] })}\n\ndata: [DONE]\n\n`;
    expect(outcomesOf(await chat.read(new Response(body), { tools: sharedTools }).done())).toEqual([
      "Oslo",
      "invalid_call",
    ]);
  });

  it.each([
    ["a result before any call, as of the last turn", `${result}\n${call("Oslo")}`, ["Oslo"]],
    ["one that is quoted", `${call("Oslo")} gives \`<tool_response>\` ${call("Rome")}`, ["Oslo", "Rome"]],
    ["thoughts that began in the prompt", `${call("Oslo")}${result}</think>${call("Rome")}`, ["Rome"]],
  ])("is not one behind %s", async (_, text, outcomes) => {
    const { turn } = await readText(textJson("hermes"), [text], sharedTools);
    expect(outcomesOf(turn)).toEqual(outcomes);
  });

  it("is one, whatever was thought in between", async () => {
    const text = `${call("Oslo")}${result}<think>Warm.</think>${call("Rome")}`;
    expect(outcomesOf((await readText(textJson("hermes"), [text], sharedTools)).turn)).toEqual([
      "Oslo",
      "invalid_call",
    ]);
  });
});
