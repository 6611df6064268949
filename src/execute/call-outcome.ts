import { isToolError, ToolCallError, type ToolErrorCode } from "../errors.ts";
import type { ToolUse, ToolUseHandle } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { actionIdOf, type ActionRow } from "./ledger.ts";
import type { Outcome } from "./outcome.ts";
import { withMarks } from "./output.ts";
import { undoneMessage } from "./undo.ts";

/** What an outcome says besides its row. */
export interface AboutCall {
  readonly use: ToolUse;
  readonly runId: string;
  readonly approval: ApprovalRequest | undefined;
  readonly repeatOf: string | undefined;
}

/** How the outcome came about. */
export interface AboutEnd {
  /** It was on record already. */
  readonly replayed?: boolean;
  /** The error behind it, for the application. */
  readonly cause?: unknown;
  /** False if the store did not accept it. */
  readonly recorded?: boolean;
}

/** The outcome for the row of an action that has ended. */
export function outcomeOf(call: AboutCall, row: ActionRow, about: AboutEnd = {}): Outcome {
  const { replayed = false, cause, recorded = true } = about;
  const note = "editedInput" in row ? editedNote(row.toolName, row.editedInput) : undefined;
  const base = { ...baseOf(call, row, { replayed, recorded }), ...(note !== undefined && { note }) };
  if (row.status === "done") {
    const { undo } = row;
    const output = replayed ? withMarks(row.output, row.marks ?? []) : row.output;
    const undoableUntil = undo?.state === "available" ? undo.expiresAt : null;
    return { ...base, status: "completed", output, undoableUntil, undone: undo?.state === "undone" };
  }
  const { code, message } = row.error!;
  const error = errorOf(call.use, code as ToolErrorCode, message, cause);
  if (row.status === "denied") return { ...base, status: "denied", error, reason: row.reason ?? "policy" };
  return { ...base, status: row.status === "unknown" ? "unknown" : "failed", error };
}

/** The outcome of a call that is not over: somebody has to decide. */
export function awaitingOf(call: AboutCall, row: ActionRow, approval: ApprovalRequest): Outcome {
  const base = baseOf({ ...call, approval }, row, { replayed: false, recorded: true });
  return { ...base, status: "awaiting_approval", approval };
}

/** An outcome without a row: the store did not answer, or its answer made no sense. */
export function unrecordedOf(
  call: AboutCall,
  status: "failed" | "unknown",
  code: ToolErrorCode,
  message: string,
  cause?: unknown,
): Outcome {
  const base = baseOf(call, { attempts: 0 }, { replayed: false, recorded: false });
  return { ...base, status, error: errorOf(call.use, code, message, cause) };
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
  { use, runId, approval, repeatOf }: AboutCall,
  { attempts, startedAt, endedAt }: Pick<ActionRow, "attempts" | "startedAt" | "endedAt">,
  about: { readonly replayed: boolean; readonly recorded: boolean },
) {
  return {
    actionId: actionIdOf(runId, use.invocationId),
    invocationId: use.invocationId,
    toolName: use.name,
    use,
    ...about,
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
