import type { FinishReason } from "../../src/stream/events.ts";

/** What the status of an interaction that has ended means: https://ai.google.dev/api/interactions-api (2026-11) */
export const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["completed", "stop"],
  ["requires_action", "tool-use"],
  ["incomplete", "length"],
  ["budget_exceeded", "length"],
  ["requires_continuation", "length"],
]);

/** Whether an interaction with this status goes on no more. */
export function isEnd(status: string | null | undefined): boolean {
  return status === "failed" || status === "cancelled" || FINISH_REASONS.has(status ?? "");
}

/** What there is to say of a status that is no end, or a bad one. */
export function problemOf(status: string): string {
  if (status === "failed") return "The interaction has failed.";
  if (status === "cancelled") return "The interaction has been cancelled.";
  return `The interaction is ${status}: get it again when it has ended.`;
}
