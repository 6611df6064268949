import { ToolError } from "../errors.ts";
import { checkDecision } from "../execute/approvals/decision.ts";
import type { Principal } from "../execute/approvals/types.ts";
import type { StoredRun } from "./checkpoint.ts";
import type { RunDeps } from "./options.ts";
import type { ApprovalInput } from "./types.ts";

/**
 * Checks, before any is decided, that they belong to this run. Those that will be refused (already decided, or reserved
 * to somebody else), or may be (an edited input), come first, so that nothing has changed if one is.
 *
 * @throws TypeError, ToolError `approval_not_found`, `already_decided`
 */
export async function decisionsOf(
  { approvals: service }: RunDeps,
  { head: { conversationId, runId } }: StoredRun,
  inputs: readonly ApprovalInput[],
): Promise<readonly ApprovalInput[]> {
  if (inputs.length === 0) return [];
  if (service === undefined) {
    throw new TypeError("To decide approvals with resume(), give new Orchestrator() an ApprovalService.");
  }
  const ranks = new Map<string, number>();
  /** What each principal may decide: asked once, since the answer is all requests of the run. */
  const lists: { readonly principal: Principal | undefined; readonly open: ReadonlySet<string> }[] = [];
  for (const { id, principal, ...decision } of inputs) {
    checkDecision(decision);
    if ((await service.get(id))?.runId !== runId) {
      throw new ToolError(
        "approval_not_found",
        `No call of conversation ${conversationId} waits for the approval ${JSON.stringify(id)}. Nothing was changed.`,
      );
    }
    if (ranks.has(id)) {
      throw new ToolError("already_decided", `The approval ${id} is decided twice at once. Nothing was changed.`);
    }
    let list = lists.find((one) => isSame(one.principal, principal));
    if (list === undefined) {
      const requests = await service.list({ runId, status: "pending", principal });
      lists.push((list = { principal, open: new Set(requests.map((request) => request.id)) }));
    }
    ranks.set(id, !list.open.has(id) ? 0 : decision.editedInput !== undefined ? 1 : 2);
  }
  return inputs.toSorted((a, b) => ranks.get(a.id)! - ranks.get(b.id)!);
}

/** Usually written anew for each decision. One person may decide more in one role than in another. */
function isSame(one: Principal | undefined, other: Principal | undefined): boolean {
  return Object.keys({ ...one, ...other }).every((key) => one?.[key] === other?.[key]);
}
