import { orderedText } from "../json/index.ts";
import { isConflict } from "../store/errors.ts";
import { BRIEFLY, outlast } from "../store/outlast.ts";
import type { StoreEntry } from "../store/store.ts";
import { actionIdOf, type ActionRow, type Ledger, type Lease } from "./ledger.ts";

/**
 * A row that this process holds. Writes are queued, each based on the one before; once another process has written in
 * between, the row is lost and nothing more is written.
 */
export class HeldAction {
  readonly #ledger: Ledger;
  #row: ActionRow;
  #version: number;
  /** Writes that got no answer since the last confirmed one: one of them may be what is stored. */
  readonly #unconfirmed: string[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #beat: ReturnType<typeof setInterval> | undefined;

  constructor(ledger: Ledger, { value, version }: StoreEntry<ActionRow>) {
    this.#ledger = ledger;
    this.#row = value;
    this.#version = version;
  }

  get row(): ActionRow {
    return this.#row;
  }

  /** @throws ToolError `version_conflict` when the row is lost, `store_failed` after three tries */
  write(change: (row: ActionRow) => ActionRow): Promise<void> {
    return this.#queue(change, BRIEFLY);
  }

  /**
   * Extends the lease until {@link stopBeating}; calls `onLost` if another process has taken over.
   *
   * @param withLease sets the lease: that of the action, or of its undo
   */
  beat(
    lease: Lease,
    leaseMs: number,
    withLease: (row: ActionRow, lease: Lease) => ActionRow,
    onLost: () => void,
  ): void {
    // While the store does not answer, skip beats: the action's end would have to wait for all that had piled up.
    let isPending = false;
    const extend = (row: ActionRow) =>
      this.#beat === undefined ? row : withLease(row, { ...lease, until: Date.now() + leaseMs });
    this.#beat = setInterval(() => {
      if (isPending) return;
      isPending = true;
      this.#queue(extend, [])
        .catch((error: unknown) => {
          if (isConflict(error)) onLost();
        })
        .finally(() => (isPending = false));
    }, leaseMs / 3);
    (this.#beat as { unref?: () => void }).unref?.();
  }

  stopBeating(): void {
    clearInterval(this.#beat);
    this.#beat = undefined;
  }

  /** @param pausesMs before each further attempt, if the store fails */
  #queue(change: (row: ActionRow) => ActionRow, pausesMs: readonly number[]): Promise<void> {
    const written = this.#last.then(() => this.#write(change, pausesMs));
    this.#last = written.catch(() => {});
    return written;
  }

  async #write(change: (row: ActionRow) => ActionRow, pausesMs: readonly number[]): Promise<void> {
    const row = change(this.#row);
    if (row === this.#row) return;
    const entry = await outlast(pausesMs, () => this.#attempt(row));
    this.#unconfirmed.length = 0;
    this.#row = row;
    this.#version = entry.version;
  }

  /** The store may fail briefly. A write that it did not confirm then conflicts with ours, which a read finds out. */
  async #attempt(row: ActionRow): Promise<StoreEntry<ActionRow>> {
    try {
      return await this.#put(row);
    } catch (error) {
      if (!isConflict(error) || this.#unconfirmed.length === 0) throw error;
      const stored = await this.#ledger.get(actionIdOf(row.runId, row.invocationId));
      const text = orderedText(stored?.value);
      if (stored === undefined || !this.#unconfirmed.includes(text)) throw error;
      if (text === orderedText(row)) return stored;
      this.#version = stored.version;
      return this.#put(row);
    }
  }

  async #put(row: ActionRow): Promise<StoreEntry<ActionRow>> {
    try {
      return await this.#ledger.put(row, this.#version);
    } catch (error) {
      if (!isConflict(error)) this.#unconfirmed.push(orderedText(row));
      throw error;
    }
  }
}
