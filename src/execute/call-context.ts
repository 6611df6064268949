import type { PolicyContext } from "../tool/policy.ts";
import type { ToolContext } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ExecutionContext } from "./context.ts";
import { actionIdOf } from "./ledger.ts";

/** What rules are told about a call. */
export function policyContextOf(use: ToolUse, context: ExecutionContext): PolicyContext {
  const {
    signal: _signal,
    timeoutMs: _timeoutMs,
    waitForApproval: _waitForApproval,
    approvalTimeoutMs: _approvalTimeoutMs,
    approval: _approval,
    uniqueIds: _uniqueIds,
    abandon: _abandon,
    ...shared
  } = context;
  const { behavior, principal, runId } = context;
  const { invocationId, id: toolCallId, name: toolName } = use;
  return { ...shared, behavior, principal, runId, invocationId, toolCallId, toolName };
}

/** What the handler is told: the same, plus what belongs to this attempt. */
export function toolContextOf(
  use: ToolUse,
  context: ExecutionContext,
  own: Pick<ToolContext, "attempt" | "signal" | "progress" | "undoData">,
): ToolContext {
  const { requestId, runId } = context;
  const idempotencyKey = actionIdOf(runId, use.invocationId);
  return { ...policyContextOf(use, context), requestId, idempotencyKey, ...own };
}
