import type { Usage } from "../../src/stream/events.ts";
import { countOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** The total is the server's own; what was read from the cache is a part of the input, wherever a server counts it. */
export function usageOf(raw: WireUsage): Usage {
  return {
    inputTokens: countOf(raw.prompt_tokens),
    outputTokens: countOf(raw.completion_tokens),
    totalTokens: countOf(raw.total_tokens),
    cacheReadTokens: countOf(raw.prompt_tokens_details?.cached_tokens ?? raw.prompt_cache_hit_tokens),
    cacheWriteTokens: countOf(raw.prompt_tokens_details?.cache_write_tokens),
    reasoningTokens: countOf(raw.completion_tokens_details?.reasoning_tokens),
    raw,
  };
}
