import { ToolCallError, type ToolErrorCode } from "../errors.ts";
import type { ToolCall } from "../stream/call.ts";
import type { FinishReason, Turn } from "../stream/events.ts";
import { checkTurn } from "../stream/history.ts";
import { ToolUse, type Repair } from "../tool/use.ts";

/** How a call ended, in one word. */
export type CallStatus = "complete" | "truncated" | "invalid" | "unknown-tool" | "too-large" | "rejected";

/** A call as plain JSON. */
export interface CallSummary {
  /** The provider's id; `null` if the wire gave none. */
  readonly id: string | null;
  readonly name: string | null;
  /** Validated for a complete call, else as far as it could be read; `null` if nothing could. */
  readonly input: unknown;
  readonly argsText: string;
  readonly status: CallStatus;
  /** Whether it was handed out for execution. */
  readonly released: boolean;
  readonly repairs: readonly Repair[];
  readonly error: { readonly code: ToolErrorCode; readonly message: string } | null;
}

/** A turn as plain JSON: what `toolstream replay --json` prints, and what the fixtures expect. */
export interface TurnSummary {
  readonly wire: string;
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  /** `error` when the turn failed before the provider gave a reason; `null` while it goes on, and of an unread file. */
  readonly finishReason: FinishReason | null;
  /** The provider's own word; `null` if it gave none. */
  readonly providerFinishReason: string | null;
  readonly toolCalls: readonly CallSummary[];
  readonly providerToolCalls: readonly { readonly id: string | null; readonly name: string }[];
  readonly error: { readonly code: ToolErrorCode; readonly message: string } | null;
}

/** Sums up a finished turn. */
export function summarize(turn: Turn): TurnSummary {
  checkTurn(turn);
  const { wire, text, reasoning, refusal, finishReason, providerFinishReason, error } = turn;
  return {
    wire,
    text,
    reasoning,
    refusal,
    finishReason: finishReason ?? null,
    providerFinishReason,
    toolCalls: turn.calls.map(summarizeCall),
    providerToolCalls: turn.providerToolCalls
      .filter((call) => call.executedBy === "provider")
      .map(({ id, name }) => ({ id, name })),
    error: error === undefined ? null : { code: error.code, message: error.message },
  };
}

function summarizeCall(call: ToolCall): CallSummary {
  const { outcome } = call;
  const error = outcome instanceof ToolCallError ? outcome : undefined;
  const input = outcome instanceof ToolUse ? outcome.input : error?.call.input;
  return {
    id: call.id,
    name: call.name,
    input: input === undefined ? null : input,
    argsText: call.argsText,
    // A complete call that was not released counts as complete: its error says why it did not run.
    status: error === undefined ? "complete" : (STATUS[error.code] ?? "invalid"),
    released: call.released,
    repairs: call.repairs,
    error: error === undefined ? null : { code: error.code, message: error.message },
  };
}

/** Any other code says that the call is invalid. */
const STATUS: Partial<Record<ToolErrorCode, CallStatus>> = {
  turn_not_finished: "complete",
  truncated: "truncated",
  unknown_tool: "unknown-tool",
  too_large: "too-large",
  rejected: "rejected",
};
