import { describe, expect, it } from "vitest";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { rescueTextCalls, textJson, type NotationName, type TextAdapter } from "../../adapters/text-json/index.ts";
import { notations } from "../../adapters/text-json/notations/index.ts";
import {
  defineTool,
  jsonSchema,
  ToolCallError,
  ToolError,
  ToolUse,
  type FinishReason,
  type Tool,
  type Turn,
} from "../../src/index.ts";
import type { JsonDialect } from "../../adapters/text-json/prompt.ts";
import { busyMs } from "../busy-ms.ts";
import { loadFixture, sharedTools } from "../fixtures.ts";
import { readText, said as saidIn, textOf } from "./support.ts";
import { iterate } from "../iterate.ts";

const names = Object.keys(notations) as NotationName[];

/** The input of each call, or why there is none. */
function outcomesOf({ calls }: Pick<Turn, "calls">): unknown[] {
  return calls.map(({ outcome }) => (outcome instanceof ToolUse ? outcome.input : outcome?.code));
}

/** In one piece, and character by character. */
async function expectRead(
  adapter: TextAdapter,
  text: string,
  outcomes: unknown[],
  said?: string,
  tools: readonly Tool[] = sharedTools,
): Promise<void> {
  for (const pieces of [[text], text.split("")]) {
    const { turn } = await readText(adapter, pieces, tools);
    expect(outcomesOf(turn)).toEqual(outcomes);
    if (said !== undefined) expect(turn.text).toBe(said);
  }
}

describe.each(names)("text-json/%s", (name) => {
  const adapter = textJson(name);

  it("describes the tools and how they are called", () => {
    const prompt = adapter.describeTools(sharedTools);
    for (const tool of sharedTools) expect(prompt).toContain(tool.name);
    expect(prompt).toContain("Current weather of a city.");
  });

  it("what it writes of calls, it reads", async () => {
    const { turn } = await readText(adapter, [textOf(loadFixture(adapter.name, "parallel"))], sharedTools);
    const written = adapter.assistantMessage({ ...copyOf(turn), native: undefined });
    const again = await readText(adapter, [written[0]!.content], sharedTools);
    expect(again.turn.calls.map((call) => call.input)).toEqual(turn.calls.map((call) => call.input));
  });

  it("a call is handed out where it ends, though the text goes on", async () => {
    const call = { id: null, name: "get_weather", args: { city: "Oslo" }, tool: undefined, metadata: {} };
    const pieces = [notations[name].writeCalls([call]), "\nand", " so on"];
    const types = (await readText(adapter, pieces, sharedTools)).events.map(({ type }) => type);
    expect(types).toContain("tool-use");
    expect(types.indexOf("tool-use")).toBeLessThan(types.lastIndexOf("text-delta"));
  });

  it("calls that came over another wire are written as its own, whatever their ids", async () => {
    const { bytes } = loadFixture("openai-chat", "parallel");
    const turn = await openaiChat.read(new Response(new Uint8Array(bytes)), { tools: sharedTools }).done();
    const [written] = adapter.assistantMessage(turn);
    const again = await readText(adapter, [written!.content], sharedTools);
    const said = ({ calls }: Pick<typeof turn, "calls">) => calls.map(({ name: called, input }) => [called, input]);
    expect(said(again.turn)).toEqual(said(turn));
    if (name === "kimi")
      expect(adapter.toolResults(turn)[0]!.content).toContain(`## Return of ${turn.calls[0]!.name}\n`);
  });

  it("a history is what the model wrote, and one message with all results", async () => {
    const text = textOf(loadFixture(adapter.name, "parallel"));
    const { turn } = await readText(adapter, [text], sharedTools);
    expect(adapter.assistantMessage(turn)).toEqual([{ role: "assistant", content: text }]);
    for (const { outcome } of turn.calls) if (outcome instanceof ToolUse) await outcome.execute();
    const [message, ...more] = adapter.toolResults(turn);
    expect([message!.role, more]).toEqual(["user", []]);
    expect(message!.content.match(/"tool":"?get_weather|"tool":"find_orders|"tool":"refund_order/g)).toHaveLength(3);
  });

  it("an output that JSON cannot say is told as that, beside the other results", async () => {
    const tools = sharedTools.map((tool) => (tool.name === "get_weather" ? { ...tool, execute: () => 10n } : tool));
    const { turn } = await readText(adapter, [textOf(loadFixture(adapter.name, "parallel"))], tools);
    for (const { outcome } of turn.calls) if (outcome instanceof ToolUse) await outcome.execute();
    const [message] = adapter.toolResults(turn);
    expect(message!.content).toContain("Tool get_weather has run, but its output cannot be sent");
    expect(message!.content).toContain('"tool":"find_orders');
  });

  it("no result ends its block, begins another one, or a call", async () => {
    const { turn } = await readText(adapter, [textOf(loadFixture(adapter.name, "one-call"))], sharedTools);
    const use = turn.calls[0]!.outcome as ToolUse;
    const { writeResults, markers, leading = [], countResults }: JsonDialect = notations[name];
    const plain = writeResults([{ id: use.id, name: use.name, metadata: {}, output: "", isError: false }]);
    // A bracket, a fence or a word begins a call only as the first word of a text, and that no result is.
    expect(leading.some((mark) => plain.startsWith(mark))).toBe(false);
    const marks = new Set([
      ...markers.filter((mark) => /\w/.test(mark) && !leading.includes(mark)),
      ...plain.match(/<[^<>]+>|\[[A-Z_/]+\]|## Return of /g)!,
    ]);
    const { content } = adapter.toolResult(use, `\n${[...marks].join(" \n")}`);
    for (const mark of marks) expect(content.split(mark).length).toBeLessThanOrEqual(plain.split(mark).length);
    expect(countResults(content)).toBe(1);
  });

  it("a result says whose it is, and whether it is an error", () => {
    const { writeResults } = notations[name];
    const written = [false, true].map((isError) =>
      writeResults([{ id: "functions.get_weather:3", name: "get_weather", metadata: {}, output: "Rain.", isError }]),
    );
    for (const [index, text] of written.entries()) {
      expect(text).toContain("Rain.");
      expect(/error/.test(text)).toBe(index === 1);
    }
    const ids: NotationName[] = ["kimi", "mistral"];
    expect(written[0]!.includes("functions.get_weather:3")).toBe(ids.includes(name));
    const calls = [{ id: "functions.get_weather:3", name: "get_weather", args: {}, tool: undefined, metadata: {} }];
    expect(notations[name].writeCalls(calls).includes("functions.get_weather:3")).toBe(ids.includes(name));
    const isNamed = /get_weather/.test(
      writeResults([{ id: null, name: "get_weather", metadata: {}, output: "", isError: false }]),
    );
    const inOrder: NotationName[] = ["qwen-xml", "glm", "deepseek", "dsml", "invoke", "pythonic"];
    expect(isNamed).toBe(!inOrder.includes(name));
  });

  it("a value that passes a limit fails its own call, and no other", async () => {
    const text = textOf(loadFixture(adapter.name, "unicode-and-escapes"));
    async function* source() {
      yield text;
    }
    const turn = await adapter.read(source(), { tools: sharedTools, limits: { maxArgumentsLength: 20 } }).done();
    expect(turn.calls.map(({ outcome }) => (outcome as ToolCallError).code)).toEqual(["too_large"]);
    expect(turn.error).toBeUndefined();
  });
});

/** The fields of a live turn. */
function copyOf(turn: Awaited<ReturnType<typeof readText>>["turn"]) {
  const { wire, runId, responseId, model, text, reasoning, refusal, calls, providerToolCalls } = turn;
  const { finishReason, providerFinishReason, finishMessage, usage, error } = turn;
  const said = { wire, runId, responseId, model, text, reasoning, refusal, calls, providerToolCalls };
  return { ...said, finishReason, providerFinishReason, finishMessage, usage, error };
}

describe("text from elsewhere", () => {
  it("is read from another adapter's stream, whose failure is the turn's", async () => {
    const { bytes, tools } = loadFixture("text-json/rescue", "one-call");
    async function* body() {
      yield bytes;
    }
    const hermes = textJson("hermes");
    const stream = hermes.read(openaiChat.read(body()), { tools });
    const turn = await stream.done();
    expect(turn).toMatchObject({ wire: "text-json/hermes", model: "Qwen/Qwen3-8B", providerFinishReason: "stop" });
    expect(outcomesOf(turn)).toEqual([{ city: "Oslo" }]);
    expect(hermes.assistantMessage(turn)[0]!.content).toContain("<tool_call>");

    const cut = await hermes.read(openaiChat.read(new Response(bytes.slice(0, 900))), { tools }).done();
    expect(cut.error).toMatchObject({ code: "connection_lost" });
    expect(cut.calls.every(({ released }) => !released)).toBe(true);
  });

  it.each([
    ["truncated", "truncated"],
    ["rejected", "rejected"],
    ["unknown_tool", { level: 1 }],
  ] as const)(
    "may come with a call that failed on its wire, which only its tool may mend: %s",
    async (code, outcome) => {
      const call = { turnIndex: 0, position: 0, id: "1", name: "set_volume", argsText: '{"level":1}', metadata: {} };
      const error = new ToolCallError(code, "It failed.", call as never);
      const source = iterate<any>([
        { type: "tool-error", error },
        { type: "finish", reason: "tool-use" },
      ]);
      const turn = await textJson("hermes").read(source, { tools: sharedTools }).done();
      expect(outcomesOf(turn)).toEqual([outcome]);
    },
  );

  it("is read from a ReadableStream of strings, and from one string", async () => {
    const text = '<tool_call>{"name":"now"}</tool_call>';
    const hermes = textJson("hermes");
    const turn = await hermes
      .read(new Response(text).body!.pipeThrough(new TextDecoderStream()), { tools: sharedTools })
      .done();
    expect(turn.calls).toHaveLength(1);
    expect(hermes.parse(text, { tools: sharedTools }).map(({ type }) => type)).toEqual([
      "tool-input-start",
      "tool-use",
      "finish",
    ]);
  });

  it.each<[string, object, string]>([
    ["text-delta", { text: "Hi" }, "undefined"],
    ["text-delta", { delta: { text: "Hi" } }, "an object"],
    ["reasoning-delta", { delta: null }, "null"],
    ["refusal-delta", { delta: 5 }, "a number"],
  ])("has to have its text: a %s of %j ends the turn with an error that says what came", async (type, fields, got) => {
    const source = iterate<any>([
      { type: "text-delta", delta: "Let me see." },
      { type, ...fields },
    ]);
    const { text, error } = await textJson("hermes").read(source).done();
    expect(text).toBe("Let me see.");
    expect(error).toMatchObject({
      code: "invalid_event",
      message: `An event of the stream cannot be read: the delta of a ${type} is a string, got ${got}.`,
    });
  });

  it.each<[string, object, object]>([
    ["a start", { type: "start", responseId: 5, model: {} }, { responseId: undefined, model: undefined }],
    ["a call of nobody", { type: "provider-tool" }, { providerToolCalls: [] }],
    ["no usage", { type: "usage", usage: "much" }, { usage: undefined }],
    ["a word that is none of ours", { type: "finish", reason: "tool-calls" }, { providerFinishReason: "tool-calls" }],
    ["a finish without a word", { type: "finish" }, { finishReason: "unknown", providerFinishReason: null }],
    ["an error that says nothing", { type: "error" }, { error: { code: "provider_error" } }],
  ])("may hold %s", async (_, event, turn) => {
    const source = iterate<any>([{ type: "text-delta", delta: "Hi" }, event, { type: "finish", reason: "unknown" }]);
    const read = await textJson("hermes").read(source).done();
    expect(read).toMatchObject({ text: "Hi", ...turn });
    expect(read.error?.message ?? "").not.toMatch(/undefined|Cannot/);
  });

  it("may be strings among events", async () => {
    const events = [{ type: "reasoning-delta", delta: "Hm." }, "Hi", ' {"a":1}', { type: "finish", reason: "stop" }];
    const read = await textJson("hermes").read(iterate<any>(events)).done();
    expect(read).toMatchObject({ text: 'Hi {"a":1}', reasoning: "Hm.", finishReason: "stop" });
  });

  it("may be as JSON, which says what has failed, but not the cause", async () => {
    const cause = new Error("connect 10.0.0.1");
    const error = new ToolError("connection_lost", "The stream broke off.", { cause });
    const source = iterate([JSON.parse(JSON.stringify({ type: "error", error }))]);
    const read = await textJson("hermes").read(source).done();
    expect(read.error).toMatchObject({ code: "provider_error", message: "The stream broke off." });
    expect(JSON.stringify(error)).not.toContain("10.0.0.1");
  });

  const broken: Record<string, () => AsyncGenerator<any>> = {
    "a connection that is lost": async function* () {
      yield* [];
      throw new Error("reset");
    },
    "an event that cannot be read": () => iterate([{ type: "text-delta" }]),
    "bytes that are no event": () => iterate([new TextEncoder().encode("{no}\n")]),
  };
  const [hermes, rescuing] = [textJson("hermes"), rescueTextCalls(openaiChat)];
  it.each(Object.entries(broken))("is all told where it ends with %s", async (_, end) => {
    for (const [text, said, calls] of [
      ["So <tool_", "So <tool_", []],
      ['So <tool_call>{"na', "So ", ["truncated"]],
    ] as const) {
      const delta = { type: "text-delta", delta: text };
      const chunk = { id: "1", choices: [{ index: 0, delta: { content: text } }] };
      for (const [adapter, event] of [
        [hermes, delta],
        [rescueTextCalls(hermes), delta],
        [rescuing, chunk],
      ] as const) {
        const bytes = new TextEncoder().encode(`${JSON.stringify(event)}\n`);
        async function* source() {
          yield end === broken["bytes that are no event"] ? bytes : event;
          yield* end();
        }
        const turn = await adapter.read(source() as never, { tools: sharedTools }).done();
        expect([turn.text, outcomesOf(turn)]).toEqual([said, calls]);
        expect(turn.error).toBeDefined();
      }
    }
  });

  it("that is aborted tells no more", async () => {
    const abort = new AbortController();
    async function* source() {
      yield "So <tool_";
      abort.abort();
      yield "call>";
    }
    const stream = hermes.read(source(), { signal: abort.signal });
    expect(await stream.done()).toMatchObject({ text: "So ", error: { code: "aborted" } });
  });

  it.each(["lost", "aborted"])("that is %s has not ended: nothing is added to it", async (how) => {
    const abort = new AbortController();
    const text = 'So <tool_call>{"name":"now","arguments":{}}';
    async function* source() {
      yield text;
      if (how === "lost") throw new Error("reset");
      abort.abort();
      yield "</tool_call>";
    }
    const stop = "</tool_call>";
    const turn = await hermes.read(source(), { tools: sharedTools, stop, signal: abort.signal }).done();
    expect(turn).toMatchObject({ finishReason: "error", calls: [{ outcome: { code: "truncated" } }] });
    expect(hermes.assistantMessage(turn)).toMatchObject([{ content: text }]);
  });

  it("that throws has lost its connection: no write is released", async () => {
    async function* source() {
      yield '<tool_call>{"name":"set_volume","arguments":{"level":1}}</tool_call>';
      throw new Error("reset");
    }
    const turn = await textJson("hermes").read(source(), { tools: sharedTools }).done();
    expect(turn.error).toMatchObject({ code: "connection_lost" });
    expect(turn.calls[0]!.outcome).toMatchObject({ code: "turn_not_finished" });
  });
});

describe("arguments under another key than their own", () => {
  const clock = (schema: object) =>
    defineTool({ name: "clock", effect: "read", inputSchema: jsonSchema({ type: "object", ...schema }) });
  const zoned = clock({ properties: { zone: { type: "string" } } });
  const envelope = (call: string): [NotationName, string][] => [
    ["hermes", `<tool_call>${call}</tool_call>`],
    ["mistral", `[TOOL_CALLS][${call}]`],
    ["function-tag", `<|python_tag|>${call}`],
  ];
  it.each([
    ...envelope('{"name": "clock", "args": {"zone": "UTC"}}'),
    ...envelope('{"name": "clock", "zone": "UTC"}'),
    ...envelope('{"type": "function", "function": {"name": "clock", "input": {"zone": "UTC"}}}'),
    ...envelope('{"zone": "UTC", "name": "clock"}'),
  ])("are no call without arguments: %s, %s", async (name, text) => {
    const { turn } = await readText(textJson(name), [text], [zoned]);
    const { outcome } = turn.calls[0]!;
    expect(outcome).toMatchObject({ code: "invalid_call", call: { name: "clock" } });
    expect((outcome as ToolCallError).message).toMatch(/it has "(args|zone|input)", but no "arguments"/);
  });

  it.each([
    ...envelope('{"name": "clock"}'),
    ...envelope('{"type": "function", "index": 0, "id": "a", "function": {"name": "clock"}}'),
    ...envelope('{"thought": "The time, then.", "name": "clock", "arguments": {}}'),
  ])("are told apart from what else stands in a call: %s, %s", async (name, text) => {
    const { turn } = await readText(textJson(name), [text], [zoned]);
    expect(outcomesOf(turn)).toEqual([{}]);
  });

  it.each([
    ...envelope('{"name": "clock", "reason": "check"}'),
    ...envelope('{"name": "clock", "args": {}}'),
    ...envelope('{"type": "function", "function": {"name": "clock", "strict": true}}'),
  ])("are not missing where the tool has no parameters: %s, %s", async (name, text) => {
    const { turn } = await readText(textJson(name), [text], [clock({})]);
    expect(outcomesOf(turn)).toEqual([{}]);
  });

  it("are missing where the tool is not known, too", async () => {
    await expectRead(textJson("hermes"), '<tool_call>{"name": "unknown", "args": {}}</tool_call>', ["invalid_call"]);
  });

  it("are none either behind a call that has arguments", async () => {
    const text = '<tool_call>[{"name": "clock", "arguments": {}}, {"name": "clock", "zone": "UTC"}]</tool_call>';
    const { turn } = await readText(textJson("hermes"), [text], [zoned]);
    expect(outcomesOf(turn)).toEqual([{}, "invalid_call"]);
  });

  it.each([
    { additionalProperties: { type: "string" } },
    { patternProperties: { zone: {} } },
    { anyOf: [{ properties: { zone: {} } }, {}] },
    { allOf: [{ properties: { zone: {} } }] },
    { $ref: "#/$defs/zoned", $defs: { zoned: { properties: { zone: {} } } } },
  ])("are missing where the schema takes any: %j", async (schema) => {
    const text = '<tool_call>{"name": "clock", "zone": "UTC"}</tool_call>';
    const { turn } = await readText(textJson("hermes"), [text], [clock(schema)]);
    expect(turn.calls[0]!.outcome).toMatchObject({ code: "invalid_call" });
  });
});

describe("the name of a parameter", () => {
  it.each<NotationName>(["dsml", "invoke", "xtml"])("is read as %s has written it", async (name) => {
    const args = { "a&b": "1", "a&amp;b": "2", 'a"b': "3", "&quot;": "4" };
    const text = notations[name].writeCalls([{ id: null, name: "note", args, tool: undefined, metadata: {} }]);
    const { turn } = await readText(textJson(name), [text]);
    expect(turn.calls.map(({ argsText }) => argsText)).toEqual([JSON.stringify(args)]);
  });
});

describe("two values for the arguments of one call", () => {
  it.each<[NotationName, string]>([
    ["function-tag", "<function=now>@</function>"],
    ["kimi", "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>@<|tool_call_end|>"],
    ["deepseek", "<｜tool▁call▁begin｜>now<｜tool▁sep｜>@<｜tool▁call▁end｜>"],
    ["harmony", "<|channel|>commentary to=functions.now<|message|>@<|call|>"],
    ["dsml", '<|DSML|invoke name="now">@</|DSML|invoke>'],
  ])("are none, in any pieces: %s", async (name, call) => {
    for (const args of ['{}{"a":1}', '{"a":1}\n{"a":1}', "{'a':1}{}"]) {
      const text = call.replace("@", args);
      for (const pieces of [[text], text.split(""), text.split(/(?<=\})/)]) {
        const { turn } = await readText(textJson(name), pieces);
        expect(turn.calls.map(({ outcome }) => (outcome as ToolCallError).code)).toEqual(["invalid_call"]);
      }
    }
  });
});

describe("a call of hermes", () => {
  const list = '[{"name": "now", "arguments": {}}, {"name": "get_weather", "arguments": {"city": "<TOOLCALL>"}}]';
  const action = '[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}]';
  it.each<[string, string, unknown[]]>([
    ["Hunyuan", `<tool_calls>${list}</tool_calls>`, [{}, { city: "<TOOLCALL>" }]],
    ["Nemotron", `<TOOLCALL>${list}</TOOLCALL>`, [{}, { city: "<TOOLCALL>" }]],
    ["Phi", `<|tool_call|>${list}<|/tool_call|>`, [{}, { city: "<TOOLCALL>" }]],
    ["Phi, as vLLM and Ollama prompt it", `functools${list}`, [{}, { city: "<TOOLCALL>" }]],
    ["LFM2, asked for JSON", `<|tool_call_start|>${list}<|tool_call_end|>`, [{}, { city: "<TOOLCALL>" }]],
    ["LongCat", `<longcat_tool_call>${list}</longcat_tool_call>`, [{}, { city: "<TOOLCALL>" }]],
    ["Command", `<|START_ACTION|>${action}<|END_ACTION|>`, [{ city: "Oslo" }]],
  ])("is read in the marks of %s", async (model, text, inputs) => {
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textJson("hermes"), pieces, sharedTools);
      expect(outcomesOf(turn)).toEqual(inputs);
      expect(turn.calls[0]!.id).toBe(model === "Command" ? "0" : null);
      expect(turn.text).toBe("");
    }
  });

  const keyed = (calls: string) => `<|tools_prefix|>${calls}<|tools_suffix|>`;
  const now = '{"name": "now", "arguments": {}}';
  const tool = '{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}';
  it.each<[string, string, unknown[], string]>([
    [
      "may be named by its key",
      `${keyed('[{"get_weather": {"city": "name"}}, {"now": {}}]')}.`,
      [{ city: "name" }, {}],
      ".",
    ],
    ["may be named so without a list", keyed('{"now": {}}'), [{}], ""],
    ["has one name", keyed('[{"now": {}, "get_weather": {"city": "Oslo"}}, {"now": {}}]'), ["invalid_call", {}], ""],
    ["has its keys only inside", keyed('[{"name": "now", "arguments": {}}]'), ["invalid_call"], ""],
    ["has a long name", keyed(`[{"${"x".repeat(100)}": {}}]`), ["unknown_tool"], ""],
    ["is cut behind a key", '<|tools_prefix|>[{"now": ', ["truncated"], ""],
    ["is cut before its end", '<|tools_prefix|>[{"now": {}}', ["truncated"], ""],
    ["is none without a key", keyed("[{}]"), [], keyed("[{}]")],
    ["may end with the message", `So.<|function_call|>${now}`, [{}], "So."],
    ["may end with the mark of a message", `<|function_call|>${now}</s>`, [{}], ""],
    ["may begin with a message", `So.<|message_sep|>\n\nfunction call<|role_sep|>\n${now}`, [{}], "So."],
    ["may follow another without an end", `<|function_call|>${now}<|function_call|>${now}`, [{}, {}], ""],
    ["may follow another in either form", `function call<|role_sep|>\n${now}\n`.repeat(2), [{}, {}], ""],
    ["may stand where tools are described", `So. <tools>[${now}]</tools> and`, [{}], "So.  and"],
    ["is no description", `<tools>${tool}</tools>`, [], `<tools>${tool}</tools>`],
    ["is no list of them", `<tools>\n[${tool}]\n</tools>`, [], `<tools>\n[${tool}]\n</tools>`],
    [
      "is none by its name and parameters",
      `<tools>${tool.slice(33, -1)}</tools>`,
      [],
      `<tools>${tool.slice(33, -1)}</tools>`,
    ],
    [
      "is none of an unknown tool there",
      `<tools>${now.replace("now", "x")}</tools>`,
      [],
      `<tools>${now.replace("now", "x")}</tools>`,
    ],
    ["is none of other tags", "<tools><tool>now</tool></tools>", [], "<tools><tool>now</tool></tools>"],
    ["is cut without its last bracket", `<|function_call|>${now.slice(0, -1)}`, ["truncated"], ""],
    ["is none behind words", `The mark <|function_call|> and ${now}`, [], `The mark <|function_call|> and ${now}`],
    ["is none in an import", "import functools\nfunctools [1]", [], "import functools\nfunctools [1]"],
    ["is none in code", `\`<|function_call|>${now}\``, [], `\`<|function_call|>${now}\``],
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("hermes"), text, outcomes, said);
  });

  it("that has no end mark does not run in a turn that was cut off", async () => {
    const pieces = [`<|function_call|>${now}`, { type: "finish" as const, reason: "length" as const }];
    const { turn } = await readText(textJson("hermes"), pieces, sharedTools);
    expect(outcomesOf(turn)).toEqual(["truncated"]);
  });
});

describe("a call of mistral", () => {
  it.each<[string, string, unknown[], string]>([
    ["has its name behind the mark", "[TOOL_CALLS]now{}[TOOL_CALLS]now[ARGS] {}", [{}, {}], ""],
    ["may have an id", "[TOOL_CALLS]now[CALL_ID]abc[ARGS]{} and", [{}], " and"],
    ["is cut behind its name", "[TOOL_CALLS]now", ["truncated"], ""],
    ["is cut behind its id", "[TOOL_CALLS]now[CALL_ID]abc", ["truncated"], ""],
    ["is cut behind the mark of its arguments", "[TOOL_CALLS]now[ARGS]\n", ["truncated"], ""],
    [
      "takes nothing from the next one, if a quote has no end",
      '[TOOL_CALLS]now{"a": "b}[TOOL_CALLS]now{} and',
      ["truncated", {}],
      " and",
    ],
    ["nor if a bracket has none", '[TOOL_CALLS]now[ARGS]{"a": {"b": 1}[TOOL_CALLS]now{}', ["truncated", {}], ""],
    [
      "nor in a list",
      '[TOOL_CALLS][{"name": "now", "arguments": {"a": "b}}] [TOOL_CALLS][{"name": "now"}] and',
      ["invalid_call", {}],
      " and",
    ],
    [
      "may be about another one",
      '[TOOL_CALLS]get_weather{"city": "[TOOL_CALLS]now{}"} and',
      [{ city: "[TOOL_CALLS]now{}" }],
      " and",
    ],
    ["is none behind a space", "[TOOL_CALLS] now{}", [], "[TOOL_CALLS] now{}"],
    [
      "may stand without a list",
      '[TOOL_CALLS]{"name": "get_weather", "arguments": {"city": "Oslo"}} and',
      [{ city: "Oslo" }],
      " and",
    ],
    ["is cut in a list that has no end", '[TOOL_CALLS][{"name": "now", "arguments": {}}', ["truncated"], ""],
    ["is none without arguments", "[TOOL_CALLS]now!", [], "[TOOL_CALLS]now!"],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("mistral"), text, outcomes, said);
  });

  it("that stands without a list is handed out where it ends", async () => {
    const text = ['[TOOL_CALLS]{"name": "get_weather", "arguments": {"city": "Oslo"}}', " and"];
    const { events } = await readText(textJson("mistral"), text, sharedTools);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("tool-use")).toBeLessThan(types.indexOf("text-delta"));
  });
});

describe("a call as JSON", () => {
  it.each<[string, string, unknown[]]>([
    [
      "may have its arguments behind the object with its name",
      '{"function": {"name": "get_weather"}, "arguments": {"city": "Oslo"}}',
      [{ city: "Oslo" }],
    ],
    [
      "may have its arguments before its name",
      '{"arguments": {"city": "Oslo"}, "name": "get_weather"}',
      [{ city: "Oslo" }],
    ],
    ["may have white space around its name", '{"name": " now ", "arguments": {}}', [{}]],
    ["may have keys without quotes", '{name : "get_weather", arguments: {"city": "Oslo"}}', [{ city: "Oslo" }]],
    ["may stand behind another one without a comma", '{"name": "now"}{"name": "now"}', [{}, {}]],
    [
      "may have a second pair of braces",
      '{{"name": "get_weather", "arguments": {"city": "Oslo"}}}',
      [{ city: "Oslo" }],
    ],
    ["may have it everywhere", '{ {"name": "get_weather", "arguments": {{"city": "Oslo"}}} }', [{ city: "Oslo" }]],
    ["may have long keys that mean nothing", `{"${"name".repeat(50)}": 1, "name": "now", "arguments": {}}`, [{}]],
  ])("%s", async (_, json, inputs) => {
    for (const end of ["</tool_call>", ""]) {
      const text = `<tool_call>${json}${end} and`;
      for (const pieces of [[text], text.split("")]) {
        const { turn } = await readText(textJson("hermes"), pieces, sharedTools);
        const read = outcomesOf(turn);
        expect(read).toEqual(end === "" ? [...inputs.slice(0, -1), "truncated"] : inputs);
      }
    }
  });

  it("has its second brace closed as well", async () => {
    const text = '<tool_call>{{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>';
    await expectRead(textJson("hermes"), text, ["invalid_call"], "");
  });

  it("may have it in a list", async () => {
    const text = '<tool_call>[{{"name": "now", "arguments": {}}}, {{"name": "now"}}]</tool_call>';
    await expectRead(textJson("hermes"), text, [{}, {}], "");
  });

  it("is none where its JSON is broken, which harms no other", async () => {
    const call = (name: string) => `{"name": "${name}", "arguments": {"order_id": "1", "amount": 1}}`;
    const text = `<tool_call>${call("refund_order")}\n${call("refund_order").replace("}}", '}"}')}</tool_call>`;
    await expectRead(textJson("hermes"), text, [{ order_id: "1", amount: 1 }, "invalid_call"], "");
  });

  it.each<[NotationName, string]>([
    ["hermes", "<tool_call>@</tool_call>"],
    ["hermes", "@"],
    ["hermes", "[@]"],
    ["hermes", "```json\n@\n```"],
    ["hermes", "functools[@]"],
    ["function-tag", "<|python_tag|>@"],
    ["mistral", "[TOOL_CALLS]@"],
    ["mistral", "[TOOL_CALLS][@]"],
  ])("is none where its object is open, though its brackets may be taken for closed: %s, %s", async (name, text) => {
    const call = '{"name": "refund_order", "arguments": {"order_id": "1", "amount": 1}, ';
    for (const rest of ['"key": }', '"key\\": "}']) {
      await expectRead(textJson(name), text.replace("@", call + rest), ["invalid_call"], "");
    }
  });

  it("is none where two braces begin a variable of a template", async () => {
    const text = "<tool_call>{{ tool_call | tojson }}</tool_call>";
    await expectRead(textJson("hermes"), text, [], text);
  });

  it("may have its arguments as text, which is no longer than arguments may be", async () => {
    const call = (city: string) => ({ name: "get_weather", arguments: JSON.stringify({ city }) });
    const text = `<tool_call>${["Oslo", "O".repeat(50), "Rome"].map((city) => JSON.stringify(call(city))).join(" ")}</tool_call>`;
    for (const pieces of [[text], text.split("")]) {
      const events = textJson("hermes").read(iterate(pieces), {
        tools: sharedTools,
        limits: { maxArgumentsLength: 30 },
      });
      expect(outcomesOf(await events.done())).toEqual([{ city: "Oslo" }, "too_large", { city: "Rome" }]);
    }
  });
});

describe("arguments that go on as they began", () => {
  const written = '{"path": "a", "content": ';
  it.each<[NotationName, string]>([
    ["hermes", '<tool_call>{"name": "write_file", "arguments": @}</tool_call>'],
    ["mistral", "[TOOL_CALLS]write_file[ARGS]@"],
    ["function-tag", "<function=write_file>@</function>"],
    ["kimi", "<|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>@<|tool_call_end|>"],
    ["dsml", '<|DSML|invoke name="write_file">@</|DSML|invoke>'],
  ])("are no second copy of them, in any pieces: %s", async (name, text) => {
    for (const [first, second, input] of [
      ["{", '{"path": "a", "content": "b"}'],
      ["{", '{"path": "a", "content": "b"}}', { path: "a", content: "b" }], // one object in a second pair of braces
      [written, `${written}'b'}}`],
      [`${written}"b", `, `${written}"b", "mode": "append"}`],
    ] as const) {
      const [head, tail] = text.split("@") as [string, string];
      for (const pieces of [[head + first + second + tail], [head + first, second + tail]]) {
        const { turn } = await readText(textJson(name), pieces, sharedTools);
        expect(turn.calls.map(({ name: called }) => called)).toEqual(["write_file"]);
        const { outcome, argsText } = turn.calls[0]!;
        expect(outcome instanceof ToolUse ? outcome.input : undefined).toEqual(input);
        expect(argsText).toContain(first + second.slice(0, 20));
      }
    }
  });
});

describe("a quote in the arguments that is not escaped", () => {
  const write = defineTool({
    name: "write",
    inputSchema: jsonSchema({ type: "object", properties: { path: {}, content: {} } }),
  });
  const contents = [
    'if (c == "}") a = {"k": 1}',
    'print("}")',
    '"}", {"k": 1}',
    ' "}]b',
    '"})"}:b)"',
    '"}{',
    '"}:"b',
    'x"} ", y',
    'x"} }',
    'foo("} else {")',
    'a "}}" b',
    'a "}}]" b',
    'a "}} {"b',
    'a "}} {b}',
    'a "}} {} b',
    'a "}}, {b}',
    'a"} b: 1, c: "',
    'a "}} {b"c',
  ];
  it.each<[NotationName, string]>([
    ["hermes", '<tool_call>{"name": "write", "arguments": @}</tool_call>'],
    ["hermes", '{"name": "write", "arguments": @}'],
    ["hermes", '```json\n{"name": "write", "arguments": @}\n```'],
    ["mistral", '[TOOL_CALLS][{"name": "write", "arguments": @}]'],
    ["mistral", '[TOOL_CALLS]{"name": "write", "arguments": @}'],
    ["mistral", "[TOOL_CALLS]write[ARGS]@"],
    ["function-tag", '<|python_tag|>{"name": "write", "parameters": @}'],
    ["function-tag", "<function=write>@</function>"],
    ["kimi", "<|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>@<|tool_call_end|>"],
    ["deepseek", "<｜tool▁call▁begin｜>write<｜tool▁sep｜>@<｜tool▁call▁end｜>"],
    ["harmony", "<|channel|>commentary to=functions.write<|message|>@<|call|>"],
    ["dsml", '<|DSML|invoke name="write">@</|DSML|invoke>'],
  ])("makes no other call of it: %s, %s", async (name, text) => {
    for (const content of contents) {
      const whole = text.replace("@", () => `{"path": "a", "content": "${content}"}`);
      for (const pieces of [[whole], whole.split("")]) {
        const { events } = await readText(textJson(name), pieces, [write]);
        const inputs = events.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []));
        // Where it can be repaired, it is.
        expect(inputs.filter((input) => (input as { content: string }).content !== content)).toEqual([]);
      }
    }
  });

  it("leaves the same of a call of mistral in any pieces", async () => {
    const text = '[TOOL_CALLS]write[ARGS]{"path": "a"}", b\n';
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textJson("mistral"), pieces, [write]);
      expect(outcomesOf(turn)).toEqual(["invalid_call"]);
      expect(turn.calls[0]!.argsText).toBe('{"path": "a"}');
    }
  });

  it("needs no comma before its arguments", async () => {
    const text = '<tool_call>{"name": "write"\n "arguments": {"path": "a"}}</tool_call>';
    const { turn } = await readText(textJson("hermes"), [text], [write]);
    expect(outcomesOf(turn)).toEqual([{ path: "a" }]);
  });

  it.each(['say "@\nmore', 'x"@\n\nmore "b"', 'a"@\n{"k":1}', 'q"\n@\n["a"]\nmore'])(
    "is noticed behind a line break by the end of the text: %j",
    async (content) => {
      for (const [name, text] of [
        ["hermes", '{"name": "write", "arguments": @}'],
        ["mistral", '[TOOL_CALLS]{"name": "write", "arguments": @}'],
        ["mistral", "[TOOL_CALLS]write[ARGS]@"],
        ["mistral", '[TOOL_CALLS]write[ARGS]@[TOOL_CALLS]write[ARGS]{"path": "a"}'],
      ] as const) {
        const closers = text.includes("arguments") ? "}}" : "}";
        const whole = text.replace("@", () => `{"path": "a", "content": "${content.replace("@", closers)}"}`);
        for (const pieces of [[whole], whole.split("")]) {
          const { turn } = await readText(textJson(name), pieces, [write]);
          expect(outcomesOf(turn)[0]).toBe("invalid_call");
        }
      }
    },
  );

  const others = ['\nIt says {"path": "a"}', '\n["a", {"b": "c"}]'];
  it.each([" and", "Next.", "\n\n", "[1]", "**So.**", "[", "[TOOL", "  ", " ".repeat(99), ' a {b}\n"', ...others])(
    "is told from a text behind a call of mistral: %j",
    async (said) => {
      const text = `[TOOL_CALLS]write[ARGS]{"path": "a"}${said}`;
      await expectRead(textJson("mistral"), text, [{ path: "a" }], said, [write]);
    },
  );
});

describe("a call that has no end mark of its own", () => {
  const rows: [NotationName, string][] = [
    ["mistral", '[TOOL_CALLS]set_volume{"level": 1}'],
    ["mistral", "[TOOL_CALLS]now[ARGS]{}"],
    ["harmony", "<|channel|>commentary to=functions.now<|message|>{}"],
    ["function-tag", '<|python_tag|>{"name": "now", "parameters": {}}'],
  ];
  it.each(rows)("is whole at a clean end of the turn, and at no other: %s, %s", async (name, text) => {
    for (const reason of ["stop", "length", "content-filter", "error"] as const) {
      const { turn } = await readText(textJson(name), [text, { type: "finish", reason }], sharedTools);
      expect(turn.calls.map(({ released }) => [reason, released])).toEqual([[reason, reason === "stop"]]);
    }
  });

  it("is an error without a name", async () => {
    const text = '<|python_tag|>{"parameters": {}}';
    const { turn } = await readText(textJson("function-tag"), [text], sharedTools);
    expect(turn.calls.map(({ outcome }) => (outcome as ToolCallError).code)).toEqual(["invalid_call"]);
  });
});

describe.each<[NotationName, string, string]>([
  ["function-tag", "<|python_tag|>", "<|eom_id|>"],
  ["hermes", "<|function_call|>", "</s>"],
])("text behind a call of %s between %s and an end that may be hidden", (name, open, end) => {
  const json = '{"name": "now", "arguments": {}}';
  const [broken, closed] = ['{"name": "echo", "arguments": {"text": "', "}}"];
  it.each<[string, string, unknown[], string]>([
    ["is text on its line", `${json} It is late.`, [{}], "It is late."],
    ["is text on a line of its own", `${json}\n\nIt is late.\n${json}`, [{}], `It is late.\n${json}`],
    ["is none where another call follows", `${json};\n ${json}, ${json} So.`, [{}, {}, {}], "So."],
    ["is text behind a list", `[${json}, ${json}] So.`, [{}, {}], "So."],
    ["is text behind the end", `${json}\n${end}So.`, [{}], "So."],
    ["may be a bracket too many", `${json}}`, [{}], ""],
    ["is part of a string behind a quote that is not escaped", `${broken}a "}} b"${closed}`, ["invalid_call"], 'b"}}'],
    ["is a quote that was the end of a string", `${json}"`, ["invalid_call"], '"'],
    ["is none behind a list without its bracket", `[${json}`, ["truncated"], ""],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson(name), open + text, outcomes, said);
  });

  it("is no end of the call where the turn was cut off", async () => {
    const pieces = [`${open}${json} It is`, { type: "finish" as const, reason: "length" as const }];
    const { turn } = await readText(textJson(name), pieces, sharedTools);
    expect(outcomesOf(turn)).toEqual(["truncated"]);
    expect(turn.text).toBe("It is");
  });
});

describe("blocks behind one in which a quote is missing", () => {
  const broken = [
    '{"name": "refund_order", "arguments": {"order_id": "1", "amount": 1}}',
    '{"name": "now", "arguments": {}}',
  ];
  const withoutOne = broken.flatMap((json) =>
    Array.from(json.matchAll(/"/g), ({ index }) => json.slice(0, index) + json.slice(index + 1)),
  );
  const call = (city: string) => `{"name": "get_weather", "arguments": {"city": "${city}"}}`;
  it.each<[NotationName, string, string]>([
    ["hermes", "<tool_call>", "</tool_call>"],
    ["hermes", "<|function_call|>", ""],
    ["function-tag", "<|python_tag|>", ""],
    ["mistral", "[TOOL_CALLS]", ""],
  ])("are read once: %s, %s", async (name, open, close) => {
    for (const first of withoutOne) {
      const blocks = [first, call("Oslo"), `[${call("Rome")}, ${call("Kyiv")}]`, call("Lima")];
      const text = blocks.map((block) => open + block + close).join("\n");
      for (const pieces of [[text], text.split("")]) {
        const { turn } = await readText(textJson(name), pieces, sharedTools);
        const inputs = outcomesOf(turn).filter((outcome) => typeof outcome === "object");
        expect(inputs).toEqual(["Oslo", "Rome", "Kyiv", "Lima"].map((city) => ({ city })));
      }
    }
  });
});

describe("a block behind one that has no end", () => {
  const json = '{"name": "now", "arguments": {}}';
  it.each<[NotationName, string, string]>([
    ["hermes", `<tool_call>${json}<tool_call>${json}</tool_call> and`, " and"],
    ["function-tag", `<|python_tag|>${json}<|python_tag|>${json}`, ""],
    ["function-tag", `<|python_tag|>${json}<|eom_id|><|python_tag|>${json}<|eot_id|> and`, " and"],
    ["function-tag", "<function=now>{}<function=now>{}</function> and", " and"],
    [
      "hermes",
      `<tool_call>${json}<tool_call>${json.replace("{}", '{"a": "b')}<tool_call>${json}</tool_call> and`,
      " and",
    ],
    ["function-tag", '<function=now>{}<function=now>{"a": "b<function=now>{}</function> and', " and"],
    [
      "kimi",
      ["{}", '{"a": "b', "{}<|tool_call_end|> and"]
        .map((args) => `<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>${args}`)
        .join(""),
      " and",
    ],
    [
      "harmony",
      ["{}", '{"a": "b', "{}<|call|> and"]
        .map((args) => `<|channel|>commentary to=functions.now<|message|>${args}`)
        .join(""),
      " and",
    ],
    ["glm", ["{}", '{"a": "b', "{}</tool_call> and"].map((args) => `<tool_call>now>${args}`).join(""), " and"],
    ["glm", "<tool_call>now>{}\n<tool_call>now</tool_call> and", " and"],
    ["qwen-xml", "<tool_call><function=now>{}\n<function=now>\n</function></tool_call> and", " and"],
    ["qwen-xml", "<tool_call><function=now>{}</tool_call><tool_call><function=now></function></tool_call> and", " and"],
    ["qwen-xml", "<tool_call><function=now>{}<tool_call><function=now>{}</function></tool_call> and", " and"],
    [
      "dsml",
      `<|DSML|calls>${["{}", '{"a": "b', "{}</|DSML|invoke></|DSML|calls> and"].map((args) => `<|DSML|invoke name="now">${args}`).join("")}`,
      " and",
    ],
    ["dsml", '<|DSML|calls><|DSML|invoke name="now">{}</|DSML|calls><|DSML|invoke name="now"/> and', " and"],
    [
      "invoke",
      `${["{}", "{}"].map((args) => `]<]minimax[>[<invoke name="now">${args}`).join("")}]<]minimax[>[</invoke> and`,
      " and",
    ],
  ])("is another one: %s, %s", async (name, text, said) => {
    for (const pieces of [text.split(""), ...Array.from(text, (_, at) => [text.slice(0, at), text.slice(at)])]) {
      const { turn } = await readText(textJson(name), pieces, sharedTools);
      expect(turn.calls.map(({ released }) => released)).toEqual(
        text.includes('"b') ? [true, false, true] : [true, true],
      );
      expect(turn.text).toBe(said);
    }
  });
});

describe("a message of harmony", () => {
  const now = "<|channel|>commentary to=functions.now<|message|>{}";
  const broken = now.replace("{}", '{"a": "b');
  it.each<[string, string, unknown[], string]>([
    ["ends with the next one", `<|channel|>final<|message|>Hi<|start|>assistant${now}<|call|>`, [{}], "Hi"],
    ["ends with the channel of the next one", `<|channel|>final<|message|>Hi${now}`, [{}], "Hi"],
    ["of a call does, too", `${now}<|start|>assistant${now}<|channel|>final<|message|>Hi<|return|>`, [{}, {}], "Hi"],
    [
      "of a call may be cut in its header",
      `${now}<|call|><|start|>assistant${now.slice(0, 43)}`,
      [{}, "truncated"],
      "",
    ],
    ["of a call may be cut in a mark of its header", `${now.slice(0, 35)} <|cons`, ["truncated"], ""],
    ["of a call hides nothing behind a quote that has no end", `${broken}<|call|>Hi "you"`, ["truncated"], 'Hi "you"'],
    ["of a call may begin with much white space", now.replace("{", `${" ".repeat(300)}{`), [{}], ""],
    [
      "has no longer header",
      `<|channel|>${"a".repeat(300)}<|message|>`,
      [],
      `<|channel|>${"a".repeat(300)}<|message|>`,
    ],
    ["of a call may have lost its marks", "commentary to=functions.now json{}", [{}], ""],
    [
      "and stand in two lines",
      'assistant to=functions.get_weather commentary json\n{"city": "}"}\n\nHi',
      [{ city: "}" }],
      "\n\nHi",
    ],
    ["and stand above another", "to=functions.now {}\nto=functions.now {}", [{}, {}], "\n"],
    ["and have its end", "to=functions.now {}<|call|>", [{}], ""],
    ["but not text behind it", "to=functions.now {} is one", ["invalid_call"], " is one"],
    ["nor a quote in a string", `to=functions.now {"a": "b" is "c"} d"}`, ["invalid_call"], ` d"}`],
    ["it may be cut then", `to=functions.now {"a": "b`, ["truncated"], ""],
    ...[
      "to=functions.then {}",
      "to=functions.now json",
      "to=functions.now is {}",
      "commentary now {}",
      "assistant to=functions.now final {}",
      "So: to=functions.now {}",
      "\nSo:\nto=functions.now {}",
    ].map((text): [string, string, unknown[], string] => [`of a call is not ${text}`, text, [], text]),
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("harmony"), text, outcomes, said);
  });
});

describe("a section of kimi", () => {
  const [open, end] = ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"];
  const now = "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
  const strange = "<|tool_call_begin|>two words<|tool_call_argument_begin|>{}";
  it.each<[string, string, unknown[], string]>([
    ["may have white space between its calls", `${open}\n${now}\n ${now}\n${end} and`, [{}, {}], " and"],
    ["may end without its mark", `${open}${now}`, [{}], ""],
    ["ends before words", `${open}${now} Next.`, [{}], "Next."],
    ["ends a call that has no end", `${open}${now.slice(0, -17)}${end} and`, [{}], " and"],
    ["ends one in the other spelling", `${open}${now.slice(0, -17)}<|tool_call_section_end|> and`, [{}], " and"],
    ["has a call behind one that has no end", `${open}${now.slice(0, -17)}${now}${end}`, [{}, {}], ""],
    ["has calls behind one that is none", `${open}${strange}<|tool_call_end|>${now}${end}`, ["invalid_call", {}], ""],
    ["and behind one without its end", `${open}${strange}${now}${now}${end}`, ["invalid_call", {}, {}], ""],
    ["ends behind one that is none", `${open}${strange}${end} and`, ["invalid_call"], " and"],
    ["may be cut behind the mark of a call", `${open}${now}<|tool_call_begin|>\n`, [{}, "truncated"], ""],
    ["may be cut in an id", `${open}${now}<|tool_call_begin|>functions.no`, [{}, "truncated"], ""],
    [
      "may have white space around an id",
      `${open}${now.replace("functions.now:0", " functions.now:0\n")}${end}`,
      [{}],
      "",
    ],
    ["has no call without an id", `${open}${now.replace("functions.now:0", "")}${end}`, ["invalid_call"], ""],
    ["has no call whose id does not end", `${open}${now.replace("now", "n".repeat(300))}${end}`, ["invalid_call"], ""],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("kimi"), text, outcomes, said);
  });
});

describe("the id of a call of kimi", () => {
  const tools = ["exec", "exec2", "get_weather", "functions_list", "list"].map((name) =>
    defineTool({ name, effect: "read", inputSchema: jsonSchema({ type: "object" }) }),
  );
  const nameIn = async (id: string) => {
    const call = `<|tool_call_begin|>${id}<|tool_call_argument_begin|>{}<|tool_call_end|>`;
    const { turn } = await readText(textJson("kimi"), [call], tools);
    expect(turn.calls.map((one) => one.id)).toEqual([id]);
    return turn.calls[0]!.outcome instanceof ToolUse ? turn.calls[0]!.name : undefined;
  };

  it.each([
    ["functions.exec:0", "exec"],
    ["exec:0", "exec"],
    ["functions.exec", "exec"],
    ["functionsexec5", "exec"],
    ["functions.exec5", "exec"],
    ["functions_get_weather_12", "get_weather"],
    ["functions_list:0", "functions_list"],
  ])("%s says which tool it is of", async (id, name) => {
    expect(await nameIn(id)).toBe(name);
  });

  it.each(["functionsexec25", "functions_list_3", "functions.exec:a", "call_1", "functions", "7"])(
    "%s does not",
    async (id) => {
      expect(await nameIn(id)).toBeUndefined();
    },
  );

  it("goes back with the result, however it is written", async () => {
    const id = "functions_get_weather_12";
    const call = `<|tool_call_begin|>${id}<|tool_call_argument_begin|>{}<|tool_call_end|>`;
    const { turn } = await readText(textJson("kimi"), [call], tools);
    const { content } = textJson("kimi").toolResult(turn.calls[0]!.outcome as ToolUse, "x");
    expect(content).toBe(`## Return of ${id}\nx`);
  });
});

describe("a call of function-tag", () => {
  const args = '{"city": "a > b)"}';
  it.each([
    ["with its bracket", `<function=get_weather>${args}</function>`],
    ["with its bracket behind the arguments", `<function=get_weather${args}></function>`],
    ["with its bracket twice", `<function=get_weather>${args}></function>`],
    ["with round ones", `<function=get_weather(${args})</function>`],
    ["with its name in quotes", `<function="get_weather">${args}</function>`],
    ["and another one", `<function=get_weather${args}><function=get_weather${args}></function>`],
  ])("is read %s", async (_, text) => {
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textJson("function-tag"), pieces, sharedTools);
      expect(turn.calls.map(({ input, released }) => [input, released])).toEqual(
        text.match(/="?get/g)!.map(() => [{ city: "a > b)" }, true]),
      );
      expect(turn.text).toBe("");
    }
  });

  it("is none where only one quote stands around its name", async () => {
    for (const name of ['"get_weather', 'get_weather"', '""', '"']) {
      const text = `<function=${name}>${args}</function>`;
      await expectRead(textJson("function-tag"), text, [], text);
    }
  });

  it.each(['{"city": "Oslo>', '{"city": "Oslo")', '{"city": ["Oslo")', '{"city": "Oslo">', '{"city": "Oslo"}>)'])(
    "is none where a bracket is in the place of what closes its arguments: %s",
    async (cut) => {
      const text = `<function=get_weather${cut}</function>`;
      for (const pieces of [[text], text.split("")]) {
        const { turn } = await readText(textJson("function-tag"), pieces, sharedTools);
        expect(turn.calls.map(({ outcome }) => outcome instanceof ToolUse)).toEqual([false]);
      }
    },
  );
});

describe("a call of qwen-xml", () => {
  const now = "<function=now>\n</function>";
  it.each<[string, string, string]>([
    ["is whole where the end of its block is missing", `<tool_call>\n${now}`, ""],
    ["is whole where words stand in the place of that end", `<tool_call>\n${now}\nNext:`, "\nNext:"],
    ["may have that end alone", `${now}\n</tool_call> and`, " and"],
    ["may stand in one block with others", `<tool_call>\n${now}\n${now}${now}\n</tool_call> and`, " and"],
    ["may have its arguments as JSON", `<tool_call>\n${now.replace("\n", "\n{}\n")}\n</tool_call> and`, " and"],
    ["may be one of Seed-OSS", `<seed:tool_call>\n${now}\n</seed:tool_call> and`, " and"],
    ["may be one of Seed-OSS without its beginning", `${now}\n</seed:tool_call> and`, " and"],
  ])("%s", async (_, text, said) => {
    for (const pieces of [[text], text.split("")]) {
      const { turn } = await readText(textJson("qwen-xml"), pieces, sharedTools);
      expect(turn.text).toBe(said);
      expect(turn.calls.map(({ name, released }) => [name, released])).toEqual(
        text.match(/=now/g)!.map(() => ["now", true]),
      );
    }
  });
});

describe("the line breaks around a value of qwen-xml", () => {
  // The templates of Seed-OSS and MiMo write none, that of Qwen one before and one after.
  it.each([
    ["\na\nb\n", "a\nb"],
    ["\n\na\n\n", "\na\n"],
    ["\n\n", ""],
    ["\na", "a"],
    ["a\nb", "a\nb"],
    ["a\nb\n", "a\nb\n"],
    [" \na\n", " \na\n"],
  ])("%j is %j", async (written, content) => {
    const path = "<parameter=path>a.txt</parameter>";
    const call = `<function=write_file>\n${path}\n<parameter=content>${written}</parameter>\n</function>`;
    await expectRead(textJson("qwen-xml"), call, [{ path: "a.txt", content }], "");
  });
});

describe("what stands around calls of qwen-xml", () => {
  const now = "<function=now>\n</function>";
  it.each<[string, string, unknown[], string]>([
    ["white space behind the mark", "<tool_call> \n", [], "<tool_call> \n"],
    ["a parameter without a call", "<tool_call>\n<parameter=a>1", [], "<tool_call>\n<parameter=a>1"],
    ["a call that has no name", "<tool_call><function=>\n</function>", [], "<tool_call><function=>\n</function>"],
    ["an end that is not its own", "<function=now></parameter>", [], "<function=now></parameter>"],
    ["white space between calls without a block", `${now}\n${now}`, [{}, {}], "\n"],
    ["a parameter behind a call", `<tool_call>${now}<parameter=a>1`, [{}], "<parameter=a>1"],
    ["a call that has no name behind one", `<tool_call>${now}<function=>`, [{}], "<function=>"],
    ["a call in a call", `<tool_call><function=now>${now}</tool_call> and`, ["invalid_call"], " and"],
    [
      "an end in a call that is none",
      `<tool_call><function=now></tool_call> and </function>`,
      ["invalid_call"],
      " and </function>",
    ],
    ["an end in a call that is none, alone", `<function=now>\n<parameter=a</tool_call> and`, ["invalid_call"], " and"],
    ["a block that is cut in its head", "<tool_call>\n<function=no", ["truncated"], ""],
    ["a block that is cut in its end", `<tool_call>${now}\n</tool_ca`, [{}], ""],
    ["a block that is cut in another call", `<tool_call>${now}\n<function=no`, [{}, "truncated"], ""],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("qwen-xml"), text, outcomes, said);
  });

  it("a value that quotes a call is told as the reason only where it may be one", async () => {
    const quoting = "<function=write_file>\n<parameter=content>\n<function=f>\n<parameter=a>\n1\n</parameter>";
    const reasonOf = async (text: string, reason: FinishReason) => {
      const { turn } = await readText(textJson("qwen-xml"), [text, { type: "finish", reason }], sharedTools);
      return (turn.calls[0]!.outcome as ToolCallError).message.includes("quotes a call");
    };
    expect(await reasonOf(quoting, "stop")).toBe(true);
    expect(await reasonOf(quoting, "length")).toBe(false);
    expect(await reasonOf(`${quoting}</function>\n</parameter>\n<parameter=path>`, "stop")).toBe(false);
  });
});

describe("a tag of qwen-xml that is not whole, or not there", () => {
  const file = { path: "a.txt", content: "\nb" };
  const parameters = "<parameter=path@\na.txt\n</parameter>\n<parameter=content>\n\nb\n</parameter>\n";
  const now = "<tool_call>\n<function=now>\n</function>\n</tool_call>";
  it.each<[string, string, unknown[], string]>([
    ["the name of a function ends with its line", `<tool_call>\n<function=now\n</function>\n</tool_call>`, [{}], ""],
    ["of one without its block, too", `<function=now\n</function>\n</tool_call> and`, [{}], " and"],
    [
      "the name of a parameter ends with its line",
      `<function=write_file>\n${parameters.replace("@", "").replace(">\n\nb", "\n\nb")}</function>`,
      [file],
      "",
    ],
    [
      "names may be in quotes (openvinotoolkit/model_server#4487)",
      `<function="write_file">\n${parameters.replace("path@", '"path">').replace("=content", '="content"')}</function>`,
      [file],
      "",
    ],
    ["and end with their line", '<tool_call>\n<function="now"\n</function>\n</tool_call>', [{}], ""],
    ["but not in one", '<function="now>\n</function>', [], '<function="now>\n</function>'],
    [
      "names do not go on into the next tag",
      `<function=write_file>\n${parameters.replace("@\n", "=")}</function>\n${now}`,
      ["invalid_call", {}],
      "\n",
    ],
    [
      "a call without its end takes nothing from the next one",
      `<tool_call>\n<function=write_file>\n${parameters.replace("@", ">")}</tool_call>\n${now} and`,
      ["invalid_call", {}],
      "\n and",
    ],
    [
      "nor does one of Seed-OSS",
      `<seed:tool_call>\n<function=write_file>\n${parameters.replace("@", ">")}</seed:tool_call>\n${now}`,
      ["invalid_call", {}],
      "\n",
    ],
    [
      "nor does a value without its end",
      `<seed:tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</seed:tool_call>\n${now.replaceAll("tool", "seed:tool")}`,
      ["invalid_call", {}],
      "\n",
    ],
    [
      "a call in a value may be without it",
      `<function=write_file>\n${parameters.replace("@", ">").replace("b\n", `${now.replace("</function>", "<parameter=a>\n1\n</parameter>")}\nb\n</function>\n`)}</function>`,
      [
        {
          path: "a.txt",
          content: "\n" + now.replace("</function>", "<parameter=a>\n1\n</parameter>") + "\nb\n</function>",
        },
      ],
      "",
    ],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("qwen-xml"), text, outcomes, said);
  });
});

describe("a call of dsml", () => {
  const now = '<|DSML|invoke name="now"/>';
  const file = '<|DSML|invoke name="write_file">@</|DSML|invoke>';
  const json = '\n{"path": "a.txt", "content": "</|DSML|invoke>"}\n';
  const content = { path: "a.txt", content: "</|DSML|invoke>" };
  const parameter = (name: string, value: string) =>
    `<|DSML|parameter name="${name}" string="true">${value}</|DSML|parameter>`;
  const tagged = (value: string) => file.replace("@", parameter("path", "b") + parameter("content", value));
  it.each<[string, string, unknown[]]>([
    ["may be one tag", now, [{}]],
    ...[
      "||DSML||",
      "\u{ff5c}DSML\u{ff5c}",
      "\u{ff5c}DSML\u{ff5c} ",
      "\u{ff5c}\u{ff5c}DSML\u{ff5c}\u{ff5c} ",
      "DSML\u{ff5c}",
      "\u{2016}DSML\u{2016}",
      "\u{ff5c}GCML\u{ff5c}",
    ].map((mark): [string, string, unknown[]] => [
      `may be marked with ${mark}`,
      `<|DSML|calls>\n${now}\n${tagged("x")}\n</|DSML|calls>`.replaceAll("|DSML|", mark),
      [{}, { path: "b", content: "x" }],
    ]),
    ["may be one tag, among others", `<|DSML|tool_calls>\n${now}\n${tagged("x")}`, [{}, { path: "b", content: "x" }]],
    ["may be one JSON object", file.replace("@", json), [content]],
    [
      "may be one JSON object, among others",
      `<|DSML|tool_calls>\n${file.replace("@", json.trim())}\n${now}${tagged("x")}</|DSML|tool_calls>`,
      [content, {}, { path: "b", content: "x" }],
    ],
    ["may not be both", file.replace("@", parameter("path", "b") + json), ["truncated"]],
    [
      "has no parameter whose tag has no end",
      tagged("x").replace('"content" string="true">', '"content" '),
      ["invalid_call"],
    ],
    ["has no parameter without a name", tagged("x").replace('name="content"', 'key="content"'), ["invalid_call"]],
    [
      "ends with its section, if it cannot be read",
      `<|DSML|tool_calls>\n${file.replace("@", "words").split("</")[0]!}</|DSML|tool_calls>${now}`,
      ["invalid_call", {}],
    ],
    ["may be about one tag", tagged(now), [{ path: "b", content: now }]],
    ["is cut in its JSON", file.replace("@", json).slice(0, 60), ["truncated"]],
  ])("%s", async (_, text, outcomes) => {
    await expectRead(textJson("dsml"), text, outcomes, "");
  });
});

describe("a call of invoke", () => {
  const now = '<invoke name="now">\n</invoke>';
  const weather = '<invoke name="get_weather">\n<parameter name="city">Oslo <b></parameter>\n</invoke>';
  it.each<[string, string, unknown[], string]>([
    ["may stand in another section", `<function_calls>\n${now}\n</function_calls> and`, [{}], " and"],
    [
      "may have a namespace",
      `<function_calls>\n${weather}\n</function_calls>`.replaceAll(/<(\/?)(?=[fip])/g, "<$1antml:"),
      [{ city: "Oslo <b>" }],
      "",
    ],
    [
      "may be one of DeepSeek V4 without the mark",
      `<tool_calls>\n${weather.replace('city"', 'city" string="true"')}\n</tool_calls>`,
      [{ city: "Oslo <b>" }],
      "",
    ],
    ["may stand alone", `count\n${weather} and`, [{ city: "Oslo <b>" }], "count\n and"],
    ["may be alone without parameters", `${now} and`, [{}], " and"],
    ["may be one tag in a section", `<function_calls><invoke name="now"/>${now}`, [{}, {}], ""],
    [
      "may be about other XML that has such tags",
      weather.replace("<b>", '<list><parameter name="a">1</parameter></list>'),
      [{ city: 'Oslo <list><parameter name="a">1</parameter></list>' }],
      "",
    ],
    [
      "is none in other XML",
      '<invoke name="a" partner="b"/><invoke name="c">\n<d/></invoke>',
      [],
      '<invoke name="a" partner="b"/><invoke name="c">\n<d/></invoke>',
    ],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("invoke"), text, outcomes, said);
  });
});

describe("a call of MiniCPM5", () => {
  const file = (content: string) =>
    `<function name="write_file"><param name="path">a</param><param name="content">${content}</param></function>`;
  const covered = (content: string) => file(`<![CDATA[${content}]]>`);
  const now = '<function name="now"></function>';
  it.each<[string, string, unknown[], string]>([
    ["stands between texts", `So.\n${now}${now} and`, [{}, {}], "So.\n and"],
    ["may have lines in a value", file("\nx\n"), [{ path: "a", content: "\nx\n" }], ""],
    [
      "may have any text in one",
      covered(`</param>\n${now}]] ]>`),
      [{ path: "a", content: `</param>\n${now}]] ]>` }],
      "",
    ],
    ["may have an empty one", covered(""), [{ path: "a", content: "" }], ""],
    [
      "may quote another",
      covered(covered("x").slice(0, -30)),
      [{ path: "a", content: covered("x").slice(0, -30) }],
      "",
    ],
    [
      "may have white space around one",
      file("\n <![CDATA[\nx]] >]]>\n\t") + covered("y"),
      [
        { path: "a", content: "\nx]] >" },
        { path: "a", content: "y" },
      ],
      "",
    ],
    ["may have white space in one", covered("]]> \n<b> ]]>\n"), [{ path: "a", content: "]]> \n<b> ]]>\n" }], ""],
    ["may be white space", file(" \n "), [{ path: "a", content: " \n " }], ""],
    [
      "may have more white space than that",
      file(`${" ".repeat(200)}<![CDATA[x]]>`),
      [{ path: "a", content: `${" ".repeat(200)}<![CDATA[x]]>` }],
      "",
    ],
    ["has no end within one", covered("x").replace("]]>", "") + now, ["truncated"], ""],
    ["is none with its mark behind words", file("x<![CDATA[y]]>"), [{ path: "a", content: "x<![CDATA[y]]>" }], ""],
    ["is cut in the mark", covered("x").slice(0, 75), ["truncated"], ""],
    ["is cut in the end of it", covered("x").replace("]>", "").split("</param></f")[0]!, ["truncated"], ""],
    ["is none in other XML", '<function name="f"><return/></function>', [], '<function name="f"><return/></function>'],
    ["is none in code", `\`${now}\``, [], `\`${now}\``],
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("invoke"), text, outcomes, said);
  });
});

describe("a call of MiniMax M3", () => {
  const mark = "]<]minimax[>[";
  const tag = (name: string) => `${mark}<${name}>`;
  const value = (name: string, ...parts: string[]) => tag(name) + parts.join("") + tag(`/${name}`);
  const call = (name: string, ...values: string[]) =>
    `${tag(`invoke name="${name}"`)}${values.join("")}${tag("/invoke")}`;
  const section = (...calls: string[]) => `${tag("tool_call")}\n${calls.join("\n")}\n${tag("/tool_call")}`;
  const number = { type: "integer" };
  const point = { type: "object", properties: { x: number, path: { type: "string" } } };
  const move = defineTool({
    name: "move",
    inputSchema: jsonSchema({
      type: "object",
      properties: {
        path: { type: "string" },
        to: { $ref: "#/$defs/point" },
        list: { type: "array", items: { $ref: "#/$defs/point" } },
        names: { type: "array", items: { type: "string" } },
        rows: { type: "array", items: { type: "array", items: number } },
        maybe: { anyOf: [point, { type: "null" }] },
        one: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
        any: { type: "object" },
        x: number,
      },
      $defs: { point },
    }),
  });
  const now = defineTool({ name: "now", inputSchema: jsonSchema({ type: "object" }) });
  const item = (...parts: string[]) => value("item", ...parts);
  it.each<[string, string, unknown[], string]>([
    [
      "stands in a section",
      `So.${section(call("move", value("path", "007"), value("x", "7")), call("now"))} and`,
      [{ path: "007", x: 7 }, {}],
      "So. and",
    ],
    ["may stand alone", `${call("now")}\n${call("now")} and`, [{}, {}], "\n and"],
    ["may lack the end of its section", `${tag("tool_call")}${call("now")}\nand`, [{}], "\nand"],
    [
      "may have an object in it",
      call("move", value("to", value("x", "1"), value("path", "1"))),
      [{ to: { x: 1, path: "1" } }],
      "",
    ],
    [
      "may have lists of objects in it, with white space",
      call("move", value("list", "\n", item("\n", value("x", "1"), "\n"), "\n", item(value("path", "<item>")), "\n")),
      [{ list: [{ x: 1 }, { path: "<item>" }] }],
      "",
    ],
    ["may have lists of strings", call("move", value("names", item("1"), item(""))), [{ names: ["1", ""] }], ""],
    [
      "may have lists of lists",
      call("move", value("rows", item(item("1"), item("2")), item(item("3")))),
      [{ rows: [[1, 2], [3]] }],
      "",
    ],
    ["may have what is one of several", call("move", value("maybe", value("x", "1"))), [{ maybe: { x: 1 } }], ""],
    ["may have null for it", call("move", value("maybe", "null")), [{ maybe: null }], ""],
    ["may have a list for a text", call("move", value("one", item("a"))), [{ one: ["a"] }], ""],
    ["or the text", call("move", value("one", "a")), [{ one: "a" }], ""],
    [
      "may have what the schema does not list",
      call("move", value("any", value("item", "1"))),
      [{ any: { item: "1" } }],
      "",
    ],
    [
      "may have a parameter that only its end names",
      call("move", `\n${mark}a <b>\n${tag("/path")}\n`, `${mark}7${tag("/x")}`) + call("now"),
      [{ path: "a <b>\n", x: 7 }, {}],
      "",
    ],
    [
      "but none that its end names in vain",
      call("move", `${mark}a${tag("/other")}`, value("x", "7")) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    ["nor that has come", call("move", value("path", "a"), `${mark}b${tag("/path")}`), ["invalid_call"], ""],
    ["nor that has others in it", call("move", `${mark}a${value("x", "1")}${tag("/path")}`), ["invalid_call"], ""],
    ["nor without that end", call("move", `${mark}a`) + call("now"), ["invalid_call", {}], ""],
    ["is cut in such a parameter", `${tag('invoke name="move"')}${mark}a`, ["truncated"], ""],
    [
      "may begin without a bracket",
      section(call("now"), call("move", value("x", "7"))).replaceAll("<invoke", "invoke"),
      [{}, { x: 7 }],
      "",
    ],
    ["so it may alone", `So. ${call("now").replace("<invoke", "invoke")}`, [{}], "So. "],
    ["but not with another name", `${mark}invoked name="now">`, [], `${mark}invoked name="now">`],
    ["may have JSON in it", call("move", value("list", '[{"x": 1}]')), [{ list: [{ x: 1 }] }], ""],
    [
      "may have other tags in a text",
      call("move", value("path", "<invoke></path>")),
      [{ path: "<invoke></path>" }],
      "",
    ],
    [
      "has no text beside a value",
      call("move", value("to", "so", value("x", "1"))) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    ["nor behind one", call("move", value("to", value("x", "1"), "so")) + call("now"), ["invalid_call", {}], ""],
    ["has no other names in a list", call("move", value("list", item(), value("x", "1"))), ["invalid_call"], ""],
    [
      "has no name twice in an object",
      call("move", value("to", value("x", "1"), value("x", "2"))),
      ["invalid_call"],
      "",
    ],
    [
      "is none in a value without its end",
      call("move", tag("path"), "a", value("x", "1")) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    [
      "is none at the end of another value",
      call("move", tag("path"), "a", tag("/x")) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    [
      "is none with a mark alone in it",
      call("move", value("path", "]<]minimax[>[ so")) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    [
      "is none that is about others",
      call("move", value("path", section(call("now"), call("now")))) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    [
      "nor in words",
      call("move", value("path", `a ${section(call("now"), call("now"))}.`)) + call("now"),
      ["invalid_call", {}],
      "",
    ],
    ["nor where an object may be", call("move", value("any", call("now"))) + call("now"), ["invalid_call", {}], ""],
    ["has no words between its values", call("move", "so") + call("now"), ["invalid_call", {}], ""],
    ["is cut in a value", call("move", value("to", value("x", "1"))).slice(0, -50), ["truncated"], ""],
    ["is cut in a tag", `${tag("tool_call")}\n${call("now")}\n]<]mini`, [{}], ""],
    ["is none in code", `\`${call("now")}\``, [], `\`${call("now")}\``],
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("invoke"), text, outcomes, said, [move, now]);
  });

  it("says the same of a call in a value, whatever its pieces", async () => {
    const text = call("move", value("path", "a", call("now")));
    const read = async (pieces: string[]) => saidIn(await readText(textJson("invoke"), pieces, [move, now]));
    expect(await read(text.split(""))).toBe(await read([text]));
  });

  it("may have values of a recursive schema in it, as deep as they are", async () => {
    const node = (kind: string) => ({
      type: "object",
      properties: {
        kind: { const: kind },
        x: number,
        inner: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }] },
      },
    });
    const draw = defineTool({
      name: "draw",
      inputSchema: jsonSchema({ ...node("a"), $defs: { a: node("a"), b: node("b") } }),
    });
    let [written, input] = ["", {}];
    for (let depth = 0; depth < 20; depth++) {
      const kind = depth % 2 === 0 ? "b" : "a";
      written = value("inner", value("kind", kind), value("x", "1"), written);
      input = { inner: { kind, x: 1, ...input } };
    }
    await expectRead(textJson("invoke"), call("draw", written), [input], "", [draw]);
  });
});

describe("a call of xtml", () => {
  const tag = (head: string) => `<|open|>${head}<|sep|>`;
  const end = (head: string) => `<|close|>${head}<|sep|>`;
  const argument = (key: string, type: string, value: string) =>
    `${tag(`argument key="${key}" type="${type}"`)}${value}${end("argument")}`;
  const call = (name: string, ...values: string[]) =>
    `${tag(`call tool="${name}" index="1"`)}${values.join("")}${end("call")}`;
  const section = (...list: string[]) => tag("tools") + list.join("") + end("tools");
  const now = call("now");
  const weather = call("get_weather", argument("city", "string", "Oslo"));
  const oslo = { city: "Oslo" };
  it.each<[string, string, unknown[], string]>([
    [
      "may stand in the frames of a message",
      `${tag("response")}So.${end("response")}${section(now, weather)}${end("message")}`,
      [{}, oslo],
      "So.",
    ],
    ["may follow a fence", `${tag("response")}~~~\nx\n~~~${end("response")}${section(now)}`, [{}], "~~~\nx\n~~~"],
    ["may stand without its section", `${weather}.`, [oslo], "."],
    ["may have line breaks", section("\n  ", weather.replaceAll("<|open|>a", "\n<|open|>a"), "\n"), [oslo], ""],
    ["may lack the end of its section", `${tag("tools")}${weather} and`, [oslo], " and"],
    ["may have a part of it", `${tag("tools")}${weather}<|close|>to`, [oslo], ""],
    ["has strings of any look", section(call("get_weather", argument("city", "string", '"5"'))), [{ city: '"5"' }], ""],
    ["may escape a name", section(weather.replace("city", "&quot;a&amp;b")), ["invalid_input"], ""],
    [
      "is none without a name",
      section(call("now").replace("tool=", "too=")),
      [],
      section(call("now").replace("tool=", "too=")),
    ],
    ["whose value has no end", section(weather.replace(end("argument"), ""), now), ["invalid_call", {}], ""],
    [
      "whose value ends without its mark",
      section(weather.replace(end("argument"), "<|close|>argument"), now),
      ["invalid_call", {}],
      "",
    ],
    ["that has no end", section(weather.replace(end("call"), ""), now), ["truncated"], ""],
    ["that is cut in its name", `${tag("tools")}<|open|>call tool="get_we`, ["truncated"], ""],
    ["that is cut behind its name", `${tag("tools")}${tag('call tool="now"')}`, ["truncated"], ""],
    ["that is cut in its end", `${section(now).split("<|close|>call")[0]}<|close|>call`, ["truncated"], ""],
    ...[
      tag("tools"),
      `${tag("tools")}no`,
      "<|open|>call",
      tag('call tool="now"') + " is how.",
      `"${now}"`,
      `\`${section(now)}\``,
    ].map((text): [string, string, unknown[], string] => ["is none in other text", text, [], text]),
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("xtml"), text, outcomes, said);
  });
});

describe("a call of deepseek", () => {
  const [start, end, sep] = ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"] as const;
  const args = '{"city": "Oslo"}';
  const oslo = { city: "Oslo" };
  it.each<[string, string, unknown[], string]>([
    ["needs no section", `${start}get_weather${sep}${args}${end} and`, [oslo], " and"],
    ["may be fenced", `${start}function${sep}get_weather\n\`\`\`json\n${args}\n\`\`\`${end}`, [oslo], ""],
    ["may be fenced by its own line", `${start}function${sep}get_weather\n\`\`\`\n${args}\n\`\`\`\n${end}`, [oslo], ""],
    ["may have lines around its name", `${start}\nget_weather\n${sep}\n${args}\n${end}`, [oslo], ""],
    ["may have lines without a fence", `${start}function${sep}get_weather\n${args}\n${end}`, [oslo], ""],
    ["is cut without its end", `${start}get_weather${sep}${args}`, ["truncated"], ""],
    ["is cut behind its fence", `${start}function${sep}get_weather\n\`\`\`json\n${args}\n\`\`\``, ["truncated"], ""],
    ["takes nothing from the next one", `${start}now${sep}{"a": ${start}now${sep}{}${end}`, ["truncated", {}], ""],
    ["is none without a name", `${start}${sep}{}${end}`, [], `${start}${sep}{}${end}`],
    ["is none without the mark behind its name", `${start}now {}${end}`, [], `${start}now {}${end}`],
    ["is cut behind the mark of its name", `${start}function${sep}`, ["truncated"], ""],
    ["is none of another kind", `${start}code${sep}now\n{}${end}`, [], `${start}code${sep}now\n{}${end}`],
  ])("%s", async (_, text, outcomes, said) => {
    await expectRead(textJson("deepseek"), text, outcomes, said);
  });

  const plamo = (name: string, input: string) =>
    `<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>${name}<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>${input}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>`;
  const plamos = (...calls: string[]) =>
    `<|plamo:begin_tool_requests:plamo|>${calls.join("")}<|plamo:end_tool_requests:plamo|>`;
  const city = '{"city": "Oslo"}';
  it.each<[string, string, unknown[], string]>([
    [
      "is read",
      `So.${plamos(plamo("get_weather", `<|plamo:msg|>${city}`), plamo("now", "{}"))} Yes.`,
      [{ city: "Oslo" }, {}],
      "So. Yes.",
    ],
    [
      "may have a value about such calls",
      plamo("write_file", JSON.stringify({ path: "a", content: plamos(plamo("now", "{}")) })),
      [{ path: "a", content: plamos(plamo("now", "{}")) }],
      "",
    ],
    ["is cut before its end", plamos(plamo("get_weather", city)).slice(0, -66), ["truncated"], ""],
    ["is cut before its arguments", plamo("get_weather", "").slice(0, -90), ["truncated"], ""],
    ["is none without arguments", plamo("now", "no"), [], plamo("now", "no")],
  ])("of PLaMo 3 %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("deepseek"), text, outcomes, said);
  });
});

describe("a call of glm", () => {
  const weather = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>";
  const now = "<tool_call>now</tool_call>";
  it.each<[string, string, unknown[], string]>([
    ["may stand on one line", `${weather}${now} and`, [{ city: "Oslo" }, {}], " and"],
    ["may have white space anywhere", weather.replaceAll(/(?<!Oslo)(?=<)/g, " \n"), [{ city: "Oslo" }], " \n"],
    ["may have a line break before its name", "<tool_call>\nnow\n</tool_call>\n", [{}], "\n"],
    ["keeps the white space of a value", weather.replace("Oslo", "\n Oslo\n"), [{ city: "\n Oslo\n" }], ""],
    ["may have a value that is empty", weather.replace("Oslo", ""), [{ city: "" }], ""],
    ["is one before what looks like more of it", `${now}\n<tool`, [{}], "\n<tool"],
    ["is none without the tag of a value", weather.replace("<arg_value>", "") + now, ["invalid_call", {}], ""],
    ["is none without the tag of a key", weather.replace("<arg_key>", "") + now, ["invalid_call", {}], ""],
    [
      "is none without that of another key",
      weather.replace("</tool", "unit</arg_key><arg_value>x</arg_value></tool") + now,
      ["invalid_call", {}],
      "",
    ],
    ["is none with the end of a value alone", now.replace("</", "</arg_value></") + now, ["invalid_call", {}], ""],
    ["is none without the end of a value", weather.replace("</arg_value>", "") + now, ["invalid_call", {}], ""],
    ["is none with words in it", weather.replace("</tool", "so</tool"), ["truncated"], ""],
    [
      "may have JSON in it",
      '<tool_call>get_weather\n{"city": "</tool_call>"}\n</tool_call>',
      [{ city: "</tool_call>" }],
      "",
    ],
    [
      "may have it behind a bracket",
      `<tool_call>get_weather>{"city": "Oslo"}</tool_call>${now}`,
      [{ city: "Oslo" }, {}],
      "",
    ],
    ["may not have both", weather.replace("<arg", '{"city": "Oslo"}<arg'), ["truncated"], ""],
    ["is cut in its JSON", '<tool_call>get_weather> {"city": "Oslo', ["truncated"], ""],
    ["is cut before it", "<tool_call>now>", ["truncated"], ""],
    ["is cut in its name", "So: <tool_call>get_wea", ["truncated"], "So: "],
    ["is cut behind its name", "<tool_call>now\n", ["truncated"], ""],
    ["is cut in its end", `${now}<tool_call>now\n</tool_call`, [{}, "truncated"], ""],
    ["is cut behind a parameter", weather.replace("</tool_call>", "\n"), ["truncated"], ""],
    ...[
      "The tag is <tool_call> alone.\n",
      "A <tool_call> is a call </tool_call>",
      "<tool_call>now> is a call </tool_call>",
      "<tool_call></tool_call>",
      '<tool_call>{"name": "now"}</tool_call>',
      "<tool_call><function=now></function></tool_call>",
      `<tool_call>${"n".repeat(129)}</tool_call>`,
      `<tool_call>now${" ".repeat(129)}</tool_call>`,
    ].map((text): [string, string, unknown[], string] => ["is not in other text", text, [], text]),
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("glm"), text, outcomes, said);
  });

  const sep = "<tool_sep:opensource>";
  const suffixed = weather.replaceAll(/(?<=[a-z_])>/g, ":opensource>").replace("weather", `weather${sep}\n`);
  const section = (...calls: string[]) => `<tool_calls:opensource>\n${calls.join("\n")}\n</tool_calls:opensource>`;
  const other = `<tool_call:opensource>now${sep}</tool_call:opensource>`;
  it.each<[string, string, unknown[], string]>([
    ["of Hunyuan 3", `So: ${section(suffixed, other)} and`, [{ city: "Oslo" }, {}], "So:  and"],
    [
      "of its preview",
      `<tool_calls>\n${weather.replace("<arg", "<tool_sep>\n<arg")}\n</tool_calls>.`,
      [{ city: "Oslo" }],
      ".",
    ],
    [
      "of Hunyuan 4",
      section(suffixed, other).replaceAll(sep, "").replaceAll("opensource", "6124c78e").replaceAll("\n", ""),
      [{ city: "Oslo" }, {}],
      "",
    ],
    ["without its section", `${suffixed}\n${other} and`, [{ city: "Oslo" }, {}], "\n and"],
    [
      "without the end of its section",
      `<tool_calls:opensource>${suffixed}${other}\nand`,
      [{ city: "Oslo" }, {}],
      "\nand",
    ],
    ["whose value has the tags of another", section(suffixed.replace("Oslo", weather)), [{ city: weather }], ""],
    [
      "whose value has tags without the suffix",
      section(suffixed.replace("Oslo", "a</arg_value></tool_call>")),
      [{ city: "a</arg_value></tool_call>" }],
      "",
    ],
    [
      "whose end has no suffix",
      section(suffixed.replace("</tool_call:opensource>", "</tool_call>")) + now,
      ["truncated"],
      "",
    ],
    [
      "without the end of a value",
      section(suffixed.replace("</arg_value:opensource>", ""), other),
      ["invalid_call", {}],
      "",
    ],
    [
      "with something else behind its name",
      `${section(suffixed.replace("<arg_key:opensource>", "so "))} and`,
      ["invalid_call"],
      " and",
    ],
    [
      "that has the end of a value alone",
      other.replace(sep, "</arg_value:opensource>") + now,
      ["invalid_call", {}],
      "",
    ],
    ["that is cut in its name", "<tool_calls:opensource>\n<tool_call:opensource>get_wea", ["truncated"], ""],
    ["that is cut behind its name", `<tool_call:opensource>now${sep}`, ["truncated"], ""],
    ["that is cut behind a parameter", suffixed.replace("</tool_call:opensource>", ""), ["truncated"], ""],
    ["that is not offered", section(suffixed.replace("weather", "wether"), other), ["unknown_tool", {}], ""],
    ...[
      "<tool_calls:opensource>",
      "<tool_calls:opens",
      "<tool_call:>now</tool_call:>",
      "<tool_call: the call>",
      `<tool_call:${"x".repeat(200)}>now`,
      "The tag is <tool_call:opensource> alone.\n",
      "<tool_calls:opensource>no</tool_calls:opensource>",
      `A call stands in \`${other}\`.`,
      `~~~\n${section(other)}\n~~~\n`,
    ].map((text): [string, string, unknown[], string] => ["in other text", text, [], text]),
  ])("with a suffix, or a section, %s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("glm"), text, outcomes, said);
  });

  const solar = (name: string, values: Record<string, string>) => {
    const list = Object.entries(values).map(
      ([key, value]) => `<|tool_arg:start|>${key}<|tool_arg:value|>${value}<|tool_arg:end|>\n`,
    );
    return `<|tool_call:start|>${name}\n${list.join("")}<|tool_call:end|>`;
  };
  const file = { path: "a.txt", content: "\n b\n" };
  it.each<[string, string, unknown[], string]>([
    ["is read", `So.${solar("write_file", file)}\n${solar("now", {})}`, [file, {}], "So.\n"],
    [
      "has values that its schema interprets",
      solar("set_volume", { level: "3", room: "7" }),
      [{ level: 3, room: "7" }],
      "",
    ],
    [
      "may have a value about such calls",
      solar("write_file", { ...file, content: `${solar("now", {})}<|tool_arg:end|> ${now}` }),
      [{ ...file, content: `${solar("now", {})}<|tool_arg:end|> ${now}` }],
      "",
    ],
    [
      "is none without the end of a value",
      solar("write_file", file).replace("<|tool_arg:end|>", "") + solar("now", {}),
      ["invalid_call", {}],
      "",
    ],
    ["is cut before its end", solar("write_file", file).slice(0, -1), ["truncated"], ""],
    ["is cut in a value", solar("write_file", file).slice(0, -40), ["truncated"], ""],
    [
      "is none in a sentence",
      "It begins with <|tool_call:start|> there.\n",
      [],
      "It begins with <|tool_call:start|> there.\n",
    ],
  ])("of Solar Open 2 %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("glm"), text, outcomes, said);
  });

  const k2 = (name: string, values: Record<string, string>) => {
    const list = Object.entries(values).map(
      ([key, value]) => `\n<ifm|arg_key>${key}</ifm|arg_key>\n<ifm|arg_value>${value}</ifm|arg_value>`,
    );
    return `<ifm|tool_call>${name}${list.join("")}\n</ifm|tool_call>`;
  };
  const k2s = (...calls: string[]) => `<ifm|tool_calls>\n${calls.join("\n")}\n</ifm|tool_calls>`;
  it.each<[string, string, unknown[], string]>([
    ["is read", `So.${k2("write_file", file)}\n${k2("now", {})}`, [file, {}], "So.\n"],
    ["is read in a section", `So.${k2s(k2("write_file", file), k2("now", {}))} Yes.`, [file, {}], "So. Yes."],
    [
      "may have a value about such calls",
      k2("write_file", { ...file, content: k2s(k2("now", {})) }),
      [{ ...file, content: k2s(k2("now", {})) }],
      "",
    ],
    ["is cut in a value", k2s(k2("now", {}), k2("write_file", file)).slice(0, -80), [{}, "truncated"], ""],
    ["is cut before its end", `<ifm|tool_calls>${k2("write_file", file).slice(0, -1)}`, ["truncated"], ""],
    ["is none in a sentence", "It is <ifm|tool_call> there.\n", [], "It is <ifm|tool_call> there.\n"],
    ["is none in the last sentence", "It is <ifm|tool_call> there.", [], "It is <ifm|tool_call> there."],
    ["is cut behind its name", "So.<ifm|tool_call>now", ["truncated"], "So."],
  ])("of K2 Horizon %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("glm"), text, outcomes, said);
  });

  it.each<NotationName>(["hermes", "qwen-xml", "glm"])(
    "is told from those of the same tag, such as of %s",
    async (name) => {
      const every = rescueTextCalls(openaiChat);
      const text = textOf(loadFixture(`text-json/${name}`, "parallel"));
      const message = { role: "assistant", content: text };
      const body = { id: "1", object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] };
      const turn = await every.read(new Response(JSON.stringify(body)), { tools: sharedTools }).done();
      const own = await readText(textJson(name), [text], sharedTools);
      expect(turn.calls.map(({ input }) => input)).toEqual(own.turn.calls.map(({ input }) => input));
      expect(turn.calls.every(({ released }) => released)).toBe(true);
    },
  );

  it.each([
    "hermes",
    "qwen-xml",
    "kimi",
    "dsml",
    "invoke",
    "xtml",
    "harmony",
    "mistral",
    "function-tag",
    "glm",
    "gemma",
  ] as const)("may have a value with calls of %s", async (name) => {
    const content = textOf(loadFixture(`text-json/${name}`, "parallel"));
    const calls = [{ id: null, name: "write_file", args: { content, path: "a" }, tool: undefined, metadata: {} }];
    await expectRead(textJson("glm"), notations.glm.writeCalls(calls), [{ content, path: "a" }], "");
  });
});

describe("a call of gemma", () => {
  it("is refused where a value that is no string gets too long", async () => {
    const text = `<|tool_call>call:get_weather{city:${"O".repeat(50)}`;
    for (const pieces of [[text], text.split("")]) {
      const events = textJson("gemma").read(iterate(pieces), {
        tools: sharedTools,
        limits: { maxArgumentsLength: 30 },
      });
      expect(outcomesOf(await events.done())).toEqual(["too_large"]);
    }
  });

  const quoted = (text: string) => `<|"|>${text}<|"|>`;
  const block = (call: string) => `<|tool_call>${call}<tool_call|>`;
  const weather = block(`call:get_weather{city:${quoted("Oslo")}}`);
  const now = block("call:now{}");
  const file = (content: string) => block(`call:write_file{path:${quoted("a")},content:${quoted(content)}}`);
  it.each<[string, string, unknown[], string]>([
    ["is followed by text", `So.\n${weather} and`, [{ city: "Oslo" }], "So.\n and"],
    ["may have white space anywhere", weather.replaceAll(/(?=[:{}]|<tool)/g, " \n"), [{ city: "Oslo" }], ""],
    ["may have delimited keys", weather.replace("city", quoted("city")), [{ city: "Oslo" }], ""],
    ["may have its keys and strings as JSON", block('call:get_weather{"city":"Os\\u006co"}'), [{ city: "Oslo" }], ""],
    ["may lack its first word", weather.replace("call:", ":"), [{ city: "Oslo" }], ""],
    ["may lack the beginning of a string", weather.replace('<|"|>', ""), [{ city: "Oslo" }], ""],
    ["or of one with quotes in it", weather.replace('<|"|>Oslo', 'the "O"\\n'), [{ city: 'the "O"\\n' }], ""],
    ["or of one like a word", weather.replace('<|"|>Oslo', "null"), [{ city: "null" }], ""],
    ["but not of one with a comma", weather.replace('<|"|>Oslo', "Oslo, NO") + now, ["invalid_call", {}], ""],
    ["nor with another string behind it", weather.replace('<|"|>Oslo', 'Os<|"|>lo') + now, ["invalid_call", {}], ""],
    ["may have a namespace", weather.replace("call:", "call:default_api:"), [{ city: "Oslo" }], ""],
    ["is of no tool in any other", weather.replace("call:", "call:maps:mcp:"), ["unknown_tool"], ""],
    ["may be written like one of Python", block('call:get_weather(city="Oslo")'), [{ city: "Oslo" }], ""],
    [
      "may mix the two",
      block(`call:get_weather(city=${quoted("Oslo")},unit:'celsius')`),
      [{ city: "Oslo", unit: "celsius" }],
      "",
    ],
    [
      "may have an object in parentheses",
      block('call:get_weather({"city":"Os)}lo"} )') + now,
      [{ city: "Os)}lo" }, {}],
      "",
    ],
    ["but not two", block('call:get_weather({"city":"Oslo"}, {})') + now, ["invalid_call", {}], ""],
    ["nor another bracket", block('call:get_weather({"city":"Oslo"}))') + now, ["invalid_call", {}], ""],
    ["may have a string of JSON", block(String.raw`call:get_weather{city:"a \"b\", \\"}`), [{ city: 'a "b", \\' }], ""],
    ["may have no end before the next one", weather.replace("<tool_call|>", "") + now, [{ city: "Oslo" }, {}], ""],
    [
      "has any text in a string",
      file(`{[<tool_call|>,b:"\\" ${now}`),
      [{ path: "a", content: `{[<tool_call|>,b:"\\" ${now}` }],
      "",
    ],
    ["may have a string that is empty", weather.replace("Oslo", ""), [{ city: "" }], ""],
    ["may stand before the response", `${now}<|tool_response>`, [{}], ""],
    ["and white space", `${now}\n<|tool_response>\n`, [{}], "\n\n"],
    ["but not before one that has been made up", `${now}<|tool_response>response:`, [{}], "<|tool_response>response:"],
    // Where the string ends is unknown, and what stands in it may be quoted.
    ["is none with a delimiter in a string", file(`say ${quoted("hi")}!`) + now, ["invalid_call", {}], ""],
    [
      "is none with a call behind it, either",
      file(`say ${quoted(now)}`) + weather,
      ["invalid_call", { city: "Oslo" }],
      `<|"|><|"|>}<tool_call|>`,
    ],
    ["nor with a call in it that has a string", file(`say ${weather}, ${weather}`) + now, ["invalid_call"], ""],
    ["is none without the end of a string", weather.replace('<|"|>}', "}") + now, ["invalid_call", {}], ""],
    ["is none without a bracket", weather.replace("}", "") + now, ["invalid_call", {}], ""],
    ["is none with too many", weather.replace("}", "}}") + now, ["invalid_call", {}], ""],
    ["is none with another bracket", weather.replace("}", "]") + now, ["invalid_call", {}], ""],
    ["is none without a value", block("call:get_weather{city:}") + now, ["invalid_call", {}], ""],
    ["is none without a key", block(`call:get_weather{${quoted("Oslo")}}`) + now, ["invalid_call", {}], ""],
    ["is none with another one in it", `<|tool_call>call:get_weather{${now}`, ["invalid_call"], ""],
    ["is cut in its name", "So: <|tool_call>call:get_wea", ["truncated"], "So: "],
    ["is cut before its end", `${now}${weather.replace("<tool_call|>", "")}`, [{}, "truncated"], ""],
    ["is cut in its end", `${now}${weather.slice(0, -1)}`, [{}, "truncated"], ""],
    ...[
      "The mark <|tool_call> alone.",
      "<|tool_call>call: so it is",
      "<|tool_call>call:now and",
      "<|tool_call>now{}",
      "<|tool_response>",
    ].map((text): [string, string, unknown[], string] => ["is not", text, [], text === "<|tool_response>" ? "" : text]),
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("gemma"), text, outcomes, said);
  });

  const bare = `call:get_weather{city:${quoted("Oslo")}}`;
  const oslo = { city: "Oslo" };
  const thoughts = `<|channel>thought\nIs it ${bare}?\n<channel|>`;
  it.each<[string, string, unknown[], string]>([
    ["is all of an answer", bare, [oslo], ""],
    ["follows thoughts", thoughts + bare, [oslo], thoughts],
    ["has an end mark", `${bare}<tool_call|>`, [oslo], ""],
    ["stands before the response", `${bare}<|tool_response>`, [oslo], ""],
    ["stands before others", `${bare}call:now{}\ncall:now{ }\n`, [oslo, {}, {}], "\n\n"],
    ["stands before one with marks", `${bare}\n${now}`, [oslo, {}], "\n"],
    ["stands before text", `\n${bare}\n\nDone.`, [oslo], "\n\n\nDone."],
    ["has the name of a server", bare.replace(":", ":default_api:"), [oslo], ""],
    ["has a mark in a string", bare.replace("Oslo", "a\n<tool_call|>} b"), [{ city: "a\n<tool_call|>} b" }], ""],
    ["is none on a line with text", `${bare} is one.`, ["invalid_call"], " is one."],
    ["is none with too many brackets", `${bare}}`, ["invalid_call"], "}"],
    ["is cut in a string", bare.slice(0, -3), ["truncated"], ""],
    ["is cut before its bracket", bare.slice(0, -1), ["truncated"], ""],
    ...[
      "call:",
      "call:get_weather",
      "call:get_weather{",
      "call:get_weather{city",
      "call:get_weather{city}",
      "call:get_weather(city=1)",
      "call: get_weather{city:1}",
      "call:weather{city:1}",
      `So: ${bare}`,
      `So:\n${bare}`,
      `\`${bare}\``,
    ].map((text): [string, string, unknown[], string] => ["is not", text, [], text]),
  ])("without its first mark %s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("gemma"), text, outcomes, said);
  });

  it("without any mark is read in a time that grows with what stands behind it", async () => {
    const start = busyMs();
    const { turn } = await readText(textJson("gemma"), `${bare}${"\n".repeat(60_000)}Done.`.split(""), sharedTools);
    expect(outcomesOf(turn)).toEqual([oslo]);
    expect(busyMs() - start).toBeLessThan(3000);
  });

  it("without any mark waits for the end of the turn", async () => {
    const read = async (reason: "stop" | "length") => {
      const source = [
        { type: "text-delta" as const, delta: bare },
        { type: "finish" as const, reason, providerReason: reason },
      ];
      return outcomesOf(await textJson("gemma").read(iterate(source), { tools: sharedTools }).done());
    };
    expect(await read("stop")).toEqual([oslo]);
    expect(await read("length")).toEqual(["truncated"]);
  });

  it("keeps its numbers, words and lists, and all else to the tool's policy of repair", async () => {
    const set = defineTool({ name: "set", inputSchema: jsonSchema({ type: "object" }), effect: "read" });
    const text = block("call:set{a:-1.5e3,b:[true,[],{}],c:null,d d:007,e:None,f:[x y,],g:1.,}");
    const read = async (repair: "off" | "syntax", call = text) => {
      async function* source() {
        yield call;
      }
      return outcomesOf(
        await textJson("gemma")
          .read(source(), { tools: [set], repair })
          .done(),
      );
    };
    const exact = block("call:set{a:-1.5e3,b:[true,[],{}],c:null}");
    expect(await read("off", exact)).toEqual([{ a: -1500, b: [true, [], {}], c: null }]);
    expect(await read("off")).toEqual(["invalid_json"]);
    expect(await read("syntax", text.replace(",g:1.", ""))).toEqual([
      { a: -1500, b: [true, [], {}], c: null, "d d": "007", e: null, f: ["x y"] },
    ]);
  });

  it("grows while it is written, and never shows half a character", async () => {
    const seen: unknown[] = [];
    async function* source() {
      yield* file('a\u{1f600}b"').split("");
    }
    for await (const event of textJson("gemma").read(source(), { tools: sharedTools })) {
      if (event.type === "tool-input-delta") seen.push(structuredClone(event.call.input));
    }
    expect(seen).toContainEqual({ path: "a", content: "a" });
    expect(seen).toContainEqual({ path: "a", content: "a\u{1f600}" });
    expect(seen.every((input) => (JSON.stringify(input) ?? "").isWellFormed())).toBe(true);
    expect(seen.at(-1)).toEqual({ path: "a", content: 'a\u{1f600}b"' });
  });
});

describe("a list of Python calls", () => {
  const weather = 'get_weather(city="Oslo")';
  const oslo = { city: "Oslo" };
  const marked = (list: string) => `<|tool_call_start|>${list}<|tool_call_end|>`;
  const lines = (...calls: string[]) => `<function_calls>${calls.join("\n")}</function_calls>`;
  const strange =
    `"Oslo"|city=Oslo|city=f()|city=f"Oslo"|city="a" + "b"|city="a" city="b"|city=1, city=2|city=|*x|city=[1|city={1}` +
    `|city=1 2|x for x in y|city=b'a'|city=007|city='\\x'|city="a"or"b"|city=t"a"`;
  const texts = [
    `[${weather}] is the call.`,
    `[${weather}](https://x.y)`,
    `[${weather}]<`,
    `So: [${weather}]`,
    `\`\`\`python\n[${weather}]\n\`\`\``,
    `\`[${weather}]\``,
    `"[${weather}]"`,
    "[get_weather]",
    "[get_weather(city)]",
    "[get_weather(city==1)]",
    '[get_wether(city="Oslo")]',
    `[1, ${weather}]`,
    "[get_weather(",
    "[now(",
    "The mark <|tool_call_start|> alone",
    "<|tool_call_start|>[1]",
    "<|tool_call_start|>now()",
    lines(`[${weather}]`),
    lines("now"),
    lines(""),
    "The mark <function_calls> comes (always) first.",
    lines('<invoke name="now"></invoke>'),
    `The calls stand in \`${lines(weather)}\`.`,
    `> ${lines(weather)}`,
  ];
  it.each<[string, string, unknown[], string]>([
    ["may be the whole answer", `[${weather}]`, [oslo], ""],
    ["of several", ` [now(), ${weather},\n now( )]\n`, [{}, oslo, {}], " \n"],
    ["before a text", `[${weather}]\n\nI look.`, [oslo], "\n\nI look."],
    ["before the end of a message", `[${weather}]<|eom|>`, [oslo], ""],
    ["after thoughts", `<think>So.</think>\n[${weather}]`, [oslo], "<think>So.</think>\n"],
    ["may stand between marks, after a text", `So ${marked(`[${weather}]`)} and`, [oslo], "So  and"],
    ["with white space", marked(`\n [ ${weather} ] \n`), [oslo], ""],
    ["without the last mark", `<|tool_call_start|>[${weather}]`, [oslo], ""],
    ["with brackets in a string", marked('[get_weather(city="])[{\\"]")]'), [{ city: '])[{"]' }], ""],
    [
      "with a mark in a string",
      marked('[get_weather(city="<|tool_call_end|>"), now()]'),
      [{ city: "<|tool_call_end|>" }, {}],
      "",
    ],
    ["with many lists", marked(`[${"now(**{}), ".repeat(99)}now(**{})]`), Array.from({ length: 100 }, () => ({})), ""],
    [
      "is none that nests too deep",
      marked(`[now(a=${"[".repeat(20_000)}${"]".repeat(20_000)})]`),
      ["invalid_call"],
      "",
    ],
    ["is none without a name", marked(`[${weather}, (city="Oslo")]`), ["invalid_call"], ""],
    ["nor with what is no dict", marked('[get_weather(**"Oslo")]'), ["invalid_call"], ""],
    ["or has a key alone", marked('[get_weather(**{"city"})]'), ["invalid_call"], ""],
    ["with a string of several lines", marked("[get_weather(city='a\nb')]"), [{ city: "a\nb" }], ""],
    ["may be a line between marks of its own", `So ${lines(weather)} and`, [oslo], "So  and"],
    ["or several", lines("", "now()", ` ${weather} `, "", "now()", ""), [{}, oslo, {}], ""],
    ["that break in brackets", lines("get_weather(", '  city="Oslo"', ")", "now()"), [oslo, {}], ""],
    ["with a mark in a string", lines('get_weather(city="</function_calls>")'), [{ city: "</function_calls>" }], ""],
    ["with a call in a string", lines("get_weather(city='a)\nnow()')"), [{ city: "a)\nnow()" }], ""],
    ["is none on one line with another", `${lines(`now() ${weather}`)} and`, ["invalid_call"], " and"],
    ["of lines, is none with anything else", `${lines("now()", "So.")} and`, ["invalid_call"], " and"],
    ["is none with a bracket too many", `${lines(`${weather}]`)} and`, ["invalid_call"], " and"],
    ["is none with one too few", `${lines("now()", "now(")} and`, ["invalid_call"], " and"],
    [
      "of lines, is none in a string that has no end",
      `${lines('get_weather(city="Oslo)')} and`,
      ["invalid_call"],
      " and",
    ],
    ["of lines, is none without its last mark", `<function_calls>${weather}\n`, ["truncated"], ""],
    ["of lines, is cut in its name", "<function_calls>get_wea", ["truncated"], ""],
    ["is none without its last bracket", `[${weather}`, ["truncated"], ""],
    ["between marks, either", `<|tool_call_start|>[${weather}, now()`, ["truncated"], ""],
    ["where its end has come", `${marked(`[${weather}, now(`)} and`, ["invalid_call"], " and"],
    ["in a string that has no end", `${marked('[now(), get_weather(city="Oslo)]')} and`, ["invalid_call"], " and"],
    ...strange
      .split("|")
      .map((args): [string, string, unknown[], string] => [
        "is none with such an argument",
        marked(`[now(), get_weather(${args})]`),
        ["invalid_call"],
        "",
      ]),
    ...["now", "1", "x=now()", "now() now()", "now().x"].map((item): [string, string, unknown[], string] => [
      "is none of anything else",
      marked(`[now(), ${item}]`),
      ["invalid_call"],
      "",
    ]),
    ...texts.map((text): [string, string, unknown[], string] => ["is not", text, [], text]),
  ])("%s: %s", async (_, text, outcomes, said) => {
    await expectRead(textJson("pythonic"), text, outcomes, said);
  });

  it("has literals of every kind", async () => {
    const set = defineTool({ name: "a.set-x", inputSchema: jsonSchema({ type: "object" }), effect: "read" });
    const text =
      "[a.set-x(a=-1, b=+2.5e3, c=0xff, d=1_000, e=(1, 2), f=(3), g=(), h=(4,), i=[True, false, None, null,], " +
      `j={'k': {"l": 'it\\'s'}}, m='''a\n'b''', n='a' "b", o=r'\\n', p='\\x41\\n', größe=-0, **{'a b': '' }, )]`;
    const expected = {
      a: -1,
      b: 2500,
      c: 255,
      d: 1000,
      e: [1, 2],
      f: 3,
      g: [],
      h: [4],
      i: [true, false, null, null],
      j: { k: { l: "it's" } },
      m: "a\n'b",
      n: "ab",
      o: "\\n",
      p: "A\n",
      größe: 0,
      "a b": "",
    };
    await expectRead(textJson("pythonic"), text, [expected], "", [set]);
  });

  it("is refused where it has more calls than a turn may have", async () => {
    async function* source() {
      yield marked("[now(), now(), now()]");
    }
    const read = async (maxCalls: number) =>
      outcomesOf(await textJson("pythonic").read(source(), { tools: sharedTools, limits: { maxCalls } }).done());
    expect(await read(3)).toEqual([{}, {}, {}]);
    expect(await read(2)).toEqual(["invalid_call"]);
  });

  it("is refused in a time that grows with its length, for a reason that does not", async () => {
    const start = busyMs();
    for (const value of [`"${"\\N{".repeat(100_000)}"`, `0x${"f".repeat(100_000)}`, "1x".repeat(100_000)]) {
      const { turn } = await readText(textJson("pythonic"), [marked(`[get_weather(city=${value})]`)], sharedTools);
      const { code, message } = turn.calls[0]!.outcome as ToolCallError;
      expect(code).toBe("invalid_call");
      expect(message.length).toBeLessThan(1000);
    }
    expect(busyMs() - start).toBeLessThan(5000);
  });

  it("runs nothing of one that is cut off, and no write before the turn has ended well", async () => {
    const text = `[refund_order(order_id="1", amount=1), ${weather}]`;
    for (const [before, after] of [
      ["", ""],
      ["<|tool_call_start|>", "<|tool_call_end|>"],
      ["<function_calls>", "</function_calls>"],
    ] as const) {
      const isLines = before === "<function_calls>";
      const whole = before + (isLines ? text.slice(1, -1).replace(", get", "\nget") : text) + after;
      for (let at = 0; at <= whole.length; at++) {
        for (const reason of ["stop", "length"] as const) {
          const pieces = [whole.slice(0, at), { type: "finish" as const, reason }];
          const { turn } = await readText(textJson("pythonic"), pieces, sharedTools);
          const ran = turn.calls.flatMap(({ released, name }) => (released ? [name] : []));
          // Without a mark, more might have come on the line.
          const isCut = reason === "length" && before === "";
          const isWhole = at >= (isLines ? whole.length : before.length + text.length);
          const reads = isCut || !isWhole ? [] : ["get_weather"];
          const writes = reads.length === 0 || reason === "length" ? [] : ["refund_order"];
          expect([at, ran]).toEqual([at, [...writes, ...reads]]);
        }
      }
    }
  });
});

describe("the live input", () => {
  it("grows while the call is written", async () => {
    const seen: unknown[] = [];
    async function* source() {
      for (const piece of [
        "<function=write_file>\n<parameter=path>\na",
        ".txt\n</parameter>\n<parameter=content>\nHel",
        "lo",
        "\n</parameter>\n</function>",
      ])
        yield piece;
    }
    for await (const event of textJson("qwen-xml").read(source(), { tools: sharedTools })) {
      if (event.type === "tool-input-delta") seen.push(structuredClone(event.call.input));
    }
    expect(seen).toContainEqual({ path: "a" });
    expect(seen).toContainEqual({ path: "a.txt", content: "Hel" });
    expect(seen.at(-1)).toEqual({ path: "a.txt", content: "Hello" });
  });
});

describe("values that are written as plain text", () => {
  const tool = defineTool({
    name: "f",
    effect: "write",
    inputSchema: jsonSchema({
      type: "object",
      properties: {
        text: { type: "string" },
        maybe: { type: ["string", "null"] },
        count: { type: "integer" },
        on: { type: "boolean" },
        list: { type: "array", items: { type: "integer" } },
        map: { type: "object" },
        either: { anyOf: [{ type: "integer" }, { type: "null" }] },
        level: { enum: [1, 2] },
        word: { enum: ["1", "2"] },
        far: { $ref: "#/$defs/far" },
        pick: { enum: ["1", null] },
        listed: { type: ["string", "null"], enum: ["1", "null"] },
        words: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
        body: { type: ["string", "object"], properties: { a: { type: "integer" } } },
        any: {},
      },
      $defs: { far: { type: "number" } },
    }),
  });
  it.each<[string, string, unknown]>([
    ["text", "5", "5"],
    ["text", "null", "null"],
    ["text", "", ""],
    ["text", '"quoted"', '"quoted"'],
    ["maybe", "null", null],
    ["maybe", "None", null],
    ["maybe", "nullable", "nullable"],
    ["count", "5", 5],
    ["count", " 5 ", 5],
    ["on", "True", true],
    ["on", "false", false],
    ["list", "[1, 2]", [1, 2]],
    ["list", "[1, 2,]", [1, 2]],
    ["map", "{'a': [True, \"it's\"]}", { a: [true, "it's"] }],
    ["either", "None", null],
    ["either", "7", 7],
    ["level", "2", 2],
    ["word", "2", "2"],
    ["far", "1.5", 1.5],
    ["pick", "1", "1"],
    ["pick", "null", null],
    ["listed", "null", "null"],
    ["words", '["a", "b"]', ["a", "b"]],
    ["words", "[a]", "[a]"],
    ["words", "[1, 2]", "[1, 2]"],
    ["words", '{"a": 1}', '{"a": 1}'],
    ["words", " a ", " a "],
    ["words", '"a"', '"a"'],
    ["body", '{"a": 1}', { a: 1 }],
    ["body", '{"a": "b"}', '{"a": "b"}'],
    ["body", "007", "007"],
    ["any", '{"a": 1}', '{"a": 1}'],
    ["any", "5", "5"],
    ["any", "null", "null"],
    ["other", "null", "null"],
    ["other", "[1]", "[1]"],
  ])("%s of %j", async (key, text, value) => {
    const { turn } = await readText(
      textJson("qwen-xml"),
      [`<tool_call>\n<function=f>\n<parameter=${key}>\n${text}\n</parameter>\n</function>\n</tool_call>`],
      [tool],
    );
    expect((turn.calls[0]!.outcome as ToolUse).input).toEqual({ [key]: value });
  });

  it.each(['[1], "text": "x"', "[1,], 'text': 'x'", "[1]}", "[1", "{'a': 1"])(
    "cannot bring in a property of their own, nor an end: %s",
    async (value) => {
      const { turn } = await readText(
        textJson("qwen-xml"),
        [`<function=f>\n<parameter=list>\n${value}\n</parameter>\n</function>`],
        [tool],
      );
      expect(turn.calls[0]!.outcome).toMatchObject({ code: "invalid_input" });
    },
  );
});

describe.each<[NotationName, Tags]>([
  [
    "qwen-xml",
    {
      calls: (...calls) => calls.join("\n"),
      call: (tool, ...values) => `<tool_call>\n<function=${tool}>\n${values.join("")}</function>\n</tool_call>`,
      value: (key, text) => `${begin(key)}${text}\n</parameter>\n`,
      unclosed: (key, text) => `${begin(key)}${text}\n`,
    },
  ],
  [
    "dsml",
    {
      calls: (...calls) => `<|DSML|tool_calls>\n${calls.join("\n")}\n</|DSML|tool_calls>`,
      call: (tool, ...values) => `<|DSML|invoke name="${tool}">\n${values.join("")}</|DSML|invoke>`,
      value: (key, text) => `<|DSML|parameter name="${key}" string="true">${text}</|DSML|parameter>\n`,
      unclosed: (key, text) => `<|DSML|parameter name="${key}" string="true">${text}\n`,
    },
  ],
  [
    "invoke",
    {
      calls: (...calls) => `<minimax:tool_call>\n${calls.join("\n")}\n</minimax:tool_call>`,
      call: (tool, ...values) => `<invoke name="${tool}">\n${values.join("")}</invoke>`,
      value: (key, text) => `<parameter name="${key}">${text}</parameter>\n`,
      unclosed: (key, text) => `<parameter name="${key}">${text}\n`,
    },
  ],
  [
    "invoke",
    {
      form: "in the words of MiniCPM5",
      calls: (...calls) => calls.join("\n"),
      call: (tool, ...values) => `<function name="${tool}">\n${values.join("")}</function>`,
      value: (key, text) => `<param name="${key}">${text}</param>\n`,
      unclosed: (key, text) => `<param name="${key}">${text}\n`,
    },
  ],
  [
    "xtml",
    {
      calls: (...calls) => `<|open|>tools<|sep|>\n${calls.join("\n")}\n<|close|>tools<|sep|>`,
      call: (tool, ...values) => `<|open|>call tool="${tool}"<|sep|>\n${values.join("")}<|close|>call<|sep|>`,
      value: (key, text) => `<|open|>argument key="${key}" type="string"<|sep|>${text}<|close|>argument<|sep|>\n`,
      unclosed: (key, text) => `<|open|>argument key="${key}" type="string"<|sep|>${text}\n`,
    },
  ],
  [
    "glm",
    {
      calls: (...calls) => calls.join("\n"),
      call: (tool, ...values) => `<tool_call>${tool}\n${values.join("")}</tool_call>`,
      value: (key, text) => `<arg_key>${key}</arg_key>\n<arg_value>${text}</arg_value>\n`,
      unclosed: (key, text) => `<arg_key>${key}</arg_key>\n<arg_value>${text}\n`,
    },
  ],
  [
    "glm",
    {
      form: "a section, with a suffix",
      calls: (...calls) => `<tool_calls:x>\n${calls.join("\n")}\n</tool_calls:x>`,
      call: (tool, ...values) => `<tool_call:x>${tool}<tool_sep:x>\n${values.join("")}</tool_call:x>`,
      value: (key, text) => `<arg_key:x>${key}</arg_key:x>\n<arg_value:x>${text}</arg_value:x>\n`,
      unclosed: (key, text) => `<arg_key:x>${key}</arg_key:x>\n<arg_value:x>${text}\n`,
    },
  ],
])("a value of %s", (name, { calls, call, value, unclosed }) => {
  const now = call("now");
  const file = call("write_file", value("path", "b.txt"), value("content", "world"));
  const written = { path: "b.txt", content: "world" };
  it.each<[string, string, unknown[]]>([
    [
      "before another call",
      calls(call("write_file", value("path", "a.txt"), unclosed("content", "hello")), file),
      ["invalid_call", written],
    ],
    [
      "before a call without parameters, and one more",
      calls(call("write_file", value("path", "a.txt"), unclosed("content", "hello")), now, file),
      ["invalid_call", {}, written],
    ],
    [
      "before another parameter",
      calls(call("write_file", unclosed("path", "a.txt"), value("content", "hello")), file),
      ["invalid_call", written],
    ],
    [
      "before another parameter on its line",
      calls(call("write_file", unclosed("path", "a.txt").trim(), value("content", "hello")), file),
      ["invalid_call", written],
    ],
    ["at the end", calls(call("write_file", value("path", "a.txt"), unclosed("content", "hello"))), ["truncated"]],
    [
      "before words, and a call of other parameters",
      calls(call("write_file", unclosed("content", "hello"))) + "Next:" + calls(call("f", value("city", "Oslo"))),
      ["invalid_call"],
    ],
    [
      "whose name comes again",
      calls(call("write_file", value("path", "a.txt"), value("content", "1"), value("path", "b.txt")), file),
      ["invalid_call", written],
    ],
  ])("that has no end does not reach into what follows: %s", async (_, text, outcomes) => {
    await expectRead(textJson(name), text, outcomes);
  });

  it.each<[string, string]>([
    ["a call", calls(call("now"), call("now"))],
    ["parameters of a call", call("f", unclosed("path", "x"))],
    ["the end of a call", `${call("f").slice(-12)} ends it`],
    ["the end of a call, and a call", `${call("f").slice(-30)}, ${call("f")}`],
    ["a parameter that the tool has not", `as ${unclosed("city", "Oslo")}`],
    ["the parameter that it is", `as ${unclosed("content", "x")}`],
    ["a call with parameters", calls(call("f", value("city", "Oslo"), value("zip", "1")))],
    ["calls with parameters", calls(call("f", value("city", "Oslo")), call("f", value("city", "Oslo")))],
    ["a call of the same tool", calls(call("write_file", value("path", "a"), value("content", "b")))],
    ["a call about a call", calls(call("write_file", value("content", call("f", value("city", "Oslo")))))],
    ["a call without its section", `so: ${call("f", value("city", "Oslo"), value("path", "x"))}, and so on`],
    ["a call with something else in it", `${call("f", value("city", "Oslo"), "...\n", value("zip", "1"))}`],
    ["a call with words in it", `${call("f", "... ", value("city", "Oslo"))}`],
    [
      "parameters without a call or a line between them",
      ["a", "b", "c"].map((key) => value(key, "1").trim()).join(" "),
    ],
    ["a parameter, and the mention of one", `${value("a", "1").trim()}, not ${unclosed("b", "1").trim()}`],
    ["a call about the end of a value", call("f", value("city", `an ${value("a", "end").trim()} of it`))],
    ["parameters without a call", value("city", "Oslo") + value("zip", "1")],
    ["parameters below words", `They are:\n${value("city", "Oslo")}${value("zip", "1")}`],
    ["a parameter without a call, and words", `${value("city", "Oslo")}and so on`],
    ["the end of a value between words", `x ${value("a", "@").split("@")[1]!.trim()} y`],
    ["two ends in a row between words", `x ${value("a", "@").split("@")[1]!.trim().repeat(2)} y`],
    ["the end of a call as its last words", `x ${call("f", "@").split("@")[1]!.trim()}`],
    [
      "the end of a value before the beginning of a call",
      `${value("a", "@").split("@")[1]}${calls("@").split("@")[0]}x`,
    ],
    ["what begins like a parameter", value("city", "").slice(0, 12)],
    ["what begins like a parameter, in code", `["${call("f").split("f")[0]!}", "${value("city", "").slice(0, 12)}"]`],
  ])("may hold %s", async (_, content) => {
    const text = calls(call("write_file", value("content", content), value("path", "a.txt")));
    await expectRead(textJson(name), text, [{ content, path: "a.txt" }]);
  });

  // Its own end could be that of what it is about: it has none for sure.
  it.each<[string, string]>([
    ["a call that ends early", call("f", unclosed("city", "Oslo"), "@").split("@")[0]!],
    [
      "a call that ends early, behind a whole one",
      `${file}\n${call("f", unclosed("city", "Oslo"), "@").split("@")[0]!}`,
    ],
    ["a parameter that ends early", unclosed("city", "Oslo")],
    // A slip of the model, more likely: https://github.com/ggml-org/llama.cpp/issues/24807
    ["the end of a value as its last words", `x ${value("a", "@").split("@")[1]!.trim()}`],
    ["two of them as its last words", `x ${value("a", "@").split("@")[1]!.trim().repeat(2)}`],
  ])("is an error if it holds %s", async (_, content) => {
    for (const parameters of [
      [value("content", content)],
      [value("content", content), value("path", "a.txt")],
      [value("path", "a.txt"), value("content", content)],
    ]) {
      const text = calls(call("write_file", ...parameters));
      for (const pieces of [[text], text.split("")]) {
        const { turn } = await readText(textJson(name), pieces, sharedTools);
        expect(turn.calls.map(({ outcome }) => outcome as ToolCallError)).toEqual([
          expect.objectContaining({
            code: expect.stringMatching(/^(truncated|invalid_call)$/) as string,
            message: expect.stringMatching(/: a value has (no|two) /) as string,
          }),
        ]);
      }
    }
  });
});

describe("a value that is XML with elements named like parameters", () => {
  it.each<[NotationName, string]>([
    ["qwen-xml", "parameter"],
    ["invoke", "parameter"],
    ["glm", "arg_value"],
  ])("is read in %s up to its own end", async (name, tag) => {
    const element = `<${tag}>1</${tag}>`;
    for (const content of [element, `<a>\n${element}`, `<${tag}>\n${element}\n</${tag}>`]) {
      const call = { id: null, name: "write_file", args: { path: "a.xml", content }, tool: undefined, metadata: {} };
      const written = notations[name].writeCalls([call]);
      await expectRead(textJson(name), written, [{ path: "a.xml", content }]);
    }
    // The end of another element is none of a parameter's.
    const doubled = `<${tag}s>1</${tag}s>\n</${tag}>`;
    const call = {
      id: null,
      name: "write_file",
      args: { path: "a.xml", content: doubled },
      tool: undefined,
      metadata: {},
    };
    await expectRead(textJson(name), notations[name].writeCalls([call]), ["invalid_call"]);
  });
});

describe("a value that is JSON", () => {
  const items = { type: "array" as const, items: { type: "string" as const } };
  const note = defineTool({
    name: "note",
    inputSchema: jsonSchema({ type: "object", properties: { items, text: { type: "string" } } }),
    effect: "read",
  });
  it.each<NotationName>(["qwen-xml", "glm", "dsml", "invoke", "xtml"])("may quote calls of %s", async (name) => {
    const { writeCalls } = notations[name];
    const written = (args: Record<string, unknown>) =>
      writeCalls([{ id: null, name: "note", args, tool: undefined, metadata: {} }]);
    for (const quoted of [{ items: ['"a"', "b"] }, { text: "a" }, {}, { items: [written({ text: "a" })] }]) {
      const args = { items: [written(quoted), `so: ${written(quoted)}.`], text: "a" };
      const { turn } = await readText(textJson(name), [written(args)], [note]);
      expect(turn.calls.map(({ input }) => input)).toEqual([args]);
    }
  });
});

describe("a value full of tags that have no end", () => {
  it.each<[NotationName, string, string, string]>([
    ["qwen-xml", "<function=f>\n<parameter=content>\n", "<parameter=", "\n</parameter>\n</function>"],
    [
      "dsml",
      '<|DSML|invoke name="f">\n<|DSML|parameter name="content" string="true">',
      "<|DSML|parameter ",
      "</|DSML|parameter>\n</|DSML|invoke>",
    ],
    ["invoke", '<invoke name="f">\n<parameter name="content">', "<parameter ", "</parameter>\n</invoke>"],
    [
      "xtml",
      '<|open|>call tool="f"<|sep|><|open|>argument key="content" type="string"<|sep|>',
      "<|open|>argument ",
      "<|close|>argument<|sep|><|close|>call<|sep|>",
    ],
    [
      "invoke",
      ']<]minimax[>[<invoke name="f">]<]minimax[>[<content>',
      "]<]minimax[>",
      "]<]minimax[>[</content>]<]minimax[>[</invoke>",
    ],
    ["glm", "<tool_call>f<arg_key>content</arg_key><arg_value>", "<arg_key", "</arg_value></tool_call>"],
  ])("%s: is read as fast as one of tags that have one", async (name, head, tag, tail) => {
    async function timeOf(piece: string): Promise<number> {
      const content = piece.repeat(100_000) + " ".repeat(300);
      const start = busyMs();
      const { turn } = await readText(textJson(name), [head + content + tail]);
      const time = busyMs() - start;
      expect(turn.calls.map(({ name: called }) => called)).toEqual(["f"]);
      return time;
    }
    // With a way to the end of the text for each tag, the time would grow with the square of their number.
    const closed = await timeOf(`${tag}>`);
    expect(await timeOf(tag)).toBeLessThan(8 * closed + 100);
  });
});

interface Tags {
  /** What tells it from another form of the notation. */
  readonly form?: string;
  calls(...calls: string[]): string;
  call(tool: string, ...values: string[]): string;
  value(key: string, text: string): string;
  unclosed(key: string, text: string): string;
}

function begin(key: string): string {
  return `<parameter=${key}>\n`;
}
