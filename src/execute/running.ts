import { isConflict } from "../store/errors.ts";
import type { Tool } from "../tool/tool.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { runHandler } from "./attempt.ts";
import { toolContextOf } from "./call-context.ts";
import type { ActionEntry, Call } from "./call.ts";
import { rowOfEnd } from "./handler-end.ts";
import { hush } from "./hush.ts";
import { withoutLease, type ActionRow } from "./ledger.ts";
import type { Outcome } from "./outcome.ts";
import { undoText } from "./output.ts";
import { snapshot } from "./snapshot.ts";

/**
 * Runs the handler while extending its lease, and records the end.
 *
 * @param entry the row already says that the attempt has started
 * @returns `undefined` if another process presumed this one dead: that one's record counts
 */
export async function run(
  call: Call,
  tool: Tool,
  entry: ActionEntry,
  input: unknown,
  request: ApprovalRequest | undefined,
): Promise<Outcome | undefined> {
  call.isUnrun = false;
  const { deps, use, context, events } = call;
  const { signal, timeoutMs = tool.timeoutMs ?? deps.timeoutMs } = context;
  const held = deps.ledger.hold(entry);
  const { attempts } = entry.value;
  const startedAt = performance.now();
  const { maxOutputBytes } = deps;
  let undoData: string | false | undefined;
  let isOver = false;
  events.started(attempts);
  // Another process may delete the run meanwhile.
  const isOnRecord = () => deps.ledger.holds(entry.value);
  const progress = async (value: unknown) => (isOver ? undefined : events.progress(value, isOnRecord));
  const running = call.span.run(() =>
    runHandler({
      handler: (attempt, handlerSignal) => {
        const keep = (data: unknown) => void (undoData = undoText(data, maxOutputBytes));
        const own = { attempt, signal: handlerSignal, progress, undoData: keep };
        return tool.execute!(snapshot(input), toolContextOf(use, context, own));
      },
      beforeAttempt: async (attempt) => {
        await held.write((row) => ({ ...row, attempts: attempt }));
        events.started(attempt);
      },
      onProgress: progress,
      onLate: (end) => {
        if (end.ok) hush(end.value);
        events.late(end, isOnRecord);
      },
      firstAttempt: attempts,
      retries: tool.retries,
      retryDelayMs: deps.retryDelayMs,
      timeoutMs,
      signal,
    }),
  );
  held.beat(deps.leaseMs, (row, until) => ({ ...row, lease: { ...row.lease!, until } }), running.lose);
  const end = await running.ended;
  held.stopBeating();
  isOver = true;

  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
  const messageOf = (error: unknown) => call.messageOf(error);
  const { change, cause } = rowOfEnd({ tool, end, input, undoData, timeoutMs, maxOutputBytes, messageOf });
  if (change.status === "done") await deps.history.succeeding(held.value);
  const endedAt = Date.now();
  const endOf = (row: ActionRow): ActionRow => ({ ...withoutLease(row), ...change, endedAt });
  // What the store did not take is known in this process alone.
  let recorded = true;
  try {
    await held.write(endOf);
  } catch (error) {
    if (isConflict(error)) {
      if (end.ok || end.code === "execution_failed") events.late(end, isOnRecord);
      return undefined;
    }
    recorded = false;
  }
  const row = recorded ? held.value : endOf(held.value);
  if (row.status === "done" && request !== undefined) await deps.approvals?.succeeded(request.id).catch(() => {});
  if (!recorded) deps.ended.add(call.actionId, { use, owner: entry.value.lease!.owner, row, cause });
  return call.ended(row, durationMs, cause, recorded);
}
