import type { EventSource, Parser, ParserSink } from "./adapter.ts";
import { isToolError, ToolError } from "./errors.ts";
import type { StreamEvent, Turn } from "./stream/events.ts";
import type { Limits } from "./stream/limits.ts";
import { TurnReader } from "./stream/turn.ts";
import type { RepairPolicy } from "./tool/tool.ts";
import type { ToolSource } from "./tool/tool-set.ts";
import { createDecoder, type Decoder } from "./wire/index.ts";

export interface ReadOptions {
  /** The tools that were offered. Without them every tool name is accepted and no input is validated. */
  readonly tools?: ToolSource | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** In place of every tool's own repair policy. */
  readonly repair?: RepairPolicy | undefined;
  /** The first part of every invocation id: letters, digits, `-` and `_`. Default: random. */
  readonly runId?: string | undefined;
  /** Ends the reading: the last event is then an `error` of code `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/** The parts of an adapter that reading needs. */
export interface Reading<Event> {
  readonly name: string;
  toolName(name: string): string;
  parser(sink: ParserSink): Parser<Event>;
}

/**
 * The events of one stream, once. Reading starts with the first event that is asked for.
 *
 * @example
 * for await (const event of stream) console.log(event.type);
 * messages.push(...adapter.assistantMessage(stream.turn), ...adapter.toolResults(stream.turn));
 */
export interface TurnStream extends AsyncIterable<StreamEvent> {
  /** What has been read so far; complete after the last event. */
  readonly turn: Turn;
  /** Reads what is left, and gives the turn. Never rejects: a failure is `turn.error`. */
  done(): Promise<Turn>;
}

const readOnce = new WeakSet<object>();

/**
 * The `read()` of every adapter: source -> decoder -> parser -> turn -> events.
 *
 * @throws TypeError at once when the source is none, is locked, or was read already
 */
export function readTurn<Event>(
  adapter: Reading<Event>,
  source: EventSource<Event>,
  options: ReadOptions = {},
): TurnStream {
  const input = open(adapter.name, source);
  const reader = new TurnReader({ ...options, wire: adapter.name, toolName: (name) => adapter.toolName(name) });
  const parser = adapter.parser(reader);
  return new Events(reader, pump(input, reader, parser, options.signal));
}

/** The `parse()` of every adapter: a whole response, as the events of a stream that came all at once. */
export function parseResponse<Event>(
  adapter: Reading<Event>,
  response: Event,
  options: ReadOptions = {},
): StreamEvent[] {
  if (typeof response !== "object" || response === null) {
    throw new TypeError(
      `${adapter.name}.parse() takes a response object, got ${response === null ? "null" : typeof response}.`,
    );
  }
  const reader = new TurnReader({ ...options, wire: adapter.name, toolName: (name) => adapter.toolName(name) });
  const parser = adapter.parser(reader);
  parser.push(response);
  finish(reader, parser);
  return reader.take();
}

type Input = AsyncIterable<unknown> | { readonly status: number; readonly body: AsyncIterable<unknown> };

function open(name: string, source: unknown): Input {
  if (typeof source !== "object" || source === null) {
    throw new TypeError(
      `${name}.read() takes an SDK stream, a ReadableStream or a Response, got ${source === null ? "null" : typeof source}.`,
    );
  }
  if (readOnce.has(source)) throw new TypeError(`${name}.read(): this stream was read already; a stream is read once.`);
  if (isResponse(source)) {
    if (source.body === null) throw new TypeError(`${name}.read(): the response has no body.`);
    if (source.bodyUsed || source.body.locked)
      throw new TypeError(`${name}.read(): the body of the response was read already.`);
    readOnce.add(source);
    const body = iterate(source.body);
    return source.ok ? body : { status: source.status, body };
  }
  if (typeof (source as ReadableStream).getReader === "function") {
    if ((source as ReadableStream).locked)
      throw new TypeError(`${name}.read(): the stream is locked, somebody else reads it.`);
    readOnce.add(source);
    return iterate(source as ReadableStream<Uint8Array>);
  }
  if (typeof (source as AsyncIterable<unknown>)[Symbol.asyncIterator] !== "function") {
    const hint =
      typeof (source as { then?: unknown }).then === "function"
        ? " Await it first."
        : " For a whole response use parse().";
    throw new TypeError(
      `${name}.read() takes an SDK stream, a ReadableStream or a Response, got an object that is none.${hint}`,
    );
  }
  readOnce.add(source);
  return source as AsyncIterable<unknown>;
}

/** By shape, since responses of another realm or of an SDK's own fetch are no instances of ours. */
function isResponse(source: object): source is Response {
  return "body" in source && "bodyUsed" in source && "status" in source;
}

/** `ReadableStream[Symbol.asyncIterator]` is missing in some browsers. */
async function* iterate(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if ((isDone = done)) return;
      yield value!;
    }
  } finally {
    if (!isDone) reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

/** Reads the source to the provider's own end, and gives the events of each piece together. Never throws. */
async function* pump(
  input: Input,
  reader: TurnReader,
  parser: Parser<any>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent[], void, undefined> {
  if ("status" in input) {
    await readRefusal(input, reader, parser);
    finish(reader, parser);
    return yield reader.take();
  }
  const steps = stepper(input, signal);
  let decoder: Decoder | undefined;
  // The provider's terminal event or a failure ends the turn, not the end of the connection: some proxies keep it open.
  const push = (event: unknown) => {
    if (!reader.isOver) parser.push(event);
  };
  try {
    for (let step = await steps.next(); step.done !== true; step = await steps.next()) {
      const item: unknown = step.value;
      // By what it is, not by its class: under some test runners bytes are of another realm.
      if (ArrayBuffer.isView(item)) {
        decoder ??= createDecoder({
          onEvent: push,
          onError: (error) => reader.fail(error),
          maxEventBytes: reader.maxEventBytes,
        });
        decoder.feed(item as Uint8Array);
      } else push(item);
      if (reader.isOver) break;
      if (reader.hasEvents) yield reader.take();
    }
    if (!reader.isOver) decoder?.end();
  } catch (error) {
    reader.fail(
      signal?.aborted === true ? new ToolError("aborted", "Reading was aborted.", { cause: error }) : lost(error),
    );
  } finally {
    steps.close();
  }
  finish(reader, parser);
  yield reader.take();
}

/** An answer with an error status: the provider's own error if its body is one, else the status and how the body begins. */
async function readRefusal(
  input: { status: number; body: AsyncIterable<unknown> },
  reader: TurnReader,
  parser: Parser<any>,
) {
  const utf8 = new TextDecoder();
  let text = "";
  try {
    for await (const bytes of input.body) {
      text += utf8.decode(bytes as Uint8Array, { stream: true });
      if (text.length > 64 * 1024) break;
    }
    parser.push(JSON.parse(text));
  } catch {
    // told below
  }
  if (reader.turn.error !== undefined) return;
  reader.fail(
    new ToolError(
      "provider_error",
      `The provider answered with HTTP status ${input.status}: ${text.trim().slice(0, 200)}`,
    ),
  );
}

/** The steps of an iterator, each of which ends early when the signal fires. */
function stepper(source: AsyncIterable<unknown>, signal: AbortSignal | undefined) {
  const iterator = source[Symbol.asyncIterator]();
  let reject: ((reason: unknown) => void) | undefined;
  let isDone = false;
  const onAbort = () => reject?.(signal!.reason);
  signal?.addEventListener("abort", onAbort, { once: true });

  async function next(): Promise<IteratorResult<unknown>> {
    const step = await (signal === undefined ? iterator.next() : unlessAborted());
    isDone = step.done === true;
    return step;
  }
  function unlessAborted(): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, rejectStep) => {
      reject = rejectStep;
      if (signal!.aborted) onAbort();
      else iterator.next().then(resolve, rejectStep);
    });
  }
  function close(): void {
    signal?.removeEventListener("abort", onAbort);
    // Not awaited: a source that hangs must not hold up the end.
    if (!isDone) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
  return { next, close };
}

function finish(reader: TurnReader, parser: Parser<any>): void {
  parser.end();
  reader.turn.native = parser.native;
  reader.end();
}

/** What the SDKs throw for an error that the provider sent has a status or the error's body; the rest is the connection. */
function lost(error: unknown): ToolError {
  if (isToolError(error)) return error;
  const said = error as { status?: unknown; error?: unknown; message?: unknown } | null | undefined;
  const message = typeof said?.message === "string" ? said.message : String(error);
  const isProviders = typeof said?.status === "number" || (said?.error !== undefined && said.error !== null);
  return isProviders
    ? new ToolError("provider_error", message, { cause: error })
    : new ToolError("connection_lost", `The connection was lost before the provider ended the turn: ${message}`, {
        cause: error,
      });
}

/** The events one by one, without an await for those that came together. */
class Events implements TurnStream, AsyncIterator<StreamEvent, void, undefined> {
  readonly turn: Turn;
  readonly #batches: AsyncGenerator<StreamEvent[], void, undefined>;
  #batch: StreamEvent[] = [];
  #next = 0;
  #isTaken = false;
  #pulling: Promise<unknown> = Promise.resolve();

  constructor(reader: TurnReader, batches: AsyncGenerator<StreamEvent[], void, undefined>) {
    this.turn = reader.turn;
    this.#batches = batches;
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamEvent, void, undefined> {
    if (this.#isTaken) throw new TypeError("This stream was read already; a stream is read once.");
    this.#isTaken = true;
    return this;
  }

  next(): Promise<IteratorResult<StreamEvent, void>> {
    if (this.#next < this.#batch.length) return Promise.resolve({ value: this.#batch[this.#next++]!, done: false });
    // Asked twice before the first answer: in turn.
    const pulled = this.#pulling.then(() => this.#pull());
    this.#pulling = pulled;
    return pulled;
  }

  async return(): Promise<IteratorResult<StreamEvent, void>> {
    this.#batch = [];
    await this.#batches.return();
    return { value: undefined, done: true };
  }

  async done(): Promise<Turn> {
    this.#isTaken = true;
    while ((await this.next()).done !== true);
    return this.turn;
  }

  async #pull(): Promise<IteratorResult<StreamEvent, void>> {
    for (;;) {
      if (this.#next < this.#batch.length) return { value: this.#batch[this.#next++]!, done: false };
      const batch = await this.#batches.next();
      if (batch.done === true) return { value: undefined, done: true };
      this.#batch = batch.value;
      this.#next = 0;
    }
  }
}
