/** What is measured: the floor and this library, each from the same chunks or events to the same calls. */
import { z } from "zod";
import { anthropic } from "../adapters/anthropic/index.ts";
import { cohere } from "../adapters/cohere/index.ts";
import { google } from "../adapters/google/index.ts";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { openaiResponses } from "../adapters/openai-responses/index.ts";
import { defineTool, type Adapter, type EventSource, type ToolCall } from "../src/index.ts";
import { floor, type Outcome } from "./floor.ts";
import { responseOf } from "./response.ts";
import type { Wire } from "./wires.ts";
import { TOOL_NAME, type Stream } from "./workloads.ts";

export interface Row {
  readonly name: RowName;
  /** From parsed events: it is the same for every packing. */
  readonly fromEvents: boolean;
  /** Characters of arguments from which on a run would take minutes. */
  readonly maxSize: number;
  /** What it comes to; `undefined` for a row that does nothing with the events. */
  run(wire: Wire, stream: Stream): Promise<Outcome | undefined>;
}

export type RowName =
  | "floor a"
  | "toolstream bytes"
  | "toolstream bytes + input"
  | "toolstream bytes + input, flat"
  | "toolstream bytes + changes"
  | "events raw"
  | "toolstream sdk"
  | "response raw"
  | "toolstream response + input";

/** Touched by whoever looks at the partial input, so that the looking can not be optimised away. */
export const seen = { characters: 0 };

export const rows: readonly Row[] = [
  bytes("floor a", (wire, { chunks }) => floor(wire, each(chunks))),
  bytes("toolstream bytes", (wire, { chunks }) => read(wire, each(chunks))),
  bytes("toolstream bytes + input", (wire, { chunks }) => read(wire, each(chunks), inputReader())),
  // Quadratic, whatever a library does: see flatReader.
  bytes("toolstream bytes + input, flat", (wire, { chunks }) => read(wire, each(chunks), flatReader), 128 * 1024),
  bytes("toolstream bytes + changes", (wire, { chunks }) => read(wire, each(chunks), changesReader)),
  events("events raw", (_wire, { events: list }) => iterate(each(list))),
  events("toolstream sdk", (wire, { events: list }) => read(wire, each(list))),
];

/** What the peers get is a `Response`: what that costs with no work done, and this library from one. */
export const responseRows: readonly Row[] = [
  bytes("response raw", (_wire, stream) => iterate(responseOf(stream).body!)),
  bytes("toolstream response + input", (wire, stream) => read(wire, responseOf(stream), inputReader())),
];

function bytes(name: RowName, run: Row["run"], maxSize = Infinity): Row {
  return { name, fromEvents: false, maxSize, run };
}

function events(name: RowName, run: Row["run"]): Row {
  return { name, fromEvents: true, maxSize: 1024 * 1024, run };
}

const adapters: Record<Wire, Adapter> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  google,
  cohere,
};

const tools = [
  defineTool({
    name: TOOL_NAME,
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    effect: "read",
    execute: ({ path }) => path,
  }),
];

/** As the README shows it: every event, the calls as they are released. */
async function read(wire: Wire, source: EventSource<unknown>, look?: (call: ToolCall) => void): Promise<Outcome> {
  const stream = adapters[wire].read(source, { tools });
  const calls: { id: string | null; name: string; input: unknown }[] = [];
  for await (const event of stream) {
    switch (event.type) {
      case "tool-input-delta":
        look?.(event.call);
        break;
      case "tool-use":
        // Calls that stream side by side are released as they end.
        calls[event.use.position] = { id: event.use.id, name: event.use.name, input: event.use.input };
        break;
      case "tool-error":
      case "error":
        throw event.error;
    }
  }
  return { text: stream.turn.text, calls };
}

/** Up to here a flat string costs next to nothing. */
const SMALL = 4096;

/**
 * Reads the partial input at every delta, and of the growing field its length. The last 16 characters are touched too,
 * but past 4 KiB only after each eighth that the field grows by: V8 makes a string that was put together flat when a
 * character of it is touched, which copies all of it, whoever put it together.
 */
function inputReader(): (call: ToolCall) => void {
  let next = 0;
  return (call) => {
    const content = contentOf(call);
    if (content === undefined) return;
    seen.characters += content.length;
    if (content.length < SMALL || content.length >= next) {
      seen.characters += content.slice(-16).length;
      next = content.length * 1.125;
    }
  };
}

/** Touches the last 16 characters at every delta: what that costs, for the docs. */
function flatReader(call: ToolCall): void {
  seen.characters += contentOf(call)?.slice(-16).length ?? 0;
}

/** What an editor that appends would take. */
function changesReader(call: ToolCall): void {
  for (const change of call.changes()) {
    if ("append" in change) seen.characters += change.append.slice(-16).length;
    else if ("value" in change && typeof change.value === "string") seen.characters += change.value.length;
  }
}

function contentOf(call: ToolCall): string | undefined {
  const content = (call.input as { content?: unknown } | undefined)?.content;
  return typeof content === "string" ? content : undefined;
}

/** No work at all. */
async function iterate(source: AsyncIterable<unknown>): Promise<undefined> {
  for await (const event of source) if (event === undefined) throw new Error("an event is missing");
}

/** The leanest source: what it costs is in every row, the floor's too. */
function each<T>(items: readonly T[]): AsyncIterable<T> {
  let at = 0;
  const next = (): Promise<IteratorResult<T>> =>
    Promise.resolve(at < items.length ? { value: items[at++]!, done: false } : { value: undefined, done: true });
  return { [Symbol.asyncIterator]: () => ({ next }) };
}
