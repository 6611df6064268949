export { ApprovalError, type ApprovalErrorCode } from "./errors.ts";
export { approvalDigest, type ApprovedThing } from "./digest.ts";
export type { ValidateInput } from "./decision.ts";
export { ApprovalService, type ApprovalServiceOptions, type MayDecide } from "./service.ts";
export { approvedInput } from "./types.ts";
export type {
  ApprovalAsk,
  ApprovalEvent,
  ApprovalGrant,
  ApprovalRequest,
  Approvals,
  ApprovalStatus,
  AwaitOptions,
  Decision,
  GrantOptions,
  GrantPlace,
  GrantScope,
  ListApprovals,
  Principal,
  SubscribeOptions,
} from "./types.ts";
