import { isObject } from "../schema/json.ts";
import type { Parser } from "../adapter.ts";
import type { ToolError } from "../errors.ts";
import { unlessItThrows } from "../quietly.ts";
import type { Source } from "../source.ts";
import type { StreamEvent } from "../stream/events.ts";
import type { TurnReader } from "../stream/turn.ts";
import { createDecoder, type Decoder, type DecoderOptions, type Delta, type Templates } from "../wire/index.ts";
import { aborted, lost, meaningless, refused, unreadable, type Came } from "./failures.ts";

/** How long a source may take to end after the provider's terminal event. */
const END_WITHIN_MS = 1000;
const END_WITHIN_STEPS = 100;

/** How many characters of an error response are read. */
const MAX_REFUSAL = 64 * 1024;

/**
 * Moves what a source gives into a turn, piece by piece, up to the provider's own end. Never throws: failures are
 * reported by the turn.
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
  #decoder: Decoder | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #status: number | undefined;
  readonly #parser: Parser<any>;
  readonly #source: AsyncIterable<unknown>;
  /** What the source gives, judged by its first event, or piece of text. */
  #gives: Came | undefined;
  /** The beginning of an error response's body. */
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
    // The SDKs' helpers (`messages.stream()`) buffer nothing: iterating them too late would wait forever.
    if ("ended" in items) this.#iterator = items[Symbol.asyncIterator]();
  }

  /** Resolves when nothing more is taken in, whether or not the source has settled its last `next()`. */
  get over(): Promise<void> {
    this.#over ??= Promise.withResolvers<void>();
    if (this.isOver) this.#over.resolve();
    return this.#over.promise;
  }

  /** The next piece of the source. */
  step(): Promise<IteratorResult<unknown>> {
    if (this.#signal !== undefined) return this.#stepUnlessAborted(this.#signal);
    try {
      const step = this.#pieces.next();
      // Hand-written iterators may not return a promise.
      return step instanceof Promise ? step : Promise.resolve(step);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  take(step: IteratorResult<unknown>): void {
    if (this.isOver) return; // stopped while waiting
    if (this.isAborted) return this.abort();
    try {
      if (step.done === true) this.#end();
      // Not `instanceof`: under some test runners, bytes come from another realm.
      else if (ArrayBuffer.isView(step.value)) this.#feed(step.value);
      // An SDK's event: only the first one has to be looked at.
      else if (this.#gives !== undefined && this.#decoder === undefined) this.#parser.push(step.value);
      else this.#takeOther(step.value);
    } catch (cause) {
      this.#cut(unreadable(cause));
    }
    // The provider's terminal event or a failure ends the turn, not the connection's end: some proxies keep it open.
    if (this.#isExhausted || this.reader.isOver) this.stop();
  }

  /** The source failed: the caller gave up, the SDK turned an event into an error, or the connection was lost. */
  thrown(error: unknown): void {
    if (this.isOver) return;
    if (this.isAborted) return this.stop(aborted(error));
    if (this.#status !== undefined) return this.stop();
    const event = unlessItThrows(() => this.#parser.thrown?.(error));
    if (event !== undefined) push(this.reader, this.#parser, event);
    // The event itself may have ended the turn.
    this.stop(this.reader.isOver ? undefined : lost(error));
  }

  /** The caller's signal has fired. */
  get isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** Ends the turn as aborted. Of the events not handed out yet, only those of failed or unreleased calls are kept. */
  abort(kept: readonly StreamEvent[] = []): void {
    const error = aborted(this.#signal!.reason);
    this.reader.takeBack(kept, error);
    this.stop(error);
  }

  /** Ends the turn at the point read so far, and releases the source. */
  stop(error?: ToolError): void {
    if (this.isOver) return;
    this.isOver = true;
    const { reader } = this;
    if (error !== undefined) this.#cut(error);
    if (this.#onAbort !== undefined) this.#signal!.removeEventListener("abort", this.#onAbort);
    // Stop waiting for a source that may hang.
    this.#rejectStep?.(undefined);
    this.#over?.resolve();
    if (!this.#isExhausted) {
      if (reader.isTerminated && reader.turn.error === undefined) void this.#letEnd();
      else this.#cancel();
    }
    if (this.#status !== undefined) this.#refuse(this.#status);
    finish(reader, this.#parser, this.#gives);
  }

  /** An error response is reported by its status and the provider's own message, which seldom names it. */
  #refuse(status: number): void {
    const { turn } = this.reader;
    const said = turn.error;
    if (said !== undefined && said.code !== "provider_error") return;
    const error = refused(status, this.#refusal, said);
    this.reader.cut(error);
    turn.error = error;
  }

  get #pieces(): AsyncIterator<unknown> {
    return (this.#iterator ??= this.#source[Symbol.asyncIterator]());
  }

  #stepUnlessAborted(signal: AbortSignal): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, reject) => {
      this.#rejectStep = reject;
      if (signal.aborted) return reject(signal.reason);
      if (this.#onAbort === undefined) {
        this.#onAbort = () => this.#rejectStep!(signal.reason);
        signal.addEventListener("abort", this.#onAbort, { once: true });
      }
      Promise.resolve(this.#pieces.next()).then(resolve, reject);
    });
  }

  #end(): void {
    this.#isExhausted = true;
    this.#decoder?.end();
    const { turn, isTerminated } = this.reader;
    // SDK streams end silently when a signal they were given fires.
    const signal = isTerminated || turn.finishReason !== undefined ? undefined : controllerOf(this.#source)?.signal;
    if (signal?.aborted === true) this.#cut(aborted(signal.reason));
  }

  #feed(piece: ArrayBufferView | ArrayBuffer): void {
    // Most are, and to ask for the tag of each piece is not free.
    const bytes = piece instanceof Uint8Array ? piece : bytesOf(piece);
    if (this.#status !== undefined && !this.#keepRefusal(bytes)) return this.stop();
    this.#decoder ??= createDecoder(this);
    this.#decoder.feed(bytes);
  }

  /** What is no view of bytes: an `ArrayBuffer`, text, or an event. */
  #takeOther(piece: unknown): void {
    if (isObject(piece) && tagOf(piece) === "ArrayBuffer") return this.#feed(piece as ArrayBuffer);
    this.#gives ??= typeof piece === "string" ? "text" : "stream";
    this.#parser.push(piece);
  }

  // The methods of DecoderOptions: what the decoder finds, on its way to the parser

  get maxEventBytes(): number {
    return this.reader.maxEventBytes;
  }

  onEvent(event: unknown): void {
    this.#gives ??= "stream";
    if (!this.reader.isOver) this.#parser.push(event);
  }

  onDelta(delta: Delta<Parser<any>>, text: string, index: number): boolean {
    return this.reader.isOver || delta.push(this.#parser, text, index);
  }

  get templates(): Templates | undefined {
    return this.#parser.templates;
  }

  onError(error: ToolError): void {
    // An error response that is not the provider's own (an HTML page, say) is reported by its status. And what follows
    // the provider's terminal event is not read, even if it came in the same piece.
    if (this.#status === undefined && !this.reader.isOver) this.#cut(error);
  }

  #cut(error: ToolError): void {
    // What was held back did arrive. But of an aborted turn nothing more is reported.
    if (error.code === "aborted") this.reader.cut(error);
    try {
      this.#parser.cut?.();
    } catch {
      // The turn has failed either way.
    }
    this.reader.cut(error);
  }

  /** @returns false once the body is too long to read on */
  #keepRefusal(bytes: Uint8Array): boolean {
    if (this.#refusal.length < MAX_REFUSAL)
      this.#refusal += (this.#utf8 ??= new TextDecoder()).decode(bytes, { stream: true });
    return this.#refusal.length < MAX_REFUSAL;
  }

  /**
   * After the provider's terminal event only the source's end is left, and a connection that is read to its end can be
   * reused. Nothing waits for this, and a connection that is kept open (proxies do that) is cancelled.
   */
  async #letEnd(): Promise<void> {
    const timer = setTimeout(() => this.#cancel(), END_WITHIN_MS);
    (timer as { unref?: () => void }).unref?.();
    try {
      let isDone = false;
      for (let left = END_WITHIN_STEPS; !isDone && left > 0; left--) isDone = (await this.#pieces.next()).done === true;
      if (!isDone) this.#cancel();
    } catch {
      // The turn is over either way.
    }
    clearTimeout(timer);
  }

  #cancel(): void {
    try {
      const pieces = this.#pieces;
      // Not awaited: a source that hangs must not hold up the end.
      Promise.resolve(pieces.return?.()).catch(() => {});
      // A generator waiting for its next piece cannot return: SDK streams are ended through their controller. Those of
      // `tee()` share it, and are no generators: the other half may still be read.
      if (pieces.throw !== undefined) controllerOf(this.#source)?.abort();
    } catch {
      // The source has already failed.
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

/**
 * For the error when nothing was recognised:
 *
 * @param came what the source gave, if anything
 * @param whole the response, if it is one
 */
export function finish(reader: TurnReader, parser: Parser<any>, came: Came | undefined, whole?: object): void {
  try {
    parser.end();
  } catch (cause) {
    reader.cut(unreadable(cause));
  }
  reader.turn.native = parser.native;
  if (isUntouched(reader)) reader.cut(meaningless(reader.turn.wire, came, whole));
  reader.end();
}

/**
 * Nothing was recognised, except what some parsers find in others' events too: a start without an id, usage, or `[DONE]`,
 * with which the streams of several wires end.
 */
function isUntouched({ turn }: TurnReader): boolean {
  const isEnded = turn.finishReason !== undefined || turn.error !== undefined;
  if (isEnded || turn.responseId !== undefined || turn.model !== undefined) return false;
  const hasText = turn.text !== "" || turn.reasoning !== "" || turn.refusal !== "";
  return !hasText && turn.calls.length === 0 && turn.providerToolCalls.length === 0;
}

/** The controller that SDK streams carry. */
function controllerOf(source: object): AbortController | undefined {
  const { controller } = source as { controller?: unknown };
  return controller instanceof AbortController ? controller : undefined;
}

/** Not `instanceof`: the value may come from another realm. */
function tagOf(piece: object): unknown {
  return (piece as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
}

/** Also of another realm, of a `DataView`, an `ArrayBuffer`, or a typed array of another element size. */
function bytesOf(piece: ArrayBufferView | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(piece)
    ? new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)
    : new Uint8Array(piece);
}
