import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { wellFormed, wellFormedJson, wellFormedTurn } from "../../src/json/index.ts";

describe("wellFormed", () => {
  it.each<[unknown, unknown]>([
    ["well \ud83d", "well \ufffd"],
    ["\ude00\ud83d", "\ufffd\ufffd"],
    ["\ud83d\ude00", "\ud83d\ude00"],
    [undefined, undefined],
    [{ "\udc00": ["a\ud800b", 1, null] }, { "\ufffd": ["a\ufffdb", 1, null] }],
    // What only looks like an escape, and a whole pair that is one.
    [
      ["\\ud83d", "\\\\ud83d\ud83d", "\\\ud83d"],
      ["\\ud83d", "\\\\ud83d\ufffd", "\\\ufffd"],
    ],
    [
      { json: '{"a":"\\ud83d\\ude00"}', cut: "\ud83d" },
      { json: '{"a":"\\ud83d\\ude00"}', cut: "\ufffd" },
    ],
  ])("of %j is %j", (value, expected) => {
    expect(wellFormed(value)).toEqual(expected);
    expect(wellFormedTurn(value)).toEqual(expected);
  });

  it("gives what has no half characters as it is", () => {
    const value = { text: '\ud83d\ude00 \\ud83d \u0000 "\n', list: [{}] };
    expect(wellFormed(value)).toBe(value);
    expect(wellFormedTurn(value)).toEqual(value);
  });

  it("mends every string, and nothing else", () => {
    const text = fc.string({
      unit: fc.constantFrom("\ud83d", "\ude00", "\\", "u", "d", '"', "\n", "\u0001", "8", "a"),
    });
    fc.assert(
      fc.property(fc.array(fc.record({ text, list: fc.array(text) })), (value) => {
        const expected = value.map(({ text: one, list }) => ({
          text: one.toWellFormed(),
          list: list.map((item) => item.toWellFormed()),
        }));
        expect(wellFormed(value)).toEqual(expected);
        expect(wellFormedTurn(value)).toEqual(expected);
      }),
    );
  });
});

describe("wellFormedJson", () => {
  it.each([
    ["a half that is escaped", String.raw`{"a":"x\ud83d"}`, '{"a":"x\ufffd"}'],
    ["in capitals", String.raw`{"a":"\uDE00\uD83D-"}`, '{"a":"\ufffd\ufffd-"}'],
    ["a half that is not", '{"a":"x\ud83d"}', '{"a":"x\ufffd"}'],
    ["two halves in the wrong order", String.raw`"\ude00\ud83d"`, '"\ufffd\ufffd"'],
    [
      "a half before a character that is escaped",
      String.raw`"\ud83d\ud83d\ude00"`,
      String.raw`"\ufffd\ud83d\ude00"`.replace("\\ufffd", "\ufffd"),
    ],
    ["an escaped character", String.raw`"\ud83d\ude00\uD83D\uDE00"`, String.raw`"\ud83d\ude00\uD83D\uDE00"`],
    // U+D55C is a whole character.
    ["Korean", String.raw`"\ud55c\uD7A3"`, String.raw`"\ud55c\uD7A3"`],
    ["what only looks like an escape", String.raw`"\\ud83d"`, String.raw`"\\ud83d"`],
    ["a half behind a backslash", String.raw`"\\\ud83d"`, String.raw`"\\`.concat('\ufffd"')],
  ])("of %s", (_, json, expected) => {
    expect(wellFormedJson(json)).toBe(expected);
    expect(JSON.parse(wellFormedJson(json))).toEqual(wellFormed(JSON.parse(json)));
  });
});
