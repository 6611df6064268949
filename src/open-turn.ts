import { isToolError, messageOf, ToolError } from "./errors.ts";
import { objectIn } from "./json/index.ts";
import type {
  Conversation,
  Model,
  ModelOptions,
  ModelRequest,
  ModelTurn,
  ResponseInfo,
  ResponseModelOptions,
} from "./model.ts";
import { lost } from "./read/failures.ts";
import type { TurnStream } from "./read/index.ts";
import { openSource } from "./source.ts";
import { errorText, isObject, textOf } from "./wire/field.ts";

/** What an SDK returns for a request: the stream, and what it exposes of the response. */
export interface Opened<Event> {
  readonly events: AsyncIterable<Event>;
  readonly response?: ResponseInfo | undefined;
  /** For SDKs that report the response with an event. */
  readonly responseOf?: ((event: Event) => ResponseInfo | undefined) | undefined;
}

/** What a client returns for a request: the SDK's own promise, or a plain one if the client is wrapped for tracing. */
export type Requested<Event> =
  | PromiseLike<AsyncIterable<Event>>
  | {
      asResponse?(): Promise<Response>;
      withResponse(): Promise<{
        readonly data: AsyncIterable<Event>;
        readonly response: Response;
        readonly request_id?: unknown;
      }>;
    };

/** The stream, and what is known about the response. */
export async function opened<Event>(
  requested: Requested<Event>,
  { asResponse = false }: ResponseModelOptions = {},
): Promise<Opened<Event>> {
  if (!("withResponse" in requested)) return { events: await requested };
  if (asResponse && requested.asResponse !== undefined) {
    const response = await requested.asResponse();
    const bytes = openSource("model", response).items as AsyncIterable<any>;
    return { events: bytes, response: responseInfo(response.status, response.headers) };
  }
  const { data, response, request_id: id } = await requested.withResponse();
  return { events: data, response: responseInfo(response.status, response.headers, textOf(id)) };
}

/** Sends a request; the signal closes the connection. */
export type Ask<Event> = (signal: AbortSignal) => Promise<Opened<Event>>;

/**
 * A model over the client of an SDK: request -> body -> turn.
 *
 * @param askOf makes the body of a request, which is not sent until the turn's first event is asked for
 */
export function modelOf<Event, Message>(
  adapter: Model<Message>["adapter"],
  conversation: Conversation<Message>,
  { limits, repair }: ModelOptions,
  askOf: (request: ModelRequest<Message>) => Ask<Event>,
): Model<Message> {
  return {
    ...conversation,
    adapter,
    open(request) {
      const ask = askOf(request);
      const { tools = [], signal, runId } = request;
      return openTurn<Event>((source) => adapter.read(source, { tools, signal, runId, limits, repair }), ask);
    },
  };
}

/**
 * A turn whose request is not sent until its first event is asked for.
 *
 * @param read the adapter's `read()`, with its options
 */
export function openTurn<Event>(read: (source: AsyncIterable<Event>) => TurnStream, ask: Ask<Event>): ModelTurn {
  const source = new Asked(ask);
  const stream = read(source);
  Object.defineProperty(stream, SOURCE, { value: source });
  return Object.defineProperty(stream as AskedTurn, "response", response);
}

/** Not enumerable: a copy of a turn gets its `response` instead. */
const SOURCE = Symbol("source");

interface AskedTurn extends ModelTurn {
  readonly [SOURCE]: Asked<any>;
}

/**
 * A property like any other, for code that copies a turn. One function for all: with a getter of its own, V8 keeps each
 * turn as a dictionary, which is slow, and retains what the getter sees until the next full collection.
 */
const response: PropertyDescriptor & ThisType<AskedTurn> = {
  get() {
    return this[SOURCE].response;
  },
  enumerable: true,
};

/** The events of a request that is sent with the first `next()`. */
class Asked<Event> implements AsyncIterable<Event>, AsyncIterator<Event> {
  /** `read()` aborts it when the reader leaves: this closes the connection, even while its answer is awaited. */
  readonly controller = new AbortController();
  response: ResponseInfo | undefined;
  readonly #ask: Ask<Event>;
  #opened: Opened<Event> | undefined;
  #events: AsyncIterator<Event> | undefined;

  constructor(ask: Ask<Event>) {
    this.#ask = ask;
  }

  [Symbol.asyncIterator](): AsyncIterator<Event> {
    return this;
  }

  async next(): Promise<IteratorResult<Event>> {
    const events = (this.#events ??= await this.#open());
    let step: IteratorResult<Event>;
    try {
      step = await events.next();
    } catch (error) {
      // It was not we who gave up, but a time limit of the SDK's (`httpOptions.timeout` of `@google/genai`).
      if (this.controller.signal.aborted || lost(error).code !== "aborted") throw error;
      throw new ToolError(
        "connection_lost",
        `The client gave up before the provider ended the turn: ${wordsOf(error)}`,
        {
          cause: error,
        },
      );
    }
    if (this.response === undefined && step.done !== true) this.response = this.#opened?.responseOf?.(step.value);
    return step;
  }

  async return(): Promise<IteratorResult<Event>> {
    this.controller.abort();
    await this.#events?.return?.();
    return { done: true, value: undefined };
  }

  async #open(): Promise<AsyncIterator<Event>> {
    try {
      this.#opened = await this.#ask(this.controller.signal);
    } catch (error) {
      this.response = errorInfo(error);
      throw refusal(error);
    }
    this.response = this.#opened.response;
    return this.#opened.events[Symbol.asyncIterator]();
  }
}

/** What SDKs attach to the errors that they throw, under all their different names. */
interface SdkError {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly headers?: unknown;
  readonly requestID?: unknown;
  readonly rawResponse?: { readonly headers?: unknown } | null;
  readonly body?: unknown;
  readonly error?: unknown;
}

function refusal(error: unknown): ToolError {
  if (isToolError(error)) return error;
  const status = statusOf(error);
  const message = wordsOf(error);
  if (status !== undefined) {
    const said = message.startsWith(`${status} `) ? message.slice(`${status} `.length) : message;
    return new ToolError("provider_error", `The provider refused the request with status ${status}: ${said}`, {
      cause: error,
    });
  }
  return new ToolError("connection_lost", `The request got no answer: ${message}`, { cause: error });
}

function statusOf(error: unknown): number | undefined {
  const { status, statusCode } = (error ?? {}) as SdkError;
  return [status, statusCode].find((value): value is number => typeof value === "number");
}

/** What the provider said. Some SDKs use the whole body as the message, or keep it as a text beside one of their own. */
function wordsOf(error: unknown): string {
  const { body, error: inner } = (error ?? {}) as SdkError;
  const text = messageOf(error);
  const texts = [textOf(body) ?? "", text].map(objectIn);
  return [body, inner, ...texts].map((value) => (isObject(value) ? errorText(value) : undefined)).find(textOf) ?? text;
}

/** What the error of a refused request exposes of the response. */
function errorInfo(error: unknown): ResponseInfo | undefined {
  const status = statusOf(error);
  if (status === undefined) return undefined;
  const { headers, rawResponse, requestID } = error as SdkError;
  return responseInfo(status, headers ?? rawResponse?.headers, textOf(requestID));
}

/** The headers in which providers send the id of a request. */
const REQUEST_IDS = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "x-goog-request-id",
  "x-amzn-requestid",
  "x-debug-trace-id",
];

/** @param headers a `Headers` or a record of them; anything else counts as none */
export function responseInfo(status: number | undefined, headers: unknown, requestId?: string | null): ResponseInfo {
  const all = Array.from(entriesOf(headers), ([name, value]) => [name.toLowerCase(), value] as const).filter(
    (header): header is [string, string] => typeof header[1] === "string" && header[0] !== "set-cookie",
  );
  const found = REQUEST_IDS.map((id) => all.findLast(([name]) => name === id)).find((header) => header !== undefined);
  return {
    status,
    requestId: requestId ?? found?.[1],
    headers: Object.fromEntries(all),
    rateLimits: Object.fromEntries(all.filter(([name]) => /rate-?limit|^retry-after/.test(name))),
  };
}

function entriesOf(headers: unknown): Iterable<[string, unknown]> {
  if (!isObject(headers)) return [];
  // By shape: SDKs bring their own `Headers`.
  const { entries } = headers as { entries?: unknown };
  return typeof entries === "function" ? (headers as Headers).entries() : Object.entries(headers);
}
