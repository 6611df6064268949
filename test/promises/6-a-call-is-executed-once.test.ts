/** Promise 6, as far as one ToolUse goes: it is handed out once, and executed once. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { defineTool, jsonSchema } from "../../src/index.ts";
import { bytesOf, makeTools, rows, run, syntheticTurn } from "./support.ts";
import { iterate } from "../iterate.ts";

describe.each(rows)("$name", ({ adapter, encode }) => {
  it("hands each call out once, in one event", async () => {
    await fc.assert(
      fc.asyncProperty(syntheticTurn, async (turn) => {
        const { tools, ran } = makeTools();
        const bytes = bytesOf(turn, encode);
        // Some gateways send the end of the stream twice.
        const { events } = await run(adapter, iterate([bytes, bytes.subarray(-200)]), { tools });
        const uses = events.flatMap((event) => (event.type === "tool-use" ? [event.use] : []));
        expect(new Set(uses.map((use) => use.invocationId)).size).toBe(turn.calls.length);
        expect(uses).toHaveLength(turn.calls.length);
        expect(ran).toHaveLength(turn.calls.length);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a ToolUse", () => {
  it.each<[string, () => unknown]>([
    ["that succeeds", () => 1],
    [
      "that fails",
      () => {
        throw new Error("no");
      },
    ],
    ["that takes its time", () => new Promise((resolve) => setTimeout(resolve, 2))],
  ])("%s is executed once, however often and however it is asked", async (_, execute) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("execute", "executeSync", "wait"), { minLength: 2, maxLength: 6 }),
        async (asks) => {
          let runs = 0;
          const tool = defineTool({ name: "t", inputSchema: jsonSchema({}), execute: () => (runs++, execute()) });
          const use = tool.use({});
          const outcomes: Promise<unknown>[] = [];
          for (const ask of asks) {
            if (ask === "wait") await Promise.resolve();
            else
              outcomes.push(
                Promise.resolve().then(() => undefined),
                attempt(() => (ask === "execute" ? use.execute() : use.executeSync())),
              );
          }
          const codes = await Promise.all(outcomes);
          const isAsked = asks.some((ask) => ask !== "wait");
          expect(runs).toBe(isAsked ? 1 : 0);
          expect(codes.filter((code) => code === "already_executed")).toHaveLength(
            Math.max(0, asks.filter((ask) => ask !== "wait").length - 1),
          );
        },
      ),
      { numRuns: 30 },
    );
  });
});

async function attempt(ask: () => unknown): Promise<unknown> {
  try {
    await ask();
    return "done";
  } catch (error) {
    return (error as { code?: string }).code;
  }
}
