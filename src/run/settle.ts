import type { ToolError } from "../errors.ts";
import type { ApprovalRequest } from "../execute/approvals/types.ts";
import type { ExecutionContext } from "../execute/context.ts";
import type { Outcome } from "../execute/outcome.ts";
import type { Schedule } from "../execute/schedule.ts";
import type { Model } from "../model.ts";
import { isStoreFailure } from "../store/errors.ts";
import { ToolUse } from "../tool/use.ts";
import type { Answer, Answers } from "./answers.ts";
import {
  answeredCall,
  canceledCall,
  invalidCall,
  recordedUse,
  resolved,
  unknownCall,
  useOf,
  type Settled,
} from "./calls.ts";
import type { CallRecord, Head, TurnRow } from "./format.ts";
import type { RunDeps } from "./options.ts";
import { isDependent, partition } from "./partition.ts";
import { isBegun, isHandedOut, isTold } from "./rows.ts";

/** What is needed to settle the calls of a turn. */
export interface SettleRequest extends Pick<RunDeps, "executor" | "model" | "tools"> {
  readonly turn: TurnRow;
  readonly answers: Answers;
  readonly context: ExecutionContext;
  /** The calls as they were read, if this process read them. */
  readonly uses: ReadonlyMap<string, ToolUse>;
  /** The schedule in which some of them may be running, if this process read them. */
  readonly schedule: Schedule | undefined;
}

/** All calls have outcomes, or some are waiting. */
export type Settlement =
  | { readonly isOpen: false; readonly settled: readonly Settled[] }
  | {
      readonly isOpen: true;
      /** The outcomes so far. */
      readonly settled: readonly Settled[];
      /** The calls that the caller has to execute now. */
      readonly external: readonly CallRecord[];
      readonly approvals: readonly ApprovalRequest[];
    };

/**
 * Executes the internal calls of a turn and takes the results of the external ones, group by group, as far as possible.
 * Executed calls are on the executor's record, so this can be repeated at any time, in any process.
 */
export async function settleCalls(request: SettleRequest): Promise<Settlement> {
  const { turn, answers, model } = request;
  const settled = new Map<string, Settled>();
  const begun = turn.calls.filter(isBegun);
  const given = begun.length === 0 ? undefined : await answers.read();
  for (const call of turn.calls) {
    if (call.mode === "invalid") settled.set(call.invocationId, cutCall(call, given, model));
  }
  for (;;) {
    const open = partition(turn.calls, ({ invocationId }) => settled.has(invocationId));
    if (open.internal.length + open.external.length === 0) break;
    await answers.expire(open.external);
    const approvals = await executeCalls(request, open.internal, settled);
    const external = handOut(request, open.external, await answers.read(), settled);
    // Open calls of a later group do not hold up earlier ones.
    const isThrough = open.internal.every(({ invocationId }) => settled.has(invocationId));
    if (!isThrough || external.some(({ batch }) => batch === open.batch)) {
      return { isOpen: true, settled: [...settled.values()], external, approvals };
    }
  }
  // They are closed together with their turn.
  const last = await answers.close(begun);
  for (const call of begun) settled.set(call.invocationId, cutCall(call, last, model));
  return { isOpen: false, settled: turn.calls.map(({ invocationId }) => settled.get(invocationId)!) };
}

/** A call that cannot be executed. If it was started before its turn was cut, it may still have a result. */
function cutCall(call: CallRecord, given: ReadonlyMap<string, Answer> | undefined, model: Model): Settled {
  const answer = given?.get(call.invocationId);
  return answer === undefined || answer.expired === true ? invalidCall(call) : answeredCall(call, answer, model);
}

/** Takes the results that were provided; returns the calls that have none. */
function handOut(
  { tools, model, uses }: SettleRequest,
  calls: readonly CallRecord[],
  given: ReadonlyMap<string, Answer>,
  settled: Map<string, Settled>,
): CallRecord[] {
  return calls.flatMap((call) => {
    const { invocationId } = call;
    const answer = given.get(invocationId);
    if (answer !== undefined) settled.set(invocationId, answeredCall(call, answer, model));
    if (answer !== undefined) return [];
    if (!isDependent(call) || model.resolve === undefined) return [call];
    const use = uses.get(invocationId) ?? useOf(call, tools);
    const ready =
      use instanceof ToolUse ? resolved(call, use, settled.values(), model) : invalidCall({ ...call, error: use });
    if (ready instanceof ToolUse) return [{ ...call, input: ready.input }];
    settled.set(invocationId, ready);
    return [];
  });
}

/** Executes what can be executed; returns the approvals it waits for. Calls without an outcome stay open. */
async function executeCalls(
  request: SettleRequest,
  calls: readonly CallRecord[],
  settled: Map<string, Settled>,
): Promise<ApprovalRequest[]> {
  const { tools, uses, model } = request;
  const ready: ToolUse[] = [];
  for (const call of calls) {
    const { invocationId } = call;
    const use = uses.get(invocationId) ?? useOf(call, tools);
    const known = use instanceof ToolUse && isDependent(call) ? resolved(call, use, settled.values(), model) : use;
    if (known instanceof ToolUse && known.tool.mode === "internal") ready.push(known);
    else if ("record" in known) settled.set(invocationId, known);
    else ready.push(recordedUse(call, tools));
  }
  const outcomes = await execute(request, ready);
  const approvals: ApprovalRequest[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === "awaiting_approval") approvals.push(outcome.approval);
    // It still runs elsewhere, and this run was aborted meanwhile: it stays open.
    else if (outcome.status === "unknown" && !outcome.recorded && isWaitAborted(outcome.error, request)) continue;
    else settled.set(outcome.invocationId, executed(outcome));
  }
  return approvals;
}

/**
 * The store may fail briefly, or may have failed during the turn: what could not be read or recorded is tried again.
 */
async function execute({ executor, context, schedule }: SettleRequest, uses: readonly ToolUse[]): Promise<Outcome[]> {
  if (uses.length === 0) return [];
  let outcomes = await executor.executeAll(uses, context, schedule);
  const isLeft = (outcome: Outcome) => isHereAlone(outcome) || storeFailure(outcome) !== undefined;
  const left = outcomes.filter(isLeft);
  if (left.length > 0) {
    // A use that was settled as not executed stays so: retry with a copy.
    const again = left.map((outcome) => (isHereAlone(outcome) ? outcome.use : new ToolUse(outcome.use)));
    const later = await executor.executeAll(again, context, schedule);
    outcomes = outcomes.map((outcome) => (isLeft(outcome) ? later.shift()! : outcome));
  }
  const unread = outcomes.map(storeFailure).find((error) => error !== undefined);
  // Some outcomes may be known only in this process: then the model is told everything that is known now.
  if (unread !== undefined && !outcomes.some(isHereAlone)) throw unread;
  return outcomes;
}

/**
 * Why a call could not be looked up or started: its record may know more, and will be read when the run is resumed.
 * If it was started, an attempt is counted. An outcome on record is one, whatever is behind it.
 */
function storeFailure(outcome: Outcome): ToolError | undefined {
  const isUnread = "error" in outcome && !outcome.recorded && outcome.attempts === 0;
  const cause = isUnread ? outcome.error.cause : undefined;
  return isStoreFailure(cause) ? cause : undefined;
}

function isWaitAborted({ cause }: ToolError, { context: { signal } }: SettleRequest): boolean {
  return signal?.aborted === true && cause === signal.reason;
}

function isHereAlone({ recorded, attempts }: Outcome): boolean {
  return !recorded && attempts > 0;
}

function executed(outcome: Exclude<Outcome, { status: "awaiting_approval" }>): Settled {
  const { invocationId, status, use, startedAt, endedAt } = outcome;
  return {
    record: {
      invocationId,
      status,
      at: endedAt ?? Date.now(),
      ...("error" in outcome && { message: outcome.error.message }),
      ...(startedAt !== null && endedAt !== null && { durationMs: endedAt - startedAt }),
    },
    // An error without its use has no note.
    outcome: "error" in outcome && use.state !== "failed" ? outcome.error : use,
  };
}

/** Abandons what is open: outcomes count, started calls are unknown, the rest was not executed. */
export async function cancelCalls(request: SettleRequest, head: Head): Promise<readonly Settled[]> {
  const { turn, model, answers, context, tools } = request;
  const given = await answers.close(turn.calls.filter(isHandedOut));
  const internal = turn.calls.filter(({ mode }) => mode === "internal").map((call) => recordedUse(call, tools));
  // On the executor's record too: a process that was presumed dead may be about to start them.
  const outcomes = await execute({ ...request, context: { ...context, abandon: true } }, internal);
  const ended = new Map(outcomes.map((outcome) => [outcome.invocationId, outcome]));
  return turn.calls.map((call) => {
    const answer = given.get(call.invocationId);
    if (answer !== undefined) return answeredCall(call, answer, model);
    if (call.mode === "invalid") return invalidCall(call);
    const outcome = ended.get(call.invocationId);
    if (isTold(call, head) || (outcome?.status === "unknown" && !outcome.recorded)) return unknownCall(call);
    const isUnstarted = outcome?.status === "failed" && outcome.attempts === 0 && outcome.error.code === "aborted";
    if (outcome === undefined || outcome.status === "awaiting_approval" || isUnstarted) return canceledCall(call);
    return executed(outcome);
  });
}
