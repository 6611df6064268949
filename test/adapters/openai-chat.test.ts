import OpenAI, { APIError } from "openai";
import { toStrictJsonSchema } from "openai/lib/transform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openaiChat, wireId, type ChatEvent, type NativeMessage } from "../../adapters/openai-chat/index.ts";
import type { ParserSink } from "../../src/adapter.ts";
import type { ToolChoice } from "../../src/tool/choice.ts";
import { serveReplay, type ReplayServer } from "../../src/replay/index.ts";
import { jsonSchema, type JsonSchema } from "../../src/schema/index.ts";
import type { ToolChunk } from "../../src/stream/chunk.ts";
import type { Turn } from "../../src/stream/events.ts";
import { summarize } from "../../src/testing/index.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { ToolUse } from "../../src/tool/use.ts";
import { fixturesDir, loadFixture, sharedTools } from "../fixtures.ts";
import { iterate } from "../iterate.ts";
import { misread } from "../misread.ts";

const getWeather = defineTool({
  name: "get_weather",
  description: "Current weather of a city.",
  inputSchema: z.object({ city: z.string(), unit: z.enum(["celsius", "fahrenheit"]).optional() }),
  effect: "read",
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const writeFile = defineTool({
  name: "write_file",
  inputSchema: z.object({ path: z.string(), content: z.string() }),
  execute: ({ path }) => path,
});
const writeSql = defineTool({
  name: "write_sql",
  description: "Runs a query.",
  inputSchema: z.string(),
  effect: "read",
  execute: (sql) => sql.length,
});

// -- what the wire says

function delta(fields: object, finish_reason: string | null = null, more: object = {}): ChatEvent {
  return { id: "chatcmpl-1", choices: [{ index: 0, delta: fields, finish_reason }], ...more };
}

function calls(...tool_calls: object[]): ChatEvent {
  return delta({ tool_calls });
}

function call(index: number, args: unknown, more: object = {}): object {
  return { index, id: `call_${index}`, type: "function", function: { name: "get_weather", arguments: args }, ...more };
}

const end = delta({}, "tool_calls");

/** The one message of a turn, as the plain object that is sent. */
function messageOf(turn: Turn): { [field: string]: unknown; tool_calls: SentCall[] } {
  const messages: unknown[] = openaiChat.assistantMessage(turn);
  expect(messages).toHaveLength(1);
  return messages[0] as { tool_calls: SentCall[] };
}

interface SentCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The function that is sent for a schema. */
function functionFor(schema: object, options: Parameters<typeof openaiChat.tools>[1]) {
  const tool = defineTool({ name: "t", inputSchema: jsonSchema(schema as JsonSchema) });
  const [param] = openaiChat.tools([tool], options);
  if (param?.type !== "function") throw new Error("no function");
  return param.function;
}

async function read(events: readonly (ChatEvent | string)[], tools?: readonly Tool[], choice = 0): Promise<Turn> {
  async function* source() {
    for (const event of events) yield event as ChatEvent;
  }
  return openaiChat.read(source(), { tools, choice, runId: "run" }).done();
}

function readFixture(name: string): Promise<Turn> {
  const { bytes, tools } = loadFixture("openai-chat", name);
  return openaiChat.read(new Response(bytes.slice()), { tools, runId: "run" }).done();
}

/** What a parser says, as a list. */
function said(events: readonly (ChatEvent | string)[]): unknown[][] {
  const list: unknown[][] = [];
  const note =
    (word: string) =>
    (...rest: unknown[]) =>
      void list.push([word, ...rest]);
  const sink: ParserSink = {
    start: note("start"),
    text: note("text"),
    reasoning: note("reasoning"),
    refusal: note("refusal"),
    tool: (chunk: ToolChunk) => void list.push(["tool", JSON.parse(JSON.stringify(chunk))]),
    providerTool: note("providerTool"),
    usage: note("usage"),
    finish: note("finish"),
    terminal: note("terminal"),
    fail: note("fail"),
  };
  const parser = openaiChat.parser(sink);
  for (const event of events) parser.push(event);
  parser.end();
  return list;
}

describe("openaiChat.parser()", () => {
  it("says what came, in the order of the wire, the finish after the payload beside it", () => {
    expect(said([delta({ role: "assistant", content: "Hi" }, "stop", { model: "m" }), "[DONE]"])).toEqual([
      ["start", "chatcmpl-1", "m"],
      ["text", "Hi"],
      ["finish", "stop", "stop", undefined],
      ["terminal"],
    ]);
  });

  it("makes one chunk of every entry, in order", () => {
    expect(
      said([calls({ index: 0, id: "c1", function: { name: "f" } }, { index: 0, function: { arguments: "{}" } })]).slice(
        1,
      ),
    ).toEqual([
      ["tool", { turnIndex: 0, callIndex: 0, id: "c1", name: "f" }],
      ["tool", { turnIndex: 0, callIndex: 0, argsTextDelta: "{}" }],
    ]);
  });

  it.each<[string, unknown, Partial<ToolChunk>]>([
    ["text", '{"a":1}', { argsTextDelta: '{"a":1}' }],
    ["an object", { a: 1 }, { argsKvPatch: { a: 1 } }],
    ["the empty list of a PHP server", [], { argsKvPatch: {} }],
    ["a number, which validation refuses", 5, { argsTextDelta: "5" }],
    ["null", null, {}],
  ])("takes arguments that are %s", (_, args, chunk) => {
    expect(said([calls({ index: 0, id: "c1", function: { name: "f", arguments: args } })])[1]).toEqual([
      "tool",
      { turnIndex: 0, callIndex: 0, id: "c1", name: "f", ...chunk },
    ]);
  });

  it.each<[string, object[], unknown[]]>([
    [
      "that its arguments follow",
      [call(0, []), { index: 0, function: { arguments: '{"city":"Oslo"}' } }],
      [{ outcome: { input: { city: "Oslo" } } }],
    ],
    [
      "an end of its call, where all have one index and id",
      [
        call(0, [], { function: { name: "now", arguments: [] } }),
        call(0, '{"city":', { function: { name: "get_weather", arguments: '{"city":' } }),
        { index: 0, function: { arguments: '"Oslo"}' } },
      ],
      [{ outcome: { input: {} } }, { outcome: { input: { city: "Oslo" } } }],
    ],
  ])("takes the empty list of a PHP server like an empty object: %s", async (_, entries, outcomes) => {
    const now = defineTool({ name: "now", inputSchema: { type: "object" }, execute: () => 1 });
    const turn = await read([...entries.map((entry) => calls(entry)), end], [now, getWeather]);
    expect(turn.calls).toMatchObject(outcomes);
  });

  it.each<[string, string | null]>([
    ["stop", "stop"],
    ["tool_calls", "tool-use"],
    ["function_call", "tool-use"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["content_filter: PROHIBITED_CONTENT", "content-filter"],
    ["error", "error"],
    ["STOP", "stop"],
    ["eos", "stop"],
    ["end", "stop"],
    ["COMPLETE", "stop"],
    ["TOOL_CALL", "tool-use"],
    ["constructor", "unknown"],
    ["something new", "unknown"],
    ["", null],
  ])("reads finish_reason %j as %j", (word, reason) => {
    const finish = said([delta({}, word)]).find(([what]) => what === "finish");
    expect(finish?.[1] ?? null).toBe(reason);
    expect(finish?.[2] ?? null).toBe(reason === null ? null : word);
  });

  it.each([
    ["end_turn", "end_turn", "end_turn"],
    ["stop", undefined, "stop"],
    ["", undefined, undefined],
    [null, undefined, undefined],
  ])(
    "keeps the word of the server behind a gateway as the message: %j",
    async (native_finish_reason, message, kept) => {
      const event: ChatEvent = { choices: [{ index: 0, delta: {}, finish_reason: "stop", native_finish_reason }] };
      expect(said([event]).at(-1)).toEqual(["finish", "stop", "stop", message]);
      expect((await read([event])).native).toEqual(kept === undefined ? {} : { native_finish_reason: kept });
    },
  );

  it("takes an empty finish_reason of a whole response for an end", () => {
    const whole = { object: "chat.completion", choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "" }] };
    expect(said([whole]).slice(1)).toEqual([["text", "Hi"], ["finish", "unknown", "", undefined], ["terminal"]]);
  });

  it("does not take a chunk that calls itself chat.completion for a whole response", () => {
    const message = { content: "all so far" };
    const events = ["a", "b"].map((content) => ({
      object: "chat.completion",
      choices: [{ index: 0, delta: { content }, message, finish_reason: null }],
    }));
    expect(said(events).slice(1)).toEqual([
      ["text", "a"],
      ["text", "b"],
    ]);
  });

  // https://github.com/GCWing/OpenBitFun/issues/792
  it("says once what came in pieces and then as a whole, and takes what is new of the whole", async () => {
    const message = {
      role: "assistant",
      content: "Hello",
      reasoning_content: "Hm.",
      refusal: "No.",
      tool_calls: [call(0, "{}")],
    };
    const whole = {
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    };
    const pieces = [{ reasoning_content: "Hm." }, { content: "Hel" }, { content: "lo" }, { refusal: "No." }].map(
      (one) => delta(one),
    );
    for (const before of [[...pieces, calls(call(0, "{}"))], pieces, []]) {
      const turn = await read([...before, whole as ChatEvent]);
      const { text, reasoning, refusal, usage } = turn;
      expect({ text, reasoning, refusal, calls: turn.calls.length }).toEqual({
        text: "Hello",
        reasoning: "Hm.",
        refusal: "No.",
        calls: 1,
      });
      expect(usage?.inputTokens).toBe(1);
      expect(openaiChat.assistantMessage(turn)).toMatchObject([{ content: "Hello", reasoning_content: "Hm." }]);
    }
  });

  it("takes of a whole message what no piece had: text behind thoughts, details of reasoning", async () => {
    const whole = (message: object) => ({
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop" }],
    });
    const thoughts = [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }];
    const spoken = await read([
      delta({ content: thoughts }),
      whole({ content: "Hi", reasoning_content: "Hm." }) as ChatEvent,
    ]);
    expect([spoken.text, spoken.reasoning]).toEqual(["Hi", "Hm."]);
    const hidden = {
      reasoning_details: [{ type: "reasoning.encrypted", data: "SIG" }],
      thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "SIG" }],
    };
    const signed = await read([
      delta({ reasoning_content: "Hm." }),
      whole({ content: "Hi", reasoning_content: "Hm.", ...hidden }) as ChatEvent,
    ]);
    expect(openaiChat.assistantMessage(signed)).toMatchObject([{ content: "Hi", reasoning_content: "Hm.", ...hidden }]);
  });

  it.each([true, false])("repeats nothing of a list that came in pieces and then as a whole: %j", async (hasText) => {
    const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] };
    const detail = { type: "reasoning.text", text: "Hm.", index: 0 };
    const content = [thought, { type: "text", text: "Hi" }];
    const message = { role: "assistant", content, reasoning_details: [detail] };
    const turn = await read([
      delta({ reasoning_details: [detail], content: [thought] }),
      ...(hasText ? [delta({ content: [content[1]] })] : []),
      { object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] } as unknown as ChatEvent,
    ]);
    expect([turn.reasoning, turn.text]).toEqual(["Hm.", "Hi"]);
    expect(openaiChat.assistantMessage(turn)).toEqual([{ role: "assistant", content, reasoning_details: [detail] }]);
  });

  it("takes a custom call for one where the field of functions is filled, too", async () => {
    const custom = { id: "c_1", type: "custom", custom: { name: "write_sql", input: "drop" } };
    const turn = await read([calls({ index: 0, ...custom, function: { name: "", arguments: "" } }), end], [writeSql]);
    expect(turn.calls).toMatchObject([{ name: "write_sql", argsText: "drop", outcome: { input: "drop" } }]);
  });

  // langchain-ai/langchainjs#11373
  // https://github.com/BerriAI/litellm/issues/12513
  it('takes the name "null", on the later pieces of a call, for none', async () => {
    const piece = (args: string) =>
      calls({ index: 0, id: "", type: "FUNCTION", function: { name: "null", arguments: args } });
    const head = { index: 0, id: "call_0", type: "FUNCTION", function: { name: "get_weather", arguments: "" } };
    const turn = await read([calls(head), piece('{"city":'), piece('"Oslo"}'), piece(""), end], [getWeather]);
    expect(turn.calls.map(({ outcome }) => outcome)).toMatchObject([{ name: "get_weather", input: { city: "Oslo" } }]);
  });

  it('takes the id "null", which several calls have, for none', async () => {
    const piece = (args: string, name?: string) => calls({ id: "null", function: { name, arguments: args } });
    const turn = await read([piece('{"n":', "a"), piece("0}"), piece('{"n":', "b"), piece("1}"), end]);
    expect(turn.calls).toMatchObject([
      { id: null, name: "a", argsText: '{"n":0}' },
      { id: null, name: "b", argsText: '{"n":1}' },
    ]);
  });

  it("keeps what comes with a later piece of a call", async () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const piece = { index: 0, function: { arguments: "{}" }, extra_content };
    const turn = await read([calls(call(0, "")), calls(piece), end]);
    expect(messageOf(turn).tool_calls).toMatchObject([{ id: "call_0", extra_content }]);
  });

  it.each([
    { tool_calls: [{ index: 0, type: "function", function: { name: "", arguments: "" } }] },
    { tool_calls: [{ index: 0, id: "", function: { name: null, arguments: null } }] },
    { function_call: { name: "", arguments: "" } },
    { function_call: { name: null, arguments: null } },
    { audio: { id: "", data: "" } },
  ])("takes fields without a value for nothing: %j", async (fields) => {
    const turn = await read([delta({ content: "x", ...fields }), delta({ content: "y", ...fields }, "stop")]);
    expect([turn.error, turn.text, turn.calls]).toEqual([undefined, "xy", []]);
    expect(openaiChat.assistantMessage(turn)).toEqual([{ role: "assistant", content: "xy" }]);
  });

  it("runs a custom tool once that came in pieces and then as a whole", async () => {
    const custom = { id: "c_1", type: "custom", custom: { name: "write_sql", input: "drop" } };
    const message = { role: "assistant", content: null, tool_calls: [custom] };
    const turn = await read([
      calls({ index: 0, ...custom }),
      {
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      } as unknown as ChatEvent,
    ]);
    expect(turn.calls.map(({ argsText }) => argsText)).toEqual(["drop"]);
  });

  it.each([
    ["stop", "use"],
    ["length", "truncated"],
    ["content_filter", "truncated"],
  ])("runs free text of a whole response that ended with %s only if it cannot have been cut", (finish_reason, what) => {
    const custom = { id: "c_1", type: "custom", custom: { name: "write_sql", input: "DELETE FROM log" } };
    const message = { role: "assistant", content: null, tool_calls: [custom] };
    const whole = { object: "chat.completion", choices: [{ index: 0, message, finish_reason }] };
    const events = openaiChat.parse(whole, { tools: [writeSql] });
    const ends = events.flatMap((event) =>
      event.type === "tool-use" ? ["use"] : event.type === "tool-error" ? [event.error.code] : [],
    );
    expect(ends).toEqual([what]);
  });

  it("keeps two free texts of a whole response apart, though both have one id", () => {
    const custom = (input: string) => ({ id: "0", type: "custom", custom: { name: "write_sql", input } });
    const message = { role: "assistant", content: null, tool_calls: [custom("SELECT 1"), custom("SELECT 2")] };
    const whole = { object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] };
    const events = openaiChat.parse(whole, { tools: [writeSql] });
    expect(events.flatMap((event) => (event.type === "tool-use" ? [event.use.input] : []))).toEqual([
      "SELECT 1",
      "SELECT 2",
    ]);
  });

  // https://github.com/mudler/LocalAI/issues/9722, https://github.com/QuantumNous/new-api/issues/6278
  it.each([
    ["of OpenAI's kind", "call_9qXz2LmT4vKd0RbA7sYe1NuF", 1],
    ["of random characters", "k3Yw8Zr1Qn5Tb7Lx", 1],
    ["with a UUID", "0b9e1f3a-52c4-4d7e-9a61-7f20c8d4e315", 1],
    ["that counts", "0", 2],
    ["made of the tool's name", "call_write_file", 2],
    ["that is such a name", "getCurrentWeatherOfCity", 2],
    ["of few characters", "D681PevK9", 2],
  ])("writes once what a server sends twice under one id %s: %s", async (_, id, times) => {
    const [path, content] = ["a.txt", "Hello"];
    const writing = (index: number, args: string) => ({ index, id, function: { name: "write_file", arguments: args } });
    const text = JSON.stringify({ path, content });
    const copies = [calls(writing(0, text)), calls(writing(1, text)), end];
    const inPieces = [
      calls(writing(0, "")),
      calls(writing(1, "")),
      calls(writing(0, text)),
      calls(writing(1, text)),
      end,
    ];
    for (const events of times === 1 ? [copies, inPieces] : [copies]) {
      const turn = await read(events, [writeFile]);
      const uses = turn.calls.map(({ outcome }) => outcome as ToolUse);
      expect(uses.map(({ input }) => input)).toEqual(Array.from({ length: times }, () => ({ path, content })));
      await Promise.all(uses.map((use) => use.execute()));
      expect(messageOf(turn).tool_calls.map((sent) => sent.id === id)).toEqual([true, false].slice(0, times));
      expect(openaiChat.toolResults(turn)).toHaveLength(times);
    }
    const message = { role: "assistant", content: null, tool_calls: [writing(0, text), writing(1, text)] };
    const whole = { object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    const events = openaiChat.parse(whole, { tools: [writeFile] });
    expect(events.filter(({ type }) => type === "tool-use")).toHaveLength(times);
  });

  it("keeps two calls with one such id apart, if their arguments differ", async () => {
    const id = "call_9qXz2LmT4vKd0RbA7sYe1NuF";
    const city = (name: string) => call(0, JSON.stringify({ city: name }), { id });
    const turn = await read([calls(city("Oslo")), calls({ ...city("Rome"), index: 1 }), end], [getWeather]);
    expect(turn.calls.map(({ outcome }) => (outcome as ToolUse).input)).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
  });

  // https://github.com/HKUDS/nanobot/pull/1555, https://github.com/karthink/gptel/pull/1284
  it.each([
    ["with an index", true, "tool_calls", ["a", "b"]],
    ["without one", false, "tool_calls", ["a", "b"]],
    ["which are others, where the first says nothing of calls", true, "stop", []],
  ])("takes the calls that a whole response has in further choices: %s", (_, isCounted, finish_reason, ids) => {
    const message = (id: string) => ({ tool_calls: [{ id, function: { name: "now", arguments: "{}" } }] });
    const choices = [{ content: "Let me see." }, message("a"), message("b")].map((fields, index) => ({
      ...(isCounted && { index }),
      message: { role: "assistant", ...fields },
      finish_reason,
    }));
    const lines = said([{ object: "chat.completion", choices } as unknown as ChatEvent]);
    expect(lines.flatMap(([what, chunk]) => (what === "tool" ? [(chunk as ToolChunk).id] : []))).toEqual(ids);
  });

  it("passes over what comes after the end", () => {
    expect(said(["[DONE]", delta({ content: "late" }), "[DONE]"])).toEqual([["terminal"]]);
  });

  it.each([
    ["lists", "[".repeat(100_000) + "]".repeat(100_000)],
    ["objects", '{"message":'.repeat(100_000) + '"No."' + "}".repeat(100_000)],
  ])("tells an error as it is that nests %s without end, as text", async (_, text) => {
    const turn = await read([delta({ content: "x" }), { error: text } as ChatEvent]);
    expect(turn.error?.code).toBe("provider_error");
    expect(turn.error?.message.slice(0, 200)).toContain(text.slice(0, 50));
  });

  it.each([
    ["an error event", { error: { message: "No." } }, "No."],
    [
      "an error in a chunk, after its delta",
      delta({ content: "x" }, null, { error: { code: 400, message: "No." } }),
      "No.",
    ],
    ["an error in a choice", { choices: [{ index: 0, message: {}, error: { message: "No." } }] }, "No."],
    ["an error that is text", { error: "No." }, "No."],
    ["an error of Groq's, which stops the stream", delta({ content: "x" }, null, { x_groq: { error: "No." } }), "No."],
    ["an error in an error", { error: { detail: "d", error: { message: "No." } } }, "No."],
    ["an error without a wrapper", { object: "error", message: "No.", type: "BadRequestError" }, "No."],
    // vLLM writes the text of the exception, and that of an assertion is empty.
    [
      "the same without a text",
      { object: "error", message: "", type: "InternalServerError", param: null, code: 500 },
      "The provider reported the error 500.",
    ],
    ["an error with nothing but a message", { message: "No." }, "No."],
    ["an error with nothing but a detail", { detail: "No." }, "No."],
    ["a list of details", { detail: [{ loc: ["body", "tools"], msg: "No.", type: "value_error" }] }, "No."],
    [
      "a list of errors",
      { result: null, success: false, errors: [{ code: 7009, message: "No." }], messages: [] },
      "No.",
    ],
    ["a list of errors that are text", { errors: ["No."] }, "No."],
    ["a message and a type of an error", { choices: null, error_type: "BadRequestError", error_message: "No." }, "No."],
    ["the same as JSON", { error_type: "x", error_message: '{"error":{"message":"No."}}' }, "No."],
    ["a message that is a JSON list", { error: { message: ' [{"error":{"code":429,"message":"No."}}]' } }, "No."],
    ["a message that only looks like JSON", { error: { message: "[429] No." } }, "[429] No."],
    ["a message that is JSON without a message", { error: { message: '{"a":1}' } }, '{"a":1}'],
    [
      "an error of Vercel's gateway, with what it got from the server behind it",
      delta({}, null, {
        error: { message: "No.", value: { error_type: "x", error_message: '{"error":{"message":"Too long."}}' } },
      }),
      "No.: Too long.",
    ],
    ["the same beside an empty list of choices", { choices: [], error_message: "No." }, "No."],
    ["an error that is only said to be one, beside its message", { error: true, message: "No." }, "No."],
    [
      "a status without a text",
      { choices: null, base_resp: { status_code: 1008 } },
      "The provider reported the error 1008.",
    ],
    ["a status that is none of success", { choices: null, base_resp: { status_code: 1008, status_msg: "No." } }, "No."],
    // https://github.com/OpenRouterTeam/ai-sdk-provider/pull/428
    [
      "an error of OpenRouter's, with that of the server behind it as JSON",
      {
        error: {
          code: 400,
          message: "No.",
          metadata: { raw: '{"error":{"message":"Too long."}}', provider_name: "P" },
        },
      },
      "No.: Too long.",
    ],
    ["the same as text", { error: { message: "No.", metadata: { raw: "Busy." } } }, "No.: Busy."],
    ["the same as an object", { error: { message: "No.", metadata: { raw: { detail: "Busy." } } } }, "No.: Busy."],
    ["the same said twice", { error: { message: "No: busy.", metadata: { raw: "busy" } } }, "No: busy."],
    ["metadata of another kind", { error: { message: "No.", metadata: { reasons: ["x"], raw: {} } } }, "No."],
    ["metadata that is text", { error: { message: "No.", metadata: "x" } }, "No."],
    ["an error with nothing but a code", { error: { code: 503 } }, "The provider reported the error 503."],
    [
      "an error with nothing but a type",
      { error: { type: "overloaded" } },
      "The provider reported the error overloaded.",
    ],
    [
      "an error with a code and its kind",
      { error: { message: "", type: "server_error", code: "model_overloaded" } },
      "The provider reported the error model_overloaded.",
    ],
    [
      "an error with neither",
      { error: { status: "UNAVAILABLE" } },
      "The provider reported an error without a message.",
    ],
  ])("fails at %s", (_, event, message) => {
    const [, error] = said([event as ChatEvent]).findLast(([what]) => what === "fail")!;
    expect(error).toMatchObject({ code: "provider_error", message });
  });

  it.each([
    { detail: null },
    { detail: [] },
    { result: {}, success: true, errors: [], messages: [] },
    { choices: [], error_type: null, error_message: "" },
  ])("takes %j for no error", (event) => {
    expect(said([delta({ content: "x" }), event as ChatEvent, end]).map(([what]) => what)).toEqual([
      "start",
      "text",
      "finish",
    ]);
  });

  it.each([null, "", {}, { message: "", code: null }])("takes an error of %j for none", (error) => {
    expect(said([delta({ content: "x" }, "stop", { error })]).map(([what]) => what)).toEqual([
      "start",
      "text",
      "finish",
    ]);
  });

  it("takes a status of success for no error", () => {
    const event = delta({ content: "x" }, "stop", { base_resp: { status_code: 0, status_msg: "success" } });
    expect(said([event]).map(([what]) => what)).toEqual(["start", "text", "finish"]);
  });

  it("has no call that is whole but for the end of the turn, where an error came in its place", async () => {
    const error = { choices: null, error_type: "BadRequestError", error_message: "No." };
    const turn = await read([calls(call(0, '{"city": "Oslo"}')), error as ChatEvent, "[DONE]"]);
    expect(turn.error).toMatchObject({ code: "provider_error", message: "No.", cause: error });
    expect(turn.calls[0]!.outcome).toMatchObject({ code: "truncated" });
  });

  it("tells the raw error as the cause", async () => {
    const error = { message: "No.", code: "overloaded", retry_after: 3 };
    expect((await read([{ error } as ChatEvent])).error?.cause).toBe(error);
  });

  it.each([
    ["JSON", '{"name":"write_file","arguments":{"path":"a"}}', "write_file", '{"path":"a"}'],
    ["JSON with text in it", '{"name":"write_file","parameters":"{\\"path\\":"}', "write_file", '{"path":'],
    ["JSON without arguments", '{"name":"write_file"}', "write_file", ""],
    ["a list", '[{"name":"write_file","arguments":{"path":"a"}}]', "write_file", '{"path":"a"}'],
    ["markup", '<function=write_file={"path":"a"}</function>', "write_file", '{"path":"a"}'],
    ["markup in lines", '{} <function(write_file)>\n{"path":\n"{a}"}\n</function>', "write_file", '{"path":\n"{a}"}'],
    ["markup without arguments", "{} <function=write_file></function>", "write_file", ""],
    ["markup that was cut", '<function=write_file>{"path', "write_file", ""],
    ["prose", "I would rather not.", null, "I would rather not."],
  ])("reports a refused call that is %s, and never executes it", async (_, failed_generation, name, argsText) => {
    const error = { message: "Failed to call a function.", code: "tool_use_failed", failed_generation };
    const turn = await read([{ error } as ChatEvent], [writeFile]);
    expect(summarize(turn).toolCalls).toMatchObject([
      { id: null, name, argsText, status: "rejected", released: false },
    ]);
    expect(turn.error?.code).toBe("provider_error");
  });

  // https://console.groq.com/docs/structured-outputs has the text of an answer there that is not a call.
  it.each([
    { code: "json_validate_failed", failed_generation: '{"name":"write_file","arguments":{}}' },
    { code: "tool_use_failed" },
    { code: "tool_use_failed", failed_generation: null },
  ])("knows of no refused call from %j", async (fields) => {
    const turn = await read([{ error: { message: "No.", ...fields } } as ChatEvent], [writeFile]);
    expect(turn.calls).toEqual([]);
    expect(turn.error?.message).toBe("No.");
  });

  it("reports a refused call with the keys that the model wrote, whatever was read before", async () => {
    const args = misread();
    const failed_generation = JSON.stringify({ name: "write_file", arguments: args });
    const error = { message: "Failed to call a function.", code: "tool_use_failed", failed_generation };
    const [refused] = (await read([{ error } as ChatEvent], [writeFile])).calls;
    expect(refused?.argsText).toBe(JSON.stringify(args));
  });

  it.each([
    ["without a finish_reason", [], "stop"],
    ["with one", [delta({}, "length")], "length"],
    ["with one beside it", [delta({ audio: { expires_at: 9 } }, "length")], "length"],
    ["and goes on with a call", [calls(call(0, "{}"))], undefined],
  ] as const)("takes an answer in sound for complete that ends %s", async (_, then, reason) => {
    const sound = [delta({ audio: { id: "audio_1", transcript: "Hi" } }), delta({ audio: { data: "AA==" } })];
    const turn = await read([...sound, delta({ audio: { expires_at: 9 } }), ...then]);
    expect(turn.finishReason === "error" ? undefined : turn.finishReason).toBe(reason);
    expect(turn.error?.code).toBe(reason === undefined ? "connection_lost" : undefined);
    expect((await read(sound)).error?.code).toBe("connection_lost");
    expect(openaiChat.assistantMessage(turn)).toMatchObject([
      { content: turn.calls.length === 0 ? "" : null, audio: { id: "audio_1" } },
    ]);
  });

  it("takes a function_call beside tool_calls for the same call", async () => {
    const message = { tool_calls: [call(0, "{}")], function_call: { name: "get_weather", arguments: "{}" } };
    const turn = await read([{ choices: [{ index: 0, message, finish_reason: "tool_calls" }] }]);
    expect(turn.calls).toHaveLength(1);
  });

  it("reads choices whose index is text, or is missing", async () => {
    const { name, arguments: args } = { name: "get_weather", arguments: '{"city":"Oslo"}' };
    for (const index of ["0", null, undefined]) {
      const chunk = (fields: object, finish_reason: string | null = null) =>
        ({ id: "c", model: "m", choices: [{ index, delta: fields, finish_reason }] }) as unknown as ChatEvent;
      const entry = { index: 0, id: "call_1", function: { name, arguments: args } };
      const other = { choices: [{ index: "1", delta: { content: "No." } }] } as unknown as ChatEvent;
      const turn = await read([
        chunk({ content: "Hi" }),
        other,
        chunk({ tool_calls: [entry] }),
        chunk({}, "tool_calls"),
      ]);
      expect(turn).toMatchObject({ text: "Hi", finishReason: "tool-use", calls: [{ argsText: args }] });
    }
  });

  it("says that the choice is not there which is asked for", async () => {
    const message = { content: "Hi" };
    const whole = { object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] } as const;
    const error = { code: "provider_error", message: expect.stringContaining("no choice 1") };
    expect(openaiChat.parse(whole, { choice: 1 }).at(-1)).toMatchObject({ type: "error", error });
    const chunk = { choices: [{ index: 0, delta: message, finish_reason: "stop" }] };
    expect((await read([chunk, "[DONE]"], undefined, 1)).error).toMatchObject(error);
  });

  it("reads on behind a chunk without a message that is called a whole response", async () => {
    const called = { object: "chat.completion" };
    const turn = await read([
      { ...called, choices: [] },
      { ...called, choices: [{ index: 0, finish_reason: null }] },
      { ...called, choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] },
      "[DONE]",
    ]);
    expect([turn.text, turn.finishReason]).toEqual(["Hi", "stop"]);
  });

  it("reads the choice that is asked for", async () => {
    const choices = ["zero", "one"].map((content, index) => ({ index, delta: { content }, finish_reason: "stop" }));
    const events = [{ choices }];
    expect((await read(events, [], 1)).text).toBe("one");
    expect((await read(events)).text).toBe("zero");
  });

  it("takes no usage for an end, but says how to read a server that sends nothing else", async () => {
    const usage = { choices: [], usage: { prompt_tokens: 3 } };
    const started = [delta({ content: "Hi" }), calls(call(0, '{"city":"Oslo"}'))];
    const lost = await read([...started, usage]);
    expect(lost).toMatchObject({
      usage: { inputTokens: 3 },
      calls: [{ outcome: { code: "truncated" } }],
      error: { code: "connection_lost", message: expect.stringMatching(/no finish_reason.* asResponse\(\)/) },
    });
    // Which is so.
    expect((await read([...started, usage, "[DONE]"])).finishReason).toBe("tool-use");
    expect((await read([...started, delta({}, "stop"), usage])).finishReason).toBe("tool-use");
    expect((await read([usage, ...started, delta({}, "stop")])).finishReason).toBe("tool-use");
    const running = { choices: [{ index: 0, delta: { content: "Hi" } }], usage: { prompt_tokens: 3 } };
    expect((await read([running])).error?.message).toBe("The stream ended before the provider ended the turn.");
  });

  it("reads usage wherever a server puts it", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    const places: ChatEvent[] = [
      { choices: [], usage },
      { x_groq: { usage } },
      { choices: [{ index: 0, delta: {}, usage }] },
    ];
    for (const place of places) {
      expect((await read([place])).usage).toEqual({ inputTokens: 3, outputTokens: 4, totalTokens: 7, raw: usage });
    }
  });

  it.each([
    ["DeepSeek", { prompt_cache_hit_tokens: 2 }],
    ["Kimi", { cached_tokens: 2 }],
    ["Mistral", { num_cached_tokens: 2 }],
  ])("reads what came from the cache where %s puts it", async (_, cached) => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, ...cached };
    expect((await read([{ choices: [], usage }])).usage).toMatchObject({ inputTokens: 3, cacheReadTokens: 2 });
  });

  it("reads the counts of servers that name them as other wires do", async () => {
    const litellm = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, cache_creation_input_tokens: 2 };
    expect((await read([{ choices: [], usage: litellm }])).usage).toMatchObject({ cacheWriteTokens: 2 });
    const mlx = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
    const counts = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
    expect((await read([{ choices: [], usage: mlx }])).usage).toEqual({ ...counts, raw: mlx });
  });

  it.each([
    ["in what it wrote", 16, 26],
    ["apart, as xAI does", 4, 26],
    ["apart, without a total", 4, null],
  ])("counts the thoughts of a server that counts them %s", async (_, completion_tokens, total_tokens) => {
    const completion_tokens_details = { reasoning_tokens: 12 };
    const usage = { prompt_tokens: 10, completion_tokens, completion_tokens_details, total_tokens };
    const outputTokens = total_tokens === null ? completion_tokens : 16;
    expect((await read([{ choices: [], usage }])).usage).toMatchObject({ outputTokens, reasoningTokens: 12 });
  });

  it("tells what a server says twice once, and keeps both", async () => {
    const turn = await read([
      delta({ reasoning: "Hm", reasoning_content: "Hm" }),
      delta({ reasoning: "!", reasoning_content: "!" }),
      end,
    ]);
    expect(turn.reasoning).toBe("Hm!");
    expect(turn.native).toEqual({ reasoning: "Hm!", reasoning_content: "Hm!" });
  });

  // Workers AI: https://github.com/cloudflare/ai/issues/651
  it("takes a number for the text that it is written as, also as bytes", async () => {
    const pieces = [
      delta({ reasoning_content: 7 }),
      ...["[", 0, "]: $", 0.005].map((content) => delta({ content })),
      end,
    ];
    const lines = pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join("");
    for (const turn of [await read(pieces), await openaiChat.read(new Response(lines)).done()]) {
      expect(turn).toMatchObject({ reasoning: "7", text: "[0]: $0.005", native: { reasoning_content: "7" } });
    }
    expect((await read([{ choices: [{ message: { content: 42 }, finish_reason: "stop" }] }])).text).toBe("42");
  });

  // https://github.com/envoyproxy/ai-gateway/pull/1222
  it("says reasoning that comes as an object", async () => {
    const pieces = [{ text: "Hm" }, { text: "!" }, { signature: "c2ln" }];
    const turn = await read([...pieces.map((piece) => delta({ reasoning_content: piece })), end]);
    expect(turn.reasoning).toBe("Hm!");
  });

  // https://github.com/BerriAI/litellm/issues/31910
  it("leaves calls to the server that it has run, and reads its answer after them", async () => {
    const run = (id: unknown) => ({ tool_call_id: id, result: "21 degrees" });
    const results = { provider_specific_fields: { mcp_call_results: [run("call_0"), run("other"), null, run(5)] } };
    const turn = await read(
      [
        delta({ content: "", provider_specific_fields: null }),
        calls(call(0, '{"city":"Oslo"}'), call(1, '{"city":"Bergen"}')),
        delta(results, "tool_calls"),
        delta({ content: "21 degrees." }),
        delta({}, "stop"),
      ],
      [getWeather],
    );
    expect(turn.calls).toMatchObject([{ id: "call_1", outcome: { input: { city: "Bergen" } } }]);
    expect(turn.providerToolCalls).toMatchObject([
      { id: "call_0", name: "get_weather", executedBy: "provider", input: { city: "Oslo" }, output: "21 degrees" },
    ]);
    expect(messageOf(turn)).toMatchObject({ content: "21 degrees.", tool_calls: [{ id: "call_1" }] });
  });

  it("takes a result without an id for that of no call", async () => {
    const mcp_call_results = [{ tool_call_id: null, result: "21" }, { result: "21" }];
    const turn = await read([
      calls(call(0, "{}")),
      delta({ provider_specific_fields: { mcp_call_results } }, "tool_calls"),
    ]);
    expect([turn.calls, turn.providerToolCalls]).toMatchObject([[{ id: "call_0" }], []]);
  });

  it("leaves calls to the server whose ids are numbers", async () => {
    const entry = { index: 0, id: 5, function: { name: "get_weather", arguments: '{"city":"Oslo"}' } };
    const mcp_call_results = [{ tool_call_id: 5, result: "21" }];
    const turn = await read([
      delta({ tool_calls: [entry] }),
      delta({ provider_specific_fields: { mcp_call_results } }, "tool_calls"),
      delta({ content: "So." }, "stop"),
    ]);
    expect([turn.calls, turn.providerToolCalls]).toMatchObject([[], [{ id: "5", output: "21" }]]);
  });

  it("ends with the answer of a server that has run every call, also as a whole", async () => {
    const results = { mcp_call_results: [{ tool_call_id: "call_0", result: "21" }] };
    const whole = { role: "assistant", content: "So.", provider_specific_fields: results };
    for (const events of [
      [
        calls(call(0, "{}")),
        delta({ provider_specific_fields: results }, "tool_calls"),
        delta({ content: "So." }, "stop"),
      ],
      [{ object: "chat.completion", choices: [{ message: whole, finish_reason: "stop" }] } as ChatEvent],
    ]) {
      const turn = await read(events, []);
      expect([turn.finishReason, turn.text, turn.calls]).toEqual(["stop", "So.", []]);
      expect(openaiChat.assistantMessage(turn)).toEqual([{ role: "assistant", content: "So." }]);
    }
  });

  it("runs no call of a response that was not streamed that its server has run", async () => {
    const mcp_call_results = [{ tool_call_id: "call_0", result: "21" }];
    const tool_calls = [call(0, '{"city":"Oslo"}'), call(1, '{"city":"Bergen"}')];
    const message = { tool_calls, provider_specific_fields: { mcp_call_results } };
    const events = openaiChat.parse(
      { object: "chat.completion", choices: [{ message, finish_reason: "stop" }] } as never,
      { tools: [getWeather] },
    );
    expect(events.flatMap((event) => (event.type === "tool-use" ? [event.use.id] : []))).toEqual(["call_1"]);
    expect(events).toContainEqual({
      type: "provider-tool",
      call: expect.objectContaining({ id: "call_0", input: { city: "Oslo" }, output: "21" }),
    });
  });

  // https://github.com/BerriAI/litellm/issues/17254, https://github.com/BerriAI/litellm/pull/17746
  describe("a call among the client's that Anthropic runs", () => {
    const served = (index: number, id: string, args: string) => [
      calls({ index, id, function: { name: "get_weather", arguments: "" } }),
      calls({ index, id: "", function: { name: null, arguments: args.slice(0, 5) } }),
      calls({ index, id: null, function: { name: null, arguments: args.slice(5) } }),
    ];
    const piece = (args: string, { id, name }: { id?: string; name?: string }) =>
      calls({ index: 0, id, function: { name, arguments: args } });
    const search = served(0, "srvtoolu_1", '{"city":"Oslo"}');
    const stop = delta({ content: "21." }, "stop");
    const found = (...ids: string[]) =>
      delta({
        provider_specific_fields: {
          web_search_results: ids.map((id) => ({ tool_use_id: id, content: ["21"] })),
          tool_results: null,
        },
      });

    it.each<[string, object[], unknown?, string?]>([
      ["whose result comes", [...search, found("srvtoolu_1"), stop], ["21"]],
      ["whose result is lost", [...search, stop]],
      ["with more arguments behind its own", [...search, calls({ index: 0, function: { arguments: "{}" } }), stop]],
      [
        "whose id comes with each piece",
        [
          piece('{"city":', { id: "srvtoolu_1", name: "get_weather" }),
          piece('"Oslo"}', { id: "srvtoolu_1" }),
          found("srvtoolu_1"),
          stop,
        ],
        ["21"],
      ],
      [
        "whose id comes before its name",
        [piece("", { id: "srvtoolu_1" }), piece('{"city":"Oslo"}', { name: "get_weather" }), stop],
      ],
      [
        "whose id comes behind its name",
        [piece('{"city":', { name: "get_weather" }), piece('"Oslo"}', { id: "srvtoolu_1" }), stop],
      ],
      ["at which the stream ends", search, undefined, "error"],
      ["at which the provider fails", [...search, { error: { message: "Gone." } }], undefined, "error"],
    ])("%s is the provider's, though a tool has its name", async (_, events, output, reason = "stop") => {
      const told: string[] = [];
      const stream = openaiChat.read(iterate(events as ChatEvent[]), { tools: [getWeather] });
      for await (const { type } of stream) told.push(type);
      const { turn } = stream;
      expect(told).not.toContain("tool-use");
      expect(told).not.toContain("tool-error");
      expect([turn.calls, openaiChat.toolResults(turn)]).toEqual([[], []]);
      expect(turn.providerToolCalls).toMatchObject([{ id: "srvtoolu_1", input: { city: "Oslo" } }]);
      expect(turn.providerToolCalls[0]!.output).toEqual(output);
      expect(turn.finishReason).toBe(reason);
    });

    it("leaves the client its own calls behind it", async () => {
      const own = calls(call(2, '{"city":"Bergen"}'));
      const turn = await read(
        [
          ...search,
          found("srvtoolu_1"),
          ...served(1, "mcptoolu_2", '{"city":"Rome"}'),
          found("srvtoolu_1", "mcptoolu_2"),
          own,
          end,
        ],
        [getWeather],
      );
      expect(turn.calls).toMatchObject([{ id: "call_2", outcome: { input: { city: "Bergen" } } }]);
      expect(turn.providerToolCalls).toMatchObject([
        { id: "srvtoolu_1", input: { city: "Oslo" }, output: ["21"] },
        { id: "mcptoolu_2", input: { city: "Rome" }, output: ["21"] },
      ]);
      expect(messageOf(turn).tool_calls).toMatchObject([{ id: "call_2" }]);
    });

    it("is the provider's in a turn that is stopped", async () => {
      const controller = new AbortController();
      const source = async function* () {
        yield* search;
        controller.abort();
        yield end;
      };
      const stream = openaiChat.read(source(), { tools: [getWeather], signal: controller.signal });
      for await (const _ of stream);
      expect(stream.turn.error).toMatchObject({ code: "aborted" });
      expect(openaiChat.toolResults(stream.turn)).toEqual([]);
    });
  });

  // https://ai.google.dev/gemini-api/docs/openai#thinking
  it("says Gemini's thoughts, which are content, as reasoning, and sends back neither them nor their mark", async () => {
    const mark = { extra_content: { google: { thought: true } } };
    const signed = { extra_content: { google: { thought_signature: "c2ln" } } };
    const turns = [
      [
        delta({ content: "<thought>Hm", ...mark }),
        delta({ content: ", 2 < 3", ...mark }),
        delta({ content: "</thought>It is" }),
        delta({ content: " so</thought>.", ...signed }, "stop"),
      ],
      [delta({ content: "Hm, 2 < 3", ...mark }), delta({ content: "It is so</thought>.", ...signed }, "stop")],
    ];
    const extra_content = { google: { thought: true, thought_signature: "c2ln" } };
    const message = { content: "<thought>Hm, 2 < 3</thought>It is so</thought>.", extra_content };
    turns.push([{ object: "chat.completion", choices: [{ message, finish_reason: "stop" }] } as never]);
    for (const events of turns) {
      const turn = await read(events);
      expect([turn.reasoning, turn.text]).toEqual(["Hm, 2 < 3", "It is so</thought>."]);
      expect(messageOf(turn)).toEqual({ role: "assistant", content: "It is so</thought>.", ...signed });
    }
    expect((await read([delta({ content: "<thought>a</thought>" }, "stop")])).text).toBe("<thought>a</thought>");
  });

  it("reads a thought once that a gateway also has in a field of its own", async () => {
    const extra_content = { google: { thought: true } };
    const events = [
      delta({ content: "<thought>Hm", reasoning_content: "Hm", extra_content }),
      delta({ content: "</thought>" }),
      delta({ content: "</thought> is a tag." }, "stop"),
    ];
    const turn = await read(events);
    expect([turn.reasoning, turn.text]).toEqual(["Hm", "</thought> is a tag."]);
    expect(openaiChat.assistantMessage(turn)).toEqual([
      { role: "assistant", content: "</thought> is a tag.", reasoning_content: "Hm" },
    ]);
  });

  it("finds the end of Gemini's thoughts in bytes that are like those before", async () => {
    const line = (content: string, more: object = {}) => `data: ${JSON.stringify(delta({ content, ...more }))}\n\n`;
    const thought = line("<thought>Hm", { extra_content: { google: { thought: true } } });
    const body = `${line("a").repeat(20)}${thought}${line("")}${line("</thought>b").repeat(2)}data: [DONE]\n\n`;
    const turn = await openaiChat.read(new Response(body)).done();
    expect([turn.reasoning, turn.text]).toEqual(["Hm", `${"a".repeat(20)}b</thought>b`]);
  });

  it("knows that a cut answer in sound is cut, also where bytes are like those before", async () => {
    const line = (fields: object) => `data: ${JSON.stringify(delta(fields))}\n\n`;
    const piece = { tool_calls: [{ index: 0, function: { arguments: " " } }] };
    const pieces = [{ content: "a" }, piece];
    for (const fields of pieces) {
      const begin = pieces.map((one) => line(one).repeat(20)).join("") + line({ audio: { id: "audio_1" } });
      const turn = await openaiChat
        .read(new Response(begin + line({ audio: { expires_at: 9 } }) + line(fields)))
        .done();
      expect(turn.error?.code).toBe("connection_lost");
    }
  });

  it("gives a call back in the usual form that came without `function`, whole or in pieces", async () => {
    const head = { id: "call_p1", name: "get_weather", arguments: '{"city": "Oslo"}' };
    const message = { role: "assistant", tool_calls: [head] };
    const whole = await read([{ choices: [{ index: 0, message, finish_reason: "tool_calls" }] }], [getWeather]);
    const fn = { name: "get_weather", arguments: '{"city": "Oslo"}' };
    for (const turn of [whole, await readFixture("call-without-function")]) {
      expect(turn.calls[0]!.outcome).toMatchObject({ name: "get_weather", input: { city: "Oslo" } });
      expect(messageOf(turn).tool_calls).toEqual([{ id: "call_p1", type: "function", function: fn }]);
    }
  });

  it("reads a refusal that is a part of the content", async () => {
    const message = { role: "assistant", content: [{ type: "refusal", refusal: "No." }] };
    const turn = await read([{ choices: [{ index: 0, message, finish_reason: "stop" }] }]);
    expect([turn.refusal, turn.text]).toEqual(["No.", ""]);
  });

  it("takes a whole response for what it says that ends with calls and has none", async () => {
    const message = { role: "assistant", content: "Hi", tool_calls: [] };
    const turn = await read([{ choices: [{ index: 0, message, finish_reason: "tool_calls" }] }]);
    expect([turn.error, turn.text, turn.calls]).toEqual([undefined, "Hi", []]);
  });

  it("survives events of any shape", async () => {
    const odd: unknown[] = [null, 5, [], {}, { choices: {} }, { choices: [null, 5, {}, { index: "x", delta: 5 }] }];
    odd.push(delta({ content: [null, 5, "x", [], {}], reasoning_details: [null, 5] }));
    odd.push(delta({ content: { a: 1 }, reasoning: 5, tool_calls: "x", function_call: [], audio: 5, refusal: {} }));
    odd.push(calls(null as never, 5 as never, {}, { index: {}, id: {}, function: { name: {}, arguments: true } }), end);
    const turn = await read(odd as ChatEvent[], [getWeather]);
    expect(turn.error).toBeUndefined();
    expect(turn.calls.map((one) => one.outcome instanceof ToolUse)).not.toContain(true);
  });
});

describe("openaiChat.assistantMessage()", () => {
  // https://platform.moonshot.ai/docs/guide/use-web-search
  it("gives a call of a tool that the server itself knows as it came", async () => {
    const search = {
      id: "$web_search:0",
      type: "builtin_function",
      function: { name: "$web_search", arguments: "{}" },
    };
    const turn = await read([calls({ index: 0, ...search }), end]);
    expect(openaiChat.assistantMessage(turn)).toMatchObject([{ tool_calls: [search] }]);
  });

  it.each(["builtin_function", "custom"])("gives what else a call of type %s came with, as it came", async (type) => {
    const input =
      type === "custom" ? { custom: { name: "f", input: "x" } } : { function: { name: "f", arguments: "{}" } };
    const extras = { extra_content: { google: { thought_signature: "EoMB" } } };
    const sent = { id: "call_1", type, ...input, ...extras };
    const turn = await read([calls({ index: 0, ...sent, caller: null, namespace: "" }), end]);
    expect(messageOf(turn).tool_calls).toEqual([sent]);
  });

  it("gives the message of a turn with text and calls, ids and arguments as they came", async () => {
    const turn = await read([
      delta({ content: "Hm. " }),
      calls(call(0, '{"city": "Oslo"}', { id: "functions.get_weather:0" })),
      end,
    ]);
    expect(openaiChat.assistantMessage(turn)).toEqual([
      {
        role: "assistant",
        content: "Hm. ",
        tool_calls: [
          {
            id: "functions.get_weather:0",
            type: "function",
            function: { name: "get_weather", arguments: '{"city": "Oslo"}' },
          },
        ],
      },
    ]);
  });

  it("has null for no text beside calls, and no message for nothing, an empty text in a list, too", async () => {
    expect(openaiChat.assistantMessage(await read([calls(call(0, "{}")), end]))[0]).toMatchObject({ content: null });
    expect(openaiChat.assistantMessage(await read([delta({ content: [{ type: "text", text: "" }] }, "stop")]))).toEqual(
      [],
    );
    expect(openaiChat.assistantMessage(await read([delta({}, "stop")]))).toEqual([]);
    const thought = await read([
      delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }, "stop"),
    ]);
    expect(openaiChat.assistantMessage(thought, { reasoning: false })).toEqual([]);
  });

  it("keeps a refusal", async () => {
    expect(openaiChat.assistantMessage(await readFixture("refusal"))).toEqual([
      { role: "assistant", content: null, refusal: "I'm sorry, I can't help with that." },
    ]);
  });

  it("puts Gemini's signature back on the call it came with, and on no other", async () => {
    const [message] = openaiChat.assistantMessage(await readFixture("quirk-40-thought-signature"));
    expect((message as { tool_calls?: unknown }).tool_calls).toMatchObject([
      { id: "function-call-77", extra_content: { google: { thought_signature: "EoMBCoABdGVzdA==" } } },
      { id: "function-call-78" },
    ]);
    expect((message as { tool_calls: object[] }).tool_calls[1]).not.toHaveProperty("extra_content");
  });

  it("gives Gemini's signature of a message without calls back", async () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const turn = await read([delta({ content: "Hi", extra_content }, "stop")]);
    expect(openaiChat.assistantMessage(turn)).toEqual([{ role: "assistant", content: "Hi", extra_content }]);
    const later = await read([
      delta({ content: "Hi", extra_content }),
      delta({ content: "", extra_content: null }, "stop"),
    ]);
    expect(openaiChat.assistantMessage(later)).toEqual([{ role: "assistant", content: "Hi", extra_content }]);
  });

  // https://github.com/NousResearch/hermes-agent/pull/111559: "Corrupted thought signature"
  it("gives no empty signature back, and none in place of one that came before", async () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const empty = { extra_content: { google: { thought_signature: "" } } };
    const signed = await read([
      delta({ content: "Hi", extra_content }),
      calls(call(0, "{}", { extra_content })),
      calls({ index: 0, ...empty }),
      delta(empty, "tool_calls"),
    ]);
    expect(messageOf(signed)).toMatchObject({ extra_content, tool_calls: [{ extra_content }] });
    const unsigned = await read([delta({ content: "Hi", ...empty }), calls(call(0, "{}", empty)), end]);
    expect(JSON.stringify(messageOf(unsigned))).not.toContain("extra_content");
  });

  it("gives reasoning back under the name under which it came, an empty one too", async () => {
    const [message] = openaiChat.assistantMessage(await readFixture("reasoning"));
    expect(message).toMatchObject({ content: "One moment.", reasoning_content: "The user wants the time." });
    const empty = await read([delta({ reasoning_content: "" }), calls(call(0, "{}")), end]);
    expect(openaiChat.assistantMessage(empty)[0]).toHaveProperty("reasoning_content", "");
    expect(openaiChat.assistantMessage(empty, { reasoning: false })[0]).not.toHaveProperty("reasoning_content");
  });

  it("gives GitHub Copilot its reasoning back, with the opaque part that Gemini's calls are refused without", async () => {
    const turn = await read([
      delta({ content: null, reasoning_text: "Let me " }),
      delta({ content: null, reasoning_text: "see." }),
      calls({ index: 0, id: "c1", function: { name: "f", arguments: "{}" } }),
      delta({ content: null, reasoning_opaque: "c2lnbmVk" }),
      delta({ content: null, reasoning_opaque: null }, "tool_calls"),
    ]);
    expect(turn.reasoning).toBe("Let me see.");
    expect(openaiChat.assistantMessage(turn)).toMatchObject([
      { reasoning_text: "Let me see.", reasoning_opaque: "c2lnbmVk", tool_calls: [{ id: "c1" }] },
    ]);
    expect(openaiChat.assistantMessage(turn, { reasoning: false })[0]).not.toHaveProperty("reasoning_opaque");
  });

  // https://github.com/NousResearch/hermes-agent/issues/101392, https://github.com/agentgateway/agentgateway/pull/2018
  it.each([
    ["thinking", "thinking_signature"],
    ["reasoning_content", "reasoning_signature"],
  ])("gives a gateway its %s back with the %s, streamed or not", async (text, signature) => {
    const called = { id: "c1", type: "function" as const, function: { name: "f", arguments: "{}" } };
    const streamed = await read([
      delta({ [text]: "Let me ", [signature]: "" }),
      delta({ [text]: "see." }),
      delta({ [signature]: "c2lnbmVk" }),
      calls({ index: 0, ...called }),
      delta({ [text]: "", [signature]: "" }, "tool_calls"),
    ]);
    const message = { content: null, [text]: "Let me see.", [signature]: "c2lnbmVk", tool_calls: [called] };
    const whole = { object: "chat.completion", choices: [{ message, finish_reason: "tool_calls" }] } as never;
    for (const turn of [streamed, await read([whole])]) {
      expect(turn.reasoning).toBe("Let me see.");
      expect(messageOf(turn)).toEqual({ role: "assistant", ...message });
      expect(openaiChat.assistantMessage(turn, { reasoning: false })).toEqual([
        { role: "assistant", content: null, tool_calls: [called] },
      ]);
    }
  });

  it("gives reasoning_details back as the server would have sent them without streaming", async () => {
    const [message] = openaiChat.assistantMessage(await readFixture("openrouter-reasoning-details"));
    expect(message).toMatchObject({
      reasoning: "Check the weather first.",
      reasoning_details: [
        {
          type: "reasoning.text",
          text: "Check the weather first.",
          format: "anthropic-claude-v1",
          index: 0,
          signature: "c2lnbmVkLW9uY2U=",
        },
        { type: "reasoning.encrypted", data: "b3BhcXVl", id: "rs_1", format: "openai-responses-v1", index: 1 },
      ],
    });
  });

  it.each(["summary", "encrypted"])("gives Kimi's parts back without their index, also alone: %s", async (type) => {
    const part = { type, [type]: "gAAA" };
    const turn = await read([delta({ reasoning_details: [{ index: 0, ...part }] }), calls(call(0, "{}")), end]);
    const message = messageOf(turn);
    expect(message["reasoning_details"]).toEqual([part]);
    expect(message["reasoning_content"]).toBe("");
  });

  it("gives Kimi's parts back without the index of the stream, and with reasoning_content", async () => {
    const pieces = [
      { index: 0, type: "summary", summary: "Hm" },
      { index: 0, type: "summary", summary: "." },
      { index: 1, type: "encrypted", encrypted: "gAAA" },
    ];
    const details = pieces.map((piece) => delta({ reasoning_details: [piece] }));
    const called = calls(call(0, '{"city":"Oslo"}'));
    const back = [
      { type: "summary", summary: "Hm." },
      { type: "encrypted", encrypted: "gAAA" },
    ];
    const turn = await read([...details, called, end]);
    expect(turn.reasoning).toBe("Hm.");
    const message = messageOf(turn);
    expect(message["reasoning_details"]).toEqual(back);
    expect(message["reasoning_content"]).toBe("");
    const both = messageOf(await read([delta({ reasoning_content: "Hm, well." }), ...details, called, end]));
    expect(both["reasoning_details"]).toEqual(back);
    expect(both["reasoning_content"]).toBe("Hm, well.");
  });

  it.each([
    [
      "of different indexes",
      [
        { index: 0, text: "a" },
        { index: 1, text: "b" },
      ],
      undefined,
    ],
    [
      "of different ids",
      [
        { id: "rs_1", text: "a" },
        { id: "rs_2", text: "b" },
      ],
      undefined,
    ],
    ["one of which has no id yet", [{ text: "a" }, { id: "rs_1", text: "b" }], [{ id: "rs_1", text: "ab" }]],
    ["the later of which has no id", [{ id: "rs_1", text: "a" }, { text: "b" }], [{ id: "rs_1", text: "ab" }]],
    [
      "of which one is encrypted",
      [{ text: "a" }, { data: "b3Bh" }, { text: "b" }, { text: "", data: "cXVl" }, { text: "c" }],
      undefined,
    ],
    ["with text and a summary", [{ text: "a" }, { summary: "b" }], [{ text: "a", summary: "b" }]],
  ])("keeps parts apart, or together, as the server would have sent them: %s", async (_, pieces, expected) => {
    const typed = pieces.map((piece) => ({ type: "reasoning.text", ...piece }));
    const turn = await read([...typed.map((piece) => delta({ reasoning_details: [piece] })), end]);
    const back = expected?.map((part) => ({ type: "reasoning.text", ...part })) ?? typed;
    expect((turn.native as NativeMessage).reasoning_details).toEqual(back);
  });

  it("changes nothing about the events, and no prototype, where it puts parts together", async () => {
    const first = { type: "thinking", thinking: [{ type: "text", text: "a" }] };
    const second = JSON.parse('{"type":"thinking","thinking":[{"type":"text","text":"b"}],"__proto__":{"evil":1}}');
    const events = [delta({ content: [first] }), delta({ content: [second] }, "stop")];
    const before = structuredClone(first);
    const turn = await read(events);
    const part = (turn.native as NativeMessage).content?.[0] as { evil?: unknown };
    expect(part).toEqual({ type: "thinking", thinking: [{ type: "text", text: "ab" }] });
    expect([first, part.evil]).toEqual([before, undefined]);
  });

  it("begins a new part after a signature", async () => {
    const pieces = [{ thinking: "a" }, { thinking: "b" }, { signature: "s1" }, { thinking: "c" }];
    const turn = await read([
      ...pieces.map((piece) => delta({ thinking_blocks: [{ type: "thinking", ...piece }] })),
      end,
    ]);
    expect((turn.native as NativeMessage).thinking_blocks).toEqual([
      { type: "thinking", thinking: "ab", signature: "s1" },
      { type: "thinking", thinking: "c" },
    ]);
    expect(turn.reasoning).toBe("abc");
  });

  it("loses nothing of a part to the empty fields of its later pieces", async () => {
    const pieces = [
      { type: "reasoning.text", text: "Hm.", format: "f", signature: null },
      { type: "reasoning.text", text: null, format: null, signature: "s1" },
    ];
    const turn = await read([...pieces.map((piece) => delta({ reasoning_details: [piece] })), end]);
    expect((turn.native as NativeMessage).reasoning_details).toEqual([
      { type: "reasoning.text", text: "Hm.", format: "f", signature: "s1" },
    ]);
  });

  // https://github.com/anomalyco/opencode/issues/31259, https://github.com/posit-dev/chatlas/pull/305
  it("leaves out text that is only white space: Claude behind a gateway refuses it", async () => {
    const called = await read([delta({ content: "\n\n" }), calls(call(0, "{}")), end]);
    expect([called.text, messageOf(called)["content"]]).toEqual(["\n\n", null]);
    expect(openaiChat.assistantMessage(await read([delta({ content: " \n" }, "stop")]))).toEqual([]);
    const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
    const parts = [thought, { type: "text", text: "" }];
    const listed = await read([delta({ content: parts }), delta({ content: "\n" }), calls(call(0, "{}")), end]);
    expect(messageOf(listed)["content"]).toEqual([thought]);
    expect(openaiChat.assistantMessage(listed, { reasoning: false })).toMatchObject([{ content: null }]);
  });

  it("gives Mistral its thinking parts back, and what stood before the list", async () => {
    const [message] = openaiChat.assistantMessage(await readFixture("mistral-thinking-parts"));
    expect(message).toMatchObject({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "The user asks for a sum." }] },
        { type: "text", text: "Let me calculate." },
      ],
    });
    const late = await read([
      delta({ content: "Well: " }),
      delta(
        {
          content: [
            { type: "thinking", thinking: [] },
            { type: "text", text: "4" },
          ],
        },
        "stop",
      ),
    ]);
    expect(openaiChat.assistantMessage(late)[0]).toMatchObject({
      content: [
        { type: "text", text: "Well: " },
        { type: "thinking", thinking: [] },
        { type: "text", text: "4" },
      ],
    });
    expect(openaiChat.assistantMessage(late, { reasoning: false })[0]).toMatchObject({ content: "Well: 4" });
  });

  // https://github.com/earendil-works/pi/issues/9674
  it.each([
    ["an empty part", [{ type: "text", text: "" }]],
    ["a line break", "\n"],
  ])("gives Mistral thoughts as one that had only %s between them", async (_, between) => {
    const thought = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
    const closed = { ...thought("three."), closed: true };
    const contents = [[thought("One, ")], between, [thought("two, ")], between, [closed], "Hi"];
    const turn = await read([...contents.map((content) => delta({ content })), delta({}, "stop")]);
    const whole = { ...thought("One, two, three."), closed: true };
    expect(messageOf(turn).content).toEqual([whole, expect.objectContaining({ type: "text", text: "Hi" })]);
  });

  it("counts the text of a thought for none of the answer, where it looks for what stood before the list", async () => {
    const list = [
      { type: "thinking", text: "Hm, well." },
      { type: "text", text: "4" },
    ];
    const turn = await read([delta({ content: "Well: " }), delta({ content: list }, "stop")]);
    expect(messageOf(turn)).toMatchObject({ content: [{ type: "text", text: "Well: " }, ...list] });
  });

  it("gives parts back that have no text", async () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const turn = await read([delta({ content: [image] }, "stop")]);
    expect(openaiChat.assistantMessage(turn)).toEqual([{ role: "assistant", content: [image] }]);
  });

  // OpenRouter: https://openrouter.ai/docs/guides/overview/multimodal/image-generation
  it("gives the images back that the model has drawn, once", async () => {
    const image = (index: number) => ({ index, type: "image_url", image_url: { url: "data:image/png;base64,AA==" } });
    const [first, second] = [image(0), image(1)];
    const turn = await read([delta({ content: "", images: [first] }), delta({ images: [second] }), delta({}, "stop")]);
    expect(openaiChat.assistantMessage(turn)).toEqual([{ role: "assistant", content: "", images: [first, second] }]);

    const many = Array.from({ length: 150_000 }, () => first);
    const drawn = await read([delta({ content: "", images: many }), delta({}, "stop")]);
    expect(openaiChat.assistantMessage(drawn)).toMatchObject([{ images: { length: many.length } }]);

    const message = { role: "assistant", content: "Look:", images: [first] };
    const whole = { choices: [{ index: 0, message, finish_reason: "stop" }] };
    for (const events of [[whole], [delta({ content: "Look:", images: [first] }), whole]]) {
      expect(openaiChat.assistantMessage(await read(events))).toEqual([message]);
    }
  });

  // https://github.com/databricks/appkit/pull/559
  it("says thinking that is a list of texts, and gives it back as it came", async () => {
    const thinking = (...texts: string[]) => ({ type: "thinking", thinking: texts });
    const pieces = [thinking("Hm", ", ", null as never), thinking(null as never, "a sum.")];
    const turn = await read([...pieces.map((piece) => delta({ content: [piece] })), delta({ content: "4" }, "stop")]);
    expect(turn.reasoning).toBe("Hm, a sum.");
    const text = { type: "text", text: "4" };
    expect(messageOf(turn)).toMatchObject({ content: [thinking("Hm", ", ", "a sum."), text] });
    const mixed = [["Hm"], [{ text: ", " }], [{ text: "a sum." }]].map((list) => thinking(...(list as string[])));
    const other = await read([...mixed.map((piece) => delta({ content: [piece] })), delta({ content: "4" }, "stop")]);
    expect([other.reasoning, other.text]).toEqual(["Hm, a sum.", "4"]);
    expect(messageOf(other)).toMatchObject({ content: [{ thinking: ["Hm", { text: ", a sum." }] }, text] });
  });

  it("says the reasoning that Databricks has in the content, and gives it back as one part", async () => {
    const thought = (text: string, more = {}) => ({
      type: "reasoning",
      summary: [{ type: "summary_text", text, ...more }],
    });
    const turn = await read([
      delta({ content: [thought("The ")] }),
      delta({ content: [thought("sum.")] }),
      delta({ content: [thought("", { signature: "c2ln" }), { type: "text", text: "It is " }] }),
      delta({ content: [{ type: "text", text: "4." }] }, "stop"),
    ]);
    expect([turn.reasoning, turn.text]).toEqual(["The sum.", "It is 4."]);
    expect(openaiChat.assistantMessage(turn)[0]).toMatchObject({
      content: [thought("The sum.", { signature: "c2ln" }), { type: "text", text: "It is 4." }],
    });
    expect(openaiChat.assistantMessage(turn, { reasoning: false })[0]).toMatchObject({ content: "It is 4." });
  });

  it.each([
    ["what is no JSON", '{"city": Oslo', '{"INVALID_JSON":"{\\"city\\": Oslo"}'],
    ["JSON that is no object", '"Oslo"', '{"INVALID_JSON":"\\"Oslo\\""}'],
    ["nothing", "", "{}"],
    ["null", "null", "{}"],
    ["an object", { city: "Oslo" }, '{"city":"Oslo"}'],
    ["broken JSON that was mended", "{'city': 'Oslo'}", '{"city": "Oslo"}'],
    ["arguments that came twice in one piece", '{"city":"Oslo"}{"city":"Oslo"}', '{"city":"Oslo"}'],
  ])("writes arguments into the history that every server can parse: %s", async (_, args, history) => {
    const turn = await read([calls(call(0, args)), end], [getWeather]);
    const message = messageOf(turn);
    expect(message.tool_calls[0]!.function.arguments).toBe(history);
  });

  it("wraps a call that was cut, though its prefix could be read", async () => {
    const message = messageOf(await readFixture("truncated-by-length"));
    expect(message.tool_calls).toMatchObject([
      {
        function: { arguments: JSON.stringify({ INVALID_JSON: '{"path":"/tmp/a.txt","content":"It was a dark and' }) },
      },
    ]);
  });

  it("cleans names that servers refuse", async () => {
    const dirty = { id: "c", function: { name: "search files!", arguments: "{}" } };
    const turn = await read([calls(dirty), end], [getWeather]);
    expect(openaiChat.assistantMessage(turn)[0]).toMatchObject({
      tool_calls: [{ function: { name: "search__files__" } }],
    });
  });

  it("gives two calls ids of their own, where the one that both have came late", async () => {
    const late = (index: number) => [
      calls({ index, type: "function", function: { name: "get_weather", arguments: "" } }),
      calls({ index, id: "0", function: { arguments: `{"city":"${index}"}` } }),
    ];
    const turn = await read([...late(0), ...late(1), end], [getWeather]);
    expect(turn.calls.map(({ outcome }) => (outcome as ToolUse).input)).toEqual([{ city: "0" }, { city: "1" }]);
    expect(messageOf(turn).tool_calls.map(({ id }) => id)).toEqual(["0", "0_1"]);
    expect(openaiChat.toolResults(turn)).toMatchObject([{ tool_call_id: "0" }, { tool_call_id: "0_1" }]);
  });

  it("gives a custom call back as free text", async () => {
    const [message] = openaiChat.assistantMessage(await readFixture("custom-tool"));
    const input = 'SELECT "name"\nFROM orders\nWHERE total > 100;';
    expect(message).toMatchObject({
      tool_calls: [{ id: "call_Cus000000001", type: "custom", custom: { name: "run_sql", input } }],
    });
  });

  it("gives a call of the older form back in it, and its result under the role function", async () => {
    const turn = await readFixture("legacy-function-call");
    expect(openaiChat.assistantMessage(turn)).toEqual([
      { role: "assistant", content: null, function_call: { name: "get_weather", arguments: '{\n  "city": "Oslo"\n}' } },
    ]);
    await (turn.calls[0]!.outcome as ToolUse).execute();
    expect(openaiChat.toolResults(turn)).toMatchObject([{ role: "function", name: "get_weather" }]);
  });

  it("makes an id where none came: the same in message and result, another for each call", async () => {
    const turn = await readFixture("quirk-09-id-never-sent");
    for (const one of turn.calls) await (one.outcome as ToolUse).execute();
    const message = messageOf(turn);
    const ids = message.tool_calls.map(({ id }) => id);
    const results = openaiChat.toolResults(turn) as { tool_call_id: string }[];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  it("gives a call with the id of another one its own, since a server takes each id once", async () => {
    // "Duplicate value for 'tool_call_id'": https://github.com/neuron-core/neuron-ai/issues/46
    const turn = await readFixture("quirk-09-id-always-zero");
    const uses = turn.calls.map(({ outcome }) => outcome as ToolUse);
    for (const use of uses) await use.execute();
    expect(messageOf(turn).tool_calls).toEqual([
      { id: "0", type: "function", function: { name: "set_volume", arguments: '{"level":1}' } },
      { id: "0_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } },
    ]);
    const ids = ["0", "0_1"].map((id) => ({ tool_call_id: id }));
    expect(openaiChat.toolResults(turn)).toMatchObject(ids);
    expect(uses.map((use) => openaiChat.toolResult(use, use.result))).toMatchObject(ids);
  });

  it("gives the second call of a server with Mistral's ids one that Mistral accepts", () => {
    const second = { id: "abc123def", invocationId: "run-0-1", metadata: { sharesId: true } };
    expect(wireId({ ...second, metadata: {} })).toBe("abc123def");
    expect(wireId(second)).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(wireId(second)).not.toBe("abc123def");
  });

  it("makes ids that do not meet", () => {
    const ids = Array.from({ length: 20_000 }, (_, n) =>
      wireId({ id: null, invocationId: `run-${n >> 7}-${n & 127}` }),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("openaiChat.toolResult(), toolError(), toolResults()", () => {
  const use = getWeather.use({ city: "Oslo" }, { id: "call_1" });

  it.each([
    ["text as it is", "21 °C", "21 °C"],
    ["anything else as JSON", { celsius: 21 }, '{"celsius":21}'],
    ["nothing as null", undefined, "null"],
    // https://github.com/earendil-works/pi/pull/3309, https://github.com/earendil-works/pi/pull/8719
    ["an empty text as JSON, which servers refuse as it is", "", '""'],
    ["white space as JSON, too", "\r\n", '"\\r\\n"'],
  ])("sends %s", (_, output, content) => {
    expect(openaiChat.toolResult(use, output)).toEqual({ role: "tool", tool_call_id: "call_1", content });
  });

  it("answers every call once, in call order, with what became of it", async () => {
    const turn = await read(
      [
        calls(
          call(0, '{"city":"Oslo"}'),
          call(1, '{"city":5}'),
          call(2, '{"city":"Bergen"}'),
          call(3, "{}", { function: { name: "nope" } }),
        ),
        end,
      ],
      [getWeather],
    );
    await (turn.calls[0]!.outcome as ToolUse).execute();
    const results = openaiChat.toolResults(turn) as { tool_call_id: string; content: string }[];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(["call_0", "call_1", "call_2", "call_3"]);
    expect(JSON.parse(results[0]!.content)).toEqual({ city: "Oslo", celsius: 21 });
    expect(JSON.parse(results[1]!.content)).toMatchObject({ error: expect.stringContaining("city") });
    expect(JSON.parse(results[2]!.content)).toEqual({ error: "The call of get_weather was not executed." });
    expect(JSON.parse(results[3]!.content)).toMatchObject({ error: expect.stringContaining("nope") });
  });

  it("tells the model the message of a handler that throws, without its stack", async () => {
    const failing = defineTool({
      name: "get_weather",
      inputSchema: jsonSchema({ type: "object" }),
      execute() {
        throw new Error("no such city");
      },
    });
    const turn = await read([calls(call(0, "{}")), end], [failing]);
    await (turn.calls[0]!.outcome as ToolUse).execute().catch(() => {});
    expect(openaiChat.toolResults(turn)).toEqual([
      { role: "tool", tool_call_id: "call_0", content: '{"error":"Tool get_weather failed: no such city"}' },
    ]);
  });

  it("refuses while a call is open or running", async () => {
    const finished = Promise.withResolvers<void>();
    const slow = defineTool({
      name: "get_weather",
      inputSchema: jsonSchema({ type: "object" }),
      execute: () => finished.promise,
    });
    const turn = await read([calls(call(0, "{}")), end], [slow]);
    const running = (turn.calls[0]!.outcome as ToolUse).execute();
    expect(() => openaiChat.toolResults(turn)).toThrow(/call_0 .* is running/);
    finished.resolve();
    await running;
    expect(openaiChat.toolResults(turn)).toHaveLength(1);
  });
});

function object(properties: object, more: object = {}): object {
  return { type: "object", properties, ...more };
}

describe("openaiChat.tools()", () => {
  it("gives functions, and custom tools for free text", () => {
    expect(openaiChat.tools([getWeather, writeSql])).toMatchObject([
      {
        type: "function",
        function: {
          name: "get_weather",
          description: "Current weather of a city.",
          parameters: {
            type: "object",
            properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
            required: ["city"],
          },
        },
      },
      { type: "custom", custom: { name: "write_sql", description: "Runs a query." } },
    ]);
  });

  it("holds the model to the schema in strict mode: optional means nullable", () => {
    expect(openaiChat.tools([getWeather], { strict: true })).toEqual([
      {
        type: "function",
        function: {
          name: "get_weather",
          description: "Current weather of a city.",
          strict: true,
          parameters: {
            type: "object",
            properties: {
              city: { type: "string" },
              unit: { type: ["string", "null"], enum: ["celsius", "fahrenheit", null] },
            },
            required: ["city", "unit"],
            additionalProperties: false,
          },
        },
      },
    ]);
  });

  it("takes the nulls out again that strict mode forces", async () => {
    const turn = await read([calls(call(0, '{"city":"Oslo","unit":null}')), end], [getWeather]);
    expect((turn.calls[0]!.outcome as ToolUse).input).toEqual({ city: "Oslo" });
  });

  const text = { type: "string" };
  const node = object(
    { value: text, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } },
    { required: ["value"] },
  );
  const schemas: { what: string; schema: object; lossless: boolean }[] = [
    { what: "constants", schema: object({ a: { const: "x" } }), lossless: true },
    { what: "defaults", schema: object({ a: { type: "integer", default: 5 } }), lossless: true },
    { what: "formats that are known", schema: object({ a: { ...text, format: "uuid" } }), lossless: true },
    {
      what: "references",
      schema: object({ a: { $ref: "#/$defs/b" } }, { $defs: { b: object({ c: text }) } }),
      lossless: true,
    },
    {
      what: "a reference with a description",
      schema: object({ a: { $ref: "#/$defs/b", description: "d" } }, { $defs: { b: text } }),
      lossless: true,
    },
    { what: "recursion from the root", schema: { $ref: "#/$defs/node", $defs: { node } }, lossless: true },
    { what: "parts of an object", schema: { allOf: [object({ a: text }), object({ b: text })] }, lossless: true },
    {
      what: "a discriminated union",
      schema: object({ a: { oneOf: ["x", "y"].map((k) => object({ k: { const: k } }, { required: ["k"] })) } }),
      lossless: true,
    },
    { what: "several types", schema: object({ a: { type: ["string", "integer", "null"] } }), lossless: true },
    { what: "mixed values", schema: object({ a: { enum: ["a", 1, null] } }), lossless: true },
    { what: "records", schema: object({ a: object({}, { additionalProperties: text }) }), lossless: false },
    { what: "objects that are open", schema: object({ a: text }, { additionalProperties: true }), lossless: false },
    { what: "lengths", schema: object({ a: { ...text, minLength: 2 } }), lossless: false },
    { what: "other formats", schema: object({ a: { ...text, format: "uri" } }), lossless: false },
    {
      what: "tuples",
      schema: object({ a: { type: "array", prefixItems: [text, { type: "number" }] } }),
      lossless: false,
    },
    { what: "values of any type", schema: object({ a: {}, b: true }), lossless: false },
    { what: "lists of anything", schema: object({ a: { type: "array" } }), lossless: false },
  ];

  it.each(schemas)("goes strict by itself where that loses nothing: $what, $lossless", ({ schema, lossless }) => {
    expect(functionFor(schema, { strict: "auto", onLoss: "ignore" }).strict === true).toBe(lossless);
    expect(() => functionFor(schema, { onLoss: "throw" })).not.toThrow();
  });

  it.each(schemas)("in strict mode leaves nothing to do for the check of OpenAI's own client: $what", ({ schema }) => {
    const { parameters } = functionFor(schema, { strict: true, onLoss: "ignore" });
    expect(toStrictJsonSchema(structuredClone(parameters) as never)).toEqual(parameters);
  });

  it("tells a default in the description, since strict mode refuses it", () => {
    const schema = object({ a: { type: "integer", description: "How many.", default: 5 } }, { required: ["a"] });
    expect(functionFor(schema, { strict: true, onLoss: "throw" }).parameters).toMatchObject({
      properties: { a: { type: "integer", description: "How many. (default: 5)" } },
    });
  });

  it("gives the root what OpenAI asks for in any mode: an object without a composition; and arrays their items", () => {
    const either = { oneOf: [text, { type: "null" }] };
    const schema = { allOf: [object({ list: { type: "array" } }), { properties: { b: either } }] };
    expect(functionFor(schema, { onLoss: "throw" }).parameters).toEqual(
      object({ list: { type: "array", items: {} }, b: either }),
    );
    const union = {
      anyOf: [object({ a: text }, { required: ["a"] }), object({ a: text, b: text }, { required: ["a"] })],
    };
    expect(functionFor(union, { onLoss: "ignore" }).parameters).toEqual(
      object({ a: text, b: text }, { required: ["a"] }),
    );
    expect(() => functionFor(union, { onLoss: "throw" })).toThrow(/flattenRootUnion/);
  });

  it("has the description of a schema for a tool of free text without one, whose schema is not sent", () => {
    const described = (type: string) =>
      openaiChat.tools([
        defineTool({ name: "f", inputSchema: jsonSchema({ type, description: "SQL." } as JsonSchema) }),
      ]);
    expect(described("string")).toEqual([{ type: "custom", custom: { name: "f", description: "SQL." } }]);
    expect(described("object")[0]).not.toHaveProperty("function.description");
    const referred = defineTool({ name: "f", inputSchema: z.string().describe("SQL.").meta({ id: "Sql" }) });
    expect(openaiChat.tools([referred])).toEqual(described("string"));
  });

  it("reports what free text cannot say", () => {
    const tool = defineTool({ name: "t", inputSchema: jsonSchema({ type: "string", maxLength: 3 }) });
    expect(() => openaiChat.tools([tool], { onLoss: "throw" })).toThrow(/maxLength/);
  });

  it.each([
    ["get_weather", "get_weather"],
    ["math.add", "math__add"],
    ["21st_search", "_21st_search"],
    ["-A__quotes", "_-A__quotes"],
    ["a".repeat(64), "a".repeat(64)],
  ])("knows %s as %s", (name, wire) => expect(openaiChat.toolName(name)).toBe(wire));

  it("cuts a name that is too long and keeps it apart from others", () => {
    const [one, other] = ["x", "y"].map((last) => openaiChat.toolName("a".repeat(80) + last)) as [string, string];
    expect(one).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(one).not.toBe(other);
  });

  it("maps a name back on the way in", async () => {
    const add = defineTool({ name: "math.add", inputSchema: jsonSchema({ type: "object" }), effect: "read" });
    const turn = await read([calls(call(0, "{}", { function: { name: "math__add", arguments: "{}" } })), end], [add]);
    expect(turn.calls[0]!.name).toBe("math.add");
    expect(openaiChat.assistantMessage(turn)[0]).toMatchObject({ tool_calls: [{ function: { name: "math__add" } }] });
  });
});

function named(name: string): object {
  return { type: "function", function: { name } };
}

describe("openaiChat.toolChoice()", () => {
  it.each<[ToolChoice, unknown]>([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [{ name: "math.add" }, named("math__add")],
    [{ name: "write_sql" }, { type: "custom", custom: { name: "write_sql" } }],
    [
      { names: ["a", "b"] },
      { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [named("a"), named("b")] } },
    ],
    [
      { names: ["a"], required: true },
      { type: "allowed_tools", allowed_tools: { mode: "required", tools: [named("a")] } },
    ],
    [{ names: [] }, "none"],
  ])("says %j", (choice, tool_choice) => {
    expect(openaiChat.toolChoice(choice, { tools: [writeSql] })).toEqual({ tool_choice });
  });

  it("says whether there may be several calls", () => {
    expect(openaiChat.toolChoice("auto", { parallel: false })).toEqual({
      tool_choice: "auto",
      parallel_tool_calls: false,
    });
  });
});

it.each<[unknown, boolean]>([
  [null, false],
  ["[DONE]", false],
  [{}, false],
  [{ object: "chat.completion", choices: null }, true],
  [{ object: "chat.completion.chunk", choices: [] }, true],
  [{ object: "text_completion", choices: [] }, false],
  // Azure, first: what its filter says of the prompt.
  [{ id: "", object: "", choices: [], prompt_filter_results: [] }, true],
  [{ choices: [], usage: {} }, true],
  [{ choices: [null, { index: 0, delta: {} }] }, true],
  [{ choices: [{ index: 0, message: {} }] }, true],
  [{ choices: [{ index: 0, text: "x", message: {} }] }, false],
  [{ choices: [{ index: 0 }, "delta", null] }, false],
])("recognizes %j: %j", (event, expected) => {
  expect(openaiChat.recognizes(event)).toBe(expected);
});

describe("openaiChat.endpoint", () => {
  const query = new URLSearchParams();
  it.each([
    ["POST", "/v1/chat/completions", { stream: true }, "stream"],
    ["POST", "/openai/deployments/gpt/chat/completions", {}, "whole"],
    ["POST", "/chat/completions", undefined, "whole"],
    ["GET", "/v1/chat/completions", undefined, undefined],
    ["POST", "/v1/responses", { stream: true }, undefined],
  ])("%s %s with %j is %s", (method, path, body, kind) => {
    expect(openaiChat.endpoint.match({ method, path, query, body })).toBe(kind);
  });
});

describe("through the openai client, over HTTP", () => {
  let server: ReplayServer;
  beforeAll(async () => {
    server = await serveReplay({
      adapters: [openaiChat],
      fixtures: fixturesDir,
      behavior: {
        "openai-chat/text-only": { status: 429, message: "Slow down." },
        "openai-chat/one-call": { cutAtByte: 900 },
      },
    });
  });
  afterAll(() => server.close());

  const client = (name: string) =>
    new OpenAI({ apiKey: "none", baseURL: `${server.url}/openai-chat/${name}`, maxRetries: 0 });
  const request = { model: "m", messages: [{ role: "user" as const, content: "Hi" }] };
  const streamed = (name: string) =>
    client(name).chat.completions.create({ ...request, stream: true, tools: openaiChat.tools(sharedTools) });

  it.each([
    "parallel",
    "interleaved",
    "unicode-and-escapes",
    "quirk-51-tool-calls-as-object",
    "quirk-26-no-choices-no-delta",
  ])("reads %s as it is expected", async (name) => {
    const turn = await openaiChat.read(await streamed(name), { tools: sharedTools, runId: "run" }).done();
    const { expected } = loadFixture("openai-chat", name);
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
  });

  it.each([
    ["truncated-by-length", "length"],
    ["content-filter", "content-filter"],
  ])("reads the helper stream() with strict tools, which throws at its end: %s", async (name, reason) => {
    const tools = openaiChat.tools(sharedTools, { strict: true, onLoss: "ignore" });
    const turn = await openaiChat.read(client(name).chat.completions.stream({ ...request, tools })).done();
    expect([turn.error, turn.finishReason]).toEqual([undefined, reason]);
  });

  it("reads a Response that the client hands out", async () => {
    const { expected } = loadFixture("openai-chat", "parallel");
    const create = client("parallel").chat.completions.create({ ...request, stream: true });
    const turn = await openaiChat.read(await create.asResponse(), { tools: sharedTools, runId: "run" }).done();
    expect(JSON.parse(JSON.stringify(summarize(turn)))).toEqual(expected);
  });

  it("parses a response that was not streamed", async () => {
    const response = await client("non-streamed").chat.completions.create(request);
    const events = openaiChat.parse(response, { tools: sharedTools });
    expect(events.map(({ type }) => type)).toEqual([
      "start",
      "text-delta",
      "tool-input-start",
      "tool-input-delta",
      "tool-use",
      "tool-input-start",
      "tool-input-delta",
      "usage",
      "tool-use",
      "finish",
    ]);
  });

  it("carries a conversation on: what goes back is what the server sent and what the tools answered", async () => {
    const stream = openaiChat.read(await streamed("parallel"), { tools: sharedTools });
    for await (const event of stream) if (event.type === "tool-use") await event.use.execute();
    const history = [...openaiChat.assistantMessage(stream.turn), ...openaiChat.toolResults(stream.turn)];
    await client("parallel").chat.completions.create({
      ...request,
      messages: [...request.messages, ...history],
      stream: true,
    });
    const { messages } = server.requests.at(-1)!.body as { messages: { role: string; tool_call_id?: string }[] };
    expect(messages.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual([
      ["user", undefined],
      ["assistant", undefined],
      ["tool", "call_A1b2C3d4E5f6"],
      ["tool", "call_B2c3D4e5F6g7"],
      ["tool", "call_C3d4E5f6G7h8"],
    ]);
  });

  it("reports an error in the middle of the stream as the last event, and releases no write", async () => {
    const stream = openaiChat.read(await streamed("error-mid-stream"), { tools: sharedTools });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe("error");
    expect(types).not.toContain("tool-use");
    expect(stream.turn.error).toMatchObject({ code: "provider_error", message: "Upstream host went away" });
  });

  it("reports a lost connection as the last event", async () => {
    const stream = openaiChat.read(await streamed("one-call"), { tools: sharedTools });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe("error");
    expect(stream.turn.error).toMatchObject({ code: "connection_lost" });
  });

  it("leaves an error status to the client, and reads it from a Response", async () => {
    await expect(streamed("text-only")).rejects.toBeInstanceOf(APIError);
    const response = await fetch(`${server.url}/openai-chat/text-only/v1/chat/completions`, {
      method: "POST",
      body: '{"stream":true}',
    });
    const turn = await openaiChat.read(response).done();
    expect(turn.error).toMatchObject({
      code: "provider_error",
      message: "The provider answered with HTTP status 429: Slow down.",
    });
  });
});
