import type { Usage } from "../../src/stream/events.ts";
import { countOf } from "../../src/wire/field.ts";
import type { WireUsage } from "./wire.ts";

/** The counts cover one answer; thoughts, and the prompts of tools that the server ran, are counted separately. */
export function usageOf(raw: WireUsage): Usage | undefined {
  const inputTokens = sum(countOf(raw.promptTokenCount), countOf(raw.toolUsePromptTokenCount));
  const reasoningTokens = countOf(raw.thoughtsTokenCount);
  const outputTokens = sum(countOf(raw.candidatesTokenCount), reasoningTokens);
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

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
