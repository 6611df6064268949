import { isToolError } from "../errors.ts";
import { parseJson } from "../json/parse.ts";
import { isConflict } from "../store/errors.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import { cutShort, runHandler, type HandlerFailure } from "./attempt.ts";
import type { ActionEntry, Call } from "./call.ts";
import { toolContextOf } from "./context.ts";
import { hush } from "./hush.ts";
import { withoutLease, type ActionRow, type UndoRow } from "./ledger.ts";
import type { Outcome } from "./outcome.ts";
import { jsonOfInput, outputOf, undoText } from "./output.ts";
import { quietly } from "../quietly.ts";
import { remember } from "./remember.ts";
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
  request: ApprovalRequest | undefined,
): Promise<Outcome | undefined> {
  call.isUnrun = false;
  const { deps, use, context, events } = call;
  const input = call.inputFor(request);
  const { signal, timeoutMs = tool.timeoutMs ?? deps.timeoutMs } = context;
  // Each later write says when it started, that of another attempt too.
  const held = deps.ledger.hold({ ...entry, value: { ...entry.value, startedVersion: entry.version } });
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
  const { change, cause } = end.ok
    ? rowOfSuccess(tool, end.value, maxOutputBytes, () => undoRowOf(tool, input, undoData))
    : rowOfFailure(tool, end, timeoutMs, () => call.messageOf(end.cause));
  if (change.status === "done") await deps.history.succeeding(held.value);
  const endedAt = Date.now();
  const after = { ...change, endedAt };
  const endOf = (row: ActionRow): ActionRow => ({ ...withoutLease(row), ...after });
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
  if (row.status === "done" && request !== undefined) await quietly(() => deps.approvals?.succeeded(request.id));
  if (!recorded) {
    remember(deps.ended, call.actionId, { use, owner: entry.value.lease!.owner, row, cause }, MAX_ENDED);
  }
  return call.ended(row, durationMs, cause, recorded);
}

/** What the row says of a handler's end, and the error behind it. */
interface RowOfEnd {
  readonly change: Partial<ActionRow>;
  readonly cause?: unknown;
}

function rowOfSuccess(tool: Tool, returned: unknown, maxBytes: number, undoRow: () => UndoRow): RowOfEnd {
  const undo = tool.undo === undefined ? {} : { undo: undoRow() };
  try {
    const { value, marks } = outputOf(tool, returned, maxBytes);
    return { change: { status: "done", output: value, ...(marks.length > 0 && { marks }), ...undo } };
  } catch (cause) {
    if (!isToolError(cause)) throw cause;
    // The handler has done its work, which can be undone even though its output cannot be shown.
    const error = { code: cause.code, message: `${tool.name} was executed, but ${cause.message}.` };
    return { change: { status: "failed", error, ...undo }, cause };
  }
}

/** @param told what the model is told of the handler's own error */
function rowOfFailure(tool: Tool, end: HandlerFailure, timeoutMs: number | undefined, told: () => string): RowOfEnd {
  const { name } = tool;
  const { cause } = end;
  // If it had not begun here, it was started by a process that has since died.
  const cut = cutShort(end, name, tool, timeoutMs);
  if (cut !== undefined) return { change: { status: "failed", error: cut }, cause };
  const code = isToolError(cause) ? cause.code : "execution_failed";
  // A handler that delegates its work may not know the outcome. It says so with an error with this code.
  if (code === "outcome_unknown") {
    return { change: { status: "unknown", error: { code, message: `${name}: ${told()}` } }, cause };
  }
  return { change: { status: "failed", error: { code, message: `Tool ${name} failed: ${told()}` } }, cause };
}

/** @param data what the handler passed to `undoData()`, as JSON; `false` if it cannot be kept */
function undoRowOf(tool: Tool, input: unknown, data: string | false | undefined): UndoRow {
  const expiresAt = Date.now() + (tool.undoTtlMs ?? HOUR);
  try {
    if (data !== false) {
      const kept = data === undefined ? {} : { data: parseJson(data) };
      return { state: "available", expiresAt, input: jsonOfInput(input), ...kept };
    }
  } catch {
    // JSON cannot represent the input.
  }
  const message = `What ${tool.name} gave to undo it with cannot be kept, so it cannot be undone.`;
  return { state: "undo_failed", expiresAt, error: { code: "not_undoable", message } };
}

const HOUR = 3_600_000;

/** The end of a call that the store did not accept. */
export interface EndedCall {
  /** The use that was run. */
  readonly use: ToolUse;
  /** The owner of its lease: if somebody else holds it, the call was started again. */
  readonly owner: string;
  /** The row as it should be in the store. */
  readonly row: ActionRow;
  readonly cause: unknown;
}

/** Bounds the memory used while a store is unavailable. */
const MAX_ENDED = 1_000;
