import { isToolError, ToolError, type ToolErrorCode } from "../errors.ts";
import { HeldEntry } from "../store/held.ts";
import { putSurely } from "../store/outlast.ts";
import { isNumber, isString, oneOf, optional, shape, type Check } from "../store/shape.ts";
import { storeKey, type Store, type StoreEntry } from "../store/store.ts";
import type { Effect } from "../tool/tool.ts";
import type { ApprovalRequest } from "./approvals/types.ts";
import type { DenyReason } from "./events.ts";
import type { Denial } from "./gate.ts";
import type { TraceLink } from "./telemetry-types.ts";

/**
 * - `planned`: it waits for approval, or was given back before it began; nothing was started
 * - `started`: an attempt was started; the lease holder is working on it, or has died
 * - `done`, `failed`, `denied`: it has ended
 * - `unknown`: it was started, and its outcome is unknown
 */
export type ActionStatus = "planned" | "started" | "done" | "failed" | "denied" | "unknown";

export type UndoState = "available" | "undoing" | "undone" | "undo_failed" | "expired";

/** What is kept for undoing. Only the tool's undo function reads `data`. */
export interface UndoRow {
  readonly state: UndoState;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** As the handler got it. Deleted when no longer needed, like `data`. */
  readonly input?: unknown;
  readonly data?: unknown;
  readonly at?: number;
  readonly by?: string | null;
  readonly lease?: Lease;
  readonly error?: { readonly code: ToolErrorCode; readonly message: string };
}

/** Who is working on it, and until when nobody else may. Extended while the work continues. */
export interface Lease {
  readonly owner: string;
  readonly until: number;
}

/** One action, as it is stored under `action/<runId>/<invocationId>`. Times are milliseconds since 1970. */
export interface ActionRow {
  readonly version: 1;
  readonly runId: string;
  readonly invocationId: string;
  readonly requestId: string | null;
  readonly toolName: string;
  readonly toolCallId: string | null;
  readonly principal: string | null;
  readonly effect: Effect;
  readonly status: ActionStatus;
  /** Digest of the model's input: the same invocation with a different one is a different call, and a mistake. */
  readonly digest: string;
  /** How often the handler was started. */
  readonly attempts: number;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Version of the row when it had started, which says what came later, whatever the clocks of the processes say. */
  readonly startedVersion?: number;
  readonly lease?: Lease;
  /** The request for approval, while and after it was needed. */
  readonly approvalId?: string;
  /** What ran instead of the model's input, if the person who approved it changed that. */
  readonly editedInput?: unknown;
  /** What the person is asked instead of the default question: fixed once, not recomputed by a rule that may be gone. */
  readonly ask?: string;
  /** Planned, but for nobody's approval: it was about to start where the caller gave up, and is judged anew. */
  readonly unasked?: true;
  readonly output?: unknown;
  readonly marks?: readonly string[];
  readonly error?: { readonly code: ToolErrorCode; readonly message: string };
  readonly reason?: DenyReason;
  readonly allowed?: readonly string[];
  readonly decidedBy?: string;
  readonly repeatOf?: string;
  readonly undo?: UndoRow;
  readonly trace?: TraceLink;
}

/** The id of an action: its run and invocation, in one string without white space. */
export function actionIdOf(runId: string, invocationId: string): string {
  return storeKey(runId, invocationId);
}

/**
 * The undo row after its time: that an undo failed, and why, is kept. A running undo keeps its data; one whose lease
 * has expired has died.
 */
function withoutExpired(undo: UndoRow | undefined): UndoRow | undefined {
  if (undo === undefined || Date.now() < undo.expiresAt) return undo;
  const { input: _, data: __, ...rest } = undo;
  if (undo.state === "available") return { ...rest, state: "expired" };
  const isOver = undo.state === "undo_failed" || (undo.state === "undoing" && undo.lease!.until <= Date.now());
  return isOver && ("input" in undo || "data" in undo) ? rest : undo;
}

/** The row once nobody works on it any more. */
export function withoutLease<Row extends { readonly lease?: Lease }>({ lease: _, ...row }: Row): Omit<Row, "lease"> {
  return row;
}

export function startedRow(planned: ActionRow, lease: Lease, approval: ApprovalRequest | undefined): ActionRow {
  return {
    ...planned,
    status: "started",
    attempts: 1,
    startedAt: Date.now(),
    lease,
    ...(approval !== undefined && { approvalId: approval.id, ...editOf(approval) }),
  };
}

/** What a person wrote instead of the input. */
export function editOf(approval: ApprovalRequest): Pick<ActionRow, "editedInput"> {
  return "editedInput" in approval ? { editedInput: approval.editedInput } : {};
}

export function deniedRow(row: ActionRow, { decision: _, cause: __, message, ...why }: Denial): ActionRow {
  const code = why.reason === "unknown_tool" ? "unknown_tool" : "denied";
  return { ...row, status: "denied", endedAt: Date.now(), error: { code, message }, ...why };
}

export function failedRow(row: ActionRow, code: ToolErrorCode, message: string): ActionRow {
  return { ...row, status: "failed", endedAt: Date.now(), error: { code, message } };
}

/** For a call whose process has died: it may have had its effect. */
export function unknownRow({ value: row, version }: StoreEntry<ActionRow>): ActionRow {
  const message = `${row.toolName} was started, and it is not known what came of it. It may have had its effect: look before you call it again.`;
  const error = { code: "outcome_unknown" as const, message };
  return {
    ...withoutLease(row),
    status: "unknown",
    endedAt: Date.now(),
    startedVersion: row.startedVersion ?? version,
    error,
  };
}

/** Orders rows by when they started, whatever the clocks say; those that did not start, by their last change. */
export function byStart(a: StoreEntry<ActionRow>, b: StoreEntry<ActionRow>): number {
  const startOf = ({ value, version }: StoreEntry<ActionRow>) =>
    // It started and ended, and an older version of this library wrote it.
    value.startedVersion ?? (value.startedAt !== undefined && value.endedAt !== undefined ? 0 : version);
  const endOf = ({ value }: StoreEntry<ActionRow>) => value.endedAt ?? 0;
  return startOf(a) - startOf(b) || endOf(a) - endOf(b) || a.version - b.version;
}

/** The rows of all actions, one each. */
export class Ledger {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws ToolError `store_failed`; `outcome_unknown` for a row that this version cannot have written */
  async get(actionId: string): Promise<StoreEntry<ActionRow> | undefined> {
    // Not the id of an action: stores take no such keys.
    if (!/^[!-~]+$/.test(actionId)) return undefined;
    const entry = await this.#store.get<ActionRow>(`action/${actionId}`);
    if (entry === undefined) return undefined;
    checkRow(entry);
    return this.#inTime(entry);
  }

  /** Whether this action is still on record, and not forgotten and started again. */
  async holds({ runId, invocationId, createdAt }: ActionRow): Promise<boolean> {
    return (await this.get(actionIdOf(runId, invocationId)))?.value.createdAt === createdAt;
  }

  /**
   * Writes if this version is stored (0: if there is none); `undefined` if another process wrote in between.
   *
   * @throws ToolError `store_failed`
   */
  write(row: ActionRow, expectedVersion: number): Promise<StoreEntry<ActionRow> | undefined> {
    return putSurely(this.#store, storeKey("action", row.runId, row.invocationId), row, expectedVersion);
  }

  /** The row of an action, or of its undo, that this process works on. */
  hold(entry: StoreEntry<ActionRow>): HeldEntry<ActionRow> {
    return new HeldEntry(this.#store, entry, ({ lease, undo }) => (lease ?? undo?.lease)?.owner);
  }

  /** Every action of a run, in the order of their keys. Unreadable rows are skipped. */
  async list(runId: string): Promise<StoreEntry<ActionRow>[]> {
    const entries = await this.#store.list<ActionRow>(`${storeKey("action", runId)}/`);
    return Promise.all(entries.filter(({ value }) => isRow(value)).map((entry) => this.#inTime(entry)));
  }

  /** Expired undo data is deleted when it is read. Nobody gets it, even if deleting fails. */
  async #inTime(entry: StoreEntry<ActionRow>): Promise<StoreEntry<ActionRow>> {
    const undo = withoutExpired(entry.value.undo);
    if (undo === entry.value.undo) return entry;
    const value = { ...entry.value, undo: undo! };
    return (await this.write(value, entry.version).catch(() => undefined)) ?? { ...entry, value };
  }

  /** Calls the listener when the row may have changed. */
  watch(actionId: string, listener: () => void): Promise<() => Promise<void>> {
    return this.#store.subscribe(`action/${actionId}`, listener);
  }
}

/** For callers that can do without an unreadable row. The store's own errors are rethrown. */
export function ifUnreadable(error: unknown): undefined {
  if (isToolError(error) && error.code === "outcome_unknown") return undefined;
  throw error;
}

/** Stored data is untrusted input: it may be newer, damaged, or forged. */
function checkRow({ key, value }: StoreEntry<ActionRow>): void {
  if (isRow(value) && storeKey("action", value.runId, value.invocationId) === key) return;
  const version: unknown = (value as Partial<ActionRow> | null)?.version;
  const what =
    typeof version === "number" && version > 1
      ? `was written by a newer version of this library (${version})`
      : "is damaged";
  throw new ToolError("outcome_unknown", `The record of this action ${what}, so it is not known what came of it.`);
}

function isRow(value: unknown): value is ActionRow {
  if (!isRowShape(value)) return false;
  const { status, lease, error } = value as ActionRow;
  if (status === "started") return isLease(lease);
  return status === "planned" || status === "done" || isReason(error);
}

const isReason = shape({ message: isString });
const isLease = shape({ until: isNumber });
const isUndoShape = shape({
  state: oneOf<UndoState>("available", "undoing", "undone", "undo_failed", "expired"),
  // The range of dates is finite, and the message shows this one.
  expiresAt: (value) => isNumber(value) && !Number.isNaN(new Date(value).getTime()),
});
const isUndo: Check = (value) =>
  isUndoShape(value) && ((value as UndoRow).state !== "undoing" || isLease((value as UndoRow).lease));

const isRowShape = shape({
  version: oneOf(1),
  status: oneOf<ActionStatus>("planned", "started", "done", "failed", "denied", "unknown"),
  runId: isString,
  invocationId: isString,
  toolName: isString,
  digest: isString,
  attempts: isNumber,
  createdAt: isNumber,
  effect: oneOf<Effect>("read", "idempotent", "write"),
  undo: optional(isUndo),
});
