import type { Usage } from "../../src/stream/events.ts";
import { countOf, sumOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** Thoughts, and the prompts of tools that the server ran, are counted separately. */
export function usageOf(raw: WireUsage): Usage {
  const reasoningTokens = countOf(raw.total_thought_tokens);
  return {
    inputTokens: sumOf(countOf(raw.total_input_tokens), countOf(raw.total_tool_use_tokens)),
    outputTokens: sumOf(countOf(raw.total_output_tokens), reasoningTokens),
    totalTokens: countOf(raw.total_tokens),
    cacheReadTokens: countOf(raw.total_cached_tokens),
    cacheWriteTokens: undefined,
    reasoningTokens,
    raw,
  };
}

/** The counts of an answer that came in several interactions, one continuing the other. */
export function addedUsage(earlier: WireUsage | undefined, last: WireUsage): WireUsage {
  const all: Record<string, unknown> = { ...last };
  for (const [name, count] of Object.entries(earlier ?? {}))
    if (typeof count === "number") all[name] = count + (countOf(all[name]) ?? 0);
  return all;
}
