import { execFileSync } from "node:child_process";
import { isDeepStrictEqual } from "node:util";
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { closedByItself, exceedsDepth, repairJson } from "../../src/json/index.ts";
import { BROKEN, HOPELESS } from "./broken.ts";
import { brokenText, jsonText } from "./support.ts";

describe("repairJson", () => {
  it.each(BROKEN)("mends %s", (_, text, value) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    const outcome = repairJson(text);
    expect(outcome).toMatchObject({ ok: true });
    if (outcome.ok) {
      expect(isDeepStrictEqual(outcome.value, value)).toBe(true);
      expect(isDeepStrictEqual(JSON.parse(outcome.text), value)).toBe(true);
    }
  });

  it.each(HOPELESS)("refuses %s", (_, text) => {
    expect(repairJson(text)).toMatchObject({ ok: false });
  });

  it.each([...BROKEN, ...HOPELESS].map(([name, text]) => [name, text] as const))(
    "never accepts a text cut in %s",
    (_, text) => {
      const halves = text.split("").map((_char, at) => [text.slice(0, at), text.slice(at)] as const);
      const accepted = halves.filter(([cut]) => repairJson(cut).ok);
      // After the closing bracket of the root nothing is missing. That it is the root's is what the list is made for.
      const isWhole = ([cut, rest]: (typeof halves)[number]) =>
        /[}\]]\s*(?:`{0,3}(?:<[^<>]*>)?|<\|?[a-z]*\|?)$/.test(cut) &&
        /^(?:\s*[}\];]|\s*```|\s*\{"a": 2\}|(?:<[|｜/]?)?[a-z_▁｜|>]+|\s)*$/.test(rest);
      expect(accepted.filter((half) => !isWhole(half))).toEqual([]);
    },
  );

  it.each([
    ['{"a": "b', "truncated"],
    ['{"a": 1,', "truncated"],
    ['[{"a": 1}', "truncated"],
    ['"abc', "truncated"],
    ["words", "invalid"],
    ["", "invalid"],
    ["[1, 2, ...]\n", "invalid"],
    ["[1, 2, ...] x", "truncated"],
    ["[[1, 2, ...]", "truncated"],
    ['{"a": ["b" 2 c]}}', "truncated"],
    ['{"a": ["}" 2 c]}', "invalid"],
    ['{"a": ["}" 2 c]', "truncated"],
    ['["" 2 c, "]', "truncated"],
    ['{"pattern": "\\d+"}', "invalid"],
  ])("says of %j that it is %s", (text, reason) => {
    expect(repairJson(text)).toMatchObject({ ok: false, reason });
  });

  it("names the escape that it does not know", () => {
    expect(repairJson('{"path": "C:\\Users"}')).toMatchObject({ message: expect.stringContaining("\\U") });
  });

  it("mends to what is meant, however it is broken, and never with less than the writer closed", () => {
    fc.assert(
      fc.property(brokenText(), ({ text, value }) => {
        const outcome = repairJson(text);
        expect(outcome).toMatchObject({ ok: true });
        expect(outcome.ok && isDeepStrictEqual(outcome.value, value)).toBe(true);
        for (let at = 0; at < text.length; at++) expect(repairJson(text.slice(0, at))).toMatchObject({ ok: false });
      }),
      { numRuns: 500 },
    );
  });

  it("makes no other value of a text that lacks one quote, bracket, comma or colon", () => {
    const words = [
      "a",
      "Oslo",
      "New York",
      "it's",
      'say "hi"',
      "x\ny",
      "a, b",
      "x: y",
      "a // b",
      "{",
      "[1]",
      "5",
      "ls | x",
    ];
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom(...words, 0, -1.5, 120, true, null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "the key"), tie("value"), { minKeys: 1, maxKeys: 3 }),
      ),
    }));
    const text = fc.record({ a: value, b: value }).map((root) => ({ root, text: JSON.stringify(root, null, 1) }));
    fc.assert(
      fc.property(text, fc.nat(), ({ root, text: whole }, pick) => {
        // What stands in a string is no mark, and an escaped quote does not end one.
        const masked = whole.replace(/"(?:[^"\\]|\\.)*"/g, (string) => `"${"x".repeat(string.length - 2)}"`);
        const places = Array.from(masked.matchAll(/["{}[\],:]/g), ({ index }) => index);
        const at = places[pick % places.length]!;
        const outcome = repairJson(whole.slice(0, at) + whole.slice(at + 1));
        if (outcome.ok) expect(outcome.value).toEqual(root);
      }),
      { numRuns: 5000 },
    );
  });

  it("accepts what is JSON already", () => {
    fc.assert(
      fc.property(jsonText(), (text) => {
        fc.pre(/^\s*[{[]/.test(text));
        const outcome = repairJson(text);
        expect(outcome.ok && isDeepStrictEqual(outcome.value, JSON.parse(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("an array", () => {
  it("is never read with less strings than it may have, whatever its quotes are", () => {
    const piece = fc.constantFrom('"', '"', '"', "a", " ", ",", "(", "=");
    const text = fc.array(piece, { maxLength: 14 }).map((pieces) => `[${pieces.join("")}]`);
    fc.assert(
      fc.property(text, (broken) => {
        const outcome = repairJson(broken);
        if (!outcome.ok) return;
        for (const value of outcome.value as unknown[]) expect(value).not.toMatch(/"\s*[,"]/);
      }),
      { numRuns: 20_000, examples: [['["a =""b"]'], ['["x "a"("b" "c"d"]']] },
    );
  });
});

describe("the limits of a repair", () => {
  it("refuse a text longer than maxLength", () => {
    expect(repairJson("{a: 'bc'}", { maxLength: 9 })).toMatchObject({ ok: true });
    expect(repairJson("{a: 'bcd'}", { maxLength: 9 })).toMatchObject({ ok: false, reason: "too_large" });
    expect(repairJson(`['${"x".repeat(1_048_576)}']`)).toMatchObject({ ok: false, reason: "too_large" });
  });

  it.each([
    ["lone quotes", '["' + 'a" b'.repeat(80_000)],
    ["lone quotes, closed", `["${'a" b'.repeat(80_000)}"]`],
    ["line breaks and lone quotes", 'x\n"y'.repeat(80_000)],
    ["line breaks and lone quotes, closed", `["${'x\n"y'.repeat(80_000)}"]`],
    ["commas in cut strings", `[${'"a,"b,'.repeat(80_000)}"]`],
    ["unclosed comments in a string", `["${'a "/*" b '.repeat(80_000)}"]`],
    ["line comments in a string", `["${'"//'.repeat(80_000)}"]`],
    ["quotes before one comment and white space", `{"a": "${' "/*b"/*'.repeat(40_000)}*/${" ".repeat(300_000)}x`],
    ["quotes before one comment and a key", `{"a": "${' "/*b"/*'.repeat(40_000)}*/"${"x".repeat(300_000)}\n":`],
    ["backslashes", `["${"\\".repeat(300_001)}"]`],
    ["concatenated strings", `["a"${'+"a"'.repeat(80_000)}]`],
    ["white space", `[x${" ".repeat(300_000)}`],
    ["digits", `[x, ${"1".repeat(300_000)}`],
    ["white space and control tokens after the root", `{a:1}${" <|call|> ".repeat(50_000)}x`],
  ])("are not even reached by %s", (_, text) => {
    expect(repairJson(text)).toMatchObject({ ok: false });
  });

  it.each([
    ["line breaks", JSON.stringify({ content: "some text\n".repeat(50_000) }).replaceAll("\\n", "\n")],
    ["quotes in strings", `["${' "b" c'.repeat(50_000)}"]`],
    ["quotes in strings, packed", `["${' "b"c'.repeat(50_000)}"]`],
    ["apostrophes", `['${"it's ".repeat(50_000)}']`],
    ["single quotes", `[${"'abc',".repeat(50_000)}'x']`],
    ["bare words", `[${"abc,".repeat(50_000)}x]`],
    ["comments", `[${"1 /*x*/ ,".repeat(50_000)}x]`],
    ["comments, packed", `["a"${'/*"*/'.repeat(50_000)},x]`],
    ["trailing commas", `[${"[1,],".repeat(50_000)}1]`],
    ["missing commas", `[{${'"a":"b" '.repeat(50_000)}}]`],
    ["missing commas between lines", `{${'"a":1\n'.repeat(50_000)}}`],
    ["open brackets in strings", `[${'["a [b"],'.repeat(50_000)}x]`],
    ["control characters", `["${"\u0001".repeat(300_000)}"]`],
    ["needless escapes", `["${"\\'".repeat(150_000)}"]`],
    ["numbers without their zeros", `[${".5,".repeat(80_000)}1.]`],
  ])("allow any number of %s", (_, text) => {
    expect(repairJson(text)).toMatchObject({ ok: true });
  });

  // Two values, or one text without quotes?
  it.each([
    ["numbers without commas", `[${"1 ".repeat(150_000)}]`],
    ["literals and numbers without commas", `[null${"-1 ".repeat(100_000)}]`],
    ["numbers behind an ellipsis", `[...1${"1 ".repeat(150_000)}]`],
  ])("refuse any number of %s", (_, text) => {
    expect(repairJson(text)).toMatchObject({ ok: false, reason: "invalid" });
  });

  it.each(["}", " ", "]\n", "```", "<|call|>"])("read any number of %j after the root", (piece) => {
    const tail = piece.repeat(15e6 / piece.length);
    expect(repairJson(`{a:1}${tail}`)).toMatchObject({ ok: false, reason: "too_large" });
    expect(closedByItself(`{a:1}${tail}`)).toBe(true);
    expect(closedByItself(`{a:1}${tail}x`)).toBe(false);
  });

  it.each([
    ["too_large", '`{"a":[${"[]".repeat(8e6)}]}`'],
    ["truncated", '`{"a":[${"[]".repeat(8e6)}`'],
    ["truncated", '`[{x:${"[".repeat(16e6)}`'],
  ])("keep what is too long from taking many times its memory: %s, %s", (reason, text) => {
    const source = JSON.stringify(new URL("../../src/json/index.ts", import.meta.url).href);
    const program = `import { repairJson } from ${source}; console.log(repairJson(${text}).reason)`;
    // Half as much is plenty. A process that needs more than its heap dies of it.
    const args = ["--max-old-space-size=160", "--input-type=module", "--eval", program];
    expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe(`${reason}\n`);
  });

  it.each(["[", '{"a":', "{a:", "['x',", '{"a" "b" ['])("answer a million of %s, closed or cut", (piece) => {
    const opened = piece.repeat(1e6);
    const closers = [...piece].toReversed().flatMap((char) => (char === "[" ? "]" : char === "{" ? "}" : []));
    const closed = `${opened}1,${closers.join("").repeat(1e6)}`;
    expect(repairJson(opened)).toMatchObject({ ok: false });
    expect(repairJson(opened, { maxLength: 1e8 })).toMatchObject({ ok: false });
    expect(repairJson(closed, { maxLength: 1e8 })).toMatchObject({ ok: false });
  });

  it("refuse what is nested too deep", () => {
    expect(repairJson(`${"[".repeat(128)}1,${"]".repeat(128)}`)).toMatchObject({ ok: true });
    expect(repairJson(`${"[".repeat(129)}1,${"]".repeat(129)}`)).toMatchObject({ ok: false, reason: "too_deep" });
    const deep = `${"[".repeat(1e5)}1,${"]".repeat(1e5)}`;
    expect(repairJson(deep, { maxDepth: 1e6 }).ok).toBe(true);
  });
});

describe("closedByItself", () => {
  it.each(BROKEN)("is true of a text with %s", (_, text) => {
    expect(closedByItself(text)).toBe(true);
  });

  it("is true of JSON objects and arrays, false of all that comes before their end", () => {
    fc.assert(
      fc.property(jsonText(), (spaced) => {
        const text = spaced.trim();
        fc.pre(/^[{[]/.test(text));
        expect(closedByItself(text)).toBe(true);
        for (let at = 0; at < text.length; at++) expect(closedByItself(text.slice(0, at))).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

describe("exceedsDepth", () => {
  it.each([
    ["", 1, false],
    ["[]", 1, false],
    ["[[]]", 1, true],
    ['{"a":[1,{}]}', 3, false],
    ['{"a":[1,{}]}', 2, true],
    ["[[],[],[]]", 2, false],
    ["[{},{},{}]", 2, false],
    ['["[[[[", "\\"[[[[", "\\\\", "[[["]', 1, false],
    ['["\\\\",[["x"]]]', 2, true],
    ['["[[[[', 1, false],
  ])("of %j, %d is %s", (text, max, expected) => {
    expect(exceedsDepth(text, max)).toBe(expected);
  });

  it.each(["[", '{"a":', '["\\\\",'])("ends at the limit in a million of %s", (piece) => {
    expect(exceedsDepth(piece.repeat(1e6), 128)).toBe(true);
    expect(exceedsDepth(piece.repeat(1e6), 2e6)).toBe(false);
  });

  it("reads strings of backslashes and quotes in linear time", () => {
    expect(exceedsDepth(`["${"\\\\".repeat(1e6)}"]`, 1)).toBe(false);
    expect(exceedsDepth(`["${'\\"'.repeat(1e6)}"]`, 1)).toBe(false);
  });
});
