import { expect, it } from "vitest";
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

it("grows the same object", () => {
  const input = applyChanges(undefined, [{ path: [], value: {} }]);
  expect(applyChanges(input, [{ path: ["a"], value: 1 }])).toBe(input);
});

it("refuses changes that do not follow on those before", () => {
  expect(() => applyChanges({ a: "text" }, [{ path: ["a", "b"], value: 1 }])).toThrow(RangeError);
});
