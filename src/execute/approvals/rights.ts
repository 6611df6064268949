import { ApprovalError, notFound } from "./errors.ts";
import type { ApprovalSettings } from "./options.ts";
import type { ApprovalRequest, Principal } from "./types.ts";

type Rights = Pick<ApprovalSettings, "mayDecide" | "allowSelfApproval" | "onError">;

/** Whether this principal may decide, and so see, the request. */
export async function mayDecide(rights: Rights, principal: Principal, request: ApprovalRequest): Promise<boolean> {
  return (await maySee(rights, principal, request)) && !isOwn(rights, principal, request);
}

/** @throws ApprovalError `approval_not_allowed`, `approval_not_found`; TypeError for a principal without a rule */
export async function checkMayDecide(
  rights: Rights,
  principal: Principal | undefined,
  request: ApprovalRequest,
): Promise<void> {
  if (principal === undefined) {
    if (rights.mayDecide === undefined && request.requestedBy === null) return;
    const message =
      "There are principals here: decide(id, decision, principal), or approvals: [{ id, decision, principal }] of resume(), says who decides.";
    throw new ApprovalError("approval_not_allowed", message);
  }
  if (rights.mayDecide === undefined) {
    throw new TypeError("new ApprovalService() needs mayDecide(principal, request) as soon as there are principals");
  }
  if (!(await maySee(rights, principal, request))) throw notFound();
  if (isOwn(rights, principal, request)) {
    const message = `${JSON.stringify(principal.id)} has asked, and so may not decide; somebody else may.`;
    throw new ApprovalError("approval_not_allowed", message, { request });
  }
}

/** A rule that throws denies. */
async function maySee(rights: Rights, principal: Principal, request: ApprovalRequest): Promise<boolean> {
  try {
    return (await rights.mayDecide?.(principal, Object.freeze(structuredClone(request)))) === true;
  } catch (error) {
    rights.onError(error);
    return false;
  }
}

function isOwn({ allowSelfApproval }: Rights, principal: Principal, request: ApprovalRequest): boolean {
  return !allowSelfApproval && request.requestedBy === principal.id;
}
