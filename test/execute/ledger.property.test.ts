/** Whatever the store does at whatever moment, and whoever executes a call again: a write runs at most once. */
import * as fc from "../fast-check.ts";
import { expect, it } from "vitest";
import { ToolError } from "../../src/errors.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { counted, RUN, setup } from "./support.ts";

type Whim = "ok" | "fails" | "fails after it has written";

/** A store that follows the whims as long as there are some. */
function flaky(store: Store, whims: Whim[]): Store {
  const next = () => whims.shift() ?? "ok";
  const down = () => new ToolError("store_failed", "The store is down.");
  return {
    ...store,
    get: async (key) => {
      if (next() !== "ok") throw down();
      return store.get(key);
    },
    put: async (key, value, options) => {
      const whim = next();
      if (whim === "fails") throw down();
      const entry = await store.put(key, value, options);
      if (whim !== "ok") throw down();
      return entry;
    },
  };
}

const whims = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant<Whim>("ok") },
    { weight: 1, arbitrary: fc.constantFrom<Whim>("fails", "fails after it has written") },
  ),
  { maxLength: 40 },
);

it.each(["write", "idempotent"] as const)("a %s over a store that fails now and then", async (effect) => {
  await fc.assert(
    fc.asyncProperty(whims, whims, fc.integer({ min: 1, max: 3 }), async (first, second, rounds) => {
      const runs = new Map<string, number>();
      const undone = new Map<string, number>();
      const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
      const { tool } = counted({
        effect,
        execute: (_: unknown, { invocationId }: any) => void count(runs, invocationId),
        undo: ({ invocationId }) => void count(undone, invocationId),
      });
      const store = memoryStore();
      const executors = [first, second].map(
        (mood) => setup([tool], { store: flaky(store, [...mood]), leaseMs: 15 }).executor,
      );
      const use = (invocationId: string) => tool.use({}, { id: `call_${invocationId}`, invocationId });
      for (let round = 0; round < rounds; round++) {
        const outcomes = await Promise.all(
          executors.flatMap((executor) => ["a", "b"].map((id) => executor.execute(use(id), RUN))),
        );
        for (const outcome of outcomes) {
          const times = runs.get(outcome.invocationId) ?? 0;
          if (effect === "write") expect(times).toBeLessThanOrEqual(1);
          if (outcome.status === "completed") expect(times).toBeGreaterThanOrEqual(1);
          // What the model hears is what came of it.
          expect(outcome.use.state).toBe(outcome.status === "completed" ? "done" : "failed");
        }
      }
      const undos = await Promise.all(executors.map((executor) => executor.undo("run/a")));
      expect(undone.get("a") ?? 0).toBeLessThanOrEqual(1);
      expect(undos.filter(({ status }) => status === "undone").length).toBeLessThanOrEqual(1);

      const log = await setup([tool], { store }).executor.events("run");
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
      for (const id of ["a", "b"]) {
        const ends = log.filter(
          ({ type, invocationId }) => invocationId === id && /\.(completed|failed|denied)$/.test(type),
        );
        expect(ends.length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 100 },
  );
});
