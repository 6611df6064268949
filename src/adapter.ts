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

/** What a wire can do; what it can not is `false`. */
export interface AdapterCapabilities {
  /** Arguments come in pieces. */
  readonly streamsInput: boolean;
  /** Every call has an id of the provider's. */
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
 * What a parser says, one call an item, in the order of the wire. Nothing is allocated for it but the ToolChunk.
 *
 * ```
 * event of the provider  ->  parser.push(event)  ->  sink.text("Hel") / sink.tool(chunk) / sink.finish("stop", "end_turn")
 * ```
 */
export interface ParserSink {
  start(responseId: string | undefined, model: string | undefined): void;
  text(delta: string): void;
  reasoning(delta: string): void;
  refusal(delta: string): void;
  tool(chunk: ToolChunk): void;
  /**
   * The same as `tool({ turnIndex, callIndex, argsTextDelta })`, for which no chunk has to be made. A sink may be without
   * it: parsers that do not ask whether it is there say everything by `tool`.
   */
  toolDelta?(turnIndex: number | undefined, callIndex: number | undefined, argsTextDelta: string): void;
  providerTool(call: ProviderToolCall): void;
  usage(usage: Usage): void;
  /** The provider's word for the end. More may follow (usage, an error); the last word counts, a known one before `unknown`. */
  finish(reason: FinishReason, providerReason: string | null, message?: string): void;
  /** The provider's terminal event: nothing more of this turn will come. Without `finish` or `terminal` a stream was cut. */
  terminal(): void;
  /** The turn has failed. */
  fail(error: ToolError): void;
}

/** Turns the events of one stream into what {@link ParserSink} takes. Synchronous; one instance a stream. */
export interface Parser<Event> {
  /** One event of the stream, or a whole response that was not streamed. Unknown events are passed over. */
  push(event: Event): void;
  /**
   * What is known of the events of this wire: one `new Templates(deltaOf)` for all of its parsers. `deltaOf` says what an
   * event is a piece of, if it is nothing but a piece of text or of one call's arguments. Most of a stream is such events,
   * alike but for the piece: they are read by {@link Delta.push}, and not made.
   */
  readonly templates?: Templates;
  /** The stream is over. */
  end(): void;
  /**
   * SDKs throw when the provider sends an error. The event that their error was made of, so that it is read as any
   * other; `undefined` for an error that was made of none.
   */
  thrown?(error: unknown): Event | undefined;
  /** The record from which `assistantMessage()` rebuilds the message: plain JSON, complete after `end()`. */
  readonly native: unknown;
}

/** How the provider's HTTP endpoint looks from outside: for the replay server. */
export interface Endpoint {
  /** Whether a request is one of this wire, and asks for a stream or for a whole response. */
  match(request: EndpointRequest): "stream" | "whole" | undefined;
  /** What a stream is made of, so that the recorded events of an SDK are served as it. Left out: they are served as kept. */
  readonly streams?: "sse";
  /** The body of an error answer, in the provider's form. */
  errorBody(status: number, message: string): unknown;
}

export interface EndpointRequest {
  readonly method: string;
  /** Path without the server's own prefix, for example `/v1/messages`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON body; `undefined` if it is none. */
  readonly body: unknown;
}

/**
 * What the events may come from: an SDK's async iterable, bytes, or a fetch `Response`. Where an SDK hands out the
 * `Response` (`asResponse()`), that is read in a fraction of the time that its events take.
 */
export type EventSource<Event> =
  | AsyncIterable<Event>
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>
  | Response;

/**
 * Everything one wire format needs: tools out, deltas in, results back.
 * `Event` and `Response` are what the provider sends, `ToolParam` and `Message` what its request takes.
 */
export interface Adapter<Event = any, Response = any, ToolParam = any, Message = any> {
  readonly name: string;
  readonly capabilities: AdapterCapabilities;
  /** The name under which this provider knows a tool: what its charset refuses is mapped, and mapped back on the way in. */
  toolName(name: string): string;
  /**
   * The tools as the request takes them.
   * @throws ToolError `schema_loss` with `onLoss: "throw"`; `duplicate_tool` when two names map to one
   */
  tools(tools: ToolSource, options?: ToolsOptions): ToolParam[];
  /** The request fields that say which tools may be called; spread them into the request. */
  toolChoice(choice: ToolChoice, options?: { readonly parallel?: boolean | undefined }): Record<string, unknown>;
  parser(sink: ParserSink): Parser<Event | Response>;
  /** Reads a stream. Failures arrive as the last event; misuse throws a `TypeError` at once. */
  read(source: EventSource<Event>, options?: ReadOptions): TurnStream;
  /** The same for a response that was not streamed. */
  parse(response: Response, options?: ReadOptions): StreamEvent[];
  /** What must go back into the history, lossless: signatures, reasoning and ids as they came. */
  assistantMessage(turn: Turn): Message[];
  /** The result of one call. `output` is a string as it is, anything else as JSON. */
  toolResult(use: ToolUse, output: unknown): Message;
  /** What the model hears of a call that did not happen or failed. */
  toolError(error: ToolCallError): Message;
  /** One result for every call of a finished turn, in call order, from what was executed: put it after `assistantMessage(turn)`. */
  toolResults(turn: Turn): Message[];
  /** Whether an event or a response looks like one of this wire. */
  recognises(event: unknown): boolean;
  readonly endpoint: Endpoint;
}

/** Checks an adapter against the contract and keeps its exact types. */
export function defineAdapter<const A extends Adapter>(adapter: A): A {
  return adapter;
}
