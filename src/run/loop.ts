import { ToolError } from "../errors.ts";
import type { ApprovalRequest } from "../execute/approvals/types.ts";
import type { ExecutionContext } from "../execute/context.ts";
import type { Schedule } from "../execute/schedule.ts";
import { quietly } from "../quietly.ts";
import { unlessAborted } from "../execute/unless-aborted.ts";
import { pause, stopwatch } from "../time.ts";
import type { ToolUse } from "../tool/use.ts";
import { Answers } from "./answers.ts";
import { addUse, callsLeft, overBudget, tooManyCalls } from "./budgets.ts";
import { resultMessages, type Settled } from "./calls.ts";
import type { Checkpoint, HeadChange } from "./checkpoint.ts";
import { eitherSignal } from "./either-signal.ts";
import type { CallRecord, OutcomeRecord, Row, TurnRow } from "./format.ts";
import type { Inbox } from "./inbox.ts";
import type { RunDeps } from "./options.ts";
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
import type { Emit, RunContext, Standing } from "./types.ts";

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

/** One active run. */
export type Loop = ReturnType<typeof createLoop>;

/** A run that this process works on: turn, calls, turn, calls, until the model makes no more calls or it has to wait. */
export function createLoop(deps: RunDeps, checkpoint: Checkpoint, context: RunContext, inbox: Inbox, tell: Emit) {
  const { model, tools, executor, store, approvals, limits, maxCutTurns, retryDelayMs } = deps;
  /** Fires if the caller gives up, or another process takes over. */
  const signal = eitherSignal(checkpoint.lost, context.signal);
  /** The calls of the last turn, as they were read, and the schedule in which they run. */
  let uses: ReadonlyMap<string, ToolUse> = new Map();
  let schedule: Schedule | undefined;
  /** Calls that were started during a turn and have not ended yet. */
  const early = new Set<Promise<unknown>>();
  /** How many requests for the current turn have failed in a row. */
  let attempt = 0;

  /** Runs until it has to stop. */
  async function run(): Promise<Stop> {
    try {
      for (;;) {
        const stop = await next();
        if (stop !== undefined) return stop;
      }
    } finally {
      // A limit or a failing store may stop a run while calls are still running: whoever resumes it starts its own
      // schedule and knows nothing of this one.
      await Promise.all(early);
    }
  }

  /** One step: the open calls of the last turn, or the next turn. */
  async function next(): Promise<Stop | undefined> {
    const { rows } = checkpoint;
    if (context.signal?.aborted === true) return { ...(await openNow()), ...aborted(context.signal) };
    const open = openTurn(rows);
    if (open !== undefined) return settle(open);
    return isOver(rowsThatCount(rows, "turn").at(-1)!) ? COMPLETED : (limit() ?? ask());
  }

  /**
   * Nobody needs to decide about calls of a turn that was lost, with the process that read it or in an abort.
   *
   * @param turnId default: whichever was lost before this process took the run
   */
  function dropLost(turnId = checkpoint.head.runId): Promise<void> {
    const { rows, head } = checkpoint;
    return quietly(async () => {
      if (rows.length === 0 || openTurn(rows) !== undefined) return;
      const asked = await approvals?.list({ runId: head.runId, status: "pending" });
      for (const { invocationId } of asked ?? []) {
        // The application may have asked something about the run, too.
        if (invocationId.startsWith(`${turnId}-`)) await approvals!.withdraw?.(head.runId, invocationId);
      }
    });
  }

  /** Abandons the open calls. @returns the row with which the conversation continues without them, if there are any */
  async function cancelOpen(): Promise<Row[]> {
    const open = openTurn(checkpoint.rows);
    if (open === undefined) return [];
    const settled = await cancelCalls(settleRequest(open), checkpoint.head);
    // Those of calls that began in a turn that was cut, too. If the store fails here, the calls are still open.
    await approvals?.withdraw?.(checkpoint.head.runId);
    return [resultsRow(settled)];
  }

  /** What is open, once what was started has ended. */
  async function openNow(): Promise<StopDetails> {
    await Promise.all(early);
    return openOf(deps, checkpoint);
  }

  /** Executes what can be executed, without waiting for anything. */
  async function settle(turn: TurnRow): Promise<Stop | undefined> {
    const calls = executableCalls(turn);
    const error = tooManyCalls(checkpoint.head, limits, calls);
    if (error !== undefined) return { ...(await openNow()), status: "error", error };
    const elapsedMs = stopwatch();
    const settlement = await settleCalls(settleRequest(turn));
    const activeMs = elapsedMs();
    if (!settlement.isOpen) {
      const used = addUse(checkpoint.head.used, { calls, activeMs });
      await checkpoint.append(resultsRow(settlement.settled), { used, pending: [] });
      return undefined;
    }
    const { external } = settlement;
    // An approved request no longer waits: its call was about to start when the run was aborted.
    const asked = settlement.approvals.filter(({ status: decision }) => decision === "pending");
    // The "always" of a call that has just succeeded may cover others.
    for (const { id } of asked) if ((await approvals!.get(id))?.status === "approved") return undefined;
    const pending = external.map((call) => ({
      id: call.invocationId,
      ...(isDependent(call) && { input: call.input }),
    }));
    const stands = {
      external,
      approvals: asked,
      outcomes: settlement.settled.map(({ record }) => record),
      change: { used: addUse(checkpoint.head.used, { activeMs }), pending },
    };
    if (external.length > 0) return { ...stands, status: "awaiting_tool_results" };
    if (asked.length > 0) return { ...stands, status: "awaiting_approval" };
    return { ...stands, ...aborted(signal) };
  }

  /** The stop if a limit forbids another turn. */
  function limit(): Stop | undefined {
    const { rows, head } = checkpoint;
    const recent = rows.slice(head.liftedRows);
    const error = cutTurns(recent) > maxCutTurns ? cutError(recent) : overBudget(head, limits);
    return error && { status: "error", error };
  }

  /** One turn of the model. */
  async function ask(): Promise<Stop | undefined> {
    const { rows, head } = checkpoint;
    const { conversationId, runId, epoch, used } = head;
    const turnId = `${runId}-${rows.length}-${epoch}-${attempt}`;
    const turn = rows.filter(({ kind }) => kind === "turn").length;
    await pauseAfterFailure();
    const step = await unlessAborted(() => prepareTurn(deps, checkpoint, context, signal), signal);
    if (step === undefined) return aborted(signal);
    if (step.stop === true) return COMPLETED;
    let left = callsLeft(head, limits);
    const own = executor.schedule();
    await tell({ type: "turn.started", turn, attempt });
    const asked = await askModel({
      ...step,
      signal,
      turnId,
      emit: tell,
      // Its outcome goes on the executor's record, where settling the calls of the turn finds it.
      onEarly: (use) => left-- > 0 && begin(use, own),
      onExternal: (use) => inbox.note(conversationId, turnId, use),
    });
    const { row, seen, error, isAnswered } = asked;
    const use = addUse(used, { steps: 1, tokens: row.usage?.totalTokens ?? 0, activeMs: row.durationMs });
    // Calls that the caller was told of may have started: the model must hear of them, even if the run was aborted.
    const isKept = isAborted(row) ? row.calls.some(isHandedOut) : row.calls.length > 0;
    // A turn that is not kept never happened: answers to its calls answer something that nobody will ask about.
    const isNone = error !== undefined && !isKept;
    const lost = isNone && { lostUsage: addUsage(head.lostUsage, row.usage) };
    const change = { used: use, requestId: row.requestId ?? null, ...lost };
    if (isNone) {
      inbox.forget(conversationId);
      await Promise.all(early);
      await dropLost(turnId);
      if (isAborted(row)) return { ...aborted(signal), row: seen, change };
      // Without calls there is nothing the model needs to hear of.
      if (!isAnswered || ++attempt > maxCutTurns) return { status: "error", error, row: seen, change };
      await checkpoint.commit(change);
      await tell({ type: "turn.retried", turn, error });
      return undefined;
    }
    attempt = 0;
    ({ uses } = asked);
    schedule = own;
    if (isOver(row)) return { ...COMPLETED, row, change: { ...change, pending: [] } };
    await checkpoint.append(row, { ...change, pending: [] });
    inbox.forget(conversationId);
    return undefined;
  }

  function begin(use: ToolUse, own: Schedule): void {
    const begun: Promise<unknown> = executor
      .execute(use, executionContext(), own)
      .catch(() => {})
      .finally(() => early.delete(begun));
    early.add(begun);
  }

  /** Waits after a failure of provider or connection: longer with each failed turn in a row. */
  async function pauseAfterFailure(): Promise<void> {
    const failed = attempt + failedTurns(checkpoint.rows.slice(checkpoint.head.liftedRows));
    if (failed === 0 || retryDelayMs === 0) return;
    // Jitter: requests that failed together should not be retried together.
    await pause(Math.min(retryDelayMs * 2 ** (failed - 1) * (1 + Math.random()), MAX_DELAY_MS), signal);
  }

  function resultsRow(settled: readonly Settled[]): Row {
    return {
      kind: "results",
      at: Date.now(),
      messages: resultMessages(model, settled),
      outcomes: settled.map(({ record }) => record),
    };
  }

  function settleRequest(turn: TurnRow): SettleRequest {
    const answers = new Answers(store, checkpoint.head.conversationId, turn.turnId);
    return { turn, uses, schedule, model, tools, executor, answers, context: executionContext() };
  }

  function executionContext(): ExecutionContext {
    const { runId, conversationId } = checkpoint.head;
    const { principal, requestId } = context;
    const behavior = latest(checkpoint.rows, "behavior");
    const own = { runId, conversationId, behavior, principal, requestId, signal };
    return { ...context.context, ...own, waitForApproval: false, abandon: false, uniqueIds: true };
  }

  return { run, cancelOpen, dropLost };
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
