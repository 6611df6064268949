import { putSurely } from "../../store/outlast.ts";
import { storeKey, type StoreEntry } from "../../store/store.ts";
import { updateEntry } from "../../store/update.ts";
import { ApprovalError } from "./errors.ts";
import type { ApprovalSettings } from "./options.ts";
import { checkRecord } from "./trust.ts";
import type { ApprovalRequest } from "./types.ts";

/**
 * All requests of one call, of which the last one counts. They share a key, so that voiding one and asking again is a
 * single write.
 */
export interface CallRecord {
  /** Version of this format. */
  readonly format: 1;
  readonly requests: readonly ApprovalRequest[];
}

/** A request, and the store entry that contains it. */
export interface FoundRequest {
  readonly request: ApprovalRequest;
  readonly requests: readonly ApprovalRequest[];
  readonly version: number;
}

/** Which call a request belongs to. */
interface CallId {
  readonly runId: string;
  readonly invocationId: string;
}

/** Marks a request as open, so that nobody has to search all requests ever made. */
interface OpenMark extends CallId {
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Where requests are kept.
 *
 * ```
 * approval/call/<run>/<invocation>   { format: 1, requests: [{ id, status, … }] }
 * approval/id/<request id>           { runId, invocationId }
 * approval/open/<scope>/<request id> { runId, invocationId, at }     while it needs attention
 * ```
 */
export class ApprovalRows {
  readonly #settings: ApprovalSettings;

  constructor(settings: ApprovalSettings) {
    this.#settings = settings;
  }

  /** Whether requests are deleted after a while. */
  get forgets(): boolean {
    return this.#settings.retentionMs !== Infinity;
  }

  /** @throws ApprovalError `invalid_approval` for an entry that this library has not written */
  async ofCall({ runId, invocationId }: CallId): Promise<FoundRequest | undefined> {
    const entry = await this.#settings.store.get(this.key({ runId, invocationId }));
    return entry && this.#found(entry);
  }

  async find(requestId: string): Promise<FoundRequest | undefined> {
    const call = await this.#settings.store.get<CallId>(this.#idKey(requestId));
    const entry = call && (await this.#settings.store.get(this.key(call.value)));
    return entry && this.#found(entry, requestId);
  }

  /** For callers that look at several: an unreadable request is reported and treated as missing. */
  findReadable(requestId: string): Promise<FoundRequest | undefined> {
    return this.find(requestId).catch(this.#passOver);
  }

  /** All readable requests, of one run or of all, in no particular order. */
  async all(runId?: string): Promise<ApprovalRequest[]> {
    const entries = await this.#settings.store.list(this.#prefix(runId));
    return entries.flatMap(({ key, value }) => this.#requestsOf(key, value));
  }

  /**
   * Adds a request to its call, in one write with the changes to the older ones.
   *
   * @returns false if somebody else has written since: read again
   */
  async add(request: ApprovalRequest, older: readonly ApprovalRequest[], version: number): Promise<boolean> {
    const { runId, invocationId } = request;
    const mark: OpenMark = { runId, invocationId, at: Date.now() };
    // The index entries first: one that leads nowhere is harmless, but a request without one would be lost. And of those
    // the mark, by which what a process leaves that dies in between is found.
    await this.#settings.store.put(this.#openKey(request), mark);
    await this.#settings.store.put(this.#idKey(request.id), { runId, invocationId });
    const record: CallRecord = { format: 1, requests: [...older.slice(-MAX_OLDER), request] };
    const isAdded = (await putSurely(this.#settings.store, this.key(request), record, version)) !== undefined;
    // An index entry leads to what is kept.
    for (const gone of isAdded ? older.slice(0, -MAX_OLDER) : [request]) await this.#unindex(gone);
    return isAdded;
  }

  /** The requests that are pending, or were when a process died, of one scope or of all. */
  async open(scope?: string): Promise<ApprovalRequest[]> {
    const prefix = `${storeKey(this.#settings.namespace, "open", ...(scope === undefined ? [] : [scope]))}/`;
    const marks = await this.#settings.store.list<OpenMark>(prefix);
    // At once: there may be many, and each read may be a round trip.
    const requests = await Promise.all(marks.map((mark) => this.#marked(mark).catch(this.#passOver)));
    return requests.filter((request) => request !== undefined);
  }

  /** A newer version may have written what is unreadable: its entries stay. */
  async #marked({ key, value }: StoreEntry<OpenMark>): Promise<ApprovalRequest | undefined> {
    const requestId = decodeURIComponent(key.slice(key.lastIndexOf("/") + 1));
    const entry = await this.#settings.store.get(this.key(value));
    const found = entry && this.#found(entry, requestId);
    // Its process may still be about to write it, but after so long it must have died.
    if (found === undefined && value.at < Date.now() - ABANDONED_MS) {
      await this.#settings.store.delete(this.#idKey(requestId));
      await this.#settings.store.delete(key);
    }
    return found?.request;
  }

  /** Deletes the requests of a run, and their index entries. */
  async forget(runId: string): Promise<void> {
    for (const { key, value } of await this.#settings.store.list<CallRecord>(this.#prefix(runId))) {
      // The index entries of unreadable requests cannot be found: they then lead nowhere.
      for (const request of this.#requestsOf(key, value)) await this.#unindex(request);
      await this.#settings.store.delete(key);
    }
  }

  /** A request needs no more attention. */
  async close(request: ApprovalRequest): Promise<void> {
    const { runId, invocationId, id } = request;
    const ttlMs = this.#settings.retentionMs;
    if (ttlMs !== Infinity) {
      const keep = (record?: CallRecord) => (record?.requests.at(-1)?.id === id ? record : undefined);
      await updateEntry<CallRecord>(this.#settings.store, this.key(request), keep, { ttlMs });
      await this.#settings.store.put(this.#idKey(id), { runId, invocationId }, { ttlMs });
    }
    await this.#settings.store.delete(this.#openKey(request));
  }

  /**
   * Changes a request by compare-and-set, retried until it wins.
   *
   * @param change returns the changed request, or `undefined` to leave it. May be called more than once.
   * @returns the current request, and whether this changed it; `undefined` if there is none
   */
  async update(
    requestId: string,
    change: (request: ApprovalRequest) => ApprovalRequest | undefined | Promise<ApprovalRequest | undefined>,
  ): Promise<{ request: ApprovalRequest; isChanged: boolean } | undefined> {
    const call = await this.#settings.store.get<CallId>(this.#idKey(requestId));
    if (call === undefined) return undefined;
    const key = this.key(call.value);
    let result: { request: ApprovalRequest; isChanged: boolean } | undefined;
    await updateEntry<CallRecord>(this.#settings.store, key, async (record) => {
      result = undefined;
      const requests = record === undefined ? [] : checkRecord(record, key).requests;
      const request = requests.find(({ id }) => id === requestId);
      if (request === undefined) return undefined;
      const changed = await change(request);
      result = { request: changed ?? request, isChanged: changed !== undefined };
      if (changed === undefined) return undefined;
      return { format: 1, requests: requests.map((one) => (one === request ? changed : one)) };
    });
    return result;
  }

  async #unindex(request: ApprovalRequest): Promise<void> {
    await this.#settings.store.delete(this.#idKey(request.id));
    await this.#settings.store.delete(this.#openKey(request));
  }

  key({ runId, invocationId }: CallId): string {
    return storeKey(this.#settings.namespace, "call", runId, invocationId);
  }

  #found({ key, value, version }: StoreEntry, requestId?: string): FoundRequest | undefined {
    const { requests } = checkRecord(value, key);
    const request = requestId === undefined ? requests.at(-1) : requests.find(({ id }) => id === requestId);
    return request && { request, requests, version };
  }

  /** Empty if they cannot be read: damaged, or written by a newer version. */
  #requestsOf(key: string, value: unknown): readonly ApprovalRequest[] {
    try {
      return checkRecord(value, key).requests;
    } catch (error) {
      this.#passOver(error);
      return [];
    }
  }

  readonly #passOver = (error: unknown): undefined => {
    if (!(error instanceof ApprovalError)) throw error;
    this.#settings.onError(error);
  };

  #prefix(runId: string | undefined): string {
    return `${storeKey(this.#settings.namespace, "call", ...(runId === undefined ? [] : [runId]))}/`;
  }

  #openKey({ scope, id }: ApprovalRequest): string {
    return storeKey(this.#settings.namespace, "open", scope, id);
  }

  #idKey(requestId: string): string {
    return storeKey(this.#settings.namespace, "id", requestId);
  }
}

/** How many void requests of a call are kept: a tool that changes constantly must not fill the store. */
const MAX_OLDER = 20;
const ABANDONED_MS = 3_600_000;
