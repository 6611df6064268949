import { describe, expect, it } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { googleInteractions } from "../../adapters/google-interactions/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter } from "../../src/adapter.ts";
import type { Turn } from "../../src/stream/events.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { ToolUse } from "../../src/tool/use.ts";
import { summarize } from "../../src/testing/index.ts";
import { adapters } from "../adapters.ts";
import { fixtureNames, loadFixture } from "../fixtures.ts";
import { iterate } from "../iterate.ts";

/**
 * One conversation on all wires, and what goes back, side by side. The model thinks, says something, and calls four
 * tools at once: one that works, one whose handler fails, one that the caller executes, and one with an input that is wrong.
 */
const tools = [
  defineTool({
    name: "get_weather",
    effect: "read",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    execute({ city }) {
      if (city === "Atlantis") throw new Error("no such city");
      return { city, celsius: 21 };
    },
  }),
  defineTool({
    name: "ask_user",
    inputSchema: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
  }),
  defineTool({
    name: "set_volume",
    inputSchema: { type: "object", properties: { level: { type: "integer" } }, required: ["level"] },
    execute: () => "done",
  }),
];

/** The spaces are the model's own, and go back. */
const args = {
  oslo: '{ "city": "Oslo" }',
  atlantis: '{"city":"Atlantis"}',
  question: '{"question":"How loud?"}',
  volume: '{"level":"loud"}',
};

/** What the model is told, in the same words on every wire. */
const told = {
  weather: '{"city":"Oslo","celsius":21}',
  failed: "Tool get_weather failed: no such city",
  notExecuted: "The call of ask_user was not executed.",
  invalid:
    "The input of set_volume does not fit its schema: level: must be an integer, got a string. Correct the arguments and call it again.",
};

const error = (message: string) => JSON.stringify({ error: message });

/** Base64 as it comes, padding and all: one byte changed and the provider refuses the history. */
const signature = "EqoBCkYIARgCIkA+/x9sZz0aB4==";

interface Script {
  readonly adapter: Adapter;
  /** What the provider sends. */
  readonly events: readonly object[];
  readonly assistant: readonly object[];
  readonly results: readonly object[];
}

const chatCall = (index: number, id: string, name: string, more: object = {}) => ({
  choices: [
    { index: 0, delta: { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" }, ...more }] } },
  ],
});
const chatArguments = (index: number, text: string) => ({
  choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: text } }] } }],
});

const openaiChatScript: Script = {
  adapter: openaiChat,
  events: [
    { id: "c1", model: "m", choices: [{ index: 0, delta: { role: "assistant", reasoning_content: "Two " } }] },
    { choices: [{ index: 0, delta: { reasoning_content: "cities." } }] },
    { choices: [{ index: 0, delta: { content: "Let me look." } }] },
    chatCall(0, "functions.get_weather:0", "get_weather", {
      extra_content: { google: { thought_signature: signature } },
    }),
    chatCall(1, "call_2", "get_weather"),
    // Interleaved.
    chatArguments(0, args.oslo.slice(0, 5)),
    chatArguments(1, args.atlantis),
    chatArguments(0, args.oslo.slice(5)),
    chatCall(2, "call_3", "ask_user"),
    chatArguments(2, args.question),
    chatCall(3, "call_4", "set_volume"),
    chatArguments(3, args.volume),
    { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  ],
  assistant: [
    {
      role: "assistant",
      reasoning_content: "Two cities.",
      content: "Let me look.",
      tool_calls: [
        {
          id: "functions.get_weather:0",
          type: "function",
          function: { name: "get_weather", arguments: args.oslo },
          extra_content: { google: { thought_signature: signature } },
        },
        { id: "call_2", type: "function", function: { name: "get_weather", arguments: args.atlantis } },
        { id: "call_3", type: "function", function: { name: "ask_user", arguments: args.question } },
        { id: "call_4", type: "function", function: { name: "set_volume", arguments: args.volume } },
      ],
    },
  ],
  results: [
    { role: "tool", tool_call_id: "functions.get_weather:0", content: told.weather },
    { role: "tool", tool_call_id: "call_2", content: error(told.failed) },
    { role: "tool", tool_call_id: "call_3", content: error(told.notExecuted) },
    { role: "tool", tool_call_id: "call_4", content: error(told.invalid) },
  ],
};

const reasoningItem = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Two cities." }],
  encrypted_content: signature,
};
const messageItem = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Let me look.", annotations: [] }],
};
const functionItem = (number: number, name: string, text: string) => ({
  type: "function_call",
  id: `fc_${number}`,
  call_id: `call_${number}`,
  name,
  arguments: text,
  status: "completed",
});
const functionItems = [
  functionItem(1, "get_weather", args.oslo),
  functionItem(2, "get_weather", args.atlantis),
  functionItem(3, "ask_user", args.question),
  functionItem(4, "set_volume", args.volume),
];

const openaiResponsesScript: Script = {
  adapter: openaiResponses,
  events: [
    { type: "response.created", response: { id: "resp_1", model: "m" } },
    { type: "response.output_item.added", output_index: 0, item: { ...reasoningItem, summary: [] } },
    { type: "response.output_item.done", output_index: 0, item: reasoningItem },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { ...messageItem, content: [], status: "in_progress" },
    },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 1, content_index: 0, delta: "Let me look." },
    { type: "response.output_item.done", output_index: 1, item: messageItem },
    ...functionItems.flatMap((item, index) => [
      {
        type: "response.output_item.added",
        output_index: index + 2,
        item: { ...item, arguments: "", status: "in_progress" },
      },
      {
        type: "response.function_call_arguments.delta",
        item_id: item.id,
        output_index: index + 2,
        delta: item.arguments.slice(0, 4),
      },
      {
        type: "response.function_call_arguments.delta",
        item_id: item.id,
        output_index: index + 2,
        delta: item.arguments.slice(4),
      },
      { type: "response.output_item.done", output_index: index + 2, item },
    ]),
    {
      type: "response.completed",
      response: { id: "resp_1", status: "completed", output: [reasoningItem, messageItem, ...functionItems] },
    },
  ],
  // The items as they came.
  assistant: [reasoningItem, messageItem, ...functionItems],
  results: [
    { type: "function_call_output", call_id: "call_1", output: told.weather },
    { type: "function_call_output", call_id: "call_2", output: error(told.failed) },
    { type: "function_call_output", call_id: "call_3", output: error(told.notExecuted) },
    { type: "function_call_output", call_id: "call_4", output: error(told.invalid) },
  ],
};

const block = (index: number, content_block: object, ...deltas: readonly object[]) => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const toolUse = (id: string, name: string, input: object = {}) => ({ type: "tool_use", id, name, input });
const pieces = (text: string) =>
  [text.slice(0, 4), text.slice(4)].map((partial_json) => ({ type: "input_json_delta", partial_json }));

const anthropicScript: Script = {
  adapter: anthropic,
  events: [
    { type: "message_start", message: { id: "msg_1", model: "m", role: "assistant", content: [], usage: {} } },
    ...block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "Two " },
      { type: "thinking_delta", thinking: "cities." },
      { type: "signature_delta", signature },
    ),
    ...block(1, { type: "redacted_thinking", data: "EmwKAhgBEgy/0=" }),
    ...block(2, { type: "text", text: "" }, { type: "text_delta", text: "Let me look." }),
    ...block(3, toolUse("toolu_1", "get_weather"), ...pieces(args.oslo)),
    ...block(4, toolUse("toolu_2", "get_weather"), ...pieces(args.atlantis)),
    ...block(5, toolUse("toolu_3", "ask_user"), ...pieces(args.question)),
    ...block(6, toolUse("toolu_4", "set_volume"), ...pieces(args.volume)),
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ],
  assistant: [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Two cities.", signature },
        { type: "redacted_thinking", data: "EmwKAhgBEgy/0=" },
        { type: "text", text: "Let me look." },
        toolUse("toolu_1", "get_weather", { city: "Oslo" }),
        toolUse("toolu_2", "get_weather", { city: "Atlantis" }),
        toolUse("toolu_3", "ask_user", { question: "How loud?" }),
        toolUse("toolu_4", "set_volume", { level: "loud" }),
      ],
    },
  ],
  // All in one message, since every call wants its result in the next one; with the wire's own flag.
  results: [
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: told.weather },
        { type: "tool_result", tool_use_id: "toolu_2", content: told.failed, is_error: true },
        { type: "tool_result", tool_use_id: "toolu_3", content: told.notExecuted, is_error: true },
        { type: "tool_result", tool_use_id: "toolu_4", content: told.invalid, is_error: true },
      ],
    },
  ],
};

const content = (...parts: readonly object[]) => ({ candidates: [{ content: { role: "model", parts } }] });

const googleScript: Script = {
  adapter: google,
  events: [
    content({ text: "Two cities.", thought: true }),
    content({ text: "Let me look." }),
    content(
      { functionCall: { id: "g1", name: "get_weather", args: { city: "Oslo" } }, thoughtSignature: signature },
      { functionCall: { id: "g2", name: "get_weather", args: { city: "Atlantis" } } },
    ),
    content({ functionCall: { id: "g3", name: "ask_user", args: { question: "How loud?" } } }),
    {
      candidates: [
        {
          content: { parts: [{ functionCall: { id: "g4", name: "set_volume", args: { level: "loud" } } }] },
          finishReason: "STOP",
        },
      ],
    },
  ],
  assistant: [
    {
      role: "model",
      parts: [
        { text: "Two cities.", thought: true },
        { text: "Let me look." },
        // On the part on which it came, and on no other.
        { functionCall: { id: "g1", name: "get_weather", args: { city: "Oslo" } }, thoughtSignature: signature },
        { functionCall: { id: "g2", name: "get_weather", args: { city: "Atlantis" } } },
        { functionCall: { id: "g3", name: "ask_user", args: { question: "How loud?" } } },
        { functionCall: { id: "g4", name: "set_volume", args: { level: "loud" } } },
      ],
    },
  ],
  results: [
    {
      role: "user",
      parts: [
        {
          functionResponse: { id: "g1", name: "get_weather", response: { output: { city: "Oslo", celsius: 21 } } },
        },
        { functionResponse: { id: "g2", name: "get_weather", response: { error: told.failed } } },
        { functionResponse: { id: "g3", name: "ask_user", response: { error: told.notExecuted } } },
        { functionResponse: { id: "g4", name: "set_volume", response: { error: told.invalid } } },
      ],
    },
  ],
};

const interactionsStep = (index: number, step: object, ...deltas: object[]) => [
  { event_type: "step.start", index, step },
  ...deltas.map((delta) => ({ event_type: "step.delta", index, delta })),
  { event_type: "step.stop", index },
];
const interactionsCall = (index: number, id: string, name: string, text: string, more: object = {}) =>
  interactionsStep(
    index,
    { type: "function_call", id, name, arguments: {}, ...more },
    ...[text.slice(0, 4), text.slice(4)].map((piece) => ({ type: "arguments_delta", arguments: piece })),
  );

const googleInteractionsScript: Script = {
  adapter: googleInteractions,
  events: [
    { event_type: "interaction.created", interaction: { id: "v1_1", model: "m", status: "in_progress" } },
    ...interactionsStep(
      0,
      { type: "thought" },
      { type: "thought_summary", content: { type: "text", text: "Two " } },
      { type: "thought_summary", content: { type: "text", text: "cities." } },
      { type: "thought_signature", signature },
    ),
    ...interactionsStep(
      1,
      { type: "model_output" },
      { type: "text", text: "Let me " },
      { type: "text", text: "look." },
    ),
    ...interactionsCall(2, "i1", "get_weather", args.oslo, { signature }),
    ...interactionsCall(3, "i2", "get_weather", args.atlantis),
    ...interactionsCall(4, "i3", "ask_user", args.question),
    ...interactionsCall(5, "i4", "set_volume", args.volume),
    { event_type: "interaction.completed", interaction: { id: "v1_1", status: "requires_action" } },
  ],
  assistant: [
    { type: "thought", summary: [{ type: "text", text: "Two cities." }], signature },
    { type: "model_output", content: [{ type: "text", text: "Let me look." }] },
    { type: "function_call", id: "i1", name: "get_weather", arguments: { city: "Oslo" }, signature },
    { type: "function_call", id: "i2", name: "get_weather", arguments: { city: "Atlantis" } },
    { type: "function_call", id: "i3", name: "ask_user", arguments: { question: "How loud?" } },
    { type: "function_call", id: "i4", name: "set_volume", arguments: { level: "loud" } },
  ],
  results: [
    { type: "function_result", call_id: "i1", name: "get_weather", result: told.weather },
    { type: "function_result", call_id: "i2", name: "get_weather", result: told.failed, is_error: true },
    { type: "function_result", call_id: "i3", name: "ask_user", result: told.notExecuted, is_error: true },
    { type: "function_result", call_id: "i4", name: "set_volume", result: told.invalid, is_error: true },
  ],
};

const cohereCall = (index: number, id: string, name: string, text: string) => [
  {
    type: "tool-call-start",
    index,
    delta: { message: { tool_calls: { id, type: "function", function: { name, arguments: "" } } } },
  },
  ...[text.slice(0, 4), text.slice(4)].map((part) => ({
    type: "tool-call-delta",
    index,
    delta: { message: { tool_calls: { function: { arguments: part } } } },
  })),
  { type: "tool-call-end", index },
];

const cohereScript: Script = {
  adapter: cohere,
  events: [
    { type: "message-start", id: "m1", delta: { message: { role: "assistant" } } },
    // The plan is both: what it thinks and what it says before a call.
    { type: "tool-plan-delta", delta: { message: { tool_plan: "Let me " } } },
    { type: "tool-plan-delta", delta: { message: { tool_plan: "look." } } },
    ...cohereCall(0, "get_weather_k3v1", "get_weather", args.oslo),
    ...cohereCall(1, "get_weather_z9x2", "get_weather", args.atlantis),
    ...cohereCall(2, "ask_user_q0w7", "ask_user", args.question),
    ...cohereCall(3, "set_volume_p4l8", "set_volume", args.volume),
    { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
  ],
  assistant: [
    {
      role: "assistant",
      toolPlan: "Let me look.",
      toolCalls: [
        { id: "get_weather_k3v1", type: "function", function: { name: "get_weather", arguments: args.oslo } },
        { id: "get_weather_z9x2", type: "function", function: { name: "get_weather", arguments: args.atlantis } },
        { id: "ask_user_q0w7", type: "function", function: { name: "ask_user", arguments: args.question } },
        { id: "set_volume_p4l8", type: "function", function: { name: "set_volume", arguments: args.volume } },
      ],
    },
  ],
  results: [
    { role: "tool", toolCallId: "get_weather_k3v1", content: told.weather },
    { role: "tool", toolCallId: "get_weather_z9x2", content: error(told.failed) },
    { role: "tool", toolCallId: "ask_user_q0w7", content: error(told.notExecuted) },
    { role: "tool", toolCallId: "set_volume_p4l8", content: error(told.invalid) },
  ],
};

const scripts: readonly Script[] = [
  openaiChatScript,
  openaiResponsesScript,
  anthropicScript,
  googleScript,
  googleInteractionsScript,
  cohereScript,
];

/** Reads a conversation and runs what can be run. */
async function play({ adapter, events }: Script, offered: readonly Tool[] = tools): Promise<Turn> {
  const stream = adapter.read(iterate(events), { tools: offered });
  for await (const event of stream) {
    if (event.type !== "tool-use" || event.use.tool.mode === "external") continue;
    await event.use.execute().catch(() => {}); // what failed is told with the results
  }
  return stream.turn;
}

describe.each(scripts)("the history of $adapter.name", (script) => {
  const { adapter, assistant, results } = script;

  it("is what came, with one result a call", async () => {
    const turn = await play(script);
    expect(adapter.assistantMessage(turn)).toEqual(assistant);
    expect(adapter.toolResults(turn)).toEqual(results);
  });

  it("is the same however often it is asked for, and can be stored as JSON", async () => {
    const turn = await play(script);
    const history = [...adapter.assistantMessage(turn), ...adapter.toolResults(turn)];
    expect([...adapter.assistantMessage(turn), ...adapter.toolResults(turn)]).toEqual(history);
    expect(JSON.parse(JSON.stringify(history))).toEqual(history);
  });

  it("takes the answer of the caller for the external call, one result at a time", async () => {
    const turn = await play(script);
    const one = turn.calls.map(({ outcome }) => {
      if (!(outcome instanceof ToolUse)) return adapter.toolError(outcome!);
      if (outcome.error !== undefined) return adapter.toolError(outcome.error);
      return adapter.toolResult(outcome, outcome.tool.mode === "external" ? "Not very." : outcome.result);
    });
    const ids = (messages: readonly unknown[]) => resultIds[adapter.name]!(messages as never);
    expect(ids(one)).toEqual(ids(results));
    expect(JSON.stringify(one)).toContain("Not very.");
    expect(JSON.stringify(one)).not.toContain("not executed");
  });

  it("has no half characters, as a text has that was cut by its length", async () => {
    const half = "\u{1F600}".slice(0, 1);
    const getWeather = ({ city }: { city: string }) => {
      if (city === "Atlantis") throw new Error(`no such city ${half}`);
      return `21 degrees ${half}`;
    };
    const turn = await play(script, [
      { ...tools[0]!, execute: getWeather },
      { ...tools[1]!, mode: "internal", execute: () => ({ [half]: [half] }) },
    ]);
    const sent = JSON.stringify(adapter.toolResults(turn));
    for (const mended of ["21 degrees \ufffd", "no such city \ufffd"]) expect(sent).toContain(mended);
    expect(sent.replaceAll("\\", "")).toContain('{"\ufffd":["\ufffd"]}');
    expect(sent).not.toContain("\\ud");
  });

  it.each<[unknown, string]>([
    [{ rows: 10n }, "Do not know how to serialize a BigInt"],
    [new Response("{}"), "the output holds an instance of Response, for which JSON has no form"],
    [new Map([["a", 1]]), "the output holds an instance of Map, for which JSON has no form"],
    [new Uint8Array([1]), "the output holds an instance of Uint8Array, for which JSON has no form"],
    [Buffer.from("hi"), "the output holds an instance of Buffer, for which JSON has no form"],
    [new ArrayBuffer(8), "the output holds an instance of ArrayBuffer, for which JSON has no form"],
    [
      { city: "Oslo", celsius: Promise.resolve(21) },
      "the output holds an instance of Promise, for which JSON has no form",
    ],
    [{ cities: [new Map([["Oslo", 21]])] }, "the output holds an instance of Map, for which JSON has no form"],
    [{ page: 1, png: new Uint8Array([1]) }, "the output holds an instance of Uint8Array, for which JSON has no form"],
    [{ page: 1, png: Buffer.from("hi") }, "the output holds an instance of Buffer, for which JSON has no form"],
    [{ toJSON: () => [new Map()] }, "the output holds an instance of Map, for which JSON has no form"],
  ])("tells of an output that JSON cannot say, and has the results of the other calls: %o", async (output, why) => {
    const askUser: Tool = { ...tools[1]!, mode: "internal", execute: () => output };
    const turn = await play(script, [tools[0]!, askUser, tools[2]!]);
    const said = `Tool ask_user has run, but its output cannot be sent: ${why}`;
    const expected = JSON.parse(JSON.stringify(results).replace(told.notExecuted, said)) as unknown;
    expect(adapter.toolResults(turn)).toEqual(expected);
  });

  it("sends objects that are empty, and those that look like bytes", async () => {
    const cities = Object.assign([{ 0: "Oslo" }, {}, Object.create(null) as object], { source: new Map() });
    const output = { none: {}, at: new Date(0), toJSON: 1, cities };
    const askUser: Tool = { ...tools[1]!, mode: "internal", execute: () => output };
    const turn = await play(script, [tools[0]!, askUser, tools[2]!]);
    expect(JSON.stringify(adapter.toolResults(turn)).replaceAll("\\", "")).toContain(JSON.stringify(output));
  });

  it("sends what an instance of a class says of itself", async () => {
    class Celsius {
      readonly #degrees = 21;
      // As in Temporal, whose objects have no primitive value.
      valueOf(): never {
        throw new TypeError("Use Celsius.compare() instead.");
      }
      toJSON() {
        return { degrees: this.#degrees };
      }
    }
    const askUser: Tool = { ...tools[1]!, mode: "internal", execute: () => new Celsius() };
    const turn = await play(script, [tools[0]!, askUser, tools[2]!]);
    expect(JSON.stringify(adapter.toolResults(turn)).replaceAll("\\", "")).toContain('{"degrees":21}');
  });

  it("waits for what still runs", async () => {
    const stream = adapter.read(iterate(script.events), { tools });
    await stream.done();
    const running = (stream.turn.calls[0]!.outcome as ToolUse).execute();
    expect(() => adapter.toolResults(stream.turn)).toThrow(/is running/);
    await running;
    expect(adapter.toolResults(stream.turn)).toHaveLength(results.length);
  });
});

type Items = readonly Record<string, any>[];
type GooglePart = { functionCall?: { id?: string; name: string }; functionResponse?: { id?: string; name: string } };
type Ids = Readonly<Record<string, (messages: Items) => unknown[]>>;

/** The calls of a history by their ids (or names, where a wire has no ids), in order. */
const callIds: Ids = {
  "openai-chat": (messages) =>
    messages.flatMap(({ function_call, tool_calls = [] }) => [
      ...(function_call === undefined ? [] : [function_call.name]),
      ...tool_calls.map(({ id }: { id: string }) => id),
    ]),
  "openai-responses": (items) =>
    items.filter(({ type }) => type === "function_call" || type === "custom_tool_call").map(({ call_id }) => call_id),
  anthropic: (messages) =>
    messages.flatMap(({ content: blocks }) =>
      blocks.filter(({ type }: { type: string }) => type === "tool_use").map(({ id }: { id: string }) => id),
    ),
  google: (contents) =>
    contents.flatMap(({ parts }) => {
      // What the provider's own side has called has its answer in the same content.
      const answered = parts.map(({ functionResponse }: GooglePart) => functionResponse?.name);
      return parts.flatMap(({ functionCall }: GooglePart) =>
        functionCall === undefined || answered.includes(functionCall.name)
          ? []
          : [functionCall.id ?? functionCall.name],
      );
    }),
  "google-interactions": (steps) => {
    const answered = steps.map(({ call_id }) => call_id);
    return steps.filter(({ type, id }) => type === "function_call" && !answered.includes(id)).map(({ id }) => id);
  },
  cohere: (messages) => messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }: { id: string }) => id)),
};

const resultIds: Ids = {
  "openai-chat": (messages) => messages.map(({ tool_call_id, name }) => tool_call_id ?? name),
  "openai-responses": (items) => items.map(({ call_id }) => call_id),
  anthropic: (messages) =>
    messages.flatMap(({ content: blocks }) => blocks.map(({ tool_use_id }: { tool_use_id: string }) => tool_use_id)),
  google: (contents) =>
    contents.flatMap(({ parts }) =>
      parts.map(({ functionResponse }: GooglePart) => functionResponse!.id ?? functionResponse!.name),
    ),
  "google-interactions": (steps) => steps.map(({ call_id }) => call_id),
  cohere: (messages) => messages.map(({ toolCallId }) => toolCallId),
};

/** Promise 7: whatever became of the calls, and wherever the stream was cut. */
describe.each(adapters.map(({ adapter }) => adapter))(
  "every call of $name has one result, in call order",
  (adapter) => {
    it.each(fixtureNames(adapter.name))("%s", async (name) => {
      const { bytes, isWhole, tools: offered } = loadFixture(adapter.name, name);
      const cuts = isWhole ? [1] : [1, 0.9, 0.75, 0.6, 0.5, 0.4, 0.25, 0.1];
      for (const cut of cuts) {
        const stream = adapter.read(bodyOf(bytes.subarray(0, Math.ceil(bytes.length * cut))), { tools: offered });
        let number = 0;
        for await (const event of stream) {
          // Every other one is left alone.
          if (event.type === "tool-use" && offered !== undefined && number++ % 2 === 0) await event.use.execute();
        }
        const history = adapter.assistantMessage(stream.turn);
        const results = adapter.toolResults(stream.turn);
        expect(resultIds[adapter.name]!(results)).toEqual(callIds[adapter.name]!(history));
        expect(resultIds[adapter.name]!(results)).toHaveLength(stream.turn.calls.length);
      }
    });
  },
);

function bodyOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

describe("something else in the place of a turn", () => {
  it.each(adapters)("$adapter.name says what to give", ({ adapter }) => {
    const stream = adapter.read(new Response(""), {});
    for (const write of [adapter.assistantMessage, adapter.toolResults, summarize]) {
      expect(() => write(stream as never)).toThrow(/stream\.turn.*Got the stream/);
      expect(() => write(stream.done() as never)).toThrow(/Got a promise/);
      expect(() => write(undefined as never)).toThrow(/Got undefined/);
    }
  });
});
