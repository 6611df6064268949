import type { ApprovalRequest } from "./approvals/types.ts";
import type { HandlerEnd } from "./attempt.ts";
import type { Call } from "./call.ts";
import type { ActionPart } from "./emitter.ts";
import type { IsOnRecord } from "./event-log.ts";
import type { EventBody } from "./events.ts";
import type { ActionRow } from "./ledger.ts";
import { summaryOf } from "./summary.ts";

/** Emits the events of one call. Nothing here fails, and only `told()` waits. */
export class CallEvents {
  readonly #call: Call;
  readonly #action: ActionPart;
  /** Events of a run are emitted in order: when the last one is done, all are. */
  #last: Promise<void> = Promise.resolve();
  #waitingProgress = 0;

  constructor(call: Call) {
    const { runId, actionId } = call;
    const { name: toolName, invocationId, id: toolCallId } = call.use;
    const { requestId = null } = call.context;
    this.#call = call;
    this.#action = { toolName, actionId, runId, invocationId, toolCallId, requestId };
  }

  /** Resolves when all events so far are stored and emitted. */
  told(): Promise<void> {
    return this.#last;
  }

  /** @param once another process may have told it already */
  invoked(once: boolean): void {
    const { repeatOf, prepared } = this.#call;
    const payloadSummary = this.#summaryOf("input", prepared.input);
    void this.#tell({ type: "tool.invoked", payloadSummary, ...(repeatOf !== undefined && { repeatOf }) }, once);
  }

  started(attempt: number, once = false): void {
    void this.#tell({ type: "tool.started", attempt }, once);
  }

  /** Bounded: progress that arrives faster than it can be stored, without being awaited, is dropped for a while. */
  async progress(value: unknown, isOnRecord: IsOnRecord): Promise<void> {
    if (this.#waitingProgress >= MAX_WAITING_PROGRESS) return;
    this.#waitingProgress++;
    const progressSummary = this.#summaryOf("progress", value);
    await this.#tell({ type: "tool.progress", progressSummary }, false, isOnRecord);
    this.#waitingProgress--;
  }

  late(end: HandlerEnd, isOnRecord: IsOnRecord): void {
    void this.#tell(
      end.ok
        ? { type: "tool.late", result: "completed" }
        : { type: "tool.late", result: "failed", errorMessage: this.#call.messageOf(end.cause) },
      false,
      isOnRecord,
    );
  }

  requested({ id, message, input, expiresAt }: ApprovalRequest): void {
    const payloadSummary = this.#summaryOf("input", input);
    void this.#tell({ type: "approval.requested", approvalId: id, message, payloadSummary, expiresAt }, true);
  }

  decided(request: ApprovalRequest): void {
    const { id, status, decidedBy, reason } = request;
    if (status === "pending") return;
    const more = {
      ...(reason !== undefined && { reason }),
      ...("editedInput" in request && { payloadSummary: this.#summaryOf("input", request.editedInput) }),
    };
    void this.#tell({ type: "approval.decided", approvalId: id, decision: status, decidedBy, ...more }, true);
  }

  /** The end, from the row alone, since another process may have to report it. */
  ended(row: ActionRow, durationMs: number | undefined, once: boolean): void {
    const took = durationMs ?? Math.max(0, (row.endedAt ?? 0) - (row.startedAt ?? row.endedAt ?? 0));
    void this.#tell(this.#endOf(row, took), once);
  }

  #endOf(row: ActionRow, durationMs: number): EventBody {
    if (row.status === "done") {
      return { type: "tool.completed", durationMs, outputSummary: this.#summaryOf("output", row.output) };
    }
    const { code, message } = row.error!;
    if (row.status !== "denied") return { type: "tool.failed", durationMs, errorCode: code, errorMessage: message };
    const { reason = "policy", allowed, decidedBy } = row;
    return {
      type: "tool.denied",
      reason,
      message,
      ...(allowed !== undefined && { allowed }),
      ...(decidedBy !== undefined && { decidedBy }),
    };
  }

  #tell(body: EventBody, once = false, isOnRecord?: IsOnRecord): Promise<void> {
    return (this.#last = this.#call.deps.emitter.emit(this.#action, body, once, isOnRecord));
  }

  #summaryOf(kind: "input" | "output" | "progress", value: unknown): string {
    return summaryOf(kind, value, this.#call.deps.redact);
  }
}

const MAX_WAITING_PROGRESS = 100;
