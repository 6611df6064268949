import { ToolError } from "../errors.ts";
import type { ApprovalRequest } from "../execute/approvals/types.ts";
import { Answers, type Answer } from "./answers.ts";
import { failedAnswer, invalidCall } from "./calls.ts";
import { isHeld, statusOf, type RunState } from "./checkpoint.ts";
import { busy, left } from "./errors.ts";
import type { CallStatus, OutcomeRecord, TurnRow } from "./format.ts";
import type { Stop } from "./loop.ts";
import type { RunDeps } from "./options.ts";
import { pendingCall } from "./partition.ts";
import { handedOut, lastTurn, messagesOf, openTurn, unanswered, usageOf } from "./rows.ts";
import { treeOf } from "./tree.ts";
import type { OrchestrationResult } from "./types.ts";

/** The public result of a run. */
export function resultOf({ head, rows }: RunState, stop: Stop): OrchestrationResult {
  const { status, external = [], approvals = [], outcomes = [] } = stop;
  const own = rows.slice(rows.findLastIndex(({ kind }) => kind === "input"));
  const turn = lastTurn(own);
  return {
    ...(stop.status === "error" ? { status: stop.status, error: stop.error } : { status: stop.status }),
    content: turn?.text ?? "",
    conversationId: head.conversationId,
    runId: head.runId,
    pendingToolCalls: external.map(pendingCall),
    pendingApprovals: approvals,
    messages: messagesOf(rows),
    tree: treeOf(rows, status, outcomes),
    metadata: {
      ...head.used,
      usage: usageOf(own, head.lostUsage),
      finishReason: turn?.finishReason ?? undefined,
      providerRequestId: head.requestId ?? undefined,
      startedAt: head.startedAt,
      updatedAt: head.updatedAt,
    },
  };
}

/** Why a stored run has stopped: everything that is open, including what was asked after it stopped. */
export async function storedStop(deps: RunDeps, stored: RunState): Promise<Stop> {
  const { head } = stored;
  const { error, conversationId } = head;
  const status = statusOf(head);
  if (status === "completed") return { status };
  const stands = await openOf(deps, stored);
  if (status === "error") {
    const { code, message } = error!; // checked by `readHead()`
    return { ...stands, status, error: new ToolError(code, message) };
  }
  if (status !== "running") return { ...stands, status };
  if (stands.external.length > 0) return { ...stands, status: "awaiting_tool_results" };
  // Never released.
  return { ...stands, status: "error", error: isHeld(head) ? busy(conversationId) : left(conversationId) };
}

/** What is open in a stored run. */
export async function openOf(deps: RunDeps, { head, rows }: RunState) {
  const { conversationId, runId } = head;
  const open = openTurn(rows);
  const approvals = await pendingApprovals(deps, runId, open);
  if (open === undefined) return { external: [], approvals };
  const answers = await new Answers(deps.store, conversationId, open.turnId).read();
  const outcomes = await outcomesOf(deps, runId, open, answers);
  return { external: unanswered(handedOut(open, head), answers), approvals, outcomes };
}

/**
 * The pending approvals for the calls of an open turn, in call order. A policy may also have asked about a call of a
 * turn that was cut and discarded: the run does not wait for that decision.
 */
export async function pendingApprovals(
  { approvals }: RunDeps,
  runId: string,
  open: TurnRow | undefined,
): Promise<ApprovalRequest[]> {
  const asked = open && (await approvals?.list({ runId, status: "pending" }));
  const byCall = new Map(asked?.map((request) => [request.invocationId, request]));
  return open?.calls.flatMap(({ invocationId }) => byCall.get(invocationId) ?? []) ?? [];
}

/** The outcomes of an open turn's calls, as far as they are on record. */
export async function outcomesOf(
  { executor }: RunDeps,
  runId: string,
  turn: TurnRow,
  answers: ReadonlyMap<string, Answer>,
): Promise<OutcomeRecord[]> {
  const invocationIds = turn.calls.map(({ invocationId }) => invocationId);
  const known = await executor.actions(runId, { invocationIds });
  const actions = new Map(known.map((action) => [action.invocationId, action]));
  return turn.calls.flatMap((call): OutcomeRecord[] => {
    const { invocationId, mode } = call;
    const answer = answers.get(invocationId);
    if (answer !== undefined) {
      return [failedAnswer(call, answer)?.record ?? { invocationId, status: "completed", at: answer.at }];
    }
    if (mode === "invalid") return [{ ...invalidCall(call).record, at: turn.at }];
    const action = actions.get(invocationId);
    if (action === undefined || action.endedAt === null) return [];
    const { status, startedAt, endedAt } = action;
    return [
      {
        invocationId,
        status: status === "done" ? "completed" : (status as CallStatus),
        at: endedAt,
        ...(startedAt !== null && { durationMs: endedAt - startedAt }),
        ...(action.error !== undefined && { message: action.error.message }),
      },
    ];
  });
}
