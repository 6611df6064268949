/** One call that its model never finished, as each wire would send it, and the ends that such a stream may have. */
import type { Adapter } from "../src/adapter.ts";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";

/** How the stream goes on after the last piece of arguments. `none`: not at all. */
export type Finish = "none" | "length" | "lie";

export interface CutCall {
  readonly name: string;
  readonly adapter: Adapter;
  /** SSE frames of a call of `save` whose arguments are cut after so many pieces of one character. */
  frames(pieces: readonly string[], finish: Finish): string[];
  /** The pieces of a whole call, one character each where the wire streams text. */
  readonly pieces: readonly string[];
  /** How many pieces there must be, at least, for the cut to be inside a string. */
  readonly inString: number;
  /** The cuts that can be told from a call that is finished: from this many pieces on. */
  readonly from: number;
}

export const args = { path: "/tmp/a \u{1f642}.txt", content: 'half "of\\ a {sentence} \n\u20ac' };
const argsText = JSON.stringify(args);
const pieces = Array.from({ length: argsText.length }, (_, at) => argsText[at]!);
const inString = argsText.indexOf("half") + 2;
const id = "call_1";

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const named = (event: { type: string }) => `event: ${event.type}\n${data(event)}`;

function chat(text: readonly string[], finish: Finish): string[] {
  const chunk = (delta: object, reason: string | null = null) =>
    data({
      id: "c",
      object: "chat.completion.chunk",
      model: "m",
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
  return [
    chunk({ role: "assistant", content: null }),
    chunk({ tool_calls: [{ index: 0, id, type: "function", function: { name: "save", arguments: "" } }] }),
    ...text.map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
    ...(finish === "none" ? [] : [chunk({}, finish === "length" ? "length" : "tool_calls"), "data: [DONE]\n\n"]),
  ];
}

function responses(text: readonly string[], finish: Finish): string[] {
  const item = (status: string) => ({
    type: "function_call",
    id: "fc_1",
    call_id: id,
    name: "save",
    status,
    arguments: status === "in_progress" ? "" : text.join(""),
  });
  const response = (status: string, more = {}) => ({
    object: "response",
    id: "r",
    model: "m",
    status,
    output: [],
    ...more,
  });
  const status = finish === "length" ? "incomplete" : "completed";
  return [
    { type: "response.created", response: response("in_progress") },
    { type: "response.output_item.added", output_index: 0, item: item("in_progress") },
    ...text.map((delta) => ({
      type: "response.function_call_arguments.delta",
      item_id: "fc_1",
      output_index: 0,
      delta,
    })),
    ...(finish === "none"
      ? []
      : [
          { type: "response.function_call_arguments.done", item_id: "fc_1", output_index: 0, arguments: text.join("") },
          { type: "response.output_item.done", output_index: 0, item: item(status) },
          {
            type: `response.${status}`,
            response: response(
              status,
              finish === "length" ? { incomplete_details: { reason: "max_output_tokens" } } : {},
            ),
          },
        ]),
  ].map(named);
}

function claude(text: readonly string[], finish: Finish): string[] {
  return [
    {
      type: "message_start",
      message: {
        type: "message",
        id: "m",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "tool_use", id, name: "save", input: {} } },
    ...text.map((piece) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: piece },
    })),
    ...(finish === "none"
      ? []
      : [
          { type: "content_block_stop", index: 0 },
          {
            type: "message_delta",
            delta: { stop_reason: finish === "length" ? "max_tokens" : "tool_use" },
            usage: { output_tokens: 2 },
          },
          { type: "message_stop" },
        ]),
  ].map(named);
}

/** With `streamFunctionCallArguments`: the path in one piece, then the content character by character. */
function geminiPieces(text: readonly string[], finish: Finish): string[] {
  const chunk = (functionCall: object | undefined, finishReason?: string) =>
    data({
      candidates: [
        {
          index: 0,
          content: { role: "model", parts: functionCall === undefined ? [] : [{ functionCall }] },
          ...(finishReason && { finishReason }),
        },
      ],
    });
  return [
    chunk({ id, name: "save", willContinue: true }),
    ...text.map((stringValue, at) =>
      chunk({
        partialArgs: [
          at === 0 ? { jsonPath: "$.path", stringValue } : { jsonPath: "$.content", stringValue, willContinue: true },
        ],
        willContinue: true,
      }),
    ),
    ...(finish === "none" ? [] : [chunk(undefined, finish === "length" ? "MAX_TOKENS" : "STOP")]),
  ];
}

function command(text: readonly string[], finish: Finish): string[] {
  const message = (fields: object) => ({ delta: { message: fields } });
  return [
    { type: "message-start", id: "m", ...message({ role: "assistant" }) },
    {
      type: "tool-call-start",
      index: 0,
      ...message({ tool_calls: { id, type: "function", function: { name: "save", arguments: "" } } }),
    },
    ...text.map((piece) => ({
      type: "tool-call-delta",
      index: 0,
      ...message({ tool_calls: { function: { arguments: piece } } }),
    })),
    ...(finish === "none"
      ? []
      : [
          { type: "tool-call-end", index: 0 },
          {
            type: "message-end",
            delta: { finish_reason: finish === "length" ? "MAX_TOKENS" : "TOOL_CALL", usage: {} },
          },
        ]),
  ].map(named);
}

export const cutCalls: readonly CutCall[] = [
  { name: "openai-chat", adapter: openaiChat, frames: chat, pieces, inString, from: 1 },
  { name: "openai-responses", adapter: openaiResponses, frames: responses, pieces, inString, from: 1 },
  { name: "anthropic", adapter: anthropic, frames: claude, pieces, inString, from: 1 },
  // Nothing but an open string tells that more was to come, if a finish says that all is well: the marker of the end may be missing.
  {
    name: "google, arguments in pieces",
    adapter: google,
    frames: geminiPieces,
    pieces: [args.path, ...args.content],
    inString: 5,
    from: 2,
  },
  { name: "cohere", adapter: cohere, frames: command, pieces, inString, from: 1 },
];

/** Gemini's usual form: the call in one event. */
export const wholeGeminiCall = `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: "model", parts: [{ functionCall: { id, name: "save", args } }] } }] })}\r\n\r\n`;
