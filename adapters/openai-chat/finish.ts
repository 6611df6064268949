import type { FinishReason } from "../../src/stream/events.ts";
import { finishReasons } from "../../src/stream/finish-reason.ts";

/** If there is a colon, the word ends there: Gemini names the filter after it. */
export function finishReasonOf(word: string): FinishReason {
  const colon = word.indexOf(":");
  return reasonOf((colon < 0 ? word : word.slice(0, colon)).toLowerCase());
}

const reasonOf = finishReasons({
  stop: "stop",
  tool_calls: "tool-use",
  function_call: "tool-use",
  length: "length",
  content_filter: "content-filter",
  error: "error", // Mistral, OpenRouter
  // Words of other wires and engines that servers pass through:
  eos_token: "stop", // TGI
  eos: "stop", // Together: https://github.com/openai/openai-dotnet/pull/267
  end: "stop", // https://github.com/earendil-works/pi/issues/2107
  complete: "stop", // Cohere behind gateways
  tool_call: "tool-use", // Cohere behind gateways
  stop_sequence: "stop", // TGI, Anthropic behind gateways
  end_turn: "stop", // Anthropic behind gateways
  tool_use: "tool-use", // Anthropic behind gateways
  max_tokens: "length", // Anthropic and Gemini behind gateways
  model_length: "length", // Mistral
  model_context_window_exceeded: "length", // GLM, Anthropic behind gateways
  sensitive: "content-filter", // GLM
  safety: "content-filter", // Gemini behind gateways
  refusal: "refusal", // Anthropic behind gateways
  function_call_filter: "error", // Gemini's own endpoint
  network_error: "error", // GLM
  insufficient_system_resource: "error", // DeepSeek
  abort: "error", // vLLM, SGLang
});

/** The word for a call that the provider dropped, if one of these contains it. */
export function droppedCall(word: string, native: string | undefined): string | undefined {
  return DROPPED_CALL.exec(word)?.[0] ?? DROPPED_CALL.exec(native ?? "")?.[0];
}

/** Gemini did not deliver its model's call; behind a gateway only the native word may say so. */
const DROPPED_CALL = /MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL/;
/** Worded so that it can be shown to the model, too. */
export const CALL_DROPPED =
  "The call could not be read and was dropped. Call the tool again, with arguments that fit its schema.";
