import { create } from "../../store/create.ts";
import { storeKey } from "../../store/store.ts";
import { remember } from "../remember.ts";
import type { ApprovalSettings } from "./options.ts";

/** What an entry says: where to look. The request itself is read from its row. */
export interface LogEntry {
  readonly type: "approval.requested" | "approval.decided";
  readonly requestId: string;
}

/** An entry with its number. */
export interface NumberedEntry extends LogEntry {
  readonly seq: number;
}

/**
 * The numbered events of each scope.
 *
 * ```
 * approval/log/default/000000000001  { type: "approval.requested", requestId }
 * approval/log/default/000000000002  { type: "approval.decided", requestId }
 * ```
 *
 * An entry is only created, never replaced, and only after the one before it exists: so a reader that has read number n
 * has seen everything that will ever be written below it, whichever processes write.
 */
export function createApprovalLog({ store, namespace }: ApprovalSettings) {
  /** The highest number that this process has seen, by scope: a hint that saves looking for the end. */
  const seen = new Map<string, number>();
  /** How far this process has come with trimming, by scope. */
  const trimmed = new Map<string, number>();
  /** The numbers of forgotten entries that are not before the noted end yet, by scope. */
  const forgotten = new Map<string, readonly number[]>();

  /**
   * Assigns an event its number: the one it already has, or the next one. All entries after `after` are checked before
   * anything is written, and so is a number that another writer took: so an event is there only once, whoever adds it.
   *
   * @param after a number that was the last one before the event happened
   */
  async function append(scope: string, event: LogEntry, after: number): Promise<number> {
    for (let last = after; ;) {
      const page = await read(scope, last, PAGE);
      const own = page.find(({ type, requestId }) => type === event.type && requestId === event.requestId);
      if (own !== undefined) return own.seq;
      last = page.at(-1)?.seq ?? last;
      if (page.length === PAGE) continue;
      const seq = last + 1;
      if ((await create(store, keyOf(scope, seq), event)) === undefined) continue; // somebody was faster
      saw(scope, seq);
      if (seq % HINT_EVERY === 0) await store.put(hintKeyOf(scope), seq);
      return seq;
    }
  }

  /** Entries after a number, in order. */
  async function read(scope: string, after: number, limit: number): Promise<NumberedEntry[]> {
    const prefix = prefixOf(scope);
    const entries = await store.list<LogEntry>(prefix, { after: keyOf(scope, after), limit });
    return entries.map(({ key, value }) => ({ ...value, seq: Number(key.slice(prefix.length)) }));
  }

  /** The number of the last entry; 0 if there is none. */
  async function position(scope: string): Promise<number> {
    let last = seen.get(scope) ?? (await notedEnd(scope));
    for (;;) {
      const page = await read(scope, last, PAGE);
      last = page.at(-1)?.seq ?? last;
      if (page.length < PAGE) break;
    }
    saw(scope, last);
    return last;
  }

  /**
   * Deletes obsolete entries, a few at a time: repeated calls get through all of them. The last entry stays, and so
   * does everything after the noted end, so that no number is assigned twice.
   */
  async function trim(scope: string, isGone: (entry: LogEntry) => Promise<boolean>): Promise<void> {
    const end = await notedEnd(scope);
    const after = trimmed.get(scope) ?? 0;
    const page = (await read(scope, after, TRIMMED_AT_ONCE)).filter(({ seq }) => seq < end);
    for (const entry of page) {
      if (await isGone(entry)) await store.delete(keyOf(scope, entry.seq));
    }
    remember(trimmed, scope, page.at(-1)?.seq ?? 0, MAX_SCOPES);
  }

  /** Deletes these entries: immediately, or a later call does, as soon as they are before the noted end. */
  async function forget(scope: string, seqs: readonly number[]): Promise<void> {
    const end = await notedEnd(scope);
    const all = [...(forgotten.get(scope) ?? []), ...seqs.filter((seq) => seq > 0)];
    const late = all.filter((seq) => seq >= end);
    remember(forgotten, scope, late, MAX_SCOPES);
    for (const seq of all) if (seq < end) await store.delete(keyOf(scope, seq));
  }

  function prefixOf(scope: string): string {
    return `${storeKey(namespace, "log", scope)}/`;
  }

  function keyOf(scope: string, seq: number): string {
    return prefixOf(scope) + String(seq).padStart(DIGITS, "0");
  }

  /** The noted end: a number that was the last one, some time ago. */
  async function notedEnd(scope: string): Promise<number> {
    return (await store.get<number>(hintKeyOf(scope)))?.value ?? 0;
  }

  function hintKeyOf(scope: string): string {
    return storeKey(namespace, "log-end", scope);
  }

  function saw(scope: string, seq: number): void {
    remember(seen, scope, Math.max(seq, seen.get(scope) ?? 0), MAX_SCOPES);
  }

  return { append, read, position, trim, forget, prefixOf };
}

/** Keys are ordered as text. */
const DIGITS = 12;
const PAGE = 500;
/** After so many entries it is time for `trim()`. */
export const TRIM_EVERY = 10;
/** A cold start finds the end of the log from the hint on: at most so many entries. */
const HINT_EVERY = 100;
/** There may be any number of scopes, and what is noted of them only saves time or space. */
export const MAX_SCOPES = 10_000;
/** More than come in between. */
const TRIMMED_AT_ONCE = 2 * TRIM_EVERY;
