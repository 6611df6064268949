import type { EventSource, Parser, ParserSink } from "./adapter.ts";
import { isToolError, ToolError } from "./errors.ts";
import { isPromise, isResponse, openSource, type Source } from "./source.ts";
import type { StreamEvent, Turn } from "./stream/events.ts";
import type { Limits } from "./stream/limits.ts";
import { TurnReader } from "./stream/turn.ts";
import type { RepairPolicy } from "./tool/tool.ts";
import type { ToolSource } from "./tool/tool-set.ts";
import { createDecoder, type Decoder, type Delta } from "./wire/index.ts";

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
  /**
   * The same events in lists, one for each piece of the source that brought any: fewer promises, where a network chunk
   * holds many events. In place of iterating the stream itself.
   */
  readBatches(): AsyncIterable<readonly StreamEvent[]>;
  /** Reads what is left, and gives the turn. Never rejects: a failure is `turn.error`. */
  done(): Promise<Turn>;
}

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
  // First what the caller may have got wrong in the options, so that the source can still be read after that.
  const reader = readerOf(adapter, options);
  const parser = adapter.parser(reader);
  return new Events(openSource(adapter.name, source), reader, parser, options.signal);
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
  if (isPromise(response))
    throw new TypeError(`${adapter.name}.parse() takes a response, got a promise. Await it first.`);
  if (isResponse(response) || Symbol.asyncIterator in response) {
    throw new TypeError(`${adapter.name}.parse() takes a parsed response. For a Response or a stream use read().`);
  }
  const reader = readerOf(adapter, options);
  const parser = adapter.parser(reader);
  push(reader, parser, response);
  finish(reader, parser);
  return reader.take();
}

function readerOf(adapter: Reading<any>, options: ReadOptions): TurnReader {
  return new TurnReader({ ...options, wire: adapter.name, toolName: toolNameOf(adapter) });
}

/** The names that each adapter has made, since most streams are read with the same tools as the one before. */
const toolNames = new WeakMap<Reading<any>, (name: string) => string>();
const MAX_NAMES = 1024;

function toolNameOf(adapter: Reading<any>): (name: string) => string {
  let toolName = toolNames.get(adapter);
  if (toolName === undefined) {
    const known = new Map<string, string>();
    toolName = (name) => {
      let made = known.get(name);
      if (made === undefined) {
        made = adapter.toolName(name);
        if (known.size === MAX_NAMES) known.clear();
        known.set(name, made);
      }
      return made;
    };
    toolNames.set(adapter, toolName);
  }
  return toolName;
}

/** What somebody who asked for an event, or for all there are, gets. */
type Received = IteratorResult<any, void>;
type Receive = (batch: readonly StreamEvent[] | undefined) => Received;

/** Reads the source to the provider's own end, piece by piece. Never throws: what fails is said by the last event. */
class Pump {
  readonly reader: TurnReader;
  readonly #parser: Parser<any>;
  readonly #signal: AbortSignal | undefined;
  readonly #status: number | undefined;
  readonly #source: AsyncIterable<unknown>;
  #iterator: AsyncIterator<unknown> | undefined;
  readonly #receive: Receive;
  #decoder: Decoder | undefined;
  /** How the body of an error answer begins. */
  #refusal = "";
  #utf8: TextDecoder | undefined;
  #rejectStep: ((reason: unknown) => void) | undefined;
  #isExhausted = false;
  #isOver = false;

  constructor(
    { items, status }: Source,
    reader: TurnReader,
    parser: Parser<any>,
    signal: AbortSignal | undefined,
    receive: Receive,
  ) {
    this.#source = items;
    this.#status = status;
    this.reader = reader;
    this.#parser = parser;
    this.#signal = signal;
    this.#receive = receive;
  }

  /**
   * Reads until a piece of the source brings events, and comes to what `receive` makes of them: of `undefined` after the
   * last ones. No async function, since with one event a network chunk each promise counts.
   */
  pull(): Promise<Received> {
    if (this.#isOver) return Promise.resolve(this.#receive(undefined));
    return this.#step().then(this.#onStep, this.#onThrown);
  }

  readonly #onStep = (step: IteratorResult<unknown>): Received | Promise<Received> => {
    if (!this.#isOver) {
      try {
        this.#takeStep(step);
      } catch (error) {
        this.#thrown(error);
      }
    } // else it was stopped while it waited
    return this.#goOn();
  };

  readonly #onThrown = (error: unknown): Received | Promise<Received> => {
    this.#thrown(error);
    return this.#goOn();
  };

  #goOn(): Received | Promise<Received> {
    return this.#isReady() ? this.#deliver() : this.#untilReady();
  }

  /** A loop, so that a thousand pieces without an event do not make a chain of promises. */
  async #untilReady(): Promise<Received> {
    do {
      try {
        const step = await this.#step();
        if (this.#isOver) break;
        this.#takeStep(step);
      } catch (error) {
        this.#thrown(error);
      }
    } while (!this.#isReady());
    return this.#deliver();
  }

  #takeStep(step: IteratorResult<unknown>): void {
    if (step.done !== true) return this.#take(step.value);
    this.#isExhausted = true;
    this.#decoder?.end();
    this.stop();
  }

  #isReady(): boolean {
    const { reader } = this;
    if (reader.isOver) this.stop();
    return reader.hasEvents || this.#isOver;
  }

  #deliver(): Received {
    const { reader } = this;
    return this.#receive(reader.hasEvents ? reader.take() : undefined);
  }

  /** The source has failed: the caller has given up, the SDK has made an error of an event, or the connection is lost. */
  #thrown(error: unknown): void {
    if (this.#signal?.aborted === true) return this.stop(aborted(error));
    if (this.#status !== undefined) return this.stop();
    const event = this.#parser.thrown?.(error);
    if (event !== undefined) this.#push(event);
    this.stop(lost(error));
  }

  /** Ends the turn as far as it was read, and lets go of the source. */
  stop(error?: ToolError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { reader } = this;
    if (error !== undefined) reader.fail(error);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (!this.#isExhausted) {
      if (reader.isTerminated && reader.turn.error === undefined) void this.#letEnd();
      else this.#cancel();
    }
    if (this.#status !== undefined && reader.turn.error === undefined)
      reader.fail(refused(this.#status, this.#refusal));
    finish(reader, this.#parser);
  }

  readonly #onAbort = (): void => this.#rejectStep?.(this.#signal!.reason);

  #step(): Promise<IteratorResult<unknown>> {
    if (this.#signal === undefined) {
      try {
        this.#iterator ??= this.#source[Symbol.asyncIterator]();
        const step = this.#iterator.next();
        // By hand-made iterators it may be none.
        return step instanceof Promise ? step : Promise.resolve(step);
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return new Promise((resolve, reject) => {
      this.#rejectStep = reject;
      if (this.#signal!.aborted) return this.#onAbort();
      if (this.#iterator === undefined) {
        this.#iterator = this.#source[Symbol.asyncIterator]();
        this.#signal!.addEventListener("abort", this.#onAbort, { once: true });
      }
      Promise.resolve(this.#iterator.next()).then(resolve, reject);
    });
  }

  #take(item: unknown): void {
    const { reader } = this;
    // By what it is, not by its class: under some test runners bytes are of another realm.
    if (!ArrayBuffer.isView(item)) return this.#push(item);
    if (this.#status !== undefined && this.#refusal.length < MAX_REFUSAL) {
      this.#refusal += (this.#utf8 ??= new TextDecoder()).decode(item, { stream: true });
      if (this.#refusal.length >= MAX_REFUSAL) return this.stop();
    }
    this.#decoder ??= createDecoder({
      onEvent: (event) => this.#push(event),
      onDelta: (delta, text, index) => this.#pushDelta(delta, text, index),
      deltaOf: this.#parser.deltaOf === undefined ? undefined : (event) => this.#parser.deltaOf!(event),
      // An error answer that is none of the provider's own (a page of HTML, say) is told by its status.
      onError: (error) => this.#status === undefined && reader.fail(error),
      maxEventBytes: reader.maxEventBytes,
    });
    this.#decoder.feed(item as Uint8Array);
  }

  /** The provider's terminal event or a failure ends the turn, not the end of the connection: some proxies keep it open. */
  #push(event: unknown): void {
    if (!this.reader.isOver) push(this.reader, this.#parser, event);
  }

  #pushDelta(delta: Delta, text: string, index: number): boolean {
    const { reader } = this;
    if (reader.isOver) return true;
    try {
      return delta.push(text, index);
    } catch (cause) {
      reader.fail(unreadable(cause));
      return true;
    }
  }

  /**
   * After the provider's terminal event the source has nothing to say but its end, and a connection that is read to its
   * end is used again. Nobody waits for it, and one that is kept open (proxies do that) is cancelled.
   */
  async #letEnd(): Promise<void> {
    const timer = setTimeout(() => this.#cancel(), END_WITHIN_MS);
    (timer as { unref?: () => void }).unref?.();
    try {
      let isDone = false;
      for (let left = END_WITHIN_STEPS; !isDone && left > 0; left--)
        isDone = (await this.#iterator!.next()).done === true;
      if (!isDone) this.#cancel();
    } catch {
      // It is over in any case.
    }
    clearTimeout(timer);
  }

  #cancel(): void {
    try {
      this.#iterator ??= this.#source[Symbol.asyncIterator]();
      // Not awaited: a source that hangs must not hold up the end.
      Promise.resolve(this.#iterator.return?.()).catch(() => {});
      // A generator that waits for its next piece can not return: the streams of the SDKs are ended by their controller.
      const { controller } = this.#source as { controller?: unknown };
      if (controller instanceof AbortController) controller.abort();
    } catch {
      // It has failed before.
    }
  }
}

/** How long a source may take to end after the provider's terminal event. */
const END_WITHIN_MS = 1000;
const END_WITHIN_STEPS = 100;

/** Characters of an error answer that are read. */
const MAX_REFUSAL = 64 * 1024;

/** An answer with an error status that holds no error of the provider's own. */
function refused(status: number, body: string): ToolError {
  const text = body.trim().slice(0, 200);
  return new ToolError(
    "provider_error",
    `The provider answered with HTTP status ${status}${text === "" ? "." : `: ${text}`}`,
  );
}

function aborted(cause: unknown): ToolError {
  return new ToolError("aborted", "Reading was aborted.", { cause });
}

/** An event that has not the form it should have must not throw, and has no meaning that could be trusted. */
function push(reader: TurnReader, parser: Parser<any>, event: unknown): void {
  try {
    parser.push(event);
  } catch (cause) {
    reader.fail(unreadable(cause));
  }
}

function unreadable(cause: unknown): ToolError {
  return new ToolError("invalid_event", `An event of the stream can not be read: ${messageOf(cause)}`, { cause });
}

function finish(reader: TurnReader, parser: Parser<any>): void {
  try {
    parser.end();
  } catch (cause) {
    reader.fail(unreadable(cause));
  }
  reader.turn.native = parser.native;
  reader.end();
}

/** What the SDKs throw for an error that the provider sent has a status or the error's body; the rest is the connection. */
function lost(error: unknown): ToolError {
  if (isToolError(error)) return error;
  const said = error as { status?: unknown; error?: unknown; message?: unknown } | null | undefined;
  const message = messageOf(error);
  const isProviders = typeof said?.status === "number" || (said?.error !== undefined && said.error !== null);
  return isProviders
    ? new ToolError("provider_error", message, { cause: error })
    : new ToolError("connection_lost", `The connection was lost before the provider ended the turn: ${message}`, {
        cause: error,
      });
}

function messageOf(error: unknown): string {
  const message = (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : String(error);
}

/** The events in batches or one by one, without waiting for those that came together. */
class Events implements TurnStream, AsyncIterator<StreamEvent, void, undefined> {
  readonly turn: Turn;
  readonly #pump: Pump;
  #batch: readonly StreamEvent[] = NO_EVENTS;
  #next = 0;
  #isTaken = false;
  /** Whoever asked before the events were there is served first, in turn. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Whether the one who waits for the source wants all that it brings. */
  #wantsAll = false;

  constructor(input: Source, reader: TurnReader, parser: Parser<any>, signal: AbortSignal | undefined) {
    this.turn = reader.turn;
    this.#pump = new Pump(input, reader, parser, signal, (batch) => this.#received(batch));
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamEvent, void, undefined> {
    this.#claim();
    return this;
  }

  readBatches(): AsyncIterable<readonly StreamEvent[]> {
    return {
      [Symbol.asyncIterator]: () => {
        this.#claim();
        return { next: () => this.#ask(true), return: () => this.return() };
      },
    };
  }

  next(): Promise<IteratorResult<StreamEvent, void>> {
    return this.#ask(false);
  }

  /** The consumer has enough: the turn ends here, as one that was aborted. */
  async return(): Promise<Received> {
    this.#batch = NO_EVENTS;
    this.#pump.stop(new ToolError("aborted", "Reading was stopped before the turn ended."));
    this.#pump.reader.take();
    return { value: undefined, done: true };
  }

  async done(): Promise<Turn> {
    this.#isTaken = true;
    while ((await this.#ask(true)).done !== true);
    return this.turn;
  }

  #claim(): void {
    if (this.#isTaken) throw new TypeError("This stream was read already; a stream is read once.");
    this.#isTaken = true;
  }

  #ask(all: boolean): Promise<Received> {
    if (this.#waiting === 0) {
      const asked = this.#now(all);
      this.#last = asked;
      return asked;
    }
    this.#waiting++;
    const now = () => {
      this.#waiting--;
      return this.#now(all);
    };
    const asked = this.#last.then(now, now);
    this.#last = asked;
    return asked;
  }

  #now(all: boolean): Promise<Received> {
    if (this.#next < this.#batch.length) return Promise.resolve(this.#result(all));
    this.#waiting++;
    this.#wantsAll = all;
    return this.#pump.pull();
  }

  #received(batch: readonly StreamEvent[] = NO_EVENTS): Received {
    this.#waiting--;
    this.#batch = batch;
    this.#next = 0;
    return batch.length === 0 ? { value: undefined, done: true } : this.#result(this.#wantsAll);
  }

  #result(all: boolean): Received {
    const batch = this.#batch;
    const from = this.#next;
    if (!all) return { value: batch[this.#next++]!, done: false };
    this.#next = batch.length;
    return { value: from === 0 ? batch : batch.slice(from), done: false };
  }
}

const NO_EVENTS: readonly StreamEvent[] = [];
