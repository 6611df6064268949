import type { Usage } from "../../src/stream/events.ts";
import { countOf, sumOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** The counts cover one answer; thoughts, and the prompts of tools that the server ran, are counted separately. */
export function usageOf(raw: WireUsage): Usage | undefined {
  const inputTokens = sumOf(countOf(raw.promptTokenCount), countOf(raw.toolUsePromptTokenCount));
  const reasoningTokens = countOf(raw.thoughtsTokenCount);
  const outputTokens = sumOf(countOf(raw.candidatesTokenCount), reasoningTokens);
  const totalTokens = countOf(raw.totalTokenCount);
  if (inputTokens === undefined && outputTokens === undefined && totalTokens === undefined) return undefined;
  const cacheReadTokens = countOf(raw.cachedContentTokenCount);
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    cacheReadTokens,
    cacheWriteTokens: undefined,
    reasoningTokens,
    raw,
  };
}
