import { checkMs } from "../time.ts";
import type { ApprovalAsk, Principal } from "./approvals/types.ts";

/**
 * Where and for whom a call is executed. What the application adds is handed to the handler and to the rules; nothing of
 * it is stored but the ids.
 *
 * @example
 * await executor.execute(use, { runId: "run_1", behavior: "doc_edit", principal: { id: "anna" }, tenant: "acme" });
 */
export interface ExecutionContext {
  /** The run that the call belongs to. With the use's `invocationId` it is the identity of the action. */
  readonly runId: string;
  /** The application's own id of the request that it serves, for the events. */
  readonly requestId?: string | undefined;
  /** The mode in which the model works now: tools with `behaviors` run in these alone. */
  readonly behavior?: string | undefined;
  /** On whose behalf the call is made. */
  readonly principal?: Principal | undefined;
  /** Ends the execution: the outcome is then `failed` with code `aborted`; a wait for approval ends as it stands. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take, in the place of the tool's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Wait for a decision, or come back with `awaiting_approval` at once. Default: the executor's. */
  readonly waitForApproval?: boolean | undefined;
  /** How long to wait for a decision, in milliseconds. Then: `awaiting_approval`. Default: until the request expires. */
  readonly approvalTimeoutMs?: number | undefined;
  /**
   * The run never uses an invocation id twice: what is on record under one is this call, also where its tool reads the
   * arguments otherwise by now (a new version, a default that is another one each time). Default: another input under a
   * known id is a mistake.
   */
  readonly uniqueIds?: boolean | undefined;
  /** What a request for approval carries beside the call. */
  readonly approval?: Pick<ApprovalAsk, "scope" | "metadata" | "ttlMs"> | undefined;
  readonly [key: string]: unknown;
}

/** @throws TypeError with what to do, when the caller gave what can not be meant */
export function checkContext(context: ExecutionContext): void {
  if (typeof context !== "object" || context === null) {
    throw new TypeError(`execute() takes a context with a runId: execute(use, { runId }); got ${typeName(context)}.`);
  }
  const { runId, principal, signal, timeoutMs, approvalTimeoutMs } = context;
  if (typeof runId !== "string" || runId === "") {
    throw new TypeError(
      `The context needs the runId of the run that the call belongs to, a text; got ${typeName(runId)}.`,
    );
  }
  if (principal !== undefined && (typeof principal?.id !== "string" || principal.id === "")) {
    throw new TypeError(`A principal is an object with an id: { id: "anna" }; got ${typeName(principal)}.`);
  }
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new TypeError(`signal is an AbortSignal, got ${typeName(signal)}.`);
  }
  if (timeoutMs !== undefined) checkMs("timeoutMs", timeoutMs);
  if (approvalTimeoutMs !== undefined && !(typeof approvalTimeoutMs === "number" && approvalTimeoutMs >= 0)) {
    throw new TypeError(`approvalTimeoutMs is a number of milliseconds, got ${String(approvalTimeoutMs)}.`);
  }
}

export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (value === "") return "an empty text";
  return Array.isArray(value) ? "an array" : typeof value;
}
