import { isToolError, ToolCallError, type ToolErrorCode } from "../errors.ts";
import type { HandlerResult } from "../tool/progress.ts";
import type { ToolUse, ToolUseHandle } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import type { Call } from "./call.ts";
import type { DenyReason } from "./events.ts";
import type { ActionRow } from "./ledger.ts";
import { withMarks } from "./output.ts";
import { undoneMessage } from "./undo.ts";

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

/** What an outcome says besides its row. */
type AboutCall = Pick<Call, "use" | "actionId" | "approval" | "repeatOf">;

/** How the outcome came about. */
interface AboutEnd {
  /** It was on record already. Default: false. */
  readonly replayed?: boolean;
  /** False if the store did not accept it. Default: true. */
  readonly recorded?: boolean;
  /** The error behind it, for the application. */
  readonly cause?: unknown;
}

/** The outcome for the row of an action that has ended. */
export function outcomeOf(call: AboutCall, row: ActionRow, about: AboutEnd): Outcome {
  const note = "editedInput" in row ? editedNote(row.toolName, row.editedInput) : undefined;
  const base = { ...baseOf(call, row, about), ...(note !== undefined && { note }) };
  if (row.status === "done") {
    const { undo } = row;
    const output = base.replayed ? withMarks(row.output, row.marks ?? []) : row.output;
    const undoableUntil = undo?.state === "available" ? undo.expiresAt : null;
    return { ...base, status: "completed", output, undoableUntil, undone: undo?.state === "undone" };
  }
  const { code, message } = row.error!;
  const error = errorOf(call.use, code, message, about.cause);
  if (row.status === "denied") return { ...base, status: "denied", error, reason: row.reason ?? "policy" };
  return { ...base, status: row.status === "unknown" ? "unknown" : "failed", error };
}

/** The outcome of a call that is not over: somebody has to decide. */
export function awaitingOf(call: AboutCall, row: ActionRow, approval: ApprovalRequest): Outcome {
  return { ...baseOf(call, row), status: "awaiting_approval", approval };
}

/** An outcome without a row: the store did not answer, or its answer made no sense. */
export function unrecordedOf(
  call: AboutCall,
  status: "failed" | "unknown",
  code: ToolErrorCode,
  message: string,
  cause?: unknown,
): Outcome {
  const error = errorOf(call.use, code, message, cause);
  return { ...baseOf(call, { attempts: 0 }, { recorded: false }), status, error };
}

/** Passes the outcome to the use. A use that waits for approval can be executed again. */
export function settle(handle: ToolUseHandle, outcome: Outcome): void {
  const { note } = outcome;
  if (outcome.status === "awaiting_approval") handle.release();
  else if (outcome.status !== "completed") handle.fail(outcome.error, note);
  else if (outcome.undone) {
    handle.finish({ undone: true, message: undoneMessage(outcome.toolName), output: outcome.output }, note);
  } else handle.finish(outcome.output, note);
}

function baseOf(
  { use, actionId, approval, repeatOf }: AboutCall,
  { attempts, startedAt, endedAt }: Pick<ActionRow, "attempts" | "startedAt" | "endedAt">,
  { replayed = false, recorded = true }: AboutEnd = {},
) {
  return {
    actionId,
    invocationId: use.invocationId,
    toolName: use.name,
    use,
    replayed,
    recorded,
    attempts,
    startedAt: startedAt ?? null,
    endedAt: endedAt ?? null,
    ...(approval !== undefined && { approval }),
    ...(repeatOf !== undefined && { repeatOf }),
  };
}

/**
 * Without it, models see a result that does not fit what they wrote, and make the original call again:
 * https://github.com/langchain-ai/langchain/issues/33787
 */
function editedNote(toolName: string, input: unknown): string {
  return `A person approved this ${toolName} call with other arguments: ${JSON.stringify(input)}. Do not repeat it with the original ones.`;
}

function errorOf(use: ToolUse, code: ToolErrorCode, message: string, cause: unknown): ToolCallError {
  const issues = isToolError(cause) ? cause.issues : undefined;
  return new ToolCallError(code, message, use, { issues, cause });
}
