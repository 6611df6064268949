import type { Usage } from "../../src/stream/events.ts";
import { countOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** `input_tokens` excludes cache reads and writes; the total is the sum of the three. */
export function usageOf(raw: WireUsage): Usage {
  const fresh = countOf(raw.input_tokens);
  const cacheReadTokens = countOf(raw.cache_read_input_tokens);
  const cacheWriteTokens = countOf(raw.cache_creation_input_tokens);
  const inputTokens = fresh === undefined ? undefined : fresh + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = countOf(raw.output_tokens);
  const totalTokens = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  const reasoningTokens = countOf(raw.output_tokens_details?.thinking_tokens);
  return { inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, raw };
}
