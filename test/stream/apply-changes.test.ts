import { expect, it, vi } from "vitest";
import { applyChanges, createJsonParser, type JsonChange } from "../../src/index.ts";

/** As a page gets them. */
function sent(changes: readonly JsonChange[]): JsonChange[] {
  return JSON.parse(JSON.stringify(changes)) as JsonChange[];
}

it("makes the live input again from what was sent of it, wherever the text was split", () => {
  const text = '{"to":"Ada","lines":[{"text":"a \\"b\\""},[null,1.5]],"__proto__":{"x":{"y":"z"}},"":{}}';
  const parser = createJsonParser();
  let input: unknown;
  for (const character of text) {
    parser.feed(character);
    input = applyChanges(input, sent(parser.changes()));
    expect(JSON.stringify(input)).toBe(JSON.stringify(parser.value));
  }
  expect(JSON.stringify(input)).toBe(JSON.stringify(JSON.parse(text)));
  expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
});

it("leaves the changes as they are, for those who join later", () => {
  const all = [
    { path: [], value: { list: ["a"] }, done: false },
    { path: ["list", 0], append: "b", done: true },
  ];
  const before = structuredClone(all);
  const first = applyChanges(undefined, all);
  expect(applyChanges(undefined, all)).toEqual(first);
  expect(first).toEqual({ list: ["ab"] });
  expect(all).toEqual(before);
});

it("returns what changed as new objects, and what did not as it was, for libraries that compare them", () => {
  const text = '{"to":{"name":"Ada"},"__proto__":{"x":[1]},"lines":[{"text":"a"},{"text":"b","tags":["c",[2]]}]}';
  const parser = createJsonParser();
  let input: unknown;
  for (const character of text) {
    parser.feed(character);
    const changes = sent(parser.changes());
    const [before, copy] = [input, structuredClone(input)];
    deepFreeze(before);
    // Updaters of React run twice in its strict mode.
    input = applyChanges(before, changes);
    expect(applyChanges(before, changes)).toEqual(input);
    expect(before).toEqual(copy);
    if (changes.some((change) => "value" in change || "append" in change)) expect(input).not.toBe(before);
    else expect(input).toBe(before);
  }
  expect(JSON.stringify(input)).toBe(JSON.stringify(JSON.parse(text)));

  const { to, lines } = input as { to: object; lines: object[] };
  const changed = applyChanges(input, [{ path: ["lines", 1, "text"], append: "!" }]) as typeof input & object;
  expect(changed).toMatchObject({ to: { name: "Ada" }, lines: [{ text: "a" }, { text: "b!" }] });
  expect((changed as { to: object }).to).toBe(to);
  const after = (changed as { lines: object[] }).lines;
  expect([after === lines, after[0] === lines[0], after[1] === lines[1]]).toEqual([false, true, false]);
});

it("copies what grows once for all of the changes that came together", () => {
  const list = Array.from({ length: 20_000 }, (_, index) => index);
  const changes = list.map((value) => ({ path: ["list", value], value, done: true }));
  const copies = vi.spyOn(Array.prototype, "slice");
  expect(applyChanges({ list: [] }, changes)).toEqual({ list });
  expect(copies).toHaveBeenCalledTimes(1);
  copies.mockRestore();
});

it("refuses changes that do not follow on those before", () => {
  expect(() => applyChanges({ a: "text" }, [{ path: ["a", "b"], value: 1 }])).toThrow(RangeError);
});

function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
}
