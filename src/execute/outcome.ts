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
   * The use that was given. It has its result or error now, so that `toolResults(turn)` finds it. A copy of it that has
   * them, where another `execute()` is still at work on it.
   */
  readonly use: ToolUse;
  /** The request for approval, where one was needed. */
  readonly approval?: ApprovalRequest;
  /** True when the outcome was on record already: nothing was run now. */
  readonly replayed: boolean;
  /**
   * False when the store failed. With `attempts` the handler has ended, and this process alone knows how: it is
   * recorded when the call is executed again here; after a crash the outcome of a write will be `unknown`.
   */
  readonly recorded: boolean;
  /** How often the handler was begun, in all processes. */
  readonly attempts: number;
  /** The action of this run with the same provider's id, tool and input, if there was one before. */
  readonly repeatOf?: string;
}

/**
 * What came of a call:
 *
 * - `completed`: the handler returned, `output` is its plain JSON
 * - `failed`: it threw, took too long, was aborted, or returned what can not be handed on
 * - `denied`: a rule, a policy or a person said no; nothing was run
 * - `awaiting_approval`: nobody has decided yet (or the caller gave up right after it, or another process asks about
 *   another definition of the tool now); nothing was run, and the use has no outcome: execute it again later
 * - `unknown`: it was started, and nobody knows what came of it (its process died); it is not run again
 *
 * The message of an `error` is written for the model.
 */
export type Outcome<Output = any> = OutcomeBase &
  (
    | {
        readonly status: "completed";
        readonly output: HandlerResult<Output>;
        /** Until when it can be undone, in milliseconds since 1970; `null` when it can not. */
        readonly undoableUntil: number | null;
        /** It was undone since: the use says so to the model. */
        readonly undone: boolean;
      }
    | { readonly status: "failed"; readonly error: ToolCallError }
    | { readonly status: "denied"; readonly error: ToolCallError; readonly reason: DenyReason }
    | { readonly status: "awaiting_approval"; readonly approval: ApprovalRequest }
    | { readonly status: "unknown"; readonly error: ToolCallError }
  );
