/**
 * What servers of this wire send, as far as it is read: every field may be missing, `null` or of another type, since
 * many servers speak the wire and few adhere to it.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming (seen 2026-08)
 * @see https://openrouter.ai/docs/api-reference/overview (`reasoning_details`, `native_finish_reason`, errors in chunks)
 * @see https://docs.mistral.ai/capabilities/reasoning (content as a list of parts)
 * @see https://ai.google.dev/gemini-api/docs/openai (`extra_content`)
 */
export interface WireEvent {
  readonly id?: string | null;
  readonly object?: string | null;
  readonly model?: string | null;
  readonly choices?: readonly WireChoice[] | null;
  readonly usage?: WireUsage | null;
  /** Groq, on the last chunk. The error says why the stream was stopped early. */
  readonly x_groq?: { readonly usage?: WireUsage | null; readonly error?: string | null } | null;
  readonly error?: WireError | string | null;
  /** MiniMax: 0 means success. */
  readonly base_resp?: { readonly status_code?: number | null; readonly status_msg?: string | null } | null;
  /** Of an unwrapped error: `{ object: "error", message }` (vLLM, Mistral), `{ message }` after `event: error`. */
  readonly message?: unknown;
  /** The same for FastAPI: text, or a list of `{ loc, msg, type }`. */
  readonly detail?: unknown;
  /** The same for Cloudflare: `[{ code, message }]`. */
  readonly errors?: unknown;
  /** The same for DeepInfra and Venice, beside `error_type`: https://github.com/NousResearch/hermes-agent/issues/65631 */
  readonly error_message?: unknown;
}

export interface WireChoice {
  readonly index?: number | string | null;
  /** In a chunk. */
  readonly delta?: WireMessage | null;
  /** In a response that was not streamed. */
  readonly message?: WireMessage | null;
  readonly finish_reason?: string | null;
  /** OpenRouter: the upstream server's own word. */
  readonly native_finish_reason?: string | null;
  /** OpenRouter, in a response that was not streamed. */
  readonly error?: WireError | string | null;
  /** Moonshot puts it here. */
  readonly usage?: WireUsage | null;
}

export interface WireMessage {
  readonly content?: string | number | readonly WirePart[] | null;
  readonly refusal?: string | null;
  /** DeepSeek, Kimi, Qwen and older vLLM. */
  readonly reasoning_content?: string | WirePart | null;
  /** OpenRouter, Groq, Ollama and newer vLLM. */
  readonly reasoning?: string | null;
  /** Agentgateway, for Claude; it wants it back: https://github.com/agentgateway/agentgateway/pull/2018 */
  readonly reasoning_signature?: string | null;
  /** GitHub Copilot; it wants both back: https://github.com/anomalyco/opencode/issues/4468 */
  readonly reasoning_text?: string | null;
  readonly reasoning_opaque?: string | null;
  /** Merge's gateway; it wants both back: https://docs.merge.dev/merge-gateway/capabilities/reasoning */
  readonly thinking?: string | null;
  readonly thinking_signature?: string | null;
  /** OpenRouter: the same, with signatures and encrypted parts; it wants them back. */
  readonly reasoning_details?: readonly WirePart[] | null;
  /** LiteLLM: thinking with its signature; it wants it back. */
  readonly thinking_blocks?: readonly WirePart[] | null;
  /** A list; TGI streamed a single object (https://github.com/huggingface/text-generation-inference/pull/2949). */
  readonly tool_calls?: readonly WireToolCall[] | WireToolCall | null;
  /** Before `tool_calls` (2023). */
  readonly function_call?: WireFunction | null;
  readonly audio?: { readonly id?: string | null; readonly expires_at?: number | null } | null;
  /**
   * What the model has drawn: OpenRouter and LiteLLM. OpenRouter takes it back, so that the model can change it
   * (`ChatAssistantMessage` of `@openrouter/sdk`).
   */
  readonly images?: readonly WirePart[] | null;
  /** Gemini: whether the content is a thought, and the signature on a message without calls. */
  readonly extra_content?: {
    readonly google?: { readonly thought?: unknown; readonly thought_signature?: unknown } | null;
  } | null;
  /** LiteLLM. */
  readonly provider_specific_fields?: WireResults | null;
}

/** Of calls that were run on MCP servers, or by Anthropic: of these, all so far. */
export interface WireResults {
  readonly mcp_call_results?: readonly (WireResult | null)[] | null;
  readonly web_search_results?: readonly (WireResult | null)[] | null;
  readonly tool_results?: readonly (WireResult | null)[] | null;
}

/** The result of a call that the server has run itself. */
export interface WireResult {
  readonly tool_call_id?: string | null;
  readonly result?: unknown;
  /** The same for Anthropic's. */
  readonly tool_use_id?: string | null;
  readonly content?: unknown;
}

/** One part of a content list or of a reasoning list. Kept whole, since it goes back. */
export interface WirePart {
  readonly type?: string | null;
  readonly index?: number | null;
  readonly id?: string | null;
  readonly text?: string | null;
  /** Databricks: a list of text parts. OpenRouter: text. */
  readonly summary?: string | readonly WirePart[] | null;
  readonly refusal?: string | null;
  /** Mistral: a list of text parts. LiteLLM: text. */
  readonly thinking?: string | readonly WirePart[] | null;
  readonly signature?: string | null;
  readonly [key: string]: unknown;
}

/**
 * The type of calls of a tool built into the server, such as Kimi's `$web_search`: they go back as they came
 * (https://platform.moonshot.ai/docs/guide/use-web-search).
 */
export const BUILTIN = "builtin_function";

/** Some proxies have the name and the arguments here, without `function`: https://github.com/acon96/home-llm/pull/348 */
export interface WireToolCall extends WireFunction {
  readonly index?: number | string | null;
  readonly id?: string | null;
  readonly type?: string | null;
  readonly function?: WireFunction | null;
  readonly custom?: { readonly name?: string | null; readonly input?: string | null } | null;
  /** Gemini: `{ google: { thought_signature } }`. */
  readonly extra_content?: unknown;
}

export interface WireFunction {
  readonly name?: string | null;
  /** JSON text; TGI, Mistral and some proxies send the parsed value. */
  readonly arguments?: unknown;
}

export interface WireUsage {
  readonly prompt_tokens?: number | null;
  readonly completion_tokens?: number | null;
  readonly total_tokens?: number | null;
  /** mlx-vlm: https://github.com/earendil-works/pi/issues/2326 */
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly prompt_tokens_details?: {
    readonly cached_tokens?: number | null;
    readonly cache_write_tokens?: number | null;
  } | null;
  /** DeepSeek: https://api-docs.deepseek.com/guides/kv_cache */
  readonly prompt_cache_hit_tokens?: number | null;
  /** Kimi: https://platform.kimi.ai/docs/api/chat */
  readonly cached_tokens?: number | null;
  /** Mistral: https://github.com/vercel/ai/issues/14382 */
  readonly num_cached_tokens?: number | null;
  /** LiteLLM: https://docs.litellm.ai/docs/completion/prompt_caching */
  readonly cache_creation_input_tokens?: number | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}

export interface WireError {
  readonly message?: string | null;
  readonly code?: string | number | null;
  readonly type?: string | null;
  /** OpenRouter: the error of the server behind it. */
  readonly metadata?: { readonly raw?: unknown } | null;
  /** Groq, with the code `tool_use_failed`: what the model wrote. */
  readonly failed_generation?: string | null;
  /** llama-box and some gateways wrap the error once more. */
  readonly error?: WireError | string | null;
  /** llama-box, FastAPI. */
  readonly detail?: unknown;
  /** In FastAPI's list. */
  readonly msg?: string | null;
  /** Cloudflare. */
  readonly errors?: unknown;
}

/**
 * The record of a message from which `assistantMessage()` rebuilds what the turn itself does not have. It has only the
 * fields that came, under the names under which they came: a server accepts what it sent.
 */
export interface NativeMessage {
  reasoning_content?: string;
  reasoning?: string;
  reasoning_text?: string;
  reasoning_opaque?: string;
  reasoning_signature?: string;
  thinking?: string;
  thinking_signature?: string;
  reasoning_details?: WirePart[];
  thinking_blocks?: WirePart[];
  /** The content, if it came as a list of parts. */
  content?: WirePart[];
  extra_content?: unknown;
  audio?: { id: string };
  images?: WirePart[];
  native_finish_reason?: string;
}

/** Servers differ in which of these they have; some have two, with the same text. */
export const REASONING_TEXTS = ["reasoning_content", "reasoning", "reasoning_text", "thinking"] as const;
export const REASONING_SEALS = ["reasoning_opaque", "reasoning_signature", "thinking_signature"] as const;
export const REASONING_PARTS = ["reasoning_details", "thinking_blocks"] as const;
export const REASONING = [...REASONING_TEXTS, ...REASONING_SEALS, ...REASONING_PARTS] as const;
