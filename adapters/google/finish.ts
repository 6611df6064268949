import { finishReasons } from "../../src/stream/finish-reason.ts";

/** Finish reasons of https://ai.google.dev/api/generate-content#FinishReason, and some seen only on the wire. */
export const finishReasonOf = finishReasons({
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "content-filter",
  RECITATION: "content-filter",
  LANGUAGE: "content-filter",
  BLOCKLIST: "content-filter",
  PROHIBITED_CONTENT: "content-filter",
  SPII: "content-filter",
  MODEL_ARMOR: "content-filter",
  ESCALATION: "content-filter",
  IMAGE_SAFETY: "content-filter",
  IMAGE_PROHIBITED_CONTENT: "content-filter",
  IMAGE_RECITATION: "content-filter",
  IMAGE_OTHER: "content-filter",
  NO_IMAGE: "error",
  MALFORMED_FUNCTION_CALL: "error",
  UNEXPECTED_TOOL_CALL: "error",
  TOO_MANY_TOOL_CALLS: "error",
  MISSING_THOUGHT_SIGNATURE: "error",
  MALFORMED_RESPONSE: "error",
  PUP_LIMITED_DISABLED: "error",
});

/** The provider's message about the end, after what can be done about it. */
export function finishMessageOf(word: string, message: string | undefined): string | undefined {
  const correction = CORRECTIONS.get(word);
  if (correction === undefined) return message;
  return message ? `${correction} (${message})` : correction;
}

/** What to do about it, worded so that it can be shown to the model, too. */
const CORRECTIONS: ReadonlyMap<string, string> = new Map([
  [
    "MALFORMED_FUNCTION_CALL",
    "The function call was malformed and was dropped. Call the function again, with arguments that fit its declaration.",
  ],
  [
    "UNEXPECTED_TOOL_CALL",
    "A function was called that was not declared, or may not be called now. Call only declared functions, or answer in text.",
  ],
  ["TOO_MANY_TOOL_CALLS", "Too many functions were called in a row. Answer with what is known, or call fewer."],
  [
    "MISSING_THOUGHT_SIGNATURE",
    "The history lacks a thought signature: send every part of an answer back as it came, with its thoughtSignature.",
  ],
  ["MALFORMED_RESPONSE", "The answer was malformed and was dropped. Answer again."],
  ["PUP_LIMITED_DISABLED", "The account is limited or disabled: Google found that it broke the Prohibited Use Policy."],
]);
