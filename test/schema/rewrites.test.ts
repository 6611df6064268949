import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { lowerSchema, type Rewrite } from "../../src/schema/lower.ts";
import * as rewrites from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { busyMs } from "../busy-ms.ts";

const {
  closeObjects,
  constToEnum,
  dropAnnotations,
  dropKeywords,
  ensureObjectRoot,
  ensureType,
  flattenRootUnion,
  foldAllOf,
  inlineRefs,
  keepFormats,
  keepKeywords,
  keepLocalRefs,
  keepPatterns,
  limitMinItems,
  listedItemsToPrefixItems,
  listedNamesToProperties,
  nullableKeyword,
  nullableToType,
  oneOfToAnyOf,
  openObjects,
  refsAlone,
  requireAll,
  requireDeclared,
  spreadUnions,
  stringEnums,
  tuplesToArrays,
  typeArrayToAnyOf,
  typedValues,
  withoutBooleanSchemas,
} = rewrites;

/** Name, rewrites, schema, expected schema, expected losses as `path rule`. */
type Case = readonly [
  name: string,
  list: Rewrite | readonly Rewrite[],
  given: JsonSchema,
  expected: JsonSchema,
  losses?: readonly string[],
];

function table(title: string, cases: readonly Case[]): void {
  describe(title, () => {
    it.each(cases.map((row) => ({ name: row[0], row })))("$name", ({ row: [, list, given, expected, losses = []] }) => {
      const lowered = lowerSchema(given, [list].flat() as Rewrite[]);
      expect(lowered.schema).toEqual(expected);
      expect(lowered.losses.map(({ path, rule }) => `${path} ${rule}`)).toEqual(losses);
    });
  });
}

const str = { type: "string" };
const num = { type: "number" };
const nul = { type: "null" };
const object = (properties: Record<string, unknown>, rest: Record<string, unknown> = {}) => ({
  type: "object",
  properties,
  ...rest,
});

const tree = {
  ...object({ root: { $ref: "#/$defs/Node" } }),
  $defs: { Node: object({ name: str, children: { type: "array", items: { $ref: "#/$defs/Node" } } }) },
};

table("inlineRefs", [
  [
    "puts the target in place and drops the definitions",
    inlineRefs,
    { ...object({ a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/A" } }), $defs: { A: { $ref: "#/$defs/B" }, B: str } },
    object({ a: str, b: str }),
  ],
  [
    "keeps what stands beside the reference",
    inlineRefs,
    {
      ...object({ a: { $ref: "#/$defs/A", description: "outer" } }),
      $defs: { A: { ...str, description: "inner", minLength: 1 } },
    },
    object({ a: { ...str, description: "outer", minLength: 1 } }),
  ],
  [
    "cuts a recursion once, where it closes",
    inlineRefs,
    tree,
    object({ root: object({ name: str, children: { type: "array", items: { type: "object" } } }) }),
    ["/$defs/Node/properties/children/items inlineRefs"],
  ],
  [
    "cuts a schema that refers to its root",
    inlineRefs,
    object({ child: { $ref: "#" } }),
    object({ child: { type: "object" } }),
    ["/properties/child inlineRefs"],
  ],
  [
    "allows any value for a reference to nothing",
    inlineRefs,
    object({ a: { $ref: "https://example.com/a.json" } }),
    object({ a: {} }),
    ["/properties/a inlineRefs"],
  ],
  [
    "reads definitions of older drafts",
    inlineRefs,
    { ...object({ a: { $ref: "#/definitions/A" } }), definitions: { A: num } },
    object({ a: num }),
  ],
  [
    "follows a root that is a reference",
    inlineRefs,
    { $ref: "#/$defs/In", $defs: { In: object({ a: str }) } },
    object({ a: str }),
  ],
  [
    "leaves a property named $ref alone",
    inlineRefs,
    object({ $ref: str, $defs: str, $id: str }),
    object({ $ref: str, $defs: str, $id: str }),
  ],
  ["does not change what has no references", inlineRefs, object({ a: str }), object({ a: str })],
]);

it("inlineRefs stays bounded when references multiply", () => {
  const $defs: Record<string, unknown> = { D0: str };
  for (let level = 1; level < 40; level++)
    $defs[`D${level}`] = object({ a: { $ref: `#/$defs/D${level - 1}` }, b: { $ref: `#/$defs/D${level - 1}` } });
  const { losses } = lowerSchema({ ...object({ a: { $ref: "#/$defs/D39" } }), $defs }, [inlineRefs]);
  expect(losses.length).toBeGreaterThan(0);
});

table("keepLocalRefs", [
  ["keeps recursion", keepLocalRefs, tree, tree],
  [
    "leaves nothing where the definitions of OpenAPI were",
    keepLocalRefs,
    { ...object({ a: { $ref: "#/components/schemas/A" } }), components: { schemas: { A: str, B: num } } },
    { ...object({ a: { $ref: "#/$defs/A" } }), $defs: { A: str } },
  ],
  [
    "moves every target into the root's $defs",
    keepLocalRefs,
    object(
      { a: object({ x: str }), b: { $ref: "#/properties/a" }, c: { $ref: "#/definitions/C" } },
      { definitions: { C: num, Unused: num } },
    ),
    {
      ...object({ a: object({ x: str }), b: { $ref: "#/$defs/a" }, c: { $ref: "#/$defs/C" } }),
      $defs: { a: object({ x: str }), C: num },
    },
  ],
  [
    "keeps in mind where the definitions were",
    [keepLocalRefs, dropKeywords(["pattern"])],
    object({ a: { $ref: "#/definitions/A" } }, { definitions: { A: { ...str, pattern: "x" } } }),
    { ...object({ a: { $ref: "#/$defs/A" } }), $defs: { A: { ...str, description: '(pattern: "x")' } } },
    ["/definitions/A unsupported:pattern"],
  ],
  [
    "keeps in mind where they were when they have changed since",
    [dropAnnotations(["title"]), keepLocalRefs, dropKeywords(["pattern"])],
    object({ a: { $ref: "#/definitions/A" } }, { definitions: { A: { ...str, title: "T", pattern: "x" } } }),
    { ...object({ a: { $ref: "#/$defs/A" } }), $defs: { A: { ...str, description: '(pattern: "x")' } } },
    ["/definitions/A unsupported:pattern"],
  ],
  [
    "tells two targets of one name apart",
    keepLocalRefs,
    object(
      { a: { $ref: "#/$defs/X" }, b: { $ref: "#/definitions/X" } },
      { $defs: { X: str }, definitions: { X: num } },
    ),
    { ...object({ a: { $ref: "#/$defs/X" }, b: { $ref: "#/$defs/X_2" } }), $defs: { X: str, X_2: num } },
  ],
  [
    "tells two targets of one name apart, of which one is in the other",
    keepLocalRefs,
    object(
      { a: { $ref: "#/$defs/X" } },
      { $defs: { X: object({ b: { $ref: "#/definitions/X" } }) }, definitions: { X: num } },
    ),
    { ...object({ a: { $ref: "#/$defs/X" } }), $defs: { X: object({ b: { $ref: "#/$defs/X_2" } }), X_2: num } },
  ],
  ["keeps a reference to the root", keepLocalRefs, object({ child: { $ref: "#" } }), object({ child: { $ref: "#" } })],
  [
    "resolves anchors",
    keepLocalRefs,
    object({ a: { $ref: "#here" } }, { $defs: { A: { $anchor: "here", ...str } } }),
    { ...object({ a: { $ref: "#/$defs/here" } }), $defs: { here: str } },
  ],
  [
    "loses another document",
    keepLocalRefs,
    object({ a: { $ref: "other.json#/A", description: "d" } }),
    object({ a: { description: "d" } }),
    ["/properties/a keepLocalRefs"],
  ],
]);

table("refsAlone", [
  [
    "puts a description around the reference",
    refsAlone,
    object({ a: { $ref: "#/$defs/A", description: "d" } }, { $defs: { A: str } }),
    object({ a: { description: "d", anyOf: [{ $ref: "#/$defs/A" }] } }, { $defs: { A: str } }),
  ],
  [
    "merges what binds",
    refsAlone,
    object({ a: { $ref: "#/$defs/A", minLength: 2 } }, { $defs: { A: { ...str, maxLength: 4 } } }),
    object({ a: { ...str, minLength: 2, maxLength: 4 } }, { $defs: { A: { ...str, maxLength: 4 } } }),
  ],
  [
    "merges what binds through a chain of references",
    refsAlone,
    object({ a: { $ref: "#/$defs/A", minLength: 2 } }, { $defs: { A: { $ref: "#/$defs/B" }, B: str } }),
    object({ a: { ...str, minLength: 2 } }, { $defs: { A: { $ref: "#/$defs/B" }, B: str } }),
  ],
  [
    "drops what its target says, too",
    refsAlone,
    object(
      { a: { $ref: "#/$defs/A", ...str }, b: { $ref: "#/$defs/A", ...str, description: "d" } },
      { $defs: { A: str } },
    ),
    object(
      { a: { $ref: "#/$defs/A" }, b: { description: "d", anyOf: [{ $ref: "#/$defs/A" }] } },
      { $defs: { A: str } },
    ),
  ],
  [
    "tells what binds beside a recursive one, but for what its target says, too",
    refsAlone,
    object({ a: { $ref: "#", type: "object" }, b: { $ref: "#", minProperties: 1, description: "d" } }),
    object({ a: { $ref: "#" }, b: { description: "d (minProperties: 1)", anyOf: [{ $ref: "#" }] } }),
    ["/properties/b unsupported:minProperties"],
  ],
  [
    "makes the root what it refers to",
    refsAlone,
    { $ref: "#/$defs/A", $defs: { A: object({ x: str }) } },
    object({ x: str }, { $defs: { A: object({ x: str }) } }),
  ],
]);

table("closeObjects", [
  [
    "closes an object that does not say",
    closeObjects,
    object({ a: object({ b: str }) }),
    object({ a: object({ b: str }, { additionalProperties: false }) }, { additionalProperties: false }),
  ],
  [
    "closes an object without a type",
    closeObjects,
    { properties: { a: str } },
    { properties: { a: str }, additionalProperties: false },
  ],
  [
    "reports an object that is open on purpose",
    closeObjects,
    object({ a: str }, { additionalProperties: true }),
    object({ a: str }, { additionalProperties: false }),
    [" closeObjects"],
  ],
  [
    "reports a record",
    closeObjects,
    object({ map: { type: "object", additionalProperties: num } }),
    object({ map: { type: "object", additionalProperties: false } }, { additionalProperties: false }),
    ["/properties/map closeObjects"],
  ],
  [
    "reports an object of any content",
    closeObjects,
    object({ any: { type: "object" } }),
    object({ any: { type: "object", additionalProperties: false } }, { additionalProperties: false }),
    ["/properties/any closeObjects"],
  ],
  [
    "takes an object without parameters as it is",
    closeObjects,
    { type: "object" },
    { type: "object", additionalProperties: false },
  ],
]);

table("openObjects", [
  ["drops what closes", openObjects, object({ a: str }, { additionalProperties: false }), object({ a: str })],
  [
    "reports a record",
    openObjects,
    { type: "object", additionalProperties: num },
    { type: "object", description: '(additionalProperties: {"type":"number"})' },
    [" unsupported:additionalProperties"],
  ],
]);

table("requireAll", [
  [
    "makes optional properties nullable",
    requireAll,
    object({ a: str, b: { ...num, minimum: 1 } }, { required: ["a"] }),
    object({ a: str, b: { type: ["number", "null"], minimum: 1 } }, { required: ["a", "b"] }),
  ],
  [
    "adds null to an enum",
    requireAll,
    object({ a: { ...str, enum: ["x"] } }),
    object({ a: { type: ["string", "null"], enum: ["x", null] } }, { required: ["a"] }),
  ],
  [
    "adds a branch to a union",
    requireAll,
    object({ a: { description: "d", anyOf: [str, num] } }),
    object({ a: { description: "d", anyOf: [str, num, nul] } }, { required: ["a"] }),
  ],
  [
    "puts what binds into a branch and leaves what describes outside",
    requireAll,
    object({ a: { description: "d", const: 1 } }),
    object({ a: { description: "d", anyOf: [{ const: 1 }, nul] } }, { required: ["a"] }),
  ],
  [
    "wraps a reference",
    requireAll,
    object({ a: { $ref: "#/$defs/A" } }, { $defs: { A: str } }),
    object({ a: { anyOf: [{ $ref: "#/$defs/A" }, nul] } }, { required: ["a"], $defs: { A: str } }),
  ],
  [
    "leaves what takes null already",
    requireAll,
    object(
      { a: { type: ["string", "null"] }, b: {}, c: { anyOf: [str, nul] }, d: { $ref: "#/$defs/N" } },
      { $defs: { N: nul } },
    ),
    object(
      { a: { type: ["string", "null"] }, b: {}, c: { anyOf: [str, nul] }, d: { $ref: "#/$defs/N" } },
      { required: ["a", "b", "c", "d"], $defs: { N: nul } },
    ),
  ],
  [
    "reports a required name without a property",
    requireAll,
    object({ a: str }, { required: ["a", "ghost"] }),
    object({ a: str }, { required: ["a"] }),
    [" requireAll"],
  ],
  [
    "also in an object without any",
    requireAll,
    { type: "object", required: ["ghost"] },
    object({}, { required: [] }),
    [" requireAll"],
  ],
  [
    "keeps a property named __proto__",
    requireAll,
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as JsonSchema,
    JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":["string","null"]}},"required":["__proto__"]}',
    ) as JsonSchema,
  ],
]);

table("requireDeclared", [
  [
    "drops names without a property",
    requireDeclared,
    object({ a: str }, { required: ["a", "toString"] }),
    object({ a: str }, { required: ["a"] }),
    [" requireDeclared"],
  ],
  [
    "drops a list without names, which says nothing",
    requireDeclared,
    object({ a: str }, { required: [] }),
    object({ a: str }),
  ],
]);

const keyed = (properties: Record<string, unknown>) => object(properties, { required: ["k"] });
const one = keyed({ k: { const: 1 } });
const nowhere = keyed({ k: { $ref: "#/nowhere" } });

table("oneOfToAnyOf", [
  ["loses nothing where types differ", oneOfToAnyOf, { oneOf: [str, num] }, { anyOf: [str, num] }],
  [
    "loses nothing in a discriminated union",
    oneOfToAnyOf,
    {
      oneOf: [
        object({ kind: { const: "a" } }, { required: ["kind"] }),
        object({ kind: { enum: ["b", "c"] } }, { required: ["kind"] }),
      ],
    },
    {
      anyOf: [
        object({ kind: { const: "a" } }, { required: ["kind"] }),
        object({ kind: { enum: ["b", "c"] } }, { required: ["kind"] }),
      ],
    },
  ],
  [
    "reads a discriminated union through references",
    oneOfToAnyOf,
    { oneOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }], $defs: { A: { const: 1 }, B: { const: 2 } } },
    { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }], $defs: { A: { const: 1 }, B: { const: 2 } } },
  ],
  [
    "reports branches that overlap",
    oneOfToAnyOf,
    { oneOf: [{ type: "integer" }, num] },
    { anyOf: [{ type: "integer" }, num] },
    [" oneOfToAnyOf"],
  ],
  [
    "reports a discriminator that may be missing",
    oneOfToAnyOf,
    { oneOf: [object({ k: { const: 1 } }), object({ k: { const: 2 } })] },
    { anyOf: [object({ k: { const: 1 } }), object({ k: { const: 2 } })] },
    [" oneOfToAnyOf"],
  ],
  [
    "reports a discriminator without a schema, or with one that is not there",
    oneOfToAnyOf,
    object({
      a: { oneOf: [keyed({}), one] },
      b: { oneOf: [one, keyed({})] },
      c: { oneOf: [one, nowhere] },
      d: { oneOf: [nowhere, one] },
    }),
    object({
      a: { anyOf: [keyed({}), one] },
      b: { anyOf: [one, keyed({})] },
      c: { anyOf: [one, nowhere] },
      d: { anyOf: [nowhere, one] },
    }),
    ["a", "b", "c", "d"].map((name) => `/properties/${name} oneOfToAnyOf`),
  ],
  [
    "keeps both where there is an anyOf too",
    oneOfToAnyOf,
    { anyOf: [str], oneOf: [str, num] },
    { anyOf: [str], allOf: [{ anyOf: [str, num] }] },
  ],
]);

table("foldAllOf", [
  [
    "merges objects",
    foldAllOf,
    { allOf: [object({ a: str }, { required: ["a"] }), object({ b: num }, { required: ["b"] })] },
    object({ a: str, b: num }, { required: ["a", "b"] }),
  ],
  [
    "takes the narrower bound",
    foldAllOf,
    {
      ...num,
      minimum: 1,
      allOf: [
        { minimum: 5, maximum: 9 },
        { maximum: 7, type: "integer" },
      ],
    },
    { type: "integer", minimum: 5, maximum: 7 },
  ],
  [
    "merges a part that two others have in common",
    foldAllOf,
    {
      allOf: [{ $ref: "#/$defs/B" }, { $ref: "#/$defs/C" }],
      $defs: {
        A: object({ a: str }),
        B: { allOf: [{ $ref: "#/$defs/A" }, object({ b: str })] },
        C: { allOf: [{ $ref: "#/$defs/A" }, object({ c: str })] },
      },
    },
    object(
      { a: str, b: str, c: str },
      { $defs: { A: object({ a: str }), B: object({ a: str, b: str }), C: object({ a: str, c: str }) } },
    ),
  ],
  [
    "takes the values that all list",
    foldAllOf,
    { allOf: [{ enum: ["a", { b: [1] }, "c"] }, { enum: ["c", { b: [1] }] }] },
    { enum: [{ b: [1] }, "c"] },
  ],
  [
    "reports lists of values that have none in common",
    foldAllOf,
    { allOf: [{ enum: ["a"] }, { enum: ["b"] }] },
    { enum: ["a"] },
    [" foldAllOf"],
  ],
  ["takes the multiple of both", foldAllOf, { allOf: [{ multipleOf: 2 }, { multipleOf: 6 }] }, { multipleOf: 6 }],
  [
    "takes the multiple of both, in the other order",
    foldAllOf,
    { allOf: [{ multipleOf: 6 }, { multipleOf: 2 }] },
    { multipleOf: 6 },
  ],
  [
    "reports multiples of which neither is one of the other",
    foldAllOf,
    { allOf: [{ multipleOf: 4 }, { multipleOf: 6 }] },
    { multipleOf: 4 },
    [" foldAllOf"],
  ],
  [
    "reports items that would be those behind a tuple",
    foldAllOf,
    { type: "array", allOf: [{ prefixItems: [str] }, { items: num }] },
    { type: "array", prefixItems: [str], items: num },
    [" foldAllOf"],
  ],
  [
    "merges what other properties hold",
    foldAllOf,
    {
      allOf: [
        { additionalProperties: str },
        { additionalProperties: { minLength: 2 } },
        { additionalProperties: true },
      ],
    },
    { additionalProperties: { ...str, minLength: 2 } },
  ],
  [
    "leaves an object closed that one part closes",
    foldAllOf,
    { allOf: [{ additionalProperties: str }, { additionalProperties: false }] },
    { additionalProperties: false },
  ],
  [
    "merges what a reference points to",
    foldAllOf,
    { allOf: [{ $ref: "#/$defs/A" }, object({ b: num })], $defs: { A: object({ a: str }) } },
    object({ a: str, b: num }, { $defs: { A: object({ a: str }) } }),
  ],
  [
    "leaves a reference that is alone a reference",
    foldAllOf,
    object({ a: { description: "d", allOf: [{ $ref: "#/$defs/A" }] } }, { $defs: { A: str } }),
    object({ a: { description: "d", $ref: "#/$defs/A" } }, { $defs: { A: str } }),
  ],
  [
    "folds from the inside out",
    foldAllOf,
    { allOf: [{ allOf: [object({ a: str }), object({ b: str })] }, object({ c: str })] },
    object({ a: str, b: str, c: str }),
  ],
  [
    "keeps the first of what has no common form",
    foldAllOf,
    { ...str, pattern: "a", allOf: [{ pattern: "b" }] },
    { ...str, pattern: "a" },
    [" foldAllOf"],
  ],
  [
    "reports closed parts that name different properties",
    foldAllOf,
    {
      allOf: [object({ a: str }, { additionalProperties: false }), object({ b: str }, { additionalProperties: false })],
    },
    object({ a: str, b: str }, { additionalProperties: false }),
    [" foldAllOf"],
  ],
  [
    "does not follow a recursion forever",
    foldAllOf,
    { $defs: { A: { allOf: [{ $ref: "#/$defs/A" }, object({ a: str })] } }, ...object({ a: { $ref: "#/$defs/A" } }) },
    { $defs: { A: { $ref: "#/$defs/A", ...object({ a: str }) } }, ...object({ a: { $ref: "#/$defs/A" } }) },
    ["/$defs/A foldAllOf"],
  ],
  [
    "folds what is in the target of a reference, too",
    foldAllOf,
    object(
      { a: { allOf: [{ $ref: "#/$defs/A" }, { minProperties: 1 }] } },
      { $defs: { A: object({ b: { allOf: [{ minLength: 1 }, str] } }) } },
    ),
    object(
      { a: { ...object({ b: { ...str, minLength: 1 } }), minProperties: 1 } },
      { $defs: { A: object({ b: { ...str, minLength: 1 } }) } },
    ),
  ],
  [
    "ends where a part holds itself, with a loss",
    foldAllOf,
    object({ a: { allOf: [{ $ref: "#" }, { minProperties: 1 }] } }),
    object({ a: { ...object({ a: { $ref: "#" } }), minProperties: 1 } }),
    ["/properties/a foldAllOf"],
  ],
  [
    "makes the root what its only part points to",
    foldAllOf,
    { description: "d", allOf: [{ $ref: "#/$defs/A" }], $defs: { A: object({ a: str }) } },
    { description: "d", ...object({ a: str }), $defs: { A: object({ a: str }) } },
  ],
  [
    "does not give an else to the if of another part",
    foldAllOf,
    // oxlint-disable-next-line unicorn/no-thenable
    { allOf: [{ if: str, then: { minLength: 1 } }, { else: num }] },
    // oxlint-disable-next-line unicorn/no-thenable
    { if: str, then: { minLength: 1 } },
  ],
  [
    "does not give a minContains to the contains of another part",
    foldAllOf,
    { allOf: [{ minContains: 2 }, { contains: str }] },
    { contains: str },
  ],
  [
    "keeps the first of two conditions whole",
    foldAllOf,
    {
      allOf: [
        // oxlint-disable-next-line unicorn/no-thenable
        { if: str, then: { minLength: 1 } },
        { if: num, else: str },
      ],
    },
    // oxlint-disable-next-line unicorn/no-thenable
    { if: str, then: { minLength: 1 } },
    [" foldAllOf"],
  ],
  [
    "reports patterns of names that would let through what another part closes",
    foldAllOf,
    { allOf: [{ patternProperties: { "^x": str } }, { additionalProperties: false }] },
    { patternProperties: { "^x": str }, additionalProperties: false },
    [" foldAllOf"],
  ],
  [
    "reports the same the other way round",
    foldAllOf,
    { allOf: [{ additionalProperties: false }, { patternProperties: { "^x": str } }] },
    { patternProperties: { "^x": str }, additionalProperties: false },
    [" foldAllOf"],
  ],
  [
    "loses nothing of patterns of names that are the same, or open",
    foldAllOf,
    {
      allOf: [
        { patternProperties: { "^x": str }, additionalProperties: true },
        { patternProperties: { "^x": str }, additionalProperties: true, properties: { y: num } },
      ],
    },
    { patternProperties: { "^x": str }, additionalProperties: true, properties: { y: num } },
  ],
  [
    "reports a property that is named beside a pattern that may be about it",
    foldAllOf,
    {
      allOf: [{ patternProperties: { "^x": str }, additionalProperties: num }, { properties: { x: { minLength: 1 } } }],
    },
    { patternProperties: { "^x": str }, additionalProperties: num, properties: { x: { minLength: 1, ...num } } },
    [" foldAllOf"],
  ],
  [
    "reports what a part says of its own unevaluated properties, which would be about those of the others",
    foldAllOf,
    {
      properties: { a: str },
      allOf: [{ properties: { b: str }, dependentSchemas: { b: {} }, unevaluatedProperties: false }],
    },
    { properties: { a: str, b: str }, dependentSchemas: { b: {} }, unevaluatedProperties: false },
    [" foldAllOf"],
  ],
  [
    "closes what has no other parts left",
    foldAllOf,
    { allOf: [object({ a: str }), object({ b: str })], unevaluatedProperties: false },
    object({ a: str, b: str }, { additionalProperties: false }),
  ],
  [
    "knows that a rule for other properties leaves none unevaluated",
    foldAllOf,
    object({ a: str }, { additionalProperties: str, unevaluatedProperties: false }),
    object({ a: str }, { additionalProperties: str, unevaluatedProperties: false }),
  ],
  [
    "closes what only has a type around it",
    foldAllOf,
    { type: "object", allOf: [object({ a: str }, { unevaluatedProperties: false })] },
    object({ a: str }, { additionalProperties: false }),
  ],
  [
    "loses nothing of what several parts say alike",
    foldAllOf,
    {
      allOf: [
        // oxlint-disable-next-line unicorn/no-thenable
        { pattern: "x", if: str, then: { minLength: 1 } },
        // oxlint-disable-next-line unicorn/no-thenable
        { pattern: "x", if: str, then: { minLength: 1 } },
      ],
    },
    // oxlint-disable-next-line unicorn/no-thenable
    { pattern: "x", if: str, then: { minLength: 1 } },
  ],
  [
    "keeps the first of two constants",
    foldAllOf,
    { allOf: [{ const: 2 }, { const: 1 }] },
    { const: 2 },
    [" foldAllOf"],
  ],
  [
    "keeps a property that one part forbids forbidden",
    foldAllOf,
    { allOf: [object({ a: false, b: str }), object({ a: str, b: false })] },
    object({ a: false, b: false }),
  ],
  [
    "reports a list that goes on in another part",
    foldAllOf,
    { allOf: [{ prefixItems: [str] }, { prefixItems: [str, num] }] },
    { prefixItems: [str] },
    [" foldAllOf"],
  ],
  [
    "reports a list of items beside a schema of all",
    foldAllOf,
    { allOf: [{ items: [str] }, { items: num }] },
    { items: [str] },
    [" foldAllOf"],
  ],
  [
    "keeps what is said of the unevaluated properties of all parts",
    foldAllOf,
    { allOf: [object({ a: str }), object({ b: str })], dependentSchemas: { b: {} }, unevaluatedProperties: false },
    { ...object({ a: str, b: str }), dependentSchemas: { b: {} }, unevaluatedProperties: false },
  ],
  [
    "keeps what types have in common, else the first of them",
    foldAllOf,
    object({ a: { type: ["string", "number"], allOf: [{ type: ["integer", "null"] }] }, b: { ...str, allOf: [num] } }),
    object({ a: { type: "integer" }, b: str }),
    ["/properties/b foldAllOf"],
  ],
  ["reports a part that nothing fits", foldAllOf, { allOf: [false, str] }, str, [" foldAllOf"]],
]);

table("spreadUnions", [
  [
    "puts what is beside the union into each branch",
    spreadUnions,
    object({
      a: object(
        { id: str },
        { required: ["id"], anyOf: [{ required: ["x"], properties: { x: num } }, object({ y: num })] },
      ),
    }),
    object({
      a: {
        anyOf: [
          object({ id: str, x: num }, { required: ["x", "id"] }),
          object({ id: str, y: num }, { required: ["id"] }),
        ],
      },
    }),
  ],
]);

table("flattenRootUnion", [
  [
    "tells of branches that only require",
    flattenRootUnion,
    { ...object({ id: str, name: str }), anyOf: [{ required: ["id"] }, { required: ["name"] }] },
    { ...object({ id: str, name: str }), description: '(anyOf: [{"required":["id"]},{"required":["name"]}])' },
    [" flattenRootUnion"],
  ],
  [
    "makes one object of all branches",
    flattenRootUnion,
    {
      description: "d",
      anyOf: [
        object({ kind: { const: "a" }, x: num }, { required: ["kind", "x"], additionalProperties: false }),
        object({ kind: { const: "b" }, y: num }, { required: ["kind"] }),
      ],
    },
    { description: "d", ...object({ kind: { ...str, enum: ["a", "b"] }, x: num, y: num }, { required: ["kind"] }) },
    [" flattenRootUnion"],
  ],
  [
    "requires nothing where a branch is any object",
    flattenRootUnion,
    { anyOf: [object({ a: str }, { required: ["a"] }), { description: "or none" }, str, { enum: [1, null] }] },
    object({ a: str }),
    [" flattenRootUnion"],
  ],
  [
    "looks into unions of unions and references",
    flattenRootUnion,
    {
      type: "object",
      properties: { id: str },
      required: ["id"],
      anyOf: [{ $ref: "#/$defs/A" }, { oneOf: [object({ b: num }), object({ c: num }, { required: ["c"] })] }],
      $defs: { A: object({ a: num }) },
    },
    object({ a: num, id: str, b: num, c: num }, { required: ["id"], $defs: { A: object({ a: num }) } }),
    [" flattenRootUnion"],
  ],
  [
    "follows a reference to a reference",
    flattenRootUnion,
    { anyOf: [{ $ref: "#/$defs/A" }, object({ b: num })], $defs: { A: { $ref: "#/$defs/B" }, B: object({ a: num }) } },
    object({ a: num, b: num }, { $defs: { A: { $ref: "#/$defs/B" }, B: object({ a: num }) } }),
    [" flattenRootUnion"],
  ],
  [
    "ends at a union that refers to itself",
    flattenRootUnion,
    { anyOf: [{ $ref: "#" }, object({ a: str })] },
    object({ a: str }),
    [" flattenRootUnion"],
  ],
  [
    "closes the object where all branches are closed, and says what each takes for a property",
    flattenRootUnion,
    { anyOf: [str, num, nul].map((x) => object({ x }, { additionalProperties: false })) },
    object({ x: { anyOf: [str, num, nul] } }, { additionalProperties: false }),
    [" flattenRootUnion"],
  ],
  [
    "says the same schema and constants of several branches once, wherever the others are",
    flattenRootUnion,
    {
      anyOf: [object({ x: str, y: { const: "a" } }), object({ x: str, y: { const: "b" } }), object({ x: num, y: num })],
    },
    object({ x: { anyOf: [str, num] }, y: { anyOf: [{ ...str, enum: ["a", "b"] }, num] } }),
    [" flattenRootUnion"],
  ],
  [
    "still requires what all objects among the branches do",
    flattenRootUnion,
    { anyOf: [object({ a: str }, { required: ["a"] }), object({ a: str, b: str }, { required: ["a"] }), str, false] },
    object({ a: str, b: str }, { required: ["a"] }),
    [" flattenRootUnion"],
  ],
  [
    "keeps a union in a branch that is described, and anything",
    flattenRootUnion,
    { anyOf: [object({ x: { description: "d", anyOf: [str, num] } }), object({ x: true })] },
    object({ x: { anyOf: [{ description: "d", anyOf: [str, num] }, true] } }),
    [" flattenRootUnion"],
  ],
  [
    "loses nothing with one branch",
    flattenRootUnion,
    { anyOf: [object({ a: str }, { minProperties: 1 })] },
    object({ a: str }, { minProperties: 1 }),
  ],
  [
    "loses nothing with one beside null, which arguments never are",
    flattenRootUnion,
    { description: "d", anyOf: [{ $ref: "#/$defs/A" }, nul], $defs: { A: object({ a: str }, { required: ["a"] }) } },
    {
      description: "d",
      ...object({ a: str }, { required: ["a"], $defs: { A: object({ a: str }, { required: ["a"] }) } }),
    },
  ],
  [
    "has what the branches take together from several schemas",
    flattenRootUnion,
    {
      anyOf: [
        { allOf: [{ $ref: "#/$defs/A" }, { anyOf: [object({ b: str }), object({ c: str })] }] },
        object({ a: str }, { required: ["a"] }),
      ],
      $defs: { A: object({ a: str }, { required: ["a"] }) },
    },
    object({ a: str, b: str, c: str }, { required: ["a"], $defs: { A: object({ a: str }, { required: ["a"] }) } }),
    [" flattenRootUnion"],
  ],
  [
    "leaves unions below the root",
    flattenRootUnion,
    object({ a: { anyOf: [str, num] } }),
    object({ a: { anyOf: [str, num] } }),
  ],
]);

table("nullableKeyword and typeArrayToAnyOf", [
  [
    "says null with a keyword",
    nullableKeyword,
    object({
      a: { type: ["string", "null"] },
      b: { anyOf: [str, nul] },
      c: { type: ["string", "null"], enum: ["x", null] },
    }),
    object({
      a: { ...str, nullable: true },
      b: { ...str, nullable: true },
      c: { ...str, enum: ["x"], nullable: true },
    }),
  ],
  ["keeps a union of the others", nullableKeyword, { anyOf: [str, num, nul] }, { anyOf: [str, num], nullable: true }],
  ["leaves a lone null", nullableKeyword, nul, nul],
  [
    "knows a null that is a constant, or the only value of a list",
    nullableKeyword,
    object({ a: { anyOf: [str, { const: null }] }, b: { anyOf: [{ enum: [null] }, num] } }),
    object({ a: { ...str, nullable: true }, b: { ...num, nullable: true } }),
  ],
  [
    "keeps a branch in which null is one of the values",
    nullableKeyword,
    { anyOf: [str, { enum: ["x", null], description: "d" }] },
    { anyOf: [str, { enum: ["x"], description: "d", nullable: true }] },
  ],
  [
    "leaves a type out that none of the listed values has",
    typeArrayToAnyOf,
    { type: ["string", "integer"], enum: ["x"] },
    { anyOf: [{ ...str, enum: ["x"] }] },
  ],
  [
    "counts whole numbers among the numbers",
    typeArrayToAnyOf,
    { type: ["number", "string"], enum: [1, "x"] },
    {
      anyOf: [
        { ...num, enum: [1] },
        { ...str, enum: ["x"] },
      ],
    },
  ],
  [
    "reports types beside a union",
    typeArrayToAnyOf,
    { type: ["string", "null"], anyOf: [str, nul] },
    { anyOf: [str, nul] },
    [" typeArrayToAnyOf"],
  ],
  [
    "gives each type its keywords",
    typeArrayToAnyOf,
    { type: ["string", "integer"], description: "d", minLength: 1, minimum: 2, enum: ["x", 3] },
    {
      description: "d",
      anyOf: [
        { ...str, minLength: 1, enum: ["x"] },
        { type: "integer", minimum: 2, enum: [3] },
      ],
    },
  ],
  ["unpacks a list of one", typeArrayToAnyOf, { type: ["string"] }, str],
]);

table("values", [
  [
    "keeps the type of a list that only the description has",
    stringEnums,
    { ...num, enum: [1] },
    { ...num, description: "(one of: [1])" },
    [" unsupported:enum"],
  ],
  [
    "keeps a tuple as short as it was",
    tuplesToArrays,
    object({
      a: { prefixItems: [str, num], items: false, maxItems: 1 },
      b: { prefixItems: [str], unevaluatedItems: false },
    }),
    object({ a: { items: { anyOf: [str, num] }, maxItems: 1 }, b: { items: str, maxItems: 1 } }),
    ["/properties/a tuplesToArrays", "/properties/b tuplesToArrays"],
  ],
  [
    "requires no property that must not be there",
    withoutBooleanSchemas,
    object({ a: str, b: false }, { required: ["a", "b"], additionalProperties: false }),
    object({ a: str }, { required: ["a"], additionalProperties: false }),
    [" withoutBooleanSchemas"],
  ],
  [
    "const becomes a list of one",
    constToEnum,
    object({ a: { const: 3 }, b: { ...str, const: "x" } }),
    object({ a: { type: "integer", enum: [3] }, b: { ...str, enum: ["x"] } }),
  ],
  ["lists of strings stay", stringEnums, { ...str, enum: ["a"] }, { ...str, enum: ["a"] }],
  [
    "other lists go into the description",
    stringEnums,
    { description: "Size.", enum: [1, 2] },
    { description: "Size. (one of: [1,2])", type: "integer" },
    [" unsupported:enum"],
  ],
  [
    "so does a list with an empty string",
    stringEnums,
    { enum: ["", "a"] },
    { description: '(one of: ["","a"])', type: "string" },
    [" unsupported:enum"],
  ],
  [
    "a type is read from other keywords",
    ensureType,
    { properties: { a: { enum: ["x"] }, b: { items: str }, c: { minLength: 1 }, d: { const: true } } },
    object({
      a: { ...str, enum: ["x"] },
      b: { type: "array", items: str },
      c: { ...str, minLength: 1 },
      d: { type: "boolean", const: true },
    }),
  ],
  [
    "any value is a loss",
    ensureType,
    object({ a: { description: "d" } }),
    object({ a: { type: ["string", "number", "boolean", "null"], description: "d" } }),
    ["/properties/a ensureType"],
  ],
  [
    "a tuple becomes a list",
    tuplesToArrays,
    { type: "array", prefixItems: [str, num, str], items: false },
    { type: "array", items: { anyOf: [str, num] }, maxItems: 3 },
    [" tuplesToArrays"],
  ],
  [
    "a tuple of older drafts too",
    tuplesToArrays,
    { type: "array", items: [str, str] },
    { type: "array", items: str },
    [" tuplesToArrays"],
  ],
  [
    "booleans become schemas",
    withoutBooleanSchemas,
    object({ a: true, b: false, c: { type: "array", items: true } }, { additionalProperties: false, required: ["a"] }),
    object({ a: {}, c: { type: "array", items: {} } }, { additionalProperties: false, required: ["a"] }),
  ],
  [
    "loosens what would let through less when properties that must not be there are left out",
    withoutBooleanSchemas,
    object({
      x: { oneOf: [object({ a: str, b: false }), object({ a: false, b: str })] },
      y: { not: object({ a: false }) },
    }),
    object({
      x: { anyOf: [object({ a: str }), object({ b: str })] },
      y: { description: '(not: {"type":"object","properties":{"a":false}})' },
    }),
    [
      "/properties/x oneOfToAnyOf",
      "/properties/x/oneOf/0 withoutBooleanSchemas",
      "/properties/x/oneOf/1 withoutBooleanSchemas",
      "/properties/y unsupported:not",
    ],
  ],
]);

table("dropKeywords", [
  [
    "reports each keyword, and moves it into the description",
    dropKeywords(["minimum", "maximum"]),
    { ...num, description: "How many.", minimum: 1, maximum: 5 },
    { ...num, description: "How many. (minimum: 1, maximum: 5)" },
    [" unsupported:minimum", " unsupported:maximum"],
  ],
  [
    "says nothing of a keyword that says nothing",
    dropKeywords(["uniqueItems", "minItems", "propertyNames", "maximum", "then", "items", "unevaluatedItems"]),
    {
      uniqueItems: false,
      minItems: 0,
      propertyNames: { type: "string" },
      maximum: Number.MAX_SAFE_INTEGER,
      // oxlint-disable-next-line unicorn/no-thenable
      then: str,
      items: {},
      unevaluatedItems: true,
    },
    {},
  ],
  [
    "reports what is empty, or a string, and says something",
    dropKeywords(["const", "enum", "not", "propertyNames"]),
    { const: {}, enum: [], not: {}, propertyNames: { ...str, pattern: "x" } },
    { description: '(const: {}, enum: [], not: {}, propertyNames: {"type":"string","pattern":"x"})' },
    [" unsupported:const", " unsupported:enum", " unsupported:not", " unsupported:propertyNames"],
  ],
  [
    "reports a long one, and leaves it out of the description",
    dropKeywords(["pattern"]),
    { ...str, description: "d", pattern: "a".repeat(200) },
    { ...str, description: "d" },
    [" unsupported:pattern"],
  ],
  [
    "drops annotations silently",
    dropAnnotations(["$schema", "title"]),
    { $schema: "s", ...object({ title: { ...str, title: "T" } }) },
    object({ title: str }),
  ],
  [
    "keeps known formats",
    keepFormats(["date"]),
    object({ a: { ...str, format: "date" }, b: { ...str, format: "email" } }),
    object({ a: { ...str, format: "date" }, b: { ...str, description: '(format: "email")' } }),
    ["/properties/b unsupported:format"],
  ],
  [
    "drops a format that only names the pattern beside it",
    keepFormats(["date"]),
    object({ a: { ...str, format: "nanoid", pattern: "x" }, b: { ...str, format: "email", pattern: "x" } }),
    object({ a: { ...str, pattern: "x" }, b: { ...str, pattern: "x", description: '(format: "email")' } }),
    ["/properties/b unsupported:format"],
  ],
  [
    "keeps patterns that can be read",
    keepPatterns((pattern) => pattern !== "?"),
    object({ a: { ...str, pattern: "x" }, pattern: { ...str, pattern: "?" } }),
    object({ a: { ...str, pattern: "x" }, pattern: { ...str, description: '(pattern: "?")' } }),
    ["/properties/pattern unsupported:pattern"],
  ],
  [
    "drops what would bind more without its pattern",
    keepPatterns((pattern) => pattern !== "?"),
    // oxlint-disable-next-line unicorn/no-thenable
    { if: { not: { pattern: "?" } }, then: { not: { pattern: "x" } }, not: object({ a: { pattern: "?" } }) },
    {
      description:
        '(not: {"type":"object","properties":{"a":{"pattern":"?"}}}, if: {"not":{"pattern":"?"}}, then: {"not":{"pattern":"x"}})',
    },
    [" unsupported:not", " unsupported:if", " unsupported:then"],
  ],
  [
    "drops what would bind more without the pattern of a definition, which may refer to itself",
    keepPatterns((pattern) => pattern !== "?"),
    {
      ...object({
        a: { not: { $ref: "#/$defs/A" } },
        // oxlint-disable-next-line unicorn/no-thenable
        b: { if: { items: { $ref: "#/$defs/A" } }, then: { minItems: 1 }, unevaluatedItems: false },
        c: { contains: { $ref: "#/$defs/A" }, maxContains: 1 },
        d: { not: { $ref: "#/$defs/B" } },
      }),
      $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, { pattern: "?" }] }, B: { anyOf: [{ $ref: "#/$defs/B" }, str] } },
    },
    {
      ...object({
        a: { description: '(not: {"$ref":"#/$defs/A"})' },
        b: { description: '(if: {"items":{"$ref":"#/$defs/A"}}, then: {"minItems":1}, unevaluatedItems: false)' },
        c: { contains: { $ref: "#/$defs/A" }, description: "(maxContains: 1)" },
        d: { not: { $ref: "#/$defs/B" } },
      }),
      $defs: {
        A: { anyOf: [{ $ref: "#/$defs/A" }, { description: '(pattern: "?")' }] },
        B: { anyOf: [{ $ref: "#/$defs/B" }, str] },
      },
    },
    [
      "/properties/a unsupported:not",
      "/properties/b unsupported:if",
      "/properties/b unsupported:then",
      "/properties/b unsupported:unevaluatedItems",
      "/properties/c unsupported:maxContains",
      "/$defs/A/anyOf/1 unsupported:pattern",
    ],
  ],
  [
    "makes anyOf of oneOf where a branch loses its pattern, since a value may fit two then",
    keepPatterns((pattern) => pattern !== "?"),
    object({
      a: {
        oneOf: [
          { ...str, pattern: "?" },
          { ...str, pattern: "x" },
        ],
      },
      b: { oneOf: [{ ...str, pattern: "?" }, num] },
      c: { oneOf: [{ ...str, pattern: "x" }, str] },
    }),
    object({
      a: {
        anyOf: [
          { ...str, description: '(pattern: "?")' },
          { ...str, pattern: "x" },
        ],
      },
      b: { anyOf: [{ ...str, description: '(pattern: "?")' }, num] },
      c: { oneOf: [{ ...str, pattern: "x" }, str] },
    }),
    [
      "/properties/a oneOfToAnyOf",
      "/properties/a/oneOf/0 unsupported:pattern",
      "/properties/b/oneOf/0 unsupported:pattern",
    ],
  ],
  [
    "opens an object whose patterns of names cannot be read",
    keepPatterns((pattern) => pattern !== "?"),
    object({ a: str }, { patternProperties: { "?": num }, additionalProperties: false }),
    object(
      { a: str },
      {
        description: '(patternProperties: {"?":{"type":"number"}}, additionalProperties: false)',
        additionalProperties: true,
      },
    ),
    [" unsupported:patternProperties", " unsupported:additionalProperties"],
  ],
  [
    "lowers minItems",
    limitMinItems(1),
    { type: "array", minItems: 3 },
    { type: "array", minItems: 1, description: "(minItems: 3)" },
    [" unsupported:minItems"],
  ],
  ["leaves a low minItems", limitMinItems(1), { type: "array", minItems: 1 }, { type: "array", minItems: 1 }],
]);

table("ensureObjectRoot", [
  ["fills in what is missing", ensureObjectRoot, {}, { type: "object", properties: {} }],
  ["touches nothing below", ensureObjectRoot, object({ a: {} }), object({ a: {} })],
  ["names the type, no other one beside it", ensureObjectRoot, { properties: { a: str } }, object({ a: str })],
  [
    "leaves one type of several",
    ensureObjectRoot,
    object({ a: str }, { type: ["object", "null"] }),
    object({ a: str }),
  ],
  [
    "reports a root that is no object",
    ensureObjectRoot,
    str,
    { type: "object", properties: {} },
    [" ensureObjectRoot"],
  ],
]);

it("a schema of the common kind loses nothing in a strict list", () => {
  const schema = z.toJSONSchema(
    z.object({
      city: z.string().describe("Where."),
      days: z.number().optional(),
      stops: z.array(z.object({ at: z.enum(["a", "b"]), note: z.string().nullish() })),
      how: z.discriminatedUnion("by", [
        z.object({ by: z.literal("car"), seats: z.number() }),
        z.object({ by: z.literal("foot") }),
      ]),
    }),
    { io: "input" },
  ) as JsonSchema;
  const strict = [
    dropAnnotations(["$schema"]),
    keepLocalRefs,
    refsAlone,
    foldAllOf,
    oneOfToAnyOf,
    spreadUnions,
    withoutBooleanSchemas,
    tuplesToArrays,
    ensureObjectRoot,
    ensureType,
    dropKeywords(["propertyNames", "not"]),
    closeObjects,
    requireAll,
  ];
  const { schema: lowered, losses } = lowerSchema(schema, strict);
  expect(losses).toEqual([]);
  expect(lowerSchema(lowered, strict)).toEqual({ schema: lowered, losses: [] });
});

table("typedValues", [
  ["names the type of a constant", typedValues, { const: 1 }, { type: "integer", const: 1 }],
  [
    "names the one of a list, and null",
    typedValues,
    { enum: ["a", null] },
    { type: ["string", "null"], enum: ["a", null] },
  ],
  ["leaves a list of several types", typedValues, { enum: ["a", 1] }, { enum: ["a", 1] }],
  ["leaves a type that is named", typedValues, { type: "number", const: 1 }, { type: "number", const: 1 }],
  ["leaves an empty list, whose values have no type", typedValues, { enum: [] }, { enum: [] }],
]);

table("listedItemsToPrefixItems", [
  [
    "says a tuple as 2020-12 does",
    listedItemsToPrefixItems,
    object({ t: { type: "array", items: [str, num], additionalItems: false } }),
    object({ t: { type: "array", prefixItems: [str, num], items: false } }),
  ],
  [
    "leaves other arrays alone",
    listedItemsToPrefixItems,
    object({ l: { type: "array", items: str }, t: { prefixItems: [str], items: num } }),
    object({ l: { type: "array", items: str }, t: { prefixItems: [str], items: num } }),
  ],
]);

table("listedNamesToProperties", [
  [
    "makes properties of the names",
    listedNamesToProperties,
    { type: "object", propertyNames: { enum: ["a", "b"] }, additionalProperties: num, required: ["a"] },
    object({ a: num, b: num }, { required: ["a"], additionalProperties: false }),
  ],
  [
    "keeps what is said of one of them, and allows any value where nothing is said",
    listedNamesToProperties,
    object({ a: str }, { propertyNames: { enum: ["a", "__proto__"] } }),
    object(JSON.parse('{"a":{"type":"string"},"__proto__":true}'), { additionalProperties: false }),
  ],
  [
    "takes one name",
    listedNamesToProperties,
    { propertyNames: { const: "a" } },
    { properties: { a: true }, additionalProperties: false },
  ],
  [
    "leaves names that are not listed, or go with a pattern, or with another property",
    listedNamesToProperties,
    object({
      a: { propertyNames: { pattern: "^x" }, additionalProperties: num },
      b: { propertyNames: { enum: ["a"] }, patternProperties: { a: num } },
      c: { propertyNames: { enum: ["a"] }, properties: { b: num } },
    }),
    object({
      a: { propertyNames: { pattern: "^x" }, additionalProperties: num },
      b: { propertyNames: { enum: ["a"] }, patternProperties: { a: num } },
      c: { propertyNames: { enum: ["a"] }, properties: { b: num } },
    }),
  ],
]);

table("nullableToType", [
  [
    "makes a type of it",
    nullableToType,
    object({ a: { ...str, nullable: true }, b: { type: ["string", "null"], nullable: true } }),
    object({ a: { type: ["string", "null"] }, b: { type: ["string", "null"] } }),
  ],
  [
    "leaves it out where it says nothing: without a type, beside values that are not null",
    nullableToType,
    object({
      a: { ...str, nullable: false },
      b: { anyOf: [str], nullable: true },
      c: { ...str, enum: ["x"], nullable: true },
    }),
    object({ a: str, b: { anyOf: [str] }, c: { ...str, enum: ["x"] } }),
  ],
]);

table("keepKeywords", [
  [
    "leaves out what is not listed, and no property of that name",
    keepKeywords(["type", "properties"]),
    object({ "x-order": { ...str, "x-order": 1, markdownDescription: "m" } }, { "x-tags": [] }),
    object({ "x-order": str }),
  ],
  [
    "moves into the description what binds, and reports it",
    keepKeywords(["type"]),
    { ...str, minLength: 1, not: { pattern: "a" }, uniqueItems: false, readOnly: true },
    { ...str, description: '(minLength: 1, not: {"pattern":"a"})' },
    [" unsupported:minLength", " unsupported:not"],
  ],
]);

it("foldAllOf comes to an end where parts refer to one another in many ways", () => {
  const names = Array.from({ length: 12 }, (_, index) => `d${index}`);
  const part = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { minProperties: 1 }] });
  const all = object(Object.fromEntries(names.map((name) => [name, part(name)])));
  const schema = { ...all, $defs: Object.fromEntries(names.map((name) => [name, all])) };
  const { schema: lowered } = lowerSchema(schema, [foldAllOf]);
  expect(JSON.stringify(lowered).length).toBeLessThan(500_000);
  expect(JSON.stringify(lowered)).not.toContain("allOf");
});

/** Types of which each extends the next one of its line, and holds `more`. */
function lines(count: number, length: number, more: JsonSchema): JsonSchema {
  const types = Array.from({ length: count * length }, (_, index) => {
    const base = (index + 1) % length === 0 ? [] : [{ $ref: `#/$defs/t${index + 1}` }];
    return [`t${index}`, { allOf: [...base, object({ [`p${(index % length) % 30}`]: str }), more] }];
  });
  const first = Array.from({ length: count }, (_, line) => [`l${line}`, { $ref: `#/$defs/t${line * length}` }]);
  return { ...object(Object.fromEntries(first)), $defs: Object.fromEntries(types) };
}

it.each([
  [110, 4],
  [1, 30],
])("foldAllOf merges what types inherit, and leaves nothing out: %i lines of %i", (count, length) => {
  const { schema, losses } = lowerSchema(lines(count, length, {}), [keepLocalRefs, foldAllOf]);
  expect(losses).toEqual([]);
  const all = Array.from({ length }, (_, index) => `p${index}`);
  const { properties } = (schema["$defs"] as Record<string, JsonSchema>)["t0"]!;
  expect(Object.keys(properties as object).toSorted()).toEqual(all.toSorted());
});

it("references with siblings are merged quickly where each leads to all others", () => {
  const schema = lines(1, 200, object({ first: { $ref: "#/$defs/t0" } }));
  const begin = process.cpuUsage();
  lowerSchema(schema, [keepLocalRefs, foldAllOf, refsAlone]);
  expect(process.cpuUsage(begin).user).toBeLessThan(2_500_000);
});

it("keepPatterns() looks at each schema so many times, however they refer to one another", () => {
  const looksOf = (count: number): number => {
    const names = Array.from({ length: count }, (_, index) => `d${index}`);
    const oneOf = names.map((name) => [{ $ref: `#/$defs/${name}` }, { type: "string", pattern: "a" }]);
    const $defs = Object.fromEntries(names.map((name, index) => [name, { oneOf: oneOf[(index + 1) % count]! }]));
    let looks = 0;
    const canRead = () => (looks += 1) > 0;
    lowerSchema({ $ref: "#/$defs/d0", $defs }, [keepPatterns(canRead)]);
    return looks;
  };
  expect(looksOf(200)).toBeLessThan(4 * 200);
});

it.each([
  ["references", (name: string) => ({ $ref: `#/$defs/${name}` })],
  ["an allOf with one", (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, object({ a: str })] })],
])("flattens unions of unions in time, that multiply by %s", (_, to) => {
  const unions = Array.from({ length: 7 }, (__, level) => [`u${level}`, { anyOf: Array(8).fill(to(`u${level + 1}`)) }]);
  const schema = { $ref: "#/$defs/u0", $defs: { ...Object.fromEntries(unions), u7: object({ b: str }) } };
  const begin = busyMs();
  const { schema: flat } = lowerSchema(schema, [refsAlone, flattenRootUnion]);
  expect(busyMs() - begin).toBeLessThan(2500);
  expect(flat["properties"]).toHaveProperty("b");
});

it.each([
  [
    "that multiply",
    30,
    (name: string) => ({ a: { $ref: name, minProperties: 1 }, b: { $ref: name, minProperties: 1 } }),
  ],
  ["in a long line", 3000, (name: string) => ({ a: { $ref: name, minProperties: 1 } })],
])("merges references with siblings %s as far as there is room", (_, length, to) => {
  const all = Array.from({ length }, (__, index) => [`d${index}`, object(to(`#/$defs/d${index + 1}`))]);
  const schema = object(to("#/$defs/d0"), {
    $defs: { ...Object.fromEntries(all), [`d${length}`]: object({ b: str }) },
  });
  const begin = busyMs();
  const { losses } = lowerSchema(schema, [refsAlone]);
  expect(busyMs() - begin).toBeLessThan(2500);
  expect(losses[0]).toMatchObject({ rule: "size" });
});

it("merges references with siblings in a large cycle in time", () => {
  const all = Array.from({ length: 700 }, (_, index) => index);
  const schema = {
    properties: Object.fromEntries(all.map((n) => [`p${n}`, { $ref: `#/$defs/d${n}`, minProperties: 1 }])),
    $defs: Object.fromEntries(
      all.map((n) => [`d${n}`, { properties: { next: { $ref: `#/$defs/d${(n + 1) % 700}` } } }]),
    ),
  };
  const begin = busyMs();
  lowerSchema(schema, [refsAlone]);
  expect(busyMs() - begin).toBeLessThan(1500);
});

it.each(["allOf", "anyOf"])("copies each of many properties a few times only, merging an %s", (keyword) => {
  const copiesOf = (count: number): number => {
    const parts = Array.from({ length: count }, (_, index) => object({ [`p${index}`]: { type: "string" } }));
    const made = vi.spyOn(Object, "fromEntries");
    lowerSchema({ type: "object", [keyword]: parts }, [foldAllOf, flattenRootUnion]);
    const copies = made.mock.calls.reduce((sum, [entries]) => sum + [...entries].length, 0);
    made.mockRestore();
    return copies;
  };
  // One by one, they were copied a hundred times.
  expect(copiesOf(400)).toBeLessThan(30 * 400);
});

const many = Array.from({ length: 400 }, (_, index) => index);
const text = (index: number) => ({ type: "string", const: `v${index}` });

it.each<[string, JsonSchema]>([
  ["values", { oneOf: many.map(text) }],
  ["values, or null", { oneOf: [...many.map(text), { type: "null" }] }],
  ["kinds of objects", { oneOf: many.map((index) => ({ ...object({ kind: text(index) }), required: ["kind"] })) }],
  [
    "kinds of objects of one version",
    {
      type: "object",
      oneOf: many.map((index) => ({ properties: { v: text(0), kind: text(index) }, required: ["v", "kind"] })),
    },
  ],
  ["a tuple", { prefixItems: many.map((index) => ({ ...text(index), description: "x" })) }],
])("compares each of many alternatives with few others: %s", (_, schema) => {
  const searches = (["some", "every", "findIndex"] as const).map((name) => vi.spyOn(Array.prototype, name));
  const { losses } = lowerSchema(schema, [oneOfToAnyOf, tuplesToArrays]);
  let searched = 0;
  for (const { mock } of searches) for (const list of mock.contexts) searched += (list as unknown[]).length;
  vi.restoreAllMocks();
  expect(losses.filter(({ rule }) => rule === "oneOfToAnyOf")).toEqual([]);
  expect(searched).toBeLessThan(40 * many.length);
});

it("sees that two of many alternatives fit one value", () => {
  const sees = (...oneOf: JsonSchema[]) => lowerSchema({ oneOf }, [oneOfToAnyOf]).losses.length === 1;
  expect(sees(...many.map(text), text(7))).toBe(true);
  expect(sees(...many.map(text), { type: "string" })).toBe(true);
  expect(sees(...many.map(text), { const: { a: 1, b: 2 } }, { const: { b: 2, a: 1 } })).toBe(true);
  expect(sees(...many.map(text), { const: { a: 1 } }, { const: { a: 2 } })).toBe(false);
  const kind = (index: number) => ({ properties: { kind: text(index) }, required: ["kind"] });
  // A value that is no object fits all of them.
  expect(sees(...many.map(kind))).toBe(true);
});
