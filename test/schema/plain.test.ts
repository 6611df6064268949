import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { coerce, toSchema, type JsonSchema } from "../../src/schema/index.ts";
import { withDiscriminators } from "../../src/schema/discriminators.ts";
import { lowerSchema } from "../../src/schema/lower.ts";
import { keepLocalRefs } from "../../src/schema/rewrites.ts";
import { busyMs } from "../busy-ms.ts";

const order: JsonSchema = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 2 },
    count: { type: "integer", minimum: 1, exclusiveMaximum: 10, multipleOf: 3 },
    unit: { enum: ["celsius", "fahrenheit"] },
    note: { type: ["string", "null"], maxLength: 4 },
    code: { type: "string", pattern: "^[A-Z]+$" },
    day: { type: "string", format: "date" },
    list: { type: "array", items: { $ref: "#/$defs/item" }, maxItems: 2, uniqueItems: true },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    shape: {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "circle" }, radius: { type: "number" } },
          required: ["kind", "radius"],
        },
        {
          type: "object",
          properties: { kind: { const: "square" }, side: { type: "number" } },
          required: ["kind", "side"],
        },
      ],
    },
    map: {
      type: "object",
      propertyNames: { maxLength: 3 },
      additionalProperties: { type: "number" },
      minProperties: 1,
    },
    banned: false,
    card: { dependentRequired: { number: ["cvc"] } },
    not: { not: { required: ["from", "since"] } },
    some: { contains: { const: 1 } },
    few: { contains: { type: "number" }, minContains: 2, maxContains: 2 },
    version: { const: 2 },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: { item: { type: "object", properties: { id: { type: "number" } }, required: ["id"] } },
};

function issues(schema: JsonSchema, value: unknown): string[] {
  const result = toSchema(schema).validate(value);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("what the model is told", () => {
  it.each<[unknown, string[]]>([
    [{ city: "Oslo", count: 3, unit: "celsius", note: null, list: [{ id: 1 }], either: 1, map: { a: 1 } }, []],
    [{}, ['city: the required property "city" is missing']],
    [{ city: 1 }, ["city: must be a string, got a number"]],
    [{ city: null }, ["city: must be a string, got null"]],
    [{ city: "x" }, ["city: must have at least 2 characters, has 1"]],
    [{ city: "Oslo", count: 1.5 }, ["count: must be an integer, got 1.5", "count: must be a multiple of 3, got 1.5"]],
    [{ city: "Oslo", count: 0 }, ["count: must be at least 1, got 0"]],
    [{ city: "Oslo", count: 12 }, ["count: must be less than 10, got 12"]],
    [{ city: "Oslo", unit: "kelvin" }, ['unit: must be one of "celsius", "fahrenheit", got "kelvin"']],
    [{ city: "Oslo", note: true }, ["note: must be a string or null, got a boolean"]],
    [{ city: "Oslo", note: "too long" }, ["note: must have at most 4 characters, has 8"]],
    [{ city: "Oslo", code: "abc" }, ['code: must match the pattern ^[A-Z]+$, got "abc"']],
    [{ city: "Oslo", day: "today" }, ['day: must be a valid date, got "today"']],
    // Servers refuse a request with half a character in it.
    [
      { city: "Oslo", day: `${"x".repeat(75)}😀 and more` },
      [`day: must be a valid date, got "${"x".repeat(75)}\ufffd...`],
    ],
    [{ city: "Oslo", list: {} }, ["list: must be an array, got an object"]],
    [
      { city: "Oslo", list: [{}, { id: "1" }] },
      ['list.0.id: the required property "id" is missing', "list.1.id: must be a number, got a string"],
    ],
    [{ city: "Oslo", list: [{ id: 1 }, { id: 1 }] }, ["list: must have no equal items, items 0 and 1 are"]],
    [{ city: "Oslo", list: [{ id: 1 }, { id: 2 }, { id: 3 }] }, ["list: must have at most 2 items, has 3"]],
    [{ city: "Oslo", either: null }, ["either: must be a string or a number, got null"]],
    [{ city: "Oslo", shape: { kind: "circle", radius: "1" } }, ["shape.radius: must be a number, got a string"]],
    [{ city: "Oslo", shape: { kind: "line" } }, ['shape.kind: must be one of "circle", "square", got "line"']],
    [
      { city: "Oslo", shape: {} },
      [expect.stringMatching(/^shape: fits none of the 2 alternatives \(.*"kind" is missing/) as unknown as string],
    ],
    [
      { city: "Oslo", map: { long: 1, b: "x" } },
      ["map.long: the property name must have at most 3 characters, has 4", "map.b: must be a number, got a string"],
    ],
    [{ city: "Oslo", map: {} }, ["map: must have at least 1 property, has 0"]],
    [{ city: "Oslo", banned: 1 }, ['banned: the property "banned" is not allowed']],
    [{ city: "Oslo", card: { number: 1 } }, ['card.cvc: the property "cvc" is missing, which "number" needs']],
    [
      { city: "Oslo", not: { from: 1, since: 2 } },
      ['not: must not be {"from":1,"since":2}: the schema excludes {"required":["from","since"]}'],
    ],
    [{ city: "Oslo", some: [] }, ['some: must have an item that fits {"const":1}']],
    [{ city: "Oslo", some: [2] }, ['some: must have an item that fits {"const":1}']],
    [{ city: "Oslo", few: [1] }, ['few: must have at least 2 items that fit {"type":"number"}']],
    // Not that "x" must be a number: it need not.
    [{ city: "Oslo", few: ["x", 1] }, ['few: must have at least 2 items that fit {"type":"number"}']],
    [{ city: "Oslo", few: [1, 2, 3] }, ['few: must have at most 2 items that fit {"type":"number"}']],
    [{ city: "Oslo", version: 1 }, ["version: must be 2, got 1"]],
    [
      { city: "Oslo", town: 1 },
      [expect.stringMatching(/^town: unknown property "town"; known are "city", "count"/) as unknown as string],
    ],
    ["Oslo", [": must be an object, got a string"]],
    [[], [": must be an object, got an array"]],
    [undefined, [": must be a JSON value, got undefined"]],
    [{ city: () => {} }, [": must be a JSON value, got function"]],
    [{ city: "Oslo", map: { a: 1n } }, [": must be a JSON value, got bigint"]],
    [{ city: "Oslo", "\ud800": 1 }, [": a property name holds half a character (a lone surrogate)"]],
  ])("%o", (value, expected) => {
    expect(issues(order, value)).toEqual(expected);
  });

  it("says each thing once, where two parts of the schema say the same", () => {
    const schema = { allOf: [{ properties: { a: { type: "string" } } }, { properties: { a: { type: "string" } } }] };
    expect(issues(schema, { a: 1 })).toEqual(["a: must be a string, got a number"]);
  });

  it("follows if / then / else, dependent schemas and tuples", () => {
    const schema: JsonSchema = {
      if: { properties: { a: { const: 1 } }, required: ["a"] },
      // oxlint-disable-next-line unicorn/no-thenable
      then: { required: ["b"] },
      else: { required: ["c"] },
      dependentSchemas: { d: { required: ["e"] } },
      properties: { t: { prefixItems: [{ type: "string" }], items: false } },
    };
    expect(issues(schema, { a: 1 })).toEqual(['b: the required property "b" is missing']);
    expect(issues(schema, { c: 1, d: 1 })).toEqual(['e: the required property "e" is missing']);
    expect(issues(schema, { c: 1, t: [1, 2] })).toEqual([
      "t.0: must be a string, got a number",
      "t.1: there may be no item 1",
    ]);
  });

  it("speaks of unknown properties in alternatives, and of what is forbidden as a whole", () => {
    const closed = (name: string) => ({ type: "object", properties: { [name]: {} }, additionalProperties: false });
    expect(issues({ anyOf: [closed("a"), closed("b")] }, { c: 1 })).toEqual([
      ': fits none of the 2 alternatives (c: unknown property "c"; known is "a"; c: unknown property "c"; known is "b")',
    ]);
    expect(issues({ properties: { a: { anyOf: [{ type: "string" }, closed("b")] } } }, { a: { c: 1 } })).toEqual([
      'a.c: unknown property "c"; known is "b"',
    ]);
    expect(issues({ properties: { a: { oneOf: [{ type: "number" }, { enum: [1] }] } } }, { a: 1 })).toEqual([
      "a: fits more than one of the alternatives, must fit one",
    ]);
    expect(issues({ if: { required: ["a"] }, else: false }, {})).toEqual([": nothing is allowed here"]);
    expect(issues({ allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1, b: 1 })).toEqual([
      'b: unknown property "b"',
    ]);
    const either = { anyOf: [{ properties: { a: { type: "string" } } }], unevaluatedProperties: false };
    expect(issues(either, { a: 1 })).toEqual(["a: must be a string, got a number"]);
    expect(issues({ type: "object", additionalProperties: false }, { b: 1 })).toEqual(['b: unknown property "b"']);
  });

  it("names one alternative that a property name may fit, not all of them", () => {
    const propertyNames = { anyOf: [{ pattern: "^a" }, { maxLength: 1 }] };
    expect(issues({ properties: { map: { propertyNames } } }, { map: { a1: 1, b: 1, cd: 1 } })).toEqual([
      'map.cd: the property name fits none of the 2 alternatives (must match the pattern ^a, got "cd"; must have at most 1 character, has 2)',
    ]);
    const names = { anyOf: [{ const: "a" }, { const: "b" }] };
    expect(issues({ properties: { map: { propertyNames: names } } }, { map: { c: 1 } })).toEqual([
      'map.c: the property name must be one of "a", "b", got "c"',
    ]);
    const map = { propertyNames: false, additionalProperties: { type: "number" } };
    expect(issues({ properties: { map } }, { map: { a: true } })).toEqual([
      "map.a: the property name is not allowed",
      "map.a: must be a number, got a boolean",
    ]);
  });

  it("takes a property named $ref for a property", () => {
    expect(issues({ properties: { $ref: { type: "string" } } }, { $ref: 1 })).toEqual([
      "$ref: must be a string, got a number",
    ]);
  });

  it.each<[string, JsonSchema[], unknown, string]>([
    [
      "a nullable object with a list of values",
      [{ type: "object", properties: { unit: { enum: ["m", "km"] } } }, { type: "null" }],
      { unit: "x" },
      'at.unit: must be one of "m", "km", got "x"',
    ],
    [
      "a nullable list of values",
      [{ enum: ["m", "km"] }, { type: "null" }],
      "x",
      'at: must be one of "m", "km", got "x"',
    ],
    [
      "an object or a constant",
      [{ const: "none" }, { type: "object", properties: { a: { type: "string" } } }],
      { a: 1 },
      "at.a: must be a string, got a number",
    ],
    [
      "not a constant, which the value is not, next to something else",
      [{ const: "all" }, { type: "array", items: { type: "string" } }],
      "id1",
      'at: fits none of the 2 alternatives (must be "all", got "id1"; must be an array, got a string)',
    ],
    ["the only one", [{ if: { type: "object" }, else: { minimum: 1 } }], 0, "at: must be at least 1, got 0"],
    [
      "of two, both fit",
      [{ oneOf: [{ type: "number" }, { minimum: 0 }] }, { type: "null" }],
      5,
      "at: fits more than one of the alternatives, must fit one",
    ],
    [
      "of three, two fit",
      [{ oneOf: [{ type: "number" }, { minimum: 0 }, { type: "null" }, false as never] }, { type: "null" }],
      5,
      "at: fits more than one of the alternatives, must fit one",
    ],
    [
      "two types, one of them behind a reference",
      [{ $ref: "#/$defs/text" }, { type: "number" }],
      null,
      "at: must be a string or a number, got null",
    ],
    [
      "two kinds of strings",
      [{ enum: ["m", "km"] }, { pattern: "^x" }],
      "y",
      'at: fits none of the 2 alternatives (must be one of "m", "km", got "y"; must match the pattern ^x, got "y")',
    ],
  ])("says what is wrong with the alternative of the same type, if there is one: %s", (_, anyOf, at, message) => {
    const $defs = { text: { type: "string" } };
    expect(issues({ properties: { at: { anyOf } }, $defs }, { at })).toEqual([message]);
  });

  it("does not call unknown what a part of the schema knows, and what does not fit it", () => {
    const parts = [
      { properties: { a: { type: "string" } } },
      { properties: { b: { properties: { c: { type: "number" } } } } },
    ];
    const schema = { type: "object", allOf: parts, unevaluatedProperties: false };
    expect(issues(schema, { a: 1, b: { c: "x" }, d: 1 })).toEqual([
      "a: must be a string, got a number",
      "b.c: must be a number, got a string",
      'd: unknown property "d"',
    ]);
    const list = { properties: { l: { allOf: [{ prefixItems: [{ type: "string" }] }], unevaluatedItems: false } } };
    expect(issues(list, { l: [1, 2] })).toEqual(["l.0: must be a string, got a number", "l.1: there may be no item 1"]);
  });

  it("takes a property that is undefined, in a value made by hand, for absent", () => {
    const schema = toSchema({ type: "object", properties: { a: { type: "string" } }, additionalProperties: false });
    expect(schema.validate({ a: undefined, b: undefined })).toEqual({ ok: true, value: {} });
  });
});

describe("property names that objects are born with", () => {
  const schema: JsonSchema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"number"},"constructor":{"type":"string"}},"required":["__proto__","toString"]}',
  );

  it("are own properties in the schema", () => {
    expect(Object.keys(toSchema(schema).jsonSchema["properties"] as object)).toEqual(["__proto__", "constructor"]);
  });

  it("are missing unless they are own properties of the value", () => {
    expect(issues(schema, {})).toEqual([
      '__proto__: the required property "__proto__" is missing',
      'toString: the required property "toString" is missing',
    ]);
    expect(issues(schema, JSON.parse('{"__proto__":1,"toString":1,"constructor":"x"}'))).toEqual([]);
    expect(issues(schema, JSON.parse('{"__proto__":"1","toString":1}'))).toEqual([
      "__proto__: must be a number, got a string",
    ]);
  });

  it("are unknown where the schema knows others only", () => {
    const closed = { type: "object", properties: { a: {} }, additionalProperties: false };
    expect(issues(closed, JSON.parse('{"__proto__":{"a":1},"constructor":1}'))).toEqual([
      '__proto__: unknown property "__proto__"; known is "a"',
      'constructor: unknown property "constructor"; known is "a"',
    ]);
  });
});

describe("a schema that cannot be used says so when it is defined:", () => {
  it.each<[JsonSchema, RegExp]>([
    [{ $ref: "http://example.com/schema.json" }, /http:\/\/example\.com\/schema\.json.*nothing is fetched/],
    [{ properties: { a: { $ref: "#/$defs/missing" } } }, /#\/\$defs\/missing/],
    [{ properties: { a: { $ref: 1 } } }, /#\/properties\/a\/\$ref: is a string/],
    [{ $ref: "#" }, /leads back to itself/],
    [
      { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ $ref: "#/$defs/a" }] } } },
      /leads back/,
    ],
    [{ dependentSchemas: { a: { $ref: "#" } } }, /leads back/],
    [{ $schema: "http://json-schema.org/draft-07/schema#", dependencies: { a: { $ref: "#" } } }, /leads back/],
    [{ properties: { a: { $dynamicRef: "#node" } } }, /dynamic/],
    [{ properties: { a: { pattern: "(" } } }, /#\/properties\/a\/pattern.*not a regular expression/],
    [{ patternProperties: { "[": {} } }, /not a regular expression/],
    [{ properties: { a: { type: [] } } }, /#\/properties\/a\/type: \[\] is not a JSON Schema type/],
    [{ properties: { a: { type: "dict" } } }, /"dict" is not a JSON Schema type.*object, array/],
    [{ properties: { a: "string" } }, /#\/properties\/a: a schema is an object or a boolean, got "string"/],
    [{ properties: [] }, /#\/properties: is an object of schemas/],
    [{ properties: { a: { required: true } } }, /list of property names, got true/],
    [{ properties: { a: { enum: "x" } } }, /#\/properties\/a\/enum/],
    [{ properties: { a: { anyOf: [] } } }, /#\/properties\/a\/anyOf/],
    [{ properties: { a: { minimum: "1" } } }, /is a number, got "1"/],
    [{ properties: { a: { exclusiveMinimum: true } } }, /draft-04/],
    [{ properties: { a: { $id: "urn:a", type: "null" }, b: { $id: "urn:a" } } }, /cannot be read: Duplicate.*"urn:a"/],
    [{ properties: { a: { $id: "http://[" } } }, /cannot be read: .*URL/],
  ])("%j", (schema, message) => {
    expect(() => toSchema(schema)).toThrow(
      expect.objectContaining({ code: "invalid_tool", message: expect.stringMatching(message) }),
    );
  });

  it("one that contains itself, or is endless", () => {
    const cyclic: Record<string, unknown> = { type: "object" };
    cyclic["properties"] = { self: cyclic };
    expect(() => toSchema(cyclic)).toThrow(expect.objectContaining({ code: "invalid_tool" }));
    let deep: JsonSchema = {};
    for (let depth = 0; depth < 300; depth++) deep = { properties: { a: deep } };
    expect(() => toSchema(deep)).toThrow(/nested deeper than 200/);
    let other: unknown = null;
    for (let depth = 0; depth < 2000; depth++) other = { a: other };
    expect(toSchema({ type: "object", components: other }).validate({})).toMatchObject({ ok: true });
    const chain = (length: number, more: JsonSchema[]) => {
      const parts = (index: number) => [...(index < length ? [{ $ref: `#/$defs/${index + 1}` }] : []), ...more];
      const all = Array.from({ length: length + 1 }, (_, index) => [index, { allOf: [{}, ...parts(index)] }]);
      return { $ref: "#/$defs/0", $defs: Object.fromEntries(all) };
    };
    expect(toSchema(chain(100, [{ properties: { a: { $ref: "#/$defs/0" } } }])).validate({ a: {} }).ok).toBe(true);
    expect(() => toSchema(chain(5000, []))).toThrow(expect.objectContaining({ code: "invalid_tool" }));
    expect(() => toSchema({ minimum: 1n as never })).toThrow(
      expect.objectContaining({ code: "invalid_tool", message: expect.stringContaining("BigInt") }),
    );
    const groups = `${"(".repeat(10_000)}a${")".repeat(10_000)}`;
    expect(() => toSchema({ pattern: groups })).toThrow(/#\/pattern: the pattern/);
  });
});

it("never fetches a reference", async () => {
  let hits = 0;
  const server = createServer((_request, response) => {
    hits++;
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expect(() => toSchema({ $ref: `http://127.0.0.1:${port}/schema.json` })).toThrow(/nothing is fetched/);
  await new Promise((resolve) => setTimeout(resolve, 50));
  server.close();
  expect(hits).toBe(0);
});

describe("drafts", () => {
  it("reads draft-07 where $schema says so: siblings of $ref do not count, items may be a list", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { name: { type: "string" } },
      properties: {
        a: { $ref: "#/definitions/name", minLength: 5 },
        t: { items: [{ type: "string" }], additionalItems: false },
      },
      dependencies: { a: ["t"] },
    };
    expect(issues(schema, { a: "x", t: ["a"] })).toEqual([]);
    expect(issues(schema, { a: "x" })).toEqual(['t: the property "t" is missing, which "a" needs']);
    expect(issues(schema, { t: ["a", 1] })).toHaveLength(1);
    expect(toSchema(schema).jsonSchema).not.toHaveProperty("$schema");
  });

  it("reads draft-04's exclusive bounds", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-04/schema#",
      properties: { a: { minimum: 1, exclusiveMinimum: true } },
    };
    expect(issues(schema, { a: 1 })).toEqual(["a: must be more than 1, got 1"]);
  });

  it("shows what draft-04 says as later drafts say it: providers refuse a request with an exclusiveMinimum that is true", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "https://example.com/order",
      properties: {
        a: { minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
        b: { $ref: "#/components/schemas/limit" },
        c: { $ref: "#name" },
        d: { exclusiveMaximum: true },
        id: { type: "string", default: { minimum: 1, exclusiveMinimum: true } },
      },
      definitions: { name: { id: "#name", type: "string" } },
      components: { schemas: { limit: { maximum: 9, exclusiveMaximum: true }, id: { type: "null" } } },
    };
    expect(issues(schema, { a: 1, b: 9, c: 1, d: 1, id: "x" })).toEqual([
      "a: must be more than 1, got 1",
      "b: must be less than 9, got 9",
      "c: must be a string, got a number",
    ]);
    expect(issues(schema, { a: 5, b: 8.9 })).toEqual([]);
    expect(issues(schema, { a: 6 })).toEqual(["a: must be at most 5, got 6"]);
    expect(toSchema(schema).jsonSchema).toEqual({
      $id: "https://example.com/order",
      properties: {
        a: { exclusiveMinimum: 1, maximum: 5 },
        b: { $ref: "#/components/schemas/limit" },
        c: { $ref: "#name" },
        d: {},
        id: { type: "string", default: { minimum: 1, exclusiveMinimum: true } },
      },
      definitions: { name: { $id: "#name", type: "string" } },
      components: { schemas: { limit: { exclusiveMaximum: 9 }, id: { type: "null" } } },
    });
  });

  it("takes an id, that generators write everywhere, for no name of draft-07 and later", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      id: "https://example.com/root.json",
      properties: { a: { id: "/properties/a", properties: { b: { $ref: "#/definitions/text" } } } },
      definitions: { text: { type: "string" } },
    };
    expect(issues(schema, { a: { b: 1 } })).toEqual(["a.b: must be a string, got a number"]);
  });

  it("lets a reference come back to its schema through a property, in a part of it", () => {
    const schema = {
      $ref: "#/$defs/node",
      $defs: { node: { allOf: [{ properties: { next: { $ref: "#/$defs/node" }, id: { type: "string" } } }] } },
    };
    expect(issues(schema, { next: { next: { id: 1 } } })).toEqual(["next.next.id: must be a string, got a number"]);
  });

  it("follows a $recursiveRef of 2019-09 to the root, and refuses another one", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      properties: { next: { $recursiveRef: "#" }, id: { maxLength: 1 } },
    };
    expect(issues(schema, { next: { next: { id: "long" } } })).toEqual([
      "next.next.id: must have at most 1 character, has 4",
    ]);
    expect(() => toSchema({ properties: { next: { $recursiveRef: "#/$defs/a" } } })).toThrow(/a \$recursiveRef is "#"/);
  });

  it("compares constants and listed values whole, whatever is in them", () => {
    const given = { type: "x", $ref: "#/nowhere", list: [{ properties: 1 }] };
    const schema = { properties: { a: { const: given }, b: { enum: [given, null] } } };
    expect(issues(schema, { a: { ...given }, b: { ...given } })).toEqual([]);
    expect(issues(schema, { a: { ...given, more: 1 } })).toHaveLength(1);
    expect(issues(schema, { b: { ...given, list: [] } })).toHaveLength(1);
  });

  it("takes a schema that says nothing but which properties need which", () => {
    expect(issues({ dependentRequired: { a: ["b"] } }, { a: 1 })).toEqual([
      'b: the property "b" is missing, which "a" needs',
    ]);
  });

  it("says of a list in which too few fit only that, wherever it stands", () => {
    const few = { contains: { $ref: "#/$defs/item" }, minContains: 1 };
    const schema = {
      properties: { a: { $ref: "#/$defs/few" }, contains: { $ref: "#/$defs/few" }, b: { items: { type: "string" } } },
      $defs: { few, item: { properties: { id: { type: "string" } }, required: ["id"] } },
    };
    expect(issues(schema, { a: [{}, { id: 1 }], contains: [{}], b: [3] })).toEqual([
      expect.stringMatching(/^a: must have at least 1 item that fit/),
      expect.stringMatching(/^contains: must have at least 1 item that fit/),
      "b.0: must be a string, got a number",
    ]);
  });

  it("checks the parts of a list whose items are unique, too", () => {
    const schema = { properties: { list: { uniqueItems: true, allOf: [{ minItems: 2 }] } } };
    expect(issues(schema, { list: [1] })).toEqual(["list: must have at least 2 items, has 1"]);
    expect(issues(schema, { list: [1, 1] })).toEqual(["list: must have no equal items, items 0 and 1 are"]);
  });

  it("reads OpenAPI's nullable: what a provider is told of has to hold", () => {
    const schema = toSchema({
      type: "object",
      properties: {
        a: { type: "string", nullable: true },
        b: { type: ["integer", "null"], nullable: true },
        c: { type: "string", nullable: false },
        d: { nullable: true, anyOf: [{ type: "string" }, { type: "null" }] },
        e: { type: ["string", "integer"], nullable: true },
      },
    });
    expect(schema.validate({ d: "x" }).ok).toBe(true);
    expect(schema.validate({ a: null, b: null, e: null }).ok).toBe(true);
    expect(schema.validate({ e: 1 }).ok).toBe(true);
    expect(schema.validate({ e: true }).ok).toBe(false);
    expect(schema.validate({ a: 5 })).toMatchObject({
      issues: [{ message: "must be a string or null, got a number" }],
    });
    expect(schema.validate({ c: null })).toMatchObject({ issues: [{ message: "must be a string, got null" }] });
  });

  describe("the discriminator of OpenAPI beside a oneOf", () => {
    const pet = { type: "object", properties: { kind: { type: "string" } }, required: ["kind"] };
    const $defs = { Cat: pet, Dog: { ...pet, properties: { ...pet.properties, barks: { type: "boolean" } } } };
    const branches = ["Cat", "Dog"].map((name) => ({ $ref: `#/$defs/${name}` }));
    const discriminated = (mapping?: Record<string, unknown>, oneOf: unknown[] = branches) =>
      ({ $defs, oneOf, discriminator: { propertyName: "kind", ...(mapping && { mapping }) } }) satisfies JsonSchema;

    it("tells by the names in its mapping which alternative is meant", () => {
      const schema = discriminated({ cat: "#/$defs/Cat", dog: "Dog", wolf: "#/$defs/Dog" });
      expect(issues(schema, { kind: "cat" })).toEqual([]);
      expect(issues(schema, { kind: "wolf", barks: true })).toEqual([]);
      expect(issues(schema, { kind: "dog", barks: 1 })).toEqual(["barks: must be a boolean, got a number"]);
      expect(issues(schema, { kind: "fox" })).toEqual(['kind: must be one of "cat", "dog", "wolf", got "fox"']);
    });

    it.each<[string, Record<string, unknown> | undefined]>([
      ["no mapping, since converters rename schemas", undefined],
      ["a mapping of other schemas", { fox: "#/$defs/Fox", at: "t", odd: 7 }],
    ])("lets an input fit several where there is %s", (_, mapping) => {
      const schema = toSchema(discriminated(mapping));
      expect(schema.validate({ kind: "anything" }).ok).toBe(true);
      expect(schema.validate({ barks: true }).ok).toBe(false);
    });

    it("changes nothing where the alternatives have constants, or what they refer to has", () => {
      const own = branches.map((branch, i) => ({ allOf: [branch, { properties: { kind: { const: `k${i}` } } }] }));
      const defs = { ...$defs, ...Object.fromEntries(own.map((one, i) => [`Own${i}`, one])) };
      const refs = own.map((_, i) => ({ $ref: `#/$defs/Own${i}` }));
      for (const oneOf of [own, refs, [own[0], refs[1]]]) {
        const schema = { ...discriminated({ cat: "Cat", own: "Own1" }, oneOf), $defs: defs };
        expect(toSchema(schema).jsonSchema).toMatchObject({ oneOf });
      }
    });

    it("takes the names for the values among those that all alternatives list", () => {
      const Pet = { ...pet, properties: { kind: { enum: ["cat", "dog", "fox"] } } };
      const child = { allOf: [{ $ref: "#/$defs/Pet" }] };
      const schema = { ...discriminated({ cat: "Cat", dog: "Dog" }), $defs: { Pet, Cat: child, Dog: child } };
      expect(issues(schema, { kind: "cat" })).toEqual([]);
      expect(issues(schema, { kind: "fox" })).toEqual(['kind: must be one of "cat", "dog", got "fox"']);
    });

    it("takes no names for values of another type, nor for other constants", () => {
      const number = { ...pet, properties: { kind: { type: "integer" } } };
      const numbers = { ...discriminated({ 0: "Cat", 1: "Dog" }), $defs: { Cat: number, Dog: number } };
      expect(issues(numbers, { kind: 0 })).toEqual([]);
      const constant = { ...pet, properties: { kind: { const: "CAT" } } };
      const schema = { ...discriminated({ cat: "Cat", dog: "Dog" }), $defs: { Cat: constant, Dog: pet } };
      expect(issues(schema, { kind: "CAT" })).toEqual([]);
    });

    it("leaves references alone whose targets have constants, beside null too", () => {
      const [Cat, Dog] = ["cat", "dog"].map((kind) => ({ ...pet, properties: { kind: { const: kind } } }));
      const schema = discriminated({ cat: "Cat", dog: "Dog" }, [...branches, { type: "null" }]);
      const { jsonSchema } = toSchema({ ...schema, $defs: { Cat, Dog } });
      expect(jsonSchema).toMatchObject({ anyOf: [...branches, { type: "null" }] });
    });

    it.each([{}, { nullable: true }])("is followed by references to an alternative: %j", (beside) => {
      const discriminator = { propertyName: "kind" };
      const first = { oneOf: [pet, { type: "object", required: ["name"] }], discriminator, ...beside };
      const schema = { type: "object", properties: { first, second: { $ref: "#/properties/first/oneOf/0" } } };
      expect(issues(schema, { first: { kind: "cat", name: "Tom" }, second: { kind: "dog" } })).toEqual([]);
      expect(issues(schema, { second: {} })).toEqual(['second.kind: the required property "kind" is missing']);
    });

    it("is read in time where schemas refer to one another", () => {
      const names = Array.from({ length: 300 }, (_, i) => `S${i}`);
      const allOf = names.map((name) => ({ $ref: `#/$defs/${name}` }));
      const oneOf = allOf.slice(0, 2);
      const schema = { oneOf, discriminator: { propertyName: "kind" } };
      const all = Object.fromEntries(names.map((name) => [name, { allOf }]));
      const begin = busyMs();
      withDiscriminators({ ...schema, $defs: all });
      expect(busyMs() - begin).toBeLessThan(500);
    });

    it("reads what is nullable besides", () => {
      const oneOf = { oneOf: branches, discriminator: { propertyName: "kind" }, nullable: true };
      const schema = toSchema({ $defs, type: "object", properties: { pet: oneOf } });
      expect(schema.validate({ pet: null }).ok).toBe(true);
      expect(schema.validate({ pet: { kind: "cat" } }).ok).toBe(true);
    });

    it("is no such thing without a name, or beside another union", () => {
      const odd = { oneOf: branches, discriminator: "kind" };
      const beside = { oneOf: branches, anyOf: [true], discriminator: { propertyName: "kind" } };
      const unnamed = { oneOf: branches, discriminator: { mapping: {} } };
      const schema = { $defs, type: "object", properties: { odd, beside, unnamed } };
      const value = { kind: "cat" };
      const message = "fits more than one of the alternatives, must fit one";
      expect(issues(schema, { odd: value, beside: value, unnamed: value })).toEqual(
        ["odd", "beside", "unnamed"].map((name) => `${name}: ${message}`),
      );
    });
  });

  it("reads nullable beside a reference or a union, where zod-to-json-schema and OpenAPI generators put it", () => {
    const string = { type: "string" };
    const schema = toSchema({
      type: "object",
      properties: {
        owner: { allOf: [{ $ref: "#/components/schemas/Owner" }], nullable: true, description: "Who pays." },
        again: { $ref: "#/components/schemas/Owner", nullable: true },
        either: { anyOf: [string, { type: "number" }], nullable: true },
        one: { oneOf: [string, { type: "null" }], nullable: true },
        never: { anyOf: [string], nullable: false },
        same: { $ref: "#/properties/either/anyOf/1" },
      },
      components: { schemas: { Owner: { type: "object", properties: { id: string }, required: ["id"] } } },
    });
    expect(schema.validate({ owner: null, again: null, either: null, one: null }).ok).toBe(true);
    expect(schema.validate({ owner: {}, again: 1, either: true, never: null, same: "1" })).toMatchObject({
      issues: [
        { path: ["owner", "id"], message: 'the required property "id" is missing' },
        { path: ["again"], message: "must be an object or null, got a number" },
        { path: ["either"], message: "must be a string, a number or null, got a boolean" },
        { path: ["never"], message: "must be a string, got null" },
        { path: ["same"], message: "must be a number, got a string" },
      ],
    });
    expect(schema.jsonSchema["properties"]).toMatchObject({
      owner: {
        anyOf: [{ allOf: [{ $ref: "#/components/schemas/Owner" }] }, { type: "null" }],
        description: "Who pays.",
      },
      either: { anyOf: [string, { type: "number" }, { type: "null" }] },
    });
  });

  it("follows references into what is nullable, as zod-to-json-schema refers to a schema that came before", () => {
    const owner = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
    const paid = { type: "object", properties: { by: { oneOf: [owner, { type: "number" }], nullable: true } } };
    const schema = toSchema({
      type: "object",
      properties: {
        first: { allOf: [owner, paid], nullable: true },
        second: { $ref: "#/properties/first/allOf/0" },
        third: { $ref: "#/properties/first/allOf/1/properties/by/oneOf/0", nullable: true },
        fourth: { $ref: "#/properties/third" },
        allOf: { $ref: "#/properties/first/allOf/1/properties/by" },
      },
    });
    expect(schema.validate({ first: null, second: { id: "1" }, third: null, fourth: null, allOf: null }).ok).toBe(true);
    const wrong = { first: { id: "1", by: true }, second: null, third: {}, fourth: {}, allOf: "1" };
    expect(schema.validate(wrong)).toMatchObject({
      issues: [
        { path: ["first", "by"], message: "must be an object or a number, got a boolean" },
        { path: ["second"], message: "must be an object, got null" },
        { path: ["third", "id"] },
        { path: ["fourth", "id"] },
        { path: ["allOf"], message: "must be an object or a number, got a string" },
      ],
    });
  });

  it("finds definitions by pointer, anchor and id", () => {
    const schema = {
      properties: {
        a: { $ref: "#name" },
        b: { $ref: "https://example.com/count" },
        c: { $ref: "#/components/schemas/flag" },
      },
      $defs: { name: { $anchor: "name", type: "string" }, count: { $id: "https://example.com/count", type: "number" } },
      components: { schemas: { flag: { type: "boolean" } } },
    };
    expect(issues(schema, { a: "x", b: 1, c: true })).toEqual([]);
    expect(issues(schema, { a: 1, b: "x", c: 1 })).toEqual([
      "a: must be a string, got a number",
      "b: must be a number, got a string",
      "c: must be a boolean, got a number",
    ]);
  });

  // Bundled schemas: https://json-schema.org/draft/2020-12/json-schema-core#section-9.3
  it("finds what a reference in a part with its own $id means there, and shows just that", () => {
    const $id = "https://example.com/size";
    const size = (link: (ref: string) => string) => ({
      $id,
      properties: {
        width: { $ref: link("#/$defs/unit") },
        inside: { $ref: link("#") },
        depth: { $ref: link("#deep") },
      },
      $defs: { unit: { type: "number" }, deep: { $anchor: "deep", type: "integer" } },
    });
    const schema = (link: (ref: string) => string) => ({
      $id: "https://example.com/order",
      properties: { size: { $ref: $id }, unit: { $ref: "#/$defs/unit" } },
      $defs: { unit: { type: "string" }, size: size(link) },
    });
    const given = schema((ref) => ref);
    expect(issues(given, { unit: "cm", size: { width: 1.5, inside: { width: 2 }, depth: 3 } })).toEqual([]);
    expect(issues(given, { unit: "cm", size: { width: "2" } })).toEqual(["size.width: must be a number, got a string"]);
    expect(toSchema(given).jsonSchema).toEqual(schema((ref) => $id + ref));
    const { properties, $defs } = lowerSchema(toSchema(given).jsonSchema, [keepLocalRefs]).schema;
    expect(properties).toEqual({ size: { $ref: "#/$defs/size" }, unit: { $ref: "#/$defs/unit" } });
    expect($defs).toMatchObject({
      unit: { type: "string" },
      size: { properties: { width: { $ref: "#/$defs/unit_2" }, inside: { $ref: "#/$defs/size" } } },
      unit_2: { type: "number" },
      deep: { type: "integer" },
    });
    expect(coerce({ size: { width: "2" } }, toSchema(given).jsonSchema).value).toEqual({ size: { width: 2 } });
  });

  // as TypeBox 0 and 1 write it, the latter also next to an empty list of properties, and others
  it.each(["^(.*)$", "^.*$", ".*"])("says a record of any names as such: %s", (any) => {
    const record = { type: "object", patternProperties: { [any]: { type: "number" } } };
    const { jsonSchema, validate } = toSchema({ properties: { a: record, b: { ...record, properties: {} } } });
    const said = { type: "object", additionalProperties: { type: "number" } };
    expect(jsonSchema).toEqual({ properties: { a: said, b: { ...said, properties: {} } } });
    expect(coerce({ a: { x: "1" } }, jsonSchema).value).toEqual({ a: { x: 1 } });
    expect(validate({ a: { x: "1" } })).toMatchObject({ ok: false });
  });

  it.each([
    { patternProperties: { "^x.*$": { type: "number" } } },
    { patternProperties: { "^.*$": { type: "number" }, "^x": {} } },
    { patternProperties: { "^.*$": { type: "number" } }, properties: { a: {} } },
  ])("leaves other patterns of names: %j", (schema) => {
    expect(toSchema(schema).jsonSchema).toEqual(schema);
  });

  it("reads what references lead to in the components of OpenAPI as any other schema", () => {
    const schema = (pattern: string) => ({
      properties: { mail: { $ref: "#/components/schemas/e-mail%20~1x" }, any: { $ref: "#/components/schemas/any" } },
      components: {
        schemas: { "e-mail /x": { type: "string", nullable: true, pattern }, any: true, unused: { type: "file" } },
      },
    });
    expect(issues(schema("^\\w+\\@\\w+$"), { mail: "a@b", any: 1 })).toEqual([]);
    expect(issues(schema("^\\w+\\@\\w+$"), { mail: null })).toEqual([]);
    expect(issues(schema("^\\w+\\@\\w+$"), { mail: "a" })).toHaveLength(1);
    expect(() => toSchema(schema("^(a+)+$"))).toThrow(/#\/components\/schemas\/e-mail ~1x\/pattern.*exponential time/);
    const named = { $anchor: "named", pattern: "^(a+)+$" };
    expect(() => toSchema({ properties: { a: { $ref: "#named" } }, components: { named } })).toThrow(
      /points to nothing/,
    );
  });

  it("does not take ids and references in examples for the schema's own", () => {
    const schema = {
      properties: {
        a: { default: { $ref: "#/nowhere" }, examples: [{ id: "1" }] },
        b: { example: { id: "1", $id: "1" } },
        c: { enum: [{ $id: "1" }] },
      },
    };
    expect(issues(schema, { a: 1 })).toEqual([]);
  });
});

it("takes patterns with needless escapes, as many schemas have them", () => {
  const schema = { properties: { mail: { type: "string", pattern: "^\\w+\\@\\w+\\_\\-x$" } } };
  expect(issues(schema, { mail: "a@b_-x" })).toEqual([]);
  expect(issues(schema, { mail: "a@b" })).toHaveLength(1);
});

it("ignores formats it does not know, also those that every object has a method for", () => {
  const schema = {
    properties: { a: { format: "hasOwnProperty" }, b: { format: "__proto__" }, c: { format: "colour" } },
  };
  expect(issues(schema, { a: "x", b: "y", c: "z" })).toEqual([]);
});

it("checks formats in linear time", () => {
  const hostile = `http://${"a".repeat(50_000)}!`;
  const begin = busyMs();
  for (const format of ["url", "uri", "email", "hostname", "uri-template"])
    issues({ properties: { a: { format } } }, { a: hostile });
  expect(busyMs() - begin).toBeLessThan(2000);
});

describe("unique items", () => {
  const schema: JsonSchema = {
    properties: {
      list: { uniqueItems: true, items: { type: ["integer", "object"] } },
      either: { anyOf: [{ $ref: "#/$defs/set" }, { type: "string" }] },
    },
    $defs: { set: { type: "array", uniqueItems: true } },
  };
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

  // Comparing each item with each other one would take many minutes.
  it("are compared in linear time", () => {
    const list = numbers(100_000).map((id) => ({ unit: "celsius", at: { city: "Oslo" }, id }));
    expect(issues(schema, { list })).toEqual([]);
    expect(issues(schema, { list: [...list, { id: 7, at: { city: "Oslo" }, unit: "celsius" }] })).toEqual([
      "list: must have no equal items, items 7 and 100000 are",
    ]);
  });

  it.each([2, 51, 1000])("are told from equal ones, of %i", (count) => {
    const list = numbers(count);
    expect(issues(schema, { list, either: list })).toEqual([]);
    expect(issues(schema, { list: [...list, 1] })).toEqual([
      `list: must have no equal items, items 1 and ${count} are`,
    ]);
    expect(issues(schema, { either: [...list, "1", { 1: 1 }, '{"1":1}'] })).toEqual([]);
    expect(issues(schema, { either: [...list, 0], list: ["x"] })).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^either: .*must have no equal items, items 0 and/),
        "list.0: must be an integer or an object, got a string",
      ]),
    );
  });

  it("are told from equal ones where a schema asks for the contrary, or for one of two", () => {
    const set = { uniqueItems: true };
    const odd: JsonSchema = {
      properties: {
        bag: { not: set },
        one: { oneOf: [set, { type: "array" }] },
        any: { anyOf: [set, { maxItems: 60 }] },
      },
    };
    const [same, different] = [[...numbers(55), 3], numbers(55)];
    expect(issues(odd, { bag: same, one: same, any: same })).toEqual([]);
    expect(issues(odd, { bag: different, any: different })).toHaveLength(1);
    expect(issues(odd, { one: different, any: different })).toHaveLength(1);
  });

  it("are compared beside what else does not fit", () => {
    const set = { uniqueItems: true };
    const kinds: JsonSchema = { properties: { list: set, bag: { not: set }, kind: { const: "a" } } };
    expect(issues(kinds, { bag: [...numbers(60), 1], kind: "b" })).toEqual(['kind: must be "a", got "b"']);
    expect(issues(kinds, { list: numbers(60), kind: "b" })).toEqual(['kind: must be "a", got "b"']);
    expect(issues(kinds, { list: [...numbers(60), 1], kind: "b" })).toEqual([
      "list: must have no equal items, items 1 and 60 are",
      'kind: must be "a", got "b"',
    ]);
  });

  it("may be equal in a list that need not be unique", () => {
    const values = { type: "array", items: { type: "number" } };
    const two: JsonSchema = { properties: { values, ids: { ...values, uniqueItems: true } } };
    expect(issues(two, { ids: numbers(60), values: Array.from({ length: 60 }, () => 1) })).toEqual([]);
  });
});

/** Without a look at the constants first, each level would take as many times longer as there are alternatives. */
describe("alternatives that contain each other", () => {
  const expression = { $ref: "#/$defs/expression" };
  const of = (kind: object, required: string[]) => ({
    type: "object",
    properties: { arg: expression, kind },
    required,
  });
  const field = {
    type: "object",
    properties: { kind: { enum: ["field", "column"] }, name: { type: "string" } },
    required: ["kind", "name"],
    additionalProperties: false,
  };
  const deep = (inner: object, depth: number) => {
    let value = inner;
    for (let level = 0; level < depth; level++) value = { arg: value, kind: "not" };
    return { where: value };
  };
  const schema = (union: "anyOf" | "oneOf", ...alternatives: object[]): JsonSchema => ({
    type: "object",
    properties: { where: expression },
    $defs: {
      expression: { allOf: [{ [union]: alternatives }] },
      some: of({ enum: ["some"] }, ["kind", "arg"]),
      base: of({ $ref: "#/$defs/not" }, ["kind"]),
      not: { const: "not" },
      field,
    },
  });

  it.each<[string, JsonSchema]>([
    ["in place", schema("anyOf", of({ const: "not" }, ["arg", "kind"]), of({ const: "some" }, ["kind"]), field)],
    ["as references", schema("oneOf", { $ref: "#/$defs/some" }, { $ref: "#/$defs/base" }, { $ref: "#/$defs/field" })],
    [
      "in parts",
      schema(
        "anyOf",
        { allOf: [{ $ref: "#/$defs/base" }, { required: ["arg"] }] },
        { allOf: [{ $ref: "#/$defs/some" }] },
        field,
      ),
    ],
    [
      "of draft-07",
      {
        ...schema("oneOf", { $ref: "#/$defs/some" }, { $ref: "#/$defs/base" }, field),
        $schema: "http://json-schema.org/draft-07/schema#",
      },
    ],
  ])("are told apart by their constants, %s", (_, expressions) => {
    const path = `where.${"arg.".repeat(60)}`;
    expect(issues(expressions, deep({ kind: "field", name: "x" }, 60))).toEqual([]);
    expect(issues(expressions, deep({ kind: "column", name: 5 }, 60))).toEqual([
      `${path}name: must be a string, got a number`,
    ]);
    expect(issues(expressions, deep({ kind: "field", names: 5 }, 60))).toEqual([
      `${path}name: the required property "name" is missing`,
      `${path}names: unknown property "names"; known are "kind", "name"`,
    ]);
    expect(issues(expressions, deep({ kind: "and" }, 60))).toEqual([
      expect.stringMatching(/kind: must be one of .*got "and"$/),
    ]);
    expect(issues(expressions, deep({ name: "x" }, 60))).toEqual([expect.stringMatching(/"kind" is missing/)]);
  });

  it("are all looked at where no constant tells, as long as that takes", () => {
    const same = schema("anyOf", of({}, ["not"]), of({}, ["arg", "kind"]), field);
    expect(issues(same, deep({ kind: "field", name: "x" }, 6))).toEqual([]);
    expect(issues(same, deep({ kind: "field", name: "x" }, 60))).toEqual([
      ": takes too long to be checked: its alternatives are nested too deeply",
    ]);
  });

  it("are looked at for each of many values", () => {
    const either = { anyOf: [{ $ref: "#/$defs/text" }, { $ref: "#/$defs/number" }] };
    const list: JsonSchema = {
      properties: { list: { type: "array", items: either } },
      $defs: { text: { type: "string" }, number: { type: "number" } },
    };
    expect(issues(list, { list: Array.from({ length: 60_000 }, (_, index) => index) })).toEqual([]);
  });

  it("keep constants apart that do not tell", () => {
    const unit = { enum: ["m", "km"] };
    const shapes = ["circle", "square"].map((kind) => ({
      properties: { kind: { const: kind }, unit, size: { type: "number" } },
      required: ["kind"],
    }));
    expect(
      issues({ properties: { shape: { oneOf: shapes } } }, { shape: { kind: "circle", unit: "m", size: "x" } }),
    ).toEqual(["shape.size: must be a number, got a string"]);
  });
});

it("does not change the caller's schema and does not see later changes to it", () => {
  const source = { type: "object", properties: { a: { type: "string" } } };
  const before = JSON.stringify(source);
  const schema = toSchema(source);
  schema.validate({ a: 1 });
  expect(JSON.stringify(source)).toBe(before);
  expect(Reflect.ownKeys(source)).toEqual(["type", "properties"]);
  source.properties.a.type = "number";
  expect(schema.validate({ a: "x" }).ok).toBe(true);
  expect(Object.isFrozen(schema.jsonSchema["properties"])).toBe(true);
});

it("answers for what is very deep or has very many errors", () => {
  const tree = toSchema({ type: "object", properties: { child: { $ref: "#" } } });
  let deep: unknown = {};
  for (let depth = 0; depth < 100_000; depth++) deep = { child: deep };
  expect(tree.validate(deep)).toEqual({
    ok: false,
    issues: [{ path: [], message: "is nested too deeply to be checked" }],
  });

  const list = toSchema({ properties: { list: { type: "array", items: { type: "number" } } } });
  expect(list.validate({ list: Array.from({ length: 200_000 }, () => "x") })).toMatchObject({
    ok: false,
    issues: [{ path: ["list", 0], message: "must be a number, got a string" }],
  });
});
