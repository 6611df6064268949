import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { createJsonParser, parseJson } from "../../src/json/index.ts";

describe("parseJson", () => {
  // https://github.com/nodejs/node/issues/63785
  it("reads keys with escapes right, whatever was parsed before", () => {
    JSON.parse(String.raw`{"h":[],"\\":0}`);
    parseJson(String.raw`{"h":[],"\\":0}`);
    expect(Object.keys(parseJson(String.raw`{"h":1,"\"":2}`) as object)).toEqual(["h", '"']);
    expect(Object.keys(parseJson(String.raw`{"h":1, "\n" : 2}`) as object)).toEqual(["h", "\n"]);
    expect(parseJson(String.raw`{"h":"a\"b","c":[{"\u0061":"\\"}]}`)).toEqual({ h: 'a"b', c: [{ a: "\\" }] });
  });

  it.each([
    String.raw`{"a":"x\\","b":1}`,
    String.raw`["\"",":"]`,
    String.raw`{"a":"\":1"}`,
    String.raw`"\\"`,
    "12",
    "null",
    '{"__proto__":{"a":1},"a":1,"a":2}',
    String.raw`{"__proto__":{"\n":1}}`,
  ])("reads %s as JSON.parse does", (text) => {
    expect(parseJson(text)).toStrictEqual(JSON.parse(text));
  });

  it.each(["", "{", String.raw`{"\n":`, String.raw`{"\n":1}}`, String.raw`{"\x":1}`, "\\", String.raw`"\ `, "[1,]"])(
    "refuses %s as JSON.parse does",
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it("finds every key with an escape, in JSON within JSON too", () => {
    const word = fc.string({ unit: fc.constantFrom('"', "\\", ":", "{", ",", " ", "\n", "a"), maxLength: 6 });
    let made = 0;
    const tree = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: "small" }, word, tie("object"), tie("text")),
      // The engine is wrong only where it has seen one key so far: behind a new name.
      object: fc.tuple(word, tie("value")).map(([key, value]) => ({ [`h${made++}`]: 1, [key]: value })),
      text: tie("value").map((value) => JSON.stringify(value, null, 1)),
    }));
    // What the engine takes a key for, where it has seen that in the same place: the key as it is written, cut to its length.
    const withOtherKeys = (value: unknown): unknown => {
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value);
      return Object.fromEntries(
        entries.map(([key, child]) => [JSON.stringify(key).slice(1, 1 + key.length), withOtherKeys(child)]),
      );
    };
    fc.assert(
      fc.property(tree.value, (value) => {
        const text = JSON.stringify(value);
        JSON.parse(JSON.stringify(withOtherKeys(value)));
        const parser = createJsonParser();
        parser.feed(text);
        expect(parseJson(text)).toStrictEqual(parser.value);
      }),
      { numRuns: 2000 },
    );
  });

  // Minutes, not milliseconds, when the search for a key with an escape began at each escape anew.
  it("takes time in proportion to the text, also where every character is escaped", () => {
    const value = { content: "\n".repeat(4_000_000) };
    expect(parseJson(JSON.stringify(value))).toStrictEqual(value);
  });
});
