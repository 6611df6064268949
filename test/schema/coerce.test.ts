import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import { coerce, dropNulls, mayForceNulls, toSchema, type JsonSchema } from "../../src/schema/index.ts";
import { lowerSchema, type Rewrite } from "../../src/schema/lower.ts";
import { closeObjects, requireAll } from "../../src/schema/rewrites.ts";
import { busyMs } from "../busy-ms.ts";

const of = (schema: JsonSchema): JsonSchema => ({ type: "object", properties: { x: schema } });
const string = { type: "string" };
const number = { type: "number" };
const integer = { type: "integer" };
const boolean = { type: "boolean" };

function object(properties: Record<string, JsonSchema>, required: readonly string[] = []): JsonSchema {
  return { type: "object", properties, required };
}

/** A schema in few words, to make many of them. */
type Shape = "string" | "number" | "nullable" | Properties;
type Properties = { readonly [name: string]: { readonly shape: Shape; readonly required: boolean } };

function schemaOf(shape: Shape): JsonSchema {
  if (shape === "nullable") return { type: ["string", "null"] };
  if (typeof shape === "string") return { type: shape };
  const entries = Object.entries(shape);
  const required = entries.filter(([, property]) => property.required).map(([name]) => name);
  return object(Object.fromEntries(entries.map(([name, property]) => [name, schemaOf(property.shape)])), required);
}

/** A value of a shape, and what strict mode makes of it: `null` for what is left out. */
function written(shape: Shape, coin: () => boolean): { value: unknown; forced: unknown } {
  if (typeof shape === "string") {
    const value = shape === "number" ? 1 : shape === "string" || coin() ? "x" : null;
    return { value, forced: value };
  }
  const value: Record<string, unknown> = {};
  const forced: Record<string, unknown> = {};
  for (const [name, { shape: inner, required }] of Object.entries(shape)) {
    const one = written(inner, coin);
    // A null that its own schema takes says something.
    const isLeftOut = !required && inner !== "nullable" && coin();
    forced[name] = isLeftOut ? null : one.forced;
    if (!isLeftOut) value[name] = one.value;
  }
  return { value, forced };
}

describe("coerce() changes what the text says plainly", () => {
  it.each<[string, JsonSchema, unknown, unknown]>([
    ["a number", number, "5", 5],
    ["a decimal", number, "-1.50", -1.5],
    ["an exponent", number, "1e3", 1000],
    ["zero", number, "0", 0],
    ["all the digits that a double keeps", number, "0.1234567890123456", 0.1234567890123456],
    ["an integer", integer, "42", 42],
    ["a whole decimal as an integer", integer, "5.0", 5],
    ["the largest integer that loses nothing", integer, "9007199254740991", 9007199254740991],
    ["a number that may be null", { type: ["number", "null"] }, "5", 5],
    ["true", boolean, "true", true],
    ["false", boolean, "false", false],
    ["a list", { type: "array", items: number }, "[1,2]", [1, 2]],
    ["a list of what has to be coerced too", { type: "array", items: number }, '["1","2"]', [1, 2]],
    ["an object", { type: "object" }, ' {"a":1}\n', { a: 1 }],
    ["a list with a line break that is escaped once", { type: "array" }, '[{"a":"b\nc"}]', [{ a: "b\nc" }]],
    [
      "an object with the same",
      { type: "object" },
      '{"a\tb": "\\"\n\\n\\\\",\n"c": "\r"}',
      { "a\tb": '"\n\n\\', c: "\r" },
    ],
    ["a lone value", { type: "array", items: string }, "a", ["a"]],
    ["a lone object", { type: "array", items: { type: "object" } }, { a: 1 }, [{ a: 1 }]],
    ["an enum of numbers", { enum: [1, 2] }, "2", 2],
    ["a constant", { const: true }, "true", true],
    ["items", { type: "array", items: number }, [1, "2", 3], [1, 2, 3]],
    [
      "items of a tuple",
      { type: "array", prefixItems: [number, string], items: boolean },
      ["1", "2", "true"],
      [1, "2", true],
    ],
    ["values of a record", { type: "object", additionalProperties: number }, { a: "1" }, { a: 1 }],
    ["an alternative", { anyOf: [number, boolean] }, "true", true],
    ["the first alternative that fits", { oneOf: [{ type: "null" }, number] }, "7", 7],
    [
      "the alternative that was meant",
      {
        anyOf: [
          { type: "object", properties: { k: { const: "a" }, n: { type: "object" } } },
          { type: "object", properties: { k: { enum: ["b", "c"] }, n: number } },
        ],
      },
      { k: "b", n: "1" },
      { k: "b", n: 1 },
    ],
    ["through allOf", { allOf: [{ description: "x" }, number] }, "1", 1],
    ["an integer that has to be a number, too", { allOf: [number, integer] }, "1", 1],
    ["a lone integer for a list of what is both", { type: "array", items: { allOf: [integer, number] } }, 1, [1]],
  ])("%s", (_name, schema, before, after) => {
    const input = { x: before };
    const copy = structuredClone(input);
    const result = coerce(input, of(schema));
    expect(result.value).toEqual({ x: after });
    expect(result.repairs.length).toBeGreaterThan(0);
    expect(input).toEqual(copy);
  });
});

describe("coerce() leaves", () => {
  it.each<[string, JsonSchema, unknown]>([
    ["a string where a string fits", { type: ["string", "number"] }, "5"],
    ["a string where an alternative takes it", { anyOf: [number, string] }, "5"],
    ["text like JSON where anything may be", { type: "object", properties: { note: {} } }, { note: '{"a":1}' }],
    [
      "text like JSON where an object of any kind may be",
      { type: "object", properties: { a: { required: ["b"] } } },
      { a: '{"b":1}' },
    ],
    ["true where a number is asked for", number, "true"],
    ["hexadecimal", number, "0x10"],
    ["an empty string", number, ""],
    ["padding", number, " 5 "],
    ["a plus sign", number, "+5"],
    ["a leading zero", number, "007"],
    ["a unit", number, "5 km"],
    ["a thousands separator", number, "1,000"],
    ["Infinity", number, "Infinity"],
    ["what is too large", number, "1e400"],
    ["what is too small", number, "1e-400"],
    ["minus zero", number, "-0"],
    ["an integer beyond 2^53", integer, "9007199254740993"],
    ["an order number of twenty digits", number, "12345678901234567890"],
    ["a decimal with more digits than a double keeps", number, "0.12345678901234567"],
    ["a fraction where an integer is wanted", integer, "1.5"],
    ["a fraction that a double would round to an integer", integer, "45035996273704969999e-4"],
    ["True", boolean, "True"],
    ["yes", boolean, "yes"],
    ["1 where a boolean is wanted", boolean, 1],
    ["null as text", { type: "null" }, "null"],
    ["null", number, null],
    ["null for a list", { type: "array", items: string }, null],
    [
      "null for a list of what may be null",
      { type: "array", items: { type: "array", items: { type: "null" } } },
      [null],
    ],
    [
      "what a pattern of names may be about",
      { type: "object", patternProperties: { "^x": string }, additionalProperties: number },
      { x1: "5" },
    ],
    ["an empty string for a list", { type: "array", items: string }, ""],
    ["a number where a string is wanted", string, 5],
    ["a list with bad syntax", { type: "array", items: string }, "[a, b]"],
    ["a list that is not closed", { type: "array", items: string }, '["a\nb", "c'],
    [
      "a list with a number that would lose digits, and a line break",
      { type: "array" },
      '["\n", 12345678901234567890]',
    ],
    ["a lone value of another type", { type: "array", items: number }, "a"],
    ["a lone value for a list of anything", { type: "array" }, "a"],
    ["a list for a lone value", number, [5]],
    ["JSON of another container", { type: "object" }, "[1]"],
    ["text without a type", {}, "5"],
    ["a list with a number that would lose digits", { type: "array" }, "[12345678901234567890]"],
    ["an object with a number that is none", { type: "object" }, '{"a":{"b":1e400}}'],
    ["text hidden too deep", { type: "array" }, "[".repeat(200) + "]".repeat(200)],
  ])("%s", (_name, schema, value) => {
    const input = { x: value };
    const result = coerce(input, of(schema));
    expect(result.value).toBe(input);
    expect(result.repairs).toEqual([]);
  });
});

describe("coerce()", () => {
  it("reports each change with its path, before and after", () => {
    const schema = of({ type: "array", items: { type: "object", properties: { n: number } } });
    expect(coerce({ x: '[{"n":"1"}]' }, schema).repairs).toEqual([
      { path: ["x"], before: '[{"n":"1"}]', after: [{ n: "1" }] },
      { path: ["x", 0, "n"], before: "1", after: 1 },
    ]);
  });

  it("reads arguments that were encoded twice", () => {
    const schema = { type: "object", properties: { n: number }, required: ["n"] };
    expect(coerce('{"n":"1"}', schema).value).toEqual({ n: 1 });
    expect(coerce('{"n":1}', { properties: { n: number } }).value).toEqual({ n: 1 });
    expect(coerce('{"n":1}', { anyOf: [schema, { type: "null" }] }).value).toEqual({ n: 1 });
    expect(coerce('{"n":1}', { $ref: "#/$defs/a", $defs: { a: schema } }).value).toEqual({ n: 1 });
  });

  it("is right about keys with escapes, whatever was read before", () => {
    const read = (text: string) => coerce({ x: text }, of({ type: "object" })).value;
    expect(read(String.raw`{"h":[],"\\":0}`)).toEqual({ x: { h: [], "\\": 0 } });
    expect(read(String.raw`{"h":1,"\"":2}`)).toEqual({ x: { h: 1, '"': 2 } });
  });

  it("leaves the free text of a custom tool", () => {
    expect(coerce('{"n":1}', { type: "string" })).toEqual({ value: '{"n":1}', repairs: [] });
  });

  it.each(["https://a.example/n.json", "https://a.example/root.json#/$defs/n", "#deep"])("follows %s", (ref) => {
    const $defs = {
      n: { ...number, $id: "https://a.example/n.json" },
      m: { $defs: { o: { ...number, $anchor: "deep" } } },
    };
    const schema = { $id: "https://a.example/root.json", ...of({ $ref: ref }), $defs };
    expect(coerce({ x: "5" }, schema).value).toEqual({ x: 5 });
  });

  it("follows a recursive schema, and a cycle ends", () => {
    const tree = { type: "object", properties: { n: number, children: { type: "array", items: { $ref: "#" } } } };
    expect(coerce({ children: [{ n: "1", children: [{ n: "2" }] }] }, tree).value).toEqual({
      children: [{ n: 1, children: [{ n: 2 }] }],
    });
    expect(
      coerce({ n: "1" }, { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }).repairs,
    ).toEqual([]);
  });

  it("shares what did not change", () => {
    const input = { x: "1", other: { deep: [1] } };
    const { value } = coerce(input, of(number)) as { value: typeof input };
    expect(value).not.toBe(input);
    expect(value.other).toBe(input.other);
  });

  it("keeps `__proto__` an own property", () => {
    const input: unknown = JSON.parse('{"x":"1","__proto__":{"polluted":"1"}}');
    const schema = JSON.parse(
      '{"type":"object","properties":{"x":{"type":"number"},"__proto__":{"properties":{"polluted":{"type":"number"}}}}}',
    );
    const { value } = coerce(input, schema);
    expect(JSON.stringify(value)).toBe('{"x":1,"__proto__":{"polluted":1}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each(["anyOf", "oneOf"])("finds the alternatives that were meant in each other: %s", (union) => {
    const arg = { $ref: "#/$defs/expression" };
    const one = (kind: string, properties: object) => ({
      type: "object",
      properties: { ...properties, kind: { const: kind } },
    });
    const expression = {
      [union]: [one("some", { arg }), one("not", { arg }), one("many", { arg }), one("field", { n: number })],
    };
    const schema = { properties: { where: arg }, $defs: { expression } };
    const deep = (inner: unknown) => {
      let value = inner;
      for (let depth = 0; depth < 60; depth++) value = { arg: value, kind: "not", extra: null };
      return { where: value };
    };
    // Each level would take four times as long as the one in it, and then nothing is changed.
    expect(coerce(deep({ kind: "field", n: "1" }), schema).value).toEqual(deep({ kind: "field", n: 1 }));
    expect(dropNulls(deep({ kind: "field", n: null }), schema).value).toEqual(deep({ kind: "field" }));
    const hopeless = deep([{ n: "1" }, { kind: "field", n: "x" }]);
    expect(coerce(hopeless, schema)).toEqual({ value: hopeless, repairs: [] });
    expect(
      coerce({ ...deep({ kind: "field", n: "x" }), more: "1" }, { ...schema, additionalProperties: number }).repairs,
    ).toEqual([{ path: ["more"], before: "1", after: 1 }]);
  });

  it("gives up on what would take exponential time, and then changes nothing", () => {
    const branch = { type: "object", properties: { a: { $ref: "#" }, n: number }, required: ["never"] };
    const schema = { anyOf: [branch, { ...branch }, { ...branch }] };
    let value: unknown = { n: "1" };
    for (let depth = 0; depth < 60; depth++) value = { a: value };
    const begin = busyMs();
    const result = coerce(value, schema);
    expect(busyMs() - begin).toBeLessThan(3000);
    expect(result.value).toBe(value);
    expect(result.repairs).toEqual([]);
  });

  it("is quick for a text with line breaks and quotes that have no end", () => {
    const begin = busyMs();
    const value = { x: `["a\n${'\\"'.repeat(500_000)}` };
    expect(coerce(value, of({ type: "array" }))).toEqual({ value, repairs: [] });
    expect(busyMs() - begin).toBeLessThan(1000);
  });

  it("is quick for a number of very many digits", () => {
    const begin = busyMs();
    const value = { x: `1${"0".repeat(200_000)}1` };
    expect(coerce(value, of(number))).toEqual({ value, repairs: [] });
    expect(busyMs() - begin).toBeLessThan(2000);
  });

  it("takes time in line with the number of properties", () => {
    const names = Array.from({ length: 4000 }, (_, index) => `p${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, string]));
    const begin = busyMs();
    expect(mayForceNulls({ type: "object", properties, required: names })).toBe(false);
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    expect(dropNulls(nulls, { type: "object", properties }).value).toEqual({});
    expect(busyMs() - begin).toBeLessThan(1000);
  });

  it("takes time in line with the value", () => {
    const schema = of({ type: "array", items: number });
    const begin = busyMs();
    expect(coerce({ x: Array.from({ length: 200_000 }, () => "1") }, schema).repairs).toHaveLength(200_000);
    expect(busyMs() - begin).toBeLessThan(3000);
  });
});

describe("dropNulls()", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: {
      required: string,
      optional: string,
      nullable: { type: ["string", "null"] },
      nullableUnion: { anyOf: [string, { type: "null" }] },
      anything: {},
      never: { not: {} },
      choice: { enum: ["a", null] },
      openApi: { type: ["string", "number"], nullable: true },
      union: { anyOf: [string, number] },
      nested: { type: "object", properties: { a: string, b: string }, required: ["a"] },
      list: { type: "array", items: { $ref: "#/$defs/item" } },
      record: { type: "object", additionalProperties: { type: "object", properties: { a: string } } },
      either: {
        anyOf: [
          { type: "object", propertyNames: { enum: ["p", "q"] }, additionalProperties: number },
          { type: "object", properties: { a: number, b: number, c: { type: "null" } }, required: ["a", "c"] },
        ],
      },
      nulls: {
        anyOf: [
          { type: "object", propertyNames: { enum: ["p"] }, additionalProperties: { type: ["number", "null"] } },
          { type: "object", properties: { a: number, b: number }, required: ["a"] },
        ],
      },
      listed: { type: "object", propertyNames: { enum: ["a", "b"] }, additionalProperties: number, required: ["b"] },
      parts: { allOf: [{ properties: { a: string, b: string } }, { required: ["b"] }] },
      closed: {
        oneOf: [
          {
            type: "object",
            properties: { kind: { const: "a" }, n: number },
            required: ["kind"],
            additionalProperties: false,
          },
          {
            type: "object",
            properties: { kind: { const: "b" }, s: string },
            required: ["kind", "s"],
            additionalProperties: false,
          },
        ],
      },
      shape: {
        oneOf: [
          { type: "object", properties: { kind: { const: "circle" }, label: string }, required: ["kind"] },
          {
            type: "object",
            properties: { kind: { const: "square" }, label: { type: ["string", "null"] } },
            required: ["kind"],
          },
        ],
      },
    },
    required: ["required"],
    $defs: { item: { type: "object", properties: { a: string, next: { $ref: "#/$defs/item" } } } },
  };

  it.each<[string, unknown, unknown]>([
    ["drops an optional one", { required: "x", optional: null }, { required: "x" }],
    ["drops one that must not be there", { never: null }, {}],
    ["drops one whose alternatives take no null", { union: null }, {}],
    ["drops in objects", { nested: { a: "x", b: null } }, { nested: { a: "x" } }],
    [
      "drops in items, through references",
      { list: [{ a: null, next: { a: null, next: null } }] },
      { list: [{ next: {} }] },
    ],
    ["drops in records", { record: { k: { a: null } } }, { record: { k: {} } }],
    [
      "drops in the alternative whose names these are",
      { either: { a: 1, b: null, c: null } },
      { either: { a: 1, c: null } },
    ],
    [
      "drops in the alternative that lists these names",
      { either: { p: 1, q: null, a: null, b: null } },
      { either: { p: 1 } },
    ],
    [
      "drops where the other alternative takes null, but not these names",
      { nulls: { a: 1, b: null } },
      { nulls: { a: 1 } },
    ],
    ["drops in records with names of a list", { listed: { a: null, b: null } }, { listed: { b: null } }],
    ["drops through allOf, what none of the parts requires", { parts: { a: null, b: null } }, { parts: { b: null } }],
    [
      "drops in the alternative that was meant",
      { shape: { kind: "circle", label: null } },
      { shape: { kind: "circle" } },
    ],
    [
      "drops what only other alternatives know, and this one does not take",
      { closed: { kind: "a", n: null, s: null } },
      { closed: { kind: "a" } },
    ],
    [
      "drops it where the own ones are there",
      { closed: { kind: "b", n: null, s: "x" } },
      { closed: { kind: "b", s: "x" } },
    ],
    ["drops a whole optional object", { nested: null, list: null }, {}],
  ])("%s", (_name, before, after) => {
    const copy = structuredClone(before);
    const result = dropNulls(before, schema);
    expect(result.value).toEqual(after);
    expect(result.repairs.every((repair) => repair.before === null && repair.after === undefined)).toBe(true);
    expect(before).toEqual(copy);
    expect(mayForceNulls(schema)).toBe(true);
  });

  it.each<[string, boolean, JsonSchema]>([
    ["all properties are required", false, { type: "object", properties: { a: number }, required: ["a"] }],
    ["there are no names", false, { type: "object", propertyNames: { type: "string" }, additionalProperties: {} }],
    ["one is optional", true, { type: "object", properties: { a: number, b: number }, required: ["a"] }],
    ["one in an item is", true, { type: "array", items: { anyOf: [number, { properties: { a: number } }] } }],
    ["a listed name is", true, { type: "object", propertyNames: { enum: ["a"] }, additionalProperties: number }],
  ])("is worth while where %s: %s", (_name, expected, one) => {
    expect(mayForceNulls(one)).toBe(expected);
  });

  it.each<[string, unknown]>([
    ["a required one", { required: null }],
    ["one that may be null", { nullable: null, nullableUnion: null, anything: null, choice: null, openApi: null }],
    ["one that the schema does not list", { unknown: null, record: { k: null } }],
    ["a required one in an object", { nested: { a: null } }],
    ["an item", { list: [null] }],
    ["one that its alternative takes", { shape: { kind: "square", label: null } }],
    ["a value that another alternative knows", { closed: { kind: "a", s: "x" } }],
    ["what no alternative knows", { closed: { kind: "a", other: null } }],
    ["the root", null],
  ])("leaves %s", (_name, value) => {
    expect(dropNulls(value, schema)).toEqual({ value, repairs: [] });
  });

  it("reports the path", () => {
    expect(dropNulls({ list: [{}, { a: null }] }, schema).repairs).toEqual([
      { path: ["list", 1, "a"], before: null, after: undefined },
    ]);
    const closed = (name: string) => ({
      type: "object",
      properties: { [name]: number },
      required: [name],
      additionalProperties: false,
    });
    const { value, repairs } = dropNulls({ a: 1, b: null }, { anyOf: [closed("a"), closed("b")] });
    expect(value).toEqual({ a: 1 });
    expect(repairs).toEqual([{ path: ["b"], before: null, after: undefined }]);
  });

  it.each<[string, JsonSchema, unknown, unknown]>([
    [
      "than the one that knows another property",
      { anyOf: [object({ text: string, style: string }, ["text"]), object({ url: string })] },
      { text: "Hello", style: null },
      { text: "Hello" },
    ],
    [
      "than the one that knows fewer",
      { anyOf: [object({ id: string }, ["id"]), object({ id: string, name: string, note: string }, ["id"])] },
      { id: "1", name: "Ann", note: null },
      { id: "1", name: "Ann" },
    ],
    [
      "than the one whose own object knows fewer",
      {
        oneOf: [
          object({ file: object({ path: string }) }),
          object({ file: object({ path: string, line: number, column: number }) }),
        ],
      },
      { file: { path: "a.ts", line: 5, column: null } },
      { file: { path: "a.ts", line: 5 } },
    ],
    [
      "than the one that knows more in an object of it",
      {
        anyOf: [
          object({ file: object({ path: string, line: number }), note: object({ text: string }) }),
          object({ file: object({ path: string }), note: { type: ["string", "null"] } }, ["file"]),
        ],
      },
      { file: { path: null }, note: null },
      { file: {}, note: null },
    ],
    [
      "than the one that takes the null of its own, and knows nothing of the other",
      { anyOf: [object({ a: { type: ["string", "null"] } }), object({ a: string, b: string })] },
      { a: null, b: null },
      {},
    ],
    [
      "where the rest stands beside the union",
      {
        ...object({ id: string, kind: string }, ["id"]),
        anyOf: [object({ text: string, style: string }, ["text"]), object({ url: string })],
      },
      { id: "1", kind: null, text: "Hello", style: null },
      { id: "1", text: "Hello" },
    ],
  ])("finds the alternative that forced them sooner %s", (_name, one, before, after) => {
    expect(dropNulls({ x: before }, of(one)).value).toEqual({ x: after });
  });

  it.each<[string, JsonSchema]>([
    ["a record", { type: "object", additionalProperties: { type: ["number", "null"] } }],
    ["a record whose names have a pattern", { type: "object", properties: {}, patternProperties: { "^a": {} } }],
    ["any object", { type: "object" }],
    ["any value", {}],
  ])("leaves them where an alternative is %s", (_name, other) => {
    const value = { x: { a: null } };
    expect(dropNulls(value, of({ anyOf: [object({ a: string }), other] })).repairs).toEqual([]);
  });

  it("gives back what a model would have written without strict mode", () => {
    const leaf = fc.constantFrom<Shape>("string", "number");
    const shapes = (inner: fc.Arbitrary<Shape>) =>
      fc.dictionary(fc.constantFrom("a", "b", "c"), fc.record({ shape: inner, required: fc.boolean() }), {
        minKeys: 1,
        maxKeys: 3,
      });
    const branches = fc.array(shapes(fc.oneof(leaf, fc.constant("nullable"), shapes(leaf))), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(branches, fc.infiniteStream(fc.boolean()), (given, coins) => {
        const { value, forced } = written(given[0]!, () => coins.next().value as boolean);
        const all = given.map(schemaOf);
        const takes = (rewrites: Rewrite[]) =>
          all.filter((one) => toSchema(lowerSchema(one, rewrites).schema).validate(forced).ok).length;
        const isPlain = JSON.stringify(forced) !== JSON.stringify(value) && takes([closeObjects]) > 0;
        fc.pre(!isPlain && takes([closeObjects, requireAll]) === 1);
        // Not always the first of them.
        const union = { anyOf: [...all.slice(1), ...all.slice(0, 1)] };
        expect(dropNulls({ x: forced }, of(union)).value).toEqual({ x: value });
      }),
      { numRuns: 300 },
    );
  });

  it("changes no string", () => {
    expect(dropNulls({ optional: "null", nested: '{"b":null}' }, schema).repairs).toEqual([]);
  });
});

it("never throws and never changes its input, whatever the value", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: { a: number, b: { type: "array", items: { $ref: "#" } }, c: { anyOf: [boolean, { $ref: "#" }] } },
    additionalProperties: { $ref: "#" },
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const before = JSON.stringify(value);
      coerce(dropNulls(value, schema).value, schema);
      expect(JSON.stringify(value)).toBe(before);
    }),
  );
});
