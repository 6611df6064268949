import { isDeepStrictEqual } from "node:util";
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { createJsonParser, createTwinParser, type JsonChange, type JsonParser } from "../../src/json/index.ts";
import { applyChanges, copy, cutAt, isPrefix, jsonText } from "./support.ts";

function read(text: string, ended = true): JsonParser {
  const parser = createJsonParser();
  parser.feed(text);
  if (ended) parser.end();
  return parser;
}

/** Each piece a feed. */
function readPieces(pieces: readonly string[], each?: (parser: JsonParser) => void): JsonParser {
  const parser = createJsonParser();
  for (const piece of pieces) {
    parser.feed(piece);
    each?.(parser);
  }
  parser.end();
  return parser;
}

/** What changes() says after each piece. */
function tell(...pieces: string[]): JsonChange[][] {
  const parser = createJsonParser();
  return pieces.map((piece) => {
    parser.feed(piece);
    return copy(parser.changes());
  });
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe("the live value", () => {
  const rows: [text: string, value: unknown][] = [
    ["", undefined],
    ["  \n", undefined],
    ["{", {}],
    ['{"', {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a":"', { a: "" }],
    ['{"a":"x', { a: "x" }],
    ['{"a":"x\\', { a: "x" }],
    ['{"a":"x\\n', { a: "x\n" }],
    ['{"a":"x\\u00', { a: "x" }],
    ['{"a":"x\\u00e', { a: "x" }],
    ['{"a":"x\\u00e5', { a: "xå" }],
    ['{"a":1', {}],
    ['{"a":1,', { a: 1 }],
    ['{"a":1 ', { a: 1 }],
    ['{"a":tru', {}],
    ['{"a":true', { a: true }],
    ['{"a":null', { a: null }],
    ['{"a":[', { a: [] }],
    ["[1,2", [1]],
    ["[1,2]", [1, 2]],
    ['["a","', ["a", ""]],
    ["[[],{", [[], {}]],
    ["12", undefined],
    ["12 ", 12],
    ["true", true],
    ['"ab', "ab"],
  ];
  it.each(rows)("of %j is %j", (text, value) => {
    expect(read(text, false).value).toEqual(value);
    expect(
      readPieces(
        cutAt(
          text,
          [...text].map((_, i) => i),
        ),
      ).value,
    ).toEqual(text === "12" ? 12 : value);
  });

  it("is the same object from read to read", () => {
    const parser = read('{"a":[', false);
    const before = parser.value;
    parser.feed("1]");
    expect(parser.value).toBe(before);
    expect(before).toEqual({ a: [1] });
  });

  it("never shows half a surrogate pair, however the pair is cut", () => {
    for (const text of ['["a😀b"]', '["a\\ud83d\\ude00b"]', '["a\ud83d\\ude00b"]', '["a\\ud83d\ude00b"]']) {
      const seen = new Set<unknown>();
      readPieces(text.split(""), (parser) => {
        const [string] = (parser.value as string[] | undefined) ?? [];
        seen.add(string);
      });
      expect([...seen]).toEqual([undefined, "", "a", "a😀", "a😀b"]);
    }
  });

  it("keeps lone surrogates as JSON.parse does", () => {
    for (const text of [
      '"\\ud83d"',
      '"\\ude00"',
      '"\\ud83d\\ud83d\\ude00"',
      '"\\ude00\\ud83dx"',
      '"a\ud83d"',
      '{"\\ud83d":1}',
    ]) {
      expect(read(text).value).toEqual(JSON.parse(text));
      expect(readPieces(text.split("")).value).toEqual(JSON.parse(text));
    }
  });

  it("is what was read before the text became invalid", () => {
    expect(read('{"a":[1,"x\\q').value).toEqual({ a: [1, "x"] });
    expect(read('{"a":1}x').value).toEqual({ a: 1 });
  });

  it.each(["2024-01-15", "1.2.3", "50%", "00123"])("does not hold a number that only begins %s", (word) => {
    const text = `{"a":1,"b":${word}}`;
    expect(read(text).value).toEqual({ a: 1 });
    expect(readPieces(text.split("")).value).toEqual({ a: 1 });
    expect(read(word).value).toBeUndefined();
  });
});

describe("the state", () => {
  it.each([
    ["", "empty", "empty"],
    [" ", "empty", "empty"],
    ["{", "open", "open"],
    ["{}", "closed", "closed"],
    ["[]  ", "closed", "closed"],
    ['"a"', "closed", "closed"],
    ["1", "open", "closed"],
    ["1 ", "open", "closed"],
    ["-", "open", "open"],
    ["1.", "open", "open"],
    ["true", "open", "closed"],
    ["tru", "open", "open"],
    ["[1", "open", "open"],
    ["{}{", "invalid", "invalid"],
    ["{} x", "invalid", "invalid"],
  ])("of %j is %s, and %s when it ends there", (text, before, after) => {
    expect(read(text, false).state).toBe(before);
    expect(read(text).state).toBe(after);
  });

  const refused = [
    // structure
    [
      "]",
      "}",
      ",",
      ":",
      "[,",
      "[1,]",
      "[1 2",
      "{,",
      "{1",
      "{a",
      "{'a'",
      '{"a" "',
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      "{]",
      "[}",
    ],
    // numbers
    [
      "01",
      "-01",
      "+1",
      ".5",
      "1.]",
      "1.e",
      "--",
      "1e5.",
      "[1.]",
      "[-]",
      "[1e]",
      "[1e+]",
      "1.2.3",
      "0x1",
      "NaN",
      "Infinity",
    ],
    // literals
    ["True", "nul ", "truex", "undefined", "[nulll"],
    // strings
    ['"\n', '"\t', '"\u0000', '"\\x', '"\\u12g', '"\\u 123', '"\\u/', '"\\u:', '"\\u@', '"\\u`', '"\\uG', '{"a\n'],
    // around the root
    ["\ufeff{}", "\u00a01", "\v1", "// x", "/* x */ 1", "1 2", "{}[]", '"a"b'],
  ].flat();
  it.each(refused)("of %j is invalid", (text) => {
    expect(read(text, false).state).toBe("invalid");
    expect(readPieces(text.split("")).state).toBe("invalid");
  });

  it("stays invalid whatever follows", () => {
    const parser = read("[1,]", false);
    parser.feed('[2],"x"]');
    expect(parser.state).toBe("invalid");
    expect(parser.value).toEqual([1]);
  });
});

describe("what JSON.parse makes", () => {
  it.each(["-0", "1e400", "-1e400", "12345678901234567890", "0.1e-7", "1E+2", "5e-324", "0e0", "-0.0"])(
    "of the number %s",
    (text) => {
      expect(read(text).value).toBe(JSON.parse(text));
      expect((readPieces(`[${text}]`.split("")).value as number[])[0]).toBe(JSON.parse(text));
    },
  );

  it("of duplicate keys: the last value at the place of the first", () => {
    const text = '{"a":1,"b":2,"a":{"c":3},"a":"x"}';
    expect(JSON.stringify(read(text).value)).toBe(JSON.stringify(JSON.parse(text)));
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "", "0", "length"])(
    "of the key %j: a property of its own",
    (key) => {
      for (const content of ["1", '"text"', '{"polluted":true}', "[1]"]) {
        const text = `{${JSON.stringify(key)}:${content}}`;
        const value = readPieces(text.split(""), (parser) => void parser.value).value as object;
        expect(Object.getOwnPropertyDescriptors(value)).toEqual(Object.getOwnPropertyDescriptors(JSON.parse(text)));
        expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
        expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
      }
    },
  );

  it("of keys with backslashes, also where JSON.parse of V8 14 mixes them up", () => {
    const keys = ["\\", '"', "\n", "/", "a\\", 'a"', "a\\b", "a\b"];
    for (const key of keys)
      expect(Object.keys(read(`{"a":1,${JSON.stringify(key)}:2}`).value as object)).toEqual(["a", key]);
  });

  it("of a string far longer than a block, in small pieces, read after each", () => {
    const text = JSON.stringify({ text: 'line "one"\n\tå😀\\'.repeat(3000), after: 1 });
    const pieces = text.match(/[^]{1,7}/g)!;
    expect(readPieces(pieces).value).toEqual(JSON.parse(text));
    expect(readPieces(pieces, (parser) => void parser.value).value).toEqual(JSON.parse(text));
  });
});

describe("the depth", () => {
  it("may reach maxDepth and no more", () => {
    const parser = createJsonParser({ maxDepth: 3 });
    parser.feed('[{"a":[');
    expect(parser.state).toBe("open");
    parser.feed("[");
    expect(parser.state).toBe("too_deep");
    parser.feed("]]}]");
    expect(parser.state).toBe("too_deep");
    expect(parser.value).toEqual([{ a: [] }]);
  });

  it.each(["[", '{"a":'])("of a million %s ends at the limit", (piece) => {
    const parser = createJsonParser();
    parser.feed(piece.repeat(1e6));
    expect(parser.state).toBe("too_deep");
  });

  it("of a million is read when it is allowed", () => {
    const parser = createJsonParser({ maxDepth: 2e6 });
    parser.feed("[".repeat(1e6));
    parser.feed("]".repeat(1e6));
    expect(parser.state).toBe("closed");
  });
});

describe("changes()", () => {
  it("tells of the whole when first asked there is anything, of an object by its properties", () => {
    const opened = { path: [], value: {}, done: false };
    const closed = { path: [], done: true };
    expect(tell('{"a":[1,"x"],"b":"he')).toEqual([
      [opened, { path: ["a"], value: [1, "x"], done: true }, { path: ["b"], value: "he", done: false }],
    ]);
    expect(tell("", '{"a":{"b":"he', 'y"}}')).toEqual([
      [],
      [opened, { path: ["a"], value: { b: "he" }, done: false }],
      [{ path: ["a", "b"], append: "y", done: true }, { path: ["a"], done: true }, closed],
    ]);
    expect(tell('{"a":1,"b":2')).toEqual([[opened, { path: ["a"], value: 1, done: true }]]);
    expect(tell('{"a":"x"}')).toEqual([[opened, { path: ["a"], value: "x", done: true }, closed]]);
    expect(tell("{}")).toEqual([[opened, closed]]);
    expect(tell("[1]")).toEqual([[{ path: [], value: [1], done: true }]]);
    expect(tell('["x')).toEqual([[{ path: [], value: ["x"], done: false }]]);
    expect(tell('"x')).toEqual([[{ path: [], value: "x", done: false }]]);
  });

  it("tells each property of an object under its own path, whenever it is first asked", () => {
    const text = JSON.stringify({ content: 'Hel"lo', mode: "x", n: 12, nested: { content: "no" } });
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const shown = new Map<unknown, unknown>();
        for (const change of tell(text.slice(0, first), text.slice(first, second), text.slice(second)).flat()) {
          if (change.path.length !== 1) continue;
          const [key] = change.path;
          if ("value" in change) shown.set(key, change.value);
          else if ("append" in change) shown.set(key, `${shown.get(key)}${change.append}`);
        }
        expect([...shown.keys()]).toEqual(["content", "mode", "n", "nested"]);
        expect([shown.get("content"), shown.get("mode"), shown.get("n")]).toEqual(['Hel"lo', "x", 12]);
      }
    }
  });

  it("tells what a string grew by, and when it was finished", () => {
    expect(tell('{"a":"he', "ll", "o", '"', ',"b":1}').slice(1)).toEqual([
      [{ path: ["a"], append: "ll", done: false }],
      [{ path: ["a"], append: "o", done: false }],
      [{ path: ["a"], append: "", done: true }],
      [
        { path: ["b"], value: 1, done: true },
        { path: [], done: true },
      ],
    ]);
  });

  it("tells of new values whole, as far as they came", () => {
    expect(tell("", "[", '{"a":[1', ',2],"b":"x', 'y"},[]', ",3]")).toEqual([
      [],
      [{ path: [], value: [], done: false }],
      [{ path: [0], value: { a: [] }, done: false }],
      [
        { path: [0, "a", 0], value: 1, done: true },
        { path: [0, "a", 1], value: 2, done: true },
        { path: [0, "a"], done: true },
        { path: [0, "b"], value: "x", done: false },
      ],
      [
        { path: [0, "b"], append: "y", done: true },
        { path: [0], done: true },
        { path: [1], value: [], done: true },
      ],
      [
        { path: [2], value: 3, done: true },
        { path: [], done: true },
      ],
    ]);
  });

  it("tells that a value is finished, though one of the same name is open in the next container", () => {
    expect(tell('[{"b":0', ',"a":1},{"a":"x').slice(1)).toEqual([
      [
        { path: [0, "b"], value: 0, done: true },
        { path: [0, "a"], value: 1, done: true },
        { path: [0], done: true },
        { path: [1], value: { a: "x" }, done: false },
      ],
    ]);
  });

  it("shows what it tells in the value that was read before", () => {
    const parser = read('{"a":"he', false);
    const { value } = parser;
    parser.changes();
    for (const [piece, shown] of [
      ["ll", "hell"],
      ["o", "hello"],
      ['"', "hello"],
    ] as const) {
      parser.feed(piece);
      parser.changes();
      expect(value).toEqual({ a: shown });
    }
  });

  it("tells of a string at the end of open containers with its whole path", () => {
    expect(tell('{"a":[0,{"b":"x', "y", 'z"},"', "w").slice(1)).toEqual([
      [{ path: ["a", 1, "b"], append: "y", done: false }],
      [
        { path: ["a", 1, "b"], append: "z", done: true },
        { path: ["a", 1], done: true },
        { path: ["a", 2], value: "", done: false },
      ],
      [{ path: ["a", 2], append: "w", done: false }],
    ]);
  });

  it("is empty when nothing changed", () => {
    expect(tell('["a', "", "\\", "\\", '"', " ", "]", " ").map((told) => told.length)).toEqual([
      1, 0, 0, 1, 1, 0, 1, 0,
    ]);
  });

  it("tells of a root that is no container", () => {
    const parser = createJsonParser();
    parser.feed("12");
    expect(parser.changes()).toEqual([]);
    parser.end();
    expect(parser.changes()).toEqual([{ path: [], value: 12, done: true }]);
  });
});

it("throws a TypeError for text after end() and for a depth that is none", () => {
  const parser = createJsonParser();
  parser.end();
  expect(() => parser.feed("{}")).toThrow(TypeError);
  expect(() => createJsonParser({ maxDepth: Number.NaN })).toThrow(TypeError);
  expect(() => createJsonParser({ maxDepth: 0 })).toThrow(TypeError);
});

describe("for any JSON text, cut anywhere,", () => {
  const cuts = fc.array(fc.nat(), { maxLength: 12 });

  it("the end is what JSON.parse says", () => {
    fc.assert(
      fc.property(jsonText(), cuts, (text, at) => {
        const parser = readPieces(cutAt(text, at));
        expect(parser.state).toBe("closed");
        expect(isDeepStrictEqual(parser.value, JSON.parse(text))).toBe(true);
        expect(JSON.stringify(parser.value)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 500 },
    );
  });

  it("every partial value is a prefix of the end, and of the next one", () => {
    fc.assert(
      fc.property(jsonText({ uniqueKeys: true }), (text) => {
        const end: unknown = JSON.parse(text);
        let last: unknown;
        readPieces(text.split(""), (parser) => {
          const now = copy(parser.value);
          expect(isPrefix(last, now)).toBe(true);
          expect(isPrefix(now, end)).toBe(true);
          last = now;
        });
      }),
      { numRuns: 300 },
    );
  });

  it("the state is closed at the last character of the root and not before", () => {
    fc.assert(
      fc.property(jsonText({ uniqueKeys: true }), (spaced) => {
        const text = spaced.trim();
        const states: string[] = [];
        readPieces(text.split(""), (parser) => states.push(parser.state));
        const isBare = !/^["[{]/.test(text);
        expect(states).toEqual(text.split("").map((_, i) => (i === text.length - 1 && !isBare ? "closed" : "open")));
      }),
      { numRuns: 300 },
    );
  });

  it("the changes, asked for now and then, replay to the value", () => {
    fc.assert(
      fc.property(jsonText(), cuts, fc.array(fc.boolean()), (text, at, asks) => {
        let replayed: unknown;
        let pieces = 0;
        const parser = readPieces(cutAt(text, at), (growing) => {
          if (asks[pieces++ % (asks.length || 1)] === false) return;
          replayed = applyChanges(replayed, growing.changes());
          expect(isDeepStrictEqual(replayed, growing.value)).toBe(true);
        });
        replayed = applyChanges(replayed, parser.changes());
        expect(isDeepStrictEqual(replayed, JSON.parse(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("grows on where who looked has frozen it, and changes() tells of it", () => {
    fc.assert(
      fc.property(jsonText(), cuts, fc.array(fc.boolean()), (text, at, asks) => {
        let replayed: unknown;
        let pieces = 0;
        const parser = readPieces(cutAt(text, at), (growing) => {
          if (asks[pieces++ % (asks.length || 1)] === true) replayed = applyChanges(replayed, growing.changes());
          freeze(growing.value);
        });
        replayed = applyChanges(replayed, parser.changes());
        expect(isDeepStrictEqual(parser.value, JSON.parse(text))).toBe(true);
        expect(isDeepStrictEqual(replayed, JSON.parse(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
}

it("agrees with JSON.parse on which texts are JSON", () => {
  const noise = fc.string({
    unit: fc.constantFrom(...'{}[],:"\\/ \n0123.eE+-truefalsn\u00e5\ud83d\ude00'),
    maxLength: 12,
  });
  const edited = fc.tuple(jsonText(), fc.nat(), fc.nat(3), noise).map(([text, at, drop, put]) => {
    const start = at % (text.length + 1);
    return text.slice(0, start) + put + text.slice(start + drop);
  });
  fc.assert(
    fc.property(fc.oneof(noise, edited), (text) => {
      const parser = readPieces(text.split(""));
      expect(parser.state === "closed").toBe(parses(text));
      expect(read(text).state).toBe(parser.state);
    }),
    { numRuns: 3000 },
  );
});

describe("the twin of the live value", () => {
  /** Writes to all of it, wherever it is. */
  function spoil(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    for (const child of Object.values(value)) spoil(child);
    if (Array.isArray(value)) value.length = 0;
    else for (const key of Object.keys(value)) delete (value as Record<string, unknown>)[key];
  }

  it("is what JSON.parse says, whatever is done to the live value", () => {
    fc.assert(
      fc.property(jsonText(), fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        const parser = createTwinParser({ maxDepth: 128 });
        for (const piece of cutAt(text, cuts)) {
          parser.feed(piece);
          parser.changes();
        }
        parser.end();
        spoil(parser.value);
        const twin = parser.takeTwin();
        if (twin !== undefined) expect(isDeepStrictEqual(twin, JSON.parse(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("is handed out once, and only when the root is closed", () => {
    const parser = createTwinParser({ maxDepth: 128 });
    parser.feed('{"a":[1');
    expect(parser.takeTwin()).toBeUndefined();
    parser.feed("]}");
    expect(parser.takeTwin()).toEqual({ a: [1] });
    expect(parser.takeTwin()).toBeUndefined();
    expect(parser.value).toEqual({ a: [1] });
  });

  it.each([
    ["flat", (items: number) => JSON.stringify(Array.from({ length: items }, () => 0))],
    ["nested", (items: number) => "[".repeat(items) + "0" + "]".repeat(items)],
    ["empty", (items: number) => `[${Array.from({ length: items }, () => "{}").join()}]`],
    ["in branches", (items: number) => `[${Array.from({ length: items / 3 }, () => "[[0]]").join()}]`],
  ])("is given up when it has too many values: %s", (_, text) => {
    const twinOf = (items: number) => {
      const parser = createTwinParser({ maxDepth: 128 });
      parser.feed(text(items));
      expect(parser.state).toBe("closed");
      return parser.takeTwin();
    };
    expect(twinOf(63)).toEqual(JSON.parse(text(63)));
    expect(twinOf(66)).toBeUndefined();
  });
});
