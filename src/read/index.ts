import type { StreamSource, Parser, ParserSink } from "../adapter.ts";
import { isPromise } from "../promise.ts";
import { isObject, kindOf } from "../schema/json.ts";
import { isResponse, openSource } from "../source.ts";
import type { StreamEvent } from "../stream/events.ts";
import type { GivenLimits } from "../stream/limits.ts";
import { TurnReader } from "../stream/turn.ts";
import { checkSpelling, type OptionNames } from "../tool/option-names.ts";
import type { RepairPolicy, Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import { finish, Pump, push } from "./pump.ts";
import { PumpedStream, type TurnStream } from "./turn-stream.ts";

export type { TurnStream } from "./turn-stream.ts";

/** Options of an adapter's `read()` and `parse()`. */
export interface ReadOptions<T extends Tool = Tool> {
  /** The tools that were offered. Without them every tool name is accepted and no input is validated. */
  readonly tools?: ToolSource<T> | undefined;
  /** How much the stream may make us buffer. */
  readonly limits?: GivenLimits | undefined;
  /** Overrides every tool's own repair policy. */
  readonly repair?: RepairPolicy | undefined;
  /** The first part of every invocation id: letters, digits, `-` and `_`. Default: random. */
  readonly runId?: string | undefined;
  /**
   * Ends the reading: the last event is then an `error` with code `aborted`. Events that were read but not yet handed
   * out are dropped, and no call among them is released.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The parts of an adapter that reading needs. */
export interface Reading<Event> {
  readonly name: string;
  readonly toolName: (name: string) => string;
  readonly namespaced?: RegExp | undefined;
  readonly uniqueIds?: boolean | RegExp | undefined;
  parser(sink: ParserSink): Parser<Event>;
}

/**
 * The `read()` of every adapter: source -> decoder -> parser -> turn -> events.
 *
 * @throws TypeError immediately when the source is not one, is locked, or was already read
 */
export function readTurn<Event, T extends Tool = Tool>(
  adapter: Reading<Event>,
  source: StreamSource<Event>,
  options: ReadOptions<T> = {},
): TurnStream<T> {
  // Options first: if the caller got one wrong, the source has not been touched and can still be read.
  const reader = readerOf(adapter, options);
  const parser = adapter.parser(reader);
  const stream = new PumpedStream(new Pump(openSource(adapter.name, source), reader, parser, options.signal));
  return stream as TurnStream as TurnStream<T>; // its calls are those of these tools
}

/** The `parse()` of every adapter: a whole response as the events of a stream that arrived all at once. */
export function parseResponse<Event, T extends Tool = Tool>(
  adapter: Reading<Event>,
  response: Event,
  options: ReadOptions<T> = {},
): StreamEvent<T>[] {
  if (!isObject(response)) {
    throw new TypeError(`${adapter.name}.parse() takes a response object, got ${kindOf(response)}.`);
  }
  if (isPromise(response))
    throw new TypeError(`${adapter.name}.parse() takes a response, got a promise. Await it first.`);
  if (isResponse(response) || Symbol.asyncIterator in response) {
    throw new TypeError(`${adapter.name}.parse() takes a parsed response. For a Response or a stream use read().`);
  }
  const reader = readerOf(adapter, options);
  const parser = adapter.parser(reader);
  push(reader, parser, response);
  finish(reader, parser, "response", response);
  return reader.take() as StreamEvent<T>[]; // as above
}

function readerOf(adapter: Reading<any>, options: ReadOptions): TurnReader {
  if (Array.isArray(options)) {
    throw new TypeError(`${adapter.name} takes tools among its options, { tools }, got a list.`);
  }
  // Without its tools, no input of a turn would be validated.
  checkSpelling(`${adapter.name}.read() or parse()`, options, OPTIONS);
  const { tools, limits, repair, runId, signal } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new TypeError(`signal is an AbortSignal (an AbortController's \`signal\`), got ${kindOf(signal)}.`);
  }
  const { name: wire, toolName, namespaced, uniqueIds } = adapter;
  return new TurnReader(wire, tools, { limits, repair, runId, toolName, namespaced, uniqueIds });
}

const OPTIONS: OptionNames<ReadOptions> = { tools: true, limits: true, repair: true, runId: true, signal: true };
