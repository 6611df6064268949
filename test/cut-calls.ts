/** One call that its model never finished, as each wire would send it, and the ends that such a stream may have. */
import type { Adapter } from "../src/adapter.ts";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { googleInteractions } from "../adapters/google-interactions/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";
import { wires, type Wire } from "../bench/wires.ts";

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
const id = "call_1";
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

/** A wire that streams text: its last frames follow the arguments, and say otherwise where a limit was reached. */
function textual(adapter: Adapter, endFrames: number, reached: (frame: string) => string): CutCall {
  const frames = (pieces: readonly string[], finish: Finish) => {
    const call = { id, name: "save", argsText: pieces.join("") };
    const all = wires[adapter.name as Wire]({ calls: [call], deltaLength: 1 });
    const end = all.splice(-endFrames);
    if (finish === "none") return all;
    return [...all, ...(finish === "length" ? end.map(reached) : end)];
  };
  const inString = argsText.indexOf("half") + 2;
  return { name: adapter.name, adapter, frames, pieces: argsText.split(""), inString, from: 1 };
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

export const cutCalls: readonly CutCall[] = [
  textual(openaiChat, 2, (frame) => frame.replace('"finish_reason":"tool_calls"', '"finish_reason":"length"')),
  textual(openaiResponses, 3, (frame) =>
    frame
      .replaceAll("completed", "incomplete")
      .replace('"object":"response"', '$&,"incomplete_details":{"reason":"max_output_tokens"}'),
  ),
  textual(anthropic, 3, (frame) => frame.replace('"stop_reason":"tool_use"', '"stop_reason":"max_tokens"')),
  // Nothing but an open string tells that more was to come, if a finish says that all is well: the marker of the end may be missing.
  {
    name: "google, arguments in pieces",
    adapter: google,
    frames: geminiPieces,
    pieces: [args.path, ...args.content],
    inString: 5,
    from: 2,
  },
  textual(googleInteractions, 3, (frame) => frame.replace("requires_action", "incomplete")),
  textual(cohere, 3, (frame) => frame.replace('"finish_reason":"TOOL_CALL"', '"finish_reason":"MAX_TOKENS"')),
];

/** Gemini's usual form: the call in one event. */
export const wholeGeminiCall = `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: "model", parts: [{ functionCall: { id, name: "save", args } }] } }] })}\r\n\r\n`;
