/** Promise 7: every call gets exactly one result before the next request. */
import { describe, expect, it } from "vitest";
import type { Adapter, ToolUse, Turn } from "../../src/index.ts";
import { fixtureNames, loadFixture, readPieces } from "../fixtures.ts";
import { seeded } from "../seeded.ts";
import { bytesOf, callsIn, makeTools, resultsIn, rows, run } from "./support.ts";
import { iterate } from "../iterate.ts";

function expectAnswered(adapter: Adapter, turn: Turn, where: string): void {
  expect(resultsIn(adapter.toolResults(turn)), where).toEqual(callsIn(adapter.assistantMessage(turn)));
}

describe.each(rows)("$name", ({ name: wire, adapter, encode }) => {
  // A server function's call and its result stand in the answer itself, side by side.
  const names = fixtureNames(wire).filter((name) => !/^server-(function|executed)$/.test(name));

  it.each(names)("%s: the calls that go back are the calls that are answered, in their order", async (name) => {
    const { bytes, tools } = loadFixture(wire, name);
    for (const execute of [true, false]) {
      const { turn } = execute
        ? await run(adapter, iterate([bytes]), { tools })
        : await readPieces(adapter, [bytes], tools);
      expectAnswered(adapter, turn, `executed: ${execute}`);
    }
    const random = seeded(bytes.length);
    for (let n = 0; n < 30; n++) {
      const at = Math.floor(random() * bytes.length);
      expectAnswered(adapter, (await run(adapter, iterate([bytes.subarray(0, at)]), { tools })).turn, `cut at ${at}`);
    }
  });

  it("also when there was one call too many, an abort, or a consumer that had enough", async () => {
    const { tools } = makeTools();
    const calls = Array.from({ length: 5 }, (_, i) => ({
      id: `call_${i}`,
      name: i % 2 === 0 ? "read" : "write",
      argsText: '{"a":1}',
    }));
    const bytes = bytesOf({ calls }, encode);
    expectAnswered(
      adapter,
      (await run(adapter, iterate([bytes]), { tools, limits: { maxCalls: 3 } })).turn,
      "too many",
    );
    const abort = new AbortController();
    const stream = adapter.read(iterate(Array.from(bytes, (byte) => Uint8Array.of(byte))), {
      tools,
      signal: abort.signal,
    });
    for await (const event of stream) if (event.type === "tool-use") abort.abort();
    expectAnswered(adapter, stream.turn, "aborted");
    const broken = adapter.read(iterate(Array.from(bytes, (byte) => Uint8Array.of(byte))), { tools });
    for await (const event of broken) if (event.type === "tool-use") break;
    expectAnswered(adapter, broken.turn, "break");
  });

  it("under an id of its own, although the provider gives one id to several calls", async () => {
    const { tools } = makeTools();
    const calls = ["read", "write", "read"].map((name, n) => ({ id: "call_1", name, argsText: `{"n":${n}}` }));
    const { turn } = await run(adapter, iterate([bytesOf({ calls }, encode)]), { tools });
    expectAnswered(adapter, turn, "one id");
    expect(new Set(resultsIn(adapter.toolResults(turn))).size).toBe(3);
  });

  it("and not before the calls have ended", async () => {
    const slow = Promise.withResolvers<void>();
    const { tools } = makeTools();
    const calls = [{ id: "a", name: "write", argsText: "{}" }];
    const bytewise = Array.from(bytesOf({ calls }, encode), (byte) => Uint8Array.of(byte));
    const stream = adapter.read(iterate(bytewise), { tools: [{ ...tools[1]!, execute: () => slow.promise }] });
    for await (const event of stream) {
      // Gemini's calls come whole: none is open.
      if (event.type !== "tool-input-start" || event.call.outcome !== undefined) continue;
      expect(() => adapter.toolResults(stream.turn)).toThrow(/has not ended/);
    }
    const done = (stream.turn.calls[0]!.outcome as ToolUse).execute();
    expect(() => adapter.toolResults(stream.turn)).toThrow(/running/);
    slow.resolve();
    await done;
    expect(resultsIn(adapter.toolResults(stream.turn))).toEqual(["a"]);
  });
});
