import type { EventLog, IsOnRecord, NewEvent } from "./event-log.ts";
import { identityOf, type EventBody, type ToolEvent } from "./events.ts";

/** Hears every event of this executor, in the order of their numbers within a run. What it throws changes nothing. */
export type EventListener = (event: ToolEvent) => unknown;

/** What all events of one action have in common. */
export type ActionPart = Omit<NewEvent, "at" | keyof EventBody>;

/** Numbers events and tells them. */
export class Emitter {
  readonly #log: EventLog | undefined;
  readonly #listeners = new Set<EventListener>();
  /** Where events are not stored: the last number of each run. */
  readonly #counts = new Map<string, number>();
  /** And the approvals that were told of. */
  readonly #told = new Set<string>();

  /** Without a log events are numbered by this process alone, and kept nowhere. */
  constructor(log: EventLog | undefined, listener: EventListener | undefined) {
    this.#log = log;
    if (listener !== undefined) this.#listeners.add(listener);
  }

  /** @returns ends it */
  listen(listener: EventListener): () => void {
    // Of its own: the same function may be given twice, and each is ended alone.
    const own: EventListener = (event) => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /**
   * Resolves when the event is stored and told. Never rejects: an event that can not be stored has no number, and is not
   * told; what it is about is in the ledger, or has failed to get there as well.
   *
   * @param once another process may have told it already
   * @param isOnRecord see {@link EventLog.append}
   */
  async emit(action: ActionPart, body: EventBody, once = false, isOnRecord?: IsOnRecord): Promise<void> {
    const event = { ...action, at: Date.now(), ...body } as NewEvent;
    if (this.#log === undefined) {
      if (!once || this.#isNews(event)) this.#tell({ ...event, seq: this.#count(event.runId) } as ToolEvent);
      return;
    }
    try {
      const numbered = await this.#log.append(event, once, isOnRecord);
      if (numbered !== undefined) this.#tell(numbered);
    } catch {
      // See above.
    }
  }

  /** Without a log nobody knows what others have told; what was asked, and decided, is told by each process once. */
  #isNews(event: NewEvent): boolean {
    if (event.type !== "approval.requested" && event.type !== "approval.decided") return false;
    const identity = identityOf(event as ToolEvent)!;
    if (this.#told.has(identity)) return false;
    if (this.#told.size >= MAX_TOLD) this.#told.delete(this.#told.keys().next().value!);
    this.#told.add(identity);
    return true;
  }

  #count(runId: string): number {
    const seq = (this.#counts.get(runId) ?? 0) + 1;
    if (seq === 1 && this.#counts.size >= MAX_RUNS) this.#counts.delete(this.#counts.keys().next().value!);
    this.#counts.set(runId, seq);
    return seq;
  }

  #tell(event: ToolEvent): void {
    for (const listener of this.#listeners) {
      try {
        const answer = listener(event) as PromiseLike<unknown> | undefined;
        if (typeof answer?.then === "function") answer.then(undefined, () => {});
      } catch {
        // A listener changes nothing.
      }
    }
  }
}

/** Of more runs the numbers begin anew: they are kept nowhere. */
const MAX_RUNS = 10_000;
/** Of older ones it may be told again. */
const MAX_TOLD = 10_000;
