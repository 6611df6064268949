import type { ToolErrorCode } from "../errors.ts";

/** Why a call was not allowed. */
export type DenyReason =
  | "unknown_tool" // the executor has no tool of that name
  | "behavior_not_allowed" // not in the current mode
  | "requirement_missing" // another tool has to succeed first
  | "too_many_calls" // `maxCallsPerRun`
  | "policy" // `authorize` said so
  | "policy_failed" // `authorize` or `needsApproval` threw, or gave no answer
  | "approval_denied" // a person said so
  | "approval_expired" // nobody decided in time
  | "approval_unavailable"; // it needs approval, and the executor has no approval service

/** What every event says. */
export interface EventBase {
  readonly toolName: string;
  /** Of the action: run and invocation. The key for `undo()`. */
  readonly actionId: string;
  readonly runId: string;
  readonly invocationId: string;
  /** The provider's id of the call; `null` where it gave none. */
  readonly toolCallId: string | null;
  /** The application's id of the request; `null` where it gave none. */
  readonly requestId: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Position in the run, from 1, without gaps, over all processes that share the store. */
  readonly seq: number;
}

/**
 * What an event adds to {@link EventBase}. Summaries are bounded, redacted JSON text; durations are in milliseconds.
 */
export type EventBody =
  | {
      readonly type: "tool.invoked";
      readonly payloadSummary: string;
      /** The action of this run that had the same provider's id, tool and input already: a replay, most likely. */
      readonly repeatOf?: string;
    }
  | { readonly type: "tool.started"; readonly attempt: number }
  | { readonly type: "tool.progress"; readonly progressSummary: string }
  | { readonly type: "tool.completed"; readonly durationMs: number; readonly outputSummary: string }
  | {
      readonly type: "tool.failed";
      readonly durationMs: number;
      readonly errorCode: ToolErrorCode;
      readonly errorMessage: string;
    }
  | {
      readonly type: "tool.denied";
      readonly reason: DenyReason;
      readonly message: string;
      /** With `behavior_not_allowed`: the modes in which the tool may be called. */
      readonly allowed?: readonly string[];
      /** With `approval_denied`: by whom, if there are principals. */
      readonly decidedBy?: string;
    }
  /** A handler ended after its outcome was settled (timeout, abort, lost lease). Changes nothing. */
  | { readonly type: "tool.late"; readonly result: "completed" | "failed"; readonly errorMessage?: string }
  | { readonly type: "tool.undone"; readonly durationMs: number; readonly undoneBy: string | null }
  | {
      readonly type: "tool.undo_failed";
      readonly errorCode: ToolErrorCode;
      readonly errorMessage: string;
      readonly undoneBy: string | null;
    }
  | {
      readonly type: "approval.requested";
      readonly approvalId: string;
      readonly message: string;
      readonly payloadSummary: string;
      readonly expiresAt: number | null;
    }
  | {
      readonly type: "approval.decided";
      readonly approvalId: string;
      readonly decision: "approved" | "denied" | "expired" | "void";
      readonly decidedBy: string | null;
      readonly reason?: string;
      /** After an edit: what runs instead of what was shown. */
      readonly payloadSummary?: string;
    };

/** Every event of an executor. */
export type ToolEvent = EventBase & EventBody;

/** Equal for the same event emitted twice: by a process that died, and by the one that continued. */
export function identityOf(event: EventBase & EventBody): string | undefined {
  switch (event.type) {
    case "tool.progress":
    case "tool.late":
    case "tool.undo_failed":
      return undefined;
    case "tool.started":
      return `started|${event.actionId}|${event.attempt}`;
    case "approval.requested":
    case "approval.decided":
      return `${event.type}|${event.approvalId}`;
    case "tool.completed":
    case "tool.failed":
    case "tool.denied":
      return endOf(event.actionId);
    case "tool.invoked":
    case "tool.undone":
      return `${event.type}|${event.actionId}`;
  }
}

/** An action ends once. */
export function endOf(actionId: string): string {
  return `ended|${actionId}`;
}
