import { isToolError } from "../errors.ts";
import type { Tool } from "../tool/tool.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import type { ExecutionContext } from "./context.ts";
import type { Deps } from "./deps.ts";
import { definitionDigest } from "./digest.ts";
import type { ActionRow } from "./ledger.ts";
import { jsonOfInput } from "./output.ts";

/**
 * Asks a person about one call. The same input, tool and executable find the same request, in any process; after a change
 * of one of them the request is void, and this makes a new one.
 */
export async function askApproval(
  { approvals, executableDigest }: Deps,
  { runId, principal, approval }: ExecutionContext,
  tool: Tool,
  { invocationId, ask }: ActionRow,
  input: unknown,
): Promise<ApprovalRequest> {
  const executable = await executableDigest(tool);
  return approvals!.request({
    runId,
    invocationId,
    toolName: tool.name,
    input: jsonOfInput(input),
    definitionDigest: await definitionDigest(tool, executable ?? ""),
    message: ask!,
    requestedBy: principal,
    ...approval,
  });
}

/** The request when somebody has decided; as it is, still pending, when the caller does not wait any more. */
export async function waitForDecision(
  { approvals }: Deps,
  { approvalTimeoutMs: timeoutMs, signal }: ExecutionContext,
  request: ApprovalRequest,
): Promise<ApprovalRequest> {
  try {
    return await approvals!.await(request.id, { timeoutMs, signal });
  } catch (error) {
    // Nobody waits any more; the request stays.
    if (isToolError(error) && error.code === "aborted") return request;
    throw error;
  }
}

/** The approval that an action was begun with, if it holds for the tool as it is now. Nobody is asked. */
export async function standingApproval(
  { approvals, executableDigest }: Deps,
  tool: Tool,
  approvalId: string,
): Promise<ApprovalRequest | undefined> {
  try {
    const request = await approvals?.await(approvalId, { timeoutMs: 0 });
    const definition = await definitionDigest(tool, (await executableDigest(tool)) ?? "");
    return request?.status === "approved" && request.definitionDigest === definition ? request : undefined;
  } catch (error) {
    if (isToolError(error) && error.code === "approval_not_found") return undefined;
    throw error;
  }
}
