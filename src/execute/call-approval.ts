import { isToolError } from "../errors.ts";
import type { Tool } from "../tool/tool.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import type { Call } from "./call.ts";
import type { Deps } from "./deps.ts";
import { definitionDigest } from "./digest.ts";
import type { ActionRow } from "./ledger.ts";
import { jsonOfInput } from "./output.ts";
import { defaultQuestion } from "./summary.ts";

/**
 * Asks a person about one call. The same input, tool and executable find the same request, in any process; after a
 * change of one of them the request is void, and this makes a new one.
 */
export async function askApproval(
  { deps, context, runId, prepared }: Call,
  tool: Tool,
  { invocationId, ask }: ActionRow,
): Promise<ApprovalRequest> {
  const { input } = prepared;
  return deps.approvals!.request({
    runId,
    invocationId,
    toolName: tool.name,
    input: jsonOfInput(input),
    definitionDigest: await definitionOf(deps, tool),
    message: ask ?? defaultQuestion(tool.name, input, deps.redact),
    isDefaultMessage: ask === undefined,
    requestedBy: context.principal,
    ...context.approval,
  });
}

/**
 * The request once somebody has decided, or still pending if the caller stopped waiting; `undefined` if the call waits
 * no more without a decision: it was given up, or forgotten, or another process has begun it on an earlier approval.
 */
export async function waitForDecision(
  { deps, actionId, context }: Call,
  request: ApprovalRequest,
): Promise<ApprovalRequest | undefined> {
  const { approvals, ledger } = deps;
  const { approvalTimeoutMs: timeoutMs, signal } = context;
  const over = new AbortController();
  const look = async () => {
    const entry = await ledger.get(actionId);
    if (entry?.value.status !== "planned") over.abort();
  };
  // What cannot be read now is read with the next change.
  const unwatch = await ledger.watch(actionId, () => void look().catch(() => {}));
  try {
    await look().catch(() => {});
    const stop = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    return await approvals!.await(request.id, { timeoutMs, signal: stop });
  } catch (error) {
    if (over.signal.aborted) {
      const now = await approvals!.get(request.id);
      return now?.status === "approved" || now?.status === "denied" ? now : undefined;
    }
    // Nobody waits any more; the request stays.
    if (isToolError(error) && error.code === "aborted") return request;
    throw error;
  } finally {
    await unwatch();
  }
}

/** An approval, if it still holds for the tool as it is now. Asks nobody. */
export async function standingApproval(
  deps: Deps,
  tool: Tool,
  approvalId: string,
): Promise<ApprovalRequest | undefined> {
  const request = await deps.approvals?.get(approvalId);
  return request?.status === "approved" && (await isAsShown(deps, tool, request)) ? request : undefined;
}

/**
 * The last request of the call of one that is void although the tool is what was shown. If it is that one itself, it
 * was withdrawn. Else another process knows another definition, asked about that, and is waiting itself: if we asked
 * again, both would void each other's requests forever.
 */
export async function lastAsked(
  deps: Deps,
  tool: Tool | undefined,
  request: ApprovalRequest,
): Promise<ApprovalRequest | undefined> {
  if (tool === undefined || !(await isAsShown(deps, tool, request))) return undefined;
  const requests = await deps.approvals!.list({ runId: request.runId });
  const ofCall = requests.filter(({ invocationId }) => invocationId === request.invocationId);
  // One whose event has no number yet is listed first.
  return ofCall.find(({ status }) => status === "pending") ?? ofCall.at(-1);
}

/** Including the program behind the tool. */
async function isAsShown(deps: Deps, tool: Tool, request: ApprovalRequest): Promise<boolean> {
  return request.definitionDigest === (await definitionOf(deps, tool));
}

async function definitionOf({ executableDigest }: Deps, tool: Tool): Promise<string> {
  return definitionDigest(tool, await executableDigest(tool));
}
