import type { Parser } from "../adapter.ts";
import type { ToolError } from "../errors.ts";
import type { Source } from "../source.ts";
import type { StreamEvent } from "../stream/events.ts";
import type { TurnReader } from "../stream/turn.ts";
import { createDecoder, type Decoder, type DecoderOptions, type Delta, type Templates } from "../wire/index.ts";
import { aborted, lost, meaningless, refused, unreadable, type Came } from "./failures.ts";

/** How long a source may take to end after the provider's terminal event. */
const END_WITHIN_MS = 1000;
const END_WITHIN_STEPS = 100;

/** Characters of an error answer that are read. */
const MAX_REFUSAL = 64 * 1024;

type Body = Pick<Decoder, "feed" | "end">;

/**
 * Moves what a source gives into a turn, piece by piece, up to the provider's own end. Never throws: what fails is said
 * by the turn.
 *
 * ```
 * await step()  ->  take(step) | thrown(error)  ->  reader.hasEvents, isOver
 * ```
 */
export class Pump implements DecoderOptions {
  /** Nothing more is taken in. */
  isOver = false;
  #isExhausted = false;
  readonly reader: TurnReader;
  #iterator: AsyncIterator<unknown> | undefined;
  #decoder: Body | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #status: number | undefined;
  readonly #parser: Parser<any>;
  readonly #source: AsyncIterable<unknown>;
  /** What a source of other pieces than bytes gives, by its first one. */
  #gives: Came | undefined;
  /** The bytes held an event. */
  #hasEvents = false;
  /** How the body of an error answer begins. */
  #refusal = "";
  #utf8: TextDecoder | undefined;
  #onAbort: (() => void) | undefined;
  #rejectStep: ((reason: unknown) => void) | undefined;
  #over: PromiseWithResolvers<void> | undefined;

  constructor({ items, status }: Source, reader: TurnReader, parser: Parser<any>, signal: AbortSignal | undefined) {
    this.reader = reader;
    this.#signal = signal;
    this.#status = status;
    this.#parser = parser;
    this.#source = items;
    // The helpers of the SDKs (`messages.stream()`) keep nothing for those who come late, who would wait for ever.
    if ("ended" in items) this.#iterator = items[Symbol.asyncIterator]();
  }

  /** When nothing more is taken in, whether or not the source has settled what it was asked for. */
  get over(): Promise<void> {
    this.#over ??= Promise.withResolvers<void>();
    if (this.isOver) this.#over.resolve();
    return this.#over.promise;
  }

  /** The next piece of the source. */
  step(): Promise<IteratorResult<unknown>> {
    if (this.#signal !== undefined) return this.#stepUnlessAborted(this.#signal);
    try {
      this.#iterator ??= this.#source[Symbol.asyncIterator]();
      const step = this.#iterator.next();
      // By hand-made iterators it may be none.
      return step instanceof Promise ? step : Promise.resolve(step);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  take(step: IteratorResult<unknown>): void {
    if (this.isOver) return; // it was stopped while it waited
    if (this.isAborted) return this.abort();
    try {
      if (step.done === true) this.#end();
      // By what it is, not by its class: under some test runners bytes are of another realm.
      else if (ArrayBuffer.isView(step.value)) this.#feed(step.value as Uint8Array);
      else if (this.#gives !== undefined) this.#parser.push(step.value);
      else this.#takeOther(step.value);
    } catch (cause) {
      this.reader.cut(unreadable(cause));
    }
    // The provider's terminal event or a failure ends the turn, not the end of the connection: some proxies keep it open.
    if (this.#isExhausted || this.reader.isOver) this.stop();
  }

  /** The source has failed: the caller has given up, the SDK has made an error of an event, or the connection is lost. */
  thrown(error: unknown): void {
    if (this.isOver) return;
    if (this.isAborted) return this.stop(aborted(error));
    if (this.#status !== undefined) return this.stop();
    const event = this.#eventOf(error);
    if (event !== undefined) push(this.reader, this.#parser, event);
    // What the event said may be the end.
    this.stop(this.reader.isOver ? undefined : lost(error));
  }

  /** The caller's signal has fired. */
  get isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** Ends the turn for that. Of events that nobody was given yet, only what tells how it ends is said once more. */
  abort(kept: readonly StreamEvent[] = []): void {
    const error = aborted(this.#signal!.reason);
    this.reader.takeBack(kept, error);
    this.stop(error);
  }

  /** Ends the turn as far as it was read, and lets go of the source. */
  stop(error?: ToolError): void {
    if (this.isOver) return;
    this.isOver = true;
    const { reader } = this;
    if (error !== undefined) reader.cut(error);
    if (this.#onAbort !== undefined) this.#signal!.removeEventListener("abort", this.#onAbort);
    // Nobody waits any longer for a source that hangs.
    this.#rejectStep?.(undefined);
    this.#over?.resolve();
    if (!this.#isExhausted) {
      if (reader.isTerminated && reader.turn.error === undefined) void this.#letEnd();
      else this.#cancel();
    }
    if (this.#status !== undefined) this.#refuse(this.#status);
    finish(reader, this.#parser, this.#gives ?? (this.#hasEvents ? "stream" : undefined));
  }

  /** An error answer is told by its status and the provider's own words, which seldom name it. */
  #refuse(status: number): void {
    const { turn } = this.reader;
    const said = turn.error;
    if (said !== undefined && said.code !== "provider_error") return;
    const error = refused(status, this.#refusal, said);
    this.reader.cut(error);
    turn.error = error;
  }

  #stepUnlessAborted(signal: AbortSignal): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, reject) => {
      this.#rejectStep = reject;
      if (signal.aborted) return reject(signal.reason);
      this.#iterator ??= this.#source[Symbol.asyncIterator]();
      if (this.#onAbort === undefined) {
        this.#onAbort = () => this.#rejectStep!(signal.reason);
        signal.addEventListener("abort", this.#onAbort, { once: true });
      }
      Promise.resolve(this.#iterator.next()).then(resolve, reject);
    });
  }

  /** What the parser makes of an error; it may be one that throws when it is looked at. */
  #eventOf(error: unknown): unknown {
    try {
      return this.#parser.thrown?.(error);
    } catch {
      return undefined;
    }
  }

  #end(): void {
    this.#isExhausted = true;
    this.#decoder?.end();
    const { turn, isTerminated } = this.reader;
    // The streams of the SDKs end without a word when a signal that they were given fires.
    const signal = isTerminated || turn.finishReason !== undefined ? undefined : controllerOf(this.#source)?.signal;
    if (signal?.aborted === true) this.reader.cut(aborted(signal.reason));
  }

  #feed(bytes: Uint8Array): void {
    if (this.#status !== undefined && !this.#keepRefusal(bytes)) return this.stop();
    this.#decoder ??= this.#openDecoder(bytes);
    this.#decoder.feed(bytes);
  }

  /** By the first piece, so that those that are bytes as they should be need not be looked at. */
  #openDecoder(first: Uint8Array): Body {
    const decoder = createDecoder(this);
    if (tagOf(first) === "Uint8Array") return decoder;
    return { feed: (piece) => decoder.feed(bytesOf(piece)), end: () => decoder.end() };
  }

  /** Before anything that is an event. */
  #takeOther(piece: unknown): void {
    if (typeof piece === "object" && piece !== null && "byteLength" in piece && tagOf(piece) === "ArrayBuffer")
      return this.#feed(bytesOf(piece as ArrayBuffer));
    this.#gives = typeof piece === "string" ? "text" : "stream";
    this.#parser.push(piece);
  }

  // What the decoder finds, on its way to the parser: the methods of DecoderOptions

  get maxEventBytes(): number {
    return this.reader.maxEventBytes;
  }

  onEvent(event: unknown): void {
    this.#hasEvents = true;
    if (!this.reader.isOver) this.#parser.push(event);
  }

  onDelta(delta: Delta<Parser<any>>, text: string, index: number): boolean {
    return this.reader.isOver || delta.push(this.#parser, text, index);
  }

  get templates(): Templates | undefined {
    return this.#parser.templates;
  }

  onError(error: ToolError): void {
    // An error answer that is none of the provider's own (a page of HTML, say) is told by its status. And what stands
    // behind the provider's terminal event is not read, whether or not it came in one piece with that.
    if (this.#status === undefined && !this.reader.isOver) this.reader.cut(error);
  }

  /** @returns false where it is too long to be read on */
  #keepRefusal(bytes: Uint8Array): boolean {
    if (this.#refusal.length < MAX_REFUSAL)
      this.#refusal += (this.#utf8 ??= new TextDecoder()).decode(bytes, { stream: true });
    return this.#refusal.length < MAX_REFUSAL;
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
      controllerOf(this.#source)?.abort();
    } catch {
      // It has failed before.
    }
  }
}

export function push(reader: TurnReader, parser: Parser<any>, event: unknown): void {
  try {
    parser.push(event);
  } catch (cause) {
    reader.cut(unreadable(cause));
  }
}

/** @param came what came, if anything did, for the case that it meant nothing */
export function finish(reader: TurnReader, parser: Parser<any>, came: Came | undefined): void {
  try {
    parser.end();
  } catch (cause) {
    reader.cut(unreadable(cause));
  }
  reader.turn.native = parser.native;
  if (isUntouched(reader)) reader.cut(meaningless(reader.turn.wire, came));
  reader.end();
}

/** Nothing has come of it but what some parsers also find in the events of others: a start without an id, a usage. */
function isUntouched({ turn, isTerminated }: TurnReader): boolean {
  const isEnded = isTerminated || turn.finishReason !== undefined || turn.error !== undefined;
  if (isEnded || turn.responseId !== undefined || turn.model !== undefined) return false;
  const hasText = turn.text !== "" || turn.reasoning !== "" || turn.refusal !== "";
  return !hasText && turn.calls.length === 0 && turn.providerToolCalls.length === 0;
}

/** Of an SDK's stream. */
function controllerOf(source: object): AbortController | undefined {
  const { controller } = source as { controller?: unknown };
  return controller instanceof AbortController ? controller : undefined;
}

/** By what it says it is, not by its class: it may be of another realm. */
function tagOf(piece: object): unknown {
  return (piece as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
}

/** Of a `DataView`, an `ArrayBuffer`, or numbers of another size. */
function bytesOf(piece: ArrayBufferView | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(piece)
    ? new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)
    : new Uint8Array(piece);
}
