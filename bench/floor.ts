/**
 * The floor: the least that a program can do with the same bytes. It decodes UTF-8, splits lines, parses each event,
 * concatenates the arguments, and parses them once at the end. It assumes that the provider makes no mistakes: no
 * limits, no validation, no errors, no partial input.
 *
 * Each choice is the fastest of those tried: StringDecoder over TextDecoder (some 10 % of the whole with one event per
 * network chunk), indexOf over split, a growing string over a list.
 */
import { StringDecoder } from "node:string_decoder";
import type { Wire } from "./wires.ts";
import { dataOf, type Stream } from "./workloads.ts";

/** The result that every row must produce. */
export interface Outcome {
  readonly text: string;
  readonly calls: readonly { readonly id: string | null; readonly name: string; readonly input: unknown }[];
}

interface Found {
  text: string;
  /** By the provider's index, possibly with holes. */
  readonly calls: { id: string; name: string; args: string; input?: unknown }[];
}

/**
 * Floor a.
 *
 * @param onInput what to do with the input of the first call as soon as the provider has ended that call
 */
export async function floor(
  wire: Wire,
  chunks: AsyncIterable<Uint8Array>,
  onInput?: (input: unknown) => void,
): Promise<Outcome> {
  const read = onInput === undefined ? readers[wire] : eager(wire, onInput);
  const found: Found = { text: "", calls: [] };
  const utf8 = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of chunks) {
    const text = utf8.write(chunk);
    let from = 0;
    for (let to = text.indexOf("\n"); to !== -1; to = text.indexOf("\n", from)) {
      // `data: {`: not an event's name, not [DONE]
      if (rest !== "") {
        const line = rest + text.slice(0, to);
        rest = "";
        if (line.startsWith("data: {")) read(found, JSON.parse(line.slice(6)));
      } else if (text.startsWith("data: {", from)) read(found, JSON.parse(text.slice(from + 6, to)));
      from = to + 1;
    }
    // A cut line is not searched again: an event of many chunks would take quadratic time.
    if (from < text.length) rest += from === 0 ? text : text.slice(from);
  }
  return {
    text: found.text,
    calls: found.calls.flatMap(({ id, name, args, input }) => ({ id, name, input: input ?? JSON.parse(args) })),
  };
}

/** Floor b: the events are ready as text, and are parsed. */
export function parseEvents(texts: readonly string[]): void {
  for (const text of texts) JSON.parse(text);
}

/** Floor c: the arguments are ready as text, and are parsed. */
export function parseInputs({ turn: { calls } }: Stream): void {
  for (const { argsText } of calls) JSON.parse(argsText);
}

/** What floor b parses. */
export function textsOf({ frames }: Stream): string[] {
  return frames.flatMap(dataOf);
}

function eager(wire: Wire, onInput: (input: unknown) => void): (found: Found, event: any) => void {
  const read = readers[wire];
  let isOver = false;
  return (found, event) => {
    read(found, event);
    if (isOver || !endsFirstCall[wire](event)) return;
    isOver = true;
    // With Anthropic, text is a block of its own, and a hole here.
    const { args, input } = found.calls.find((call) => call !== undefined)!;
    onInput(input ?? JSON.parse(args));
  };
}

const endsFirstCall: Record<Wire, (event: any) => boolean> = {
  "openai-chat": ({ choices }) => choices[0].delta.tool_calls?.[0].index > 0,
  "openai-responses": ({ type }) => type === "response.output_item.done",
  anthropic: ({ type }) => type === "content_block_stop",
  google: ({ candidates }) => candidates[0].content.parts[0].functionCall !== undefined,
  "google-interactions": ({ event_type: type }) => type === "step.stop",
  cohere: ({ type }) => type === "tool-call-end",
};

/** Each reads what an event says, as documented. */
const readers: Record<Wire, (found: Found, event: any) => void> = {
  "openai-chat"(found, { choices }) {
    const { content, tool_calls: parts } = choices[0].delta;
    if (content) found.text += content;
    if (parts === undefined) return;
    for (const { index, id, function: part } of parts) {
      if (id === undefined) found.calls[index]!.args += part.arguments;
      else found.calls[index] = { id, name: part.name, args: part.arguments };
    }
  },
  "openai-responses"(found, { type, output_index: index, delta, item }) {
    if (type === "response.function_call_arguments.delta") found.calls[index]!.args += delta;
    else if (type === "response.output_text.delta") found.text += delta;
    else if (type === "response.output_item.added" && item.type === "function_call")
      found.calls[index] = { id: item.call_id, name: item.name, args: "" };
  },
  anthropic(found, { type, index, delta, content_block: block }) {
    if (type === "content_block_delta") {
      if (delta.type === "input_json_delta") found.calls[index]!.args += delta.partial_json;
      else found.text += delta.text;
    } else if (type === "content_block_start" && block.type === "tool_use") {
      found.calls[index] = { id: block.id, name: block.name, args: "" };
    }
  },
  google(found, { candidates }) {
    for (const { text, functionCall: call } of candidates[0].content.parts) {
      if (call === undefined) found.text += text;
      else found.calls.push({ id: call.id, name: call.name, args: "", input: call.args });
    }
  },
  "google-interactions"(found, { event_type: type, index, step, delta }) {
    if (type === "step.delta") {
      if (delta.type === "arguments_delta") found.calls[index]!.args += delta.arguments;
      else found.text += delta.text;
    } else if (type === "step.start" && step.type === "function_call") {
      found.calls[index] = { id: step.id, name: step.name, args: "" };
    }
  },
  cohere(found, { type, index, delta }) {
    if (type === "tool-call-delta") found.calls[index]!.args += delta.message.tool_calls.function.arguments;
    else if (type === "content-delta") found.text += delta.message.content.text;
    else if (type === "tool-call-start") {
      const { id, function: start } = delta.message.tool_calls;
      found.calls[index] = { id, name: start.name, args: start.arguments };
    }
  },
};
