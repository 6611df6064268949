import type { FinishReason } from "../../src/stream/events.ts";

/** What a word of the provider's says of the end, or that it is not known. */
export function finishReasonOf(word: string): FinishReason {
  return FINISH_REASONS.get(word) ?? "unknown";
}

/** https://docs.cohere.com/v2/reference/chat#response.body.finish_reason; the last two are older words for others. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop"],
  ["MAX_TOKENS", "length"],
  ["TOOL_CALL", "tool-use"],
  ["ERROR", "error"],
  ["TIMEOUT", "error"],
  ["ERROR_TOXIC", "content-filter"],
  ["ERROR_LIMIT", "length"],
]);
