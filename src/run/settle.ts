import type { ToolError } from "../errors.ts";
import type { ApprovalRequest } from "../execute/approvals/types.ts";
import type { ExecutionContext } from "../execute/context.ts";
import type { ToolExecutor } from "../execute/executor.ts";
import type { KnownTools } from "../execute/known-tools.ts";
import type { Ledger } from "../execute/ledger.ts";
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
import { isDependent, partition } from "./partition.ts";
import { isBegun, isHandedOut, isTold } from "./rows.ts";

/** What there is for settling the calls of a turn. */
export interface SettleRequest {
  readonly turn: TurnRow;
  readonly model: Model;
  readonly tools: KnownTools;
  readonly executor: ToolExecutor;
  readonly answers: Answers;
  readonly context: ExecutionContext;
  /** The calls as they were read, where this process has read them. */
  readonly uses: ReadonlyMap<string, ToolUse>;
  /** In which some of them may be running, where this process has read them. */
  readonly schedule: Schedule | undefined;
  /** The executor's record. */
  readonly ledger: Ledger;
}

/** All calls have come out, or some wait. */
export type Settlement =
  | { readonly isOpen: false; readonly settled: readonly Settled[] }
  | {
      readonly isOpen: true;
      /** What has come out so far. */
      readonly settled: readonly Settled[];
      /** That the caller has to execute now. */
      readonly external: readonly CallRecord[];
      readonly approvals: readonly ApprovalRequest[];
    };

/**
 * Executes the internal calls of a turn and takes the results of the external ones, group after group, as far as it goes.
 * What was executed before is on the executor's record, so that this may be done again at any time, in any process.
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
    // One of a later group that is open holds up none before it.
    if (approvals.length > 0 || external.some(({ batch }) => batch === open.batch)) {
      return { isOpen: true, settled: [...settled.values()], external, approvals };
    }
  }
  // Their time ends with that of their turn.
  const last = await answers.close(begun);
  for (const call of begun) settled.set(call.invocationId, cutCall(call, last, model));
  return { isOpen: false, settled: turn.calls.map(({ invocationId }) => settled.get(invocationId)!) };
}

/** A call that can not be executed. One that was begun before its turn was cut may have its result nevertheless. */
function cutCall(call: CallRecord, given: ReadonlyMap<string, Answer> | undefined, model: Model): Settled {
  const answer = given?.get(call.invocationId);
  return answer === undefined || answer.expired === true ? invalidCall(call) : answeredCall(call, answer, model);
}

/** Takes the results that were handed in; gives the calls that have none. */
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

/** Executes what can be; gives the approvals that are waited for. */
async function executeCalls(
  request: SettleRequest,
  calls: readonly CallRecord[],
  settled: Map<string, Settled>,
): Promise<ApprovalRequest[]> {
  const { tools, uses, model, ledger } = request;
  const ready: ToolUse[] = [];
  for (const call of calls) {
    const { invocationId } = call;
    const use = uses.get(invocationId) ?? useOf(call, tools);
    const known = use instanceof ToolUse && isDependent(call) ? resolved(call, use, settled.values(), model) : use;
    if (known instanceof ToolUse && known.tool.mode === "internal") ready.push(known);
    else if ("record" in known) settled.set(invocationId, known);
    else ready.push(recordedUse(call));
  }
  const outcomes = await execute(request, ready);
  const unread = outcomes.map(storeFailure).find((error) => error !== undefined);
  // Some end may be known here alone: then the model hears all there is to know now.
  if (unread !== undefined && !outcomes.some(isHereAlone)) throw unread;
  const approvals: ApprovalRequest[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === "awaiting_approval") approvals.push(outcome.approval);
    else settled.set(outcome.invocationId, await executed(outcome, ledger));
  }
  return approvals;
}

/**
 * A store may fail for a moment, or have failed while the turn went on: what it did not take, or tell, is tried again.
 */
async function execute({ executor, context, schedule }: SettleRequest, uses: readonly ToolUse[]): Promise<Outcome[]> {
  if (uses.length === 0) return [];
  const outcomes = await executor.executeAll(uses, context, schedule);
  const isLeft = (outcome: Outcome) => isHereAlone(outcome) || storeFailure(outcome) !== undefined;
  const left = outcomes.filter(isLeft);
  if (left.length === 0) return outcomes;
  // A use that was told that it was not executed stays so.
  const again = left.map((outcome) => (isHereAlone(outcome) ? outcome.use : new ToolUse(outcome.use)));
  const later = await executor.executeAll(again, context, schedule);
  return outcomes.map((outcome) => (isLeft(outcome) ? later.shift()! : outcome));
}

/**
 * Why a call was not even looked up, or not begun: its record may know more, and whoever goes on with the run reads it.
 * Of what was begun an attempt is counted.
 */
function storeFailure(outcome: Outcome): ToolError | undefined {
  const cause = "error" in outcome && outcome.attempts === 0 ? outcome.error.cause : undefined;
  return isStoreFailure(cause) ? cause : undefined;
}

function isHereAlone({ recorded, attempts }: Outcome): boolean {
  return !recorded && attempts > 0;
}

async function executed(outcome: Exclude<Outcome, { status: "awaiting_approval" }>, ledger: Ledger): Promise<Settled> {
  const { actionId, invocationId, status, use } = outcome;
  // For the tree: whoever reads it can do without.
  const action = (await ledger.get(actionId).catch(() => undefined))?.value;
  const { startedAt, endedAt } = action ?? {};
  return {
    record: {
      invocationId,
      status,
      at: endedAt ?? Date.now(),
      ...("error" in outcome && { message: outcome.error.message }),
      ...(startedAt !== undefined && endedAt !== undefined && { durationMs: endedAt - startedAt }),
    },
    outcome: "error" in outcome ? outcome.error : use,
  };
}

/** Gives up what is open: what has come out counts, what was begun is unknown, the rest was not executed. */
export async function cancelCalls(request: SettleRequest, head: Head): Promise<readonly Settled[]> {
  const { turn, model, answers, executor, context } = request;
  const given = await answers.close(turn.calls.filter(isHandedOut));
  const invocationIds = turn.calls.map(({ invocationId }) => invocationId);
  const known = await executor.actions(context.runId, { invocationIds });
  const actions = new Map(known.map((action) => [action.invocationId, action]));
  const settled = new Map<string, Settled>();
  const ended: CallRecord[] = [];
  for (const call of turn.calls) {
    const { invocationId, mode } = call;
    const answer = given.get(invocationId);
    const status = actions.get(invocationId)?.status;
    if (answer !== undefined) settled.set(invocationId, answeredCall(call, answer, model));
    else if (mode === "invalid") settled.set(invocationId, invalidCall(call));
    else if (isTold(call, head) || status === "started") settled.set(invocationId, unknownCall(call));
    else if (status === undefined || status === "planned") settled.set(invocationId, canceledCall(call));
    else ended.push(call);
  }
  // On record: nothing runs again.
  await executeCalls(request, ended, settled);
  return turn.calls.map(({ invocationId }) => settled.get(invocationId)!);
}
