import type { EventLog, IsOnRecord, NewEvent } from "./event-log.ts";
import { identityOf, type EventBody, type ToolEvent } from "./events.ts";
import { quietly } from "../quietly.ts";
import { remember } from "./remember.ts";

/** Gets every event of this executor, in numerical order within a run. Errors that it throws are ignored. */
export type EventListener = (event: ToolEvent) => unknown;

/** What all events of one action have in common. */
export type ActionPart = Omit<NewEvent, "at" | keyof EventBody>;

/** Numbers events and emits them. */
export class Emitter {
  readonly #log: EventLog | undefined;
  readonly #listeners = new Set<EventListener>();
  /** If events are not stored: the last number of each run. */
  readonly #counts = new Map<string, number>();
  /** And the approvals that were already reported. */
  readonly #told = new Map<string, true>();

  /** Without a log, events are numbered by this process alone, and not kept. */
  constructor(log: EventLog | undefined, listener: EventListener | undefined) {
    this.#log = log;
    if (listener !== undefined) this.#listeners.add(listener);
  }

  /** @returns a function that stops listening */
  listen(listener: EventListener): () => void {
    // Wrapped, since the same function may be added twice, and each addition is removed separately.
    const own: EventListener = (event) => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /**
   * Resolves when the event is stored and emitted. Never rejects: an event that cannot be stored, though tried again, has
   * no number and is not emitted; what it is about is in the ledger, or has failed to get there as well.
   *
   * @param once another process may have emitted it already
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

  /** Without a log, nobody knows what other processes emitted; each emits requests and decisions once. */
  #isNews(event: NewEvent): boolean {
    if (event.type !== "approval.requested" && event.type !== "approval.decided") return false;
    const identity = identityOf(event as ToolEvent)!;
    if (this.#told.has(identity)) return false;
    remember(this.#told, identity, true, MAX_TOLD);
    return true;
  }

  #count(runId: string): number {
    const seq = (this.#counts.get(runId) ?? 0) + 1;
    remember(this.#counts, runId, seq, MAX_RUNS);
    return seq;
  }

  #tell(event: ToolEvent): void {
    for (const listener of this.#listeners) void quietly(() => listener(event));
  }
}

/** Beyond this many other runs the numbering starts over, since it is not stored. */
const MAX_RUNS = 10_000;
/** Older ones may be emitted again. */
const MAX_TOLD = 10_000;
