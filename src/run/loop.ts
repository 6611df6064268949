import { ToolError } from "../errors.ts";
import type { ApprovalRequest } from "../execute/approvals/types.ts";
import type { ExecutionContext } from "../execute/context.ts";
import type { Schedule } from "../execute/schedule.ts";
import { unlessAborted } from "../execute/unless-aborted.ts";
import { pause, stopwatch } from "../time.ts";
import type { ToolUse } from "../tool/use.ts";
import { Answers } from "./answers.ts";
import { addUse, callsLeft, overBudget, tooManyCalls } from "./budgets.ts";
import { resultMessages, type Settled } from "./calls.ts";
import type { Checkpoint, HeadChange } from "./checkpoint.ts";
import type { Emit, RunDeps } from "./deps.ts";
import type { CallRecord, Head, OutcomeRecord, Row, TurnRow } from "./format.ts";
import type { Inbox } from "./inbox.ts";
import { isDependent } from "./partition.ts";
import { prepareTurn } from "./prepare.ts";
import { openOf } from "./result.ts";
import {
  addUsage,
  cutError,
  cutTurns,
  executableCalls,
  failedTurns,
  isHandedOut,
  latest,
  openTurn,
  rowsThatCount,
} from "./rows.ts";
import { cancelCalls, settleCalls, type SettleRequest } from "./settle.ts";
import { askModel, isAborted } from "./turn.ts";
import type { RunContext, Standing } from "./types.ts";

/** Why a run stops for now. */
export type Stop = Standing & StopDetails;

interface StopDetails {
  /** The calls that the caller has to execute. */
  readonly external?: readonly CallRecord[];
  readonly approvals?: readonly ApprovalRequest[];
  /** Outcomes so far of the open turn's calls. */
  readonly outcomes?: readonly OutcomeRecord[];
  /** A row that is yet to be stored, together with the status. */
  readonly row?: Row | undefined;
  readonly change?: HeadChange;
}

/** One active run: turn, calls, turn, calls, until the model makes no more calls or something has to be waited for. */
export class Loop {
  readonly #deps: RunDeps;
  readonly #checkpoint: Checkpoint;
  readonly #context: RunContext;
  readonly #tell: Emit;
  readonly #inbox: Inbox;
  /** Fires if the caller gives up, or another process takes over. */
  readonly #signal: AbortSignal;
  /** The calls of the last turn, as they were read. */
  #uses: ReadonlyMap<string, ToolUse> = new Map();
  /** The schedule in which they run. */
  #schedule: Schedule | undefined;
  /** Calls that were started during a turn and have not ended yet. */
  readonly #early = new Set<Promise<unknown>>();
  /** How many requests for the current turn have failed in a row. */
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

  /** Runs until it has to stop. */
  async run(): Promise<Stop> {
    try {
      return await this.#untilStop();
    } finally {
      // A limit or a failing store may stop a run while calls are still running: whoever resumes it starts its own
      // schedule and knows nothing of this one.
      await Promise.all(this.#early);
    }
  }

  async #untilStop(): Promise<Stop> {
    for (;;) {
      const { rows } = this.#checkpoint;
      const last = rowsThatCount(rows, "turn").at(-1)!;
      if (this.#context.signal?.aborted === true)
        return { ...(await openOf(this.#deps, this.#checkpoint)), ...aborted(this.#context.signal) };
      const open = openTurn(rows);
      const stop =
        open !== undefined
          ? await this.#settle(open)
          : isOver(last)
            ? COMPLETED
            : (this.#limit() ?? (await this.#ask()));
      if (stop !== undefined) return stop;
    }
  }

  /** Abandons the open calls, so that the conversation can continue without them. */
  async cancelOpen(): Promise<void> {
    const open = openTurn(this.#checkpoint.rows);
    if (open === undefined) return;
    const settled = await cancelCalls(this.#settleRequest(open), this.#head);
    // Those of calls that began in a turn that was cut, too. If the store fails here, the calls are still open.
    await this.#deps.approvals?.withdraw?.(this.#head.runId);
    await this.#putResults(settled, {});
  }

  /** Executes what can be executed, without waiting for anything. */
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
    // An approved request no longer waits: its call was about to start when the run was aborted.
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

  /** The stop if a limit forbids another turn. */
  #limit(): Stop | undefined {
    const { rows, head } = this.#checkpoint;
    const { limits, maxCutTurns } = this.#deps;
    const recent = rows.slice(head.liftedRows);
    const error = cutTurns(recent) > maxCutTurns ? cutError(recent) : overBudget(head.used, head.lifted, limits);
    return error && { status: "error", error };
  }

  /** One turn of the model. */
  async #ask(): Promise<Stop | undefined> {
    const { executor, limits, maxCutTurns } = this.#deps;
    const { rows, head } = this.#checkpoint;
    const { conversationId, runId, epoch, used } = head;
    const turnId = `${runId}-${rows.length}-${epoch}-${this.#attempt}`;
    const turn = rows.filter(({ kind }) => kind === "turn").length;
    await this.#pause();
    if (this.#signal.aborted) return aborted(this.#signal);
    const prepare = () => prepareTurn(this.#deps, this.#checkpoint, this.#context, this.#signal);
    const step = await unlessAborted(prepare, this.#signal);
    if (step === undefined) return aborted(this.#signal);
    const { stop, ...prepared } = step;
    if (stop === true) return COMPLETED;
    let left = callsLeft(used, head.lifted, limits);
    const schedule = executor.schedule();
    await this.#tell({ type: "turn.started", turn, attempt: this.#attempt });
    const asked = await askModel({
      ...prepared,
      signal: this.#signal,
      turnId,
      emit: this.#tell,
      // Its outcome goes on the executor's record, where settling the calls of the turn finds it.
      onEarly: (use) => left-- > 0 && this.#begin(use, schedule),
      onExternal: (use) => this.#inbox.note(conversationId, turnId, use),
    });
    const { row, seen, error, hasBegun } = asked;
    const use = addUse(used, { steps: 1, tokens: row.usage?.totalTokens ?? 0, activeMs: row.durationMs });
    // Calls that the caller was told of may have started: the model must hear of them, even if the run was aborted.
    const isKept = isAborted(row) ? row.calls.some(isHandedOut) : row.calls.length > 0;
    // A turn that is not kept never happened: answers to its calls answer something that nobody will ask about.
    const isNone = error !== undefined && !isKept;
    if (isNone) this.#inbox.forget(conversationId);
    const lost = isNone && { lostUsage: addUsage(head.lostUsage, row.usage) };
    const change = { used: use, requestId: row.requestId ?? null, ...lost };
    if (isNone && isAborted(row)) return { ...aborted(this.#signal), row: seen, change };
    if (isNone) {
      // Without calls there is nothing the model needs to hear of.
      if (!hasBegun || ++this.#attempt > maxCutTurns) return { status: "error", error, row: seen, change };
      await this.#checkpoint.commit(change);
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

  /** Waits after a failure of provider or connection: longer with each failed turn in a row. */
  async #pause(): Promise<void> {
    const { retryDelayMs } = this.#deps;
    const failed = this.#attempt + failedTurns(this.#checkpoint.rows.slice(this.#head.liftedRows));
    if (failed === 0 || retryDelayMs === 0) return;
    // Jitter: requests that failed together should not be retried together.
    await pause(Math.min(retryDelayMs * 2 ** (failed - 1) * (1 + Math.random()), MAX_DELAY_MS), this.#signal);
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
    return { ...context, ...own, waitForApproval: false, abandon: false, uniqueIds: true };
  }
}

/** Whether nothing follows this row once its calls are settled. */
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
