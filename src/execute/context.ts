import { checkMs } from "../time.ts";
import { kindOf } from "../schema/json.ts";
import { aboveZero, aRecord, aText, checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import type { PolicyContext } from "../tool/policy.ts";
import type { ToolContext } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ApprovalAsk, Principal } from "./approvals/types.ts";
import { actionIdOf } from "./ledger.ts";

/**
 * Where and for whom a call is executed. Whatever the application adds is passed to the handler and the rules; only ids
 * are stored.
 *
 * @example
 * await executor.execute(use, { runId: "run_1", behavior: "doc_edit", principal: { id: "anna" }, tenant: "acme" });
 */
export interface ExecutionContext {
  /** The run that the call belongs to. With the use's `invocationId` it is the identity of the action. */
  readonly runId: string;
  /** Passed on; a run sets its own. */
  readonly conversationId?: string | undefined;
  /** The application's own id of the request that it serves, for the events. */
  readonly requestId?: string | undefined;
  /** The mode in which the model is working: tools with `behaviors` run only in those. */
  readonly behavior?: string | undefined;
  /** The user that the call is made for. */
  readonly principal?: Principal | undefined;
  /** Ends the execution: the outcome is then `failed` with code `aborted`; a wait for approval ends as it stands. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take, in milliseconds, instead of the tool's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Wait for a decision, or return `awaiting_approval` immediately. Default: the executor's setting. */
  readonly waitForApproval?: boolean | undefined;
  /**
   * How long to wait for a decision, in milliseconds. Then: `awaiting_approval`. Default: until the request expires.
   */
  readonly approvalTimeoutMs?: number | undefined;
  /**
   * The run never uses an invocation id twice: whatever is recorded under it is this call, even if its tool now reads
   * the arguments differently (a new version, a default that varies). Default: a different input under a known id is a
   * mistake.
   */
  readonly uniqueIds?: boolean | undefined;
  /**
   * Gives up the call: if it has not started, it fails with code `aborted`, for good, whatever is decided later (if it
   * was denied before, it is `denied`); if it is running, the outcome is `unknown`. Default: false.
   */
  readonly abandon?: boolean | undefined;
  /** What a request for approval carries besides the call. */
  readonly approval?: AboutApproval | undefined;
  readonly [key: string]: unknown;
}

type AboutApproval = Pick<ApprovalAsk, "scope" | "metadata" | "ttlMs">;

const APPROVAL: OptionNames<AboutApproval> = { scope: aText, metadata: aRecord, ttlMs: aboveZero };

/** Without one, what is meant would be another run, or all of them. @throws TypeError */
export function checkRunId(taker: string, runId: unknown): void {
  if (typeof runId === "string" && runId !== "") return;
  throw new TypeError(`${taker} takes a runId, got ${kindOf(runId)}.`);
}

/** @throws TypeError */
export function checkAfter(after: unknown): void {
  if (typeof after === "number" && after >= 0) return;
  throw new TypeError(
    `after is the number of an event, or 0; got ${typeof after === "string" ? JSON.stringify(after) : after}.`,
  );
}

/** @throws TypeError */
export function checkPrincipal(principal: Principal | undefined): void {
  if (principal === undefined || (typeof principal?.id === "string" && principal.id !== "")) return;
  throw new TypeError(`A principal is an object with an id: { id: "anna" }; got ${kindOf(principal)}.`);
}

/** @throws TypeError that says what to do, if the context makes no sense */
export function checkContext(context: ExecutionContext): void {
  if (typeof context !== "object" || context === null) {
    throw new TypeError(`execute() takes a context with a runId: execute(use, { runId }); got ${kindOf(context)}.`);
  }
  const { runId, principal, signal, timeoutMs, approvalTimeoutMs, approval } = context;
  if (typeof runId !== "string" || runId === "") {
    throw new TypeError(
      `The context needs the runId of the run that the call belongs to, a text; got ${kindOf(runId)}.`,
    );
  }
  checkPrincipal(principal);
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new TypeError(`signal is an AbortSignal, got ${kindOf(signal)}.`);
  }
  if (timeoutMs !== undefined) checkMs("timeoutMs", timeoutMs);
  if (approvalTimeoutMs !== undefined && !(typeof approvalTimeoutMs === "number" && approvalTimeoutMs >= 0)) {
    throw new TypeError(`approvalTimeoutMs is a number of milliseconds, got ${String(approvalTimeoutMs)}.`);
  }
  if (approval !== undefined) checkOptionNames("approval of the context", approval, APPROVAL);
}

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
