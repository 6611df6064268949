import type { FinishReason } from "../../src/stream/events.ts";
import { finishReasons } from "../../src/stream/finish-reason.ts";

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
export const finishReasonOf = finishReasons({
  end_turn: "stop",
  stop_sequence: "stop",
  // The server's own tool loop was cut short: send the message back as it is and the loop continues.
  pause_turn: "stop",
  // Beta: the context was compacted, and the request asked for a pause at that point.
  compaction: "stop",
  tool_use: "tool-use",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
  // Chat Completions' words: gateways translate only some (service/convert.go of https://github.com/QuantumNous/new-api).
  stop: "stop",
  tool_calls: "tool-use",
  function_call: "tool-use",
  length: "length",
  content_filter: "content-filter",
});

/**
 * Whether the last block may be partial. A refusal, too, can interrupt what the model is writing:
 * https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
 */
export function isCut(stopReason: string | null | undefined): boolean {
  return CUTS.has(finishReasonOf(stopReason ?? ""));
}

const CUTS: ReadonlySet<FinishReason> = new Set(["length", "refusal", "content-filter"]);
