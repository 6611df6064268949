import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { createSortedKeys } from "../../src/store/sorted-keys.ts";

describe("sorted keys", () => {
  it("are those of a sorted set, whatever is added and deleted", () => {
    const change = fc.record({ key: fc.string({ maxLength: 2 }), isAdded: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), fc.string({ maxLength: 2 }), (changes, from) => {
        const keys = createSortedKeys();
        const model = new Set<string>();
        for (const { key, isAdded } of changes) {
          keys[isAdded ? "add" : "delete"](key);
          model[isAdded ? "add" : "delete"](key);
        }
        expect([...keys.from(from)]).toEqual([...model].filter((key) => key >= from).toSorted());
      }),
    );
  });

  it.each([
    ["in their order", (n: number) => n],
    ["in the reverse order", (n: number) => 4_999 - n],
    ["from both ends", (n: number) => (n % 2 === 0 ? n / 2 : 4_999 - (n - 1) / 2)],
    ["mixed", (n: number) => (n * 1_867) % 5_000],
  ])("more than fit into one block, added %s", (_, nth) => {
    const keys = createSortedKeys();
    const keyOf = (n: number) => String(n).padStart(6, "0");
    const all = Array.from({ length: 5_000 }, (__, n) => keyOf(n));
    for (let n = 0; n < 5_000; n++) keys.add(keyOf(nth(n)));
    expect([...keys.from("")]).toEqual(all);
    expect([...keys.from(keyOf(2_600))]).toEqual(all.slice(2_600));

    for (let n = 0; n < 5_000; n++) if (n % 100 !== 0) keys.delete(keyOf(nth(n)));
    const rest = all.filter((__, n) => Array.from({ length: 50 }, (___, h) => nth(h * 100)).includes(n));
    expect([...keys.from("")]).toEqual(rest);
  });

  it("where whole blocks were emptied, and filled again", () => {
    const keys = createSortedKeys();
    const all = Array.from({ length: 5_000 }, (_, n) => String(n).padStart(6, "0"));
    for (const key of all) keys.add(key);
    const gone = all.slice(500, 4_500);
    for (const key of gone) keys.delete(key);
    const rest = [...all.slice(0, 500), ...all.slice(4_500)];
    for (const key of all) expect([...keys.from(key)][0]).toBe(rest.find((one) => one >= key));
    for (const key of gone.toReversed()) keys.add(key);
    expect([...keys.from("")]).toEqual(all);
  });
});
