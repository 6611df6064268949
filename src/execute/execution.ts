import { isToolError, ToolCallError, type ToolError, type ToolErrorCode } from "../errors.ts";
import type { StoreEntry } from "../store/store.ts";
import type { PolicyContext } from "../tool/policy.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { invalidInput, type ToolUse, type ToolUseHandle } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { runHandler, type HandlerEnd } from "./attempt.ts";
import type { ExecutionContext } from "./context.ts";
import type { Deps } from "./deps.ts";
import { definitionDigest, digestOf } from "./digest.ts";
import type { EventBody } from "./events.ts";
import { judge, type GateAnswer } from "./gate.ts";
import { safeMessage } from "./failure.ts";
import { actionsOf } from "./info.ts";
import { HeldAction } from "./held.ts";
import { actionIdOf, isConflict, type ActionRow, type UndoRow } from "./ledger.ts";
import type { Outcome } from "./outcome.ts";
import { jsonOf, outputOf, withMarks } from "./output.ts";
import type { Place } from "./schedule.ts";
import { summaryOf } from "./summary.ts";
import type { TelemetrySpan } from "./telemetry-types.ts";
import { undoneMessage } from "./undo.ts";

type Entry = StoreEntry<ActionRow>;
type Denial = Extract<GateAnswer, { readonly decision: "deny" }>;
/** What a step comes to: the outcome; `undefined` when the row has changed and has to be looked at again. */
type Step = Promise<Outcome | undefined>;

/**
 * One call on its way:
 *
 * ```
 * (no row) ─ gate ─┬─ denied
 *                  ├─ planned ─ approval ─┬─ denied
 *                  │                      ▼
 *                  └───────────────────► started ─┬─ done
 *                                                 ├─ failed
 *                                                 └─ unknown   (its process died, and it may not be run again)
 * ```
 *
 * Each arrow is one compare-and-set of the row, so that of several processes one goes on and the others see what it did.
 */
export class Execution {
  readonly #deps: Deps;
  readonly #use: ToolUse;
  readonly #context: ExecutionContext;
  readonly #place: Place;
  readonly #actionId: string;
  /** As this executor knows it; `undefined` when it does not. */
  readonly #tool: Tool | undefined;
  #handle: ToolUseHandle | undefined;
  #input: unknown;
  #digest = "";
  #repeatOf: string | undefined;
  #approval: ApprovalRequest | undefined;
  #span: TelemetrySpan | undefined;
  readonly #telling: Promise<void>[] = [];

  constructor(deps: Deps, use: ToolUse, context: ExecutionContext, place: Place) {
    this.#deps = deps;
    this.#use = use;
    this.#context = context;
    this.#place = place;
    this.#actionId = actionIdOf(context.runId, use.invocationId);
    this.#tool = deps.tools.get(use.name);
  }

  /** @throws TypeError for a caller's mistake */
  async run(): Promise<Outcome> {
    try {
      // Taken, so that nobody else runs or answers it meanwhile. One that has its outcome may be asked for again.
      if (this.#use.state === "new") this.#handle = this.#use.take();
      else if (this.#use.state === "running") throw executedElsewhere(this.#use);
      const outcome = await this.#toOutcome();
      this.#settle(outcome);
      return outcome;
    } catch (error) {
      this.#handle?.release();
      throw error;
    } finally {
      this.#place.finish();
      await Promise.all(this.#telling);
    }
  }

  async #toOutcome(): Promise<Outcome> {
    let hasRead = false;
    try {
      const problem = await this.#prepare();
      for (;;) {
        const entry = await this.#deps.ledger.get(this.#actionId);
        hasRead = true;
        const outcome = await this.#next(entry, problem);
        if (outcome !== undefined) return outcome;
      }
    } catch (error) {
      if (error instanceof CallerMistake) throw error;
      const why = this.#messageOf(error);
      // Where the record can not be read, it may have been run before.
      if (!hasRead || (isToolError(error) && error.code === "outcome_unknown")) {
        return this.#unrecorded("unknown", "outcome_unknown", `${UNREADABLE}: ${why}`, error);
      }
      const code = isToolError(error) ? error.code : "execution_failed";
      return this.#unrecorded("failed", code, `${this.#use.name} was not executed: ${why}`, error);
    }
  }

  /** What can be known without the store: the input that would run, and its digest. */
  async #prepare(): Promise<ToolError | undefined> {
    const use = this.#use;
    this.#input = use.input;
    const tool = this.#tool;
    try {
      if (tool !== undefined && tool !== use.tool && tool.inputSchema !== use.tool.inputSchema) {
        // Read with another definition than the one that runs.
        const checked = tool.inputSchema.validate(use.input);
        if (!checked.ok) return invalidInput(use, checked.issues);
        this.#input = checked.value;
      }
      this.#digest = await digestOf({ tool: use.name, input: this.#input });
      return undefined;
    } catch (error) {
      if (isToolError(error)) return error;
      throw error;
    }
  }

  async #next(entry: Entry | undefined, problem: ToolError | undefined): Step {
    if (entry === undefined) {
      if (this.#handle === undefined) throw executedElsewhere(this.#use);
      return problem === undefined ? this.#plan(0) : this.#fail(0, problem.code, problem.message, problem);
    }
    const { value: row } = entry;
    if (row.status === "planned" && this.#handle === undefined) throw executedElsewhere(this.#use);
    if (row.toolName !== this.#use.name || (problem === undefined && row.digest !== this.#digest)) {
      // Planned and changed since: what was approved is not what would run.
      if (row.status === "planned" && row.toolName === this.#use.name) return this.#plan(entry.version);
      throw new CallerMistake(
        `The invocation ${this.#use.invocationId} of run ${row.runId} is another call (${row.toolName}, other arguments). Give each turn of a run a runId of its own for read(), so that invocation ids are not used twice.`,
      );
    }
    this.#repeatOf = row.repeatOf;
    switch (row.status) {
      case "planned":
        if (this.#tool === undefined) return this.#deny(entry.version, unknownTool(this.#use.name), row);
        return this.#approve(entry);
      case "started":
        return row.lease!.until > Date.now() ? this.#waitForOther(entry) : this.#takeOver(entry);
      case "done":
      case "failed":
      case "denied":
      case "unknown":
        return this.#replay(row);
    }
  }

  // The gate ----------------------------------------------------------------------------------------------------------

  async #plan(version: number): Step {
    const { runId } = this.#context;
    const { id, invocationId, name } = this.#use;
    this.#begin(undefined);
    if (id !== null && id !== "") {
      this.#repeatOf = await this.#deps.history.repeatOf(runId, invocationId, id, this.#digest);
    }
    const tool = this.#tool;
    if (tool === undefined) return this.#deny(version, unknownTool(name));
    const actions = () => actionsOf(this.#deps.ledger, runId);
    const call = { tool, input: this.#input, repeatOf: this.#repeatOf, actions };
    const answer =
      (await this.#deps.history.judge(tool, runId, invocationId)) ??
      (await judge(call, this.#policyContext(), this.#deps.authorize));
    switch (answer.decision) {
      case "deny":
        return this.#deny(version, answer);
      case "allow":
        return this.#start(tool, version, this.#newRow("planned"), this.#input);
      case "ask": {
        if (this.#deps.approvals === undefined) {
          const message = `${name} needs approval, and there is nobody to ask.`;
          return this.#deny(version, { decision: "deny", reason: "approval_unavailable", message });
        }
        const trace = this.#span?.link;
        const row = { ...this.#newRow("planned"), ask: answer.message, ...(trace !== undefined && { trace }) };
        const entry = await this.#put(row, version);
        if (entry === undefined) return undefined;
        this.#tellInvoked(false);
        return this.#approve(entry);
      }
    }
  }

  async #deny(version: number, denial: Denial, before?: ActionRow): Step {
    const { reason, message, allowed } = denial;
    const { decidedBy } = this.#approval ?? {};
    const code: ToolErrorCode = reason === "unknown_tool" ? "unknown_tool" : "denied";
    const row: ActionRow = {
      ...(before ?? this.#newRow("denied")),
      status: "denied",
      endedAt: Date.now(),
      error: { code, message },
      reason,
      ...(allowed !== undefined && { allowed }),
      ...(typeof decidedBy === "string" && { decidedBy }),
    };
    if ((await this.#put(row, version)) === undefined) return undefined;
    if (before === undefined) this.#tellInvoked(false);
    return this.#ended(row);
  }

  // Approval ----------------------------------------------------------------------------------------------------------

  async #approve(entry: Entry): Step {
    const { value: row, version } = entry;
    const { approvals } = this.#deps;
    const tool = this.#tool!;
    if (approvals === undefined) {
      const message = `${tool.name} needs approval, and there is nobody to ask.`;
      return this.#deny(version, { decision: "deny", reason: "approval_unavailable", message }, row);
    }
    let request = await this.#ask(row);
    if (request.status === "pending") {
      this.#tell(this.#requested(request), true);
      this.#endSpan(this.#awaiting(row, request));
      this.#place.leave();
      if (!(this.#context.waitForApproval ?? this.#deps.waitForApproval)) return this.#awaiting(row, request);
      request = await this.#decisionOf(request);
      if (request.status === "pending") return this.#awaiting(row, request);
    }
    this.#approval = request;
    this.#tell(decided(request), true);
    switch (request.status) {
      case "void":
        return undefined; // changed meanwhile: asked again
      case "denied": {
        const why = request.reason === undefined ? "." : `: ${request.reason}`;
        const message = `${tool.name} was denied by a person${why}`;
        return this.#deny(version, { decision: "deny", reason: "approval_denied", message }, row);
      }
      case "expired": {
        const message = `${tool.name} needs approval, and nobody decided in time. It was not executed.`;
        return this.#deny(version, { decision: "deny", reason: "approval_expired", message }, row);
      }
      case "approved":
        break;
    }
    this.#begin(row);
    return this.#start(tool, version, row, this.#inputOf(request), request);
  }

  /** What the person saw, or what they wrote in its place: it was checked when they did. */
  #inputOf(request: ApprovalRequest): unknown {
    return "editedInput" in request ? request.editedInput : this.#input;
  }

  /** The same ask finds the same request; after a change of input, tool or executable it makes a new one. */
  async #ask(row: ActionRow): Promise<ApprovalRequest> {
    const tool = this.#tool!;
    const { runId, principal, approval } = this.#context;
    const executable = await this.#deps.executableDigest(tool);
    return this.#deps.approvals!.request({
      runId,
      invocationId: this.#use.invocationId,
      toolName: tool.name,
      input: json(this.#input),
      definitionDigest: await definitionDigest(tool, executable ?? ""),
      message: row.ask!,
      requestedBy: principal,
      ...approval,
    });
  }

  async #decisionOf(request: ApprovalRequest): Promise<ApprovalRequest> {
    const { approvalTimeoutMs, signal } = this.#context;
    try {
      return await this.#deps.approvals!.await(request.id, { timeoutMs: approvalTimeoutMs, signal });
    } catch (error) {
      // Nobody waits any more; the request stays.
      if (isToolError(error) && error.code === "aborted") return request;
      throw error;
    }
  }

  #awaiting(row: ActionRow, approval: ApprovalRequest): Outcome {
    this.#approval = approval;
    return { ...this.#base(row.attempts, false), status: "awaiting_approval", approval };
  }

  // Running -----------------------------------------------------------------------------------------------------------

  async #start(tool: Tool, version: number, planned: ActionRow, input: unknown, request?: ApprovalRequest): Step {
    await this.#place.enter();
    if (this.#context.signal?.aborted === true) {
      return this.#fail(version, "aborted", "It was aborted before it was executed.", undefined, planned);
    }
    if (request !== undefined) {
      // Between the decision and now the input object, the tool or its program may have changed.
      const now = await this.#ask(planned);
      const isSame = (await digestOf({ tool: tool.name, input: this.#input })) === this.#digest;
      if (now.id !== request.id || now.status !== "approved" || !isSame) {
        if (!isSame) await this.#prepare();
        return undefined;
      }
    }
    const denial = await this.#deps.history.claim(tool, planned.runId, planned.invocationId);
    if (denial?.decision === "deny") return this.#deny(version, denial, version === 0 ? undefined : planned);
    const now = Date.now();
    const row: ActionRow = {
      ...planned,
      status: "started",
      attempts: 1,
      startedAt: now,
      lease: { owner: this.#deps.owner, until: now + this.#deps.leaseMs },
      ...(request !== undefined && { approvalId: request.id }),
    };
    const entry = await this.#put(row, version);
    if (entry === undefined) return undefined;
    if (version === 0) this.#tellInvoked(false);
    return this.#run(tool, entry, input, request);
  }

  /** The row says that an attempt has begun; now it begins. */
  async #run(tool: Tool, entry: Entry, input: unknown, request: ApprovalRequest | undefined): Step {
    const held = new HeldAction(this.#deps.ledger, entry);
    const { attempts } = entry.value;
    const startedAt = performance.now();
    let undoData: unknown;
    this.#tell({ type: "tool.started", attempt: attempts });
    const run = () =>
      runHandler({
        handler: (attempt, signal) =>
          tool.execute!(
            input,
            this.#toolContext(attempt, signal, (data) => void (undoData = data)),
          ),
        beforeAttempt: async (attempt) => {
          await held.write((row) => ({ ...row, attempts: attempt }));
          this.#tell({ type: "tool.started", attempt });
        },
        onProgress: (value) => this.#progress(value),
        onLate: (end) => void this.#tellLate(end),
        firstAttempt: attempts,
        retries: tool.retries ?? 0,
        retryDelayMs: this.#deps.retryDelayMs,
        timeoutMs: this.#context.timeoutMs ?? tool.timeoutMs ?? this.#deps.timeoutMs,
        signal: this.#context.signal,
      });
    const running = this.#inSpan(run);
    held.beat(this.#deps.leaseMs, running.lose);
    const end = await running.ended;
    held.stopBeating();
    this.#isOver = true;
    const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
    const ended = this.#endOf(tool, end, input, undoData);
    let recorded = true;
    try {
      await held.write((row) => ({ ...withoutLease(row), ...ended.change, endedAt: Date.now() }));
    } catch (error) {
      if (isConflict(error)) {
        // Another process has taken this one for dead, and its word counts.
        if (end.ok || end.code === "execution_failed") await this.#tellLate(end);
        return undefined;
      }
      // It is known here what came of it, and here alone.
      recorded = false;
    }
    const row: ActionRow = { ...withoutLease(held.row), ...ended.change };
    const succeeded = row.status === "done" && request?.status === "approved";
    if (succeeded) await this.#deps.approvals?.succeeded(request.id).catch(() => {});
    return this.#ended(row, durationMs, ended.cause, recorded);
  }

  /** What the row says of a handler's end. */
  #endOf(
    tool: Tool,
    end: HandlerEnd,
    input: unknown,
    undoData: unknown,
  ): { readonly change: Partial<ActionRow>; readonly cause?: unknown } {
    if (!end.ok) {
      const { code, message } = this.#failureOf(tool, end);
      return { change: { status: "failed", error: { code, message } }, cause: end.cause };
    }
    const undo = tool.undo === undefined ? {} : { undo: this.#undoRow(tool, input, undoData) };
    try {
      const { value, marks } = outputOf(tool, end.value, this.#deps.maxOutputBytes);
      return { change: { status: "done", output: value, ...(marks.length > 0 && { marks }), ...undo } };
    } catch (cause) {
      if (!isToolError(cause)) throw cause;
      // The handler has done what it does: that can be undone, though what it says about it can not be shown.
      const error = { code: cause.code, message: `${tool.name} was executed, but ${cause.message}.` };
      return { change: { status: "failed", error, ...undo }, cause };
    }
  }

  #failureOf(tool: Tool, end: Extract<HandlerEnd, { ok: false }>): { code: ToolErrorCode; message: string } {
    const mayHave = tool.effect === "write" ? " It may have had its effect nevertheless." : "";
    switch (end.code) {
      case "timeout": {
        const timeoutMs = this.#context.timeoutMs ?? tool.timeoutMs ?? this.#deps.timeoutMs;
        return { code: "timeout", message: `${tool.name} did not end within ${timeoutMs} ms.${mayHave}` };
      }
      case "lost":
      case "aborted":
        return { code: "aborted", message: `${tool.name} was aborted while it ran.${mayHave}` };
      case "execution_failed": {
        const code = isToolError(end.cause) ? end.cause.code : "execution_failed";
        return { code, message: `Tool ${tool.name} failed: ${this.#messageOf(end.cause)}` };
      }
    }
  }

  #undoRow(tool: Tool, input: unknown, data: unknown): UndoRow {
    const expiresAt = Date.now() + (tool.undoTtlMs ?? 3_600_000);
    try {
      const text = data === undefined ? undefined : jsonOf(data, this.#deps.maxOutputBytes);
      return {
        state: "available",
        expiresAt,
        input: json(input),
        ...(text !== undefined && { data: JSON.parse(text) }),
      };
    } catch {
      const message = `What ${tool.name} gave to undo it with can not be kept, so it can not be undone.`;
      return { state: "undo_failed", expiresAt, error: { code: "not_undoable", message } };
    }
  }

  // Others ------------------------------------------------------------------------------------------------------------

  /** Another process is at it: its outcome, or the end of its lease. */
  async #waitForOther({ value: row, version }: Entry): Step {
    this.#place.leave();
    const { signal } = this.#context;
    let wake!: () => void;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const timer = setTimeout(wake, Math.max(10, row.lease!.until - Date.now() + 10));
    signal?.addEventListener("abort", wake);
    const unwatch = await this.#deps.ledger.watch(this.#actionId, wake);
    try {
      // It may have ended before the watch began.
      const now = await this.#deps.ledger.get(this.#actionId);
      if (now?.version === version && signal?.aborted !== true) await woken;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      await unwatch();
    }
    if (signal?.aborted !== true) return undefined;
    return this.#unrecorded(
      "unknown",
      "outcome_unknown",
      "Another process executes it; this one does not wait any more.",
    );
  }

  /** Whoever began it has died. What may be run again is; a write may have had its effect, and nobody knows. */
  async #takeOver({ value: row, version }: Entry): Step {
    const tool = this.#tool;
    const isRepeatable = row.effect !== "write" && tool !== undefined && tool.effect !== "write";
    const request = isRepeatable && row.approvalId !== undefined ? await this.#ask(row) : undefined;
    const isStillApproved = row.approvalId === undefined || request?.status === "approved";
    if (!isRepeatable || !isStillApproved) {
      const message = `${row.toolName} was started, and it is not known what came of it. It may have had its effect: look before you call it again.`;
      const unknown: ActionRow = {
        ...withoutLease(row),
        status: "unknown",
        endedAt: Date.now(),
        error: { code: "outcome_unknown", message },
      };
      if ((await this.#put(unknown, version)) === undefined) return undefined;
      this.#tellInvoked(true);
      return this.#ended(unknown);
    }
    this.#begin(row);
    await this.#place.enter();
    const lease = { owner: this.#deps.owner, until: Date.now() + this.#deps.leaseMs };
    const entry = await this.#put({ ...row, attempts: row.attempts + 1, lease }, version);
    if (entry === undefined) {
      this.#place.leave();
      return undefined;
    }
    this.#tellInvoked(true);
    return this.#run(tool, entry, request === undefined ? this.#input : this.#inputOf(request), request);
  }

  // Ends --------------------------------------------------------------------------------------------------------------

  async #fail(version: number, code: ToolErrorCode, message: string, cause?: unknown, before?: ActionRow): Step {
    const row: ActionRow = {
      ...(before ?? this.#newRow("failed")),
      status: "failed",
      endedAt: Date.now(),
      error: { code, message },
    };
    if ((await this.#put(row, version)) === undefined) return undefined;
    if (version === 0) this.#tellInvoked(false);
    return this.#ended(row, undefined, cause);
  }

  /** On record already. Whoever wrote it may have died before it was told. */
  #replay(row: ActionRow): Outcome {
    this.#tell(endEvent(row, 0, this.#summaryOf("output", row.output)), true);
    return this.#outcomeOf(row, true, undefined, true);
  }

  #ended(row: ActionRow, durationMs?: number, cause?: unknown, recorded = true): Outcome {
    this.#tell(endEvent(row, durationMs ?? 0, this.#summaryOf("output", row.output)));
    const outcome = this.#outcomeOf(row, false, cause, recorded);
    this.#endSpan(outcome, durationMs);
    return outcome;
  }

  #outcomeOf(row: ActionRow, replayed: boolean, cause: unknown, recorded: boolean): Outcome {
    const base = this.#base(row.attempts, replayed);
    if (row.status === "done") {
      const { undo } = row;
      const output = replayed ? withMarks(row.output, row.marks ?? []) : row.output;
      const undoableUntil = undo?.state === "available" ? undo.expiresAt : null;
      const undone = undo?.state === "undone";
      return { ...base, status: "completed", output, undoableUntil, undone, recorded };
    }
    const { code, message } = row.error!;
    const error = this.#error(code as ToolErrorCode, message, cause);
    if (row.status === "denied") return { ...base, status: "denied", error, reason: row.reason ?? "policy" };
    return { ...base, status: row.status === "unknown" ? "unknown" : "failed", error };
  }

  /** The store does not answer, or what it says is not to be understood. Nothing was run. */
  #unrecorded(status: "failed" | "unknown", code: ToolErrorCode, message: string, cause?: unknown): Outcome {
    const outcome: Outcome = { ...this.#base(0, false), status, error: this.#error(code, message, cause) };
    this.#endSpan(outcome);
    return outcome;
  }

  #base(attempts: number, replayed: boolean) {
    const { invocationId, name } = this.#use;
    return {
      actionId: this.#actionId,
      invocationId,
      toolName: name,
      use: this.#use,
      replayed,
      attempts,
      ...(this.#approval !== undefined && { approval: this.#approval }),
      ...(this.#repeatOf !== undefined && { repeatOf: this.#repeatOf }),
    };
  }

  #error(code: ToolErrorCode, message: string, cause: unknown): ToolCallError {
    const issues = isToolError(cause) ? cause.issues : undefined;
    return new ToolCallError(code, message, this.#use, { issues, cause });
  }

  /** The use hears of it, once. */
  #settle(outcome: Outcome): void {
    const handle = this.#handle;
    if (handle === undefined) return;
    if (outcome.status === "awaiting_approval") handle.release();
    else if (outcome.status !== "completed") handle.fail(outcome.error);
    else if (outcome.undone) {
      handle.finish({ undone: true, message: undoneMessage(outcome.toolName), output: outcome.output });
    } else handle.finish(outcome.output);
  }

  // What the parts are told -------------------------------------------------------------------------------------------

  #newRow(status: ActionRow["status"]): ActionRow {
    const { runId, requestId = null, principal } = this.#context;
    const { invocationId, id, name } = this.#use;
    return {
      version: 1,
      runId,
      invocationId,
      requestId,
      toolName: name,
      toolCallId: id,
      principal: principal?.id ?? null,
      effect: this.#tool?.effect ?? "write",
      status,
      digest: this.#digest,
      attempts: 0,
      createdAt: Date.now(),
      ...(this.#repeatOf !== undefined && { repeatOf: this.#repeatOf }),
    };
  }

  /** `undefined` when another process has written in between. */
  async #put(row: ActionRow, version: number): Promise<Entry | undefined> {
    try {
      return await this.#deps.ledger.put(row, version);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  #policyContext(): PolicyContext {
    const { behavior, principal } = this.#context;
    const { invocationId, id, name } = this.#use;
    const { runId } = this.#context;
    return { ...extras(this.#context), behavior, principal, runId, invocationId, toolCallId: id, toolName: name };
  }

  #toolContext(attempt: number, signal: AbortSignal, undoData: (data: unknown) => void): ToolContext {
    const { requestId } = this.#context;
    return {
      ...this.#policyContext(),
      requestId,
      toolCallId: this.#use.id,
      toolName: this.#use.name,
      invocationId: this.#use.invocationId,
      idempotencyKey: this.#actionId,
      attempt,
      signal,
      progress: (value) => this.#progress(value),
      undoData,
    };
  }

  #isOver = false;
  #waitingProgress = 0;

  /** Bounded: a handler that tells faster than it can be stored, and does not wait, is not heard for a while. */
  async #progress(value: unknown): Promise<void> {
    if (this.#isOver || this.#waitingProgress >= MAX_WAITING_PROGRESS) return;
    this.#waitingProgress++;
    await this.#tell({ type: "tool.progress", progressSummary: this.#summaryOf("progress", value) });
    this.#waitingProgress--;
  }

  /** What of an error may be heard. */
  #messageOf(error: unknown): string {
    try {
      if (this.#tool !== undefined) return this.#deps.errorMessage(error, this.#tool);
    } catch {
      // The function of the application failed: the default will do.
    }
    return safeMessage(error);
  }

  #tellInvoked(once: boolean): void {
    const payloadSummary = this.#summaryOf("input", this.#input);
    const repeatOf = this.#repeatOf;
    this.#tell({ type: "tool.invoked", payloadSummary, ...(repeatOf !== undefined && { repeatOf }) }, once);
  }

  async #tellLate(end: HandlerEnd): Promise<void> {
    if (end.ok) await this.#tell({ type: "tool.late", result: "completed" });
    else {
      const errorMessage = this.#messageOf(end.cause);
      await this.#tell({ type: "tool.late", result: "failed", errorMessage });
    }
  }

  #requested({ id, message, input, expiresAt }: ApprovalRequest): EventBody {
    const payloadSummary = this.#summaryOf("input", input);
    return { type: "approval.requested", approvalId: id, message, payloadSummary, expiresAt };
  }

  #tell(body: EventBody, once = false): Promise<void> {
    const { runId, requestId = null } = this.#context;
    const { name: toolName, invocationId, id: toolCallId } = this.#use;
    const action = { toolName, actionId: this.#actionId, runId, invocationId, toolCallId, requestId };
    const told = this.#deps.emitter.emit(action, body, once);
    this.#telling.push(told);
    return told;
  }

  #summaryOf(kind: "input" | "output" | "progress", value: unknown): string {
    return summaryOf(kind, value, this.#deps.redact);
  }

  // Telemetry: what it throws changes nothing -------------------------------------------------------------------------

  #begin(after: ActionRow | undefined): void {
    if (this.#span !== undefined) return;
    const { id, invocationId, name } = this.#use;
    const { runId } = this.#context;
    const call = { toolName: name, toolCallId: id, description: this.#tool?.description, runId, invocationId };
    try {
      this.#span = this.#deps.telemetry?.begin({ ...call, input: this.#input }, after?.trace);
    } catch {
      this.#span = undefined;
    }
  }

  /** Once, also if the telemetry fails before or after. */
  #inSpan<T>(run: () => T): T {
    let running: { readonly value: T } | undefined;
    const begin = () => (running ??= { value: run() });
    try {
      this.#span?.run(begin);
    } catch {
      // Begun in its span, or below.
    }
    return begin().value;
  }

  #endSpan(outcome: Outcome, durationMs?: number): void {
    try {
      this.#span?.end(outcome, durationMs);
    } catch {
      // It is over in any case.
    }
    this.#span = undefined;
  }
}

const UNREADABLE = "It is not known whether it was executed before. Do not call it again before you know";
const MAX_WAITING_PROGRESS = 100;

/** The event of an action's end, from its row alone: another process may have to tell it. */
function endEvent(row: ActionRow, durationMs: number, outputSummary: string): EventBody {
  const took = durationMs || Math.max(0, (row.endedAt ?? 0) - (row.startedAt ?? row.endedAt ?? 0));
  if (row.status === "done") return { type: "tool.completed", durationMs: took, outputSummary };
  const { code, message } = row.error!;
  if (row.status !== "denied") {
    return { type: "tool.failed", durationMs: took, errorCode: code, errorMessage: message };
  }
  const { reason = "policy", allowed, decidedBy } = row;
  return {
    type: "tool.denied",
    reason,
    message,
    ...(allowed !== undefined && { allowed }),
    ...(decidedBy !== undefined && { decidedBy }),
  };
}

function decided({ id, status, decidedBy, reason }: ApprovalRequest): EventBody {
  return {
    type: "approval.decided",
    approvalId: id,
    decision: status === "pending" ? "void" : status,
    decidedBy,
    ...(reason !== undefined && { reason }),
  };
}

function unknownTool(name: string): Denial {
  return { decision: "deny", reason: "unknown_tool", message: `There is no tool ${JSON.stringify(name)} here.` };
}

/** The only errors that `execute()` rejects with. */
class CallerMistake extends TypeError {}

function executedElsewhere(use: ToolUse): TypeError {
  return new CallerMistake(
    `Call ${use.id ?? use.invocationId} (${use.name}) is ${use.state} and this executor has no record of it: a use is executed by use.execute() or by an executor, not by both.`,
  );
}

function withoutLease({ lease: _, ...row }: ActionRow): ActionRow {
  return row;
}

/** What the application added to the context. */
function extras(context: ExecutionContext): Record<string, unknown> {
  const { signal: _s, timeoutMs: _t, waitForApproval: _w, approvalTimeoutMs: _a, approval: _p, ...rest } = context;
  return rest;
}

/** The JSON form of what has a digest: what is shown and kept. */
function json(value: unknown): unknown {
  return JSON.parse(jsonOf(value, Infinity));
}
