import { resolve } from "node:path";
import { setImmediate, setTimeout } from "node:timers";
import { isToolError } from "../errors.ts";
import { parseJson } from "../json/parse.ts";
import { checkMs } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { checkDelete, checkKey, checkList, checkPut, checkSubscribe, endOf } from "./arguments.ts";
import { closed, conflict, failed, unreadable } from "./errors.ts";
import { createListeners } from "./listeners.ts";
import { isBusy, openFile, transaction, watchFiles } from "./sqlite-file.ts";
import type { ListOptions, PutOptions, Store, StoreEntry } from "./store.ts";
import { textOf } from "./value.ts";

export interface SqliteStoreOptions {
  /** The database file; created if missing, but not its folder. `":memory:"`: gone when the store is closed. */
  readonly path: string;
  /** How long to wait for other writers before `store_failed`. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** How often to look for changes made by other processes; only while there are subscriptions. Default 50. */
  readonly pollMs?: number | undefined;
}

const OPTIONS: OptionNames<SqliteStoreOptions> = { path: true, busyTimeoutMs: checkMs, pollMs: checkMs };

/** How long a process that was stopped can still learn about a delete. */
const DELETED_MS = 600_000;

/** A write that waits for its transaction. */
interface Write {
  /** @throws ToolError `version_conflict`: it has written nothing */
  work(): unknown;
  readonly written: PromiseWithResolvers<any>;
  /** By `performance.now()`, if another process writes. */
  readonly giveUpAt: number;
}

interface Row {
  readonly version: number;
  readonly key: string;
  readonly value: string | null;
  readonly expires_at: number | null;
}

/**
 * A store in an SQLite file, for all processes of one machine. A completed write survives a crash of the process and a
 * loss of power (WAL, `synchronous = FULL`). Not for network file systems.
 *
 * @throws ToolError `store_failed` when the file cannot be opened, belongs to another application, or was made by a
 * newer version of this library
 * @example
 * const store = sqliteStore("runs.db");
 */
export function sqliteStore(options: string | SqliteStoreOptions): Store {
  const name = "sqlite";
  const given: Partial<SqliteStoreOptions> = typeof options === "string" ? { path: options } : (options ?? {});
  checkOptionNames("sqliteStore()", given, OPTIONS);
  const { path, busyTimeoutMs = 5_000, pollMs = 50 } = given;
  if (typeof path !== "string" || path === "") throw new TypeError("sqliteStore() needs the path of its file.");
  const database = openFile(path, busyTimeoutMs);
  const moved = watchFiles(resolve(path));
  const listeners = createListeners();
  let isClosed = false;

  const find = database.prepare(
    "SELECT * FROM entry WHERE key = ? AND value IS NOT NULL AND (expires_at IS NULL OR expires_at > ?)",
  );
  const replace = database.prepare("REPLACE INTO entry (key, value, expires_at) VALUES (?, ?, ?)");
  const sweep = database.prepare(
    "DELETE FROM entry WHERE version IN (SELECT version FROM entry WHERE expires_at <= ? LIMIT 20)",
  );
  const page = database.prepare(
    `SELECT * FROM entry WHERE key >= ? AND key < ? AND key > ?
      AND value IS NOT NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?`,
  );
  const lastWrite = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'entry'");
  const changesAfter = database.prepare(
    "SELECT version, key, value IS NULL AS deleted FROM entry WHERE version > ? ORDER BY version",
  );
  const dataVersion = database.prepare("PRAGMA data_version");

  function assertUsable(): void {
    if (isClosed) throw closed(name);
    const what = moved();
    if (what !== undefined) throw new Error(`its ${what} was deleted or replaced`);
  }

  async function read<Result>(verb: string, subject: string, work: () => Result): Promise<Result> {
    const giveUpAt = performance.now() + busyTimeoutMs;
    for (;;) {
      try {
        assertUsable();
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= giveUpAt) return failing(verb, subject)(error);
      }
      await new Promise((done) => setTimeout(done, pauseMs()));
    }
  }

  let waiting: Write[] = [];

  /**
   * Each transaction waits for the disk, and this process with it. So what is written in the same turn of the event
   * loop is written in one, and so is what is written while others wait for another process.
   */
  async function write<Result>(verb: string, subject: string, work: () => Result): Promise<Result> {
    const written = Promise.withResolvers<Result>();
    const giveUpAt = performance.now() + busyTimeoutMs;
    if (waiting.push({ work, written, giveUpAt }) === 1) setImmediate(writeAll);
    return written.promise.catch(failing(verb, subject));
  }

  function writeAll(): void {
    const writes = waiting;
    waiting = [];
    if (writes.length === 0) return;
    try {
      assertUsable();
      for (const settle of transaction(database, () => writes.map(attempt))) settle();
      tellOwn();
    } catch (error) {
      for (const each of writes) {
        if (isBusy(error) && performance.now() < each.giveUpAt) waiting.push(each);
        else each.written.reject(error);
      }
      if (waiting.length > 0) setTimeout(writeAll, pauseMs());
    }
  }

  function failing(verb: string, subject: string): (error: unknown) => never {
    return (error) => {
      throw isToolError(error) ? error : failed(name, verb, subject, error);
    };
  }

  function stored(key: string, now: number): Row | undefined {
    return find.get(key, now) as unknown as Row | undefined;
  }

  // what other processes wrote

  let timer: ReturnType<typeof setInterval> | undefined;
  let seenData: unknown;
  let seenVersion = 0;
  let lookedAt = 0;

  function startWatching(): void {
    seenVersion = (lastWrite.get()?.["seq"] as number | undefined) ?? 0;
    seenData = dataVersion.get()?.["data_version"];
    lookedAt = Date.now();
    timer = setInterval(look, pollMs);
  }

  function stopWatching(): void {
    clearInterval(timer);
    timer = undefined;
  }

  /** `data_version` tells in 3 µs if another connection wrote. https://sqlite.org/pragma.html#pragma_data_version */
  function look(): void {
    if (timer === undefined) return;
    try {
      if (moved() !== undefined) {
        stopWatching();
        return listeners.tellMissed(); // reading again fails, and says why
      }
      const data = dataVersion.get()?.["data_version"];
      if (data !== seenData) tellChanges();
      seenData = data;
      // This process was stopped for so long that deletes may have been removed already.
      const sleptFor = Date.now() - lookedAt;
      lookedAt = Date.now();
      if (sleptFor > DELETED_MS / 2) listeners.tellMissed();
    } catch {
      // Nothing was marked as seen: the next look reports it.
    }
  }

  function tellChanges(): void {
    const changes = changesAfter.all(seenVersion);
    // Before they are told: a listener that subscribes comes here again.
    seenVersion = (changes.at(-1)?.["version"] as number | undefined) ?? seenVersion;
    for (const { key, deleted } of changes) {
      listeners.tell({ key: key as string, type: deleted === 1 ? "delete" : "put" });
    }
  }

  /** This process's own writes do not show in `data_version`. */
  function tellOwn(): void {
    try {
      if (timer !== undefined) tellChanges();
    } catch {
      seenData = undefined; // the next look reports it
    }
  }

  return {
    name,

    async get<Value>(key: string) {
      checkKey(key);
      const row = await read("read", key, () => stored(key, Date.now()));
      return row === undefined ? undefined : entryOf<Value>(name, row);
    },

    async put<Value>(key: string, value: Value, putOptions: PutOptions = {}) {
      checkPut(key, putOptions);
      const text = textOf(value);
      const { expectedVersion, ttlMs = null } = putOptions;
      const row = await write("write", key, () => {
        const now = Date.now();
        const last = stored(key, now);
        if (expectedVersion !== undefined && expectedVersion !== (last?.version ?? 0)) {
          throw conflict(key, expectedVersion, last?.version ?? 0);
        }
        const keptUntil = last?.expires_at ?? null;
        const expiresAt = ttlMs === "keep" ? keptUntil : ttlMs === null ? null : now + Math.ceil(ttlMs);
        sweep.run(now);
        const version = Number(replace.run(key, text, expiresAt).lastInsertRowid);
        return { version, key, value: text, expires_at: expiresAt };
      });
      return entryOf<Value>(name, row);
    },

    async delete(key, deleteOptions = {}) {
      checkDelete(key, deleteOptions);
      return write("delete", key, () => {
        const now = Date.now();
        const last = stored(key, now);
        if (last === undefined) return false;
        const { expectedVersion = last.version } = deleteOptions;
        if (expectedVersion !== last.version) throw conflict(key, expectedVersion, last.version);
        replace.run(key, null, now + DELETED_MS);
        return true;
      });
    },

    async list<Value>(prefix: string, listOptions: ListOptions = {}) {
      checkList(prefix, listOptions);
      const { after = "", limit = -1 } = listOptions;
      // "\x7f" sorts after every key
      const rows = await read("list", prefix, () =>
        page.all(prefix, endOf(prefix) ?? "\x7f", after, Date.now(), limit),
      );
      return rows.map((row) => entryOf<Value>(name, row as unknown as Row));
    },

    async subscribe(prefix, listener) {
      checkSubscribe(prefix, listener);
      const stop = await read("subscribe to", prefix, () => {
        if (timer === undefined) startWatching();
        else tellChanges(); // for the others: a new listener only gets later writes
        // In the same step, so that a listener leaving meanwhile does not end the watching.
        return listeners.add(prefix, listener);
      });
      return async () => {
        stop();
        if (listeners.isEmpty) stopWatching();
      };
    },

    async close() {
      if (isClosed) return;
      stopWatching();
      listeners.clear(); // before the last writes: a listener may close the store, too
      writeAll();
      isClosed = true;
      database.close();
    },
  };
}

function entryOf<Value>(store: string, { key, value, version, expires_at: expiresAt }: Row): StoreEntry<Value> {
  try {
    return { key, value: parseJson(value!) as Value, version, expiresAt };
  } catch (cause) {
    throw unreadable(store, key, cause);
  }
}

/** Before trying again while another process writes: it waits outside of SQLite, which would block this process. */
function pauseMs(): number {
  return 1 + Math.random() * 20;
}

/** @returns tells how it went, once the transaction is through */
function attempt({ work, written }: Write): () => void {
  try {
    const result = work();
    return () => written.resolve(result);
  } catch (error) {
    if (!isToolError(error)) throw error;
    return () => written.reject(error);
  }
}
