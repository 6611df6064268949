export { ApprovalError, type ApprovalErrorCode } from "./errors.ts";
export { approvalDigest, type ApprovedThing } from "./trust.ts";
export type { ValidateInput } from "./decision.ts";
export type { ApprovalServiceOptions, MayDecide } from "./options.ts";
export { ApprovalService } from "./service.ts";
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
export { approvalFeed, type FeedOptions } from "./feed.ts";
export type { ApprovalClient, Authenticate, AuthenticatedClient, GuardOptions, RateLimit } from "./guard.ts";
export { approvalHandler, type ApprovalHandlerOptions } from "./http.ts";
export type {
  ClientMessage,
  DecidedMessage,
  DecideMessage,
  DetailsMessage,
  ErrorMessage,
  FeedMessage,
  GetMessage,
  OutcomeMessage,
  ReadyMessage,
  RequestedMessage,
  ResumeMessage,
  ServerMessage,
  WireErrorCode,
} from "./protocol.ts";
export { approvalSession, type ApprovalSession, type ApprovalSessionOptions } from "./session.ts";
export {
  approvalSockets,
  type ApprovalSocket,
  type ApprovalSockets,
  type ApprovalSocketsOptions,
  type UpgradeRequest,
} from "./sockets.ts";
