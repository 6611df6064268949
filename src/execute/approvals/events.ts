import { createWakeUp } from "../../time.ts";
import { createApprovalLog, TRIM_EVERY, type LogEntry, type NumberedEntry } from "./log.ts";
import type { ApprovalSettings } from "./options.ts";
import type { ApprovalRows } from "./rows.ts";
import type { ApprovalEvent, ApprovalRequest, SubscribeOptions } from "./types.ts";

/**
 * Numbers the events of requests, and emits them.
 *
 * Row and log are two writes, and a process may die between them. So a request or a decision counts from the write of
 * its row; the number follows, assigned by the writer or by whoever reads the row next. The log takes an event once,
 * and the row remembers its number.
 */
export type ApprovalEvents = ReturnType<typeof createApprovalEvents>;

export function createApprovalEvents(settings: ApprovalSettings, rows: ApprovalRows) {
  const { store, pollMs, retentionMs } = settings;
  const log = createApprovalLog(settings);
  /** What is being read for subscribers. Pages of the log: since they were last told of a change. */
  const reads = new Map<string, Promise<unknown>>();

  /** Numbers the events that have no number yet, and returns the updated request. */
  async function announce(request: ApprovalRequest): Promise<ApprovalRequest> {
    let now = request;
    if (now.seq === 0) now = await number(now, "approval.requested");
    if (now.status !== "pending" && now.decidedSeq === 0) now = await number(now, "approval.decided");
    return now;
  }

  /** Deletes the events of a request. */
  function forget({ scope, seq, decidedSeq }: ApprovalRequest): Promise<void> {
    return log.forget(scope, [seq, decidedSeq]);
  }

  async function* subscribe(options: SubscribeOptions = {}): AsyncGenerator<ApprovalEvent, void, undefined> {
    const { scope = "default", signal } = options;
    let { after = 0 } = options;
    const wakeUp = createWakeUp(signal);
    // Subscribe before the first look: what is written in between would be missed.
    const end = await store.subscribe(log.prefixOf(scope), () => {
      reads.clear();
      wakeUp.wake();
    });
    reads.clear();
    try {
      while (signal?.aborted !== true) {
        const entries = await shared(`after ${after} ${scope}`, () => log.read(scope, after, PAGE));
        for (const entry of entries) {
          after = entry.seq;
          const event = await eventOf(scope, entry);
          if (isAborted(signal)) return;
          if (event !== undefined) yield event;
        }
        // What was written meanwhile has woken it. Notifications may get lost when a connection breaks: then it polls.
        if (entries.length < PAGE) await wakeUp.wait(pollMs);
      }
    } finally {
      await end();
    }
  }

  async function number(request: ApprovalRequest, type: NumberedEntry["type"]): Promise<ApprovalRequest> {
    const { scope, id } = request;
    const seq = await log.append(scope, { type, requestId: id }, request.eventsAfter);
    const field = FIELDS[type];
    const confirmed = await rows.update(id, (now) => (now[field] === 0 ? { ...now, [field]: seq } : undefined));
    // This only frees space: if it fails, it is done another time.
    if (retentionMs !== Infinity && seq % TRIM_EVERY === 0) await log.trim(scope, isGone).catch(() => {});
    return confirmed?.request ?? request;
  }

  async function isGone({ requestId }: LogEntry): Promise<boolean> {
    return (await rows.findReadable(requestId)) === undefined;
  }

  /**
   * `undefined` if the request is gone or unreadable. Its row may not have the number yet: whoever assigned that writes
   * it, and not everybody who listens.
   */
  async function eventOf(scope: string, { type, requestId, seq }: NumberedEntry): Promise<ApprovalEvent | undefined> {
    // By number: begun after the event happened.
    const found = await shared(`${seq} ${scope}`, () => rows.findReadable(requestId));
    const request = found && Object.freeze({ ...structuredClone(found.request), [FIELDS[type]]: seq });
    return request && Object.freeze({ type, seq, scope, request });
  }

  /** Many subscribers ask for the same at the same time: it is read once. */
  function shared<Result>(key: string, read: () => Promise<Result>): Promise<Result> {
    const begun = reads.get(key) as Promise<Result> | undefined;
    if (begun !== undefined) return begun;
    const reading = read();
    reads.set(key, reading);
    const end = () => void (reads.get(key) === reading && reads.delete(key));
    reading.then(end, end);
    return reading;
  }

  return { announce, position: log.position, forget, subscribe };
}

const FIELDS = { "approval.requested": "seq", "approval.decided": "decidedSeq" } as const;
const PAGE = 100;

/** A function, since the compiler assumes that a signal does not change across an await. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
