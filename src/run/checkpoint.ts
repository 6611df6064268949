import { ToolError } from "../errors.ts";
import { orderedText } from "../json/index.ts";
import { isConflict } from "../store/errors.ts";
import { storeKey, type Store, type StoreEntry } from "../store/store.ts";
import { NOTHING_USED } from "./budgets.ts";
import { busy } from "./errors.ts";
import { damaged, readHead, readRow, VERSION, type Head, type Row, type RunLease } from "./format.ts";

/** A run as it is stored. */
export interface StoredRun {
  readonly entry: StoreEntry<Head>;
  readonly head: Head;
  readonly rows: readonly Row[];
}

/** The fields of a head that a step may change. */
export type HeadChange = Partial<
  Pick<
    Head,
    | "status"
    | "used"
    | "lifted"
    | "liftedRows"
    | "pending"
    | "error"
    | "runId"
    | "startedAt"
    | "requestId"
    | "lostUsage"
  >
>;

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

/** The head of a run and its last row: all that is needed to take a result for a long run. */
export interface RunEnd {
  readonly head: Head;
  readonly last: Row | undefined;
}

/**
 * Reads the end of a run, at the same cost however long it is.
 *
 * @throws ToolError as {@link readRun}
 */
export async function readEnd(store: Store, conversationId: string): Promise<RunEnd | undefined> {
  for (;;) {
    const entry = await readHeadEntry(store, conversationId);
    if (entry === undefined) return undefined;
    const { value: head } = entry;
    const last = await readRowAt(store, conversationId, head.rows - 1);
    if (last !== undefined || head.rows === 0) return { head, last };
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

export function headKey(conversationId: string): string {
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
  readonly #owner: string | undefined;
  #head: Head;
  #version: number;
  #last: Promise<unknown> = Promise.resolve();
  #beat: ReturnType<typeof setInterval> | undefined;

  private constructor(store: Store, leaseMs: number, entry: StoreEntry<Head>, rows: Row[]) {
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.#owner = entry.value.lease?.owner;
    this.#head = entry.value;
    this.#version = entry.version;
    this.rows = rows;
    this.lost = this.#lost.signal;
    this.#beat = setInterval(() => void this.commit({}).catch(() => {}), leaseMs / 3);
    (this.#beat as { unref?: () => void }).unref?.();
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
      status: "running",
      rows: 0,
      epoch: 1,
      lease: newLease(leaseMs),
      startedAt: now,
      updatedAt: now,
      used: NOTHING_USED,
      lifted: NOTHING_USED,
      liftedRows: 0,
      pending: [],
      error: null,
    };
    try {
      const entry = await store.put(headKey(conversationId), head, { expectedVersion: 0 });
      return new Checkpoint(store, leaseMs, entry, []);
    } catch (error) {
      throw isConflict(error) ? busy(conversationId) : error;
    }
  }

  /**
   * Takes over a stored run, in the state in which it was read.
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
      status: "running",
      epoch: head.epoch + 1,
      lease: newLease(leaseMs),
      updatedAt: Date.now(),
    };
    try {
      const now = await store.put(entry.key, taken, { expectedVersion: entry.version });
      return new Checkpoint(store, leaseMs, now, [...rows]);
    } catch (error) {
      throw isConflict(error) ? busy(head.conversationId) : error;
    }
  }

  get head(): Head {
    return this.#head;
  }

  /** Adds a row, and counts it in the head. @throws ToolError `lease_lost`, `store_failed` */
  append(row: Row, change: HeadChange = {}): Promise<void> {
    return this.#queue(async () => {
      await this.#putRow(row);
      await this.#putHead({ ...this.#head, ...change, rows: this.#head.rows + 1 });
      this.rows.push(row);
    });
  }

  /** Changes the head, and extends the lease. @throws ToolError `lease_lost`, `store_failed` */
  commit(change: HeadChange): Promise<void> {
    return this.#queue(() => this.#putHead({ ...this.#head, ...change }));
  }

  /**
   * Releases the run.
   *
   * @param row a last row to add, if any
   * @throws ToolError `lease_lost`, `store_failed`
   */
  async release(change: HeadChange, row?: Row): Promise<void> {
    clearInterval(this.#beat);
    await this.#queue(async () => {
      if (row !== undefined) await this.#putRow(row);
      const rows = this.#head.rows + (row === undefined ? 0 : 1);
      await this.#putHead({ ...this.#head, ...change, rows, lease: null });
      if (row !== undefined) this.rows.push(row);
    });
  }

  /** Stops writing; the lease expires by itself. */
  abandon(): void {
    clearInterval(this.#beat);
    this.#lost.abort();
  }

  #queue(write: () => Promise<void>): Promise<void> {
    const written = this.#last.then(() => {
      if (this.#lost.signal.aborted) throw this.#isLost();
      return write();
    });
    this.#last = written.catch(() => {});
    return written;
  }

  async #putHead(head: Head): Promise<void> {
    const { lease } = head;
    const next: Head = {
      ...head,
      lease: lease && { ...lease, until: Date.now() + this.#leaseMs },
      updatedAt: Date.now(),
    };
    for (let tries = 0; ; tries++) {
      try {
        const { version } = await this.#store.put(headKey(head.conversationId), next, {
          expectedVersion: this.#version,
        });
        this.#head = next;
        this.#version = version;
        return;
      } catch (error) {
        if (!isConflict(error)) return this.#wasWritten(next, error);
        await this.#hold(error, tries);
      }
    }
  }

  /**
   * Continues if a write conflicted with one of our own, which we gave up on because the store did not answer, but
   * which was done nevertheless. If another process has taken over, the lease has another owner.
   */
  async #hold(conflict: unknown, tries: number): Promise<void> {
    const stored = await this.#store.get<Partial<Head>>(headKey(this.#head.conversationId));
    if (stored === undefined || stored.value.lease?.owner !== this.#owner || tries >= MAX_TRIES) {
      this.abandon();
      throw this.#isLost(conflict);
    }
    this.#version = stored.version;
  }

  /** A store that failed may still have written, which a read shows; if that fails too, nobody knows. */
  async #wasWritten(next: Head, error: unknown): Promise<void> {
    const stored = await this.#store.get<Head>(headKey(next.conversationId));
    if (stored === undefined || orderedText(stored.value) !== orderedText(next)) throw error;
    this.#head = next;
    this.#version = stored.version;
  }

  /**
   * An existing row was left by a process that died between row and head, or lost its lease: it does not count, and is
   * overwritten. If the row's version is unknown, the head is checked to be still ours.
   */
  async #putRow(row: Row): Promise<void> {
    const { conversationId, rows } = this.#head;
    const key = rowKey(conversationId, rows);
    let expectedVersion = 0;
    for (let tries = 0; ; tries++) {
      try {
        await this.#store.put(key, row, { expectedVersion });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
        expectedVersion = (await this.#store.get(key))?.version ?? 0;
        await this.#hold(error, tries);
      }
    }
  }

  #isLost(cause?: unknown): ToolError {
    return new ToolError(
      "lease_lost",
      `Another process has taken over the run of conversation ${this.#head.conversationId}: this one did not renew its lease of ${this.#leaseMs} ms in time. Nothing more was written.`,
      { cause },
    );
  }
}

const MAX_TRIES = 10;

/** Whether somebody is working on the run. */
export function isHeld({ lease }: Pick<Head, "lease">): boolean {
  return lease !== null && lease.until > Date.now();
}

function newLease(leaseMs: number): RunLease {
  return { owner: crypto.randomUUID(), until: Date.now() + leaseMs };
}
