import { conflict, isConflict } from "./errors.ts";
import { BRIEFLY, outlast, putSurely } from "./outlast.ts";
import type { Store, StoreEntry } from "./store.ts";

type Change<Value> = (value: Value) => Value | Promise<Value>;

/**
 * An entry with a lease that this process holds. Writes are queued, each based on the one before; once another process
 * has written in between, the entry is lost and nothing more is written.
 */
export class HeldEntry<Value> {
  readonly #store: Store;
  readonly #key: string;
  readonly #ownerOf: (value: Value) => string | undefined;
  readonly #owner: string | undefined;
  #value: Value;
  #version: number;
  #last: Promise<unknown> = Promise.resolve();
  #beat: ReturnType<typeof setInterval> | undefined;

  /** @param ownerOf who holds the lease of a value */
  constructor(store: Store, { key, value, version }: StoreEntry<Value>, ownerOf: (value: Value) => string | undefined) {
    this.#store = store;
    this.#key = key;
    this.#ownerOf = ownerOf;
    this.#owner = ownerOf(value);
    this.#value = value;
    this.#version = version;
  }

  get value(): Value {
    return this.#value;
  }

  /** @throws ToolError `version_conflict` when the entry is lost, `store_failed`; whatever `change` throws */
  write(change: Change<Value>): Promise<void> {
    return this.#queue(change, BRIEFLY);
  }

  /** Extends the lease until {@link stopBeating}; calls `onLost` if another process has taken over. */
  beat(leaseMs: number, extend: (value: Value, until: number) => Value, onLost: () => void): void {
    // While the store does not answer, skip beats: other writes would have to wait for all that had piled up.
    let isPending = false;
    const change = (value: Value) => (this.#beat === undefined ? value : extend(value, Date.now() + leaseMs));
    this.#beat = setInterval(() => {
      if (isPending) return;
      isPending = true;
      this.#queue(change, [])
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

  /** Whether no other process has taken over, as it is stored now: then the next write goes on top of that. */
  async isOurs(): Promise<boolean> {
    return this.#isOurs(await this.#store.get<Value>(this.#key));
  }

  #queue(change: Change<Value>, pausesMs: readonly number[]): Promise<void> {
    const written = this.#last.then(() => this.#write(change, pausesMs));
    this.#last = written.catch(() => {});
    return written;
  }

  async #write(change: Change<Value>, pausesMs: readonly number[]): Promise<void> {
    const value = await change(this.#value);
    if (value === this.#value) return;
    for (let tries = 0; ; tries++) {
      const entry = await putSurely(this.#store, this.#key, value, this.#version, pausesMs);
      if (entry !== undefined) {
        this.#version = entry.version;
        this.#value = value;
        return;
      }
      // An earlier write, of which the store did not tell, may be in the way: this one goes on top of it.
      const stored = await outlast(pausesMs, () => this.#store.get<Value>(this.#key));
      if (tries >= MAX_TRIES || !this.#isOurs(stored)) throw conflict(this.#key, this.#version, stored?.version ?? 0);
    }
  }

  #isOurs(stored: StoreEntry<Value> | undefined): boolean {
    if (stored === undefined || this.#ownerOf(stored.value) !== this.#owner) return false;
    this.#version = stored.version;
    return true;
  }
}

const MAX_TRIES = 10;
