import { ReadableStream as NodeStream } from "node:stream/web";
import type { RecordedChunk, Recording } from "./recording.ts";

/** A source that is being recorded. */
export interface Recorded<Source> {
  /** The same kind of source: read this one instead. It is read no faster than its reader asks. */
  readonly stream: Source;
  /**
   * Settles when `stream` was read to its end, failed, or was left by its reader; in the last two cases it is marked as
   * incomplete. Never rejects: a failure of the source reaches the reader of `stream`.
   */
  readonly recording: Promise<Recording>;
}

/**
 * Keeps a copy of what passes through, with its timing. Bytes are kept as they are; events (an SDK's stream) are kept as
 * NDJSON, one per line.
 *
 * @example
 * const { stream, recording } = record(await fetch(url, request));
 * for await (const event of adapter.read(stream, { tools })) show(event);
 * await saveRecording("fixtures/mine/stream.sse", await recording);
 */
export function record(source: Response): Recorded<Response>;
export function record(source: ReadableStream<Uint8Array>): Recorded<ReadableStream<Uint8Array>>;
export function record<Event>(source: AsyncIterable<Event>): Recorded<AsyncIterable<Event>>;
export function record(
  source: Response | ReadableStream<Uint8Array> | AsyncIterable<unknown>,
): Recorded<Response | ReadableStream<Uint8Array> | AsyncIterable<unknown>> {
  if (isResponse(source)) return recordResponse(source);
  // Also of events: the stream of some SDKs is a ReadableStream.
  if (isStream(source)) return recordStream(source, undefined);
  if (typeof source?.[Symbol.asyncIterator] === "function") return recordEvents(source);
  throw new TypeError("record() takes a Response, a ReadableStream of bytes or an async iterable of events");
}

function recordResponse(response: Response): Recorded<Response> {
  const contentType = response.headers.get("content-type") ?? undefined;
  if (response.body === null) {
    const keeper = createKeeper(contentType);
    keeper.finish(true);
    return { stream: response, recording: keeper.recording };
  }
  const body = isStream(response.body) ? response.body : NodeStream.from(response.body as AsyncIterable<Uint8Array>);
  const { stream, recording } = recordStream(body as ReadableStream<Uint8Array>, contentType);
  const { status, statusText, headers } = response;
  return { stream: new Response(stream, { status, statusText, headers }), recording };
}

function recordStream(
  source: ReadableStream<Uint8Array>,
  contentType: string | undefined,
): Recorded<ReadableStream<Uint8Array>> {
  const keeper = createKeeper(contentType);
  const reader = source.getReader();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            keeper.finish(true);
            return controller.close();
          }
          keeper.keep(value);
          controller.enqueue(value);
        } catch (error) {
          keeper.finish(false);
          controller.error(error);
        }
      },
      async cancel(reason) {
        keeper.finish(false);
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 }, // no reading ahead: the timing is the source's, the pace the reader's
  );
  return { stream, recording: keeper.recording };
}

/** Not a generator: one that its reader leaves before the first event would never know. */
function recordEvents<Event>(source: AsyncIterable<Event>): Recorded<AsyncIterable<Event>> {
  const keeper = createKeeper();
  const events = source[Symbol.asyncIterator]();
  const stream: AsyncIterableIterator<Event> = {
    async next() {
      try {
        const step = await events.next();
        if (step.done === true) keeper.finish(true);
        else keeper.keep(step.value);
        return step;
      } catch (error) {
        keeper.finish(false);
        throw error;
      }
    },
    async return() {
      keeper.finish(false);
      await events.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return { stream, recording: keeper.recording };
}

/**
 * The part of an event that the provider sent. `@google/genai` adds the HTTP response with all headers: cookies,
 * account ids.
 * https://googleapis.github.io/js-genai/release_docs/classes/types.GenerateContentResponse.html#sdkhttpresponse
 */
function withoutTransport(event: unknown): unknown {
  if (typeof event !== "object" || event === null || !("sdkHttpResponse" in event)) return event;
  const { sdkHttpResponse: _, ...sent } = event;
  return sent;
}

/** Collects the pieces of one body until it is finished, once. */
function createKeeper(contentType?: string) {
  let holdsEvents = false;
  const start = performance.now();
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  const chunks: RecordedChunk[] = [];
  const { promise, resolve } = Promise.withResolvers<Recording>();
  return {
    keep(piece: unknown): void {
      holdsEvents = !isBytes(piece);
      // The reader may reuse or transfer its bytes.
      const bytes = isBytes(piece) ? copyOf(piece) : encoder.encode(`${JSON.stringify(withoutTransport(piece))}\n`);
      pieces.push(bytes);
      chunks.push({ atMs: Math.round(performance.now() - start), length: bytes.length });
    },
    finish(complete: boolean): void {
      const bytes = new Uint8Array(Buffer.concat(pieces));
      const knownType = holdsEvents ? "application/x-ndjson" : undefined;
      resolve({ bytes, chunks, contentType: contentType ?? knownType, complete });
    },
    recording: promise,
  };
}

/** Not `instanceof`: the packages undici and node-fetch have their own classes, and SDKs may be given those. */
function isResponse(source: unknown): source is Response {
  const { body, headers } = (source ?? {}) as Partial<Response>;
  return body !== undefined && typeof headers?.get === "function";
}

/** The body of node-fetch is Node's own kind of stream, which is only iterable. */
function isStream(source: unknown): source is ReadableStream<Uint8Array> {
  return typeof (source as Partial<ReadableStream> | undefined)?.getReader === "function";
}

/** Not by class: under some test runners, bytes come from another realm. */
function isBytes(event: unknown): event is ArrayBufferView {
  return ArrayBuffer.isView(event);
}

/** The `slice()` of a `Buffer` does not copy. */
function copyOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
