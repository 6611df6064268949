import { expect, it, vi } from "vitest";
import { memoryStore, updateEntry, type Store } from "../../src/store/index.ts";
import { seeded } from "../seeded.ts";

it("loses no change of 50 writers at once", async () => {
  const store = slow(memoryStore());
  const written = await Promise.all(
    Array.from({ length: 50 }, () => updateEntry<number>(store, "n", (count = 0) => count + 1)),
  );
  expect((await store.get("n"))!.value).toBe(50);
  expect(new Set(written.map((entry) => entry!.value)).size).toBe(50);
});

it("gives the entry that it wrote", async () => {
  const store = memoryStore();
  const entry = await updateEntry<string[]>(store, "list", (list = []) => [...list, "a"]);
  expect(entry).toEqual(await store.get("list"));
});

it("writes nothing when there is nothing to change", async () => {
  const store = memoryStore();
  expect(await updateEntry(store, "a", () => undefined)).toBeUndefined();
  const written = await store.put("a", 1);
  expect(await updateEntry(store, "a", () => undefined)).toEqual(written);
  expect(await store.get("a")).toEqual(written);
});

it("shows what it found", async () => {
  const store = memoryStore();
  const written = await store.put("a", 1);
  await updateEntry<number>(store, "a", (value, entry) => {
    expect(value).toBe(1);
    expect(entry).toEqual(written);
    return 2;
  });
});

it("waits for a change that takes its time", async () => {
  const store = memoryStore();
  await updateEntry<number>(store, "a", async () => Promise.resolve(2));
  expect((await store.get("a"))!.value).toBe(2);
});

it("keeps the time of the value, or sets another", async () => {
  const store = memoryStore();
  const { expiresAt } = await store.put("a", 1, { ttlMs: 60_000 });
  expect((await updateEntry(store, "a", () => 2))!.expiresAt).toBe(expiresAt);
  expect((await updateEntry(store, "a", () => 3, { ttlMs: 120_000 }))!.expiresAt).toBeGreaterThan(expiresAt!);
  expect((await updateEntry(store, "a", () => 4, { ttlMs: null }))!.expiresAt).toBeNull();
});

it("gives up after so many conflicts", async () => {
  const store = memoryStore();
  const change = vi.fn(async (value = 0) => {
    await store.put("a", "of another writer");
    return value + 1;
  });
  await expect(updateEntry<number>(store, "a", change, { maxConflicts: 2 })).rejects.toMatchObject({
    code: "version_conflict",
  });
  expect(change).toHaveBeenCalledTimes(3);
});

it("ends its waiting with the signal", async () => {
  const store = memoryStore();
  const controller = new AbortController();
  const change = async () => {
    await store.put("a", "of another writer");
    controller.abort(new Error("enough"));
    return 1;
  };
  await expect(updateEntry<unknown>(store, "a", change, { signal: controller.signal })).rejects.toThrow("enough");
});

it("gives what it wrote, though the signal came meanwhile", async () => {
  const store = memoryStore();
  const controller = new AbortController();
  const put: Store["put"] = async (...args) => {
    const entry = await store.put(...args);
    controller.abort();
    return entry;
  };
  const written = await updateEntry({ ...store, put }, "a", () => 1, { signal: controller.signal });
  expect(written).toEqual(await store.get("a"));
});

it.each([-1, Number.NaN])("throws a TypeError for %s conflicts", async (maxConflicts) => {
  await expect(updateEntry(memoryStore(), "a", () => 1, { maxConflicts })).rejects.toThrow("maxConflicts is a number");
});

it("asks once when the change or the store fails", async () => {
  const store = memoryStore();
  const change = vi.fn((): number => {
    throw new Error("no such state");
  });
  await expect(updateEntry(store, "a", change)).rejects.toThrow("no such state");
  expect(change).toHaveBeenCalledTimes(1);
  await store.close();
  await expect(updateEntry(store, "a", change)).rejects.toMatchObject({ code: "store_failed" });
  expect(change).toHaveBeenCalledTimes(1);
});

/** As if it were behind a network: others write between the reading and the writing. */
function slow(store: Store): Store {
  const random = seeded(1);
  const later = () => new Promise((done) => setTimeout(done, random() * 2));
  return {
    ...store,
    get: async (key) => {
      await later();
      return store.get(key);
    },
  };
}

it("refuses an option that it does not have", async () => {
  const store = memoryStore();
  await expect(updateEntry<number>(store, "n", () => 1, { ttl: 5 } as never)).rejects.toThrow(
    'updateEntry() has no option "ttl". It has ttlMs, maxConflicts, signal.',
  );
  expect(await store.get("n")).toBeUndefined();
});
