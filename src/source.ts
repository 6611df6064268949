import { isPromise } from "./promise.ts";

/** Where the events come from; `status` if it is the body of an answer with an error status. */
export interface Source {
  readonly items: AsyncIterable<unknown>;
  readonly status?: number;
}

const readOnce = new WeakSet<object>();

/**
 * Opens what `read()` was given, once.
 *
 * @throws TypeError when it is no stream, is locked, or was read already
 */
export function openSource(name: string, source: unknown): Source {
  if (typeof source !== "object" || source === null) {
    throw new TypeError(
      `${name}.read() takes an SDK stream, a ReadableStream or a Response, got ${source === null ? "null" : typeof source}.`,
    );
  }
  if (readOnce.has(source)) throw new TypeError(`${name}.read(): this stream was read already; a stream is read once.`);
  if (isResponse(source)) {
    if (source.bodyUsed || source.body?.locked === true)
      throw new TypeError(`${name}.read(): the body of the response was read already.`);
    const items = source.body === null ? NOTHING : itemsOf(source.body);
    if (items === undefined) {
      throw new TypeError(
        `${name}.read(): the body of the response is no stream, got ${typeof source.body}. Use a fetch that streams, or parse() for a whole response.`,
      );
    }
    readOnce.add(source);
    return source.ok ? { items } : { items, status: source.status };
  }
  if (isReadableStream(source) && source.locked)
    throw new TypeError(`${name}.read(): the stream is locked, somebody else reads it.`);
  const items = itemsOf(source);
  if (items === undefined) {
    const hint = isPromise(source) ? " Await it first." : " For a whole response use parse().";
    throw new TypeError(
      `${name}.read() takes an SDK stream, a ReadableStream or a Response, got an object that is none.${hint}`,
    );
  }
  if ((source as { ended?: unknown }).ended === true)
    throw new TypeError(`${name}.read(): this stream has ended, and kept nothing. Give it to read() at once.`);
  readOnce.add(source);
  return { items };
}

/** By shape, since responses of another realm or of an SDK's own fetch are no instances of ours. */
export function isResponse(source: object): source is Response {
  return "body" in source && "bodyUsed" in source && "status" in source;
}

/** What a stream of any kind gives; `undefined` of what is none. The body of a `node-fetch` response is a stream of Node's. */
function itemsOf(source: unknown): AsyncIterable<unknown> | undefined {
  if (typeof source !== "object" || source === null) return undefined;
  if (isReadableStream(source)) return iterate(source);
  if (typeof (source as AsyncIterable<unknown>)[Symbol.asyncIterator] !== "function") return undefined;
  return isNodeStream(source) ? iterateNode(source) : (source as AsyncIterable<unknown>);
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

/** The iterator of a stream of Node's is a generator. While it waits for the next piece it is ended from outside only. */
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
 * `ReadableStream[Symbol.asyncIterator]` is missing in some browsers. No generator: that could not cancel a stream
 * whose next piece it waits for.
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

/** The body of a response that has none. */
const NOTHING: AsyncIterable<unknown> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};
