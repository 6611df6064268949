import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/json/index.ts";

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

  // Minutes, not milliseconds, when the search for a key with an escape began at each escape anew.
  it("takes time in proportion to the text, also where every character is escaped", () => {
    const value = { content: "\n".repeat(4_000_000) };
    expect(parseJson(JSON.stringify(value))).toStrictEqual(value);
  });
});
