import { isToolError, ToolError, type ToolErrorCode } from "../errors.ts";
import { isConflict } from "../store/errors.ts";
import type { StoreEntry } from "../store/store.ts";
import type { UndoRecord } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { Principal } from "./approvals/types.ts";
import { runHandler } from "./attempt.ts";
import type { EventBody } from "./events.ts";
import { safeMessage } from "../tool/safe-message.ts";
import { infoOf, type ActionInfo } from "./info.ts";
import { actionIdOf, byStart, withoutLease, type ActionRow, type UndoRow } from "./ledger.ts";
import type { Deps } from "./options.ts";
import { snapshot } from "./snapshot.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** Whether a principal may undo an action. May wait, for an approval of its own for example. Throwing means no. */
export type MayUndo = (principal: Principal | undefined, action: ActionInfo) => boolean | Promise<boolean>;

export interface UndoOptions {
  /** Retry an undo that failed before, although the tool's `undo` may have done part of its work. */
  readonly retry?: boolean | undefined;
  /**
   * `undoRun`: `"stop"` at the first action that cannot be undone, on which earlier ones may depend. Default
   * `"continue"`.
   */
  readonly onFailure?: "continue" | "stop" | undefined;
  /** Passed to the tool's `undo`. Once it has fired, nothing more is started. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The outcome of an undo:
 *
 * - `undone`: the tool's `undo` has done its work; `message` tells the model so
 * - `undo_failed`: it threw or was cut short, and how far it got is unknown; or it was done, and then the store failed
 * - `expired`: the time for undoing it is over
 * - `refused`: nothing was attempted: not undoable, already undone, not allowed, or the store failed
 */
export type UndoOutcome =
  | { readonly status: "undone"; readonly actionId: string; readonly toolName: string; readonly message: string }
  | {
      readonly status: "undo_failed" | "expired" | "refused";
      readonly actionId: string;
      readonly toolName: string | null;
      readonly error: ToolError;
    };

/** The outcome of undoing a run, last action first. */
export interface UndoRunReport {
  readonly runId: string;
  readonly undone: readonly UndoOutcome[];
  /** Without calls that changed nothing in the world: reads, denied calls, those whose handler threw. */
  readonly notUndone: readonly UndoOutcome[];
}

type Refusal = Extract<UndoOutcome, { readonly error: ToolError }>;

/** Undoes actions, by their rows: `available -> undoing -> undone | undo_failed | expired`. */
export class Undoer {
  readonly #deps: Deps;
  readonly #mayUndo: MayUndo;

  constructor(deps: Deps, mayUndo: MayUndo = isTheSame) {
    this.#deps = deps;
    this.#mayUndo = mayUndo;
  }

  async undo(actionId: string, principal: Principal | undefined, options: UndoOptions): Promise<UndoOutcome> {
    try {
      for (;;) {
        const entry = await this.#deps.ledger.get(actionId);
        if (entry === undefined) throw new ToolError("not_undoable", "There is no such action.");
        const outcome = await this.#undo(entry, principal, options);
        // Another process was faster: look again at what it did.
        if (outcome !== undefined) return outcome;
      }
    } catch (error) {
      if (isToolError(error)) return { status: "refused", actionId, toolName: null, error };
      throw error;
    }
  }

  async undoRun(runId: string, principal: Principal | undefined, options: UndoOptions): Promise<UndoRunReport> {
    const entries = await this.#deps.ledger.list(runId);
    const undone: UndoOutcome[] = [];
    const notUndone: UndoOutcome[] = [];
    const acted = entries.filter(({ value }) => hasEffect(value)).toSorted((a, b) => byStart(b, a));
    for (const { value } of acted) {
      const outcome = await this.undo(actionIdOf(runId, value.invocationId), principal, options);
      (outcome.status === "undone" ? undone : notUndone).push(outcome);
      if (outcome.status !== "undone" && options.onFailure === "stop") break;
    }
    return { runId, undone, notUndone };
  }

  async #undo(
    entry: StoreEntry<ActionRow>,
    principal: Principal | undefined,
    options: UndoOptions,
  ): Promise<UndoOutcome | undefined> {
    const { value: row } = entry;
    const isAllowed = await unlessAborted(() => this.#isAllowed(principal, row), options.signal);
    if (isAllowed === undefined) return aborted(row);
    if (!isAllowed) return whyNot(row, "undo_not_allowed", `The ${row.toolName} action may not be undone by you.`);
    const refusal = refusalOf(row, options);
    if (refusal !== undefined) return refusal;
    const undo = row.undo!;
    // The time may have ended while mayUndo was asked: the data is deleted when the row is next read.
    if (undo.state !== "undoing" && Date.now() >= undo.expiresAt) return expired(row);
    if (undo.state === "undoing") {
      // The process that was undoing it has died: how far it got is unknown.
      const message = "The process that undid it ended before it was through; how far it came is not known.";
      const failed: UndoRow = { ...withoutLease(undo), state: "undo_failed", error: { code: "undo_failed", message } };
      if ((await this.#put(entry, failed)) === undefined) return undefined;
      const undoneBy = undo.by ?? null;
      await this.#emit(row, { type: "tool.undo_failed", errorCode: "undo_failed", errorMessage: message, undoneBy });
      return undefined;
    }
    const tool = this.#deps.tools.get(row.toolName);
    if (tool?.undo === undefined) {
      return whyNot(row, "not_undoable", `Here is no tool ${row.toolName} with an undo function.`);
    }
    const by = principal?.id ?? null;
    const lease = { owner: crypto.randomUUID(), until: Date.now() + this.#deps.leaseMs };
    const held = await this.#put(entry, { ...undo, state: "undoing", by, lease });
    if (held === undefined) return undefined;
    if (options.signal?.aborted === true) {
      // The signal fired during that write, and nothing was started.
      return (await this.#put(held, undo)) && aborted(row);
    }
    return this.#run(tool, held, principal, options);
  }

  async #run(
    tool: Tool,
    entry: StoreEntry<ActionRow>,
    principal: Principal | undefined,
    { signal }: UndoOptions,
  ): Promise<UndoOutcome> {
    const { value: row } = entry;
    const held = this.#deps.ledger.hold(entry);
    const undo = row.undo!;
    const actionId = actionIdOf(row.runId, row.invocationId);
    const startedAt = performance.now();
    const { ended, lose } = runHandler({
      handler: (_, handlerSignal) =>
        // A copy, so that the function's changes affect neither a retry nor the record.
        tool.undo!(snapshot(recordOf(row)), {
          idempotencyKey: `${actionId}/undo`,
          signal: handlerSignal,
          principal,
          conflict: (message) => new ToolError("undo_conflict", message),
        }),
      timeoutMs: tool.timeoutMs ?? this.#deps.timeoutMs,
      signal,
    });
    const extended = (now: ActionRow, until: number): ActionRow => ({
      ...now,
      undo: { ...undo, lease: { ...undo.lease!, until } },
    });
    held.beat(this.#deps.leaseMs, extended, lose);
    const end = await ended;
    held.stopBeating();

    const by = undo.by ?? null;
    if (end.ok) {
      // The data is no longer needed.
      const undone: UndoRow = { state: "undone", expiresAt: undo.expiresAt, at: Date.now(), by };
      try {
        await held.write((now) => ({ ...now, undo: undone }));
      } catch (error) {
        if (isConflict(error)) return whyNot(row, "undo_failed", LOST, "undo_failed");
        const message = `${row.toolName} was undone, and the store did not take it: ${safeMessage(error)}`;
        return whyNot(row, "store_failed", message, "undo_failed", error);
      }
      await this.#emit(row, {
        type: "tool.undone",
        durationMs: Math.round(performance.now() - startedAt),
        undoneBy: by,
      });
      return { status: "undone", actionId, toolName: row.toolName, message: undoneMessage(row.toolName) };
    }
    const code = isToolError(end.cause) && end.cause.code === "undo_conflict" ? "undo_conflict" : "undo_failed";
    const message = `Undoing ${row.toolName} failed: ${this.#deps.errorMessage(end.cause, tool)}`;
    const failed: UndoRow = { ...withoutLease(undo), state: "undo_failed", error: { code, message } };
    await held.write((now) => ({ ...now, undo: failed })).catch(() => {});
    await this.#emit(row, { type: "tool.undo_failed", errorCode: code, errorMessage: message, undoneBy: by });
    return whyNot(row, code, message, "undo_failed", end.cause);
  }

  /** `undefined` if another process wrote in between. */
  #put({ value, version }: StoreEntry<ActionRow>, undo: UndoRow): Promise<StoreEntry<ActionRow> | undefined> {
    return this.#deps.ledger.write({ ...value, undo }, version);
  }

  async #isAllowed(principal: Principal | undefined, row: ActionRow): Promise<boolean> {
    try {
      return (await this.#mayUndo(principal, snapshot(infoOf(row)))) === true;
    } catch {
      return false;
    }
  }

  /** Another process may have deleted the run meanwhile. */
  #emit(row: ActionRow, body: EventBody): Promise<void> {
    return this.#deps.emitter.emit(partOf(row), body, false, () => this.#deps.ledger.holds(row));
  }
}

const LOST = "It took so long that another process took over; how far it came is not known.";

function isTheSame(principal: Principal | undefined, action: ActionInfo): boolean {
  return action.principal === null || action.principal === principal?.id;
}

/** Why an action cannot be undone as it stands; `undefined` if it can be attempted. */
function refusalOf(row: ActionRow, { retry }: UndoOptions): Refusal | undefined {
  const { toolName, undo, status } = row;
  const refuse = (code: ToolErrorCode, message: string) => whyNot(row, code, message);
  if (status === "planned" || status === "started") return refuse("not_undoable", `${toolName} has not ended yet.`);
  if (status === "unknown" || isGivenUp(row)) {
    return refuse("outcome_unknown", `It is not known what came of ${toolName}, so it cannot be undone.`);
  }
  if (undo === undefined) {
    const why = status === "done" ? "has no undo" : "has not succeeded";
    return refuse("not_undoable", `${toolName} ${why}, so there is nothing to undo.`);
  }
  switch (undo.state) {
    case "undone":
      return refuse("already_undone", `${toolName} was undone already.`);
    case "expired":
      return expired(row);
    case "undoing":
      if (undo.lease!.until <= Date.now()) return undefined;
      return refuse("already_undone", `${toolName} is being undone.`);
    case "undo_failed": {
      if (retry === true && "input" in undo) return undefined;
      // It was undoable, but its time is over.
      if (retry === true && undo.error?.code !== "not_undoable") return expired(row);
      const { code, message } = undo.error ?? {
        code: "undo_failed" as const,
        message: `Undoing ${toolName} has failed.`,
      };
      return whyNot(row, code, message, "undo_failed");
    }
    case "available":
      return undefined;
  }
}

function recordOf(row: ActionRow): UndoRecord {
  const { runId, invocationId, toolName, output } = row;
  return {
    actionId: actionIdOf(runId, invocationId),
    runId,
    invocationId,
    toolName,
    input: row.undo!.input,
    output,
    data: row.undo!.data,
    completedAt: row.endedAt!,
  };
}

/** What the model is told about an undone action. */
export function undoneMessage(toolName: string): string {
  return `This ${toolName} call was undone afterwards: what it did does not hold any more.`;
}

/** Whether an action may have changed the world. */
function hasEffect(row: ActionRow): boolean {
  const { status, effect, undo } = row;
  if (undo !== undefined) return undo.state !== "undone";
  return effect !== "read" && (status === "done" || status === "unknown" || status === "started" || isGivenUp(row));
}

/** It timed out or was aborted while it ran: the handler may still have run to its end. */
function isGivenUp({ status, effect, startedAt, error }: ActionRow): boolean {
  if (status !== "failed" || effect === "read" || startedAt === undefined) return false;
  return error!.code === "timeout" || error!.code === "aborted";
}

function partOf({ toolName, runId, invocationId, toolCallId, requestId }: ActionRow) {
  return { toolName, actionId: actionIdOf(runId, invocationId), runId, invocationId, toolCallId, requestId };
}

function whyNot(
  { runId, invocationId, toolName }: ActionRow,
  code: ToolErrorCode,
  message: string,
  status: Refusal["status"] = "refused",
  cause?: unknown,
): Refusal {
  return {
    status,
    actionId: actionIdOf(runId, invocationId),
    toolName,
    error: new ToolError(code, message, { cause }),
  };
}

function aborted(row: ActionRow): Refusal {
  return whyNot(row, "aborted", `${row.toolName} was not undone: it was aborted before it began.`);
}

function expired(row: ActionRow): Refusal {
  const until = new Date(row.undo!.expiresAt).toISOString();
  return whyNot(row, "undo_expired", `${row.toolName} could be undone until ${until}.`, "expired");
}
