import { isDeepStrictEqual } from "node:util";
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import type { ArgumentsOutcome } from "../../src/stream/arguments-outcome.ts";
import { Arguments } from "../../src/stream/arguments.ts";
import type { PathPatch } from "../../src/stream/chunk.ts";
import { resolveLimits, type Limits } from "../../src/stream/limits.ts";
import { applyChanges } from "../../src/stream/index.ts";
import { createFollower } from "./replay-changes.ts";

type Step = string | { kv: Record<string, unknown> } | { patch: PathPatch[] };

function read(steps: readonly Step[], limits?: Partial<Limits>): Arguments {
  const args = new Arguments(resolveLimits(limits));
  for (const step of steps) take(args, step);
  return args;
}

function take(args: Arguments, step: Step): void {
  if (typeof step === "string") args.append(step);
  else if ("kv" in step) args.merge(step.kv);
  else args.patch(step.patch);
}

function valueOf(outcome: ArgumentsOutcome): unknown {
  return outcome.ok ? outcome.value : { code: outcome.code };
}

const TRUNCATED = { code: "truncated" };
const long = JSON.stringify({ content: "x".repeat(40), list: [1, 2, { a: null }] });
const halves = [long.slice(0, 20), long.slice(20)];
/** `JSON.stringify` runs out of stack where keys are numbers. */
const deepIndexes = `${'{"1":'.repeat(100_000)}1${"}".repeat(100_000)}`;

describe("what the pieces come to", () => {
  it.each<[title: string, steps: Step[], value: unknown, repairs: string[]]>([
    ["one piece", ['{"a":1}'], { a: 1 }, []],
    ["many pieces", [...'{"a":"{}{"}'], { a: "{}{" }, []],
    ["white space around", [" \n", "{ ", "}", " \n"], {}, []],
    ["nothing", [], {}, ["empty"]],
    ["white space only", [" ", "\n"], {}, ["empty"]],
    ["null", ["null"], {}, ["empty"]],
    ['"null"', ['"nu', 'll"'], {}, ["empty"]],
    ["an empty string", ['""'], {}, ["empty"]],
    ["an empty list", ["[", " ]"], {}, ["empty"]],
    ["a placeholder, then the arguments", ["{}", '{"a"', ":1}"], { a: 1 }, ["placeholder"]],
    ["a placeholder in pieces", ["{", "}", '{"a":1}'], { a: 1 }, ["placeholder"]],
    ["a placeholder and nothing else", ["{}"], {}, []],
    ["a placeholder twice is a copy", ["{}", "{}"], {}, ["resend"]],
    ["a whole copy at the end", [...halves, long], JSON.parse(long), ["resend"]],
    ["many copies", [long, long, long, long], JSON.parse(long), ["resend"]],
    [
      "a copy that is written with other spaces",
      [...halves, JSON.stringify(JSON.parse(long), null, 2)],
      JSON.parse(long),
      ["resend"],
    ],
    ["a copy in pieces", [...halves, ...halves], JSON.parse(long), ["resend"]],
    ["copies in one piece", [long + long + long], JSON.parse(long), ["resend"]],
    ["a copy, encoded once more", [...halves, JSON.stringify(long)], JSON.parse(long), ["resend"]],
    ["other arguments, encoded once more", ['{"a":1}', JSON.stringify('{"a":2}')], TRUNCATED, []],
    ["snapshots", ['{"a"', '{"a":"b', '{"a":"bc"}'], { a: "bc" }, ["snapshot"]],
    ["snapshots, the last one said again", ['{"a"', '{"a":"b', '{"a":"bc"}', '{"a":"bc"}'], { a: "bc" }, ["snapshot"]],
    ["two snapshots only", ['{"a"', '{"a":1}'], { a: 1 }, ["snapshot"]],
    ["snapshots of which one is the same as before", ['{"a"', '{"a":', '{"a":', '{"a":1}'], { a: 1 }, ["snapshot"]],
    [
      "snapshots of which the first could be pieces",
      ['{"a":', '{"a":{', '{"a":{"b":', '{"a":{"b":1}}'],
      { a: { b: 1 } },
      ["snapshot"],
    ],
    ["a bracket twice, which is no snapshot", ["{", "{", '"a":1}'], { code: "invalid_json" }, ["snapshot"]],
    ["snapshots, and then a piece", ['{"a":"b', '{"a":"bc', 'd"}'], { code: "invalid_json" }, ["snapshot"]],
    ["what looks like a snapshot and is not", ['{"a":', '{"a":', '{"a":', "1}}}"], { a: { a: { a: 1 } } }, []],
    ["the same, cut: not what the last piece would be", ['{"a":', '{"a":', '{"a":1}'], TRUNCATED, []],
    ["the same, cut after two", ['{"a":', '{"a":1}'], TRUNCATED, []],
    ["an object", [{ kv: { a: { b: 1 } } }], { a: { b: 1 } }, []],
    // https://github.com/unslothai/unsloth/pull/10275
    ["an empty object, then the arguments", [{ kv: {} }, '{"a"', ":1}"], { a: 1 }, ["placeholder"]],
    [
      "an empty object, then the arguments on a line of their own",
      [{ kv: {} }, "\n", '{"a":1}'],
      { a: 1 },
      ["placeholder"],
    ],
    ["an object, then a line break", [{ kv: { a: 1 } }, "\n"], { a: 1 }, []],
    ["an empty object, then what is no object", [{ kv: {} }, "1"], { code: "invalid_json" }, []],
    ["an object in two parts", [{ kv: { a: 1, b: 1 } }, { kv: { b: 2, c: 3 } }], { a: 1, b: 2, c: 3 }, []],
    [
      "a bracket twice, and then an object in place of that",
      ["{", "{", '"a":1}', { kv: { a: 1 } }],
      { a: 1 },
      ["snapshot", "object"],
    ],
    ["an object in place of text", ['{"a":', { kv: { a: 2 } }], { a: 2 }, ["object"]],
    ["an object, then the same as text", [{ kv: { a: 2 } }, '{"a":2}'], { a: 2 }, []],
    ["an object, then other text", [{ kv: { a: 2 } }, '{"a":3}'], { code: "invalid_json" }, []],
    ["broken syntax", ["{a: 'b',}"], { a: "b" }, ["syntax"]],
    ["an array", ["[1]"], [1], []],
    ["a number", ["5"], 5, []],
    [
      "changes at paths",
      [
        {
          patch: [
            { path: ["a", 0, "b"], value: 1 },
            { path: ["s"], append: "x" },
          ],
        },
        { patch: [{ path: ["s"], append: "y", done: true }] },
      ],
      { a: [{ b: 1 }], s: "xy" },
      [],
    ],
    ["a string at a path that goes on", [{ patch: [{ path: ["s"], append: "x" }] }], TRUNCATED, []],
    ["one whose path came once more", [{ patch: [{ path: ["s"], append: "x" }, { path: ["s"] }] }], TRUNCATED, []],
    [
      "items that are filled in another order",
      [
        {
          patch: [
            { path: ["list", 1, "n"], value: 1 },
            { path: ["list", 0, "n"], value: 0 },
          ],
        },
      ],
      { list: [{ n: 0 }, { n: 1 }] },
      [],
    ],
    [
      "one that is done, said alone",
      [{ patch: [{ path: ["s"], append: "xy" }] }, { patch: [{ path: ["s"], done: true }] }],
      { s: "xy" },
      [],
    ],
    [
      "one that is done and goes on again",
      [
        {
          patch: [
            { path: ["s"], append: "x" },
            { path: ["s"], done: true },
            { path: ["s"], append: "y" },
          ],
        },
      ],
      TRUNCATED,
      [],
    ],
    [
      "one of two that is done",
      [
        {
          patch: [
            { path: ["s"], append: "x" },
            { path: ["t"], append: "y" },
            { path: ["s"], done: true },
          ],
        },
      ],
      TRUNCATED,
      [],
    ],
    [
      "the whole string in place of its beginning",
      [
        {
          patch: [
            { path: ["s"], append: "x" },
            { path: ["s"], value: "xy", done: true },
          ],
        },
      ],
      { s: "xy" },
      [],
    ],
    [
      "a number in place of the beginning of a string",
      [
        {
          patch: [
            { path: ["s"], append: "x" },
            { path: ["s"], value: 5 },
          ],
        },
      ],
      { s: 5 },
      [],
    ],
    [
      "an object with what a string has begun",
      [{ patch: [{ path: ["s"], append: "x" }] }, { kv: { s: "xy" } }],
      { s: "xy" },
      [],
    ],
    [
      "done, where a value is",
      [
        {
          patch: [
            { path: ["a", "b"], value: [1] },
            { path: ["a", "b"], done: true },
            { path: ["a"], done: true },
            { path: [], done: true },
          ],
        },
      ],
      { a: { b: [1] } },
      [],
    ],
    ["done, where nothing is", [{ patch: [{ path: ["a", 5, "b"], done: true }] }], {}, []],
    [
      "a path and nothing else",
      [{ patch: [{ path: ["a"], value: 1 }, { path: ["a"] }, { path: ["b"], value: undefined }] }],
      { a: 1 },
      [],
    ],
    ["cut in a string", ['{"a":"b'], TRUNCATED, []],
    ["cut between pairs", ['{"a":1,'], TRUNCATED, []],
    ["cut before the last bracket", ['{"a":{"b":1}'], TRUNCATED, []],
    ["cut in a copy", ['{"a":1}', '{"a"'], TRUNCATED, []],
    ["two different objects", ['{"a":1}', '{"a":2}'], { code: "invalid_json" }, []],
    ["no JSON at all", ["hello"], { code: "invalid_json" }, []],
  ])("%s", (_, steps, value, repairs) => {
    const args = read(steps);
    expect(valueOf(args.finish("syntax"))).toEqual(value);
    expect(args.repairs.map((repair) => repair.kind)).toEqual(repairs);
  });

  it("of policy off mends no syntax, and takes copies and placeholders as before", () => {
    expect(read(["{a:1}"]).finish("off")).toMatchObject({ ok: false, code: "invalid_json" });
    expect(read(["{}", '{"a":1}']).finish("off")).toEqual({ ok: true, value: { a: 1 } });
  });

  it("encoded twice is a string, and an object where types may be mended", () => {
    const twice = JSON.stringify('{"a":1}');
    expect(read([twice]).finish("syntax")).toEqual({ ok: true, value: '{"a":1}' });
    const mended = read([twice]);
    expect(mended.finish("coerce")).toEqual({ ok: true, value: { a: 1 } });
    expect(mended.repairs).toEqual([{ kind: "coerce", path: [], before: '{"a":1}', after: { a: 1 } }]);
  });

  it("keeps the text of the arguments without the copies", () => {
    expect(read(["{}", '{"a":', "1}"]).text).toBe('{"a":1}');
    expect(read([...halves, long]).text).toBe(long);
    expect(read(['{"a"', '{"a":1', '{"a":1}']).text).toBe('{"a":1}');
    const copied = read([...halves, ...halves]);
    copied.finish("off");
    expect(copied.text).toBe(long);
  });

  it("says what each piece added, not what came", () => {
    const args = read([]);
    expect(['{"a"', '{"a":1', '{"a":1}', '{"a":1}'].map((delta) => args.append(delta))).toEqual([
      '{"a"',
      ":1",
      "}",
      "",
    ]);
  });
});

describe("an object, after a root that is none", () => {
  it.each<[title: string, root: unknown]>([
    ["a string", "x"],
    ["null", null],
    ["a number", 1],
    ["an array", []],
  ])("fails the call and does not throw: %s", (_, value) => {
    const args = read([{ patch: [{ path: [], value }] }, { kv: { a: 1 } }]);
    expect(args.finish("coerce")).toMatchObject({ ok: false, code: "rejected" });
    expect(args.partial).toEqual(value);
  });
});

describe("copies", () => {
  // Minutes, not milliseconds, when each copy was compared with a text that was read again for it.
  it("are compared in time in proportion to their own length, however long the text is, and white space between them", () => {
    const args = read(['{"a":1}', " ".repeat(8_000_000)]);
    for (let n = 0; n < 40_000; n++) {
      expect(args.append('{"a":1}')).toBe("");
      expect(args.equals({ a: 1 })).toBe(true);
      expect(args.equalsText('{"a": 1}')).toBe(true);
      args.append(" ");
    }
    expect(args.finish("off")).toEqual({ ok: true, value: { a: 1 } });
  });

  it("are those of what the arguments are by now", () => {
    const args = read(["{}"]);
    expect([args.equals({}), args.equals({ a: 1 })]).toEqual([true, false]);
    args.append('{"a":1}');
    expect([args.equals({}), args.equals({ a: 1 })]).toEqual([false, true]);
    args.merge({ b: 2 });
    expect([args.equals({ a: 1 }), args.equals({ b: 2 })]).toEqual([false, true]);
    args.merge({ c: 3 });
    expect([args.equals({ b: 2 }), args.equals({ b: 2, c: 3 })]).toEqual([false, true]);
    args.patch([{ path: ["b"], value: 0 }]);
    expect([args.equals({ b: 2, c: 3 }), args.equalsText('{"b":0,"c":3}')]).toEqual([false, true]);
  });

  it("there are none of a text that was too long", () => {
    const args = read(['{"a":1}'], { maxArgumentsLength: 10 });
    expect(args.isClosed).toBe(true);
    args.append('{"a":');
    expect(args.finish("off")).toMatchObject({ code: "too_large" });
    expect([args.equals({ a: 1 }), args.equalsText('{"a":1}')]).toEqual([false, false]);
  });

  it.each(['{"a":1', '{"a":1}}', "{a:1}", "", "null"])("there are none of %j", (text) => {
    const args = read([text]);
    expect([args.equals({ a: 1 }), args.equalsText('{"a":1}'), args.equalsText(text)]).toEqual([false, false, false]);
  });
});

describe("free text", () => {
  it.each(["{}", "if (x) {}", '{"a":1}', " ", "", "null", '"null"', "{}{}", "aaaa"])("%j is its own value", (text) => {
    const args = read([]);
    args.custom = true;
    for (const piece of [text, text]) args.append(piece);
    expect(args.finish("coerce")).toEqual({ ok: true, value: text + text });
    expect(args.partial).toBe(text + text);
    expect(args.isClosed).toBe(false);
    expect(args.repairs).toEqual([]);
    expect([args.equalsText(text + text), args.equalsText(`${text}${text}.`)]).toEqual([true, false]);
  });
});

describe("numbers", () => {
  it.each(["12345678901234567890", "-9007199254740993", "9007199254740993", "1e400", "-1e999", `1${"0".repeat(400)}`])(
    "%s would be read as another one, and is refused",
    (literal) => {
      const text = `{"note":"1e999 \\" 12345678901234567890","id":[${literal}]}`;
      const outcome = read([text]).finish("coerce");
      expect(outcome).toMatchObject({ ok: false, code: "invalid_input" });
      expect(outcome.ok ? "" : outcome.message).toContain(literal.slice(0, 40));
      expect(read([`{id: ${literal}}`]).finish("coerce").ok).toBe(false);
      expect(read([JSON.stringify(text)]).finish("coerce").ok).toBe(false);
      expect(read([{ kv: JSON.parse(text) }]).finish("off").ok).toBe(false);
      expect(read([{ patch: [{ path: ["id"], value: JSON.parse(literal) }] }]).finish("off").ok).toBe(false);
    },
  );

  it.each([
    "9007199254740991",
    "9007199254740992",
    "10000000000000000000",
    "6.02214076e23",
    "0.1234567890123456789",
    "-0",
    "1e21",
    "1e-999",
  ])("%s is kept", (literal) => {
    expect(valueOf(read([`{"id":${literal}}`]).finish("off"))).toEqual({ id: JSON.parse(literal) });
  });

  it("that somebody else has read are kept where they have not all the digits that a number has", () => {
    const value = { small: 2 ** 53 - 1, round: 1e19, huge: 6.02214076e23, fraction: 0.12345678901234568 };
    expect(valueOf(read([{ kv: value }]).finish("off"))).toEqual(value);
    expect(read([{ kv: { id: 2 ** 53 } }]).finish("off")).toMatchObject({ code: "invalid_input" });
  });

  it("in strings are text", () => {
    const text = '{"id":"12345678901234567890","n":1e20}';
    expect(valueOf(read([text]).finish("off"))).toEqual(JSON.parse(text));
  });
});

describe("hostile paths", () => {
  it.each<[title: string, patches: PathPatch[], code: string]>([
    ["an index far past the end", [{ path: [4_000_000_000], value: 1 }], "rejected"],
    ["an index past the end", [{ path: ["a", 17], value: 1 }], "rejected"],
    ["a negative index", [{ path: ["a", -1], value: 1 }], "rejected"],
    ["a fraction", [{ path: ["a", 0.5], value: 1 }], "rejected"],
    [
      "into a string",
      [
        { path: ["a"], value: "x" },
        { path: ["a", "b"], value: 1 },
      ],
      "rejected",
    ],
    [
      "an index into an object",
      [
        { path: ["a", "b"], value: 1 },
        { path: ["a", 0], value: 1 },
      ],
      "rejected",
    ],
    [
      "a name into an array",
      [
        { path: ["a", 0], value: 1 },
        { path: ["a", "length"], value: 9 },
      ],
      "rejected",
    ],
    ["too deep", [{ path: Array.from({ length: 129 }, () => "a"), value: 1 }], "too_large"],
    ["a value too deep", [{ path: ["a"], value: nested(128) }], "too_large"],
  ])("%s", (_, patch, code) => {
    expect(read([{ patch }]).finish("coerce")).toMatchObject({ ok: false, code });
  });

  it.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"])(
    "%s is a property like any other",
    (name) => {
      const patched = read([
        {
          patch: [
            { path: [name, "polluted"], value: 1 },
            { path: [name, "s"], append: "x", done: true },
          ],
        },
      ]);
      const merged = read([
        { kv: JSON.parse(`{"${name}":{"polluted":1,"s":"x"}}`) },
        { kv: JSON.parse(`{"${name}":{"polluted":1,"s":"x"}}`) },
      ]);
      const text = read([`{"${name}":{"polluted":1,"s":"x"}}`]);
      for (const args of [patched, merged, text]) {
        const value = valueOf(args.finish("off")) as object;
        expect(Object.keys(value)).toEqual([name]);
        expect(JSON.stringify(value)).toBe(`{"${name}":{"polluted":1,"s":"x"}}`);
        expect(JSON.stringify(args.partial)).toBe(`{"${name}":{"polluted":1,"s":"x"}}`);
        const follower = createFollower();
        follower.take(args.changes());
        expect(JSON.stringify(follower.value)).toBe(`{"${name}":{"polluted":1,"s":"x"}}`);
      }
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      expect(Object.prototype.toString.call({})).toBe("[object Object]");
    },
  );

  it("do nothing to the event that they came in", () => {
    const event = { a: { b: [1] } };
    const args = read([
      { kv: event },
      {
        patch: [
          { path: ["a", "b", 0], value: 2 },
          { path: ["c"], value: event.a },
          { path: ["c", "d"], value: 3 },
        ],
      },
    ]);
    expect(event).toEqual({ a: { b: [1] } });
    expect(valueOf(args.finish("off"))).toEqual({ a: { b: [2] }, c: { b: [1], d: 3 } });
  });
});

// Models write Python, too: what closes the root for a reader of JSON stands in a string.
it.each([true, false])(
  "are not closed by a bracket in a string of single quotes, looked at or not: %j",
  (isLookedAt) => {
    const args = read(["{'a': '}"]);
    if (isLookedAt) expect(args.partial).toBeDefined();
    expect(args.isClosed).toBe(false);
    args.append("', 'b': 1}");
    expect(args.finish("syntax")).toEqual({ ok: true, value: { a: "}", b: 1 } });
  },
);

describe("limits", () => {
  const limits = { maxArgumentsLength: 100, maxDepth: 3 };
  it.each<[title: string, steps: Step[]]>([
    ["one long piece", [`{"a":"${"x".repeat(100)}"}`]],
    ["many pieces", ['{"a":"', ...Array.from({ length: 101 }, () => "x")]],
    ["white space", Array.from({ length: 101 }, () => " ")],
    ["an object", [{ kv: { a: "x".repeat(100) } }]],
    ["an object with a long name in it", [{ kv: { ["x".repeat(100)]: 1 } }]],
    ["objects that add up", Array.from({ length: 30 }, (_, i) => ({ kv: { [`k${i}`]: i } }))],
    ["one key again and again", Array.from({ length: 30 }, (_, i) => ({ kv: { k: i } }))],
    ["strings at paths", [{ patch: [{ path: ["a"], append: "x".repeat(101), done: true }] }]],
    ["values at paths", [{ patch: [{ path: ["a"], value: "x".repeat(101) }] }]],
    ["values at many paths", Array.from({ length: 30 }, (_, i) => ({ patch: [{ path: [`k${i}`], value: 1 }] }))],
    ["values at many indexes", Array.from({ length: 30 }, (_, i) => ({ patch: [{ path: ["a", i], value: 1 }] }))],
    ["an end at many paths", Array.from({ length: 30 }, (_, i) => ({ patch: [{ path: [`k${i}`], done: true }] }))],
    ["nothing at many paths", Array.from({ length: 30 }, (_, i) => ({ patch: [{ path: [`k${i}`], append: "" }] }))],
    ["deep text", ['{"a":[[[1]]]}']],
    ["a deep object", [{ kv: { a: [[[1]]] } }]],
    ["deep and broken text", ["{a:[[[1]]]}"]],
    ["deep text, encoded twice", [JSON.stringify('{"a":[[[[[1]]]]]}')]],
  ])("%s", (title, steps) => {
    const outcome = read(steps, limits).finish("coerce");
    if (title === "deep text, encoded twice") expect(outcome).toEqual({ ok: true, value: '{"a":[[[[[1]]]]]}' });
    else expect(outcome).toMatchObject({ ok: false, code: "too_large" });
  });

  it("count the text of a string at a path once, though its path comes with every piece", () => {
    const pieces = Array.from({ length: 80 }, (_, i) => ({
      patch: [{ path: ["content"], append: "x", done: i === 79 }],
    }));
    expect(read(pieces, limits).finish("off").ok).toBe(true);
  });

  it("take nothing more in once they are passed", () => {
    const args = read([`{"a":"${"x".repeat(50)}`], limits);
    expect(args.partial).toEqual({ a: "x".repeat(50) });
    args.append("y".repeat(60));
    for (let n = 0; n < 1000; n++) expect(args.append("z".repeat(100))).toBe("");
    args.merge({ b: 1 });
    args.patch([{ path: ["c"], value: 1 }]);
    expect(args.text).toBe("");
    expect(args.partial).toEqual({ a: "x".repeat(50) });
  });

  it.each<[title: string, steps: Step[]]>([
    ["as text", [`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`]],
    ["as text that is cut", ['{"a":'.repeat(100_000)]],
    ["as brackets", ["[".repeat(1_000_000)]],
    ["after a placeholder", ["{}", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`]],
    ["after the arguments", ['{"a":1}', `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`]],
    ["encoded twice", [JSON.stringify(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`)]],
    ["after the arguments, encoded twice", ['{"a":1}', JSON.stringify(deepIndexes)]],
    ["after an object, encoded twice", [{ kv: { a: 1 } }, JSON.stringify(deepIndexes)]],
    ["as an object", [{ kv: nested(100_000) as Record<string, unknown> }]],
    ["as text after an object", [{ kv: { a: 1 } }, `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`]],
    ["broken", [`${"{a:".repeat(100_000)}1${"}".repeat(100_000)}`]],
  ])("hold for depth that would break a recursion, %s", (_, steps) => {
    const args = read(steps);
    for (const policy of ["off", "syntax", "coerce"] as const) {
      const outcome = args.finish(policy);
      if (outcome.ok) expect(typeof outcome.value).toBe("string");
    }
    expect(() => [args.partial, args.changes(), args.text]).not.toThrow();
  });
});

describe("changes()", () => {
  /** Without -0, which `JSON.stringify` writes as 0. */
  const json = (maxDepth: number) => fc.jsonValue({ maxDepth }).map((value) => JSON.parse(JSON.stringify(value)));
  const steps = fc.array(
    fc.oneof(
      fc.constantFrom<Step>(
        "{}",
        '{"a":1}',
        '{"a"',
        '{"a":1',
        '{"a":{"b":"',
        "x",
        '"',
        "}",
        ":",
        "1",
        ",",
        " ",
        '{"a":"\\u00',
        '{"',
      ),
      fc.record({
        kv: fc.dictionary(fc.constantFrom("a", "b", "__proto__"), json(2), { maxKeys: 2 }),
      }),
      fc.record({
        patch: fc.array(
          fc.oneof(
            fc.record({
              path: fc.array(fc.constantFrom<string | number>("a", "b", 0, 1), { maxLength: 3, minLength: 1 }),
              append: fc.constantFrom("", "x"),
              done: fc.boolean(),
            }),
            fc.record({
              path: fc.array(fc.constantFrom<string | number>("a", "b", 0, 1), { maxLength: 3 }),
              value: json(1),
            }),
            fc.record({
              path: fc.array(fc.constantFrom<string | number>("a", "b", 0, 1), { maxLength: 3 }),
              done: fc.boolean(),
            }),
          ),
          { maxLength: 3 },
        ),
      }),
    ),
    { maxLength: 12 },
  );

  it("replayed give the live input, whenever they are asked for", () => {
    fc.assert(
      fc.property(
        steps,
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        fc.boolean(),
        (list, asks, custom) => {
          const args = new Arguments(resolveLimits(undefined));
          args.custom = custom;
          const follower = createFollower();
          let applied: unknown;
          for (const [i, step] of list.entries()) {
            take(args, step as Step);
            if (asks[i] !== true) continue;
            const changes = args.changes();
            follower.take(changes);
            applied = applyChanges(applied, changes);
            expect(follower.value).toEqual(args.partial);
            expect(applied).toEqual(args.partial);
          }
          const changes = args.changes();
          follower.take(changes);
          expect(JSON.stringify(follower.value)).toBe(JSON.stringify(args.partial));
          expect(JSON.stringify(applyChanges(applied, changes))).toBe(JSON.stringify(args.partial));
        },
      ),
      { numRuns: 2000 },
    );
  });

  const opened = { path: [], value: {}, done: false };
  const closed = { path: [], done: true };

  it.each<[title: string, came: Step[]]>([
    ["text", ['{"a":"x","b":{"c":1}}']],
    ["an object", [{ kv: { a: "x", b: { c: 1 } } }]],
    ["objects", [{ kv: { a: "x" } }, { kv: { b: { c: 1 } } }]],
    [
      "changes at paths",
      [
        {
          patch: [
            { path: ["a"], append: "x", done: true },
            { path: ["b", "c"], value: 1 },
          ],
        },
      ],
    ],
  ])("tell each property, and that the call has ended, of arguments that came as %s", (_, came) => {
    const [late, followed] = [read(came), read([])];
    late.finish("off");
    expect(late.changes()).toEqual([
      opened,
      { path: ["a"], value: "x", done: true },
      { path: ["b"], value: { c: 1 }, done: true },
      closed,
    ]);
    const told = came.flatMap((step) => (take(followed, step), followed.changes()));
    followed.finish("off");
    told.push(...followed.changes());
    expect([told[0], told.at(-1)]).toEqual([opened, closed]);
    expect(told.filter(({ path }) => path.length === 0)).toHaveLength(2);
    followed.finish("off");
    expect(followed.changes()).toEqual([]);
  });

  it("say of what came at paths what is open: a string that goes on, and whatever may be filled", () => {
    const args = read([
      {
        patch: [
          { path: ["open"], append: "x" },
          { path: ["whole"], append: "y", done: true },
          { path: ["filled", "a"], value: 1 },
        ],
      },
    ]);
    expect(args.changes()).toEqual([
      opened,
      { path: ["open"], value: "x", done: false },
      { path: ["whole"], value: "y", done: true },
      { path: ["filled"], value: { a: 1 }, done: false },
    ]);
    // Nothing says that it is done where it was cut.
    args.finish("off");
    expect(args.changes()).toEqual([]);
  });

  it("say of free text that it is done when the call has ended", () => {
    const args = read([]);
    args.custom = true;
    args.append("ls");
    expect(args.changes()).toEqual([{ path: [], value: "ls", done: false }]);
    args.append(" -l");
    args.finish("off");
    expect(args.changes()).toEqual([{ path: [], append: " -l", done: false }, closed]);
  });

  it("say that a place is done, if there is one", () => {
    const args = read([{ patch: [{ path: ["a"], append: "x" }] }]);
    args.changes();
    args.patch([
      { path: ["a"] },
      { path: ["a"], done: true },
      { path: ["b"], done: true },
      { path: ["a", "length"], done: true },
    ]);
    expect(args.changes()).toEqual([{ path: ["a"], done: true }]);
  });

  it("tell all that is new above a place that is done, and not that what is above it is", () => {
    const args = read([{ patch: [{ path: ["x"], value: 0 }] }]);
    args.changes();
    args.patch([{ path: ["a", "b"], value: 1, done: true }]);
    expect(args.changes()).toEqual([{ path: ["a"], value: { b: 1 }, done: false }]);
  });

  it("and the live input are for looking: whatever is done to them, what runs is what came", () => {
    fc.assert(
      fc.property(steps, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (list, looks) => {
        const before = JSON.stringify(list);
        const [quiet, watched] = [read([]), read([])];
        for (const [i, step] of list.entries()) {
          take(quiet, step as Step);
          take(watched, step as Step);
          if (looks[i] !== true) continue;
          scribble(watched.partial);
          scribble(watched.changes());
        }
        const outcome = watched.finish("off");
        expect(outcome).toEqual(quiet.finish("off"));
        expect(watched.text).toBe(quiet.text);
        const after = JSON.stringify(outcome);
        scribble(watched.partial);
        scribble(watched.changes());
        expect(JSON.stringify(outcome)).toBe(after);
        expect(JSON.stringify(list)).toBe(before);
      }),
      { numRuns: 2000 },
    );
  });

  it("and the live input stay what came, whatever is done to what runs", () => {
    for (const came of [[{ kv: { a: { b: 1 } } }], [{ patch: [{ path: ["a", "b"], value: 1 }] }], ['{"a":{"b":1}}']]) {
      const args = read(came);
      const outcome = args.finish("off");
      scribble(outcome.ok && outcome.value);
      expect(args.partial).toEqual({ a: { b: 1 } });
      const follower = createFollower();
      follower.take(args.changes());
      expect(follower.value).toEqual({ a: { b: 1 } });
    }
  });

  it("go on where the value that is looked at was frozen, or written to so that what comes does not fit", () => {
    const frozen = read([{ kv: { a: {} } }]);
    Object.freeze(frozen.partial);
    frozen.merge({ b: 1 });
    expect(frozen.partial).toEqual({ a: {}, b: 1 });
    const other = read([{ kv: { a: {} } }]);
    (other.partial as { a: unknown }).a = "no object";
    other.patch([{ path: ["a", "b"], value: 1 }]);
    expect(other.partial).toEqual({ a: { b: 1 } });
    expect(valueOf(other.finish("off"))).toEqual({ a: { b: 1 } });
  });

  it("grow the object that is looked at, if the arguments come as values too", () => {
    const args = read([{ kv: { a: { b: "x" } } }]);
    const { partial } = args;
    args.patch([
      { path: ["a", "b"], append: "y", done: true },
      { path: ["c"], value: { d: [1] } },
    ]);
    args.merge({ e: { f: 2 } });
    expect(partial).toEqual({ a: { b: "xy" }, c: { d: [1] }, e: { f: 2 } });
    expect(args.partial).toBe(partial);
  });

  it("tell a snapshot's news only, once it is known to be one", () => {
    const args = read(['{"a":"x', '{"a":"xy', '{"a":"xyz']);
    args.changes();
    args.append('{"a":"xyz!');
    expect(args.changes()).toEqual([{ path: ["a"], append: "!", done: false }]);
  });

  it("never throws and gives a value that JSON has, whatever comes", () => {
    fc.assert(
      fc.property(steps, fc.constantFrom("off", "syntax", "coerce"), (list, policy) => {
        const args = read(list as Step[]);
        const outcome = args.finish(policy as "off");
        if (outcome.ok) expect(JSON.parse(JSON.stringify(outcome.value))).toEqual(outcome.value);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("text in pieces of any size", () => {
  it("comes to the same, whoever has looked at it on the way", () => {
    const object = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("__proto__", "1", "constructor")),
      fc.jsonValue(),
    );
    const looks = fc.array(fc.constantFrom("nothing", "isClosed", "partial", "changes"), { minLength: 1 });
    fc.assert(
      fc.property(object, fc.integer({ min: 1, max: 9 }), looks, (value, size, list) => {
        const text = JSON.stringify(value, null, size % 3);
        const args = read([]);
        for (let at = 0, n = 0; at < text.length; at += size, n++) {
          args.append(text.slice(at, at + size));
          const look = list[n % list.length]!;
          if (look === "isClosed") void args.isClosed;
          else if (look === "partial") void args.partial;
          else if (look === "changes") args.changes();
        }
        const parsed = read([text]).finish("off");
        const looked = args.finish("off");
        // Not toStrictEqual(), which takes a property "constructor" for the class.
        expect(isDeepStrictEqual(looked, parsed)).toBe(true);
        if (parsed.ok && looked.ok) {
          expect(isDeepStrictEqual(looked.value, JSON.parse(text))).toBe(true);
          expect(JSON.stringify(looked.value)).toBe(JSON.stringify(JSON.parse(text)));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("is closed with its last bracket and not before, from wherever on somebody looks at the input", () => {
    const text = '{"a":{},"b":{"c":"}"},"d":[{"e":"\\"}"}]} ';
    const end = text.lastIndexOf("}");
    for (let from = 0; from <= text.length; from++) {
      const args = read([]);
      for (let at = 0; at < text.length; at++) {
        args.append(text[at]!);
        expect(args.isClosed).toBe(at >= end);
        if (at >= from) expect(args.partial).not.toBeUndefined();
      }
      expect(args.partial).toEqual(JSON.parse(text));
      expect(args.finish("off")).toEqual({ ok: true, value: JSON.parse(text) });
    }
  });

  it.each([false, true])("is another object than the live input (looked at before: %s)", (before) => {
    const args = read(['{"a":{"b":1}', "}"]);
    expect(args.isClosed).toBe(true);
    if (before) (args.partial as { a: { b: number } }).a.b = 2;
    const { value } = args.finish("off") as { value: { a: { b: number } } };
    expect(value).toEqual({ a: { b: 1 } });
    value.a.b = 3;
    expect(args.partial).toEqual({ a: { b: before ? 2 : 1 } });
  });

  it("is what JSON.parse makes of it, and is truncated at every other place", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (value, sizes, where) => {
          const text = JSON.stringify(value);
          const pieces = cut(text, sizes);
          const outcome = read(pieces).finish("off");
          if (outcome.ok) expect(outcome.value).toEqual(JSON.parse(text));
          else expect(outcome.code).toBe("invalid_input"); // a number that is none of ours
          const end = 1 + Math.floor(where * (text.length - 1));
          for (const policy of ["off", "syntax", "coerce"] as const)
            expect(valueOf(read(cut(text.slice(0, end), sizes)).finish(policy))).toEqual(TRUNCATED);
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** What somebody may do to a value that he has been given. */
function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const child of Object.values(value)) scribble(child);
  if (Array.isArray(value)) value.push("scribbled", value.shift());
  else for (const key of Object.keys(value)) (value as Record<string, unknown>)[key] = { scribbled: key };
}

function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, n = 0; at < text.length; at += sizes[n++ % sizes.length]!)
    pieces.push(text.slice(at, at + sizes[n % sizes.length]!));
  return pieces;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
}
