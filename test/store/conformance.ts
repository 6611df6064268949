import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isToolError } from "../../src/errors.ts";
import { storeKey, type Store, type StoreChange, type StoreEntry } from "../../src/store/index.ts";
import { misread } from "../misread.ts";
import type { StoreProcess, Won } from "./process.ts";
import { soon } from "../soon.ts";

/** One driver that keeps the contract of a store. */
export interface StoreDriver {
  readonly name: string;
  /** Why it cannot be tested here. */
  readonly missing?: string | undefined;
  /** Before the first test, and after the last. */
  start?(): Promise<unknown>;
  stop?(): Promise<unknown>;
  /** A place without data, for one test. */
  place(): Promise<StorePlace>;
}

export interface StorePlace {
  /** A store of this place's data. A memory store has none that another could open. */
  open(): Promise<Store>;
  /** One process more at the same data. Left out where there can be none. */
  process?(): Promise<StoreProcess>;
  /** Writes text under a key that no store wrote. */
  damage?(key: string, text: string): Promise<void>;
  /** From now on the backend answers nothing that is of use. */
  fail?(store: Store): Promise<void>;
  /** Closes what was opened, ends the processes and removes the data. */
  clear(): Promise<void>;
}

/** Every store is held to this, the in-memory one too: what a test saw in memory happens in production. */
export function describeStore(driver: StoreDriver): void {
  const title = driver.missing === undefined ? driver.name : `${driver.name} (left out: ${driver.missing})`;
  // What is in memory is of this process alone.
  const describeShared = driver.name === "memory" ? () => {} : describe;
  describe.skipIf(driver.missing !== undefined)(title, () => {
    let place: StorePlace;
    let store: Store;

    beforeAll(() => driver.start?.());
    afterAll(() => driver.stop?.());
    beforeEach(async () => {
      place = await driver.place();
      store = await place.open();
    });
    afterEach(() => place.clear());

    describe("get and put", () => {
      it("has no value where none was put", async () => {
        expect(await store.get("a")).toBeUndefined();
      });

      it("gives what was put, with its version", async () => {
        const written = await store.put("a", { text: "Hi" });
        expect(written).toEqual({ key: "a", value: { text: "Hi" }, version: written.version, expiresAt: null });
        expect(written.version).toBeGreaterThan(0);
        expect(await store.get("a")).toEqual(written);
      });

      it("gives keys with escapes as they were put, whatever was read before", async () => {
        const value = { input: misread() };
        expect((await store.put("a", value)).value).toEqual(value);
        expect((await store.get("a"))?.value).toEqual(value);
        expect((await store.list("a")).map((entry) => entry.value)).toEqual([value]);
      });

      it("grows the version with every write of every key", async () => {
        const versions = [];
        for (const key of ["a", "b", "a", "c", "b"]) versions.push((await store.put(key, 1)).version);
        expect(versions).toEqual(versions.toSorted((a, b) => a - b));
        expect(new Set(versions).size).toBe(5);
        expect(versions.every(Number.isSafeInteger)).toBe(true);
      });

      it("never uses a version again, also not after a delete", async () => {
        const first = await store.put("a", 1);
        await store.delete("a");
        const second = await store.put("a", 1);
        expect(second.version).toBeGreaterThan(first.version);
        await conflict(store.put("a", 2, { expectedVersion: first.version }));
      });

      it("takes nothing from and gives nothing to the caller but copies", async () => {
        const value = { list: [1] };
        const written = await store.put("a", value);
        value.list.push(2);
        written.value.list.push(3);
        const read = (await store.get<typeof value>("a"))!;
        expect(read.value).toEqual({ list: [1] });
        read.value.list.push(4);
        const [listed] = await store.list<typeof value>("a");
        listed!.value.list.push(5);
        expect((await store.get("a"))!.value).toEqual({ list: [1] });
      });
    });

    describe("expectedVersion", () => {
      it("0 writes only where there is nothing", async () => {
        await store.put("a", 1, { expectedVersion: 0 });
        await conflict(store.put("a", 2, { expectedVersion: 0 }));
        expect((await store.get("a"))!.value).toBe(1);
        await store.delete("a");
        await store.put("a", 3, { expectedVersion: 0 });
        expect((await store.get("a"))!.value).toBe(3);
      });

      it("writes over this version only", async () => {
        const { version } = await store.put("a", 1);
        await store.put("a", 2, { expectedVersion: version });
        expect((await conflict(store.put("a", 3, { expectedVersion: version }))).message).toMatch(
          new RegExp(`^"a" has version \\d+, expected version ${version}\\. Nothing was written`),
        );
        expect((await conflict(store.put("b", 3, { expectedVersion: version }))).message).toMatch('"b" is not there');
        expect((await store.get("a"))!.value).toBe(2);
        expect(await store.get("b")).toBeUndefined();
      });

      it("lets one of 50 writers win", async () => {
        const { version } = await store.put("a", -1);
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, (_, index) => store.put("a", index, { expectedVersion: version })),
        );
        const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
        expect(won).toHaveLength(1);
        expect(await store.get("a")).toEqual(won[0]!.value);
      });
    });

    describe("delete", () => {
      it("says whether there was something", async () => {
        await store.put("a", 1);
        expect(await store.delete("a")).toBe(true);
        expect(await store.delete("a")).toBe(false);
        expect(await store.get("a")).toBeUndefined();
        expect(await store.list("")).toEqual([]);
      });

      it("deletes this version only", async () => {
        const { version } = await store.put("a", 1);
        await store.put("a", 2);
        await conflict(store.delete("a", { expectedVersion: version }));
        const { version: now } = (await store.get("a"))!;
        expect(await store.delete("a", { expectedVersion: now })).toBe(true);
        expect(await store.delete("a", { expectedVersion: now })).toBe(false);
      });

      it("lets one of many win", async () => {
        const { version } = await store.put("a", 1);
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, () => store.delete("a", { expectedVersion: version })),
        );
        expect(outcomes.filter(Boolean)).toHaveLength(1);
      });
    });

    describe("ttlMs", () => {
      it("says when the value vanishes", async () => {
        const before = Date.now();
        const { expiresAt } = await store.put("a", 1, { ttlMs: 60_000 });
        // The server's clock may be another one; here it is the same machine's.
        expect(expiresAt).toBeGreaterThanOrEqual(before + 60_000 - 5);
        expect(expiresAt).toBeLessThanOrEqual(Date.now() + 60_000 + 5);
        expect((await store.get("a"))!.expiresAt).toBe(expiresAt);
        expect((await store.list("a"))[0]!.expiresAt).toBe(expiresAt);
        const ttlMs = 900 * YEAR_MS;
        expect((await store.put("b", 1, { ttlMs })).expiresAt).toBeGreaterThan(before + ttlMs - 5);
      });

      it("makes the value vanish, from get, list and delete", async () => {
        const gone = await store.put("a/1", 1, { ttlMs: 1.5 });
        await store.put("a/2", 2, { ttlMs: 60_000 });
        await soon(async () => expect(await store.get("a/1")).toBeUndefined());
        expect((await store.list("a/")).map(({ key }) => key)).toEqual(["a/2"]);
        expect(await store.list("a/", { limit: 1 })).toHaveLength(1);
        expect(await store.delete("a/1")).toBe(false);
        await conflict(store.put("a/1", 1, { expectedVersion: gone.version }));
        await store.put("a/1", 3, { expectedVersion: 0 });
        expect((await store.list("a/")).map(({ value }) => value)).toEqual([3, 2]);
      });

      it("ends with a put that says nothing, or null", async () => {
        await store.put("a", 1, { ttlMs: 60_000 });
        expect((await store.put("a", 2)).expiresAt).toBeNull();
        await store.put("a", 1, { ttlMs: 60_000 });
        expect((await store.put("a", 2, { ttlMs: null })).expiresAt).toBeNull();
        expect((await store.get("a"))!.expiresAt).toBeNull();
      });

      it('goes on with "keep"', async () => {
        const { expiresAt } = await store.put("a", 1, { ttlMs: 60_000 });
        expect((await store.put("a", 2, { ttlMs: "keep" })).expiresAt).toBe(expiresAt);
        expect(await store.get("a")).toMatchObject({ value: 2, expiresAt });
        expect((await store.put("b", 2, { ttlMs: "keep" })).expiresAt).toBeNull();
      });

      it("keeps a value that was written again for longer", async () => {
        await store.put("a", 1, { ttlMs: 30 });
        await store.put("b", 1, { ttlMs: 30 });
        await store.put("a", 2, { ttlMs: 60_000 });
        await soon(async () => expect(await store.get("b")).toBeUndefined());
        expect((await store.list("")).map(({ key }) => key)).toEqual(["a"]);
      });

      it("keeps order through many that vanish", async () => {
        for (let index = 0; index < 120; index++) {
          await store.put(storeKey("a", 1_000 + index), index, index % 3 === 0 ? {} : { ttlMs: 1 });
        }
        await soon(async () => expect(await store.get(storeKey("a", 1_119))).toBeUndefined());
        const page = await store.list<number>("a/", { limit: 35 });
        expect(page.map(({ value }) => value)).toEqual(Array.from({ length: 35 }, (_, index) => index * 3));
        const rest = await store.list<number>("a/", { after: page.at(-1)!.key });
        expect(rest.map(({ value }) => value)).toEqual([105, 108, 111, 114, 117]);
      });
    });

    describe("list", () => {
      const odd = [
        "a",
        "a/",
        "a/1",
        "a/10",
        "a/2",
        "a0",
        "A",
        "~",
        " ",
        "%",
        "[a",
        "(a",
        "a*",
        "a?",
        "a_",
        "-",
        "+",
        "'",
      ];

      it("is in the order of the keys", async () => {
        for (const key of odd) await store.put(key, key);
        const listed = await store.list("");
        expect(listed.map(({ key }) => key)).toEqual(odd.toSorted());
        expect(listed.map(({ value }) => value)).toEqual(odd.toSorted());
        expect(listed[0]).toEqual(await store.get(listed[0]!.key));
      });

      it.each(["a", "a/", "a/1", "%", "[", "(", "a*", "a_", "~", " ", "-", "+", "nothing"])(
        "%j is a prefix, not a pattern",
        async (prefix) => {
          for (const key of odd) await store.put(key, 1);
          const keys = (await store.list(prefix)).map(({ key }) => key);
          expect(keys).toEqual(odd.filter((key) => key.startsWith(prefix)).toSorted());
        },
      );

      it("comes in pages", async () => {
        for (const key of odd) await store.put(`p/${key}`, 1);
        for (const key of ["o", "q"]) await store.put(key, 1);
        const keys: string[] = [];
        for (;;) {
          const after = keys.at(-1);
          const page = await store.list("p/", after === undefined ? { limit: 4 } : { limit: 4, after });
          keys.push(...page.map(({ key }) => key));
          if (page.length < 4) break;
        }
        expect(keys).toEqual(odd.map((key) => `p/${key}`).toSorted());
        expect(await store.list("p/", { limit: 0 })).toEqual([]);
        expect(await store.list("p/", { after: "p/~" })).toEqual([]);
        expect(await store.list("p/", { after: "a" })).toHaveLength(odd.length);
        expect(await store.list("p/", { after: "q" })).toEqual([]);
      });

      it("gives all, be it many", async () => {
        const many = Array.from({ length: 250 }, (_, index) => storeKey("m", 1_000 + index));
        await Promise.all(many.map((key) => store.put(key, key)));
        expect((await store.list("m/")).map(({ value }) => value)).toEqual(many);
      });
    });

    describe("keys", () => {
      const parts = [
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "",
        "a/b",
        "%2F",
        "\0",
        "\ud800",
        "\udbff",
        "\ufffd",
        "日本 🙂",
        "..",
      ];

      it.each(parts)("%j is a part like any other", async (part) => {
        const key = storeKey("k", part);
        expect(await store.get(key)).toBeUndefined();
        await store.put(key, part);
        expect((await store.get(key))!.value).toBe(part);
        expect((await store.list("k/")).map((entry) => entry.key)).toEqual([key]);
        expect(await store.delete(key)).toBe(true);
      });

      it("of different parts are different", async () => {
        for (const part of parts) await store.put(storeKey("k", part, "end"), part, { expectedVersion: 0 });
        expect(await store.list("k/")).toHaveLength(parts.length);
        expect(await store.list(`${storeKey("k", "a")}/`)).toEqual([]);
      });

      it.each(["", "é", "a\nb", "\0", "\ud800", "\x7f", 5, undefined, null])("%j is refused", async (key) => {
        const bad = key as string;
        await expect(store.get(bad)).rejects.toThrow(TypeError);
        await expect(store.put(bad, 1)).rejects.toThrow(TypeError);
        await expect(store.delete(bad)).rejects.toThrow(TypeError);
        if (key !== "") await expect(store.list(bad)).rejects.toThrow(TypeError);
        if (key !== "") await expect(store.subscribe(bad, () => {})).rejects.toThrow(TypeError);
      });

      it("may be long", async () => {
        await expect(store.get("é".repeat(5_000))).rejects.toThrow(/^Not a key of a store: .{100}\. Expected/);
        const key = storeKey("k", "x".repeat(5_000));
        await store.put(key, 1);
        expect((await store.list("k/"))[0]!.key).toBe(key);
      });
    });

    describe("values", () => {
      it.each<[string, unknown]>([
        ["null", null],
        ["false", false],
        ["an empty text", ""],
        ["numbers", [0, 1.5, -1e300, 5e-324, Number.MAX_SAFE_INTEGER]],
        ["empty ones", { a: {}, b: [], c: "" }],
        ["lone surrogates", { "\ud800": "\udfff \ud83d", pair: "\ud83d\ude00", list: ["\ud800"] }],
        ["NUL and control characters", { "\0": "a\0b\u0001\u007f\u2028\ufeff" }],
        ["text that looks like a command", "\r\nFLUSHALL\r\n'; DROP TABLE entry; --"],
        ["5 MB", { text: "é".repeat(2_500_000) }],
        ["100,000 items", Array.from({ length: 100_000 }, (_, index) => index)],
        ["1,000 levels", nested(1_000)],
        ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
      ])("keeps %s", async (_, value) => {
        await store.put("a", value);
        expect((await store.get("a"))!.value).toEqual(value);
        expect((await store.list("a"))[0]!.value).toEqual(value);
      });

      it("keeps __proto__ as a property, and nothing else is changed by it", async () => {
        const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
        await store.put("a", JSON.parse(text));
        const { value } = (await store.get<object>("a"))!;
        expect(JSON.stringify(value)).toBe(text);
        expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
        expect(({} as { polluted?: number }).polluted).toBeUndefined();
      });

      it("leaves out properties that are undefined, and keeps no sign of zero", async () => {
        const { value } = await store.put("a", { a: undefined, b: -0 });
        expect(value).toStrictEqual({ b: 0 });
      });

      it.each<[string, () => unknown, RegExp]>([
        ["undefined", () => undefined, /a undefined/],
        ["undefined in a list", () => [1, undefined], /undefined at 1/],
        ["a hole in a list", () => Object.assign([], { 1: 1 }), /undefined at 0/],
        ["a function", () => ({ a: [() => {}] }), /function at "a"\.0/],
        ["a symbol", () => Symbol("a"), /symbol/],
        ["a BigInt", () => ({ id: 1n }), /bigint at "id"/],
        ["NaN", () => ({ a: Number.NaN }), /NaN at "a"/],
        ["Infinity", () => [-Infinity], /-Infinity at 0/],
        ["a Date", () => ({ at: new Date() }), /Date at "at"/],
        ["a Map", () => new Map(), /Map/],
        ["an Error", () => new Error("x"), /Error/],
        ["bytes", () => new Uint8Array(2), /Uint8Array/],
        ["a value with toJSON()", () => ({ toJSON: () => 1 }), /function at "toJSON"/],
        ["a cycle", () => cycle(), /contains itself/],
        ["1,001 levels", () => nested(1_001), /more than 1000 levels/],
        ["100,000 levels", () => nested(100_000), /more than 1000 levels/],
        [
          "a getter that throws",
          () => ({
            get a(): number {
              throw new Error("no");
            },
          }),
          /getter that throws \(no\) at "a"/,
        ],
      ])("refuses %s, and writes nothing", async (_, make, message) => {
        const { version } = await store.put("a", 1);
        const error = await store.put("a", make()).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(TypeError);
        expect((error as Error).message).toMatch(message);
        expect((error as Error).message.length).toBeLessThan(500);
        expect((await store.get("a"))!.version).toBe(version);
      });
    });

    it.each<[string, (open: Store) => Promise<unknown>]>([
      ["a negative version", (open) => open.put("a", 1, { expectedVersion: -1 })],
      ["a version that is no number", (open) => open.put("a", 1, { expectedVersion: "1" as never })],
      ["a version that is none", (open) => open.put("a", 1, { expectedVersion: Number.NaN })],
      ["no time", (open) => open.put("a", 1, { ttlMs: 0 })],
      ["a time beyond all plans", (open) => open.put("a", 1, { ttlMs: 1_001 * YEAR_MS })],
      ["an endless time", (open) => open.put("a", 1, { ttlMs: Infinity })],
      ["a time that is no number", (open) => open.put("a", 1, { ttlMs: "1h" as never })],
      ["a delete of nothing", (open) => open.delete("a", { expectedVersion: 0 })],
      ["a negative limit", (open) => open.list("a", { limit: -1 })],
      ["half an entry", (open) => open.list("a", { limit: 0.5 })],
      ["a condition by another name", (open) => open.put("a", 2, { expectVersion: 0 } as never)],
      ["a time by another name", (open) => open.put("a", 2, { ttl: 5 } as never)],
      ["a delete under another condition", (open) => open.delete("a", { version: 99 } as never)],
      ["a page from elsewhere", (open) => open.list("a", { from: "b" } as never)],
      ["nobody who listens", (open) => open.subscribe("a", undefined as never)],
    ])("refuses %s", async (_, ask) => {
      await store.put("a", 1);
      await expect(ask(store)).rejects.toThrow(TypeError);
      expect((await store.get("a"))!.value).toBe(1);
    });

    describe("subscribe", () => {
      it("tells of each change under the prefix", async () => {
        const seen = recorder();
        await store.put("a/0", 1);
        await store.subscribe("a/", seen.listener);
        await store.put("a/1", 1);
        await seen.next("put a/1");
        await store.put("b/1", 1);
        await store.put("a/1", 2);
        await seen.next("put a/1");
        await store.delete("a/1");
        await seen.next("delete a/1");
        expect(seen.all).toEqual(["put a/1", "put a/1", "delete a/1"]);
      });

      it("shows the listener what was written", async () => {
        const values: unknown[] = [];
        await store.subscribe("a", async ({ key }) => void values.push((await store.get(key))?.value));
        await store.put("a", { n: 1 });
        await soon(() => expect(values).toEqual([{ n: 1 }]));
      });

      it("tells nothing before the writer's call has returned", async () => {
        let isWriting = true;
        const seen: boolean[] = [];
        await store.subscribe("a", () => void seen.push(isWriting));
        const written = store.put("a", 1);
        isWriting = false;
        await written;
        await soon(() => expect(seen).toEqual([false]));
      });

      it("is not told of what was refused", async () => {
        const seen = recorder();
        await store.subscribe("", seen.listener);
        await store.put("a", 1);
        await conflict(store.put("a", 2, { expectedVersion: 0 }));
        await store.delete("b");
        await store.put("c", 1);
        await seen.next("put a");
        await seen.next("put c");
        expect(seen.all).toEqual(["put a", "put c"]);
      });

      it("tells nothing more after its end", async () => {
        const ended = recorder();
        const other = recorder();
        const end = await store.subscribe("a", ended.listener);
        await store.subscribe("a", other.listener);
        await end();
        await end();
        await store.put("a", 1);
        await other.next("put a");
        expect(ended.all).toEqual([]);
      });

      it("can begin again after the last one ended", async () => {
        const first = recorder();
        const end = await store.subscribe("a", first.listener);
        await end();
        await store.put("a", 1);
        const second = recorder();
        await store.subscribe("a", second.listener);
        await store.put("a", 2);
        await second.next("put a");
        expect(first.all).toEqual([]);
      });

      it("can begin while the last one ends", async () => {
        const end = await store.subscribe("a", recorder().listener);
        const second = recorder();
        const subscribed = store.subscribe("a", second.listener);
        await end();
        await subscribed;
        await store.put("a", 1);
        await second.next("put a");
      });

      it("is not disturbed by a listener that throws, or rejects", async () => {
        const seen = recorder();
        await store.subscribe("a", () => {
          throw new Error("thrown by a listener");
        });
        await store.subscribe("a", async () => {
          throw new Error("rejected by a listener");
        });
        await store.subscribe("a", seen.listener);
        await store.put("a", 1);
        await seen.next("put a");
        await store.put("a", 2);
        await seen.next("put a");
      });

      it("may begin many times at once", async () => {
        const seen = Array.from({ length: 20 }, recorder);
        const ends = await Promise.all(seen.map(({ listener }) => store.subscribe("a", listener)));
        await store.put("a", 1);
        await Promise.all(seen.map(({ next }) => next("put a")));
        await Promise.all(ends.map((end) => end()));
      });
    });

    describe("close", () => {
      it("ends everything: all verbs fail, nothing is told", async () => {
        const seen = recorder();
        await store.put("a", 1);
        const end = await store.subscribe("a", seen.listener);
        await store.close();
        await store.close();
        await end();
        await failure(store.get("a"));
        await failure(store.put("a", 1));
        await failure(store.delete("a"));
        await failure(store.list(""));
        await failure(store.subscribe("a", seen.listener));
        expect(seen.all).toEqual([]);
      });
    });

    it("says what it is", () => {
      expect(store.name).toMatch(/^[a-z]+$/);
    });

    describeShared("other processes", () => {
      it("see what was written, and are seen", async () => {
        const other = await place.process!();
        const written = await store.put("a", { text: "\ud800" });
        expect(await other.call("get", "a")).toEqual(written);
        await other.call("put", "b", 2, { ttlMs: 60_000 });
        expect((await store.get("b"))!.value).toBe(2);
        expect(((await other.call("list", "")) as StoreEntry[]).map(({ key }) => key)).toEqual(["a", "b"]);
      });

      it("compare and set against each other: each version is won once", async () => {
        const processes = await Promise.all([place.process!(), place.process!(), place.process!()]);
        const won: Won[] = (await Promise.all(processes.map(({ count }) => count("n", 50)))).flat();
        expect(won).toHaveLength(150);
        expect(new Set(won.map(({ found }) => found)).size).toBe(150);
        const inOrder = won.toSorted((a, b) => a.left - b.left);
        expect(inOrder.map(({ found }) => found)).toEqual([0, ...inOrder.slice(0, -1).map(({ left }) => left)]);
        expect((await store.get("n"))!).toMatchObject({ value: 150, version: inOrder.at(-1)!.left });
      });

      it("tell of their changes", async () => {
        const seen = recorder();
        await store.subscribe("a/", seen.listener);
        const other = await place.process!();
        await other.call("put", "a/1", 1);
        await seen.next("put a/1");
        await other.call("put", "b/1", 1);
        await other.call("delete", "a/1");
        await seen.next("delete a/1");
        expect(seen.all).toEqual(["put a/1", "delete a/1"]);
      });

      it("leave what they wrote when they are killed", async () => {
        const other = await place.process!();
        const written = await other.call("put", "a", { text: "kept" });
        await other.kill();
        expect(await store.get("a")).toEqual(written);
      });

      it("that count while one is killed lose nothing", async () => {
        const [victim, survivor] = [await place.process!(), await place.process!()];
        const killed = victim.count("n", 1_000_000).catch((error: unknown) => String(error));
        await soon(async () => expect((await store.get<number>("n"))?.value ?? 0).toBeGreaterThan(20));
        await victim.kill();
        expect(await killed).toMatch("the process ended");
        const before = (await store.get<number>("n"))!.value;
        await survivor.count("n", 20);
        expect((await store.get("n"))!.value).toBe(before + 20);
      });
    });

    describeShared("a backend that fails", () => {
      it("is an error of every verb, never 'not there'", async () => {
        await store.put("a", 1);
        await place.fail!(store);
        for (const error of [
          await failure(store.get("a")),
          await failure(store.put("a", 2)),
          await failure(store.delete("a")),
          await failure(store.list("")),
        ]) {
          expect(error.cause).toBeInstanceOf(Error);
        }
      });

      it.each(["", "{", "1 0 id {", "-1 0 id 5", "undefined", '{"a":1}}'])(
        "is an error for %j, which no store wrote",
        async (text) => {
          await store.put("a/1", 1);
          await place.damage!("a/1", text);
          await failure(store.get("a/1"));
          await failure(store.list("a/"));
          expect(await store.delete("a/1")).toBe(true);
          expect(await store.get("a/1")).toBeUndefined();
        },
      );
    });
  });
}

const YEAR_MS = 365 * 86_400_000;

async function conflict(asked: Promise<unknown>): Promise<Error> {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "ToolError", code: "version_conflict" });
  return error as Error;
}

async function failure(asked: Promise<unknown>): Promise<Error> {
  const error = await asked.then(
    (value) => `answered ${JSON.stringify(value)}`,
    (thrown: unknown) => thrown,
  );
  expect(error).toSatisfy(isToolError);
  expect(error).toMatchObject({ code: "store_failed" });
  return error as Error;
}

/** What a listener was told, as `put a/1`. */
function recorder() {
  const all: string[] = [];
  let read = 0;
  return {
    all,
    listener: ({ type, key }: StoreChange) => void all.push(`${type} ${key}`),
    /** Waits for the next one. */
    async next(expected: string) {
      await soon(() => expect(all.length).toBeGreaterThan(read));
      expect(all[read++]).toBe(expected);
    },
  };
}

function nested(levels: number): unknown {
  let value: unknown = "deep";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function cycle(): unknown {
  const value: { self?: unknown } = {};
  value.self = [value];
  return value;
}
