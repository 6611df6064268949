/**
 * The official SDKs make a message of a stream, too. Of one that is as the providers send it, this library makes the
 * same: the text, the calls, the counts, and what goes back. Where it differs on purpose, the comparison says why.
 */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import * as fc from "../fast-check.ts";
import OpenAI from "openai";
import { toResponseInputItems } from "openai/lib/responses/ResponseInputItems";
import { afterEach, describe, expect, it, vi } from "vitest";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import { jsonIn, wellFormedJson } from "../../src/json/index.ts";
import { defineTool, jsonSchema, ToolUse, type Adapter, type Turn } from "../../src/index.ts";
import { input, makeTools } from "../promises/support.ts";
import { cut, diceOf, throws, together, type Dice, type Json } from "./servers/support.ts";

// -- what a model says and calls

const said = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 24 }),
  fc.constantFrom("Let me see.", "", " \n", "\u2028\u0000", "data: [DONE]\n\n", "👩‍👩‍👧"),
);
const name = fc.constantFrom("read", "write");
const id = fc.uuid();
/** Arguments as text. */
const written = fc.oneof(
  fc.tuple(input, fc.constantFrom(0, 2)).map(([value, space]) => JSON.stringify(value, null, space)),
  fc.constantFrom(
    "{}",
    '{"half":"\\ud83d","whole":"\\ud83d\\ude00","\\u0061":"\\/\\b\\u2028"}',
    '{"n":[1.0,-0,1e3,1E-7,9007199254740991,0.1]}',
    '{"a":1,"b":2,"a":{"a":[]}}',
    '{"__proto__":{"a":1},"constructor":null}',
    `{"deep":${"[".repeat(60)}{}${"]".repeat(60)}}`,
    '{\n\t"a" : "}{\\"" } ',
  ),
);
const count = fc.nat({ max: 5000 });

// -- reading

/** Its input is free text. */
const sql = defineTool({ name: "sql", inputSchema: jsonSchema({ type: "string" }) });

function answering(frames: readonly string[]): () => Promise<Response> {
  return async () => new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

async function turnOf(adapter: Adapter<any, any>, frames: readonly string[], options: object = {}): Promise<Turn> {
  const tools = [...makeTools().tools, sql];
  return adapter.read((await answering(frames)()) as any, { tools, ...options }).done();
}

/** What runs: every call of a turn that ended well, and of any other nothing but what was complete. */
function expectInputs(turn: Turn, isWell: boolean, inputs: readonly unknown[]): void {
  expect(turn.calls).toHaveLength(inputs.length);
  turn.calls.forEach(({ outcome }, i) => {
    if (outcome instanceof ToolUse) expect(JSON.stringify(outcome.input)).toBe(JSON.stringify(inputs[i]));
    else if (isWell) expect(outcome).toBe("a use");
  });
}

/** Half a character, in the arguments of a function also an escaped one, goes back as U+FFFD: else providers refuse it. */
function mended<T>(back: T): T {
  return JSON.parse(JSON.stringify(back), function (this: Json, key, value: unknown) {
    if (typeof value !== "string") return value;
    const isFunction = key === "arguments" && (this["type"] ?? "function_call") === "function_call";
    return isFunction ? wellFormedJson(value) : value.toWellFormed();
  }) as T;
}

function withoutNulls(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

/** The texts of the parts of these types: in `text`, or in a field that is called like the type. */
function texts(parts: readonly Json[], ...types: string[]): string[] {
  return parts.flatMap((one) => {
    const type = one["type"] as string;
    return types.includes(type) ? [(one["text"] ?? one[type]) as string] : [];
  });
}

// -- Messages

/** A block as it begins, and what is told of it then: strings in pieces. */
interface Block {
  readonly start: Json;
  readonly deltas: readonly Json[];
}

const citation = fc.record({
  type: fc.constant("char_location"),
  cited_text: said,
  document_index: fc.nat(),
  document_title: fc.constant(null),
  file_id: fc.constantFrom(null, "file_1"),
});
const called =
  (type: string, fields: Json) =>
  (json: string): Block => ({
    start: { type, input: {}, ...fields },
    deltas: [
      { type: "input_json_delta", partial_json: "" },
      ...(json === "" ? [] : [{ type: "input_json_delta", partial_json: json }]),
    ],
  });
const block: fc.Arbitrary<Block[]> = fc.oneof(
  fc.tuple(said, fc.array(citation, { maxLength: 2 }), fc.constantFrom(null, [])).map(([text, citations, none]) => [
    {
      start: { type: "text", text: "", ...(citations.length > 0 && { citations: none }) },
      deltas: [...citations.map((one) => ({ type: "citations_delta", citation: one })), { type: "text_delta", text }],
    },
  ]),
  fc.tuple(said, fc.base64String({ minLength: 4 })).map(([thinking, signature]) => [
    {
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        { type: "thinking_delta", thinking },
        { type: "signature_delta", signature },
      ],
    },
  ]),
  fc.base64String().map((data) => [{ start: { type: "redacted_thinking", data }, deltas: [] }]),
  fc
    .tuple(id, name, written, fc.constantFrom({}, { caller: { type: "direct" } }))
    .map(([callId, tool, json, more]) => [called("tool_use", { id: callId, name: tool, ...more })(json)]),
  fc
    .tuple(id, written, fc.boolean(), fc.constantFrom("web_search", "bash_code_execution", "mcp"))
    .map(([callId, json, isAnswered, kind]): Block[] => {
      const type = kind === "mcp" ? "mcp_tool_use" : "server_tool_use";
      const fields = { id: callId, name: kind, ...(kind === "mcp" && { server_name: "s" }) };
      const content = kind === "web_search" ? [{ type: "web_search_result", url: "u" }] : [{ type: "text", text: "" }];
      const result = { type: `${kind}_tool_result`, tool_use_id: callId, content };
      return [called(type, fields)(json), ...(isAnswered ? [{ start: result, deltas: [] }] : [])];
    }),
  fc
    .constantFrom<Json>(
      { type: "container_upload", file_id: "file_1" },
      { type: "fallback", from: { model: "m" }, to: { model: "n" } },
    )
    .map((start): Block[] => [{ start, deltas: [] }]),
);
const compaction: fc.Arbitrary<Block> = fc
  .record({ content: fc.option(said), encrypted_content: fc.option(fc.base64String()) })
  .map((fields) => ({
    start: { type: "compaction", content: null, encrypted_content: null },
    deltas: [{ type: "compaction_delta", ...fields }],
  }));

const message = fc.record({
  blocks: fc.array(block, { maxLength: 6 }).map((blocks) => blocks.flat()),
  compaction: fc.option(compaction, { freq: 8 }),
  reason: fc.constantFrom("end_turn", "tool_use", "stop_sequence", "pause_turn", "max_tokens", "refusal"),
  explanation: said,
  container: fc.option(fc.record({ id })),
  usage: fc.record({
    input_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: fc.option(count),
    service_tier: fc.constant("standard"),
  }),
  more: fc.record(
    {
      output_tokens: count,
      // Here zeros for all that was read do not count, behind others.
      input_tokens: fc.integer({ min: 1, max: 5000 }),
      cache_read_input_tokens: fc.option(fc.integer({ min: 1, max: 5000 })),
      server_tool_use: fc.record({ web_search_requests: count }),
      output_tokens_details: fc.record({ thinking_tokens: count }),
    },
    { requiredKeys: ["output_tokens"] },
  ),
});
type Message = typeof message extends fc.Arbitrary<infer T> ? T : never;

const CUT = new Set(["max_tokens", "refusal"]);

const IN_PIECES: Record<string, string> = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "partial_json",
};

function messageFrames(sent: Message, dice: Dice): string[] {
  const { blocks, compaction: first, reason, explanation, container, usage, more } = sent;
  const all = first === null ? blocks : [first, ...blocks];
  const events = all.flatMap(({ start, deltas }, index) => {
    const pieces = deltas.flatMap((delta) => {
      const field = IN_PIECES[delta["type"] as string];
      const text = delta[field ?? ""];
      return field === undefined || text === ""
        ? [delta]
        : cut(text as string, dice).map((piece) => ({ ...delta, [field]: piece }));
    });
    const told = CUT.has(reason) && index === all.length - 1 ? pieces.slice(0, dice(pieces.length + 1)) : pieces;
    return [
      { type: "content_block_start", index, content_block: start },
      ...(dice(8) === 0 ? [{ type: "ping" }] : []),
      ...told.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  });
  const details = reason === "refusal" ? { type: "refusal", category: null, explanation } : null;
  const empty = { type: "message", role: "assistant", content: [], stop_reason: null, stop_sequence: null };
  return sse(
    [
      { type: "message_start", message: { id: "msg_1", model: "m", ...empty, usage: { ...usage, output_tokens: 1 } } },
      ...events,
      { type: "message_delta", delta: { stop_reason: reason, stop_details: details, container }, usage: more },
      { type: "message_stop" },
    ],
    true,
  );
}

/** A model declined there, and another one went on. */
function isBeforeHandover(content: readonly Json[], at: number): boolean {
  return content.findLastIndex(({ type }) => type === "fallback") > at;
}

function isCall({ type }: Json): boolean {
  return type === "tool_use";
}

/** The content of the SDK's message, without what the API would refuse (docs/anthropic.md, History). */
function takenBack(content: readonly Json[], reason: unknown): Json[] {
  const answered = new Set(content.map((one) => one["tool_use_id"]));
  const kept = content.filter(({ type, text, signature, id: callId }, at) => {
    const isDeclined = isBeforeHandover(content, at);
    if (type === "text") return (text as string).trim() !== "";
    if (type === "thinking") return signature !== "" && !isDeclined;
    if (type === "tool_use" || type === "redacted_thinking") return !isDeclined;
    const isServers = type === "server_tool_use" || type === "mcp_tool_use";
    return !isServers || answered.has(callId) || (!isDeclined && (reason === "pause_turn" || reason === "tool_use"));
  });
  // Calls last, but for those that stand between thinking.
  const isThinking = ({ type }: Json) => type === "thinking" || type === "redacted_thinking";
  const first = kept.findIndex(isThinking);
  const last = kept.findLastIndex(isThinking);
  const isMoved = ({ type }: Json, at: number) => type === "tool_use" && (at < first || at > last);
  const ordered = [...kept.filter((one, at) => !isMoved(one, at)), ...kept.filter(isMoved)];
  // Thinking is refused as the end of a message.
  return ordered.slice(0, ordered.findLastIndex((one) => !isThinking(one)) + 1).map(({ citations, ...one }) => ({
    ...one,
    ...(Array.isArray(citations) && { citations: citations.map(({ file_id: _, ...rest }) => rest) }),
  }));
}

/** Inputs as JSON, with half characters mended; of a call that was cut the SDK has what its partial parser gives. */
function plain(content: readonly Json[], turn: Turn): Json[] {
  const cutIds = new Set(turn.calls.filter(({ outcome }) => !(outcome instanceof ToolUse)).map((call) => call.id));
  return content.map((one) => ({
    ...one,
    ...("input" in one && { input: cutIds.has(one["id"] as string) ? "cut" : jsonOf(one["input"]) }),
  }));
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === "string" ? inner.toWellFormed() : inner));
}

describe("Messages", () => {
  it("are what messages.stream() makes of them", () =>
    fc.assert(
      fc.asyncProperty(message, throws, async (sent, numbers) => {
        const frames = messageFrames(sent, diceOf(numbers));
        const { beta, messages } = new Anthropic({ apiKey: "none", fetch: answering(frames) });
        const request = { model: "m", max_tokens: 1, messages: [] };
        const isBeta = frames.some((frame) => /"type":"(mcp_tool_use|compaction|fallback)"/.test(frame));
        const final = await (isBeta ? beta.messages.stream(request) : messages.stream(request)).finalMessage();
        const content = JSON.parse(JSON.stringify(final.content)) as Json[];
        const turn = await turnOf(anthropic, frames);
        expect(turn).toMatchObject({
          responseId: final.id,
          model: final.model,
          providerFinishReason: final.stop_reason,
          finishMessage: final.stop_details?.explanation || undefined,
          text: texts(content, "text").join(""),
          reasoning: texts(content, "thinking").join(""),
          error: undefined,
        });
        expectInputs(
          turn,
          !CUT.has(sent.reason),
          content.filter((one, at) => isCall(one) && !isBeforeHandover(content, at)).map((one) => one["input"]),
        );
        expect(anthropic.container(turn).container).toBe(final.container?.id);
        expect(turn.usage?.raw).toEqual(withoutNulls(final.usage));
        const back = (anthropic.assistantMessage(turn)[0]?.content ?? []) as unknown as Json[];
        expect(plain(back, turn)).toEqual(mended(plain(takenBack(content, final.stop_reason), turn)));
      }),
      { numRuns: 300 },
    ));
});

// -- Chat Completions

const chatCall = fc.oneof(
  fc.record({ id, type: fc.constant("function" as const), name, text: written }),
  fc.record({ id, type: fc.constant("custom" as const), name: fc.constant("sql"), text: said }),
);
const choice = fc.record({
  content: fc.option(said),
  refusal: fc.option(said, { freq: 4 }),
  calls: fc.array(chatCall, { maxLength: 4 }),
  legacy: fc.option(fc.record({ name, text: written }), { freq: 1 }),
  audio: fc.option(fc.record({ id, transcript: said }), { freq: 1 }),
  reason: fc.constantFrom("stop", "tool_calls", "function_call", "length", "content_filter"),
});
type Choice = typeof choice extends fc.Arbitrary<infer T> ? T : never;
const completion = fc.record({
  choices: fc.array(choice, { minLength: 1, maxLength: 2 }),
  usage: fc.option(
    fc.record({
      prompt_tokens: count,
      completion_tokens: count,
      total_tokens: count,
      prompt_tokens_details: fc.record({ cached_tokens: count }),
      completion_tokens_details: fc.record({ reasoning_tokens: fc.constant(0) }),
    }),
  ),
});
type Completion = typeof completion extends fc.Arbitrary<infer T> ? T : never;

function deltasOf({ content, refusal, calls, legacy, audio }: Choice, dice: Dice): Json[] {
  const oldCall = legacy !== null && calls.length === 0 ? legacy : undefined;
  return [
    { role: "assistant", content: content === null ? null : "", refusal: null },
    ...cut(content ?? "", dice).map((piece) => ({ content: piece })),
    ...cut(refusal ?? "", dice).map((piece) => ({ refusal: piece })),
    ...(audio === null ? [] : [{ audio: { id: audio.id } }]),
    ...cut(audio?.transcript ?? "", dice).map((transcript) => ({ audio: { transcript } })),
    ...calls.flatMap(({ id: callId, type, name: tool, text }, index) => {
      const field = type === "custom" ? "input" : "arguments";
      const begin = { index, id: callId, type, [type]: { name: tool, [field]: "" } };
      const pieces = cut(text, dice).map((piece) => ({ index, [type]: { [field]: piece } }));
      return [begin, ...pieces].map((entry) => ({ tool_calls: [entry] }));
    }),
    ...(oldCall === undefined ? [] : [{ function_call: { name: oldCall.name, arguments: "" } }]),
    ...cut(oldCall?.text ?? "", dice).map((piece) => ({ function_call: { arguments: piece } })),
  ];
}

function completionFrames({ choices, usage }: Completion, dice: Dice): string[] {
  const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", service_tier: "default" };
  const asked = usage === null ? {} : { usage: null };
  const lists = choices.map((one, index) => {
    const deltas = deltasOf(one, dice);
    const told = one.reason === "length" ? deltas.slice(0, 1 + dice(deltas.length)) : deltas;
    return [
      ...told.map((delta) => ({ index, delta, logprobs: null, finish_reason: null })),
      { index, delta: {}, logprobs: null, finish_reason: one.reason },
    ];
  });
  const chunks = together<Json>(lists, true, dice).map((one) => ({
    ...base,
    choices: [one],
    ...asked,
    obfuscation: "x".repeat(dice(9)),
  }));
  return [...sse([...chunks, ...(usage === null ? [] : [{ ...base, choices: [], usage }])], false), "data: [DONE]\n\n"];
}

/**
 * The SDK's message as servers take it back: with what came but blank text, and with calls that can be read
 * (docs/openai-chat.md).
 */
function messagesOf({ content: text, refusal, audio, tool_calls: calls, function_call: call }: Json): Json[] {
  const content = (text as string | null)?.trim() ? text : null;
  const hasCalls = calls !== undefined || call !== undefined;
  if (!content && !refusal && audio === undefined && !hasCalls) return [];
  return [
    {
      role: "assistant",
      content: content || (hasCalls || refusal ? null : ""),
      ...(refusal !== null && { refusal }),
      ...(audio !== undefined && { audio: { id: (audio as Json)["id"] } }),
      ...(call !== undefined && { function_call: functionOf(call as Json) }),
      ...(calls !== undefined && {
        tool_calls: (calls as Json[]).map((one) =>
          one["type"] === "custom" ? one : { ...one, function: functionOf(one["function"] as Json) },
        ),
      }),
    },
  ];
}

function functionOf({ name: tool, arguments: text }: Json): Json {
  return { name: tool, arguments: readable(text as string) };
}

/** Arguments that were cut would make servers refuse the whole history. */
function readable(text: string): string {
  if (text === "") return "{}";
  return jsonIn(text) === undefined ? JSON.stringify({ INVALID_JSON: text }) : text;
}

describe("Chat Completions", () => {
  it("are what chat.completions.stream() makes of them", () =>
    fc.assert(
      fc.asyncProperty(completion, throws, async (sent, numbers) => {
        const frames = completionFrames(sent, diceOf(numbers));
        const client = new OpenAI({ apiKey: "none", fetch: answering(frames) });
        const final = await client.chat.completions
          .stream({ model: "m", messages: [], n: sent.choices.length })
          .finalChatCompletion();
        for (const { index, message: made, finish_reason: reason } of final.choices) {
          const turn = await turnOf(openaiChat, frames, { choice: index });
          expect(turn).toMatchObject({
            responseId: final.id,
            model: final.model,
            providerFinishReason: reason,
            text: made.content ?? "",
            refusal: made.refusal ?? "",
            error: undefined,
          });
          expect(turn.usage?.raw).toEqual(final.usage ?? undefined);
          const calls = (made.tool_calls ?? []) as OpenAI.ChatCompletionMessageToolCall[];
          const inputs = calls.map((one) =>
            one.type === "custom" ? one.custom.input : jsonIn(one.function.arguments),
          );
          if (made.function_call) inputs.push(jsonIn(made.function_call.arguments));
          // A turn that was refused releases no write.
          expectInputs(turn, !["length", "content_filter"].includes(reason) && !made.refusal, inputs);
          expect(openaiChat.assistantMessage(turn)).toEqual(mended(messagesOf(made as unknown as Json)));
        }
      }),
      { numRuns: 300 },
    ));
});

// -- Responses

const ended = { status: "completed" };
const annotation = fc.record({ type: fc.constant("url_citation"), url: fc.webUrl(), title: said, start_index: count });
const item: fc.Arbitrary<Json[]> = fc.oneof(
  fc
    .array(
      fc.oneof(
        fc.record({
          type: fc.constant("output_text"),
          text: said,
          annotations: fc.array(annotation, { maxLength: 2 }),
          logprobs: fc.constant([]),
        }),
        fc.record({ type: fc.constant("refusal"), refusal: said }),
      ),
      { minLength: 1, maxLength: 2 },
    )
    .map((content) => [{ type: "message", role: "assistant", content, ...ended }]),
  fc
    .record(
      {
        summary: fc.array(fc.record({ type: fc.constant("summary_text"), text: said }), { maxLength: 2 }),
        content: fc.array(fc.record({ type: fc.constant("reasoning_text"), text: said }), { maxLength: 2 }),
        encrypted_content: fc.base64String(),
        status: fc.constant("completed"),
      },
      { requiredKeys: ["summary"] },
    )
    .map((fields) => [{ type: "reasoning", ...fields }]),
  fc
    .record(
      { call_id: id, name, arguments: written, namespace: fc.constant("crm") },
      { requiredKeys: ["call_id", "name", "arguments"] },
    )
    .map((fields) => [{ type: "function_call", ...fields, ...ended }]),
  fc
    .record({ call_id: id, name: fc.constant("sql"), input: said })
    .map((fields) => [{ type: "custom_tool_call", ...fields, ...ended }]),
  fc
    .record({ query: said })
    .map((action) => [{ type: "web_search_call", action: { type: "search", ...action }, ...ended }]),
  fc
    .record({ queries: fc.array(said), results: fc.constant(null) })
    .map((fields) => [{ type: "file_search_call", ...fields, ...ended }]),
  fc
    .record({ code: said, outputs: fc.constantFrom(null, [{ type: "logs", logs: "1" }]) })
    .map((fields) => [{ type: "code_interpreter_call", container_id: "cntr_1", ...fields, ...ended }]),
  fc.base64String().map((result) => [{ type: "image_generation_call", result, ...ended }]),
  fc
    .record({ arguments: written, output: fc.option(said), error: fc.constant(null) })
    .map((fields) => [{ type: "mcp_call", name: "m", server_label: "s", ...fields, ...ended }]),
  fc.constant<Json[]>([{ type: "mcp_list_tools", server_label: "s", tools: [] }]),
  fc
    .record({ arguments: written })
    .map((fields) => [{ type: "mcp_approval_request", name: "m", server_label: "s", ...fields }]),
  fc.record({ call_id: id, stdout: said }).map(({ call_id, stdout }) => [
    {
      type: "shell_call",
      call_id,
      action: { commands: ["ls"] },
      environment: { type: "container_reference", container_id: "c" },
      ...ended,
    },
    {
      type: "shell_call_output",
      call_id,
      output: [{ stdout, stderr: "", outcome: { type: "exit", exit_code: 0 }, created_by: "x" }],
      ...ended,
    },
  ]),
  fc
    .record({ call_id: id, diff: said })
    .map(({ call_id, diff }) => [
      { type: "apply_patch_call", call_id, operation: { type: "update_file", path: "a", diff }, ...ended },
    ]),
  fc
    .record({ call_id: id })
    .map(({ call_id }) => [
      { type: "computer_call", call_id, actions: [{ type: "screenshot" }], pending_safety_checks: [], ...ended },
    ]),
  fc.record({ call_id: id, code: said }).map(({ call_id, code }) => [
    { type: "program", call_id, code, fingerprint: "f" },
    { type: "program_output", call_id, result: "", ...ended },
  ]),
  fc.base64String().map((encrypted_content) => [{ type: "compaction", encrypted_content }]),
  fc.constantFrom("developer", "assistant").map((role) => [{ type: "additional_tools", role, tools: [] }]),
);
/** What the API's ids begin with. */
function prefixOf(type: string): string {
  return { message: "msg", function_call: "fc", custom_tool_call: "ctc" }[type] ?? type;
}

const response = fc.record({
  items: fc
    .array(item, { maxLength: 6 })
    .map((items) => items.flat().map((one, i) => ({ id: `${prefixOf(one["type"] as string)}_${i}`, ...one }))),
  end: fc.constantFrom("completed", "completed", "max_output_tokens", "content_filter", "failed"),
  hasOutput: fc.boolean(),
  usage: fc.record({
    input_tokens: count,
    input_tokens_details: fc.record({ cached_tokens: count }),
    output_tokens: count,
    output_tokens_details: fc.record({ reasoning_tokens: count }),
    total_tokens: count,
  }),
});
type Whole = typeof response extends fc.Arbitrary<infer T> ? T : never;

/** In which events the texts of parts and of calls come. */
const WORDS: Record<string, string> = {
  output_text: "output_text",
  refusal: "refusal",
  reasoning_text: "reasoning_text",
  summary_text: "reasoning_summary_text",
  function_call: "function_call_arguments",
  custom_tool_call: "custom_tool_call_input",
  mcp_call: "mcp_call_arguments",
  code_interpreter_call: "code_interpreter_call_code",
};

const HOSTED = new Set([
  "web_search_call",
  "file_search_call",
  "image_generation_call",
  "code_interpreter_call",
  "mcp_call",
]);

/** A text in pieces, and once more as a whole. */
function textEvents(type: string, at: Json, field: string, text: string, dice: Dice): Json[] {
  const pieces = cut(text, dice).map((delta) => ({ type: `response.${WORDS[type]}.delta`, ...at, delta }));
  return [...pieces, { type: `response.${WORDS[type]}.done`, ...at, [field]: text }];
}

function partEvents(of: Json, part: Json, index: number, dice: Dice): Json[] {
  const type = part["type"] as string;
  const [kind, place] =
    type === "summary_text" ? ["reasoning_summary_part", "summary_index"] : ["content_part", "content_index"];
  const at = { ...of, [place!]: index };
  const field = type === "refusal" ? "refusal" : "text";
  const notes = part["annotations"] as Json[] | undefined;
  const empty = { ...part, [field]: "", ...(notes && { annotations: [] }) };
  return [
    { type: `response.${kind}.added`, ...at, part: empty },
    ...textEvents(type, at, field, part[field] as string, dice),
    ...(notes ?? []).map((note, annotation_index) => ({
      type: "response.output_text.annotation.added",
      ...at,
      annotation_index,
      annotation: note,
    })),
    { type: `response.${kind}.done`, ...at, part },
  ];
}

function itemEvents(one: Json, output_index: number, dice: Dice): Json[] {
  const type = one["type"] as string;
  const at: Json = { item_id: one["id"], output_index };
  const begun: Json = { ...one, ...("status" in one && { status: "in_progress" }) };
  const events: Json[] = [];
  for (const field of ["summary", "content"]) {
    if (one[field] === undefined) continue;
    begun[field] = [];
    events.push(...(one[field] as Json[]).flatMap((each, index) => partEvents(at, each, index, dice)));
  }
  for (const field of ["arguments", "input", "code"]) {
    if (one[field] === undefined || WORDS[type] === undefined) continue;
    begun[field] = "";
    events.push(...textEvents(type, at, field, one[field] as string, dice));
  }
  const step = (word: string) => (HOSTED.has(type) ? [{ type: `response.${type}.${word}`, ...at }] : []);
  return [
    { type: "response.output_item.added", output_index, item: begun },
    ...step("in_progress"),
    ...events,
    ...step("completed"),
    { type: "response.output_item.done", output_index, item: one },
  ];
}

/** The last item of a response that was stopped in it. */
function stopped(one: Json, dice: Dice): Json {
  if (one["status"] === undefined || one["type"] === "reasoning") return one;
  const field = one["type"] === "function_call" ? "arguments" : "input";
  const text = one[field] as string | undefined;
  return { ...one, status: "incomplete", ...(text !== undefined && { [field]: text.slice(0, dice(text.length + 1)) }) };
}

function responseFrames({ items: whole, end, hasOutput, usage }: Whole, dice: Dice): string[] {
  const isCut = end === "max_output_tokens";
  const items = whole.map((one, i) => (isCut && i === whole.length - 1 ? stopped(one, dice) : one));
  const base = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    error: null,
    incomplete_details: null,
    tools: [],
  };
  const begun = { ...base, status: "in_progress", output: [], usage: null };
  const status = end === "completed" || end === "failed" ? end : "incomplete";
  const events: Json[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items.flatMap((one, index) => itemEvents(one, index, dice)),
    {
      type: `response.${status}`,
      response: {
        ...base,
        status,
        ...(status === "incomplete" && { incomplete_details: { reason: end } }),
        ...(status === "failed" && { error: { code: "server_error", message: "No." } }),
        output: hasOutput ? items : null,
        usage,
      },
    },
  ];
  return sse(
    events.map((event, sequence_number) => ({ ...event, sequence_number })),
    true,
  );
}

/** What goes back by the SDK's own helper, but for what the API refuses (docs/openai-responses.md, History). */
function inputItems({ output, status: end, output_text: text }: OpenAI.Responses.Response): Json[] {
  const items = (toResponseInputItems(output) as unknown as Json[]).map(({ status, ...one }): Json => ({
    ...one,
    ...(status !== undefined && !STATUSLESS.has(one["type"]) && { status }),
    ...(one["type"] === "function_call" && { arguments: readable(one["arguments"] as string) }),
  }));
  const back = end === "failed" ? items.flatMap(ofFailed) : items;
  // The text of a failed turn is a message of its own, behind the thoughts that it began with.
  const at = Math.max(
    0,
    back.findIndex((one) => !isThought(one)),
  );
  if (end === "failed" && text !== "") back.splice(at, 0, { role: "assistant", content: text });
  // Reasoning is refused without the item that it led to.
  return back.slice(0, back.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

/** What the API has not stored cannot be found by its id: of reasoning stays what came as text, or encrypted. */
function ofFailed({ id: itemId, ...one }: Json): Json[] {
  const isReference = one["type"] === "reasoning" && !one["encrypted_content"] && !isThought(one);
  if (one["type"] === "message" || isReference) return [];
  return [CALLS.has(one["type"]) ? one : { id: itemId, ...one }];
}

function isThought({ type, encrypted_content: sealed, content = [] }: Json): boolean {
  return type === "reasoning" && !sealed && (content as Json[]).length > 0;
}

const CALLS = new Set<unknown>(["function_call", "custom_tool_call"]);

const STATUSLESS = new Set<unknown>(["reasoning", "custom_tool_call"]);

describe("Responses", () => {
  it("are what responses.stream() makes of them", () =>
    fc.assert(
      fc.asyncProperty(response, throws, async (sent, numbers) => {
        const frames = responseFrames(sent, diceOf(numbers));
        const client = new OpenAI({ apiKey: "none", fetch: answering(frames) });
        const final = await client.responses.stream({ model: "m", input: [] }).finalResponse();
        const output = JSON.parse(JSON.stringify(final.output)) as Json[];
        const turn = await turnOf(openaiResponses, frames);
        const parts = output.flatMap(({ type, summary = [], content = [] }) =>
          type === "message" || type === "reasoning" ? [...(summary as Json[]), ...(content as Json[])] : [],
        );
        const thoughts = texts(parts, "summary_text", "reasoning_text");
        const refusal = texts(parts, "refusal").join("");
        expect(turn).toMatchObject({
          responseId: final.id,
          model: final.model,
          providerFinishReason: [final.status, final.incomplete_details?.reason].filter(Boolean).join(":"),
          text: final.output_text,
          refusal,
          error: sent.end === "failed" ? { code: "provider_error" } : undefined,
        });
        expect(turn.reasoning).toBe(thoughts.filter((text) => text !== "").join("\n\n"));
        expect(turn.usage?.raw).toEqual(final.usage);
        const calls = output.filter(({ type }) => CALLS.has(type));
        expect(turn.calls.map((call) => call.id)).toEqual(calls.map((call) => call["call_id"]));
        expectInputs(
          turn,
          sent.end === "completed" && refusal === "",
          calls.map((call) => call["input"] ?? jsonIn(call["arguments"] as string)),
        );
        expect(openaiResponses.assistantMessage(turn)).toEqual(mended(inputItems(final)));
      }),
      { numRuns: 300 },
    ));
});

// -- generateContent

const signature = fc.option(fc.base64String({ minLength: 4 }), { freq: 3 });
const signed = (part: Json, thoughtSignature: string | null): Json =>
  thoughtSignature === null ? part : { ...part, thoughtSignature };
const part: fc.Arbitrary<Json[]> = fc.oneof(
  fc.record({ text: said }).map((one): Json[] => [one]),
  fc.record({ text: said, thought: fc.constant(true) }).map((one): Json[] => [one]),
  fc.tuple(said, signature).map(([text, sign]): Json[] => [signed({ text }, sign)]),
  fc
    .tuple(fc.record({ name, id, args: input }, { requiredKeys: ["name"] }), signature)
    .map(([functionCall, sign]): Json[] => [signed({ functionCall }, sign)]),
  fc
    .tuple(said, signature)
    .map(([code, sign]): Json[] => [
      signed({ executableCode: { language: "PYTHON", code } }, sign),
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
    ]),
  fc
    .tuple(id, input, signature)
    .map(([callId, args, sign]): Json[] => [
      signed({ toolCall: { id: callId, toolType: "GOOGLE_SEARCH_WEB", args } }, sign),
      { toolResponse: { id: callId, toolType: "GOOGLE_SEARCH_WEB", response: {} } },
    ]),
  fc.base64String().map((data): Json[] => [{ inlineData: { mimeType: "image/png", data } }]),
);
const answer = fc.record({
  parts: fc.array(part, { maxLength: 6 }).map((parts) => parts.flat()),
  reason: fc.constantFrom("STOP", "MAX_TOKENS"),
  usage: fc.record({ promptTokenCount: count, candidatesTokenCount: count, totalTokenCount: count }),
});
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

/** The SDK drops an answer of which a chunk has no content: the last one has an empty text, as in the API's own. */
function answerFrames({ parts, reason, usage }: Answer, dice: Dice): string[] {
  const pieces = parts.flatMap((one) => {
    const isPlain = typeof one["text"] === "string" && one["thoughtSignature"] === undefined;
    return isPlain ? cut(one["text"] as string, dice).map((text) => ({ ...one, text })) : [one];
  });
  const chunks: Json[] = [];
  while (pieces.length > 0) chunks.push({ content: { role: "model", parts: pieces.splice(0, 1 + dice(3)) } });
  chunks.push({ content: { role: "model", parts: [{ text: "" }] }, finishReason: reason });
  const base = { responseId: "r", modelVersion: "m", usageMetadata: usage };
  return sse(
    chunks.map((one) => ({ ...base, candidates: [{ index: 0, ...one }] })),
    false,
  );
}

/** The SDK keeps each piece of a text as a part of its own, empty or not, and a call without arguments as it came. */
function joined(parts: readonly Json[]): Json[] {
  const list: Json[] = [];
  for (const one of parts) {
    const last = list.at(-1);
    const isText = (other: Json | undefined) => typeof other?.["text"] === "string" && !("thoughtSignature" in other);
    const call = one["functionCall"];
    if (call !== undefined) list.push({ ...one, functionCall: { args: {}, ...(call as Json) } });
    else if (!isText(one)) list.push(one);
    else if (isText(last) && last!["thought"] === one["thought"])
      list[list.length - 1] = { ...last, text: `${last!["text"] as string}${one["text"] as string}` };
    else if (one["text"] !== "") list.push(one);
  }
  return list;
}

describe("generateContent", () => {
  afterEach(() => vi.restoreAllMocks());

  it("is what a chat makes of it", () =>
    fc.assert(
      fc.asyncProperty(answer, throws, async (sent, numbers) => {
        const frames = answerFrames(sent, diceOf(numbers));
        vi.spyOn(globalThis, "fetch").mockImplementation(answering(frames));
        const chat = new GoogleGenAI({ apiKey: "none" }).chats.create({ model: "m" });
        const chunks = [];
        for await (const chunk of await chat.sendMessageStream({ message: "Hello" })) chunks.push(chunk);
        const made = chat
          .getHistory()
          .slice(1)
          .flatMap(({ parts }) => parts ?? []);
        const turn = await turnOf(google, frames);
        const calls = chunks.flatMap(({ functionCalls }) => functionCalls ?? []);
        expect(turn).toMatchObject({
          responseId: chunks[0]!.responseId,
          model: chunks[0]!.modelVersion,
          providerFinishReason: sent.reason,
          text: made.map(({ thought, text = "" }) => (thought ? "" : text)).join(""),
          error: undefined,
        });
        expectInputs(
          turn,
          sent.reason === "STOP",
          calls.map(({ args }) => args ?? {}),
        );
        expect(turn.usage?.raw).toEqual(chunks.at(-1)!.usageMetadata);
        expect(turn.calls.map((call) => call.id ?? undefined)).toEqual(calls.map((call) => call.id));
        expect(google.assistantMessage(turn)[0]?.parts ?? []).toEqual(joined(made as Json[]));
      }),
      { numRuns: 300 },
    ));
});

function sse(events: readonly Json[], isNamed: boolean): string[] {
  return events.map(
    (event) => `${isNamed ? `event: ${String(event["type"])}\n` : ""}data: ${JSON.stringify(event)}\n\n`,
  );
}
