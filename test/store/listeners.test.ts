import { expect, it } from "vitest";
import { memoryStore } from "../../src/store/index.ts";
import { createListeners } from "../../src/store/listeners.ts";

/** How many steps the loops over sets, maps and lists take meanwhile. */
async function stepsOf(act: () => Promise<unknown>): Promise<number> {
  let steps = 0;
  const kinds = [new Set(), new Map(), []].map(
    (one) => Object.getPrototypeOf(one[Symbol.iterator]()) as Iterator<unknown>,
  );
  const nexts = kinds.map(({ next }) => next);
  for (const [at, kind] of kinds.entries()) {
    kind.next = function () {
      steps++;
      return nexts[at]!.call(this);
    };
  }
  try {
    await act();
    return steps;
  } finally {
    kinds.forEach((kind, at) => (kind.next = nexts[at]!));
  }
}

it("a write passes by those who wait for other keys, however many they are", async () => {
  const store = memoryStore();
  const heard: string[] = [];
  const stops = [];
  for (let n = 0; n < 2_000; n++) stops.push(await store.subscribe(`approval/${n}/`, ({ key }) => heard.push(key)));
  const steps = await stepsOf(async () => {
    await store.put("approval/1234/a", 1);
    await Promise.resolve();
  });
  expect(heard).toEqual(["approval/1234/a"]);
  expect(steps).toBeLessThan(200);
  for (const stop of stops) await stop();
  await store.put("approval/1234/a", 2);
  await Promise.resolve();
  expect(heard).toHaveLength(1);
});

it("tells each listener whose prefix the key has, also the whole key and nothing at all", async () => {
  const store = memoryStore();
  const heard: string[] = [];
  for (const prefix of ["", "a", "a/b", "a/b", "a/b/c", "a/b/cd", "b"]) {
    await store.subscribe(prefix, () => heard.push(prefix));
  }
  await store.put("a/b/c", 1);
  await Promise.resolve();
  expect(heard.toSorted()).toEqual(["", "a", "a/b", "a/b", "a/b/c"]);
});

it("keeps nothing of a listener that is gone, and tells nobody after it was cleared", () => {
  const listeners = createListeners();
  const heard: string[] = [];
  const listen = (prefix: string) => listeners.add(prefix, ({ type }) => heard.push(`${type} ${prefix}`));
  const stops = ["a", "a", "b"].map(listen);
  for (const stop of stops) {
    expect(listeners.isEmpty).toBe(false);
    stop();
    stop();
  }
  expect(listeners.isEmpty).toBe(true);
  listen("a");
  for (const stop of stops) stop(); // whoever left does not take along who came later
  listeners.tellMissed();
  listeners.clear();
  listeners.tell({ key: "a", type: "put" });
  expect(heard).toEqual(["missed a"]);
});
