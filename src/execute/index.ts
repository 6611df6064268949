// Executing
export { ToolExecutor } from "./executor.ts";
export type { ToolExecutorOptions } from "./options.ts";
export type { ExecutionContext } from "./context.ts";
export type { Outcome } from "./outcome.ts";
export type { Schedule } from "./schedule.ts";
export type { ActionInfo } from "./info.ts";
export type { ActionStatus, UndoState } from "./ledger.ts";

// Rules
export { allow, ask, deny, type Authorize, type AuthorizedCall, type Verdict } from "./gate.ts";

// Approvals: processes that only decide import toolstream/approvals
export { ApprovalError, ApprovalService, approvedInput } from "./approvals/index.ts";
export type {
  ApprovalAsk,
  ApprovalRequest,
  Approvals,
  ApprovalServiceOptions,
  ApprovalStatus,
  Decision,
  MayDecide,
  Principal,
} from "./approvals/index.ts";

// Events
export type { DenyReason, EventBase, EventBody, ToolEvent } from "./events.ts";
export type { EventListener } from "./emitter.ts";
export type { Redact } from "./summary.ts";
export { safeMessage } from "../tool/safe-message.ts";
export type { Telemetry, TelemetryCall, TelemetrySpan, TraceLink } from "./telemetry-types.ts";

// Undo
export type { MayUndo, UndoOptions, UndoOutcome, UndoRunReport } from "./undo.ts";

// Digests
export { definitionDigest, digestOf } from "./digest.ts";
