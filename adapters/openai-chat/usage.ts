import type { Usage } from "../../src/stream/events.ts";
import { countOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** The total is the server's own; cached tokens are part of the input, whichever field a server counts them in. */
export function usageOf(raw: WireUsage): Usage {
  const inputTokens = countOf(raw.prompt_tokens ?? raw.input_tokens);
  const completionTokens = countOf(raw.completion_tokens ?? raw.output_tokens);
  const totalTokens = countOf(raw.total_tokens);
  const reasoningTokens = countOf(raw.completion_tokens_details?.reasoning_tokens);
  // xAI does not include reasoning in the completion tokens: https://github.com/vercel/ai/pull/12425
  const thoughtsApart =
    completionTokens !== undefined &&
    reasoningTokens !== undefined &&
    totalTokens === (inputTokens ?? 0) + completionTokens + reasoningTokens;
  return {
    inputTokens,
    outputTokens: thoughtsApart ? completionTokens + reasoningTokens : completionTokens,
    totalTokens,
    cacheReadTokens: countOf(
      raw.prompt_tokens_details?.cached_tokens ??
        raw.prompt_cache_hit_tokens ??
        raw.cached_tokens ??
        raw.num_cached_tokens,
    ),
    cacheWriteTokens: countOf(raw.prompt_tokens_details?.cache_write_tokens ?? raw.cache_creation_input_tokens),
    reasoningTokens,
    raw,
  };
}
