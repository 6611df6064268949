import type { FinishReason } from "../../src/stream/events.ts";

/** What a word of the provider's says of the end, or that it is not known. */
export function finishReasonOf(word: string): FinishReason {
  return FINISH_REASONS.get(word) ?? "unknown";
}

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  // The server's loop of server tools was cut short; send the message back as it is and it goes on.
  ["pause_turn", "stop"],
  // Beta: the context was compacted and the request asked to pause then.
  ["compaction", "stop"],
  ["tool_use", "tool-use"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "refusal"],
]);

/** Stop reasons under which the last block may be a part only. */
export const CUT_REASONS: ReadonlySet<unknown> = new Set(["max_tokens", "model_context_window_exceeded"]);
