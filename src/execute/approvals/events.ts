import type { Store } from "../../store/store.ts";
import { TRIM_EVERY, type ApprovalLog, type LogEntry, type NumberedEntry } from "./log.ts";
import type { ApprovalRows } from "./rows.ts";
import type { ApprovalEvent, ApprovalRequest, SubscribeOptions } from "./types.ts";
import { createWakeUp } from "./wake-up.ts";

/**
 * Gives requests the numbers of their events, and tells of them.
 *
 * Row and log are two writes, and a process may die between any two. So a request and a decision count from the write
 * of their row on; the number follows, given by the writer or by whoever looks at the row next. The log takes an event
 * once, and the row remembers its number.
 */
export class ApprovalEvents {
  readonly #store: Store;
  readonly #rows: ApprovalRows;
  readonly #log: ApprovalLog;
  readonly #pollMs: number;

  constructor(store: Store, rows: ApprovalRows, log: ApprovalLog, pollMs: number) {
    this.#store = store;
    this.#rows = rows;
    this.#log = log;
    this.#pollMs = pollMs;
  }

  /** Numbers what has no number yet, and gives the request as it is then. */
  async announce(request: ApprovalRequest): Promise<ApprovalRequest> {
    let now = request;
    if (now.seq === 0) now = await this.#number(now, "approval.requested");
    if (now.status !== "pending" && now.decidedSeq === 0) now = await this.#number(now, "approval.decided");
    return now;
  }

  /** The number of the last event of a scope; 0 when there was none. */
  position(scope: string): Promise<number> {
    return this.#log.last(scope);
  }

  async *subscribe(options: SubscribeOptions = {}): AsyncGenerator<ApprovalEvent, void, undefined> {
    const { scope = "default", signal } = options;
    let { after = 0 } = options;
    const wakeUp = createWakeUp(signal);
    // Before the first look: what is written between looking and listening would be missed.
    const end = await this.#store.subscribe(this.#log.prefix(scope), wakeUp.wake);
    try {
      while (signal?.aborted !== true) {
        const entries = await this.#log.read(scope, after, PAGE);
        for (const entry of entries) {
          after = entry.seq;
          const event = await this.#event(scope, entry);
          if (isAborted(signal)) return;
          if (event !== undefined) yield event;
        }
        // Messages between processes may get lost when a connection breaks; looking again from time to time may not.
        if (entries.length === 0) await wakeUp.wait(this.#pollMs);
      }
    } finally {
      await end();
    }
  }

  async #number(request: ApprovalRequest, type: NumberedEntry["type"]): Promise<ApprovalRequest> {
    const { scope, id } = request;
    const seq = await this.#log.append(scope, { type, requestId: id }, request.eventsAfter);
    const confirmed = await this.#confirm(id, type, seq);
    // It changes nothing but the room that is taken: what fails now is done another time.
    if (this.#rows.forgets && seq % TRIM_EVERY === 0) await this.#log.trim(scope, this.#isGone).catch(() => {});
    return confirmed ?? request;
  }

  readonly #isGone = async ({ requestId }: LogEntry): Promise<boolean> =>
    (await this.#rows.findReadable(requestId)) === undefined;

  async #confirm(requestId: string, type: NumberedEntry["type"], seq: number): Promise<ApprovalRequest | undefined> {
    const field = FIELDS[type];
    const updated = await this.#rows.update(requestId, (request) =>
      request[field] === 0 ? { ...request, [field]: seq } : undefined,
    );
    return updated?.request;
  }

  /** `undefined`: the request is gone, or can not be read. */
  async #event(scope: string, { type, requestId, seq }: NumberedEntry): Promise<ApprovalEvent | undefined> {
    let request = (await this.#rows.findReadable(requestId))?.request;
    if (request?.[FIELDS[type]] === 0) request = await this.#confirm(requestId, type, seq);
    return request && Object.freeze({ type, seq, scope, request: Object.freeze(request) });
  }
}

const FIELDS = { "approval.requested": "seq", "approval.decided": "decidedSeq" } as const;
const PAGE = 100;

/** A function, since the compiler takes a signal for unchanged after an await. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
