/** Promise 4: a bad call never harms its siblings, and never ends the stream. */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { ToolCallError, ToolUse } from "../../src/index.ts";
import { bytesOf, input, makeTools, rows, run } from "./support.ts";
import { iterate } from "../iterate.ts";

/** What can be wrong with a call on every wire that sends text. */
const badText = fc.oneof(
  fc.constantFrom(
    "[1]",
    "5",
    "true",
    '"text"',
    "}",
    "{]",
    '{"a":1}}',
    "nonsense",
    "{a:",
    '{"a":"',
    `{"a":${"[".repeat(200)}`,
    '{"n":1e999}',
    '{"n":12345678901234567890}',
    '{"a":1}{"b":2}',
  ),
  fc.string({ minLength: 1 }).filter((text) => !isGood(text)),
);
const good = fc.record({
  name: fc.constantFrom("read", "write"),
  argsText: input.map((value) => JSON.stringify(value)),
  isGood: fc.constant(true),
});
const bad = fc.record({ name: fc.constantFrom("read", "write"), argsText: badText, isGood: fc.constant(false) });
const unknown = fc.record({
  name: fc.constantFrom("reed", "__proto__", "constructor"),
  argsText: fc.constant("{}"),
  isGood: fc.constant(false),
});

/** Whether it stands for an object: by itself, or because nothing and null do. */
function isGood(text: string): boolean {
  if (["", "null", '""', '"null"'].includes(text.trim())) return true;
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

describe.each(rows)("$name", ({ name: wire, adapter, encode }) => {
  // Gemini's calls are objects: what is no object cannot be sent.
  const anyBad = wire === "google" ? unknown : fc.oneof(bad, unknown);

  it("the good calls run as if the bad ones were not there, and each bad one is told", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(good, anyBad), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        async (calls, interleaved, deltaLength) => {
          const { tools, ran } = makeTools();
          const list = calls.map(({ name, argsText }, i) => ({ id: `call_${i}`, name, argsText }));
          const { turn, events } = await run(
            adapter,
            iterate([bytesOf({ calls: list, interleaved, deltaLength }, encode)]),
            { tools, repair: "off" },
          );
          expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-use" });
          expect(turn.calls.map(({ id, outcome }) => [id, outcome instanceof ToolUse])).toEqual(
            calls.map((call, i) => [`call_${i}`, call.isGood]),
          );
          const wanted = calls.flatMap((call, i) =>
            call.isGood ? [{ id: `call_${i}`, name: call.name, input: JSON.parse(call.argsText) }] : [],
          );
          expect(ran.toSorted((a, b) => a.id!.localeCompare(b.id!))).toEqual(wanted);
          const told = events.flatMap((event) => (event.type === "tool-error" ? [event.error.id] : []));
          expect(told.toSorted()).toEqual(calls.flatMap((call, i) => (call.isGood ? [] : [`call_${i}`])));
          for (const { outcome } of turn.calls)
            if (outcome instanceof ToolCallError) expect(outcome.message).toMatch(/^.{10,}\.$/s);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("a handler that throws fails its own call", async () => {
    const { tools } = makeTools();
    const failing = {
      ...tools[0]!,
      execute: () => {
        throw new Error("no network");
      },
    };
    const calls = ["read", "write", "read"].map((name, i) => ({ id: `call_${i}`, name, argsText: "{}" }));
    const { turn } = await run(adapter, iterate([bytesOf({ calls }, encode)]), { tools: [failing, tools[1]!] });
    expect(turn.calls.map((call) => (call.outcome as ToolUse).state)).toEqual(["failed", "done", "failed"]);
    expect(turn.error).toBeUndefined();
    expect(adapter.toolResults(turn).length).toBeGreaterThan(0);
  });
});
