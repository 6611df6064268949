import { ToolError } from "../errors.ts";
import { liftCalls, type Limits } from "./budgets.ts";
import { Checkpoint, isHeld, readRun, statusOf, type HeadChange, type StoredRun } from "./checkpoint.ts";
import { busy, isBusy, notGiven, runOpen, unknownRun } from "./errors.ts";
import { forgetRest } from "./forget.ts";
import type { RunDeps } from "./options.ts";
import { isGiven, isGivenUp, openTurn } from "./rows.ts";
import type { ResumeOptions, RunOptions } from "./types.ts";
import { waitForRelease } from "./wait.ts";

/**
 * Takes a conversation for a new run; with `whenBusy: "wait"`, once nobody else works on it.
 *
 * @returns `undefined` if it has the input already
 */
export async function takeForRun(
  deps: RunDeps,
  { whenOpen, whenBusy, rewindTo, inputId, signal }: RunOptions,
  conversationId: string,
  runId: string,
): Promise<Checkpoint | undefined> {
  const { store, model, leaseMs } = deps;
  for (;;) {
    const stored = await readRun(store, conversationId);
    if (stored !== undefined) checkWire(deps, stored);
    try {
      // The process working on it may be executing these very calls.
      if (stored !== undefined && isHeld(stored.head)) throw busy(conversationId);
      // Of two that have looked, one takes it, and the other looks again or is refused.
      if (inputId !== undefined && stored?.rows.some((row) => row.kind === "input" && row.inputId === inputId) === true)
        return undefined;
      const open = stored && openTurn(stored.rows);
      if (open !== undefined && !isGivenUp(open) && whenOpen !== "cancel") throw runOpen(conversationId);
      if (rewindTo !== undefined && !isGiven(stored?.rows ?? [], rewindTo)) throw notGiven(conversationId, rewindTo);
      if (stored !== undefined) return await Checkpoint.take(store, leaseMs, stored);
      await forgetRest(deps, conversationId);
      return await Checkpoint.create(store, leaseMs, { conversationId, runId, wire: model.adapter.name });
    } catch (error) {
      if (!isBusy(error) || whenBusy !== "wait" || signal?.aborted === true) throw error;
    }
    await waitForRelease(store, conversationId, signal);
  }
}

/** Reads a run to resume it; with `whenBusy: "wait"`, once nobody else works on it. */
export async function readToResume(
  deps: RunDeps,
  conversationId: string,
  { whenBusy, signal }: ResumeOptions,
): Promise<StoredRun> {
  const { store } = deps;
  for (;;) {
    const stored = await readRun(store, conversationId);
    // One that has not stored its input is begun again by run(), or is just being begun.
    if (stored === undefined || (stored.rows.length === 0 && !isHeld(stored.head))) throw unknownRun(conversationId);
    checkWire(deps, stored);
    if (!isHeld(stored.head)) return stored;
    if (whenBusy !== "wait" || signal?.aborted === true) throw busy(conversationId);
    await waitForRelease(store, conversationId, signal);
  }
}

/**
 * Takes over a run to resume it. A caller that brought something, or is to wait, waits until another process is done,
 * which may not have seen it.
 *
 * @returns `undefined` if the other process has completed the run
 */
export async function takeToResume(
  { store, leaseMs, limits }: RunDeps,
  before: StoredRun,
  { toolResults = [], approvals = [], whenBusy, signal }: ResumeOptions,
): Promise<Checkpoint | undefined> {
  const { conversationId } = before.head;
  const mayWait = toolResults.length + approvals.length > 0 || whenBusy === "wait";
  for (let stored: StoredRun = before; ;) {
    try {
      return await Checkpoint.take(store, leaseMs, stored, freshStart(stored, limits));
    } catch (error) {
      if (!mayWait || !isBusy(error)) throw error;
    }
    await waitForRelease(store, conversationId, signal);
    const now = await readRun(store, conversationId);
    if (now === undefined) throw unknownRun(conversationId);
    if (statusOf(now.head) === "completed" || signal?.aborted === true) return undefined;
    stored = now;
  }
}

/** @throws ToolError `wrong_wire` */
function checkWire({ model }: RunDeps, { head }: StoredRun): void {
  const { name } = model.adapter;
  if (head.wire === name) return;
  throw new ToolError(
    "wrong_wire",
    `Conversation ${head.conversationId} has messages in the form of ${head.wire}, and the model speaks ${name}. Go on with a model of ${head.wire}, or begin another conversation with what was said as messages.`,
  );
}

/** The limits that a `resume()` lifts. */
const LIMITS: ReadonlySet<string> = new Set(["max_steps", "budget_exceeded", "truncated"]);

/** What a `resume()` resets: otherwise a limit would be reached again immediately, forever. */
function freshStart({ head, rows }: StoredRun, limits: Limits): HeadChange {
  const { error, used } = head;
  const change: HeadChange = { status: "running", error: null };
  if (error === null || !LIMITS.has(error.code)) return change;
  const isOfCalls = openTurn(rows) !== undefined;
  return { ...change, lifted: isOfCalls ? liftCalls(head, limits) : used, liftedRows: head.rows };
}
