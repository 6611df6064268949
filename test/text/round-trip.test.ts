/** What an adapter writes of calls into a history, it reads as the same calls: random tools, inputs and places of cuts. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { textJson, type NotationName } from "../../adapters/text-json/index.ts";
import { notations } from "../../adapters/text-json/notations/index.ts";
import { ToolUse, type Tool, type Turn } from "../../src/index.ts";
import { cutAt } from "../json/support.ts";
import { calls, toolOf, type Call } from "./calls.ts";
import { readText } from "./support.ts";

const names = Object.keys(notations) as NotationName[];
const adapters = [textHelpers(), ...names.map((name) => textJson(name))];

/** The same calls as another wire brings them. */
async function turnOf(list: readonly Call[], tools: Tool[]): Promise<Turn> {
  const tool_calls = list.map(({ name: called, input }, index) => {
    const name = openaiChat.toolName(called);
    return { index, id: `call_${index}`, type: "function", function: { name, arguments: JSON.stringify(input) } };
  });
  const message = { role: "assistant", content: null, tool_calls };
  const body = { id: "1", object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
  return openaiChat.read(new Response(JSON.stringify(body)), { tools }).done();
}

describe.each(adapters)("$name", (adapter) => {
  it("reads what it has written, however it is cut into pieces", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.array(fc.nat(), { maxLength: 8 }), async (list, places) => {
        const tools = list.map(toolOf);
        const [message] = adapter.assistantMessage(await turnOf(list, tools));
        const { turn } = await readText(adapter, cutAt(message!.content, places), tools);
        const read = turn.calls.map(({ name, outcome }) => [
          name,
          outcome instanceof ToolUse ? JSON.stringify(outcome.input) : (outcome?.message ?? "open"),
        ]);
        expect(read).toEqual(list.map(({ name, input }) => [name, JSON.stringify(input)]));
      }),
      { numRuns: 60 },
    );
  });
});
