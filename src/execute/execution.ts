import { isToolError } from "../errors.ts";
import { approvalRule } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ActionEntry, Call } from "./call.ts";
import { startedRow, unknownRow, type ActionRow } from "./ledger.ts";
import { outcomeOf, settle, type Outcome } from "./outcome.ts";
import { abandon, plan, resumePlanned, standingApproval, stillHolds, type Permit } from "./permit.ts";
import { lookUntilOver } from "./look-until-over.ts";
import { run, type EndedCall } from "./running.ts";
import { unlessAborted } from "./unless-aborted.ts";

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
 *
 * @throws TypeError for a caller's mistake
 */
export async function execute(call: Call): Promise<Outcome> {
  try {
    // Taken, so that nobody else runs or answers it meanwhile. A use that has its outcome may be executed again.
    if (call.use.state === "new") call.handle = call.use.take();
    else if (call.use.state === "running") throw executedElsewhere(call.use);
    const outcome = await toOutcome(call);
    // A span may still be open if this attempt lost to another process, or the caller gave up.
    call.span.end(outcome);
    if (call.handle !== undefined) settle(call.handle, outcome);
    return outcome;
  } catch (error) {
    call.handle?.release();
    throw error;
  } finally {
    call.place.leave();
    await call.events.told();
  }
}

async function toOutcome(call: Call): Promise<Outcome> {
  try {
    await call.prepare();
    for (;;) {
      const entry = await call.deps.ledger.get(call.actionId);
      if (entry !== undefined) call.wasOnRecord = true;
      else if (call.wasOnRecord) return call.unrecorded("unknown", "outcome_unknown", FORGOTTEN);
      call.isUnrun = entry === undefined || entry.value.status === "planned";
      const outcome = await next(call, entry).catch((error: unknown) => lookAgain(call, entry, error));
      if (outcome !== undefined) return outcome;
      // It may have waited for days: another process may have begun it, and the tool may have changed.
      call.isUnrun = false;
      if (call.known() !== call.tool) await call.prepare();
    }
  } catch (error) {
    if (error instanceof CallerMistake) throw error;
    const why = call.messageOf(error);
    if (!call.isUnrun) {
      const ended = call.deps.ended.get(call.actionId);
      if (ended?.use === call.use) return outcomeHere(call, ended);
      return call.unrecorded("unknown", "outcome_unknown", `${UNREADABLE}: ${why}`, error);
    }
    const code = isToolError(error) ? error.code : "execution_failed";
    return call.unrecorded("failed", code, `${call.use.name} was not executed: ${why}`, error);
  }
}

/** If this execution failed before it started anything, another process may have started the call since. */
async function lookAgain(call: Call, entry: ActionEntry | undefined, error: unknown): Promise<undefined> {
  const { deps, actionId, wasOnRecord } = call;
  if (!call.isUnrun) throw error;
  call.isUnrun = false;
  const now = await deps.ledger.get(actionId);
  call.isUnrun = now === undefined ? !wasOnRecord : now.version === entry?.version;
  if (call.isUnrun) throw error;
}

/** One step, from the row as it stands. */
async function next(call: Call, entry: ActionEntry | undefined): Step {
  const { use, context, prepared } = call;
  const { problem } = prepared;
  const isAbandoned = context.abandon === true;
  if (entry === undefined || entry.value.status === "planned") {
    // What was decided about another input or definition is of no account.
    call.approval = undefined;
    if (call.handle === undefined) return outcomeSoFar(call);
    if (isAbandoned) return abandon(call, entry?.version ?? 0, entry?.value);
  }
  if (entry === undefined) {
    return problem === undefined ? start(call, plan(call, 0)) : call.fail(0, problem.code, problem.message, problem);
  }
  const { value: row, version } = entry;
  const isOtherTool = row.toolName !== use.name;
  const isOtherInput = problem === undefined && row.digest !== prepared.digest;
  // Planned, then changed: what was approved is not what would run.
  if (isOtherInput && !isOtherTool && row.status === "planned") return start(call, plan(call, version));
  if (isOtherTool || (isOtherInput && context.uniqueIds !== true)) {
    throw new CallerMistake(
      `The invocation ${use.invocationId} of run ${row.runId} is another call (${row.toolName}, other arguments). Give each turn of a run a runId of its own for read(), so that invocation ids are not used twice.`,
    );
  }
  call.repeatOf = row.repeatOf;
  switch (row.status) {
    case "planned":
      return start(call, resumePlanned(call, entry));
    case "started": {
      const ended = call.deps.ended.get(call.actionId);
      if (ended?.owner === row.lease!.owner) return recordNow(call, ended, entry);
      if (row.lease!.until <= Date.now()) return takeOver(call, entry);
      return isAbandoned ? call.unrecorded("unknown", "outcome_unknown", ELSEWHERE) : waitForOther(call, entry);
    }
    case "done":
    case "failed":
    case "denied":
    case "unknown":
      return call.replay(row);
  }
}

// Running -----------------------------------------------------------------------------------------------------------

/** Starts it once it is permitted. */
async function start(call: Call, judging: Promise<Permit | Outcome | undefined>): Step {
  const permit = await judging;
  if (permit?.status !== "permitted") return permit;
  const { version, planned, request } = permit;
  await enter(call);
  // The current tool: if it differs from the one that was shown, approval is asked for again.
  const tool = request === undefined ? call.tool : call.known();
  if (tool === undefined) return undefined;
  if (call.isAborted) return call.giveUp(version, planned, request);
  if (request !== undefined && !(await stillHolds(call, tool, planned, request))) {
    // Here as well, since the row may have ended when it is next read.
    call.approval = undefined;
    return undefined;
  }
  const denial = await call.deps.history.claim(tool, planned.runId, planned.invocationId);
  if (denial !== undefined) return call.deny(version, denial, planned);
  const entry = await call.put(startedRow(planned, call.lease(), request), version);
  if (entry === undefined) return undefined;
  if (request === undefined) call.invoked(version);
  if (call.isAborted) {
    // The signal fired during that write, and nothing was started.
    const back = await call.put(request === undefined ? { ...planned, unasked: true } : planned, entry.version);
    return back && call.giveUp(back.version, planned, request);
  }
  // What was asked about another input is not to run any more. This does not hold up the call, whose lease would end.
  const running = run(call, tool, entry, request);
  const [outcome] = await Promise.all([running, request === undefined && version > 0 && call.withdraw()]);
  return outcome;
}

/** Waits for its turn, or until the caller gives up. */
function enter(call: Call): Promise<void> {
  return unlessAborted(() => call.place.enter(), call.context.signal);
}

// Others ------------------------------------------------------------------------------------------------------------

/** Another process is working on it: waits for its outcome, or for the end of its lease. */
async function waitForOther(call: Call, { value: row, version }: ActionEntry): Step {
  const { deps, actionId, context } = call;
  call.place.leave();
  const look = async () => {
    // First, since the store may not answer.
    if (call.isAborted) return undefined;
    const now = await deps.ledger.get(actionId);
    if (now?.version !== version || row.lease!.until < Date.now()) return undefined;
    return Math.max(10, row.lease!.until - Date.now() + 10);
  };
  await lookUntilOver((wake) => deps.ledger.watch(actionId, wake), look, context.signal);
  if (!call.isAborted) return undefined;
  return call.unrecorded("unknown", "outcome_unknown", ELSEWHERE, context.signal?.reason);
}

/**
 * The process that started it has died. A harmless call is run again; the outcome of a write is unknown, unless the
 * tool itself can find out.
 */
async function takeOver(call: Call, started: ActionEntry): Step {
  const { value: row, version } = started;
  const { deps, tool, prepared } = call;
  const { approvalId } = row;
  const hadApproval = approvalId !== undefined;
  const mayRepeat = (now: Tool) => isHarmless(row, now) || isRecalled(row, now, prepared.digest);
  // Only what was approved may run, and nobody has approved a call whose tool needs approval only now.
  const isAllowed = tool !== undefined && (hadApproval ? row.digest === prepared.digest : approvalRule(tool) !== true);
  const isRepeatable = isAllowed && prepared.problem === undefined && call.context.abandon !== true && mayRepeat(tool);
  // What was approved is compared with what is there when its turn has come.
  if (isRepeatable) await enter(call);
  const current = isRepeatable ? (hadApproval ? call.known() : tool) : undefined;
  const request =
    current && hadApproval && mayRepeat(current) ? await standingApproval(deps, current, approvalId) : undefined;
  if (current === undefined || (hadApproval && request === undefined)) {
    const unknown = unknownRow(started);
    if ((await call.put(unknown, version)) === undefined) return undefined;
    call.catchUp(row);
    return call.ended(unknown);
  }
  call.begin(row, request);
  const again = { ...row, digest: prepared.digest, attempts: row.attempts + 1, lease: call.lease() };
  const entry = await call.put(again, version);
  if (entry === undefined) return undefined;
  call.catchUp(row);
  return run(call, current, entry, request);
}

/** This process has run it to its end, but the record does not show it: record that now instead of running it again. */
async function recordNow(call: Call, ended: EndedCall, { value, version }: ActionEntry): Step {
  if (ended.row.status === "done") await call.deps.history.succeeding(value);
  try {
    if ((await call.put(ended.row, version)) === undefined) return undefined;
  } catch {
    return outcomeHere(call, ended);
  }
  call.deps.ended.delete(call.actionId);
  return call.replay(ended.row, ended.cause);
}

function outcomeHere(call: Call, { row, cause }: EndedCall): Outcome {
  return outcomeOf(call, row, { replayed: true, cause, recorded: false });
}

/** The use has an outcome without a record: it was settled while the store failed, or by somebody else. */
function outcomeSoFar(call: Call): Outcome {
  const outcome = call.outcomeSoFar;
  if (outcome === undefined) throw executedElsewhere(call.use);
  return outcome;
}

/** By `forget()`, or by a store that lost it. Without this check it would look like a new call. */
const FORGOTTEN = "Its record was deleted while it was executed, so it is not known what came of it.";
const ELSEWHERE = "Another process executes it; this one does not wait any more.";
const UNREADABLE = "It is not known whether it was executed before. Do not call it again before you know";

/** Whether it may be run again. */
function isHarmless(row: ActionRow, tool: Tool): boolean {
  return row.effect !== "write" && tool.effect !== "write";
}

/** Whether the tool can find out what came of it. */
function isRecalled(row: ActionRow, tool: Tool, digest: string): boolean {
  return row.effect === "write" && tool.effect === "write" && tool.recalls === true && row.digest === digest;
}

/** The only errors that `execute()` rejects with. */
class CallerMistake extends TypeError {}

function executedElsewhere(use: ToolUse): TypeError {
  return new CallerMistake(
    `Call ${use.id ?? use.invocationId} (${use.name}) is ${use.state} and this executor has no record of it: a use is executed by use.execute() or by an executor, not by both.`,
  );
}
