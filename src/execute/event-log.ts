import { BRIEFLY, outlast, putSurely } from "../store/outlast.ts";
import { storeKey, type Store, type StoreEntry } from "../store/store.ts";
import { endOf, identityOf, type EventBase, type EventBody, type ToolEvent } from "./events.ts";

/** An event before it has its number. */
export type NewEvent = Omit<EventBase, "seq"> & EventBody;

/** Whether the action of an event is still on record, for events that do not follow a write of its row. */
export type IsOnRecord = () => Promise<boolean>;

interface Tail {
  /** The last number that this process has seen; `undefined` before it has looked. */
  seq: number | undefined;
  /** Version of that event: once a run is deleted and started again, another event may have its number. */
  version: number | undefined;
  /** What is known to have been emitted so far by other processes; complete once somebody needed to know. */
  told: Set<string>;
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
 * A number is claimed by creating its row, and only after the row before it exists: so there are no gaps and no
 * duplicates, however many processes write.
 */
export class EventLog {
  readonly #store: Store;
  readonly #tails = new Map<string, Tail>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Numbers and writes one event. Outlasts a store that fails briefly, as the record of an action does: an action that
   * has ended there would otherwise seem to run forever.
   *
   * @param once search the whole run first: another process may have emitted it
   * @param isOnRecord asked right before the write, and after it: nothing stays of a forgotten action
   * @returns the event; `undefined` if it was emitted already, or its action was forgotten
   */
  append(event: NewEvent, once = false, isOnRecord?: IsOnRecord): Promise<ToolEvent | undefined> {
    const tail = this.#tailOf(event.runId);
    tail.waiting++;
    // A process that has not followed the log cannot know what is in it.
    const isNew = tail.seq === undefined && tail.waiting === 1 && event.type !== "tool.invoked";
    // Progress is soon out of date, and the handler may wait for it.
    const pausesMs = event.type === "tool.progress" ? [] : BRIEFLY;
    const appended = tail.last.then(() => this.#append(tail, event, once || isNew, pausesMs, isOnRecord));
    tail.last = appended.catch(() => {}).finally(() => tail.waiting--);
    return appended;
  }

  /** The events after a number, in order. */
  async read(runId: string, after = 0, limit?: number): Promise<ToolEvent[]> {
    return (await this.#list(runId, after, limit)).map(({ value }) => value);
  }

  #list(runId: string, after: number, limit?: number): Promise<StoreEntry<ToolEvent>[]> {
    return this.#store.list<ToolEvent>(`${storeKey("event", runId)}/`, {
      ...(after > 0 && { after: keyOf(runId, after) }),
      ...(limit !== undefined && { limit }),
    });
  }

  /** The run is over and its events are deleted: a new run of that name starts at 1. */
  forget(runId: string): void {
    this.#tails.delete(runId);
  }

  async #append(
    tail: Tail,
    event: NewEvent,
    once: boolean,
    pausesMs: readonly number[],
    isOnRecord: IsOnRecord = isOfCourse,
  ): Promise<ToolEvent | undefined> {
    const identity = identityOf(event as ToolEvent);
    // Pending events of a call are too late once another process has emitted its end.
    const end = event.type === "tool.progress" || event.type === "tool.started" ? endOf(event.actionId) : undefined;
    const isTold = () => [identity, end].some((one) => one !== undefined && tail.told.has(one));
    await outlast(pausesMs, async () => {
      if (event.type === "tool.invoked") await this.#dropForgotten(tail, event.runId);
      if (isTold()) return;
      if (once && identity !== undefined) await this.#followAll(tail, event.runId);
      else if (tail.seq === undefined) await this.#join(tail, event.runId);
    });
    if (isTold() || !(await outlast(pausesMs, isOnRecord))) return undefined;
    for (let seq = tail.seq! + 1; ; seq++) {
      const numbered = { ...event, seq } as ToolEvent;
      const entry = await putSurely(this.#store, keyOf(event.runId, seq), numbered, 0, pausesMs);
      if (entry !== undefined) {
        passed(tail, entry);
        if (tail.isWhole) saw(tail, numbered);
        // Of progress there is too much to look twice each time.
        if (event.type === "tool.progress" || (await isOnRecord().catch(isOfCourse))) return numbered;
        await this.#store.delete(entry.key, { expectedVersion: entry.version }).catch(() => {});
        Object.assign(tail, unread());
        return undefined;
      }
      // Another process was faster: perhaps with the same event.
      const told = await outlast(pausesMs, () => this.#store.get<ToolEvent>(keyOf(event.runId, seq)));
      tail.seq = seq;
      tail.version = told?.version;
      if (told !== undefined) saw(tail, told.value);
      if (isTold()) return undefined;
    }
  }

  /** Another process may have deleted the run: the numbers then start over with its next call. */
  async #dropForgotten(tail: Tail, runId: string): Promise<void> {
    if (!tail.seq) return;
    const last = await this.#store.get(keyOf(runId, tail.seq));
    if (last === undefined || last.version !== tail.version) Object.assign(tail, unread());
  }

  /**
   * Reads what was added since this process last looked, or everything the first time. Later writes are met on append.
   */
  async #followAll(tail: Tail, runId: string): Promise<void> {
    await this.#follow(tail, runId, tail.isWhole ? tail.seq! : 0);
    tail.isWhole = true;
  }

  /**
   * Moves to the end. Others may just have emitted the end of a call that this process recorded but has not emitted.
   */
  async #join(tail: Tail, runId: string): Promise<void> {
    const last = await this.position(runId);
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

  /** The number of the last event, 0 before the first. There are no gaps, so it is found by doubling and halving. */
  async position(runId: string): Promise<number> {
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
      this.#makeRoom();
      this.#tails.set(runId, (tail = { ...unread(), last: Promise.resolve(), waiting: 0 }));
    }
    return tail;
  }

  /** Drops the oldest runs that are idle: if one of them goes on, its events are read again. */
  #makeRoom(): void {
    let size = 0;
    // A run of which nothing is known takes memory too.
    for (const { told } of this.#tails.values()) size += 100 + told.size;
    for (const [runId, { told, waiting }] of this.#tails) {
      if (size < MAX_SIZE || waiting > 0) continue;
      this.#tails.delete(runId);
      size -= 100 + told.size;
    }
  }
}

/** In events. */
const MAX_SIZE = 100_000;
const RECENT = 100;

async function isOfCourse(): Promise<boolean> {
  return true;
}

/** What is known of a run before this process has looked. */
function unread(): Pick<Tail, "seq" | "version" | "told" | "isWhole"> {
  return { seq: undefined, version: undefined, told: new Set(), isWhole: false };
}

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
