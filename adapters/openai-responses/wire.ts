/**
 * What servers of this wire send, as far as it is read: every field may be missing, `null` or of another type, since
 * others speak OpenAI's wire, too (Azure, LM Studio, DeepSeek, GitHub Copilot, vLLM).
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming (seen 2026-11, and the types of openai 7.59)
 */
export interface WireEvent {
  readonly type?: string | null;
  /** The item's place in the output, which its events have in common. */
  readonly output_index?: number | null;
  /** The item's id, not the call's; on some servers it differs in every event of one item. */
  readonly item_id?: string | null;
  /** Some servers send it instead of the other two: https://github.com/lidge-jun/opencodex/pull/1361 */
  readonly call_id?: string | null;
  readonly item?: WireItem | null;
  readonly content_index?: number | null;
  readonly summary_index?: number | null;
  readonly delta?: unknown;
  /** `response.output_text.done`, `response.reasoning_text.done`, `response.reasoning_summary_text.done` */
  readonly text?: string | null;
  /** `response.refusal.done` */
  readonly refusal?: string | null;
  /** `response.function_call_arguments.done` */
  readonly name?: string | null;
  readonly arguments?: unknown;
  /** `response.custom_tool_call_input.done` */
  readonly input?: string | null;
  readonly response?: WireResponse | null;
  /** `error`, as the API sends it; the reference has its fields on the event itself, as some servers do. */
  readonly error?: WireError | string | null;
  readonly message?: string | null;
  readonly code?: string | number | null;
}

export interface WireResponse {
  readonly object?: string | null;
  readonly id?: string | null;
  readonly model?: string | null;
  readonly status?: string | null;
  readonly error?: WireError | string | null;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
  readonly output?: readonly WireItem[] | null;
  readonly usage?: WireUsage | null;
}

/** One element of the output. Kept whole, since it goes back. */
export interface WireItem {
  readonly type?: string | null;
  readonly id?: string | null;
  /** What a result refers to: not the item's `id`. */
  readonly call_id?: string | null;
  readonly name?: string | null;
  readonly namespace?: string | null;
  /** Who called: `{ type: "program", caller_id }` for a call made by code that runs at the provider. */
  readonly caller?: unknown;
  /** JSON text; for a tool search the parsed value. */
  readonly arguments?: unknown;
  /** For a custom tool: free text. */
  readonly input?: unknown;
  readonly status?: string | null;
  /** For a message or reasoning; plain text on some servers. */
  readonly content?: readonly WirePart[] | string | null;
  /** For reasoning. */
  readonly summary?: readonly WirePart[] | null;
  /** For a tool search: `server` or `client`. */
  readonly execution?: string | null;
  /** For a shell call: `container_reference` runs at the provider, `local` at the client. */
  readonly environment?: { readonly type?: string | null } | null;
  readonly error?: unknown;
  /** The output of what the provider has run, or a result. */
  readonly output?: unknown;
  readonly [key: string]: unknown;
}

export interface WirePart {
  readonly type?: string | null;
  readonly text?: string | null;
  readonly refusal?: string | null;
  readonly [key: string]: unknown;
}

export interface WireError {
  readonly message?: string | null;
  readonly code?: string | number | null;
  readonly type?: string | null;
}

export interface WireUsage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly total_tokens?: number | null;
  readonly input_tokens_details?: {
    readonly cached_tokens?: number | null;
    readonly cache_write_tokens?: number | null;
  } | null;
  readonly output_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}

/** What `read()` takes: an event of any version of the SDK, stable or beta. */
export interface StreamedEvent {
  readonly type: string;
}

/** What `parse()` takes: a response of any version of the SDK, stable or beta. */
export interface WholeResponse {
  readonly object: "response";
  readonly output: readonly { readonly type: string }[];
}

/** The record of a turn from which `assistantMessage()` rebuilds it. */
export interface NativeTurn {
  /** In the order of the output. */
  readonly items: NativeItem[];
}

export interface NativeItem {
  /** Numbered in order of appearance; a call of the turn has it as `metadata.item`. */
  readonly key: number;
  /** As the provider ended it, or as it began if the stream was cut before. */
  readonly item: WireItem;
  /** Whether the provider ended it. */
  readonly done: boolean;
}
