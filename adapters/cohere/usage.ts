import type { Usage } from "../../src/stream/events.ts";
import { countOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** Actual tokens are preferred to billed ones. The provider sends no total. */
export function usageOf(raw: WireUsage): Usage {
  const tokens = raw.tokens ?? raw.billed_units ?? raw.billedUnits;
  const inputTokens = countOf(tokens?.input_tokens ?? tokens?.inputTokens);
  const outputTokens = countOf(tokens?.output_tokens ?? tokens?.outputTokens);
  const totalTokens = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    cacheReadTokens: countOf(raw.cached_tokens ?? raw.cachedTokens),
    cacheWriteTokens: undefined,
    reasoningTokens: undefined,
    raw,
  };
}
