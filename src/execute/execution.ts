import { isToolError, type ToolError, type ToolErrorCode } from "../errors.ts";
import { jsonIn } from "../json/index.ts";
import type { StoreEntry } from "../store/store.ts";
import { approvalRule } from "../tool/approval-rule.ts";
import type { Tool } from "../tool/tool.ts";
import { invalidInput, type ToolUse, type ToolUseHandle } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { askApproval, askedByOther, standingApproval, waitForDecision } from "./call-approval.ts";
import { policyContextOf, toolContextOf } from "./call-context.ts";
import { CallEvents } from "./call-events.ts";
import { awaitingOf, outcomeOf, settle, unrecordedOf, type AboutCall } from "./call-outcome.ts";
import { deniedRow, editOf, failedRow, newRow, startedRow, unknownRow } from "./call-row.ts";
import { CallSpan } from "./call-span.ts";
import type { ExecutionContext } from "./context.ts";
import type { Deps } from "./deps.ts";
import type { EndedCall } from "./ended-here.ts";
import { callDigest } from "./digest.ts";
import { judge, type Denial, type GateAnswer } from "./gate.ts";
import { actionsOf } from "./info.ts";
import { actionIdOf, type ActionRow, type Lease } from "./ledger.ts";
import { waitForOther } from "./other-process.ts";
import type { Outcome } from "./outcome.ts";
import type { Place } from "./schedule.ts";
import { runRecorded } from "./running.ts";
import { snapshot } from "./snapshot.ts";
import { unlessAborted } from "./unless-aborted.ts";

type Entry = StoreEntry<ActionRow>;
/** The result of a step: the outcome, or `undefined` if the row has changed and must be read again. */
type Step = Promise<Outcome | undefined>;

/**
 * The life of one call:
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
 * Each arrow is one compare-and-set of the row, so that one of several processes proceeds and the others see what it
 * did.
 */
export class Execution {
  readonly #deps: Deps;
  readonly #use: ToolUse;
  readonly #context: ExecutionContext;
  readonly #place: Place;
  readonly #actionId: string;
  /** Owner of the lease, unique to this execution. */
  readonly #owner = crypto.randomUUID();
  /** The executor's tool when it was last looked up; `undefined` if there was none. */
  #tool: Tool | undefined;
  #handle: ToolUseHandle | undefined;
  /** What is judged, shown and run: a snapshot, since its owner may still change the input. */
  #input: unknown;
  /** The digest of the input as it was given. */
  #given = "";
  #digest = "";
  /** The part of the input that could not be shown to a person. */
  #hiding: string | undefined;
  /** Why the input cannot run. */
  #problem: ToolError | undefined;
  #repeatOf: string | undefined;
  #approval: ApprovalRequest | undefined;
  readonly #span: CallSpan;
  readonly #events: CallEvents;
  /** True while it is certain that no handler has started. */
  #isUnrun = false;
  /** This execution has seen its record, or has written it. */
  #wasOnRecord = false;

  constructor(deps: Deps, use: ToolUse, context: ExecutionContext, place: Place) {
    this.#deps = deps;
    this.#use = use;
    this.#context = context;
    this.#place = place;
    this.#actionId = actionIdOf(context.runId, use.invocationId);
    this.#span = new CallSpan(deps.telemetry);
    this.#events = new CallEvents(deps, use, context, (error) => this.#messageOf(error));
  }

  /** @throws TypeError for a caller's mistake */
  async run(): Promise<Outcome> {
    try {
      // Taken, so that nobody else runs or answers it meanwhile. A use that has its outcome may be executed again.
      if (this.#use.state === "new") this.#handle = this.#use.take();
      else if (this.#use.state === "running") throw executedElsewhere(this.#use);
      const outcome = await this.#toOutcome();
      // A span may still be open if this attempt lost to another process, or the caller gave up.
      this.#span.end(outcome);
      if (this.#handle !== undefined) settle(this.#handle, outcome);
      return outcome;
    } catch (error) {
      this.#handle?.release();
      throw error;
    } finally {
      this.#place.leave();
      await this.#events.told();
    }
  }

  async #toOutcome(): Promise<Outcome> {
    try {
      await this.#prepare(this.#known());
      // It may have waited for days, and the tool may have changed.
      for (let known = this.#tool; ; known = this.#known()) {
        if (known !== this.#tool) await this.#prepare(known);
        this.#isUnrun = false;
        const entry = await this.#deps.ledger.get(this.#actionId);
        if (entry !== undefined) this.#wasOnRecord = true;
        else if (this.#wasOnRecord) return this.#unrecorded("unknown", "outcome_unknown", FORGOTTEN);
        this.#isUnrun = entry === undefined || entry.value.status === "planned";
        const outcome = await this.#next(entry).catch((error: unknown) => this.#lookAgain(entry, error));
        if (outcome !== undefined) return outcome;
      }
    } catch (error) {
      if (error instanceof CallerMistake) throw error;
      const why = this.#messageOf(error);
      if (!this.#isUnrun) {
        const ended = this.#deps.ended.get(this.#actionId);
        if (ended?.use === this.#use) return this.#outcomeOf(ended);
        return this.#unrecorded("unknown", "outcome_unknown", `${UNREADABLE}: ${why}`, error);
      }
      const code = isToolError(error) ? error.code : "execution_failed";
      return this.#unrecorded("failed", code, `${this.#use.name} was not executed: ${why}`, error);
    }
  }

  /** If this execution failed before it started anything, another process may have started the call since. */
  async #lookAgain(entry: Entry | undefined, error: unknown): Promise<undefined> {
    if (!this.#isUnrun) throw error;
    this.#isUnrun = false;
    const now = await this.#deps.ledger.get(this.#actionId);
    this.#isUnrun = now === undefined ? !this.#wasOnRecord : now.version === entry?.version;
    if (this.#isUnrun) throw error;
  }

  /** What can be known without the store: the input that would run, and its digest. */
  async #prepare(tool: Tool | undefined): Promise<void> {
    const use = this.#use;
    this.#problem = undefined;
    this.#tool = tool;
    // At once, since its owner may still change it.
    this.#input = snapshot(use.input);
    try {
      const given = await callDigest(use, this.#input);
      this.#given = given.digest;
      ({ digest: this.#digest, hiding: this.#hiding } = given);
      if (tool === undefined || tool.inputSchema === use.tool.inputSchema) return;
      // It was validated by a different definition than the one that runs. What a schema has transformed, another one
      // would refuse, or transform once more: as long as it is what came of the arguments, they are read again.
      const args = use.argsValue ?? jsonIn(use.argsText);
      const own = use.tool.inputSchema.validate(args);
      const isOwn = own.ok && (await callDigest(use, own.value)).digest === given.digest;
      const checked = tool.inputSchema.validate(isOwn ? args : this.#input);
      if (!checked.ok) throw invalidInput(use, checked.issues);
      this.#input = snapshot(checked.value);
      ({ digest: this.#digest, hiding: this.#hiding } = await callDigest(use, this.#input));
      if (!isOwn && this.#digest !== given.digest) throw invalidInput(use, [CHANGED]);
    } catch (error) {
      if (!isToolError(error)) throw error;
      this.#problem = error;
    }
  }

  #known(): Tool | undefined {
    const tool = this.#deps.tools.get(this.#use.name);
    return tool?.mode === "external" ? undefined : tool;
  }

  async #next(entry: Entry | undefined): Step {
    const problem = this.#problem;
    const isAbandoned = this.#context.abandon === true;
    if (isAbandoned && this.#handle !== undefined && (entry === undefined || entry.value.status === "planned")) {
      return this.#fail(entry?.version ?? 0, "aborted", aborted(this.#use.name), undefined, entry?.value);
    }
    if (entry === undefined) {
      if (this.#handle === undefined) return this.#outcomeSoFar();
      return problem === undefined ? this.#plan(0) : this.#fail(0, problem.code, problem.message, problem);
    }
    const { value: row } = entry;
    if (row.status === "planned" && this.#handle === undefined) return this.#outcomeSoFar();
    const isOtherTool = row.toolName !== this.#use.name;
    const isOtherInput = problem === undefined && row.digest !== this.#digest;
    // Planned, then changed: what was approved is not what would run.
    if (isOtherInput && !isOtherTool && row.status === "planned") return this.#plan(entry.version);
    if (isOtherTool || (isOtherInput && this.#context.uniqueIds !== true)) {
      throw new CallerMistake(
        `The invocation ${this.#use.invocationId} of run ${row.runId} is another call (${row.toolName}, other arguments). Give each turn of a run a runId of its own for read(), so that invocation ids are not used twice.`,
      );
    }
    this.#repeatOf = row.repeatOf;
    switch (row.status) {
      case "planned":
        if (this.#tool === undefined) return this.#deny(entry.version, unknownTool(this.#use.name), row);
        if (problem !== undefined) return this.#fail(entry.version, problem.code, problem.message, problem, row);
        return row.unasked === true ? this.#plan(entry.version) : this.#approve(entry);
      case "started": {
        const ended = this.#deps.ended.get(this.#actionId);
        if (ended?.owner === row.lease!.owner) return this.#recordNow(ended, entry);
        if (row.lease!.until <= Date.now()) return this.#takeOver(entry);
        return isAbandoned ? this.#unrecorded("unknown", "outcome_unknown", ELSEWHERE) : this.#waitForOther(entry);
      }
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
    this.#begin(undefined, this.#input);
    if (id !== null && id !== "") {
      this.#repeatOf = await this.#deps.history.repeatOf(runId, invocationId, id, this.#digest);
    }
    const tool = this.#tool;
    if (tool === undefined) return this.#deny(version, unknownTool(name));
    const answer = (await this.#deps.history.judge(tool, runId, this.#use)) ?? (await this.#judge(tool, this.#input));
    if (answer === undefined) return this.#giveUp(version);
    switch (answer.decision) {
      case "deny":
        return this.#deny(version, answer);
      case "allow":
        return this.#start(tool, version, this.#newRow(), this.#input);
      case "ask": {
        if (this.#deps.approvals === undefined) return this.#deny(version, nobodyToAsk(name));
        const trace = this.#span.link;
        const { message } = answer;
        const row = {
          ...this.#newRow(),
          ...(message !== undefined && { ask: message }),
          ...(trace !== undefined && { trace }),
        };
        const entry = await this.#put(row, version);
        if (entry === undefined) return undefined;
        this.#invoked(version);
        return this.#approve(entry);
      }
    }
  }

  /** `undefined`: the caller gave up before there was an answer. */
  #judge(tool: Tool, input: unknown): Promise<GateAnswer | undefined> {
    const actions = () => actionsOf(this.#deps.ledger, this.#context.runId);
    const call = { tool, input, repeatOf: this.#repeatOf, actions };
    const context = policyContextOf(this.#use, this.#context);
    return unlessAborted(() => judge(call, context, this.#deps.authorize), this.#context.signal);
  }

  async #deny(version: number, denial: Denial, before?: ActionRow): Step {
    const row = deniedRow(before ?? this.#newRow(), denial, this.#approval?.decidedBy);
    if ((await this.#put(row, version)) === undefined) return undefined;
    this.#invoked(version);
    return this.#ended(row);
  }

  // Approval ----------------------------------------------------------------------------------------------------------

  async #approve(entry: Entry): Step {
    const { value: row, version } = entry;
    const { approvals } = this.#deps;
    const tool = this.#tool!;
    if (approvals === undefined) return this.#deny(version, nobodyToAsk(tool.name), row);
    if (this.#hiding !== undefined) {
      return this.#fail(version, "not_serializable", notShown(tool.name, this.#hiding), undefined, row);
    }
    let request = await askApproval(this.#deps, this.#context, tool, row, this.#input);
    this.#invoked(version);
    if (request.grantId === undefined) this.#events.requested(request);
    if (request.status === "pending") {
      this.#span.end(awaitingOf(this.#about(), row, request));
      this.#place.leave();
      if (!(this.#context.waitForApproval ?? this.#deps.waitForApproval))
        return awaitingOf(this.#about(), row, request);
      const decided = await waitForDecision(this.#deps, this.#context, request);
      if (decided === undefined) return undefined;
      if (decided.status === "pending") return awaitingOf(this.#about(), row, decided);
      request = decided;
    }
    this.#approval = request;
    this.#events.decided(request);
    switch (request.status) {
      case "void": {
        // Changed meanwhile: asked again.
        const other = await askedByOther(this.#deps, this.#known(), request);
        return other && awaitingOf(this.#about(), row, other);
      }
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
    const input = this.#inputOf(request);
    this.#begin(row, input);
    if ("editedInput" in request) {
      // The edited input was not judged yet: an approver cannot do what the policy forbids.
      const answer = await this.#judge(tool, input);
      if (answer === undefined) return awaitingOf(this.#about(), row, request);
      if (answer.decision === "deny") return this.#deny(version, answer, { ...row, ...editOf(request) });
    }
    return this.#start(tool, version, row, input, request);
  }

  /** What the person saw, or the edit that replaced it, which was validated at the time. */
  #inputOf(request: ApprovalRequest): unknown {
    return "editedInput" in request ? request.editedInput : this.#input;
  }

  /** Whether the approval is for what would run now: the tool, its program or the given input may have changed since. */
  async #holds(request: ApprovalRequest, tool: Tool, planned: ActionRow): Promise<boolean> {
    // An input that no longer has a digest counts as changed.
    const given = await callDigest(this.#use, this.#use.input).catch(() => undefined);
    if (given?.digest !== this.#given) {
      await this.#prepare(this.#known());
      return false;
    }
    // Asking for a run that was forgotten meanwhile would make a request that nobody waits for.
    if (!(await this.#deps.ledger.holds(planned))) return false;
    const now = await askApproval(this.#deps, this.#context, tool, planned, this.#input);
    return now.id === request.id && now.status === "approved";
  }

  // Running -----------------------------------------------------------------------------------------------------------

  async #start(judged: Tool, version: number, planned: ActionRow, input: unknown, request?: ApprovalRequest): Step {
    await this.#enter();
    // The current tool: if it differs from the one that was shown, approval is asked for again.
    const tool = request === undefined ? judged : this.#known();
    if (tool === undefined) return undefined;
    if (this.#isAborted()) return this.#giveUp(version, planned, request);
    if (request !== undefined && !(await this.#holds(request, tool, planned))) return undefined;
    const denial = await this.#deps.history.claim(tool, planned.runId, planned.invocationId);
    if (denial !== undefined) return this.#deny(version, denial, version === 0 ? undefined : planned);
    const entry = await this.#put(startedRow(planned, this.#lease(), request), version);
    if (entry === undefined) return undefined;
    if (version === 0) this.#invoked(0);
    if (this.#isAborted()) {
      // The signal fired during that write, and nothing was started.
      const back = await this.#put(request === undefined ? { ...planned, unasked: true } : planned, entry.version);
      return back && this.#giveUp(back.version, planned, request);
    }
    return this.#run(tool, entry, input, request);
  }

  /** Waits for its turn, or until the caller gives up. */
  #enter(): Promise<void> {
    return unlessAborted(() => this.#place.enter(), this.#context.signal);
  }

  #isAborted(): boolean {
    return this.#context.signal?.aborted === true;
  }

  /** The caller gave up before anything started. No decision is lost: executed again, the call continues from here. */
  async #giveUp(version: number, planned = this.#newRow(), request?: ApprovalRequest): Step {
    if (request !== undefined) return awaitingOf(this.#about(), planned, request);
    const reason: unknown = this.#context.signal?.reason;
    const message = aborted(this.#use.name);
    // Then another process goes on with the run, and executes the call.
    const isTakenOver = isToolError(reason) && reason.code === "lease_lost";
    if (isTakenOver) return this.#unrecorded("failed", "aborted", message, reason);
    return this.#fail(version, "aborted", message, undefined, planned);
  }

  async #run(tool: Tool, entry: Entry, input: unknown, request: ApprovalRequest | undefined): Step {
    this.#isUnrun = false;
    const end = await runRecorded({
      deps: this.#deps,
      tool,
      entry,
      input,
      timeoutMs: this.#context.timeoutMs ?? tool.timeoutMs ?? this.#deps.timeoutMs,
      signal: this.#context.signal,
      events: this.#events,
      span: this.#span,
      messageOf: (error) => this.#messageOf(error),
      contextOf: (own) => toolContextOf(this.#use, this.#context, own),
    });
    if (end === undefined) return undefined;
    const { row, durationMs, cause, recorded } = end;
    if (row.status === "done" && request !== undefined) {
      await this.#deps.approvals?.succeeded(request.id).catch(() => {});
    }
    if (!recorded)
      this.#deps.ended.add(this.#actionId, { use: this.#use, owner: entry.value.lease!.owner, row, cause });
    return this.#ended(row, durationMs, cause, recorded);
  }

  // Others ------------------------------------------------------------------------------------------------------------

  async #waitForOther(entry: Entry): Step {
    this.#place.leave();
    if (await waitForOther(this.#deps.ledger, entry, this.#context.signal)) return undefined;
    return this.#unrecorded("unknown", "outcome_unknown", ELSEWHERE, this.#context.signal?.reason);
  }

  /**
   * The process that started it has died. A harmless call is run again; the outcome of a write is unknown, unless the
   * tool itself can find out.
   */
  async #takeOver({ value: row, version }: Entry): Step {
    const tool = this.#tool;
    const { approvalId } = row;
    const hadApproval = approvalId !== undefined;
    // Only what was approved may run, and nobody has approved a call whose tool needs approval only now.
    const isAllowed = tool !== undefined && (hadApproval ? row.digest === this.#digest : approvalRule(tool) !== true);
    const isRepeatable =
      isAllowed &&
      this.#problem === undefined &&
      this.#context.abandon !== true &&
      (isHarmless(row, tool) || this.#isRecalled(row, tool));
    const request = isRepeatable && hadApproval ? await standingApproval(this.#deps, tool, approvalId) : undefined;
    if (!isRepeatable || (hadApproval && request === undefined)) {
      const unknown = unknownRow(row);
      if ((await this.#put(unknown, version)) === undefined) return undefined;
      this.#catchUp(row);
      return this.#ended(unknown);
    }
    const input = request === undefined ? this.#input : this.#inputOf(request);
    this.#begin(row, input);
    await this.#enter();
    const again = { ...row, digest: this.#digest, attempts: row.attempts + 1, lease: this.#lease() };
    const entry = await this.#put(again, version);
    if (entry === undefined) {
      this.#place.leave();
      return undefined;
    }
    this.#catchUp(row);
    return this.#run(tool, entry, input, request);
  }

  #isRecalled(row: ActionRow, tool: Tool): boolean {
    const isWrite = row.effect === "write" && tool.effect === "write";
    return isWrite && tool.recalls === true && row.digest === this.#digest;
  }

  // Ends --------------------------------------------------------------------------------------------------------------

  async #fail(version: number, code: ToolErrorCode, message: string, cause?: unknown, before?: ActionRow): Step {
    const row = failedRow(before ?? this.#newRow(), code, message);
    if ((await this.#put(row, version)) === undefined) return undefined;
    this.#invoked(version);
    return this.#ended(row, undefined, cause);
  }

  /** @param version of the existing row, 0 for none: its writer has emitted the event, or died before it could */
  #invoked(version?: number): void {
    this.#events.invoked(this.#input, this.#repeatOf, version !== 0);
  }

  /** Emits events that the other process may not have emitted, or not yet. */
  #catchUp({ attempts }: ActionRow): void {
    this.#invoked();
    for (let attempt = 1; attempt <= attempts; attempt++) this.#events.started(attempt, true);
  }

  /** Already on record. The process that wrote it may have died before it emitted the end. */
  #replay(row: ActionRow, cause?: unknown): Outcome {
    this.#catchUp(row);
    this.#events.ended(row, undefined, true);
    return outcomeOf(this.#about(), row, { replayed: true, cause });
  }

  #ended(row: ActionRow, durationMs?: number, cause?: unknown, recorded = true): Outcome {
    this.#events.ended(row, durationMs, false);
    const outcome = outcomeOf(this.#about(), row, { cause, recorded });
    this.#span.end(outcome, durationMs);
    return outcome;
  }

  /** The store does not answer, or its answer makes no sense. Nothing was run here. */
  #unrecorded(status: "failed" | "unknown", code: ToolErrorCode, message: string, cause?: unknown): Outcome {
    const outcome = unrecordedOf(this.#about(), status, code, message, cause);
    if (this.#handle !== undefined) unrecorded.set(this.#use, outcome);
    this.#span.end(outcome);
    return outcome;
  }

  /** The use has an outcome without a record: it was settled while the store failed, or by somebody else. */
  #outcomeSoFar(): Outcome {
    const outcome = unrecorded.get(this.#use);
    if (outcome?.actionId !== this.#actionId) throw executedElsewhere(this.#use);
    return { ...outcome, replayed: true };
  }

  /**
   * This process has run it to its end, but the record does not show it: record that now instead of running it again.
   */
  async #recordNow(ended: EndedCall, { value, version }: Entry): Step {
    if (ended.row.status === "done") await this.#deps.history.succeeding(value);
    try {
      if ((await this.#put(ended.row, version)) === undefined) return undefined;
    } catch {
      return this.#outcomeOf(ended);
    }
    this.#deps.ended.delete(this.#actionId);
    return this.#replay(ended.row, ended.cause);
  }

  #outcomeOf({ row, cause }: EndedCall): Outcome {
    return outcomeOf(this.#about(), row, { replayed: true, cause, recorded: false });
  }

  #about(): AboutCall {
    return { use: this.#use, runId: this.#context.runId, approval: this.#approval, repeatOf: this.#repeatOf };
  }

  // What the parts are told -------------------------------------------------------------------------------------------

  #newRow(): ActionRow {
    const effect = this.#tool?.effect ?? "write";
    return newRow(this.#use, this.#context, { effect, digest: this.#digest, repeatOf: this.#repeatOf });
  }

  #lease(): Lease {
    return { owner: this.#owner, until: Date.now() + this.#deps.leaseMs };
  }

  /** `undefined` if another process wrote in between. */
  async #put(row: ActionRow, version: number): Promise<Entry | undefined> {
    const entry = await this.#deps.ledger.write(row, version);
    if (entry !== undefined) this.#wasOnRecord = true;
    return entry;
  }

  #messageOf(error: unknown): string {
    return this.#deps.errorMessage(error, this.#tool);
  }

  #begin(after: ActionRow | undefined, input: unknown): void {
    const { id, invocationId, name } = this.#use;
    const { runId } = this.#context;
    const call = { toolName: name, toolCallId: id, description: this.#tool?.description, runId, invocationId };
    this.#span.begin({ ...call, input }, after?.trace);
  }
}

/** Outcomes that uses were given while the store failed. They remain valid when it works again. */
const unrecorded = new WeakMap<ToolUse, Outcome>();

/** By `forget()`, or by a store that lost it. Without this check it would look like a new call. */
const FORGOTTEN = "Its record was deleted while it was executed, so it is not known what came of it.";
/** Nobody can tell whether it has been transformed once or twice. */
const CHANGED = { path: [], message: "another definition of the tool has read it, and this one makes another of it" };
const ELSEWHERE = "Another process executes it; this one does not wait any more.";
const UNREADABLE = "It is not known whether it was executed before. Do not call it again before you know";

/** Whether it may be run again. */
function isHarmless(row: ActionRow, tool: Tool): boolean {
  return row.effect !== "write" && tool.effect !== "write";
}

function aborted(name: string): string {
  return `${name} was aborted before it was executed.`;
}

function unknownTool(name: string): Denial {
  return { decision: "deny", reason: "unknown_tool", message: `There is no tool ${JSON.stringify(name)} here.` };
}

function nobodyToAsk(name: string): Denial {
  const message = `${name} needs approval, and there is nobody to ask: no ApprovalService was given as approvals.`;
  return { decision: "deny", reason: "approval_unavailable", message };
}

function notShown(name: string, what: string): string {
  return `${name} needs approval, and its input holds ${what}: nobody can see all of it, so nobody can approve it.`;
}

/** The only errors that `execute()` rejects with. */
class CallerMistake extends TypeError {}

function executedElsewhere(use: ToolUse): TypeError {
  return new CallerMistake(
    `Call ${use.id ?? use.invocationId} (${use.name}) is ${use.state} and this executor has no record of it: a use is executed by use.execute() or by an executor, not by both.`,
  );
}
