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
    static now() {
      return "now";
    }
  }
  const decorate = tool({ inputSchema: { type: "object" } }) as (...args: unknown[]) => void;
  const context = { kind: "method", private: false, metadata: undefined };
  decorate(Old.prototype.run, { ...context, name: "run", static: false });
  decorate(Old.now, { ...context, name: "now", static: true });
  const results = [new Old(), Old].map((owner) => toolsOf(owner).map((one) => one.use({}).executeSync()));
  expect(results).toEqual([["ran"], ["now"]]);
});
