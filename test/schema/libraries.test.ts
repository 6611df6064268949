import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as zMini from "zod/mini";
import { z as z3 } from "zod3";
import { jsonSchema, toSchema, withReasons, type SchemaSource } from "../../src/schema/index.ts";
import { zod3 } from "../../src/schema/zod3.ts";
import { ToolBuffer } from "../../src/stream/buffer.ts";
import { defineTool } from "../../src/tool/tool.ts";

const properties = { city: { type: "string" }, days: { type: "number", default: 1 } };
const expected = { type: "object", properties, required: ["city"] };

/** One schema, said in each library. */
const sources: Record<string, SchemaSource> = {
  "zod 4": z.object({ city: z.string(), days: z.number().default(1) }),
  "zod/mini": z.toJSONSchema(zMini.object({ city: zMini.string(), days: zMini._default(zMini.number(), 1) }), {
    io: "input",
  }) as unknown as SchemaSource,
  "zod 3": zod3(z3.object({ city: z3.string(), days: z3.number().default(1) })),
  valibot: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 1) })),
  arktype: type({ city: "string", days: "number = 1" }),
};

describe.each(Object.entries(sources))("a schema of %s", (name, source) => {
  const schema = toSchema(source);

  it("shows the model what it writes, without $schema", () => {
    // zod 3's export closes objects; arktype's leaves defaults out
    const closed = name === "zod 3" ? { additionalProperties: false } : {};
    const days = name === "arktype" ? { type: "number" } : properties.days;
    expect(schema.jsonSchema).toEqual({ ...expected, ...closed, properties: { ...properties, days } });
  });

  it("gives the handler what the library outputs", () => {
    expect(schema.validate({ city: "Oslo" })).toEqual({ ok: true, value: { city: "Oslo", days: 1 } });
  });

  it("says what is wrong, and where", () => {
    const result = schema.validate({ city: "Oslo", days: "2" });
    expect(result).toEqual({ ok: false, issues: [{ path: ["days"], message: expect.stringMatching(/number/) }] });
  });

  it.each([null, undefined, 1, "x", [], () => {}, 1n])("answers %s without a throw", (value) => {
    expect(schema.validate(value).ok).toBe(false);
  });

  it("does not take `__proto__` for a prototype", () => {
    const result = schema.validate(JSON.parse('{"city":"Oslo","__proto__":{"days":5,"polluted":true}}'));
    expect(result).toMatchObject({ ok: true, value: { days: 1 } });
    expect((result as { value: { polluted?: boolean } }).value.polluted).toBeUndefined();
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

it("keeps a record's `__proto__` and `constructor` as they are, own properties or none", () => {
  const schema = toSchema(z.object({ tags: z.record(z.string(), z.string()) }));
  const result = schema.validate(JSON.parse('{"tags":{"__proto__":"a","constructor":"b"}}'));
  if (!result.ok) throw new Error("refused");
  expect(Object.getPrototypeOf(result.value.tags)).toBe(Object.prototype);
  expect(Object.keys(result.value.tags)).toContain("constructor");
});

describe("a value that fits no alternative, or has a wrong name", () => {
  const place = { city: "Oslo" };
  const told = (source: SchemaSource, value: unknown) => {
    const checked = withReasons(toSchema(source)).validate(value);
    return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  };
  const ofZod = z.object({
    at: z.union([z.object({ city: z.string() }), z.object({ lat: z.number(), lon: z.number() })]).nullable(),
    by: z.union([z.string(), z.number()], { error: "A name or a number." }).optional(),
    deep: z.array(z.object({ is: z.union([z.literal("a"), z.array(z.number())]) })).optional(),
    name: z.string().optional(),
  });
  const ofZod3 = zod3(z3.object({ at: z3.union([z3.object({ city: z3.string() }), z3.string()]) }));
  const ofValibot = toStandardJsonSchema(v.object({ at: v.union([v.object({ city: v.string() }), v.string()]) }));

  it.each<[string, SchemaSource, unknown, string[]]>([
    [
      "zod 4",
      ofZod,
      { at: { lat: "1", lon: 2 } },
      [
        "at: Invalid input",
        'at: fits none of the 2 alternatives (city: the required property "city" is missing; lat: must be a number, got a string)',
      ],
    ],
    ["zod 3", ofZod3, { at: { city: 1 } }, ["at: Invalid input", "at.city: must be a string, got a number"]],
    [
      "valibot",
      ofValibot,
      { at: { city: 1 } },
      ["at: Invalid type: Expected (Object | string) but received Object", "at.city: must be a string, got a number"],
    ],
    [
      "a message of the schema's own, which stays",
      ofZod,
      { at: place, by: true },
      ["by: A name or a number.", "by: must be a string or a number, got a boolean"],
    ],
    [
      "the name of a property, and nothing about values next to it",
      z.object({
        tags: z.record(z.string().regex(/^[a-z]+$/), z.number()),
        sizes: z.partialRecord(z.enum(["s", "m"]), z.number()),
      }),
      { tags: { Big: 1 }, sizes: { s: "1" } },
      [
        "tags.Big: Invalid key in record",
        'tags.Big: the property name must match the pattern ^[a-z]+$, got "Big"',
        "sizes.s: Invalid input: expected number, received string",
      ],
    ],
    [
      "deep in the value",
      ofZod,
      { at: place, deep: [{ is: "a" }, { is: ["c"] }] },
      ["deep.1.is: Invalid input", "deep.1.is.0: must be a number, got a string"],
    ],
    [
      "a plain JSON Schema, which says it",
      { type: "object", properties: { by: { type: ["string", "number"] } } },
      { by: null },
      ["by: must be a string or a number, got null"],
    ],
    [
      "alternatives of types next to null",
      ofZod,
      { at: true },
      ["at: Invalid input", "at: must be an object, got a boolean"],
    ],
    ["a value that is missing", ofZod, {}, ["at: Invalid input", 'at: the required property "at" is missing']],
    ["the same in zod 3", ofZod3, {}, ["at: Invalid input", 'at: the required property "at" is missing']],
    [
      "alternatives in alternatives, next to null",
      z.object({ at: z.union([z.string().min(3), z.number()]).nullable() }),
      { at: true },
      ["at: Invalid input", "at: must be a string or a number, got a boolean"],
    ],
    [
      "a template literal",
      z.object({ id: z.templateLiteral(["v", z.number()]) }),
      { id: "1" },
      ["id: Invalid input", expect.stringMatching(/^id: must match the pattern .*, got "1"$/) as unknown as string],
    ],
    [
      "a check without a message",
      z
        .object({ ids: z.array(z.string().refine((id) => id.startsWith("u"))), from: z.number(), to: z.number() })
        .refine(({ from, to }) => from < to),
      { ids: ["u1", "x"], from: 2, to: 1 },
      [
        "ids.1: Invalid input",
        'ids.1: a rule that the schema does not state refuses "x"',
        ": Invalid input",
        ': a rule that the schema does not state refuses {"ids":["u1","x"],"from":2,"to":1}',
      ],
    ],
    [
      "the same in an alternative of zod 3",
      zod3(z3.object({ id: z3.union([z3.number(), z3.string().refine((id) => id.startsWith("u"))]) })),
      { id: "x" },
      ["id: Invalid input", 'id: a rule that the schema does not state refuses "x"'],
    ],
    ["no alternative", ofZod, { at: place, name: 1 }, ["name: Invalid input: expected string, received number"]],
    [
      "null beside one alternative",
      z.object({ a: z.object({ b: z.string() }).nullable() }),
      { a: 1 },
      ["a: Invalid input: expected object, received number"],
    ],
  ])("is told what they ask for: %s", (_, source, value, messages) => {
    expect(told(source, value)).toEqual(messages);
  });
});

it("makes a schema once per source", () => {
  const source = z.object({});
  expect(toSchema(source)).toBe(toSchema(source));
  const plain = { type: "object" };
  expect(toSchema(plain)).toBe(toSchema(plain));
  expect(toSchema(toSchema(plain))).toBe(toSchema(plain));
});

it.each<[string, SchemaSource]>([
  ["zod 4", z.object({ id: z.string().regex(/^[a-z]+$/i) })],
  ["zod 4, of two patterns", z.object({ id: z.string().regex(/^a/i).regex(/n$/i).max(5) })],
  ["zod 4, of a format", z.object({ id: z.stringFormat("name", /^[a-z]+$/i) })],
  ["zod 3", zod3(z3.object({ id: z3.string().regex(/^[a-z]+$/i) }))],
  ["valibot", toStandardJsonSchema(v.object({ id: v.pipe(v.string(), v.regex(/^[a-z]+$/i)) }))],
])("shows no pattern that lacks its flags, and so fits less: %s", (_, source) => {
  const schema = toSchema(source);
  expect(schema.validate({ id: "ANN" }).ok).toBe(true);
  expect(toSchema(schema.jsonSchema).validate({ id: "ANN" })).toMatchObject({ ok: true });
  expect(schema.validate({ id: "1" }).ok).toBe(false);
});

it("keeps the pattern of a flag that changes nothing here", () => {
  const schema = toSchema(z.object({ id: z.string().regex(/^\p{L}+$/u) }));
  expect(schema.jsonSchema).toMatchObject({ properties: { id: { pattern: "^\\p{L}+$" } } });
});

describe("what valibot checks or changes, and JSON Schema cannot say", () => {
  const name = v.pipe(v.string(), v.trim(), v.startsWith("a"), v.endsWith("z"), v.brand("Name"));
  const entries = v.object({
    name,
    again: v.pipe(
      v.string(),
      v.check((text) => text !== "", "must not be empty"),
    ),
  });
  const schema = toSchema(
    toStandardJsonSchema(
      v.pipe(
        entries,
        v.forward(
          v.partialCheck([["name"]], (input) => input.name !== "abz"),
          ["name"],
        ),
      ),
    ),
  );

  it("is left to valibot", () => {
    expect(schema.jsonSchema).toEqual({
      type: "object",
      properties: { name: { type: "string", pattern: "^a" }, again: { type: "string" } },
      required: ["name", "again"],
    });
    expect(schema.validate({ name: " az ", again: "x" })).toEqual({ ok: true, value: { name: "az", again: "x" } });
  });

  it.each([
    [{ name: "ay", again: "x" }, ["name"]],
    [{ name: "az", again: "" }, ["again"]],
    [{ name: "abz", again: "x" }, ["name"]],
  ])("is still checked: %j", (value, path) => {
    expect(schema.validate(value)).toMatchObject({ ok: false, issues: [{ path }] });
  });
});

it("takes a Schema made by hand as it is", () => {
  const schema = { jsonSchema: { type: "object" }, validate: (value: unknown) => ({ ok: true as const, value }) };
  expect(toSchema(schema)).toBe(schema);
});

it("takes a struct of effect as one that may be closed: what it does not know, it drops", () => {
  const struct = { type: "object", properties: { additionalProperties: { type: "string" } }, required: [] };
  const exported = {
    ...struct,
    $defs: { Any: { type: "object", additionalProperties: {} }, Numbers: { additionalProperties: { type: "number" } } },
  };
  const open = { ...exported, additionalProperties: true, default: { additionalProperties: true } };
  const standard = (vendor: string) => ({
    "~standard": {
      version: 1 as const,
      vendor,
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => open, output: () => open },
    },
  });
  expect(toSchema(standard("effect")).jsonSchema).toEqual({ ...exported, default: open.default });
  expect(toSchema(standard("own")).jsonSchema).toEqual(open);
});

it("types a plain JSON Schema with jsonSchema<T>()", () => {
  const schema = jsonSchema<{ city: string }>({ type: "object" });
  expect(schema.validate({})).toEqual({ ok: true, value: {} });
});

it("takes text as the root of a custom tool", () => {
  expect(toSchema(z.string()).validate("SELECT 1")).toEqual({ ok: true, value: "SELECT 1" });
});

it.each<[string, SchemaSource]>([
  ["zod 4", z.object({ id: z.string().refine(async () => true) })],
  ["zod 4, in a transform", z.object({ id: z.string().transform(async (id) => id) })],
  ["zod 4, in a list", z.object({ id: z.preprocess((id) => [id], z.array(z.string().transform(async (id) => id))) })],
  [
    "zod 4, in a codec",
    z.object({ id: z.codec(z.string(), z.string(), { decode: async (id) => id, encode: String }) }),
  ],
  ["zod 3", zod3(z3.object({ id: z3.string().refine(async () => true) }))],
  ["zod 3, in a transform", zod3(z3.object({ id: z3.string().transform(async () => true) }))],
  ["zod/mini", z.toJSONSchema(zMini.object({ id: zMini.string().check(zMini.refine(async () => true)) })) as never],
])("leaves asynchronous checks to the handler: %s", (_, source) => {
  const schema = toSchema(source);
  expect(schema.validate({ id: "1" })).toEqual({
    ok: false,
    issues: [{ path: [], message: expect.stringContaining("belong in the handler") }],
  });
});

it("lets no rejection of an asynchronous check out", async () => {
  const unheard: unknown[] = [];
  const listen = (reason: unknown) => void unheard.push(reason);
  process.on("unhandledRejection", listen);
  const own: SchemaSource = {
    "~standard": {
      version: 1,
      vendor: "own",
      validate: () => Promise.reject(new Error("boom")),
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  };
  expect(toSchema(own).validate({}).ok).toBe(false);
  await new Promise((resolve) => setTimeout(resolve, 10));
  process.off("unhandledRejection", listen);
  expect(unheard).toEqual([]);
});

it("turns a throw of the library's own check into an issue", () => {
  const boom = (): never => {
    throw new Error("boom");
  };
  const own: SchemaSource = {
    "~standard": { version: 1, vendor: "own", validate: boom, jsonSchema: { input: () => ({ type: "object" }) } },
    safeParse: () => ({ success: true, data: 1 }), // whatever that is, where it is not zod's
  } as SchemaSource;
  expect(toSchema(own).validate({})).toEqual({
    ok: false,
    issues: [{ path: [], message: expect.stringContaining("boom") }],
  });
});

it.each<[string, (convert: (text: string) => unknown) => SchemaSource]>([
  ["zod 4", (convert) => z.object({ filter: z.string().transform(convert) })],
  ["zod 3", (convert) => zod3(z3.object({ filter: z3.string().transform(convert) }))],
  [
    "valibot",
    (convert) => toStandardJsonSchema(v.object({ filter: v.pipe(v.string(), v.transform(convert)) })) as SchemaSource,
  ],
])("says why a transform failed, which runs once: %s", (_, schemaOf) => {
  let runs = 0;
  const schema = toSchema(
    schemaOf(() => {
      runs++;
      throw new Error("no filter");
    }),
  );
  const message = "the check itself failed: no filter";
  expect(schema.validate({ filter: "{" })).toEqual({ ok: false, issues: [{ message, path: [] }] });
  expect(runs).toBe(1);
});

describe("refuses, and says the next step:", () => {
  // Its JSON Schema is of the codec for JSON, so that has to validate, too: else a date would be told as a string, and
  // the string be refused.
  const EFFECT_HINT =
    /Give Schema\.toStandardJSONSchemaV1\(Schema\.toStandardSchemaV1\(Schema\.toCodecJson\(schema\)\)\) instead/;
  const effectSchema = (standard?: object) =>
    Object.assign(() => {}, {
      "~effect/Schema/Schema": "~effect/Schema/Schema",
      ...(standard && { "~standard": { version: 1, vendor: "effect", ...standard } }),
    });

  it.each<[string, () => unknown, RegExp]>([
    ["a bare zod 3 schema", () => toSchema(z3.object({})), /toolstream\/zod3/],
    [
      "a bare valibot schema",
      () => toSchema(v.object({})),
      /toStandardJsonSchema\(schema\) of @valibot\/to-json-schema/,
    ],
    // Those of effect 4 are functions with a mark, and speak either standard when they are told to.
    ["a bare effect schema", () => toSchema(effectSchema() as never), EFFECT_HINT],
    ["an effect schema that cannot validate", () => toSchema(effectSchema({ jsonSchema: {} }) as never), EFFECT_HINT],
    [
      "an effect schema without JSON Schema",
      () => toSchema(effectSchema({ validate: () => ({ value: 1 }) }) as never),
      EFFECT_HINT,
    ],
    [
      "a schema in the wrapping of the AI SDK",
      () =>
        toSchema({
          [Symbol.for("vercel.ai.schema")]: true,
          jsonSchema: { type: "object" },
          validate: (value: unknown) => ({ success: true, value }),
        } as never),
      /got one that the AI SDK has wrapped; give what zodSchema\(\) or jsonSchema\(\) was given/,
    ],
    [
      "a bare zod/mini schema, or one of zod 4.1",
      () => toSchema(zMini.object({})),
      /Update zod to 4\.2 or later\. For zod\/mini, from 4\.3 on, give z\.toJSONSchema\(schema/,
    ],
    [
      "another library's without JSON Schema",
      () => toSchema({ "~standard": { version: 1, vendor: "own", validate: () => ({ value: 1 }) } }),
      /own schema.*Standard JSON Schema/,
    ],
    [
      "a Date in zod 4",
      () => toSchema(z.object({ at: z.date() })),
      /Date cannot be represented in JSON Schema\. Describe .*string in JSON/,
    ],
    ["a file in zod 4", () => toSchema(z.object({ photo: z.file().optional() })), /no value for \(file\)/],
    ["a bigint in zod 4", () => toSchema(z.object({ n: z.bigint() })), /BigInt/i],
    ["a Date in zod 3", () => zod3(z3.object({ at: z3.date() })), /#\/properties\/at is a ZodDate/],
    ["a Date in valibot", () => toSchema(toStandardJsonSchema(v.object({ at: v.date() }))), /date.*string in JSON/],
    ["a Date in arktype", () => toSchema(type({ at: "Date" })), /arktype.*date/],
    ["a Map in arktype", () => toSchema(type({ at: "Map" })), /arktype.*proto/],
    ["no schema", () => toSchema(undefined as never), /got undefined/],
    ["a string", () => toSchema("object" as never), /got a string/],
    ["a list", () => toSchema([] as never), /got an array/],
  ])("%s", (_name, make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ name: "ToolError", code: "invalid_tool", message: expect.stringMatching(message) }),
    );
  });

  it.each<[string, () => unknown]>([
    ["zod 4", () => ({ city: z.string() })],
    ["zod 3", () => ({ city: z3.string() })],
    ["valibot", () => ({ city: v.string() })],
    ["arktype", () => ({ city: type("string") })],
    ["zod 4 in JSON Schema", () => ({ type: "object", properties: { city: z.string() } })],
  ])("properties of %s in an object that is no schema", (_, source) => {
    expect(() => toSchema(source() as SchemaSource)).toThrow(
      "got schemas in a plain object; z.object({ … }) makes one of them.",
    );
  });

  it.each<[string, object, string]>([
    ["properties", { city: { type: "string" }, title: { type: "string" } }, "city"],
    ["a JSON Schema in an object", { _type: undefined, jsonSchema: { type: "object" } }, "jsonSchema"],
    ["one that is still to come", { jsonSchema: Promise.resolve({ type: "object" }) }, "jsonSchema"],
  ])("%s, where nothing would be checked", (_, source, key) => {
    expect(() => toSchema(source)).toThrow(
      `${key} is not a keyword; properties belong in { type: "object", properties: { … } }.`,
    );
  });

  it.each([[{}], [{ properties: {} }], [{ const: {} }], [{ title: "All" }], [{ type: "object", more: {} }]])(
    "but not %j",
    (source) => {
      expect(toSchema(source).validate({})).toEqual({ ok: true, value: {} });
    },
  );

  it("what zod3() is not for", () => {
    expect(() => zod3(z.object({}) as never)).toThrow(TypeError);
    expect(() => zod3({} as never)).toThrow(TypeError);
  });
});

it("writes the open bounds of zod 3 as numbers", () => {
  const { jsonSchema: made } = zod3(
    z3.object({ id: z3.number().int().positive(), share: z3.number().min(0).lt(1), debt: z3.number().negative() }),
  );
  expect(made["properties"]).toEqual({
    id: { type: "integer", exclusiveMinimum: 0 },
    share: { type: "number", minimum: 0, exclusiveMaximum: 1 },
    debt: { type: "number", exclusiveMaximum: 0 },
  });
});

it.each<[string, SchemaSource]>([
  [
    "4",
    z.object({
      at: z.coerce.date(),
      end: z.coerce.date().optional(),
      all: z.array(z.coerce.date()).default(() => [new Date(0)]),
    }),
  ],
  [
    "3",
    zod3(
      z3.object({
        at: z3.coerce.date(),
        end: z3.coerce.date().optional(),
        all: z3.array(z3.coerce.date()).default(() => [new Date(0)]),
      }),
    ),
  ],
])("shows z.coerce.date() of zod %s as the string that it takes (zod#4508)", (_, source) => {
  const schema = toSchema(source);
  const date = { type: "string", format: "date-time" };
  expect(schema.jsonSchema).toMatchObject({
    properties: { at: date, end: date, all: { items: date, default: ["1970-01-01T00:00:00.000Z"] } },
    required: ["at"],
  });
  const at = "2026-01-02T03:04:05Z";
  const value = { at: new Date(at), all: [new Date(0)] };
  expect(schema.validate({ at })).toEqual({ ok: true, value });
  expect(schema.validate({ at: "soon" })).toMatchObject({ ok: false, issues: [{ path: ["at"] }] });
  // A null for the optional one would be a date of 1970.
  const buffer = new ToolBuffer([defineTool({ name: "plan", inputSchema: schema })]);
  const argsTextDelta = JSON.stringify({ at, end: null });
  expect(buffer.append({ name: "plan", argsTextDelta, done: true })).toMatchObject({ input: value });
  expect(buffer.calls[0]!.outcome).not.toHaveProperty("input.end");
});

it("writes dates and bigints in a zod 3 schema as JSON has them", () => {
  const { jsonSchema: made } = zod3(
    z3.object({ at: z3.coerce.date().default(() => new Date(0)), size: z3.coerce.bigint().min(5n) }),
  );
  expect(made["properties"]).toMatchObject({ at: { default: "1970-01-01T00:00:00.000Z" }, size: { minimum: 5 } });
});

it("writes the tuples of zod 3 as 2020-12 does, references into them too", () => {
  const point = z3.object({ x: z3.number() });
  const { jsonSchema: made } = zod3(
    z3.object({
      items: z3.tuple([point, point]).rest(z3.boolean()),
      additionalItems: z3.string(),
      either: z3.union([z3.tuple([z3.string()]), z3.string()]),
      list: z3.object({ items: z3.array(z3.string()) }).default({ items: ["a"] }),
    }),
  );
  expect(made["properties"]).toMatchObject({
    items: {
      prefixItems: [{ type: "object" }, { $ref: "#/properties/items/prefixItems/0" }],
      items: { type: "boolean" },
    },
    additionalItems: { type: "string" },
    either: { anyOf: [{ prefixItems: [{ type: "string" }] }, { type: "string" }] },
    list: { default: { items: ["a"] } },
  });
});
