/** A store that fails at any write, with or without having written: nobody is told so. */
import { describe, expect, it } from "vitest";
import { isToolError, ToolError } from "../../src/errors.ts";
import { memoryStore } from "../../src/store/index.ts";
import type { Store } from "../../src/store/store.ts";
import { createScenario, finish, problemsOf } from "./scenario.ts";

describe.each([true, false])("a store that fails at one write, having written: %s", (hasWritten) => {
  it("makes nothing happen twice, and leaves a run that goes on", async () => {
    let failAt = 0;
    let isPast = false;
    const next = async (): Promise<void> => {
      while (!isPast) {
        const at = ++failAt;
        const seen: string[] = [];
        const faulty = failing(memoryStore(), at, hasWritten);
        const scenario = createScenario(faulty.store, (event) => seen.push(event));
        let result;
        while (result === undefined) {
          result = await finish(scenario).catch((error: unknown) => {
            if (isToolError(error) && error.code === "store_failed") return undefined;
            throw new Error(`at write ${at}`, { cause: error });
          });
        }
        isPast ||= faulty.writes() < at;
        // A call that could not be recorded was not executed, and the model hears that.
        const problems = (await problemsOf(scenario, result, seen)).filter(
          (problem) => !problem.startsWith("the model heard"),
        );
        expect([at, ...problems]).toEqual([at]);
      }
    };
    await Promise.all(Array.from({ length: 8 }, next));
    expect(failAt).toBeGreaterThan(40);
  }, 60_000);
});

function failing(inner: Store, failAt: number, hasWritten: boolean): { store: Store; writes(): number } {
  let writes = 0;
  const store: Store = {
    ...inner,
    async put(...args) {
      if (++writes !== failAt) return inner.put(...args);
      if (hasWritten) await inner.put(...args);
      throw new ToolError("store_failed", "The connection was lost.");
    },
  };
  return { store, writes: () => writes };
}
