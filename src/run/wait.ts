import type { ApprovalRequest, Approvals } from "../execute/approvals/types.ts";
import { lookUntilOver } from "../execute/look-until-over.ts";
import { outlast } from "../store/outlast.ts";
import type { Store } from "../store/store.ts";
import { createWakeUp } from "../time.ts";
import { Answers } from "./answers.ts";
import { headKey, isHeld, readEnd, readHeadEntry, readRun, statusOf } from "./checkpoint.ts";
import { isElsewhere, unknownRun } from "./errors.ts";
import type { CallRecord, Head } from "./format.ts";
import type { RunDeps } from "./options.ts";
import { pendingApprovals, resultOf, storedStop } from "./result.ts";
import { openTurn } from "./rows.ts";
import type { OrchestrationResult } from "./types.ts";

/** How often to poll in any case, since a store's notifications may get lost. */
const POLL_MS = 5_000;
const RELEASE_POLL_MS = 1_000;
/** How long to wait before each further attempt, since a wait may take days, and a store may fail for a moment. */
const PATIENTLY = [1_000, 2_000, 3_000, 4_000, 5_000];

/** Waits until nobody is working on a run, or the signal fires. */
export function waitForRelease(store: Store, conversationId: string, signal: AbortSignal | undefined): Promise<void> {
  return outlast(PATIENTLY, () => untilReleased(store, conversationId, signal), signal);
}

async function untilReleased(store: Store, conversationId: string, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  const look = async () => {
    const entry = await readHeadEntry(store, conversationId);
    if (signal?.aborted === true || entry === undefined || !isHeld(entry.value)) return undefined;
    return Math.min(RELEASE_POLL_MS, entry.value.lease!.until - Date.now());
  };
  await lookUntilOver((wake) => store.subscribe(headKey(conversationId), wake), look, signal);
}

/** Waits until something that a run waits for may have changed: a result, a decision, a call's deadline. */
async function waitForChange(
  answers: Answers,
  { external = [], approvals = [] }: { external?: readonly CallRecord[]; approvals?: readonly ApprovalRequest[] },
  service: Approvals | undefined,
  isThere: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const alarm = createWakeUp(signal);
  const leave = new AbortController();
  // Listen first, then look, so that changes in between are noticed.
  const stop = await answers.watch(alarm.wake);
  for (const { id } of approvals) service?.await(id, { signal: leave.signal }).then(alarm.wake, () => {});
  try {
    if (await isThere()) return;
    const next = Math.min(...external.map(({ expiresAt = Infinity }) => expiresAt));
    await alarm.wait(Math.min(POLL_MS, next - Date.now()));
  } finally {
    leave.abort();
    await stop();
  }
}

/** Resumes a run whenever something that it waits for has changed, until it waits for nothing more. */
export async function seeThrough(
  deps: RunDeps,
  conversationId: string,
  signal: AbortSignal | undefined,
  resume: () => Promise<unknown>,
): Promise<OrchestrationResult> {
  const { store, approvals } = deps;
  let seen: string | undefined;

  /** Whether there is nothing to wait for any more. */
  function isThrough(head: Head): boolean {
    const status = statusOf(head);
    return status === "completed" || status === "error" || signal?.aborted === true;
  }

  /** Waits for one change. Returns the result once the run waits for nothing more. */
  async function step(): Promise<OrchestrationResult | undefined> {
    await untilReleased(store, conversationId, signal);
    // Only its end, since this is repeated for as long as the run waits, however long the conversation is.
    const end = await readEnd(store, conversationId);
    if (end === undefined || end.rows.length === 0) throw unknownRun(conversationId);
    if (isThrough(end.head)) {
      const stored = await readRun(store, conversationId);
      // It may just have been continued.
      return stored && isThrough(stored.head) ? resultOf(stored, await storedStop(deps, stored)) : undefined;
    }
    const { head, rows } = end;
    const stop = await storedStop(deps, end);
    const answers = new Answers(store, conversationId, openTurn(rows)?.turnId ?? "none");
    // The current state of what it waits for: if it differs from when the run was resumed, resume again.
    const state = async (): Promise<string> => {
      // By call: a request that another version of a tool has replaced is not a reason to replace it again.
      const asked = await pendingApprovals(deps, head.runId, openTurn(rows));
      const pending = asked.map(({ invocationId }) => invocationId).toSorted();
      const due = (stop.external ?? []).filter(({ expiresAt = Infinity }) => expiresAt <= Date.now()).length;
      return JSON.stringify([head.rows, [...(await answers.read()).keys()], pending, due]);
    };
    const now = await state();
    if (now === seen) await waitForChange(answers, stop, approvals, async () => (await state()) !== seen, signal);
    else {
      try {
        await resume();
        seen = now;
      } catch (error) {
        // Another process was faster, or took over while this one slept. Look again at what it did.
        if (!isElsewhere(error)) throw error;
      }
    }
    return undefined;
  }

  for (;;) {
    const result = await outlast(PATIENTLY, step, signal);
    if (result !== undefined) return result;
  }
}
