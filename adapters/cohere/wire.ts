/**
 * What Cohere's v2 chat sends, as far as it is read here: https://docs.cohere.com/v2/docs/streaming and the types of
 * `cohere-ai` 8.1, seen 2026-11.
 *
 * The wire has `tool_calls`, the SDK's objects have `toolCalls`; both are read. The SDK's `V2ChatStreamResponse` and
 * `V2ChatResponse` are assignable to {@link WireEvent}.
 */

/** One event of a stream or, without `type`, a whole response or the body of an error. */
export interface WireEvent {
  /** `message-start`, `content-start`, ..., `message-end`; other events are skipped. */
  readonly type?: string | null | undefined;
  /** The id of the response: on `message-start` and whole responses. */
  readonly id?: string | null | undefined;
  /** The index of the content block or of the call: two counts, each from 0. */
  readonly index?: number | null | undefined;
  readonly delta?: WireDelta | null | undefined;
  /** A whole response has its message here, an error its text. */
  readonly message?: WireMessage | string | null | undefined;
  readonly error?: unknown;
  readonly finish_reason?: string | null | undefined;
  readonly finishReason?: string | null | undefined;
  readonly usage?: WireUsage | null | undefined;
}

export interface WireDelta {
  readonly message?: WireMessage | null | undefined;
  /** These come with `message-end`. */
  readonly finish_reason?: string | null | undefined;
  readonly finishReason?: string | null | undefined;
  readonly usage?: WireUsage | null | undefined;
  /** Text; a gateway may put an object here. */
  readonly error?: unknown;
}

/** The message of a whole response, or what one event adds to it. */
export interface WireMessage {
  readonly role?: string | null | undefined;
  readonly tool_plan?: string | null | undefined;
  readonly toolPlan?: string | null | undefined;
  /** A single object in an event, a list in a whole response. */
  readonly tool_calls?: OneOrMany<WireToolCall>;
  readonly toolCalls?: OneOrMany<WireToolCall>;
  readonly content?: OneOrMany<WireContent> | string;
  readonly citations?: OneOrMany<WireCitation>;
}

export type OneOrMany<T> = T | readonly T[] | null | undefined;

export interface WireToolCall {
  /** Only at the start of a call. */
  readonly id?: string | null | undefined;
  readonly type?: string | null | undefined;
  readonly function?: WireFunction | null | undefined;
}

export interface WireFunction {
  readonly name?: string | null | undefined;
  /** JSON text; `"null"`, `null` or missing for a call without arguments. Some servers send the object itself. */
  readonly arguments?: unknown;
}

export interface WireContent {
  readonly type?: string | null | undefined;
  readonly text?: string | null | undefined;
  readonly thinking?: string | null | undefined;
}

/** Goes back as it came, in the SDK's spelling. */
export type WireCitation = object;

export interface WireUsage {
  readonly tokens?: WireTokens | null | undefined;
  readonly billed_units?: WireTokens | null | undefined;
  readonly billedUnits?: WireTokens | null | undefined;
  readonly cached_tokens?: number | null | undefined;
  readonly cachedTokens?: number | null | undefined;
}

export interface WireTokens {
  readonly input_tokens?: number | null | undefined;
  readonly inputTokens?: number | null | undefined;
  readonly output_tokens?: number | null | undefined;
  readonly outputTokens?: number | null | undefined;
}

/** The parser's record of what `assistantMessage()` cannot take from the turn itself. Plain JSON. */
export interface CohereNative {
  /** What the model wrote about the calls that it was about to make. Empty if it wrote nothing. */
  readonly toolPlan: string;
  /** Text and thinking in order, without empty blocks. */
  readonly content: readonly CohereContent[];
  readonly citations: readonly object[];
}

export type CohereContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string };
