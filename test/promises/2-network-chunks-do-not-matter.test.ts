/**
 * Promise 2: the same bytes give the same calls, however they are split into network chunks.
 * The conformance suite splits every fixture at every byte; here the streams are random.
 */
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { plainEvent } from "../fixtures.ts";
import { bytesOf, makeTools, rows, run, syntheticTurn } from "./support.ts";
import { iterate } from "../iterate.ts";

describe.each(rows)("$name", ({ adapter, encode }) => {
  it("gives the same events for any split, and the calls that were sent", async () => {
    await fc.assert(
      fc.asyncProperty(
        syntheticTurn,
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }),
        async (turn, sizes) => {
          const bytes = bytesOf(turn, encode);
          const pieces: Uint8Array[] = [];
          for (let at = 0, n = 0; at < bytes.length; at += sizes[n++ % sizes.length]!)
            pieces.push(bytes.subarray(at, at + sizes[n % sizes.length]!));
          const [whole, split] = await Promise.all(
            [[bytes], pieces].map((list) => run(adapter, iterate(list), { tools: makeTools().tools })),
          );
          expect(JSON.stringify(split!.events.map(plainEvent))).toBe(JSON.stringify(whole!.events.map(plainEvent)));
          expect(split!.turn.calls.map(({ id, name, input }) => ({ id, name, input }))).toEqual(
            turn.calls.map(({ id, name, argsText }) => ({ id, name, input: JSON.parse(argsText) })),
          );
        },
      ),
      { numRuns: 100 },
    );
  });
});
