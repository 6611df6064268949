import { isToolError, type ToolErrorCode } from "../errors.ts";
import type { StoreEntry } from "../store/store.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse, ToolUseHandle } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { CallEvents } from "./call-events.ts";
import { CallSpan } from "./call-span.ts";
import type { ExecutionContext } from "./context.ts";
import type { Denial } from "./gate.ts";
import { actionIdOf, deniedRow, failedRow, type ActionRow, type Lease } from "./ledger.ts";
import type { Deps } from "./options.ts";
import { awaitingOf, outcomeOf, unrecordedOf, type Outcome } from "./outcome.ts";
import { prepareInput, type PreparedInput } from "./prepared.ts";
import { quietly } from "../quietly.ts";
import type { Place } from "./schedule.ts";

/** A row and its version, as stored. */
export type ActionEntry = StoreEntry<ActionRow>;

/**
 * One call that is being executed: what is known of it so far, and the ways in which it can end without being run. Each
 * end is recorded, told to the listeners, and returned as the outcome; or `undefined` if another process has written in
 * between.
 */
export class Call {
  readonly deps: Deps;
  readonly use: ToolUse;
  readonly context: ExecutionContext;
  readonly place: Place;
  readonly runId: string;
  readonly actionId: string;
  readonly span: CallSpan;
  readonly events: CallEvents;
  /** To give the use its outcome; `undefined` if it already has one. */
  handle: ToolUseHandle | undefined;
  /** The executor's tool when it was last looked up; `undefined` if there was none. */
  tool: Tool | undefined;
  /** For that tool. */
  prepared!: PreparedInput;
  repeatOf: string | undefined;
  approval: ApprovalRequest | undefined;
  /** This execution has seen its record, or has written it. */
  wasOnRecord = false;
  /** True while it is certain that no handler has started. */
  isUnrun = false;
  /** Owner of its lease, unique to this execution. */
  readonly #owner = crypto.randomUUID();

  constructor(deps: Deps, use: ToolUse, context: ExecutionContext, place: Place) {
    this.deps = deps;
    this.use = use;
    this.context = context;
    this.place = place;
    this.runId = context.runId;
    this.actionId = actionIdOf(context.runId, use.invocationId);
    this.span = new CallSpan(deps.telemetry);
    this.events = new CallEvents(this);
  }

  /** The executor's tool now. */
  known(): Tool | undefined {
    const tool = this.deps.tools.get(this.use.name);
    return tool?.mode === "external" ? undefined : tool;
  }

  async prepare(): Promise<void> {
    this.tool = this.known();
    this.prepared = await prepareInput(this.use, this.tool);
  }

  get isAborted(): boolean {
    return this.context.signal?.aborted === true;
  }

  messageOf(error: unknown): string {
    return this.deps.errorMessage(error, this.tool);
  }

  /** What runs: the input that was given, or an edit of it by the person who approved it, validated at the time. */
  inputFor(request: ApprovalRequest | undefined): unknown {
    return request !== undefined && "editedInput" in request ? request.editedInput : this.prepared.input;
  }

  /** Begins its span. @param after what was planned or started before it, with what was approved then */
  begin(after?: ActionRow, request?: ApprovalRequest): void {
    const { runId, tool } = this;
    const input = this.inputFor(request);
    const { id: toolCallId, invocationId, name: toolName } = this.use;
    this.span.begin({ toolName, toolCallId, description: tool?.description, runId, invocationId, input }, after?.trace);
  }

  /** The row of a call that had none. */
  newRow(): ActionRow {
    const { use, context, repeatOf } = this;
    return {
      version: 1,
      runId: this.runId,
      invocationId: use.invocationId,
      requestId: context.requestId ?? null,
      toolName: use.name,
      toolCallId: use.id,
      principal: context.principal?.id ?? null,
      effect: this.tool?.effect ?? "write",
      status: "planned",
      digest: this.prepared.digest,
      attempts: 0,
      createdAt: Date.now(),
      ...(repeatOf !== undefined && { repeatOf }),
    };
  }

  lease(): Lease {
    return { owner: this.#owner, until: Date.now() + this.deps.leaseMs };
  }

  /** `undefined` if another process wrote in between. */
  async put(row: ActionRow, version: number): Promise<ActionEntry | undefined> {
    const entry = await this.deps.ledger.write(row, version);
    if (entry !== undefined) this.wasOnRecord = true;
    return entry;
  }

  /** @param version of the existing row, 0 for none: its writer has emitted the event, or died before it could */
  invoked(version?: number): void {
    this.events.invoked(version !== 0);
  }

  /** Emits events that the other process may not have emitted, or not yet. */
  catchUp({ attempts }: ActionRow): void {
    this.invoked();
    for (let attempt = 1; attempt <= attempts; attempt++) this.events.started(attempt, true);
  }

  // Ends --------------------------------------------------------------------------------------------------------------

  async deny(version: number, denial: Denial, before = this.newRow()): Promise<Outcome | undefined> {
    return this.#end(version, deniedRow(before, denial), denial.cause);
  }

  async fail(
    version: number,
    code: ToolErrorCode,
    message: string,
    cause?: unknown,
    before = this.newRow(),
  ): Promise<Outcome | undefined> {
    return this.#end(version, failedRow(before, code, message), cause);
  }

  async #end(version: number, row: ActionRow, cause?: unknown): Promise<Outcome | undefined> {
    if ((await this.put(row, version)) === undefined) return undefined;
    if (version > 0 && this.approval === undefined) await this.withdraw();
    this.invoked(version);
    return this.ended(row, undefined, cause);
  }

  /** The caller gave up before anything started. No decision is lost: executed again, the call continues from here. */
  async giveUp(version: number, planned = this.newRow(), request?: ApprovalRequest): Promise<Outcome | undefined> {
    if (request !== undefined) return awaitingOf(this, planned, request);
    const reason: unknown = this.context.signal?.reason;
    const message = aborted(this.use.name);
    // Then another process goes on with the run, and executes the call.
    const isTakenOver = isToolError(reason) && reason.code === "lease_lost";
    if (isTakenOver) return this.unrecorded("failed", "aborted", message, reason);
    return this.fail(version, "aborted", message, undefined, planned);
  }

  /** Nobody needs to decide about it any more. */
  async withdraw(): Promise<void> {
    await quietly(() => this.deps.approvals?.withdraw?.(this.runId, this.use.invocationId));
  }

  /** It is on record already. The process that wrote it may have died before it withdrew the request, or told of it. */
  async replay(row: ActionRow, cause?: unknown): Promise<Outcome> {
    if (row.attempts === 0) await this.withdraw();
    this.catchUp(row);
    this.events.ended(row, undefined, true);
    return outcomeOf(this, row, { replayed: true, cause });
  }

  /** This execution has just recorded it. */
  ended(row: ActionRow, durationMs?: number, cause?: unknown, recorded = true): Outcome {
    this.events.ended(row, durationMs, false);
    const outcome = outcomeOf(this, row, { cause, recorded });
    this.span.end(outcome, durationMs);
    return outcome;
  }

  /** The store does not answer, or its answer makes no sense. Nothing was run here. */
  unrecorded(status: "failed" | "unknown", code: ToolErrorCode, message: string, cause?: unknown): Outcome {
    const outcome = unrecordedOf(this, status, code, message, cause);
    if (this.handle !== undefined) unrecorded.set(this.use, outcome);
    this.span.end(outcome);
    return outcome;
  }

  /** The outcome that the use was given without a record, if this action has one. */
  get outcomeSoFar(): Outcome | undefined {
    const outcome = unrecorded.get(this.use);
    return outcome?.actionId === this.actionId ? { ...outcome, replayed: true } : undefined;
  }
}

/** Outcomes that uses were given while the store failed. They remain valid when it works again. */
const unrecorded = new WeakMap<ToolUse, Outcome>();

export function aborted(name: string): string {
  return `${name} was aborted before it was executed.`;
}
