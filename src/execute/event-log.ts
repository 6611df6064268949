import { isToolError } from "../errors.ts";
import { storeKey, type Store, type StoreEntry } from "../store/store.ts";
import { endOf, identityOf, type EventBase, type EventBody, type ToolEvent } from "./events.ts";

/** An event before it has its number. */
export type NewEvent = Omit<EventBase, "seq"> & EventBody;

/** Whether the action of an event is still on record, for events that no write of its row stands before. */
export type IsOnRecord = () => Promise<boolean>;

interface Tail {
  /** The last number that this process has seen; `undefined` before it has looked. */
  seq: number | undefined;
  /** Of that event: another one may have its number once the run was deleted and begun anew. */
  version: number | undefined;
  /** What is known to be told up to there: what others have, and all of it once somebody had to know. */
  readonly told: Set<string>;
  isWhole: boolean;
  /** Appends of one run follow each other, so that listeners hear them in order. */
  last: Promise<unknown>;
  waiting: number;
}

/**
 * The numbered events of each run, in the store:
 *
 * ```
 * event/run_1/000000000001  { type: "tool.invoked", seq: 1, … }
 * event/run_1/000000000002  { type: "tool.started", seq: 2, … }
 * ```
 *
 * A number is taken by writing its row where there is none, and only behind the one before it: so there is no gap, and no
 * number twice, however many processes write.
 */
export class EventLog {
  readonly #store: Store;
  readonly #tails = new Map<string, Tail>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Numbers and writes one event.
   *
   * @param once look through all of the run first: another process may have told it
   * @param isOnRecord asked right before it is written: of what was forgotten nothing comes back
   * @returns the event; `undefined` when it was told already, or is of what was forgotten
   */
  append(event: NewEvent, once = false, isOnRecord?: IsOnRecord): Promise<ToolEvent | undefined> {
    const tail = this.#tailOf(event.runId);
    tail.waiting++;
    // A process that has not followed the log can not tell what is in it.
    const isNew = tail.seq === undefined && tail.waiting === 1 && event.type !== "tool.invoked";
    const appended = tail.last.then(async () =>
      isOnRecord === undefined || (await isOnRecord()) ? this.#append(tail, event, once || isNew) : undefined,
    );
    tail.last = appended.catch(() => {}).finally(() => tail.waiting--);
    return appended;
  }

  /** The events behind a number, in order. */
  async read(runId: string, after = 0, limit?: number): Promise<ToolEvent[]> {
    return (await this.#list(runId, after, limit)).map(({ value }) => value);
  }

  #list(runId: string, after: number, limit?: number): Promise<StoreEntry<ToolEvent>[]> {
    return this.#store.list<ToolEvent>(`${storeKey("event", runId)}/`, {
      ...(after > 0 && { after: keyOf(runId, after) }),
      ...(limit !== undefined && { limit }),
    });
  }

  /** The number of the last event, 0 before the first. */
  position(runId: string): Promise<number> {
    return this.#findLast(runId);
  }

  /** The run is over, and its events are deleted: a new one of that name begins at 1. */
  forget(runId: string): void {
    this.#tails.delete(runId);
  }

  async #append(tail: Tail, event: NewEvent, once: boolean): Promise<ToolEvent | undefined> {
    const identity = identityOf(event as ToolEvent);
    // What was still to be told of a call comes too late when others have told its end.
    const end = event.type === "tool.progress" || event.type === "tool.started" ? endOf(event.actionId) : undefined;
    if (event.type === "tool.invoked") await this.#dropForgotten(tail, event.runId);
    const isTold = () => [identity, end].some((one) => one !== undefined && tail.told.has(one));
    if (isTold()) return undefined;
    if (once && identity !== undefined) await this.#followAll(tail, event.runId);
    else if (tail.seq === undefined) await this.#join(tail, event.runId);
    if (isTold()) return undefined;
    for (let seq = tail.seq! + 1; ; seq++) {
      const numbered = { ...event, seq } as ToolEvent;
      try {
        const entry = await this.#store.put(keyOf(event.runId, seq), numbered, { expectedVersion: 0 });
        passed(tail, entry);
        if (tail.isWhole) saw(tail, numbered);
        return numbered;
      } catch (error) {
        if (!isToolError(error) || error.code !== "version_conflict") throw error;
      }
      // Another process was faster: perhaps with the same event.
      const told = await this.#store.get<ToolEvent>(keyOf(event.runId, seq));
      tail.seq = seq;
      tail.version = told?.version;
      if (told !== undefined) saw(tail, told.value);
      if (isTold()) return undefined;
    }
  }

  /** Another process may have deleted the run: with its first call after that its numbers begin anew. */
  async #dropForgotten(tail: Tail, runId: string): Promise<void> {
    if (!tail.seq) return;
    const last = await this.#store.get(keyOf(runId, tail.seq));
    if (last !== undefined && last.version === tail.version) return;
    tail.seq = undefined;
    tail.version = undefined;
    tail.told.clear();
    tail.isWhole = false;
  }

  /** Reads what came since this process looked: all of it the first time. What others write after that is met on the way. */
  async #followAll(tail: Tail, runId: string): Promise<void> {
    await this.#follow(tail, runId, tail.isWhole ? tail.seq! : 0);
    tail.isWhole = true;
  }

  /** Goes to the end. Of a call that this process has recorded and not told yet, others may have told the end just now. */
  async #join(tail: Tail, runId: string): Promise<void> {
    const last = await this.#findLast(runId);
    if (last > 0) await this.#follow(tail, runId, Math.max(0, last - RECENT));
    tail.seq ??= last;
  }

  async #follow(tail: Tail, runId: string, after: number): Promise<void> {
    const entries = await this.#list(runId, after);
    tail.seq ??= 0;
    for (const entry of entries) {
      passed(tail, entry);
      saw(tail, entry.value);
    }
  }

  /** There are no gaps, so the end is found by doubling and halving. */
  async #findLast(runId: string): Promise<number> {
    const isThere = async (seq: number) => (await this.#store.get(keyOf(runId, seq))) !== undefined;
    let missing = 1;
    while (await isThere(missing)) missing *= 2;
    let there = missing >> 1;
    while (missing - there > 1) {
      const middle = (there + missing) >> 1;
      if (await isThere(middle)) there = middle;
      else missing = middle;
    }
    return there;
  }

  #tailOf(runId: string): Tail {
    let tail = this.#tails.get(runId);
    if (tail === undefined) {
      if (this.#tails.size >= MAX_TAILS) this.#dropIdle();
      this.#tails.set(
        runId,
        (tail = {
          seq: undefined,
          version: undefined,
          told: new Set(),
          isWhole: false,
          last: Promise.resolve(),
          waiting: 0,
        }),
      );
    }
    return tail;
  }

  #dropIdle(): void {
    for (const [runId, { waiting }] of this.#tails) if (waiting === 0) this.#tails.delete(runId);
  }
}

const MAX_TAILS = 1_000;
const RECENT = 100;

function passed(tail: Tail, { value, version }: StoreEntry<ToolEvent>): void {
  tail.seq = value.seq;
  tail.version = version;
}

function saw(tail: Tail, event: ToolEvent): void {
  const identity = identityOf(event);
  if (identity !== undefined) tail.told.add(identity);
}

/** Keys are ordered as text. */
function keyOf(runId: string, seq: number): string {
  return storeKey("event", runId, String(seq).padStart(12, "0"));
}
