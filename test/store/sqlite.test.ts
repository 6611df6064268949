import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Store, StoreChange } from "../../src/store/index.ts";
import { isBusy } from "../../src/store/sqlite-file.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { startProcess } from "./process.ts";
import { soon } from "../soon.ts";

let folder: string;
let path: string;
let open: Store[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolstream-sqlite-"));
  path = join(folder, "store.db");
  open = [];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const store of open) await store.close();
  rmSync(folder, { recursive: true });
});

function storeOf(...options: Parameters<typeof sqliteStore>): Store {
  open.push(sqliteStore(...options));
  return open.at(-1)!;
}

function edit<Result>(work: (database: DatabaseSync) => Result, file = path): Result {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

it("keeps everything in its file", async () => {
  const first = storeOf(path);
  const kept = await first.put("a", { text: "Hi" });
  const dropped = await first.put("b", 1);
  await first.delete("b");
  await first.close();
  const second = storeOf({ path });
  expect(await second.get("a")).toEqual(kept);
  expect((await second.put("b", 1)).version).toBeGreaterThan(dropped.version);
});

it("writes ahead, and leaves one file when it is closed", async () => {
  const store = storeOf(path);
  await store.put("a", 1);
  expect(existsSync(`${path}-wal`)).toBe(true);
  expect(edit((database) => database.prepare("PRAGMA journal_mode").get())).toEqual({ journal_mode: "wal" });
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

it("waits for the disk at each write, on macOS too", () => {
  const exec = vi.spyOn(DatabaseSync.prototype, "exec");
  storeOf(path);
  const [database] = exec.mock.contexts as DatabaseSync[];
  exec.mockRestore();
  expect(database!.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  expect(database!.prepare("PRAGMA fullfsync").get()).toEqual({ fullfsync: 1 });
});

it("writes ahead in a copy that VACUUM INTO made: who reads for long holds up nobody", async () => {
  const store = storeOf(path);
  await store.put("a", 1);
  const copy = join(folder, "copy.db");
  edit((database) => database.exec(`VACUUM INTO '${copy}'`));
  const restored = storeOf({ path: copy, busyTimeoutMs: 50 });
  const reader = new DatabaseSync(copy);
  reader.exec("BEGIN; SELECT * FROM entry");
  expect(await restored.put("a", 2)).toMatchObject({ value: 2 });
  reader.close();
});

it("gives back the space that it needed while somebody else read for long, as a backup does: openclaw/openclaw#112950", async () => {
  const store = storeOf(path);
  const size = () => statSync(`${path}-wal`).size / 1024 ** 2;
  await store.put("a", 1);
  const reader = new DatabaseSync(path);
  reader.exec("BEGIN; SELECT * FROM entry");
  for (let index = 0; index < 6; index++) await store.put("a", "x".repeat(5 * 1024 ** 2) + index);
  expect(size()).toBeGreaterThan(30);
  reader.close();
  for (let index = 0; index < 3; index++) await store.put("b", index);
  expect(size()).toBeLessThan(17);
});

describe("writes of one moment", () => {
  /** A transaction ends with a frame that says how large the database is then: https://sqlite.org/fileformat2.html#wal */
  function transactions(): number {
    const wal = readFileSync(`${path}-wal`);
    const frame = 24 + wal.readUInt32BE(8);
    let count = 0;
    for (let at = 32; at < wal.length; at += frame) if (wal.readUInt32BE(at + 4) > 0) count++;
    return count;
  }

  it("wait for the disk together", async () => {
    const store = storeOf(path);
    const before = transactions();
    await Promise.all(Array.from({ length: 50 }, (_, index) => store.put(`a/${index}`, index)));
    expect(transactions()).toBe(before + 1);
    expect(await store.list("a/")).toHaveLength(50);
  });

  it("are made in order, each as if it were alone", async () => {
    const store = storeOf(path);
    const made = await Promise.allSettled([
      store.put("a", 1, { expectedVersion: 0 }),
      store.put("a", 2, { expectedVersion: 0 }),
      store.delete("a"),
      store.delete("a"),
      store.put("a", 3, { expectedVersion: 0 }),
    ]);
    expect(made).toMatchObject([
      { value: { value: 1 } },
      { reason: { code: "version_conflict" } },
      { value: true },
      { value: false },
      { value: { value: 3 } },
    ]);
    expect((await store.get("a"))!.value).toBe(3);
  });

  it("fail together, each under its own name, and none of them is made", async () => {
    const store = storeOf(path);
    edit((database) =>
      database.exec(
        "CREATE TRIGGER t BEFORE INSERT ON entry WHEN NEW.key = 'b' BEGIN SELECT abs(-9223372036854775808); END",
      ),
    );
    const made = await Promise.allSettled([store.put("a", 1), store.put("b", 1)]);
    expect(made).toMatchObject([
      { reason: { code: "store_failed", message: expect.stringContaining('failed to write "a": integer overflow') } },
      { reason: { code: "store_failed", message: expect.stringContaining('failed to write "b": integer overflow') } },
    ]);
    expect(await store.list("")).toEqual([]);
  });

  it("are made before the store is closed, also where a listener closes it", async () => {
    const store = storeOf(path);
    await store.subscribe("", () => void store.close());
    const written = store.put("a", 1);
    await store.close();
    expect(await written).toMatchObject({ value: 1 });
    expect(await storeOf(path).get("a")).toMatchObject({ value: 1 });
  });

  it("need no timers that tests have replaced", async () => {
    vi.useFakeTimers();
    const store = storeOf(path);
    expect(await store.put("a", 1)).toMatchObject({ value: 1 });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const written = store.put("a", 2);
    await sleep(20);
    other.exec("COMMIT");
    other.close();
    expect(await written).toMatchObject({ value: 2 });
  });

  it("are joined by later ones while another process writes: in order, and without holding up this one once more", async () => {
    const store = storeOf(path);
    const before = transactions();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const written: Promise<unknown>[] = [];
    for (let index = 0; index < 20; index++) {
      written.push(store.put("a", index));
      await sleep(2);
    }
    other.exec("COMMIT");
    other.close();
    await Promise.all(written);
    expect(transactions()).toBe(before + 1);
    expect((await store.get("a"))!.value).toBe(19);
  });
});

it("can be in memory", async () => {
  const store = storeOf(":memory:");
  await store.put("a", 1);
  expect((await store.get("a"))!.value).toBe(1);
  expect(await storeOf(":memory:").get("a")).toBeUndefined();
});

it("keeps lone surrogates out of the file, where they would be replaced", async () => {
  const store = storeOf(path);
  await store.put("a", "\ud800");
  expect(edit((database) => database.prepare("SELECT value FROM entry").get())).toEqual({ value: '"\\ud800"' });
});

it("can be opened by many processes at once, also for the first time", async () => {
  const processes = await Promise.all(Array.from({ length: 4 }, () => startProcess({ driver: "sqlite", path })));
  await Promise.all(processes.map(({ call }, index) => call("put", `p/${index}`, index)));
  await Promise.all(processes.map(({ kill }) => kill()));
  expect(await storeOf(path).list("p/")).toHaveLength(4);
});

describe("a file that is not right is refused and left as it is", () => {
  it.each<[string, () => void, RegExp]>([
    [
      "a newer version's",
      () => edit((database) => database.exec("PRAGMA user_version = 2")),
      /made by a newer version of this library \(format 2, this one reads up to 1\)/,
    ],
    [
      "another application's",
      () => edit((database) => database.exec("PRAGMA application_id = 5; CREATE TABLE own (id)")),
      /a database of another application/,
    ],
    [
      "another application's, still empty",
      () => edit((database) => database.exec("PRAGMA user_version = 5")),
      /another/,
    ],
    ["no database", () => writeFileSync(path, "What a nice day.\n".repeat(100)), /file is not a database/],
  ])("%s", async (what, make, message) => {
    if (what.startsWith("a newer")) await sqliteStore(path).close();
    make();
    const before = readFileSync(path);
    const close = vi.spyOn(DatabaseSync.prototype, "close");
    onTestFinished(() => close.mockRestore());
    expect(() => sqliteStore(path)).toThrow(expect.objectContaining({ code: "store_failed" }));
    expect(close).toHaveBeenCalledOnce(); // or Windows would let nobody delete it
    expect(() => sqliteStore(path)).toThrow(message);
    expect(() => sqliteStore(path)).toThrow(path);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("another application's without an id", () => {
    edit((database) => database.exec("CREATE TABLE own (id)"));
    expect(() => sqliteStore(path)).toThrow(/a database of another application/);
  });

  it("one that cannot be made", () => {
    expect(() => sqliteStore(join(folder, "missing", "store.db"))).toThrow(
      expect.objectContaining({ code: "store_failed", cause: expect.any(Error) }),
    );
  });

  it("none", () => {
    expect(() => sqliteStore("")).toThrow(TypeError);
    expect(() => sqliteStore(undefined as never)).toThrow(TypeError);
    expect(() => sqliteStore({} as never)).toThrow(TypeError);
    const mistyped = { path, busyTimeout: 60_000 } as never;
    expect(() => sqliteStore(mistyped)).toThrow(/no option "busyTimeout". Did you mean busyTimeoutMs\?/);
    expect(() => sqliteStore({ path, pollMs: Number.NaN })).toThrow(/pollMs is NaN/);
    expect(() => sqliteStore({ path, busyTimeoutMs: -1 })).toThrow(TypeError);
  });
});

describe("while another process writes for long", () => {
  // https://sqlite.org/rescode.html: SQLITE_BUSY, _BUSY_RECOVERY, _BUSY_SNAPSHOT, _LOCKED, _ERROR, _FULL
  it.each([
    [5, true],
    [261, true],
    [517, true],
    [6, true],
    [1, false],
    [13, false],
  ])("an error with the code %i passes: %s", (errcode, passes) => {
    expect(isBusy(Object.assign(new Error("no"), { errcode }))).toBe(passes);
  });

  it("reads go on, writes wait without holding up this process", async () => {
    const store = storeOf(path);
    await store.put("a", 1);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const written = store.put("a", 2);
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((done) => setTimeout(done, 10));
      expect((await store.get("a"))!.value).toBe(1);
    }
    other.exec("COMMIT");
    other.close();
    expect((await written).value).toBe(2);
  });

  it("writes fail in the end, and nothing is written later", async () => {
    const store = storeOf({ path, busyTimeoutMs: 30 });
    await store.put("a", 1);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(store.put("a", 2)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("database is locked"),
    });
    other.exec("COMMIT");
    other.close();
    expect((await store.get("a"))!.value).toBe(1);
  });

  it("a write that came later waits longer", async () => {
    const store = storeOf({ path, busyTimeoutMs: 600 });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const first = store.put("a", 1);
    const failed = expect(first).rejects.toThrow("database is locked");
    await sleep(300);
    const second = store.put("b", 2);
    await failed;
    other.exec("COMMIT");
    other.close();
    expect(await second).toMatchObject({ value: 2 });
    expect(await store.get("a")).toBeUndefined();
  });

  it("a store that is closed meanwhile waits no longer", async () => {
    const store = storeOf(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const written = store.put("a", 2);
    await store.close();
    await expect(written).rejects.toThrow("The sqlite store is closed");
    other.close();
  });
});

describe("a file that is deleted or replaced while it is open", () => {
  it.each<[string, () => void]>([
    ["deleted", () => ["", "-wal", "-shm"].forEach((end) => rmSync(path + end))],
    ["replaced", () => renameSync(join(folder, "another.db"), path)],
  ])("%s: nothing is taken for kept, and who waits is told", async (_, change) => {
    await sqliteStore(join(folder, "another.db")).close();
    const store = storeOf({ path, pollMs: 5 });
    await store.put("a", 1);
    const seen: string[] = [];
    await store.subscribe("a", ({ type }) => void seen.push(type));
    change();
    const work = [store.get("a"), store.put("a", 2), store.delete("a"), store.list(""), store.subscribe("a", () => {})];
    const failed = {
      code: "store_failed",
      message: expect.stringContaining("its file was deleted or replaced"),
    };
    await Promise.all(work.map((each) => expect(each).rejects.toMatchObject(failed)));
    await soon(() => expect(seen).toEqual(["missed"]));
    await store.close();
    expect(await storeOf(path).put("b", 3)).toMatchObject({ value: 3 });
  });

  it("so is the -wal file, which others delete once this process has lost its locks: NousResearch/hermes-agent#110544", async () => {
    const store = storeOf({ path, pollMs: 5 });
    await store.put("a", 1);
    const seen: string[] = [];
    await store.subscribe("a", ({ type }) => void seen.push(type));
    for (const end of ["", "-wal", "-shm"]) readFileSync(path + end); // a copy, made without SQLite
    const other = await startProcess({ driver: "sqlite", path });
    await other.call("close");
    await other.kill();
    await expect(store.put("a", 2)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("its -wal file was deleted or replaced"),
    });
    await soon(() => expect(seen).toEqual(["missed"]));
    await store.close();
    expect(await storeOf(path).get("a")).toMatchObject({ value: 1 });
  });

  it("so is the -wal file of a path that is a link", async () => {
    symlinkSync("store.db", join(folder, "link.db"));
    const store = storeOf(join(folder, "link.db"));
    await store.put("a", 1);
    rmSync(`${path}-wal`);
    await expect(store.put("a", 2)).rejects.toThrow("its -wal file was deleted or replaced");
  });

  it("is not confused by a change of the working directory", async () => {
    const before = process.cwd();
    process.chdir(folder);
    const store = storeOf("store.db");
    process.chdir(before);
    await store.put("a", 1);
    expect((await store.get("a"))!.value).toBe(1);
  });
});

it("does not grow by what is over or deleted", async () => {
  const store = storeOf(path);
  vi.useFakeTimers({ toFake: ["Date"] });
  for (let index = 0; index < 100; index++) {
    await store.put(`over/${index}`, 1, { ttlMs: 10_000 });
    await store.put(`deleted/${index}`, 1);
    await store.delete(`deleted/${index}`);
  }
  vi.setSystemTime(Date.now() + 3_600_000);
  for (let index = 0; index < 15; index++) await store.put("a", index);
  expect(edit((database) => database.prepare("SELECT key FROM entry").all())).toEqual([{ key: "a" }]);
});

it("tells to read again when this process was stopped for so long that deletes may be forgotten", async () => {
  const store = storeOf({ path, pollMs: 5 });
  const seen: StoreChange[] = [];
  await store.subscribe("a/", (change) => void seen.push(change));
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() + 3_600_000);
  await soon(() => expect(seen).toEqual([{ type: "missed", key: "a/" }]));
});

it("looks every 50 ms for what others wrote, while somebody listens and no longer", async () => {
  vi.useFakeTimers();
  const store = storeOf(path);
  const seen: string[] = [];
  const ends = [await store.subscribe("a/", ({ key }) => void seen.push(key)), await store.subscribe("b/", () => {})];
  edit((database) => database.exec("INSERT INTO entry (key, value) VALUES ('a/1', '1')"));
  vi.advanceTimersByTime(50);
  expect(seen).toEqual(["a/1"]);
  await ends[0]!();
  expect(vi.getTimerCount()).toBe(1);
  await ends[1]!();
  expect(vi.getTimerCount()).toBe(0);
  await store.subscribe("a/", () => {});
  await store.close();
  expect(vi.getTimerCount()).toBe(0);
});

it("tells nothing more once a listener has closed it", async () => {
  const store = storeOf(path);
  const seen: string[] = [];
  await store.subscribe("", ({ key }) => {
    seen.push(key);
    void store.close();
  });
  await Promise.all([store.put("a", 1), store.put("b", 1)]);
  expect(seen).toEqual(["a"]);
});

it("tells of each write once, though a listener subscribes meanwhile", async () => {
  const store = storeOf(path);
  const seen: string[] = [];
  await store.subscribe("a/", ({ key }) => {
    seen.push(key);
    void store.subscribe("b/", () => {});
  });
  await Promise.all(["a/1", "a/2", "a/3"].map((key) => store.put(key, 1)));
  expect(seen).toEqual(["a/1", "a/2", "a/3"]);
});

it("tells a new listener nothing of what others wrote before", async () => {
  vi.useFakeTimers();
  const store = storeOf(path);
  const first: string[] = [];
  const second: string[] = [];
  await store.subscribe("a/", ({ key }) => void first.push(key));
  edit((database) => database.exec("INSERT INTO entry (key, value) VALUES ('a/1', '1')"));
  await store.subscribe("a/", ({ key }) => void second.push(key));
  await store.put("a/2", 1);
  expect([first, second]).toEqual([["a/1", "a/2"], ["a/2"]]);
});

it("goes on telling after a look that failed", async () => {
  const store = storeOf({ path, pollMs: 5 });
  const seen: string[] = [];
  await store.subscribe("a/", ({ key }) => void seen.push(key));
  edit((database) => database.exec("ALTER TABLE entry RENAME TO moved"));
  await new Promise((done) => setTimeout(done, 30));
  edit((database) => {
    database.exec("ALTER TABLE moved RENAME TO entry");
    database.exec("INSERT INTO entry (key, value) VALUES ('a/1', '1')");
  });
  await soon(() => expect(seen).toEqual(["a/1"]));
});
