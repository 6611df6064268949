import { toStrictJsonSchema } from "openai/lib/transform";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toSchema } from "../../src/schema/index.ts";
import { lowerSchema } from "../../src/schema/lower.ts";
import { functionSchema, strictFunctionSchema } from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { busyMs } from "../busy-ms.ts";

const object = (properties: object, more: object = {}): JsonSchema => ({ type: "object", properties, ...more });
const text = { type: "string" };
const node = object({ v: text, kids: { type: "array", items: { $ref: "#/$defs/Node" } } }, { required: ["v"] });

/** A schema, and what strict mode cannot say of it. */
const schemas: Record<string, readonly [schema: JsonSchema, losses: readonly string[]]> = {
  "an optional property and a default": [
    object({ a: text, n: { type: "number", default: 3 } }, { required: ["a"] }),
    [],
  ],
  "a discriminated union": [
    object({
      x: {
        oneOf: [object({ k: { const: "a" } }, { required: ["k"] }), object({ k: { const: "b" } }, { required: ["k"] })],
      },
    }),
    [],
  ],
  "a union at the root": [
    {
      anyOf: [
        object({ k: { const: "a" }, n: text }, { required: ["k", "n"] }),
        object({ k: { const: "b" } }, { required: ["k"] }),
      ],
    },
    ["flattenRootUnion at "],
  ],
  "an intersection": [
    {
      type: "object",
      allOf: [object({ a: text }, { required: ["a"] }), object({ b: { type: "integer", minimum: 1 } })],
    },
    [],
  ],
  "a recursive property": [
    object({ tree: { $ref: "#/$defs/Node" } }, { required: ["tree"], $defs: { Node: node } }),
    [],
  ],
  "a recursive root behind a reference": [{ $ref: "#/$defs/Node", $defs: { Node: node } }, []],
  "a root that holds itself": [object({ kids: { type: "array", items: { $ref: "#" } } }), []],
  "a record": [object({ m: { type: "object", additionalProperties: text } }), ["closeObjects at /properties/m"]],
  "any value": [object({ x: {}, y: true }), ["ensureType at /properties/x", "ensureType at /properties/y"]],
  "an array of anything": [object({ l: { type: "array" } }), ["ensureType at /properties/l/items"]],
  "a tuple": [
    object({ t: { type: "array", prefixItems: [text, { type: "number" }] } }),
    ["tuplesToArrays at /properties/t"],
  ],
  "formats and lengths": [
    object({ u: { ...text, format: "uri", minLength: 3 }, d: { ...text, format: "date-time" } }),
    ["unsupported:minLength at /properties/u", "unsupported:format at /properties/u"],
  ],
  "a condition": [
    object({ a: { ...text, not: { const: "x" } } }, { if: object({ a: { const: "y" } }), else: { required: ["a"] } }),
    ["unsupported:if at ", "unsupported:else at ", "unsupported:not at /properties/a"],
  ],
  "nulls and mixed values": [object({ a: { type: ["string", "null"] }, e: { enum: ["a", 1, null] } }), []],
  nothing: [{}, []],
  "a described reference": [
    object({ a: { $ref: "#/$defs/S", description: "The a." }, b: { $ref: "#/$defs/S" } }, { $defs: { S: text } }),
    [],
  ],
  "properties named like keywords": [
    object({ properties: object({ type: text }), $ref: text, required: { type: "boolean" } }),
    [],
  ],
};

describe("strictFunctionSchema()", () => {
  it.each(Object.entries(schemas))("leaves nothing to do for the provider's own SDK: %s", (_, [schema, losses]) => {
    const lowered = lowerSchema(schema, strictFunctionSchema());
    expect(lowered.losses.map(({ rule, path }) => `${rule} at ${path}`)).toEqual(losses);
    expect(toStrictJsonSchema(structuredClone(lowered.schema))).toEqual(lowered.schema);
  });
});

describe("the limits of strict mode", () => {
  const nested = (levels: number): JsonSchema =>
    object({ a: levels === 1 ? text : { type: "array", items: nested(levels - 1) } }, { required: ["a"] });
  const names = (count: number, name = "p") =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, text]));
  const values = (count: number, length = 1) => ({
    enum: Array.from({ length: count }, (_, n) => String(n).padStart(length, "_")),
  });

  it.each<[string, fits: JsonSchema, exceeds: JsonSchema]>([
    ["limit:properties", object(names(5000)), object(names(5001))],
    ["limit:nesting", nested(10), nested(11)],
    ["limit:values", object({ a: values(600), b: values(398) }), object({ a: values(600), b: values(401) })],
    ["limit:characters", object(names(500, "n".repeat(236))), object(names(500, "n".repeat(240)))],
    ["limit:list", object({ a: values(250, 100) }, { required: ["a"] }), object({ a: values(251, 100) })],
  ])("are reported: %s", (rule, fits, exceeds) => {
    expect(lowerSchema(fits, strictFunctionSchema()).losses).toEqual([]);
    const lowered = lowerSchema(exceeds, strictFunctionSchema());
    expect(lowered.losses).toMatchObject([{ rule, path: "" }]);
    expect(lowerSchema(exceeds, functionSchema()).losses).toEqual([]);
  });
});

describe("functionSchema()", () => {
  it.each(Object.entries(schemas))("makes the root a plain object: %s", (_, [schema]) => {
    const { schema: root } = lowerSchema(schema, functionSchema());
    expect(root).toMatchObject({ type: "object", properties: {} });
    for (const keyword of ["oneOf", "anyOf", "allOf", "enum", "not", "$ref"])
      expect(root).not.toHaveProperty([keyword]);
  });

  it("says what an array holds, and leaves everything else as it is", () => {
    const schema = object({
      l: { type: "array" },
      m: { type: "object", additionalProperties: text },
      s: { ...text, minLength: 2 },
    });
    const lowered = lowerSchema(schema, functionSchema());
    expect(lowered.losses).toEqual([]);
    expect(lowered.schema).toEqual({
      ...schema,
      properties: { ...(schema["properties"] as object), l: { type: "array", items: {} } },
    });
  });

  // "… is not a valid moonshot flavored json schema": https://github.com/vercel/ai/pull/18921
  it.each<[string, given: JsonSchema, said: JsonSchema]>([
    [
      "a type beside a union",
      { ...text, anyOf: [{ format: "date" }, { enum: ["today"] }] },
      {
        anyOf: [
          { format: "date", ...text },
          { enum: ["today"], ...text },
        ],
      },
    ],
    [
      "a union of what is required",
      object({ a: text, b: text }, { description: "One of both.", anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
      {
        description: "One of both.",
        anyOf: [object({ a: text, b: text }, { required: ["a"] }), object({ a: text, b: text }, { required: ["b"] })],
      },
    ],
    // https://github.com/oOo0oOo/lean-lsp-mcp/issues/213
    [
      "a branch that the type beside it excludes",
      { ...text, anyOf: [{ enum: ["a", "b"] }, { type: "null" }], default: null },
      { anyOf: [{ enum: ["a", "b"], ...text }], default: null },
    ],
    ["values without a type", { enum: ["a", null] }, { type: ["string", "null"], enum: ["a", null] }],
    ["a constant without a type", { const: 3 }, { type: "integer", const: 3 }],
    [
      "two descriptions of a reference",
      { $ref: "#/$defs/Text", description: "The a." },
      { description: "The a.", anyOf: [{ $ref: "#/$defs/Text" }] },
    ],
    // https://github.com/router-for-me/CLIProxyAPI/issues/5316
    ["a type beside a reference", { $ref: "#/$defs/Text", ...text }, { $ref: "#/$defs/Text" }],
    [
      "a length and a description beside a reference, as of zod's text.min(2).describe(…)",
      { $ref: "#/$defs/Text", ...text, minLength: 2, description: "The a." },
      { ...text, minLength: 2, description: "The a." },
    ],
    // https://github.com/MoonshotAI/kimi-code/issues/1610
    [
      "required properties without a schema",
      object({ a: text }, { required: ["a", "b"], additionalProperties: { type: "integer" } }),
      object({ a: text, b: { type: "integer" } }, { required: ["a", "b"], additionalProperties: { type: "integer" } }),
    ],
    [
      "a branch that requires what it does not define",
      { anyOf: [object({ a: text }, { required: ["a", "b"] }), { type: "null" }] },
      { anyOf: [object({ a: text, b: {} }, { required: ["a", "b"] }), { type: "null" }] },
    ],
  ])("says what Kimi's API rejects in a form that it accepts: %s", (_, given, said) => {
    const $defs = { Text: { ...text, description: "Any text." } };
    const inside = (p: JsonSchema) => object({ p, t: { $ref: "#/$defs/Text" } }, { $defs });
    const { schema, losses } = lowerSchema(inside(given), functionSchema());
    expect(schema).toEqual(inside(said));
    expect(losses).toEqual([]);
  });

  it("copies no definition that is long, or has references of its own, for what is beside a reference to it", () => {
    const $defs = {
      Pair: object({ a: { $ref: "#/$defs/Text" }, b: { $ref: "#/$defs/Text" } }),
      Long: { ...text, description: "x".repeat(2000) },
      Text: text,
    };
    const schema = object(
      {
        p: { $ref: "#/$defs/Pair", minProperties: 1 },
        r: { $ref: "#/$defs/Pair", required: ["a"] },
        l: { $ref: "#/$defs/Long", minLength: 1 },
      },
      { $defs },
    );
    expect(lowerSchema(schema, functionSchema())).toEqual({ schema, losses: [] });
  });

  // https://github.com/noonghunna/club-3090/issues/45
  it("says nothing of the names in a record: vLLM makes no grammar of that", () => {
    const record = z.object({ r: z.record(z.string(), z.number()), e: z.record(z.enum(["a", "b"]), z.number()) });
    const { schema, losses } = lowerSchema(toSchema(record).jsonSchema, functionSchema());
    const number = { type: "number" };
    const e = object({ a: number, b: number }, { required: ["a", "b"], additionalProperties: false });
    const r = { type: "object", additionalProperties: number };
    expect(schema).toEqual(object({ r, e }, { required: ["r", "e"] }));
    expect(losses).toEqual([]);
  });

  it("leaves a union as it is where its branches would lose something, or where they would be long", () => {
    const deep = (levels: number): JsonSchema =>
      object({ a: levels === 1 ? text : deep(levels - 1) }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] });
    const patterns = { ...text, pattern: "^a", anyOf: [{ pattern: "z$" }, { pattern: "y$" }] };
    const many = Array.from({ length: 300 }, (_, n) => ({ ...text, pattern: `^${n}` }));
    const long = { ...text, description: "x".repeat(40), minLength: 2, anyOf: many };
    const { schema, losses } = lowerSchema(object({ patterns, long, deep: deep(12) }), functionSchema());
    expect(losses).toEqual([]);
    expect(schema).toMatchObject({ properties: { patterns, long } });
    expect(JSON.stringify(schema).length).toBeLessThan(30_000);
  });

  it("tells what the root cannot say", () => {
    const { schema, losses } = lowerSchema(object({ a: text }, { not: { required: ["b"] } }), functionSchema());
    expect(schema).toEqual(object({ a: text }, { description: '(not: {"required":["b"]})' }));
    expect(losses).toMatchObject([{ rule: "unsupported:not", path: "" }]);
  });

  it("reports what is said of unevaluated items, of which there are none beside items", () => {
    const { schema, losses } = lowerSchema(object({ l: { type: "array", unevaluatedItems: text } }), functionSchema());
    const l = { type: "array", description: '(unevaluatedItems: {"type":"string"})', items: {} };
    expect(schema).toEqual(object({ l }));
    expect(losses).toMatchObject([{ rule: "unsupported:unevaluatedItems", path: "/properties/l" }]);
  });
});

describe.each([
  ["functionSchema()", functionSchema],
  ["strictFunctionSchema()", strictFunctionSchema],
])("%s", (_, dialect) => {
  it.each([
    "^[A-Z]{3}-\\d{2,4}$",
    "^(?:a|(b))$",
    "\\0\\/\\-\\_\\@\\ ",
    "[\\b\\v\\]\\-]",
    "^a{2}b{0,3}c{1,}$",
    "\\(?=",
    "[(?=]",
    "[\\](?!]",
    "(x?=)",
    "\\\\p{L}",
    "[\\w.-]+@[-\\w]",
    "\\d-\\d",
    "\\u00e9\\x41",
    "[^\\]]",
  ])("keeps the pattern %s", (pattern) => {
    const lowered = lowerSchema(object({ p: { ...text, pattern } }, { required: ["p"] }), dialect());
    expect(lowered).toMatchObject({ schema: { properties: { p: { ...text, pattern } } }, losses: [] });
  });

  it.each([
    "^(?=.*\\d).+$",
    "^(?!x)",
    "(?<=a)b",
    "(?<!a)b",
    "\\\\(?!x)",
    "^(?<year>\\d{4})$",
    "(a)\\k<b>",
    "^[\\p{L}\\p{N}_-]+$",
    "\\P{Lu}",
    "\\u{1F600}",
    "[\\w-.]+",
    "^[\\d+-\\s]+$",
    "[^]*",
    "\\cA",
    // Python refuses these.
    "\\h",
    "\\e",
    "\\z",
    "\\N",
    "\\u12",
    "\\x4",
    "\\8",
    "[\\8]",
    "[\\B]",
    "[\\A]",
    "\\400",
    "(a\\1)",
    // And reads these in another way: a reference to a group that took no part fits nothing there, and anything here.
    "^(?:a|(b))\\1$",
    "\\Ax\\Z",
    "\\a",
    "\\U0001F600",
    "a{,3}",
    "\\ud83d\\ude00",
    "\\01",
    "^\\B$",
    // Not all servers know these.
    "(?i:a)",
  ])("tells the pattern %s, which servers refuse or read in another way", (pattern) => {
    const lowered = lowerSchema(object({ p: { ...text, pattern } }, { required: ["p"] }), dialect());
    const told = { ...text, description: `(pattern: ${JSON.stringify(pattern)})` };
    expect(lowered.schema["properties"]).toEqual({ p: told });
    expect(lowered.losses.map(({ rule, path }) => `${rule} at ${path}`)).toEqual([
      "unsupported:pattern at /properties/p",
    ]);
  });

  it("keeps what another part refers to, in a part that is left out for its pattern", () => {
    const given = object(
      { a: { ...text, not: { ...text, pattern: "^(?!x)" } }, b: { $ref: "#/properties/a/not" } },
      { required: ["a", "b"] },
    );
    const { schema, losses } = lowerSchema(given, dialect());
    expect(schema["properties"]).toHaveProperty("b", { $ref: "#/$defs/not" });
    expect(schema["$defs"]).toEqual({ not: { ...text, description: '(pattern: "^(?!x)")' } });
    expect(losses.map(({ rule }) => rule)).toEqual(["unsupported:not", "unsupported:pattern"]);
  });

  it("is quick for a pattern of many classes", () => {
    const begin = busyMs();
    for (const one of ["[^a]", "[-a]"]) {
      const { losses } = lowerSchema(object({ p: { ...text, pattern: `${one.repeat(26)}\\p{L}` } }), dialect());
      expect(losses.map(({ rule }) => rule)).toEqual(["unsupported:pattern"]);
    }
    expect(busyMs() - begin).toBeLessThan(1500);
  });

  it("leaves free text as it is, and reports what it cannot say", () => {
    const schema = { type: "string", description: "A query.", pattern: "^SELECT" };
    const lowered = lowerSchema(schema, dialect());
    expect(lowered.schema).toEqual(schema);
    expect(lowered.losses.map(({ rule }) => rule)).toEqual(["unsupported:pattern"]);
  });
});

it.each([
  ["plain", functionSchema()],
  ["strict", strictFunctionSchema()],
])("what the root may not have is told there (%s)", (_, rewrites) => {
  const unsaid = {
    enum: [{ a: "x", b: "y" }],
    not: { required: ["c"] },
    if: { required: ["a"] },
    // oxlint-disable-next-line unicorn/no-thenable
    then: { required: ["b"] },
    else: { required: ["c"] },
    unevaluatedProperties: false,
  };
  const { schema, losses } = lowerSchema(object({ a: text, b: text }, { required: ["a", "b"], ...unsaid }), rewrites);
  for (const keyword of Object.keys(unsaid)) {
    expect(schema).not.toHaveProperty(keyword);
    expect(schema["description"]).toContain(`${keyword}: `);
    expect(losses.map(({ rule }) => rule)).toContain(`unsupported:${keyword}`);
  }
});

describe("unions within unions in strict mode", () => {
  /** Three branches a level, each with a constant, and the next level beside them. */
  const nested = (levels: number): JsonSchema =>
    levels === 0
      ? text
      : object(
          { base: text, next: nested(levels - 1) },
          { anyOf: [0, 1, 2].map((k) => object({ k: { const: k } }, { required: ["k"] })) },
        );

  it("are all said where that is not too long", () => {
    expect(lowerSchema(object({ a: nested(5) }), strictFunctionSchema()).losses).toEqual([]);
  });

  it("are said less exactly where they would multiply, and quickly", () => {
    const begin = busyMs();
    const lowered = lowerSchema(object({ a: nested(9) }), strictFunctionSchema());
    expect(busyMs() - begin).toBeLessThan(1500);
    expect(JSON.stringify(lowered.schema).length).toBeLessThan(100_000);
    expect(lowered.losses[0]).toEqual({
      tool: "",
      path: "/properties/a",
      rule: "spreadUnions",
      message: "A union becomes one object with the properties of all 3 branches.",
    });
    // Still with all that a branch may have.
    expect(lowered.schema).toMatchObject({
      properties: { a: { type: ["object", "null"], required: ["base", "next", "k"], additionalProperties: false } },
    });
  });

  /** With as many branches that refer to a schema that is spread itself. */
  const referring = (count: number): JsonSchema =>
    object({ id: text }, { anyOf: Array.from({ length: count }, () => ({ $ref: "#/$defs/N" })) });

  it.each<[string, JsonSchema]>([
    ["many of them", object(Object.fromEntries(Array.from({ length: 40 }, (_, k) => [`p${k}`, nested(5)])))],
    ["behind many references", object({ a: referring(200) }, { $defs: { N: nested(5) } })],
    [
      "within themselves",
      object(
        { a: { $ref: "#/$defs/N" } },
        {
          $defs: {
            N: object({ next: object({ n: nested(8) }, { anyOf: [{ $ref: "#/$defs/N" }, object({ z: text })] }) }),
          },
        },
      ),
    ],
  ])("multiply no more where the whole schema would be too large: %s", (_, schema) => {
    const begin = busyMs();
    const lowered = lowerSchema(schema, strictFunctionSchema());
    expect(busyMs() - begin).toBeLessThan(1500);
    expect(JSON.stringify(lowered.schema).length).toBeLessThan(100_000);
    expect(lowered.losses.map(({ rule }) => rule)).toContain("spreadUnions");
  });

  it("may be behind references: an object that was closed around them would fit nothing", () => {
    const schema = object(
      { a: object({ id: text }, { required: ["id"], anyOf: [{ $ref: "#/$defs/U" }, object({ z: text })] }) },
      { required: ["a"], $defs: { U: object({ m: text }, { anyOf: [{ required: ["m"] }, object({ y: text })] }) } },
    );
    const { schema: lowered, losses } = lowerSchema(schema, strictFunctionSchema());
    expect(losses).toEqual([]);
    expect(toSchema(lowered).validate({ a: { id: "1", m: "2" } })).toMatchObject({ ok: true });
    expect(toSchema(lowered).validate({ a: { id: "1", m: null, y: "3" } })).toMatchObject({ ok: true });
    expect(toSchema(lowered).validate({ a: { id: "1", m: null } })).toMatchObject({ ok: false });
  });
});
