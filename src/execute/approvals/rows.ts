import { isConflict } from "../../store/errors.ts";
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
export type ApprovalRows = ReturnType<typeof createApprovalRows>;

export function createApprovalRows({ store, namespace, retentionMs, onError }: ApprovalSettings) {
  /** @throws ApprovalError `invalid_approval` for an entry that this library has not written */
  async function ofCall({ runId, invocationId }: CallId): Promise<FoundRequest | undefined> {
    const entry = await store.get(keyOf({ runId, invocationId }));
    return entry && foundIn(entry);
  }

  async function find(requestId: string): Promise<FoundRequest | undefined> {
    const call = await store.get<CallId>(idKey(requestId));
    const entry = call && (await store.get(keyOf(call.value)));
    return entry && foundIn(entry, requestId);
  }

  /** For callers that look at several: an unreadable request is reported and treated as missing. */
  function findReadable(requestId: string): Promise<FoundRequest | undefined> {
    return find(requestId).catch(passOver);
  }

  /** All readable requests, of one run or of all, in no particular order. */
  async function all(runId?: string): Promise<ApprovalRequest[]> {
    const entries = await store.list(prefixOf(runId));
    return entries.flatMap(({ key, value }) => requestsOf(key, value));
  }

  /**
   * Adds a request to its call, in one write with the changes to the older ones.
   *
   * @returns false if somebody else has written since: read again
   */
  async function add(request: ApprovalRequest, older: readonly ApprovalRequest[], version: number): Promise<boolean> {
    const { runId, invocationId } = request;
    const mark: OpenMark = { runId, invocationId, at: Date.now() };
    // The index entries first: one that leads nowhere is harmless, but a request without one would be lost. And of those
    // the mark, by which what a process leaves that dies in between is found.
    await store.put(openKey(request), mark);
    await store.put(idKey(request.id), { runId, invocationId });
    const record: CallRecord = { format: 1, requests: [...older.slice(-MAX_OLDER), request] };
    let isAdded = true;
    try {
      await store.put(keyOf(request), record, { expectedVersion: version });
    } catch (error) {
      if (!isConflict(error)) throw error;
      isAdded = false;
    }
    // An index entry leads to what is kept.
    for (const gone of isAdded ? older.slice(0, -MAX_OLDER) : [request]) await unindex(gone);
    return isAdded;
  }

  /** The requests that are pending, or were when a process died, of one scope or of all. */
  async function open(scope?: string): Promise<ApprovalRequest[]> {
    const prefix = `${storeKey(namespace, "open", ...(scope === undefined ? [] : [scope]))}/`;
    const marks = await store.list<OpenMark>(prefix);
    // At once: there may be many, and each read may be a round trip.
    const requests = await Promise.all(marks.map((mark) => marked(mark).catch(passOver)));
    return requests.filter((request) => request !== undefined);
  }

  /** A newer version may have written what is unreadable: its entries stay. */
  async function marked({ key, value }: StoreEntry<OpenMark>): Promise<ApprovalRequest | undefined> {
    const requestId = decodeURIComponent(key.slice(key.lastIndexOf("/") + 1));
    const entry = await store.get(keyOf(value));
    const found = entry && foundIn(entry, requestId);
    // Its process may still be about to write it, but after so long it must have died.
    if (found === undefined && value.at < Date.now() - ABANDONED_MS) {
      await store.delete(idKey(requestId));
      await store.delete(key);
    }
    return found?.request;
  }

  /** Deletes the requests of a run, and their index entries. */
  async function forget(runId: string): Promise<void> {
    for (const { key, value } of await store.list<CallRecord>(prefixOf(runId))) {
      // The index entries of unreadable requests cannot be found: they then lead nowhere.
      for (const request of requestsOf(key, value)) await unindex(request);
      await store.delete(key);
    }
  }

  /** A request needs no more attention. */
  async function close(request: ApprovalRequest): Promise<void> {
    const { runId, invocationId, id } = request;
    if (retentionMs !== Infinity) {
      const keep = (record?: CallRecord) => (record?.requests.at(-1)?.id === id ? record : undefined);
      await updateEntry<CallRecord>(store, keyOf(request), keep, { ttlMs: retentionMs });
      await store.put(idKey(id), { runId, invocationId }, { ttlMs: retentionMs });
    }
    await store.delete(openKey(request));
  }

  /**
   * Changes a request by compare-and-set, retried until it wins.
   *
   * @param change returns the changed request, or `undefined` to leave it. May be called more than once.
   * @returns the current request, and whether this changed it; `undefined` if there is none
   */
  async function update(
    requestId: string,
    change: (request: ApprovalRequest) => ApprovalRequest | undefined | Promise<ApprovalRequest | undefined>,
  ): Promise<{ request: ApprovalRequest; isChanged: boolean } | undefined> {
    const call = await store.get<CallId>(idKey(requestId));
    if (call === undefined) return undefined;
    const key = keyOf(call.value);
    let result: { request: ApprovalRequest; isChanged: boolean } | undefined;
    await updateEntry<CallRecord>(store, key, async (record) => {
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

  async function unindex(request: ApprovalRequest): Promise<void> {
    await store.delete(idKey(request.id));
    await store.delete(openKey(request));
  }

  function keyOf({ runId, invocationId }: CallId): string {
    return storeKey(namespace, "call", runId, invocationId);
  }

  function foundIn({ key, value, version }: StoreEntry, requestId?: string): FoundRequest | undefined {
    const { requests } = checkRecord(value, key);
    const request = requestId === undefined ? requests.at(-1) : requests.find(({ id }) => id === requestId);
    return request && { request, requests, version };
  }

  /** Empty if they cannot be read: damaged, or written by a newer version. */
  function requestsOf(key: string, value: unknown): readonly ApprovalRequest[] {
    try {
      return checkRecord(value, key).requests;
    } catch (error) {
      passOver(error);
      return [];
    }
  }

  function passOver(error: unknown): undefined {
    if (!(error instanceof ApprovalError)) throw error;
    onError(error);
  }

  function prefixOf(runId: string | undefined): string {
    return `${storeKey(namespace, "call", ...(runId === undefined ? [] : [runId]))}/`;
  }

  function openKey({ scope, id }: ApprovalRequest): string {
    return storeKey(namespace, "open", scope, id);
  }

  function idKey(requestId: string): string {
    return storeKey(namespace, "id", requestId);
  }

  return { ofCall, find, findReadable, all, add, open, forget, close, update, keyOf };
}

/** How many void requests of a call are kept: a tool that changes constantly must not fill the store. */
const MAX_OLDER = 20;
const ABANDONED_MS = 3_600_000;
