import type { ToolCallError } from "../errors.ts";
import type { HandlerResult } from "../tool/progress.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import type { DenyReason } from "./events.ts";

interface OutcomeBase {
  /** Of the action: run and invocation. The key for `undo()`. */
  readonly actionId: string;
  readonly invocationId: string;
  readonly toolName: string;
  /**
   * The use that was given, which now has its result or error, where `toolResults(turn)` finds it; or a copy that has
   * them, while another `execute()` is still working on the use.
   */
  readonly use: ToolUse;
  /** What else the model is told: that a person has changed the arguments, and to what. The use has it as well. */
  readonly note?: string;
  /** The request for approval, if one was needed. */
  readonly approval?: ApprovalRequest;
  /** True if the outcome was already on record, so that nothing was run now. */
  readonly replayed: boolean;
  /**
   * False if the store failed. If there were `attempts`, the handler has ended and only this process knows how:
   * executing the call here again records it; after a crash, the outcome of a write will be `unknown`.
   */
  readonly recorded: boolean;
  /** How often the handler was started, across all processes. */
  readonly attempts: number;
  /** When the handler was first started, in milliseconds since 1970; `null` if it was not, or that is not on record. */
  readonly startedAt: number | null;
  /** When the call ended; `null` likewise. */
  readonly endedAt: number | null;
  /** The earlier action of this run with the same provider id, tool and input, if there is one. */
  readonly repeatOf?: string;
}

/**
 * The outcome of a call:
 *
 * - `completed`: the handler returned, `output` is its plain JSON
 * - `failed`: it threw, timed out, was aborted, or returned something unusable
 * - `denied`: a rule, a policy or a person said no; nothing was run
 * - `awaiting_approval`: nobody has decided yet (or the caller gave up right after the decision, or another process now
 *   asks about another definition of the tool); nothing was run, and the use has no outcome: execute it again later
 * - `unknown`: it was started, and its outcome is unknown (its process died); it is not run again
 *
 * The message of an `error` is written for the model.
 */
export type Outcome<Output = any> = OutcomeBase &
  (
    | {
        readonly status: "completed";
        readonly output: HandlerResult<Output>;
        /** Until when it can be undone, in milliseconds since 1970; `null` if it cannot. */
        readonly undoableUntil: number | null;
        /** It has been undone since, and the use tells the model so. */
        readonly undone: boolean;
      }
    | { readonly status: "failed"; readonly error: ToolCallError }
    | { readonly status: "denied"; readonly error: ToolCallError; readonly reason: DenyReason }
    | { readonly status: "awaiting_approval"; readonly approval: ApprovalRequest }
    | { readonly status: "unknown"; readonly error: ToolCallError }
  );
