/**
 * What the Interactions API sends, as far as it is read here: only the fields in use, all of them optional. The types of
 * `@google/genai` are assignable to these.
 *
 * Sources: https://ai.google.dev/gemini-api/docs/interactions/streaming, https://ai.google.dev/api/interactions-api
 * (2026-11, `Api-Revision: 2026-05-20`) and the types of `@google/genai` 3.3.0. A stream is:
 *
 * ```
 * interaction.created
 * step.start  { index, step: { type: "function_call", id, name, arguments: {} } }
 * step.delta  { index, delta: { type: "arguments_delta", arguments: "{\"city\":" } }
 * step.stop   { index }
 * interaction.completed  { interaction: { id, status: "requires_action", usage } }
 * ```
 */
export interface WireEvent {
  readonly event_type?: string | undefined;
  /** The place of the step among the steps of its interaction. */
  readonly index?: number | null | undefined;
  readonly step?: WireStep | null | undefined;
  readonly delta?: WireDelta | null | undefined;
  readonly interaction?: WireInteraction | null | undefined;
  readonly error?: unknown;
}

/** The interaction of an event, or a whole one that was not streamed. */
export interface WireInteraction {
  readonly object?: string | undefined;
  readonly id?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly steps?: readonly WireStep[] | null | undefined;
  readonly usage?: WireUsage | null | undefined;
  readonly errors?: unknown;
}

/** One thing that the model or the server did. */
export interface WireStep {
  /** `thought`, `model_output`, `function_call`, and a pair of `…_call` and `…_result` for each tool of the server's. */
  readonly type?: string | undefined;
  readonly id?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly arguments?: unknown;
  /** Of a result: the call it belongs to. */
  readonly call_id?: string | null | undefined;
  readonly result?: unknown;
  readonly is_error?: boolean | null | undefined;
  /** Of `model_output`. */
  readonly content?: readonly WireContent[] | null | undefined;
  /** Of `thought`. */
  readonly summary?: readonly WireContent[] | null | undefined;
  /** Opaque; goes back on the same step. */
  readonly signature?: string | null | undefined;
  /** Of `model_output`: why the model could not go on. */
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

/** Text, or media with `data` or a `uri`. */
export interface WireContent {
  readonly type?: string | undefined;
  readonly text?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** A piece of a step: its type is that of a content, of a step, or one of `arguments_delta`, `thought_summary`, … */
export interface WireDelta {
  readonly type?: string | undefined;
  readonly text?: string | null | undefined;
  /** JSON text of a `function_call`; the whole object of a call that the server runs. */
  readonly arguments?: unknown;
  readonly partial_arguments?: unknown;
  readonly content?: WireContent | null | undefined;
  readonly signature?: string | null | undefined;
  readonly annotations?: readonly unknown[] | null | undefined;
  readonly [field: string]: unknown;
}

export interface WireUsage {
  readonly total_input_tokens?: number | null | undefined;
  readonly total_output_tokens?: number | null | undefined;
  readonly total_thought_tokens?: number | null | undefined;
  readonly total_cached_tokens?: number | null | undefined;
  readonly total_tool_use_tokens?: number | null | undefined;
  readonly total_tokens?: number | null | undefined;
}

/** What `read()` takes: an event of `interactions.create({ stream: true })`, of any version of the SDK. */
export interface StreamedEvent {
  readonly event_type: string;
}

/** What `parse()` takes: an interaction that was not streamed. */
export interface WholeInteraction {
  readonly status: string;
  readonly steps?: readonly { readonly type: string }[] | undefined;
}

/** The record of a turn from which `assistantMessage()` rebuilds it. */
export interface InteractionsNative {
  readonly steps: StepRecord[];
}

export interface StepRecord {
  /** As it came, put together; of a call without its arguments. */
  readonly step: WireStep;
  /** The index of the call, for a call that is the client's. */
  readonly callIndex?: number | undefined;
  /** Whether the provider ended it. */
  done: boolean;
  /** The server has run it. */
  executed?: boolean | undefined;
}
