import type { ToolErrorCode } from "../errors.ts";
import type { DenyReason } from "./events.ts";
import {
  actionIdOf,
  byStart,
  ifUnreadable,
  type ActionRow,
  type ActionStatus,
  type Ledger,
  type UndoState,
} from "./ledger.ts";

/** A recorded action, for lists and trees, without undo data and leases. Times are milliseconds since 1970. */
export interface ActionInfo {
  readonly actionId: string;
  readonly runId: string;
  readonly invocationId: string;
  readonly requestId: string | null;
  readonly toolName: string;
  readonly toolCallId: string | null;
  readonly principal: string | null;
  readonly status: ActionStatus;
  readonly attempts: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly approvalId: string | null;
  /** What ran instead of the model's input, if the person who approved it changed that. */
  readonly editedInput?: unknown;
  readonly output?: unknown;
  readonly error?: { readonly code: ToolErrorCode; readonly message: string };
  readonly reason?: DenyReason;
  readonly undo: { readonly state: UndoState; readonly expiresAt: number } | null;
}

/** The actions of a run, or some of them, in the order in which they started. */
export async function actionsOf(
  ledger: Ledger,
  runId: string,
  invocationIds?: readonly string[],
): Promise<ActionInfo[]> {
  const entries =
    invocationIds === undefined
      ? await ledger.list(runId)
      : await Promise.all(invocationIds.map((id) => ledger.get(actionIdOf(runId, id)).catch(ifUnreadable)));
  const found = entries.filter((entry) => entry !== undefined);
  return found.toSorted(byStart).map(({ value }) => infoOf(value));
}

export function infoOf(row: ActionRow): ActionInfo {
  const { runId, invocationId, requestId, toolName, toolCallId, principal, status, attempts, createdAt } = row;
  return {
    actionId: actionIdOf(runId, invocationId),
    runId,
    invocationId,
    requestId,
    toolName,
    toolCallId,
    principal,
    status,
    attempts,
    createdAt,
    startedAt: row.startedAt ?? null,
    endedAt: row.endedAt ?? null,
    approvalId: row.approvalId ?? null,
    ...("editedInput" in row && { editedInput: row.editedInput }),
    ...("output" in row && { output: row.output }),
    ...(row.error !== undefined && { error: row.error }),
    ...(row.reason !== undefined && { reason: row.reason }),
    undo: row.undo === undefined ? null : { state: row.undo.state, expiresAt: row.undo.expiresAt },
  };
}
