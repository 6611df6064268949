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
});

/**
 * Stop reasons after which the last block may be partial. A refusal, too, can interrupt what the model is writing:
 * https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
 */
export const CUT_REASONS: ReadonlySet<unknown> = new Set(["max_tokens", "model_context_window_exceeded", "refusal"]);
