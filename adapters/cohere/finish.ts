import { finishReasons } from "../../src/stream/finish-reason.ts";

/** https://docs.cohere.com/v2/reference/chat#response.body.finish_reason; the last two are older names. */
export const finishReasonOf = finishReasons({
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool-use",
  ERROR: "error",
  TIMEOUT: "error",
  ERROR_TOXIC: "content-filter",
  ERROR_LIMIT: "length",
});
