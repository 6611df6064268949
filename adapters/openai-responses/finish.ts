import { countOf, errorText, textOf } from "../../src/wire/field.ts";
import type { WireError, WireResponse } from "./wire.ts";

/**
 * How a response ended. The name of the event says it, except for `response.done`, which covers every end, and for
 * servers that send `response.completed` for every end (https://github.com/raullenchai/Rapid-MLX/pull/866).
 */
export function statusOf(response: WireResponse, type: string): string {
  const status = textOf(response.status);
  if (type === "response.completed" && UNFINISHED.has(status)) return status!;
  if (type !== "response.done") return type.slice("response.".length);
  // What gateways call a response with calls: https://github.com/justlovemaki/AIClient2API/pull/472
  if (status !== undefined) return status === "requires_action" ? "completed" : status;
  if (response.error) return "failed";
  return response.incomplete_details?.reason ? "incomplete" : "completed";
}

const UNFINISHED: ReadonlySet<unknown> = new Set(["incomplete", "failed", "cancelled"]);

/** The provider's report of a failure, in one line. */
export function errorMessage(error: WireError | string | null | undefined): string {
  const { code: said, type } = (error ?? {}) as WireError;
  const code = countOf(said) ?? textOf(said) ?? textOf(type);
  const message = errorText(error);
  if (!message) return code ? `The provider reported ${code}.` : "The provider reported an error without a message.";
  return code && code !== "error" ? `${code}: ${message}` : message;
}
