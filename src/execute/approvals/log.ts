import { isConflict } from "../../store/errors.ts";
import { storeKey, type Store } from "../../store/store.ts";
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
export class ApprovalLog {
  readonly #store: Store;
  readonly #namespace: string;
  /** The highest number that this process has seen, by scope: a hint that saves looking for the end. */
  readonly #seen = new Map<string, number>();
  /** How far this process has come with trimming, by scope. */
  readonly #trimmed = new Map<string, number>();
  /** The numbers of forgotten entries that are not before the noted end yet, by scope. */
  readonly #late = new Map<string, readonly number[]>();

  constructor({ store, namespace }: ApprovalSettings) {
    this.#store = store;
    this.#namespace = namespace;
  }

  /**
   * Assigns an event its number: the one it already has, or the next one. All entries after `after` are checked before
   * anything is written, and so is a number that another writer took: so an event is there only once, whoever adds it.
   *
   * @param after a number that was the last one before the event happened
   */
  async append(scope: string, event: LogEntry, after: number): Promise<number> {
    for (let last = after; ;) {
      const page = await this.read(scope, last, PAGE);
      const own = page.find(({ type, requestId }) => type === event.type && requestId === event.requestId);
      if (own !== undefined) return own.seq;
      last = page.at(-1)?.seq ?? last;
      if (page.length === PAGE) continue;
      const seq = last + 1;
      try {
        await this.#store.put(this.#key(scope, seq), event, { expectedVersion: 0 });
      } catch (error) {
        if (isConflict(error)) continue; // somebody was faster
        throw error;
      }
      this.#saw(scope, seq);
      if (seq % HINT_EVERY === 0) await this.#store.put(this.#hintKey(scope), seq);
      return seq;
    }
  }

  /** Entries after a number, in order. */
  async read(scope: string, after: number, limit: number): Promise<NumberedEntry[]> {
    const prefix = this.prefix(scope);
    const entries = await this.#store.list<LogEntry>(prefix, { after: this.#key(scope, after), limit });
    return entries.map(({ key, value }) => ({ ...value, seq: Number(key.slice(prefix.length)) }));
  }

  /** The number of the last entry; 0 if there is none. */
  async last(scope: string): Promise<number> {
    let last = this.#seen.get(scope) ?? (await this.#end(scope));
    for (;;) {
      const page = await this.read(scope, last, PAGE);
      last = page.at(-1)?.seq ?? last;
      if (page.length < PAGE) break;
    }
    this.#saw(scope, last);
    return last;
  }

  /**
   * Deletes obsolete entries, a few at a time: repeated calls get through all of them. The last entry stays, and so
   * does everything after the noted end, so that no number is assigned twice.
   */
  async trim(scope: string, isGone: (entry: LogEntry) => Promise<boolean>): Promise<void> {
    const end = await this.#end(scope);
    const after = this.#trimmed.get(scope) ?? 0;
    const page = (await this.read(scope, after, TRIMMED_AT_ONCE)).filter(({ seq }) => seq < end);
    for (const entry of page) {
      if (await isGone(entry)) await this.#store.delete(this.#key(scope, entry.seq));
    }
    remember(this.#trimmed, scope, page.at(-1)?.seq ?? 0, MAX_SCOPES);
  }

  /** Deletes these entries: immediately, or a later call does, as soon as they are before the noted end. */
  async forget(scope: string, seqs: readonly number[]): Promise<void> {
    const end = await this.#end(scope);
    const all = [...(this.#late.get(scope) ?? []), ...seqs.filter((seq) => seq > 0)];
    const late = all.filter((seq) => seq >= end);
    remember(this.#late, scope, late, MAX_SCOPES);
    for (const seq of all) if (seq < end) await this.#store.delete(this.#key(scope, seq));
  }

  prefix(scope: string): string {
    return `${storeKey(this.#namespace, "log", scope)}/`;
  }

  #key(scope: string, seq: number): string {
    return this.prefix(scope) + String(seq).padStart(DIGITS, "0");
  }

  /** The noted end: a number that was the last one, some time ago. */
  async #end(scope: string): Promise<number> {
    return (await this.#store.get<number>(this.#hintKey(scope)))?.value ?? 0;
  }

  #hintKey(scope: string): string {
    return storeKey(this.#namespace, "log-end", scope);
  }

  #saw(scope: string, seq: number): void {
    remember(this.#seen, scope, Math.max(seq, this.#seen.get(scope) ?? 0), MAX_SCOPES);
  }
}

/** Keys are ordered as text. */
const DIGITS = 12;
const PAGE = 500;
/** After so many entries it is time for {@link ApprovalLog.trim}. */
export const TRIM_EVERY = 10;
/** A cold start finds the end of the log from the hint on: at most so many entries. */
const HINT_EVERY = 100;
/** There may be any number of scopes, and what is noted of them only saves time or space. */
export const MAX_SCOPES = 10_000;
/** More than come in between. */
const TRIMMED_AT_ONCE = 2 * TRIM_EVERY;
