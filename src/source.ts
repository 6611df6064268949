import { isPromise } from "./promise.ts";
import { isObject, kindOf, kindOfObject } from "./schema/json.ts";

/** Where the events come from; `status` for the body of a response with an error status. */
export interface Source {
  readonly items: AsyncIterable<unknown>;
  readonly status?: number;
}

const readOnce = new WeakSet<object>();

/**
 * Opens the argument of `read()`, once.
 *
 * @throws TypeError when it is not a stream, is locked, or was already read
 */
export function openSource(name: string, source: unknown): Source {
  if (!isObject(source)) {
    throw new TypeError(`${name}.read() takes an SDK stream, a ReadableStream or a Response, got ${kindOf(source)}.`);
  }
  if (readOnce.has(source)) throw new TypeError(`${name}.read(): this stream was read already; a stream is read once.`);
  if (isResponse(source)) {
    if (source.bodyUsed || source.body?.locked === true)
      throw new TypeError(`${name}.read(): the body of the response was read already.`);
    const items = source.body === null ? nothing() : itemsOf(source.body);
    if (items === undefined) {
      throw new TypeError(
        `${name}.read(): the body of the response is not a stream, got ${kindOf(source.body)}. Use a fetch that streams, or parse() for a whole response.`,
      );
    }
    readOnce.add(source);
    return source.ok ? { items } : { items, status: source.status };
  }
  if (isReadableStream(source) && source.locked)
    throw new TypeError(`${name}.read(): the stream is locked: it has another reader.`);
  const items = itemsOf(source);
  if (items === undefined) {
    throw new TypeError(
      `${name}.read() takes an SDK stream, a ReadableStream or a Response, got ${kindOfObject(source)}. ${hintFor(source)}`,
    );
  }
  if ((source as { ended?: unknown }).ended === true)
    throw new TypeError(`${name}.read(): this stream has ended, and kept nothing. Pass it to read() right away.`);
  readOnce.add(source);
  return { items };
}

/** Some SDK methods return more than the stream: `{ stream, response }`, `{ data, response }`. */
function hintFor(source: object): string {
  if (isPromise(source)) return "Await it first.";
  const { stream, data } = source as { stream?: unknown; data?: unknown };
  if (isStream(stream)) return "Pass its stream.";
  return isStream(data) ? "Pass its data." : "For a whole response use parse().";
}

/** By shape, since responses of another realm or of an SDK's own fetch are not instances of ours. */
export function isResponse(source: object): source is Response {
  return "body" in source && "bodyUsed" in source && "status" in source;
}

/** The items of any kind of stream; `undefined` for anything else. The body of a `node-fetch` response is Node's. */
function itemsOf(source: unknown): AsyncIterable<unknown> | undefined {
  if (!isStream(source)) return undefined;
  if (isReadableStream(source)) return iterate(source);
  return isNodeStream(source) ? iterateNode(source) : source;
}

function isStream(source: unknown): source is AsyncIterable<unknown> {
  if (!isObject(source)) return false;
  return isReadableStream(source) || typeof (source as AsyncIterable<unknown>)[Symbol.asyncIterator] === "function";
}

function isReadableStream(source: object): source is ReadableStream<Uint8Array> {
  return typeof (source as ReadableStream).getReader === "function";
}

interface NodeStream extends AsyncIterable<unknown> {
  destroy(): void;
}

function isNodeStream(source: object): source is NodeStream {
  return typeof (source as NodeStream).destroy === "function";
}

/** A Node stream's iterator is a generator. While it waits for the next piece, it can only be ended from outside. */
function iterateNode(stream: NodeStream): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = stream[Symbol.asyncIterator]();
      return {
        next: () => iterator.next(),
        async return() {
          stream.destroy();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/**
 * `ReadableStream[Symbol.asyncIterator]` is missing in some browsers. Not a generator: that could not cancel a stream
 * while waiting for its next piece.
 */
function iterate(stream: ReadableStream<Uint8Array>): AsyncIterable<unknown> {
  const reader = stream.getReader();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => reader.read() as Promise<IteratorResult<unknown>>,
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

/** Stands for the body of a response without one. */
async function* nothing(): AsyncGenerator<never> {}
