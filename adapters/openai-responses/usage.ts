import type { Usage } from "../../src/stream/events.ts";
import { countOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** The total is the provider's own; cached tokens are part of the input. */
export function usageOf(raw: WireUsage): Usage {
  return {
    inputTokens: countOf(raw.input_tokens),
    outputTokens: countOf(raw.output_tokens),
    totalTokens: countOf(raw.total_tokens),
    cacheReadTokens: countOf(raw.input_tokens_details?.cached_tokens),
    cacheWriteTokens: countOf(raw.input_tokens_details?.cache_write_tokens),
    reasoningTokens: countOf(raw.output_tokens_details?.reasoning_tokens),
    raw,
  };
}
