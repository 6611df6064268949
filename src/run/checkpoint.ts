import { ToolError } from "../errors.ts";
import { isConflict } from "../store/errors.ts";
import { HeldEntry } from "../store/held.ts";
import { BRIEFLY, outlast, putSurely } from "../store/outlast.ts";
import { storeKey, type Store, type StoreEntry } from "../store/store.ts";
import { updateEntry } from "../store/update.ts";
import { kindOf } from "../schema/json.ts";
import { NOTHING_USED } from "./budgets.ts";
import { busy } from "./errors.ts";
import { damaged, readHead, readRow, VERSION, type Head, type Row, type RunLease } from "./format.ts";

/** Where a run stands. */
export interface RunState {
  readonly head: Head;
  readonly rows: readonly Row[];
}

/** A run as it is stored. */
export interface StoredRun extends RunState {
  readonly entry: StoreEntry<Head>;
}

/** The fields of a head that a step may change. */
export type HeadChange = Partial<
  Omit<Head, "version" | "conversationId" | "wire" | "rows" | "epoch" | "lease" | "updatedAt">
>;

/** What the head of a run says at its beginning. */
export const FRESH = {
  status: "running",
  used: NOTHING_USED,
  lifted: NOTHING_USED,
  liftedRows: 0,
  pending: [],
  error: null,
  lostUsage: undefined,
  requestId: null,
} satisfies HeadChange;

/**
 * Reads a run with all its rows.
 *
 * @throws ToolError `invalid_checkpoint`, `checkpoint_newer`, `store_failed`
 */
export async function readRun(store: Store, conversationId: string): Promise<StoredRun | undefined> {
  for (;;) {
    const entry = await readHeadEntry(store, conversationId);
    if (entry === undefined) return undefined;
    const rows = await readRows(store, conversationId, entry.value.rows);
    if (rows !== undefined) {
      checkIds(rows, entry.value);
      return { entry, head: entry.value, rows };
    }
    await checkGone(store, entry);
  }
}

/**
 * {@link readRun}, without a run whose process died before it had stored the input: nobody was told of it, and `run()`
 * starts it again.
 */
export async function readBegun(store: Store, conversationId: string): Promise<StoredRun | undefined> {
  const stored = await readRun(store, conversationId);
  return stored?.rows.length === 0 ? undefined : stored;
}

/**
 * Reads a run with only its last row, at the same cost however long it is: all that is needed to take a result.
 *
 * @throws ToolError as {@link readRun}
 */
export async function readEnd(store: Store, conversationId: string): Promise<RunState | undefined> {
  for (;;) {
    const entry = await readHeadEntry(store, conversationId);
    if (entry === undefined) return undefined;
    const { value: head } = entry;
    const last = await readRowAt(store, conversationId, head.rows - 1);
    if (last !== undefined) return { head, rows: [last] };
    if (head.rows === 0) return { head, rows: [] };
    await checkGone(store, entry);
  }
}

/** One row; `undefined` if there is none. */
export async function readRowAt(store: Store, conversationId: string, index: number): Promise<Row | undefined> {
  if (index < 0) return undefined;
  const entry = await store.get(rowKey(conversationId, index));
  return entry && readRow(entry.value, conversationId, index);
}

/** Rows counted by the head are never rewritten: if some are missing, the whole run was deleted. */
async function checkGone(store: Store, { key, value, version }: StoreEntry<Head>): Promise<void> {
  const now = await store.get(key);
  if (now?.version === version) throw damaged(value.conversationId, "rows are missing");
}

export async function readHeadEntry(store: Store, conversationId: string): Promise<StoreEntry<Head> | undefined> {
  const entry = await store.get(headKey(conversationId));
  return entry && { ...entry, value: readHead(entry.value, conversationId) };
}

async function readRows(store: Store, conversationId: string, count: number): Promise<Row[] | undefined> {
  if (count === 0) return [];
  const entries = await store.list(`${storeKey("run-row", conversationId)}/`, { limit: count });
  if (entries.length < count) return undefined;
  const rows = entries.map(({ key, value }, index) => {
    if (key !== rowKey(conversationId, index)) throw damaged(conversationId, `row ${index} is missing`);
    return readRow(value, conversationId, index);
  });
  checkOrder(rows, conversationId);
  return rows;
}

/** A turn's calls are answered by the next row: all of them, and no others. */
function checkOrder(rows: readonly Row[], conversationId: string): void {
  for (const [index, row] of rows.entries()) {
    const before = rows[index - 1];
    const calls = before?.kind === "turn" ? before.calls : [];
    const isAnswered = row.kind === "results" && row.outcomes.length > 0;
    const fits = isAnswered
      ? row.outcomes.length === calls.length &&
        row.outcomes.every(({ invocationId }, at) => invocationId === calls[at]!.invocationId)
      : calls.length === 0 && row.kind !== "results";
    if (!fits) throw damaged(conversationId, `row ${index} does not fit the one before`);
  }
}

/** Executed calls are recorded under the ids of run and call: with other ids they would be executed again. */
function checkIds(rows: readonly Row[], { conversationId, runId }: Head): void {
  let run: string | undefined;
  for (const [index, row] of rows.entries()) {
    if (row.kind === "input") run = row.runId;
    if (row.kind !== "turn") continue;
    const isOwn = row.turnId.startsWith(`${run}-`);
    if (isOwn && row.calls.every(({ invocationId }) => invocationId.startsWith(`${row.turnId}-`))) continue;
    throw damaged(conversationId, `the ids of row ${index}`);
  }
  if (rows.length > 0 && run !== runId) throw damaged(conversationId, "the id of its run");
}

/** @throws TypeError for what is no id: `undefined` would be one that others have too */
export function headKey(conversationId: string): string {
  if (typeof conversationId !== "string" || conversationId === "")
    throw new TypeError(`A conversationId is a text, got ${kindOf(conversationId)}.`);
  return storeKey("run", conversationId);
}

export function rowKey(conversationId: string, index: number): string {
  return storeKey("run-row", conversationId, String(index).padStart(8, "0"));
}

/**
 * A run that this process is working on. Only one process does at a time: each write of the head names the version it
 * is based on, so a process that lost the lease (by sleeping too long, say) can no longer write.
 */
export class Checkpoint {
  readonly rows: Row[];
  /** Fires if another process has taken over. */
  readonly lost: AbortSignal;
  readonly #store: Store;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  readonly #held: HeldEntry<Head>;

  private constructor(store: Store, leaseMs: number, entry: StoreEntry<Head>, rows: Row[]) {
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.rows = rows;
    this.lost = this.#lost.signal;
    this.#held = new HeldEntry(store, entry, ({ lease }) => lease?.owner);
    this.#held.beat(leaseMs, extended, () => this.abandon());
  }

  /**
   * Starts a conversation.
   *
   * @throws ToolError `run_busy` if another process started it at the same moment
   */
  static async create(
    store: Store,
    leaseMs: number,
    { conversationId, runId, wire }: Pick<Head, "conversationId" | "runId" | "wire">,
  ): Promise<Checkpoint> {
    const now = Date.now();
    const head: Head = {
      version: VERSION,
      conversationId,
      runId,
      wire,
      rows: 0,
      epoch: 1,
      lease: newLease(leaseMs),
      startedAt: now,
      updatedAt: now,
      ...FRESH,
    };
    const entry = await putSurely(store, headKey(conversationId), head, 0);
    if (entry === undefined) throw busy(conversationId);
    return new Checkpoint(store, leaseMs, entry, []);
  }

  /**
   * Takes over a stored run, in the state in which it was read. Its status stays until something is added: if this
   * process dies before, or its store fails, nothing has changed.
   *
   * @throws ToolError `run_busy` if another process works on it, or was faster
   */
  static async take(
    store: Store,
    leaseMs: number,
    { entry, head, rows }: StoredRun,
    change: HeadChange = {},
  ): Promise<Checkpoint> {
    if (isHeld(head)) throw busy(head.conversationId);
    const taken: Head = {
      ...head,
      ...change,
      epoch: head.epoch + 1,
      lease: newLease(leaseMs),
      updatedAt: Date.now(),
    };
    const now = await putSurely(store, entry.key, taken, entry.version);
    if (now === undefined) throw busy(head.conversationId);
    return new Checkpoint(store, leaseMs, now, [...rows]);
  }

  get head(): Head {
    return this.#held.value;
  }

  /** Adds a row, and counts it in the head. @throws ToolError `lease_lost`, `store_failed` */
  append(row: Row, change: HeadChange = {}): Promise<void> {
    return this.commit(change, [row]);
  }

  /**
   * Changes the head, extends the lease, and adds rows: all of it, or nothing.
   *
   * @throws ToolError `lease_lost`, `store_failed`
   */
  commit(change: HeadChange, rows: readonly Row[] = []): Promise<void> {
    return this.#write(change, rows);
  }

  /** The last {@link commit}: releases the run. @param row a last row to add, if any */
  release(change: HeadChange, row?: Row): Promise<void> {
    this.#held.stopBeating();
    return this.#write({ ...change, lease: null }, row === undefined ? [] : [row]);
  }

  /** Stops writing; the lease expires by itself. */
  abandon(): void {
    this.#held.stopBeating();
    this.#lost.abort(this.#isLost());
  }

  async #write(change: HeadChange & Pick<Partial<Head>, "lease">, added: readonly Row[]): Promise<void> {
    try {
      await this.#held.write(async (head) => {
        if (this.lost.aborted) throw this.#isLost();
        // A turn took long and was paid for: it is not asked for again because of a store that fails briefly.
        let { rows } = head;
        for (const row of added) rows = await outlast(BRIEFLY, () => this.#put(row, head.conversationId, rows));
        return extended({ ...head, ...change, rows }, Date.now() + this.#leaseMs);
      });
    } catch (error) {
      if (!isConflict(error)) throw error;
      this.abandon();
      throw this.#isLost(error);
    }
    this.rows.push(...added);
  }

  /**
   * An existing row was left by a process that died between row and head, or lost its lease: it does not count, and is
   * overwritten if the head is still ours.
   *
   * @returns how many rows there are then
   */
  async #put(row: Row, conversationId: string, rows: number): Promise<number> {
    const key = rowKey(conversationId, rows);
    try {
      await this.#store.put(key, row, { expectedVersion: 0 });
    } catch (error) {
      if (!isConflict(error)) throw error;
      await updateEntry(this.#store, key, async () => {
        if (await this.#held.isOurs()) return row;
        this.abandon();
        throw this.#isLost(error);
      });
    }
    return rows + 1;
  }

  #isLost(cause?: unknown): ToolError {
    return new ToolError(
      "lease_lost",
      `Another process has taken over the run of conversation ${this.head.conversationId}: this one did not renew its lease of ${this.#leaseMs} ms in time. Nothing more was written.`,
      { cause },
    );
  }
}

function extended(head: Head, until: number): Head {
  return { ...head, lease: head.lease && { ...head.lease, until }, updatedAt: Date.now() };
}

/** The status of a run as others see it. */
export function statusOf(head: Pick<Head, "lease" | "status">): Head["status"] {
  return isHeld(head) ? "running" : head.status;
}

/** Whether somebody is working on the run. */
export function isHeld({ lease }: Pick<Head, "lease">): boolean {
  return lease !== null && lease.until > Date.now();
}

function newLease(leaseMs: number): RunLease {
  return { owner: crypto.randomUUID(), until: Date.now() + leaseMs };
}
