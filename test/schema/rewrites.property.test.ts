import { Validator } from "@cfworker/json-schema";
import * as fc from "../fast-check.ts";
import { describe, expect, it } from "vitest";
import * as anthropic from "../../adapters/anthropic/schema.ts";
import * as cohere from "../../adapters/cohere/schema.ts";
import { lowerSchema, type Rewrite } from "../../src/schema/lower.ts";
import {
  constToEnum,
  dropKeywords,
  foldAllOf,
  functionSchema,
  inlineRefs,
  keepLocalRefs,
  keepPatterns,
  listedNamesToProperties,
  nullableToType,
  oneOfToAnyOf,
  refsAlone,
  spreadUnions,
  strictFunctionSchema,
  typeArrayToAnyOf,
  withoutBooleanSchemas,
} from "../../src/schema/rewrites.ts";
import { walkSchema } from "../../src/schema/subschemas.ts";
import type { JsonSchema } from "../../src/schema/types.ts";

const name = fc.constantFrom("a", "b", "c", "$x", "__proto__");

const literal = fc.constantFrom<unknown>("a", "b", 0, 1, 2.5, true, null);

const constant = fc.oneof(literal, fc.constantFrom<unknown>({ a: 1 }, [1], {}));

/** Values that have a good chance to fit a schema of {@link schemas}, and a good chance not to. */
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    literal,
    fc.array(tie("value"), { maxLength: 3 }),
    fc
      .uniqueArray(fc.tuple(name, tie("value")), { maxLength: 3, selector: ([key]) => key })
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;

const pattern = fc.constantFrom("a", "b|c", "^a", "^[ab]$");

const types = ["string", "number", "integer", "boolean", "null", "array", "object"] as const;

const reference = fc.constantFrom("#/$defs/X", "#/$defs/Y", "#/definitions/Z", "#/definitions/a~1b%25", "#named", "#");

type Kind = "schema" | "node" | "object" | "array" | "condition";

/** Schemas of every keyword that the rewrites merge or move, with references to definitions, some of them recursive. */
const schemas = fc.letrec<Record<Exclude<Kind, "schema">, JsonSchema> & { schema: JsonSchema | boolean }>((tie) => {
  const branches = fc.array(tie("node"), { minLength: 1, maxLength: 3 });
  /** Two that have keywords in common. */
  const alike = fc.oneof(
    ...(["object", "array", "condition"] as const).map((kind) => fc.array(tie(kind), { minLength: 2, maxLength: 2 })),
  );
  const record = fc
    .uniqueArray(fc.tuple(name, tie("schema")), { maxLength: 3, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries));
  // oxlint-disable-next-line unicorn/no-thenable
  const condition = { if: tie("schema"), then: tie("schema"), else: tie("schema") };
  return {
    condition: fc.record(condition, { requiredKeys: [] }),
    object: fc.record(
      {
        type: fc.constant("object"),
        properties: record,
        required: fc.uniqueArray(name, { maxLength: 2 }),
        patternProperties: fc.dictionary(pattern, tie("schema"), { minKeys: 1, maxKeys: 2 }),
        additionalProperties: tie("schema"),
        unevaluatedProperties: tie("schema"),
        propertyNames: tie("schema"),
        dependentRequired: fc.dictionary(name, fc.array(name, { maxLength: 1 }), { maxKeys: 1 }),
        dependentSchemas: record,
        maxProperties: fc.constant(2),
        anyOf: branches,
        $ref: reference,
      },
      { requiredKeys: [] },
    ),
    array: fc.record(
      {
        type: fc.constant("array"),
        items: tie("schema"),
        prefixItems: branches,
        minItems: fc.constant(1),
        uniqueItems: fc.boolean(),
        contains: tie("schema"),
        minContains: fc.constant(0),
        maxContains: fc.constant(1),
        unevaluatedItems: tie("schema"),
      },
      { requiredKeys: ["type"] },
    ),
    schema: fc.oneof({ weight: 8, arbitrary: tie("node") }, { weight: 1, arbitrary: fc.boolean() }),
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.record({ type: fc.constantFrom(...types) }),
      fc.record(
        { type: fc.uniqueArray(fc.constantFrom(...types), { minLength: 1, maxLength: 3 }), minLength: fc.constant(1) },
        { requiredKeys: ["type"] },
      ),
      fc.record({ const: constant }),
      fc.record({ enum: fc.uniqueArray(constant, { minLength: 1, maxLength: 3 }) }),
      fc.record(
        {
          type: fc.constant("number"),
          minimum: fc.integer({ min: 0, max: 2 }),
          maximum: fc.integer({ min: 0, max: 3 }),
        },
        { requiredKeys: [] },
      ),
      fc.record({ type: fc.constant("string"), pattern }, { requiredKeys: ["pattern"] }),
      fc.record({ $ref: reference, description: fc.constant("d") }, { requiredKeys: ["$ref"] }),
      tie("object"),
      fc.record(
        {
          type: fc.constant("object"),
          propertyNames: fc.record({ enum: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }) }),
          properties: record,
          required: fc.uniqueArray(name, { maxLength: 2 }),
          additionalProperties: tie("schema"),
        },
        { requiredKeys: ["propertyNames"] },
      ),
      tie("array"),
      fc.record({ not: tie("schema"), type: fc.constantFrom(...types) }, { requiredKeys: ["not"] }),
      tie("condition"),
      fc.record({ anyOf: branches }),
      fc.record({ oneOf: branches }),
      fc.record({ allOf: alike }),
      fc.record({ allOf: branches, type: fc.constant("object"), properties: record }, { requiredKeys: ["allOf"] }),
      fc.record({ allOf: branches, oneOf: branches, anyOf: branches }, { requiredKeys: ["allOf"] }),
    ),
  };
}).node;

const roots = fc
  .tuple(
    fc.oneof(
      schemas,
      fc.tuple(schemas, schemas).map(([a, b]) => ({ type: "object", properties: { a, b } })),
    ),
    schemas,
    schemas,
    schemas,
  )
  .map(
    ([root, X, Y, Z]) =>
      ({
        ...root,
        $defs: { X, Y, N: { $anchor: "named", type: "number" } },
        definitions: { Z, "a/b%": Z },
      }) as JsonSchema,
  )
  // A large one that refers to itself from many places takes the validator minutes.
  .filter((root) => JSON.stringify(root).length < 1_000);

/** Small schemas under much that negates, where the rewrites of {@link looserAnywhere} leave something out. */
const negated = fc.letrec<{ schema: JsonSchema | boolean }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<JsonSchema>({ type: "string" }, { const: 1 }, { required: ["b"] }, { $ref: "#/$defs/X" }),
    fc.record({ pattern }),
    fc.record({ properties: fc.record({ a: fc.boolean() }) }),
    fc.record({ properties: fc.record({ $x: tie("schema") }), additionalProperties: fc.boolean() }),
    fc.record({ patternProperties: fc.dictionary(pattern, fc.boolean(), { minKeys: 1, maxKeys: 1 }) }),
    fc.record({ not: tie("schema") }),
    // oxlint-disable-next-line unicorn/no-thenable
    fc.record({ if: tie("schema"), then: tie("schema"), else: tie("schema") }, { requiredKeys: ["if"] }),
    fc.record({ oneOf: fc.array(tie("schema"), { minLength: 2, maxLength: 2 }) }),
    fc.record({ contains: tie("schema"), maxContains: fc.constant(1) }),
  ),
})).schema;

const negating = fc
  .tuple(negated, negated)
  .map(([a, X]) => ({ type: "object", properties: { a }, $defs: { X } }) as JsonSchema);

/** Arguments are objects. */
const inputs = fc.array(fc.dictionary(name, values, { maxKeys: 3 }), { minLength: 1, maxLength: 6 });

/** `undefined` where the validator gives up: a reference that leads to nothing but itself. */
function accepts(schema: JsonSchema, value: unknown): boolean | undefined {
  try {
    return new Validator(structuredClone(schema) as never, "2020-12").validate(value).valid;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const exact: Record<string, readonly Rewrite[]> = {
  keepLocalRefs: [keepLocalRefs],
  inlineRefs: [inlineRefs],
  refsAlone: [keepLocalRefs, refsAlone],
  oneOfToAnyOf: [oneOfToAnyOf],
  foldAllOf: [keepLocalRefs, foldAllOf],
  spreadUnions: [keepLocalRefs, spreadUnions],
  typeArrayToAnyOf: [typeArrayToAnyOf],
  constToEnum: [constToEnum],
  listedNamesToProperties: [keepLocalRefs, listedNamesToProperties],
  withoutBooleanSchemas: [withoutBooleanSchemas],
  "all of them": [
    keepLocalRefs,
    nullableToType,
    listedNamesToProperties,
    refsAlone,
    foldAllOf,
    oneOfToAnyOf,
    spreadUnions,
    foldAllOf,
    withoutBooleanSchemas,
    typeArrayToAnyOf,
    constToEnum,
  ],
};

const looser: Record<string, readonly Rewrite[]> = {
  dropKeywords: [
    dropKeywords(["minimum", "items", "unevaluatedItems", "additionalProperties", "unevaluatedProperties"]),
  ],
  oneOfToAnyOf: [oneOfToAnyOf],
};

it("a property that is required and must not be there is a loss: nothing fits, which cannot be said without it", () => {
  const schema = { properties: { c: false }, required: ["c"], additionalProperties: false };
  const { losses } = lowerSchema(schema, [withoutBooleanSchemas]);
  expect(losses.map(({ message }) => message)).toEqual(["Properties that must not be there are left out: c."]);
});

describe("where nothing is lost, the same values fit", () => {
  it.each(Object.keys(exact))("%s", (key) => {
    fc.assert(
      fc.property(roots, inputs, (schema, list) => {
        const { schema: lowered, losses } = lowerSchema(schema, exact[key]!);
        fc.pre(losses.length === 0);
        for (const value of list) {
          const before = accepts(schema, value);
          if (before !== undefined)
            expect({ value, lowered, fits: accepts(lowered, value) }).toEqual({ value, lowered, fits: before });
        }
      }),
      { numRuns: 100, maxSkipsPerRun: 1000 },
    );
  });
});

/** As {@link looser}, and under `not`, `if` and `oneOf` as well. */
const looserAnywhere: Record<string, readonly Rewrite[]> = {
  keepPatterns: [keepPatterns((one) => !one.startsWith("^"))],
  withoutBooleanSchemas: [withoutBooleanSchemas],
  functionSchema: functionSchema(),
  "the plain dialect of Anthropic": anthropic.plain,
};

describe("what is loosened lets through all that was let through before", () => {
  it.each(Object.keys(looser))("%s", (key) => {
    fc.assert(
      fc.property(roots, inputs, (schema, list) => {
        const { schema: lowered } = lowerSchema(schema, looser[key]!);
        // Under these a looser part makes a stricter whole.
        fc.pre(!/"(not|oneOf|if)"/.test(JSON.stringify(lowered)));
        expectLooser(schema, lowered, list);
      }),
      { numRuns: 100, maxSkipsPerRun: 1000 },
    );
  });

  it.each(Object.keys(looserAnywhere))("%s, under not, if and oneOf too", (key) => {
    fc.assert(
      fc.property(fc.oneof(roots, { weight: 3, arbitrary: negating }), inputs, (schema, list) => {
        const { schema: lowered, losses } = lowerSchema(schema, looserAnywhere[key]!);
        // Of a property that only some of the branches name, the others may let through more.
        fc.pre(!losses.some(({ rule }) => rule === "flattenRootUnion"));
        expectLooser(schema, lowered, list);
      }),
      { numRuns: 300, maxSkipsPerRun: 1000 },
    );
  });
});

/** Where a reference has no neighbours, and nothing is an `allOf`: the APIs refuse the whole request for one. */
const alone: Record<string, readonly Rewrite[]> = {
  strictFunctionSchema: strictFunctionSchema(),
  "the strict dialect of Cohere": cohere.strict,
  "the strict dialect of Anthropic": anthropic.strict,
};

it.each(Object.entries(alone))("%s leaves references alone and folds each allOf", (_, rewrites) => {
  fc.assert(
    fc.property(roots, (schema) => {
      walkSchema(lowerSchema({ ...schema, type: "object" }, rewrites).schema, ({ $ref, ...beside }, path) => {
        expect(beside, path).not.toHaveProperty("allOf");
        if ($ref !== undefined) expect(beside, path).toEqual({});
      });
    }),
    { numRuns: 300 },
  );
});

function expectLooser(schema: JsonSchema, lowered: JsonSchema, list: readonly unknown[]): void {
  for (const value of list) {
    if (accepts(schema, value) === true)
      expect({ value, lowered, fits: accepts(lowered, value) }).toEqual({ value, lowered, fits: true });
  }
}
