import type { ToolErrorCode } from "../errors.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import type { Denial } from "./gate.ts";
import { withoutLease, type ActionRow, type Lease } from "./ledger.ts";

export function startedRow(planned: ActionRow, lease: Lease, approval: ApprovalRequest | undefined): ActionRow {
  return {
    ...planned,
    status: "started",
    attempts: 1,
    startedAt: Date.now(),
    lease,
    ...(approval !== undefined && { approvalId: approval.id, ...editOf(approval) }),
  };
}

/** What a person wrote instead of the input. */
export function editOf(approval: ApprovalRequest): Pick<ActionRow, "editedInput"> {
  return "editedInput" in approval ? { editedInput: approval.editedInput } : {};
}

export function deniedRow(row: ActionRow, { decision: _, message, ...why }: Denial): ActionRow {
  const code = why.reason === "unknown_tool" ? "unknown_tool" : "denied";
  return { ...row, status: "denied", endedAt: Date.now(), error: { code, message }, ...why };
}

export function failedRow(row: ActionRow, code: ToolErrorCode, message: string): ActionRow {
  return { ...row, status: "failed", endedAt: Date.now(), error: { code, message } };
}

/** For a call whose process has died: it may have had its effect. */
export function unknownRow(row: ActionRow): ActionRow {
  const message = `${row.toolName} was started, and it is not known what came of it. It may have had its effect: look before you call it again.`;
  return { ...withoutLease(row), status: "unknown", endedAt: Date.now(), error: { code: "outcome_unknown", message } };
}
