import { describe, expect, it } from "vitest";
import { parseJsonPath } from "../../adapters/google/json-path.ts";

describe("parseJsonPath", () => {
  it.each<[string, (string | number)[]]>([
    ["$", []],
    ["$.city", ["city"]],
    ["$.a.b[0].c", ["a", "b", 0, "c"]],
    ["$['x y'][\"q\"][10]", ["x y", "q", 10]],
    ["$.a.b[0]['x y'][\"q\"]", ["a", "b", 0, "x y", "q"]],
    ["$ .a [ 0 ] [ 'b' ]", ["a", 0, "b"]],
    ["$.größe.名前.🌦", ["größe", "名前", "🌦"]],
    ["$.unit-price.$ref.2nd", ["unit-price", "$ref", "2nd"]],
    [String.raw`$['it\'s']["say \"hi\""]`, ["it's", 'say "hi"']],
    [String.raw`$['a"b']['\u00e9\n\\\ud83d\ude00']`, ['a"b', "é\n\\😀"]],
    ["$['']", [""]],
    ["$['[0].a']", ["[0].a"]],
    ["$.__proto__['constructor']", ["__proto__", "constructor"]],
    ["$[999999999]", [999999999]],
  ])("reads %s", (text, path) => {
    expect(parseJsonPath(text)).toEqual(path);
  });

  it.each([
    "",
    "a.b",
    "@.a",
    "$.",
    "$..a",
    "$.*",
    "$[*]",
    "$[-1]",
    "$[01]",
    "$[0",
    "$[0:2]",
    "$[0,1]",
    "$[?@.a]",
    "$['a",
    "$['a]",
    String.raw`$['a\']`,
    String.raw`$['\x']`,
    "$[]",
    "$a",
    "$.a b",
    `$.${"a".repeat(9000)}`,
    `$['${"\\".repeat(8000)}']${" ".repeat(500)}`,
  ])("refuses %s", (text) => {
    expect(parseJsonPath(text)).toBeUndefined();
  });
});
