import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { textHelpers } from "../../adapters/text-helpers/index.ts";
import { rescueTextCalls, textJson } from "../../adapters/text-json/index.ts";
import { wires, type Wire } from "../../bench/wires.ts";
import type { Adapter } from "../../src/adapter.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import type { StreamEvent } from "../../src/stream/events.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { adapters } from "../adapters.ts";

const properties = { city: { type: "string" }, days: { type: "number" } } as const;
const inputSchema = jsonSchema({ type: "object", properties, required: ["city"] });
const tools = [defineTool({ name: "get_weather", inputSchema })];
const input = { city: "Oslo", days: 2 };

/** What was called, or why it was not. */
function outcomes(events: readonly StreamEvent[]): unknown[] {
  return events.flatMap((event): unknown[] => {
    if (event.type === "tool-error") return [event.error.code];
    if (event.type !== "tool-use") return [];
    const { name, input: given, repairs } = event.use;
    return [{ name, given, repaired: repairs.map(({ kind, before }) => [kind, before]) }];
  });
}

const called = (before: string) => [{ name: "get_weather", given: input, repaired: [["name", before]] }];

// https://github.com/tontinton/maki/pull/518, https://github.com/google-gemini/cookbook/issues/1374,
// https://github.com/fw-ai-external/python-sdk/issues/119
describe.each([
  "functions.get_weather",
  "functions.get_weather:0",
  "get_weather:0",
  "default_api:get_weather",
  "get_weather</arg_value>",
  "functions.get_weather</arg_value></tool_call>",
  "get_weather<|channel|>commentary",
])("a call of %s, as models write it", (name) => {
  const every = [...adapters.map(({ adapter }) => adapter), rescueTextCalls(openaiChat)];
  it.each<Adapter>(every)("is one of the tool: $name", async (adapter) => {
    const calls = [{ id: "call_0", name, argsText: JSON.stringify(input) }];
    const body = wires[adapter.name as Wire]({ text: "", calls, deltaLength: 7 }).join("");
    const events: StreamEvent[] = [];
    for await (const event of adapter.read(new Response(body), { tools })) events.push(event);
    // On Chat Completions, such tokens are never part of a name.
    const isBare = name.includes("<|") && adapter.name === "openai-chat";
    expect(outcomes(events)).toEqual(isBare ? [{ name: "get_weather", given: input, repaired: [] }] : called(name));
  });

  it("is one of the tool in a text", () => {
    const text = `<tool_call>${JSON.stringify({ name, arguments: input })}</tool_call>`;
    expect(outcomes(textJson("hermes").parse(text, { tools }))).toEqual(called(name));
  });
});

// https://github.com/zai-org/GLM-5/issues/84
describe.each([
  "get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>",
  'get_weather<|message|>{"city":"Oslo"}',
])("a call of %s, with its arguments in its name", (name) => {
  it.each<[Adapter]>([[openaiChat], [openaiResponses], [anthropic], [google], [googleInteractions], [cohere]])(
    "is none: $name",
    async (adapter) => {
      const calls = [{ id: "call_0", name, argsText: "{}" }];
      const body = wires[adapter.name as Wire]({ text: "", calls, deltaLength: 7 }).join("");
      const { calls: said } = await adapter.read(new Response(body), { tools }).done();
      expect(said.map(({ outcome }) => outcome)).toMatchObject([{ code: "unknown_tool" }]);
    },
  );
});

describe("the schema of a tool that is called with a namespace", () => {
  it("says which arguments are meant by their place", () => {
    const text = '<helpers>\ndefault_api.get_weather("Oslo", days=2)\n</helpers>';
    expect(outcomes(textHelpers().parse(text, { tools }))).toEqual(called("default_api.get_weather"));
  });

  it("says what an argument without quotes is", () => {
    const parameters = "<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>";
    const text = `<tool_call>\n<function=functions.get_weather>\n${parameters}\n</function>\n</tool_call>`;
    expect(outcomes(textJson("qwen-xml").parse(text, { tools }))).toEqual(called("functions.get_weather"));
  });
});
