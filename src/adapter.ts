import type { ToolCallError, ToolError } from "./errors.ts";
import type { ReadOptions, TurnStream } from "./read/index.ts";
import type { ToolChunk } from "./stream/chunk.ts";
import type { FinishReason, ProviderToolCall, StreamEvent, Turn, Usage } from "./stream/events.ts";
import type { ToolsOptions } from "./tool/lower-tools.ts";
import type { ToolSource } from "./tool/tool-set.ts";
import type { ToolUse } from "./tool/use.ts";
import type { ToolChoice } from "./tool/choice.ts";
import type { Templates } from "./wire/index.ts";

export type { ToolsOptions } from "./tool/lower-tools.ts";

/** What a wire can do; what it cannot is `false`. */
export interface AdapterCapabilities {
  /** Arguments come in pieces. */
  readonly streamsInput: boolean;
  /** Every call has an id from the provider. */
  readonly wireIds: boolean;
  /** Several calls in one turn. */
  readonly parallelCalls: boolean;
  /** A strict mode in which the provider holds the model to the schema. */
  readonly strict: boolean;
  /** Tool results may hold images. */
  readonly imagesInResults: boolean;
  /** Tool results have an error flag of their own. */
  readonly errorFlag: boolean;
}

/**
 * What a parser reports, item by item, in the order of the wire. Nothing is allocated for it except the ToolChunk.
 *
 * ```
 * provider event  ->  parser.push(event)  ->  sink.text("Hel") / sink.tool(chunk) / sink.finish("stop", "end_turn")
 * ```
 */
export interface ParserSink {
  start(responseId: string | undefined, model: string | undefined): void;
  text(delta: string): void;
  reasoning(delta: string): void;
  refusal(delta: string): void;
  tool(chunk: ToolChunk): void;
  /**
   * The same as `tool({ turnIndex, callIndex, argsTextDelta })`, without allocating a chunk. Optional for sinks:
   * parsers that do not check for it report everything with `tool`.
   */
  toolDelta?(turnIndex: number | undefined, callIndex: number | undefined, argsTextDelta: string): void;
  providerTool(call: ProviderToolCall): void;
  usage(usage: Usage): void;
  /** The provider's word for the end. More may follow (usage, an error). The last word counts, except for `unknown`. */
  finish(reason: FinishReason, providerReason: string | null, message?: string): void;
  /** The provider's terminal event: the turn has nothing more. A stream without `finish` or `terminal` was cut. */
  terminal(): void;
  /** The turn has failed. */
  fail(error: ToolError): void;
}

/** Turns the events of one stream into calls of a {@link ParserSink}. Synchronous; one instance per stream. */
export interface Parser<Event> {
  /** One event of the stream, or a whole response that was not streamed. Unknown events are skipped. */
  push(event: Event): void;
  /**
   * What is known about the events of this wire: one `new Templates(deltaOf)` for all of its parsers. `deltaOf` says
   * what an event is a piece of, if it is only a piece of text or of one call's arguments. Most of a stream is such
   * events, alike except for the piece: they are read by {@link Delta.push}, without building the event.
   */
  readonly templates?: Templates;
  /** The stream is over. */
  end(): void;
  /** The stream was cut off or aborted: reports what was held back, as far as it has come. {@link Parser.end} follows. */
  cut?(): void;
  /**
   * SDKs throw when the provider sends an error. Returns the event from which they made that error, so that it is read
   * like any other; `undefined` for an error without one.
   */
  thrown?(error: unknown): unknown;
  /** The record from which `assistantMessage()` rebuilds the message: plain JSON, complete after `end()`. */
  readonly native: unknown;
}

/** The provider's HTTP endpoint as seen from outside: for the replay server. */
export interface Endpoint {
  /** Whether a request belongs to this wire, and whether it asks for a stream or for a whole response. */
  match(request: EndpointRequest): "stream" | "whole" | undefined;
  /** The format of a stream, in which recorded events of an SDK are served. If omitted, they are served as recorded. */
  readonly streams?: "sse";
  /** The body of an error response, in the provider's form. */
  errorBody(status: number, message: string): unknown;
}

export interface EndpointRequest {
  readonly method: string;
  /** Path without the server's own prefix, for example `/v1/messages`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON body; `undefined` if it is not JSON. */
  readonly body: unknown;
}

/**
 * Where the events may come from: an SDK's async iterable, bytes, or a fetch `Response`. If an SDK exposes the
 * `Response` (`asResponse()`), reading that takes a fraction of the time that its events take.
 */
export type StreamSource<Event> =
  | AsyncIterable<Event>
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>
  | Response;

/**
 * Everything one wire format needs: tools out, deltas in, results back.
 * `Event` and `Response` are what the provider sends, `ToolParam` and `Message` what its request takes.
 */
export interface Adapter<Event = any, Response = any, ToolParam = any, Message = any> {
  /** `openai-chat`, `anthropic`, …: the `wire` of its turns. */
  readonly name: string;
  readonly capabilities: AdapterCapabilities;
  /**
   * The name under which this provider knows a tool: characters it rejects are mapped, and back on the way in. A pure
   * function, called without `this`.
   */
  readonly toolName: (name: string) => string;
  /**
   * Matches a name as this provider's models also write it, with what they were trained to put around it (`functions.f`);
   * the first group is the tool's name. It counts where no tool has all of the name. Without the flags `g` and `y`.
   */
  readonly namespaced?: RegExp | undefined;
  /**
   * Whether every call of this wire has an id of its own, or what the ids look like that are: a call with the id, the
   * name and the arguments of an earlier one then is that call again, sent twice, and is withdrawn. A pattern is without
   * the flags `g` and `y`. Default false.
   */
  readonly uniqueIds?: boolean | RegExp | undefined;
  /**
   * The tools in the form the request takes.
   * @throws ToolError `schema_loss` with `onLoss: "throw"`; `duplicate_tool` when two names map to one
   */
  tools(tools: ToolSource, options?: ToolsOptions): ToolParam[];
  /** The request fields that say which tools may be called: spread them into the request. */
  toolChoice(choice: ToolChoice, options?: { readonly parallel?: boolean | undefined }): Record<string, unknown>;
  /** A parser of one stream, or of one response that was not streamed: what {@link Adapter.read} is made of. */
  parser(sink: ParserSink): Parser<Event | Response>;
  /** Reads a stream. Failures arrive as the last event; misuse throws a `TypeError` immediately. */
  read(source: StreamSource<Event>, options?: ReadOptions): TurnStream;
  /** The same for a response that was not streamed. */
  parse(response: Response, options?: ReadOptions): StreamEvent[];
  /** What must go back into the history, losslessly: signatures, reasoning and ids as they came. */
  assistantMessage(turn: Turn): Message[];
  /**
   * The result of one call. A string `output` is sent as it is, anything else as JSON.
   *
   * @throws TypeError where it holds a promise, or what else JSON would keep nothing of (a Response, a Map), or bytes
   */
  toolResult(use: ToolUse, output: unknown): Message;
  /** What the model is told about a call that was not executed or failed. */
  toolError(error: ToolCallError): Message;
  /** One result for every call of a finished turn, in call order: add them after `assistantMessage(turn)`. */
  toolResults(turn: Turn): Message[];
  /** Whether an event or a response looks like one of this wire. */
  recognizes(event: unknown): boolean;
  /** For the replay server and the recording proxy. */
  readonly endpoint: Endpoint;
}

/**
 * Checks an adapter against the contract and keeps its exact types. Let its members be constants or methods: of an
 * exported function the compiler writes `typeof` and a file, which no other package can name.
 */
export function defineAdapter<const A extends Adapter>(adapter: A): A {
  return adapter;
}
