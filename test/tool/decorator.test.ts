import { expect, it } from "vitest";
import { toolsOf, tool } from "../../src/tool/decorator.ts";
import { decoratorCases } from "./decorator-cases.ts";
// @ts-expect-error: the query is for the vitest plugin, which compiles the same file with legacy decorators
import { decoratorCases as legacyCases } from "./decorator-cases.ts?legacy";

decoratorCases("standard");
legacyCases("legacy");

it("makes Symbol.metadata known, the one that compilers fall back to", () => {
  expect((Symbol as { metadata?: symbol }).metadata).toBe(Symbol.for("Symbol.metadata"));
});

it("does without metadata, which older compilers do not give", () => {
  class Old {
    run() {
      return "ran";
    }
  }
  const decorate = tool({ inputSchema: { type: "object" } }) as (...args: unknown[]) => void;
  decorate(Old.prototype.run, { kind: "method", name: "run", static: false, private: false, metadata: undefined });
  expect(toolsOf(new Old()).map((one) => one.use({}).executeSync())).toEqual(["ran"]);
});
