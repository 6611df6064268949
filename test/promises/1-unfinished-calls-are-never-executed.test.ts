/**
 * Promise 1: a call that the model did not finish is never executed.
 * The conformance suite cuts every fixture at every byte, `test/endings.test.ts` every wire's arguments at every place;
 * here the streams are random.
 */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { ToolUse, type FinishReason, type ToolChunk } from "../../src/index.ts";
import { TurnReader } from "../../src/stream/turn.ts";
import { bytesOf, input, makeTools, rows, run, syntheticTurn } from "./support.ts";
import { iterate } from "../iterate.ts";

describe.each(rows)("$name", ({ adapter, encode }) => {
  it("executes only what was complete in the whole, and no write of a stream that was cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        syntheticTurn,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (turn, where) => {
          const bytes = bytesOf(turn, encode);
          const { tools, ran } = makeTools();
          const { turn: read } = await run(adapter, iterate([bytes.subarray(0, Math.floor(where * bytes.length))]), {
            tools,
          });
          for (const { name, id, input: value } of ran) {
            const sent = turn.calls.find((call) => call.id === id)!;
            expect(value).toEqual(JSON.parse(sent.argsText));
            if (name === "write") expect(read.error).toBeUndefined();
          }
          for (const call of read.calls) expect(call.outcome).toBeDefined();
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe("under any finish reason", () => {
  const reasons: (FinishReason | undefined)[] = [
    "stop",
    "tool-use",
    "length",
    "content-filter",
    "refusal",
    "error",
    "unknown",
    undefined,
  ];
  it.each(reasons)("%s", (reason) => {
    fc.assert(
      fc.property(
        input,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        fc.constantFrom("off", "syntax", "coerce"),
        (value, where, size, isEnded, repair) => {
          const text = JSON.stringify(value);
          const cut = text.slice(0, 1 + Math.floor(where * (text.length - 1)));
          const { tools } = makeTools();
          for (const name of ["read", "write"]) {
            const reader = new TurnReader("test", tools, { repair: repair as "off" });
            for (let at = 0; at < cut.length; at += size)
              reader.tool({ callIndex: 0, name, argsTextDelta: cut.slice(at, at + size) });
            if (isEnded) reader.tool({ callIndex: 0, done: true });
            if (reason !== undefined) reader.finish(reason, reason === "unknown" ? null : reason);
            reader.end();
            const events = reader.take();
            expect(events.some((event) => event.type === "tool-use")).toBe(false);
            expect(reader.turn.calls.map((call) => call.outcome)).toMatchObject([{ code: "truncated" }]);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it("a write is released by a clean end only", () => {
    const chunk: ToolChunk = { callIndex: 0, name: "write", argsTextDelta: "{}", done: true };
    const released = reasons.filter((reason) => {
      const reader = new TurnReader("test", makeTools().tools);
      reader.tool(chunk);
      if (reason !== undefined) reader.finish(reason, reason);
      reader.end();
      return reader.turn.calls[0]!.outcome instanceof ToolUse;
    });
    expect(released).toEqual(["stop", "tool-use"]);
  });
});
