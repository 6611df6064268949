import type { ToolChoice } from "../tool/choice.ts";
import { ToolError } from "../errors.ts";
import type { ApprovalRequest } from "../execute/approvals/types.ts";
import type { ExecutionContext } from "../execute/context.ts";
import { isOffered } from "../execute/gate.ts";
import { Ledger } from "../execute/ledger.ts";
import type { Schedule } from "../execute/schedule.ts";
import { isStoreFailure } from "../store/errors.ts";
import { pause } from "../time.ts";
import type { ToolUse } from "../tool/use.ts";
import { Answers } from "./answers.ts";
import { addUse, callsLeft, overBudget, tooManyCalls } from "./budgets.ts";
import { resultMessages, type Settled } from "./calls.ts";
import type { Checkpoint, HeadChange } from "./checkpoint.ts";
import type { Emit, RunDeps } from "./deps.ts";
import type { CallRecord, Head, OutcomeRecord, Row, TurnRow } from "./format.ts";
import type { Inbox } from "./inbox.ts";
import { openOf } from "./result.ts";
import { cutError, cutTurns, executableCalls, failedTurns, isHandedOut, latest, openTurn } from "./rows.ts";
import { isDependent } from "./partition.ts";
import { cancelCalls, settleCalls, type SettleRequest } from "./settle.ts";
import { stopwatch } from "./stopwatch.ts";
import { askModel, isAborted } from "./turn.ts";
import type { RunContext, Standing } from "./types.ts";

/** Why a run stops for now. */
export type Stop = Standing & StopDetails;

interface StopDetails {
  /** The calls that the caller has to execute. */
  readonly external?: readonly CallRecord[];
  readonly approvals?: readonly ApprovalRequest[];
  /** What has come out of the calls of the turn that is open. */
  readonly outcomes?: readonly OutcomeRecord[];
  /** What is not stored yet: it is, together with the status. */
  readonly row?: Row;
  readonly change?: HeadChange;
}

/** One run at work: turn, calls, turn, calls, until the model calls nothing more or something has to be waited for. */
export class Loop {
  readonly #deps: RunDeps;
  readonly #checkpoint: Checkpoint;
  readonly #context: RunContext;
  readonly #tell: Emit;
  readonly #inbox: Inbox;
  /** The caller gives up, or another process has taken over. */
  readonly #signal: AbortSignal;
  /** The calls of the last turn, as they were read. */
  #uses: ReadonlyMap<string, ToolUse> = new Map();
  /** In which they run. */
  #schedule: Schedule | undefined;
  /** The calls that were begun while a turn went on, until they have ended. */
  readonly #early = new Set<Promise<unknown>>();
  /** How often in a row a turn was asked for in vain. */
  #attempt = 0;

  constructor(deps: RunDeps, checkpoint: Checkpoint, context: RunContext, inbox: Inbox, tell: Emit) {
    this.#deps = deps;
    this.#checkpoint = checkpoint;
    this.#context = context;
    this.#inbox = inbox;
    this.#tell = tell;
    const { signal } = context;
    this.#signal = signal === undefined ? checkpoint.lost : AbortSignal.any([checkpoint.lost, signal]);
  }

  /** Goes on until it has to stop. */
  async run(): Promise<Stop> {
    try {
      return await this.#untilStop();
    } finally {
      // A limit, or a store that fails, ends a run that has calls at work: whoever goes on with it begins a schedule of
      // its own, and knows nothing of this one.
      await Promise.all(this.#early);
    }
  }

  async #untilStop(): Promise<Stop> {
    for (;;) {
      const { rows } = this.#checkpoint;
      const last = rows.at(-1)!;
      if (this.#context.signal?.aborted === true)
        return { ...(await openOf(this.#deps, this.#checkpoint)), ...aborted(this.#context.signal) };
      const open = openTurn(rows);
      const stop =
        open !== undefined
          ? await this.#settle(open)
          : isOver(last)
            ? COMPLETED
            : (this.#limit() ?? (await this.#ask(last)));
      if (stop !== undefined) return stop;
    }
  }

  /** Gives up the calls that are open, so that the conversation can go on without them. */
  async cancelOpen(): Promise<void> {
    const open = openTurn(this.#checkpoint.rows);
    if (open === undefined) return;
    const { runId } = this.#head;
    const settled = await cancelCalls(this.#settleRequest(open), this.#head);
    // Nobody shall be asked any more, and where the store fails for that the calls are still open. Where a policy keeps
    // us from deciding, they are left: nothing comes of them.
    const { approvals } = this.#deps;
    for (const { id } of (await approvals?.list({ runId, status: "pending" })) ?? []) {
      await approvals!.decide(id, { decision: "deny", reason: "The conversation went on." }).catch((error: unknown) => {
        if (isStoreFailure(error)) throw error;
      });
    }
    await this.#putResults(settled, {});
  }

  /** Executes what can be executed, and waits for nothing. */
  async #settle(turn: TurnRow): Promise<Stop | undefined> {
    const calls = executableCalls(turn);
    const { head } = this.#checkpoint;
    const error = tooManyCalls(head.used, head.lifted, this.#deps.limits, calls);
    if (error !== undefined) return { status: "error", error };
    const elapsedMs = stopwatch();
    const settlement = await settleCalls(this.#settleRequest(turn));
    const activeMs = elapsedMs();
    if (!settlement.isOpen) {
      await this.#putResults(settlement.settled, { calls, activeMs });
      return undefined;
    }
    const { external } = settlement;
    // One that was approved is none that waits: its call was about to begin when the run was aborted.
    const approvals = settlement.approvals.filter(({ status: decision }) => decision === "pending");
    const outcomes = settlement.settled.map(({ record }) => record);
    const pending = external.map(({ invocationId: id, input, metadata }) => ({
      id,
      ...(isDependent({ metadata }) && { input }),
    }));
    const stands = { external, approvals, outcomes };
    const change = { used: addUse(this.#head.used, { activeMs }), pending };
    if (external.length > 0) return { ...stands, status: "awaiting_tool_results", change };
    if (approvals.length > 0) return { ...stands, status: "awaiting_approval", change };
    return { ...stands, ...aborted(this.#signal), change };
  }

  /** Whether the model may not be asked again. */
  #limit(): Stop | undefined {
    const { rows, head } = this.#checkpoint;
    const { limits, maxCutTurns } = this.#deps;
    const recent = rows.slice(head.liftedRows);
    const error = cutTurns(recent) > maxCutTurns ? cutError(recent) : overBudget(head.used, head.lifted, limits);
    return error && { status: "error", error };
  }

  /** One turn of the model. */
  async #ask(last: Row): Promise<Stop | undefined> {
    const { model, tools, executor, limits, maxCutTurns } = this.#deps;
    const { rows, head } = this.#checkpoint;
    const { conversationId, runId, epoch, used } = head;
    const turnId = `${runId}-${rows.length}-${epoch}-${this.#attempt}`;
    const turn = rows.filter(({ kind }) => kind === "turn").length;
    const behavior = latest(rows, "behavior");
    await this.#pause();
    if (this.#signal.aborted) return aborted(this.#signal);
    let left = callsLeft(used, head.lifted, limits);
    const schedule = executor.schedule();
    await this.#tell({ type: "turn.started", turn, attempt: this.#attempt });
    const asked = await askModel({
      model,
      messages: await this.#messages(),
      tools: tools.all().filter((tool) => isOffered(tool, behavior)),
      instructions: latest(rows, "instructions"),
      toolChoice: last.kind === "input" ? (last.toolChoice as ToolChoice | undefined) : undefined,
      signal: this.#signal,
      turnId,
      emit: this.#tell,
      // Its outcome is on the executor's record: whoever settles the calls of the turn finds it there.
      onEarly: (use) => left-- > 0 && this.#begin(use, schedule),
      onExternal: (use) => this.#inbox.note(conversationId, turnId, use),
    });
    const { row, error, hasBegun } = asked;
    const use = addUse(used, { steps: 1, tokens: row.usage?.totalTokens ?? 0, activeMs: row.durationMs });
    // What the caller was told of it may have begun: the model has to hear of that, though the run was aborted.
    const isKept = isAborted(row) ? row.calls.some(isHandedOut) : row.calls.length > 0;
    // A turn that is not stored is none: who has answered a call of it has answered one that nobody will ask about.
    const isNone = error !== undefined && !isKept;
    if (isNone) this.#inbox.forget(conversationId);
    const change = { used: use, requestId: row.requestId ?? null };
    if (isNone && isAborted(row)) return { ...aborted(this.#signal), change };
    if (isNone) {
      // Without calls there is nothing that the model would have to hear of.
      await this.#checkpoint.commit(change);
      if (!hasBegun || ++this.#attempt > maxCutTurns) return { status: "error", error };
      await this.#tell({ type: "turn.retried", turn, error });
      return undefined;
    }
    this.#attempt = 0;
    this.#uses = asked.uses;
    this.#schedule = schedule;
    if (isOver(row)) return { ...COMPLETED, row, change: { ...change, pending: [] } };
    await this.#checkpoint.append(row, { ...change, pending: [] });
    this.#inbox.forget(conversationId);
    return undefined;
  }

  #begin(use: ToolUse, schedule: Schedule): void {
    const begun: Promise<unknown> = this.#deps.executor
      .execute(use, this.#executionContext(), schedule)
      .catch(() => {})
      .finally(() => this.#early.delete(begun));
    this.#early.add(begun);
  }

  /** A provider that has failed, or a connection, gets time: longer with each turn in a row. */
  async #pause(): Promise<void> {
    const { retryDelayMs } = this.#deps;
    const failed = this.#attempt + failedTurns(this.#checkpoint.rows.slice(this.#head.liftedRows));
    if (failed === 0 || retryDelayMs === 0) return;
    // Not all of those that failed together shall ask together.
    await pause(Math.min(retryDelayMs * 2 ** (failed - 1) * (1 + Math.random()), MAX_DELAY_MS), this.#signal);
  }

  /** What goes to the model: at the last moment before it does, every call has its result. */
  async #messages(): Promise<unknown[]> {
    const { trim, model } = this.#deps;
    const all = this.#checkpoint.rows.flatMap(({ messages }) => messages);
    return model.pair((await trim?.(all)) ?? all);
  }

  async #putResults(settled: readonly Settled[], used: { calls?: number; activeMs?: number }): Promise<void> {
    const row: Row = {
      kind: "results",
      at: Date.now(),
      messages: resultMessages(this.#deps.model, settled),
      outcomes: settled.map(({ record }) => record),
    };
    await this.#checkpoint.append(row, { used: addUse(this.#head.used, used), pending: [] });
  }

  get #head(): Head {
    return this.#checkpoint.head;
  }

  #settleRequest(turn: TurnRow): SettleRequest {
    const { model, tools, executor, store } = this.#deps;
    const answers = new Answers(store, this.#head.conversationId, turn.turnId);
    return {
      turn,
      uses: this.#uses,
      schedule: this.#schedule,
      ledger: new Ledger(store),
      model,
      tools,
      executor,
      answers,
      context: this.#executionContext(),
    };
  }

  #executionContext(): ExecutionContext {
    const { principal, requestId, context } = this.#context;
    const { runId, conversationId } = this.#head;
    const behavior = latest(this.#checkpoint.rows, "behavior");
    const signal = this.#signal;
    const own = { runId, conversationId, behavior, principal, requestId, signal };
    return { ...context, ...own, waitForApproval: false, uniqueIds: true };
  }
}

/** Nothing comes behind it, its calls being settled. */
function isOver(row: Row): boolean {
  return row.kind === "turn" && row.calls.length === 0 && row.goesOn !== true;
}

const MAX_DELAY_MS = 60_000;

const COMPLETED: Stop = { status: "completed" };

function aborted(signal: AbortSignal): Stop {
  const cause: unknown = signal.reason;
  return {
    status: "error",
    error: new ToolError("aborted", "The run was aborted. resume() goes on with it.", { cause }),
  };
}
