import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isToolError, ToolError } from "../errors.ts";
import { failed } from "./errors.ts";

/** "tool": lets `file` and this library recognise the database. https://sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x746f6f6c;

/** The layout of the tables. A file with a higher one is rejected. */
const FORMAT = 1;

/**
 * AUTOINCREMENT: a version is never reused, not even after a delete. https://sqlite.org/autoinc.html
 * A deleted entry stays for a while as a row without a value, so that other processes learn about it.
 */
const TABLES = `
  CREATE TABLE entry (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    value TEXT,
    expires_at INTEGER
  ) STRICT;
  CREATE INDEX entry_expires_at ON entry (expires_at) WHERE expires_at IS NOT NULL;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/**
 * In bytes. The file next to the database grows while somebody else reads for long, as a backup does, and without a
 * limit stays as large until everybody has closed it: https://github.com/openclaw/openclaw/issues/112950
 */
const MAX_WAL = 16 * 1024 * 1024;

/** How long one attempt waits inside SQLite, where it blocks the whole process; after that, waiting happens outside. */
const BLOCKING_MS = 10;

/**
 * The database in a file, as a store needs it: of this application, with its tables, and safe on disk.
 *
 * @throws ToolError `store_failed`
 */
export function openFile(path: string, busyTimeoutMs: number): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec(`PRAGMA busy_timeout = ${Math.ceil(busyTimeoutMs)}`);
    isOurs(database, path); // refuses others' files before anything is changed
    writeAhead(database, busyTimeoutMs); // each time, since a copy made by `VACUUM INTO` is in another mode
    if (!isOurs(database, path)) create(database, path);
    // On macOS the usual fsync() does not reach the disk: https://sqlite.org/pragma.html#pragma_fullfsync
    database.exec(
      `PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = ${MAX_WAL};
       PRAGMA busy_timeout = ${BLOCKING_MS}`,
    );
    return database;
  } catch (cause) {
    database?.close();
    throw isToolError(cause) ? cause : failed("sqlite", "open", path, cause);
  }
}

/** False for an empty file. */
function isOurs(database: DatabaseSync, path: string): boolean {
  const format = numberOf(database, "PRAGMA user_version");
  if (numberOf(database, "PRAGMA application_id") === APPLICATION_ID) {
    if (format <= FORMAT) return true;
    throw new ToolError(
      "store_failed",
      `"${path}" was made by a newer version of this library (format ${format}, this one reads up to ${FORMAT}). Update this one, or use another file.`,
    );
  }
  if (format === 0 && numberOf(database, "SELECT count(*) FROM sqlite_schema") === 0) return false;
  throw new ToolError("store_failed", `"${path}" is a database of another application. Use a file of its own.`);
}

function writeAhead(database: DatabaseSync, busyTimeoutMs: number): void {
  const giveUpAt = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      return database.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      // Changing to WAL does not wait for a process that does the same: SQLite immediately reports "busy".
      if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

function create(database: DatabaseSync, path: string): void {
  transaction(database, () => {
    // Another process may have been faster.
    if (!isOurs(database, path)) database.exec(TABLES);
  });
}

/**
 * Which of its files was deleted or replaced. In WAL mode SQLite goes on with the old file, which nobody else can open:
 * what is written is lost with the process. In other modes it refuses to write, by the same comparison:
 * https://sqlite.org/rescode.html#readonly_dbmoved (WiseLibs/better-sqlite3#1237)
 *
 * The `-wal` file is deleted by who closes the database last, as far as locks tell. A process loses its locks when it
 * reads the files on its own, to copy them say: https://sqlite.org/howtocorrupt.html#posix_close_bug
 * (NousResearch/hermes-agent#110544)
 */
export function watchFiles(path: string): () => string | undefined {
  const stateOf = (file: string) => statSync(file, { throwIfNoEntry: false });
  if (stateOf(path) === undefined) return () => undefined; // in memory
  const places = { file: path, "-wal file": `${realpathSync(path)}-wal` }; // not next to a link
  const files = Object.entries(places).map(([name, place]) => ({ name, place, opened: stateOf(place) }));
  return () => {
    const gone = files.find(({ place, opened }) => {
      const now = stateOf(place);
      return now?.ino !== opened?.ino || now?.dev !== opened?.dev;
    });
    return gone?.name;
  };
}

export function transaction<Result>(database: DatabaseSync, work: () => Result): Result {
  // IMMEDIATE, so that what is compared cannot change before the write
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // SQLite already did it itself, as it does when the disk is full.
    }
    throw error;
  }
}

function numberOf(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

/** SQLITE_BUSY and SQLITE_LOCKED, with their extended codes. https://sqlite.org/rescode.html */
export function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" && ((code & 0xff) === 5 || (code & 0xff) === 6);
}
