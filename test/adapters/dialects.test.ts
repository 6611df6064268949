import { toStrictJsonSchema } from "openai/lib/transform";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter, ToolsOptions } from "../../src/adapter.ts";
import type { Loss } from "../../src/schema/lower.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";
import { busyMs } from "../busy-ms.ts";

/**
 * What every dialect makes of one shared set of schemas, side by side. The expectations are written from the rules:
 *
 * - openai: `toStrictJsonSchema()` of the `openai` package, and
 *   https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 * - anthropic: `transformJSONSchema()` of `@anthropic-ai/sdk`, and
 *   https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 * - google: `Schema`, and the keywords listed at `responseJsonSchema`, in the types of `@google/genai`
 * - cohere: https://docs.cohere.com/v2/docs/structured-outputs
 *
 * Both APIs of OpenAI share one dialect, so one column stands for both adapters.
 */
type Dialect =
  | "openai plain"
  | "openai strict"
  | "anthropic plain"
  | "anthropic strict"
  | "google json-schema"
  | "google schema"
  | "cohere plain"
  | "cohere strict";

/** A schema as a dialect says it, and what that gives up: `rule`, or `rule at /path`, under the schema that was given. */
interface Said {
  readonly schema: JsonSchema | undefined;
  readonly losses: readonly string[];
}

interface Row {
  readonly given: JsonSchema;
  readonly says: Readonly<Record<Dialect, Said>>;
}

const text = { type: "string" } as const;
const integer = { type: "integer" } as const;
const number = { type: "number" } as const;

function object(properties: Record<string, unknown>, required: readonly string[] = Object.keys(properties)) {
  return { type: "object", properties, ...(required.length > 0 && { required }) } as const;
}
function closed(properties: Record<string, unknown>, required: readonly string[] = Object.keys(properties)) {
  return { type: "object", properties, required, additionalProperties: false } as const;
}

function lossy(schema: JsonSchema, ...losses: string[]): Said {
  return { schema, losses };
}

function isSaid(value: JsonSchema | Said | undefined): value is Said {
  return value !== undefined && Array.isArray((value as Said).losses) && Object.hasOwn(value, "schema");
}

const dialects: readonly Dialect[] = [
  "openai plain",
  "openai strict",
  "anthropic plain",
  "anthropic strict",
  "google json-schema",
  "google schema",
  "cohere plain",
  "cohere strict",
];

/** The dialects in which a whole schema (not only a property of it) is told otherwise than as it was given. */
function whole(given: JsonSchema, changes: Partial<Record<Dialect, JsonSchema | Said | undefined>>): Row {
  const says = dialects.map((dialect): [Dialect, Said] => {
    const said = Object.hasOwn(changes, dialect) ? changes[dialect] : given;
    return [dialect, isSaid(said) ? said : { schema: said, losses: [] }];
  });
  return { given, says: Object.fromEntries(says) as Record<Dialect, Said> };
}

/** The same for the schema of one required property. Around it, OpenAI's and Anthropic's strict modes close the object. */
function property(given: JsonSchema, changes: Partial<Record<Dialect, JsonSchema | Said>> = {}): Row {
  const around = dialects.map((dialect): [Dialect, Said] => {
    const change = changes[dialect] ?? given;
    const { schema, losses } = isSaid(change) ? change : { schema: change, losses: [] };
    const isClosed = dialect === "openai strict" || dialect === "anthropic strict";
    return [
      dialect,
      {
        schema: (isClosed ? closed : object)({ p: schema }),
        losses: losses.map((loss) => {
          const [rule, path = ""] = loss.split(" at ");
          return `${rule} at ${path.startsWith("/$defs") ? path : `/properties/p${path}`}`;
        }),
      },
    ];
  });
  return { given: object({ p: given }), says: Object.fromEntries(around) as Record<Dialect, Said> };
}

/** The same for several dialects. */
function each<D extends Dialect>(names: readonly D[], said: JsonSchema | Said): Record<D, JsonSchema | Said> {
  return Object.fromEntries(names.map((name) => [name, said])) as Record<D, JsonSchema | Said>;
}

const STRICT = ["openai strict", "anthropic strict", "cohere strict"] as const;
const CLOSED = ["openai strict", "anthropic strict"] as const;
/** Cohere's API rejects nothing in plain mode, so everything is sent as it is. */
const NOT_COHERE_PLAIN = dialects.filter((name) => name !== "cohere plain");
const NO_ONE_OF = [...STRICT, "google schema"] as const;

const circle = object({ kind: { const: "circle" }, radius: number });
const square = object({ kind: { const: "square" }, side: number });
const node = object({ value: text, children: { type: "array", items: { $ref: "#/$defs/Node" } } }, ["value"]);
const address = object({ street: text, zip: { type: "string", minLength: 5 } }, ["street"]);
const pet = object({ k: text, n: text }, ["k"]);
const petNames = { propertyName: "k", mapping: { cat: "#/$defs/Cat", dog: "Dog" } };
const pets = ["#/$defs/Cat", "#/$defs/Dog"];
/** Pets by their names. */
function mappedPets(typed: JsonSchema): JsonSchema {
  const anyOf = ["cat", "dog"].map((k, i) => ({
    allOf: [{ $ref: pets[i] }, { properties: { k: { ...typed, enum: [k] } } }],
  }));
  return { ...object({ p: { anyOf, discriminator: petNames } }), $defs: { Cat: pet, Dog: pet } };
}

/** Told as it was given. */
const CONDITION =
  '(if: {"properties":{"kind":{"type":"string","enum":["other"]}}}, then: {"properties":{"reason":{"type":"string","minLength":1}}})';

/** A text and an integer, however the draft writes the tuple. */
const closedTuple = {
  "openai plain": { type: "array", prefixItems: [text, integer], items: { not: {} } },
  ...each(
    ["openai strict", "google schema"],
    lossy({ type: "array", items: { anyOf: [text, integer] }, maxItems: 2 }, "tuplesToArrays"),
  ),
  ...each(
    ["anthropic strict", "cohere strict"],
    lossy(
      { type: "array", items: { anyOf: [text, integer] }, description: "(maxItems: 2)" },
      "tuplesToArrays",
      "unsupported:maxItems",
    ),
  ),
  "google json-schema": { type: "array", prefixItems: [text, integer], maxItems: 2 },
};

const rows: Readonly<Record<string, Row>> = {
  // Objects

  "an object in an object": property(
    object({ name: text, size: object({ width: integer }) }),
    each(CLOSED, closed({ name: text, size: closed({ width: integer }) })),
  ),

  "an object that says it is closed": property(
    { ...object({ name: text }), additionalProperties: false },
    { "google schema": object({ name: text }) }, // it has no such keyword; inputs are validated all the same
  ),

  "an object that says it is open": property(
    { ...object({ name: text }), additionalProperties: true },
    {
      ...each(CLOSED, lossy(closed({ name: text }), "closeObjects")),
      "google schema": object({ name: text }),
    },
  ),

  "a record": property(
    { type: "object", additionalProperties: integer },
    {
      ...each(CLOSED, lossy({ type: "object", additionalProperties: false }, "closeObjects")),
      "google schema": lossy(
        { type: "object", description: '(additionalProperties: {"type":"integer"})' },
        "unsupported:additionalProperties",
      ),
    },
  ),

  "a record with listed names": property(
    { type: "object", propertyNames: { enum: ["a", "b"] }, additionalProperties: integer, required: ["a"] },
    {
      "anthropic plain": {
        type: "object",
        propertyNames: { type: "string", enum: ["a", "b"] },
        additionalProperties: integer,
        required: ["a"],
      },
      "openai strict": closed({ a: integer, b: { type: ["integer", "null"] } }),
      ...each(
        ["openai plain", "anthropic strict", "google json-schema", "cohere strict"],
        closed({ a: integer, b: integer }, ["a"]),
      ),
      "google schema": object({ a: integer, b: integer }, ["a"]),
    },
  ),

  "a required property without a schema": property(object({ a: text }, ["a", "b"]), {
    "openai plain": object({ a: text, b: {} }, ["a", "b"]),
    "openai strict": lossy(closed({ a: text }), "requireAll"),
    "anthropic strict": lossy(closed({ a: text }), "requireDeclared"),
    ...each(["google json-schema", "google schema", "cohere strict"], lossy(object({ a: text }), "requireDeclared")),
  }),

  "an object of any content": property(
    { type: "object" },
    each(CLOSED, lossy({ type: "object", additionalProperties: false }, "closeObjects")),
  ),

  "a condition between properties": property(
    {
      ...object({ kind: text, reason: text }),
      if: { properties: { kind: { type: "string", enum: ["other"] } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { reason: { type: "string", minLength: 1 } } },
    },
    {
      ...each(
        CLOSED,
        lossy(
          { ...closed({ kind: text, reason: text }), description: CONDITION },
          "unsupported:if",
          "unsupported:then",
        ),
      ),
      ...each(
        ["google json-schema", "google schema", "cohere strict"],
        lossy(
          { ...object({ kind: text, reason: text }), description: CONDITION },
          "unsupported:if",
          "unsupported:then",
        ),
      ),
    },
  ),

  "optional properties": property(
    object({ a: text, b: integer, c: { enum: ["x", "y"], type: "string" }, d: object({ e: text }, []) }, ["a"]),
    {
      "openai strict": closed({
        a: text,
        b: { type: ["integer", "null"] },
        c: { type: ["string", "null"], enum: ["x", "y", null] },
        d: { ...closed({ e: { type: ["string", "null"] } }), type: ["object", "null"] },
      }),
      "anthropic strict": closed(
        {
          a: text,
          b: integer,
          c: { type: "string", enum: ["x", "y"] },
          d: { type: "object", properties: { e: text }, additionalProperties: false },
        },
        ["a"],
      ),
      "google schema": object(
        { a: text, b: integer, c: { type: "string", format: "enum", enum: ["x", "y"] }, d: object({ e: text }, []) },
        ["a"],
      ),
      // Every object needs a required property.
      "cohere strict": object(
        {
          a: text,
          b: integer,
          c: { type: "string", enum: ["x", "y"] },
          d: object({ e: { anyOf: [text, { type: "null" }] } }),
        },
        ["a"],
      ),
    },
  ),

  "optional properties that are unions and references": whole(
    {
      ...object({ a: text, u: { anyOf: [text, integer], description: "Either." }, r: { $ref: "#/$defs/R" } }, ["a"]),
      $defs: { R: object({ x: text }) },
    },
    {
      "openai strict": {
        ...closed({
          a: text,
          u: { description: "Either.", anyOf: [text, integer, { type: "null" }] },
          r: { anyOf: [{ $ref: "#/$defs/R" }, { type: "null" }] },
        }),
        $defs: { R: closed({ x: text }) },
      },
      "anthropic strict": closed(
        { a: text, u: { anyOf: [text, integer], description: "Either." }, r: closed({ x: text }) },
        ["a"],
      ),
      "google schema": object(
        {
          a: text,
          // What stands beside anyOf goes into its branches.
          u: {
            anyOf: [
              { ...text, description: "Either." },
              { ...integer, description: "Either." },
            ],
          },
          r: object({ x: text }),
        },
        ["a"],
      ),
    },
  ),

  "a default": property(object({ a: text, n: { type: "integer", default: 5, description: "How many." } }, ["a"]), {
    // It refuses the keyword. Told it does its work, since validation fills it in.
    "openai strict": closed({ a: text, n: { type: ["integer", "null"], description: "How many. (default: 5)" } }),
    "anthropic strict": closed({ a: text, n: { type: "integer", default: 5, description: "How many." } }, ["a"]),
  }),

  "no parameters": whole(
    { type: "object", properties: {} },
    {
      "openai strict": { type: "object", properties: {}, required: [], additionalProperties: false },
      "anthropic strict": { type: "object", properties: {}, additionalProperties: false },
      // The declaration goes without a schema.
      ...each(["google json-schema", "google schema"], { schema: undefined, losses: [] }),
      "cohere strict": lossy({ type: "object", properties: {} }, "requireOne"),
    },
  ),

  // Arrays

  "an array of objects": property(
    { type: "array", items: object({ a: text }) },
    each(CLOSED, { type: "array", items: closed({ a: text }) }),
  ),

  "an array of arrays": property({ type: "array", items: { type: "array", items: number } }),

  "an array of anything": property(
    { type: "array" },
    {
      "openai plain": { type: "array", items: {} },
      "openai strict": lossy(
        { type: "array", items: { type: ["string", "number", "boolean", "null"] } },
        "ensureType at /items",
      ),
      "google schema": lossy(
        {
          type: "array",
          items: { anyOf: ["string", "number", "boolean"].map((type) => ({ type, nullable: true })) },
        },
        "ensureType at /items",
      ),
    },
  ),

  "the length of an array": property(
    { type: "array", items: text, minItems: 2, maxItems: 5, uniqueItems: true },
    {
      ...each(
        ["openai plain", "openai strict", "google json-schema", "google schema"],
        lossy(
          { type: "array", items: text, minItems: 2, maxItems: 5, description: "(uniqueItems: true)" },
          "unsupported:uniqueItems",
        ),
      ),
      "anthropic strict": lossy(
        { type: "array", items: text, minItems: 1, description: "(minItems: 2) (maxItems: 5, uniqueItems: true)" },
        "unsupported:minItems",
        "unsupported:maxItems",
        "unsupported:uniqueItems",
      ),
      "cohere strict": lossy(
        { type: "array", items: text, description: "(minItems: 2, maxItems: 5, uniqueItems: true)" },
        "unsupported:minItems",
        "unsupported:maxItems",
        "unsupported:uniqueItems",
      ),
    },
  ),

  "a closed tuple": property({ type: "array", prefixItems: [text, integer], items: false }, closedTuple),

  "a closed tuple of an earlier draft": property(
    { type: "array", items: [text, integer], additionalItems: false },
    { ...closedTuple, "anthropic plain": { type: "array", prefixItems: [text, integer], items: false } },
  ),

  "a tuple with more of one kind": property(
    { type: "array", prefixItems: [text], items: integer },
    each(NO_ONE_OF, lossy({ type: "array", items: { anyOf: [text, integer] } }, "tuplesToArrays")),
  ),

  // Unions

  anyOf: property(
    { anyOf: [text, integer, object({ a: text })] },
    each(CLOSED, { anyOf: [text, integer, closed({ a: text })] }),
  ),

  "oneOf, of which one fits at most": property(
    { oneOf: [text, { type: "boolean" }] },
    each([...NO_ONE_OF, "google json-schema"], { anyOf: [text, { type: "boolean" }] }),
  ),

  "oneOf, of which several may fit": property(
    { oneOf: [object({ a: text }), object({ b: text })] },
    {
      ...each(CLOSED, lossy({ anyOf: [closed({ a: text }), closed({ b: text })] }, "oneOfToAnyOf")),
      // "interpreted the same as anyOf"
      ...each(
        ["google json-schema", "google schema", "cohere strict"],
        lossy({ anyOf: [object({ a: text }), object({ b: text })] }, "oneOfToAnyOf"),
      ),
    },
  ),

  "a discriminated union": property(
    { oneOf: [circle, square] },
    {
      ...each(["openai plain", "anthropic plain"], {
        oneOf: [
          object({ kind: { type: "string", const: "circle" }, radius: number }),
          object({ kind: { type: "string", const: "square" }, side: number }),
        ],
      }),
      "openai strict": {
        anyOf: [
          closed({ kind: { type: "string", enum: ["circle"] }, radius: number }),
          closed({ kind: { type: "string", enum: ["square"] }, side: number }),
        ],
      },
      "anthropic strict": {
        anyOf: [
          closed({ kind: { type: "string", const: "circle" }, radius: number }),
          closed({ kind: { type: "string", const: "square" }, side: number }),
        ],
      },
      "google json-schema": {
        anyOf: [
          object({ kind: { type: "string", enum: ["circle"] }, radius: number }),
          object({ kind: { type: "string", enum: ["square"] }, side: number }),
        ],
      },
      "google schema": {
        anyOf: [
          object({ kind: { type: "string", format: "enum", enum: ["circle"] }, radius: number }),
          object({ kind: { type: "string", format: "enum", enum: ["square"] }, side: number }),
        ],
      },
      "cohere strict": { anyOf: [circle, square] },
    },
  ),

  "a union of objects at the root": whole(
    { type: "object", oneOf: [circle, square] },
    {
      ...each(
        ["openai plain", "anthropic plain", "google json-schema", "cohere strict"],
        lossy(
          object({ kind: { type: "string", enum: ["circle", "square"] }, radius: number, side: number }, ["kind"]),
          "flattenRootUnion",
        ),
      ),
      "openai strict": lossy(
        closed({
          kind: { type: "string", enum: ["circle", "square"] },
          radius: { type: ["number", "null"] },
          side: { type: ["number", "null"] },
        }),
        "flattenRootUnion",
      ),
      "anthropic strict": lossy(
        closed({ kind: { type: "string", enum: ["circle", "square"] }, radius: number, side: number }, ["kind"]),
        "flattenRootUnion",
      ),
      "google schema": lossy(
        object({ kind: { type: "string", format: "enum", enum: ["circle", "square"] }, radius: number, side: number }, [
          "kind",
        ]),
        "flattenRootUnion",
      ),
      "cohere plain": { type: "object", properties: {}, oneOf: [circle, square] },
    },
  ),

  allOf: property(
    { allOf: [object({ a: text }), object({ b: integer })], description: "Both." },
    {
      ...each(CLOSED, { ...closed({ a: text, b: integer }), description: "Both." }),
      ...each(["google json-schema", "google schema", "cohere strict"], {
        ...object({ a: text, b: integer }),
        description: "Both.",
      }),
    },
  ),

  // Values

  "an enum of strings": property(
    { type: "string", enum: ["a", "b"] },
    { "google schema": { type: "string", format: "enum", enum: ["a", "b"] } },
  ),

  "an enum with an empty string": property(
    { type: "string", enum: ["", "a"] },
    { "google schema": lossy({ type: "string", description: '(one of: ["","a"])' }, "unsupported:enum") },
  ),

  "an enum of numbers": property(
    { type: "integer", enum: [1, 2] },
    // Its enums hold strings; numbers as strings would come back as strings.
    { "google schema": lossy({ type: "integer", description: "(one of: [1,2])" }, "unsupported:enum") },
  ),

  "an enum of mixed values": property(
    { enum: ["a", 1, null] },
    {
      "openai strict": { type: ["string", "integer", "null"], enum: ["a", 1, null] },
      "anthropic strict": {
        anyOf: [
          { type: "string", enum: ["a"] },
          { type: "integer", enum: [1] },
          { type: "null", enum: [null] },
        ],
      },
      // "enum (for strings and numbers)"
      "google json-schema": { anyOf: [{ enum: ["a", 1] }, { type: "null" }] },
      "google schema": lossy(
        {
          anyOf: [
            { type: "string", format: "enum", enum: ["a"], nullable: true },
            { type: "integer", description: "(one of: [1])", nullable: true },
          ],
        },
        "unsupported:enum at /anyOf/1",
      ),
    },
  ),

  "an enum of a boolean": property(
    { type: "boolean", enum: [true] },
    each(
      ["google json-schema", "google schema"],
      lossy({ type: "boolean", description: "(one of: [true])" }, "unsupported:enum"),
    ),
  ),

  "a constant": property(
    { const: "x" },
    {
      ...each(["openai strict", "google json-schema"], { type: "string", enum: ["x"] }),
      ...each(["openai plain", "anthropic plain", "anthropic strict"], { type: "string", const: "x" }),
      "google schema": { type: "string", format: "enum", enum: ["x"] },
    },
  ),

  "an enum without a type": property(
    { enum: ["a", "b"] },
    {
      ...each(["openai plain", "openai strict", "anthropic plain", "anthropic strict", "google json-schema"], {
        type: "string",
        enum: ["a", "b"],
      }),
      "google schema": { type: "string", format: "enum", enum: ["a", "b"] },
    },
  ),

  "a nullable enum without a type": property(
    { enum: ["a", null] },
    {
      ...each(["openai plain", "openai strict", "anthropic plain"], { type: ["string", "null"], enum: ["a", null] }),
      "anthropic strict": {
        anyOf: [
          { type: "string", enum: ["a"] },
          { type: "null", enum: [null] },
        ],
      },
      "google json-schema": { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] },
      "google schema": { type: "string", format: "enum", enum: ["a"], nullable: true },
    },
  ),

  "nothing but null": property(
    { const: null },
    {
      "openai strict": { type: "null", enum: [null] },
      ...each(["openai plain", "anthropic plain", "anthropic strict"], { type: "null", const: null }),
      "google json-schema": { type: "null" },
      "google schema": lossy({ type: "null", description: "(one of: [null])" }, "unsupported:enum"),
    },
  ),

  "null, as a list of types": property(
    { type: ["string", "null"] },
    {
      ...each(["anthropic strict", "cohere strict"], { anyOf: [text, { type: "null" }] }),
      "google schema": { type: "string", nullable: true },
    },
  ),

  "null, as OpenAPI 3.0 has it": property(
    { type: "string", nullable: true },
    {
      ...each(["openai plain", "openai strict", "anthropic plain", "google json-schema"], { type: ["string", "null"] }),
      ...each(["anthropic strict", "cohere strict"], { anyOf: [text, { type: "null" }] }),
    },
  ),

  // In JSON Schema, null is none of the type then, and servers that compare the two refuse the request:
  // https://github.com/tailcallhq/forgecode/pull/3727
  "null in an enum, as OpenAPI 3.0 has it": property(
    { type: "string", nullable: true, enum: ["a", null] },
    {
      ...each(["openai plain", "openai strict", "anthropic plain"], { type: ["string", "null"], enum: ["a", null] }),
      ...each(["anthropic strict", "cohere strict"], {
        anyOf: [
          { type: "string", enum: ["a"] },
          { type: "null", enum: [null] },
        ],
      }),
      "google json-schema": { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] },
      "google schema": { type: "string", enum: ["a"], format: "enum", nullable: true },
    },
  ),

  // The list counts: https://github.com/OAI/OpenAPI-Specification/blob/main/proposals/2019-10-31-Clarify-Nullable.md
  "null in no enum, where OpenAPI 3.0 has it beside": property(
    { type: "string", nullable: true, enum: ["a"] },
    {
      ...each(
        ["openai plain", "openai strict", "anthropic plain", "anthropic strict", "google json-schema", "cohere strict"],
        { type: "string", enum: ["a"] },
      ),
      "google schema": { type: "string", enum: ["a"], format: "enum" },
    },
  ),

  "what no dialect knows": property(
    { type: "string", enum: ["a"], enumDescriptions: ["The first."], "x-order": 1 },
    {
      ...each(["openai strict", "anthropic strict", "google json-schema", "cohere strict"], {
        type: "string",
        enum: ["a"],
      }),
      "google schema": { type: "string", enum: ["a"], format: "enum" },
    },
  ),

  "the discriminator of OpenAPI": property(
    { oneOf: [object({ k: { const: "a" } }), object({ k: { const: "b" } })], discriminator: { propertyName: "k" } },
    {
      ...each(["openai plain", "anthropic plain"], {
        oneOf: ["a", "b"].map((k) => object({ k: { type: "string", const: k } })),
        discriminator: { propertyName: "k" },
      }),
      "openai strict": {
        anyOf: [closed({ k: { type: "string", enum: ["a"] } }), closed({ k: { type: "string", enum: ["b"] } })],
      },
      "anthropic strict": {
        anyOf: [closed({ k: { type: "string", const: "a" } }), closed({ k: { type: "string", const: "b" } })],
      },
      "google json-schema": {
        anyOf: [object({ k: { type: "string", enum: ["a"] } }), object({ k: { type: "string", enum: ["b"] } })],
      },
      "google schema": {
        anyOf: [
          object({ k: { type: "string", enum: ["a"], format: "enum" } }),
          object({ k: { type: "string", enum: ["b"], format: "enum" } }),
        ],
      },
      "cohere strict": { anyOf: [object({ k: { const: "a" } }), object({ k: { const: "b" } })] },
    },
  ),

  "the names in the mapping of a discriminator": whole(
    {
      ...object({ p: { oneOf: pets.map((ref) => ({ $ref: ref })), discriminator: petNames } }),
      $defs: { Cat: pet, Dog: pet },
    },
    {
      ...each(["openai plain", "anthropic plain"], mappedPets({ type: "string" })),
      "cohere plain": mappedPets({}),
      "openai strict": closed({
        p: {
          anyOf: ["cat", "dog"].map((k) =>
            closed({ k: { type: "string", enum: [k] }, n: { type: ["string", "null"] } }),
          ),
        },
      }),
      "anthropic strict": closed({
        p: { anyOf: ["cat", "dog"].map((k) => closed({ k: { type: "string", enum: [k] }, n: text }, ["k"])) },
      }),
      ...each(["google json-schema", "cohere strict"], {
        ...object({
          p: { anyOf: ["cat", "dog"].map((k) => object({ k: { type: "string", enum: [k] }, n: text }, ["k"])) },
        }),
        $defs: { Cat: pet, Dog: pet },
      }),
      "google schema": object({
        p: {
          anyOf: ["cat", "dog"].map((k) =>
            object({ k: { type: "string", enum: [k], format: "enum" }, n: text }, ["k"]),
          ),
        },
      }),
    },
  ),

  "a property that must not be there, as zod says it": property(
    { type: "object", properties: { a: text, b: { not: {} } }, required: ["a"], additionalProperties: false },
    {
      ...each(
        ["openai plain", "openai strict", "anthropic strict", "google json-schema", "cohere strict"],
        closed({ a: text }),
      ),
      "google schema": object({ a: text }),
    },
  ),

  "null, as a branch": property(
    { anyOf: [{ type: "integer", minimum: 0 }, { type: "null" }], description: "Or nothing." },
    {
      ...each(
        ["anthropic strict", "cohere strict"],
        lossy(
          {
            anyOf: [{ type: "integer", description: "(minimum: 0)" }, { type: "null" }],
            description: "Or nothing.",
          },
          "unsupported:minimum at /anyOf/0",
        ),
      ),
      "google schema": { type: "integer", minimum: 0, nullable: true, description: "Or nothing." },
    },
  ),

  "any value": property(
    {},
    {
      "openai strict": lossy({ type: ["string", "number", "boolean", "null"] }, "ensureType"),
      "anthropic strict": lossy(
        { anyOf: ["string", "number", "boolean", "null"].map((type) => ({ type })) },
        "ensureType",
      ),
      "google schema": lossy(
        { anyOf: ["string", "number", "boolean"].map((type) => ({ type, nullable: true })) },
        "ensureType",
      ),
    },
  ),

  // What binds values

  "the bounds of a number": property(
    { type: "number", minimum: 0, exclusiveMaximum: 10, multipleOf: 0.5 },
    {
      "openai strict": { type: "number", minimum: 0, exclusiveMaximum: 10, multipleOf: 0.5 },
      ...each(
        ["anthropic strict", "cohere strict"],
        lossy(
          { type: "number", description: "(minimum: 0, exclusiveMaximum: 10, multipleOf: 0.5)" },
          "unsupported:minimum",
          "unsupported:exclusiveMaximum",
          "unsupported:multipleOf",
        ),
      ),
      ...each(
        ["google json-schema", "google schema"],
        lossy(
          { type: "number", minimum: 0, description: "(exclusiveMaximum: 10, multipleOf: 0.5)" },
          "unsupported:exclusiveMaximum",
          "unsupported:multipleOf",
        ),
      ),
    },
  ),

  "an exclusive bound of an integer": property(
    { type: "integer", exclusiveMinimum: 0 },
    {
      ...each(
        ["anthropic strict", "cohere strict"],
        lossy({ type: "integer", description: "(exclusiveMinimum: 0)" }, "unsupported:exclusiveMinimum"),
      ),
      // Whole numbers: it can be said.
      ...each(["google json-schema", "google schema"], { type: "integer", minimum: 1 }),
    },
  ),

  "the bounds of safe integers, as zod writes them": property(
    { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    each(NOT_COHERE_PLAIN, { type: "integer" }),
  ),

  // As JSON they are -9223372036854776000 and 9223372036854776000, which is no int64: "int too big to convert",
  // https://github.com/RevenueCat/ai-toolkit/issues/26
  "the bounds of an int64": property(
    { type: "integer", minimum: -(2 ** 63), maximum: 2 ** 63 - 1 },
    each(NOT_COHERE_PLAIN, { type: "integer" }),
  ),

  "the bounds of an uint64, exclusive": property(
    { type: "integer", exclusiveMinimum: -(2 ** 64), exclusiveMaximum: 2 ** 64 },
    each(NOT_COHERE_PLAIN, { type: "integer" }),
  ),

  "a length that no text has": property(
    { type: "string", maxLength: 2 ** 63 - 1 },
    each(NOT_COHERE_PLAIN, { type: "string" }),
  ),

  "a length that no list has": property(
    { type: "array", items: text, maxItems: 2 ** 63 - 1 },
    each(NOT_COHERE_PLAIN, { type: "array", items: text }),
  ),

  "the length of a string": property(
    { type: "string", minLength: 1, maxLength: 5 },
    each(
      ["openai strict", "anthropic strict", "google json-schema", "cohere strict"],
      lossy(
        { type: "string", description: "(minLength: 1, maxLength: 5)" },
        "unsupported:minLength",
        "unsupported:maxLength",
      ),
    ),
  ),

  "a pattern": property(
    { type: "string", pattern: "^[A-Z]{3}$", description: "A currency." },
    each(
      ["anthropic strict", "google json-schema", "cohere strict"],
      lossy({ type: "string", description: 'A currency. (pattern: "^[A-Z]{3}$")' }, "unsupported:pattern"),
    ),
  ),

  "a pattern without anchors": property(
    { type: "string", pattern: "[A-Z]{3}" },
    each(
      ["anthropic strict", "google json-schema"],
      lossy({ type: "string", description: '(pattern: "[A-Z]{3}")' }, "unsupported:pattern"),
    ),
  ),

  "a pattern that looks ahead": property(
    { type: "string", pattern: "^(?=.*x)" },
    each(
      ["openai plain", "openai strict", "anthropic strict", "google json-schema", "cohere strict"],
      lossy({ type: "string", description: '(pattern: "^(?=.*x)")' }, "unsupported:pattern"),
    ),
  ),

  "a pattern of names that looks ahead": property(
    { type: "object", patternProperties: { "^(?=x)": text }, additionalProperties: false },
    {
      // Open: with the patterns gone, no name at all would be left.
      ...each(
        ["openai plain", "google json-schema", "cohere strict"],
        lossy(
          {
            type: "object",
            additionalProperties: true,
            description: '(patternProperties: {"^(?=x)":{"type":"string"}}, additionalProperties: false)',
          },
          "unsupported:patternProperties",
          "unsupported:additionalProperties",
        ),
      ),
      "openai strict": lossy(
        {
          type: "object",
          additionalProperties: false,
          description: '(patternProperties: {"^(?=x)":{"type":"string"}}, additionalProperties: false)',
        },
        "unsupported:patternProperties",
        "unsupported:additionalProperties",
        "closeObjects",
      ),
      "anthropic strict": lossy(
        {
          type: "object",
          additionalProperties: false,
          description: '(patternProperties: {"^(?=x)":{"type":"string"}})',
        },
        "unsupported:patternProperties",
      ),
      "google schema": lossy(
        { type: "object", description: '(patternProperties: {"^(?=x)":{"type":"string"}})' },
        "unsupported:patternProperties",
      ),
    },
  ),

  "a format that all of them know": property({ type: "string", format: "date-time" }),

  "a format that most of them know": property(
    { type: "string", format: "uuid" },
    { "google schema": lossy({ type: "string", description: '(format: "uuid")' }, "unsupported:format") },
  ),

  "a format that some of them know": property(
    { type: "string", format: "email" },
    each(
      ["google schema", "cohere strict"],
      lossy({ type: "string", description: '(format: "email")' }, "unsupported:format"),
    ),
  ),

  "a format that names its pattern": property(
    { type: "string", format: "starts_with", pattern: "^E.*" },
    {
      ...each(["openai strict", "google schema"], { type: "string", pattern: "^E.*" }),
      ...each(
        ["anthropic strict", "cohere strict"],
        lossy(
          { type: "string", description: '(pattern: "^E.*") (format: "starts_with")' },
          "unsupported:pattern",
          "unsupported:format",
        ),
      ),
      "google json-schema": lossy(
        { type: "string", format: "starts_with", description: '(pattern: "^E.*")' },
        "unsupported:pattern",
      ),
    },
  ),

  "what must not be": property(
    { type: "string", not: { type: "string", enum: ["x"] } },
    each(
      [...STRICT, "google json-schema", "google schema"],
      lossy({ type: "string", description: '(not: {"type":"string","enum":["x"]})' }, "unsupported:not"),
    ),
  ),

  "titles and descriptions": property({ type: "string", title: "City", description: "Where to look." }),

  // References

  "a reference": whole(
    {
      ...object({ home: { $ref: "#/$defs/Address" }, work: { $ref: "#/$defs/Address", description: "At work." } }, [
        "home",
        "work",
      ]),
      $defs: { Address: address },
    },
    {
      "openai plain": {
        ...object({
          home: { $ref: "#/$defs/Address" },
          work: { description: "At work.", anyOf: [{ $ref: "#/$defs/Address" }] },
        }),
        $defs: { Address: address },
      },
      "openai strict": lossy(
        {
          ...closed({
            home: { $ref: "#/$defs/Address" },
            work: { description: "At work.", anyOf: [{ $ref: "#/$defs/Address" }] },
          }),
          $defs: {
            Address: closed({ street: text, zip: { type: ["string", "null"], description: "(minLength: 5)" } }),
          },
        },
        "unsupported:minLength at /$defs/Address/properties/zip",
      ),
      "anthropic strict": lossy(
        closed({
          home: closed({ street: text, zip: { type: "string", description: "(minLength: 5)" } }, ["street"]),
          work: {
            ...closed({ street: text, zip: { type: "string", description: "(minLength: 5)" } }, ["street"]),
            description: "At work.",
          },
        }),
        "unsupported:minLength at /$defs/Address/properties/zip",
      ),
      "google json-schema": lossy(
        {
          ...object({
            home: { $ref: "#/$defs/Address" },
            work: { description: "At work.", anyOf: [{ $ref: "#/$defs/Address" }] },
          }),
          $defs: {
            Address: object({ street: text, zip: { type: "string", description: "(minLength: 5)" } }, ["street"]),
          },
        },
        "unsupported:minLength at /$defs/Address/properties/zip",
      ),
      "google schema": object({ home: address, work: { ...address, description: "At work." } }),
      "cohere strict": lossy(
        {
          ...object({
            home: { $ref: "#/$defs/Address" },
            work: { description: "At work.", anyOf: [{ $ref: "#/$defs/Address" }] },
          }),
          $defs: {
            Address: object({ street: text, zip: { type: "string", description: "(minLength: 5)" } }, ["street"]),
          },
        },
        "unsupported:minLength at /$defs/Address/properties/zip",
      ),
    },
  ),

  // As OpenAPI 3.0 and pydantic write it, where a reference has no neighbours.
  "a reference that is described through allOf": whole(
    {
      ...object({ a: { description: "A size.", allOf: [{ $ref: "#/$defs/S" }] } }),
      $defs: { S: { enum: ["s", "l"] } },
    },
    {
      "openai strict": {
        ...closed({ a: { description: "A size.", anyOf: [{ $ref: "#/$defs/S" }] } }),
        $defs: { S: { type: "string", enum: ["s", "l"] } },
      },
      "anthropic strict": closed({ a: { description: "A size.", type: "string", enum: ["s", "l"] } }),
      ...each(["openai plain", "anthropic plain"], {
        ...object({ a: { description: "A size.", allOf: [{ $ref: "#/$defs/S" }] } }),
        $defs: { S: { type: "string", enum: ["s", "l"] } },
      }),
      "google json-schema": {
        ...object({ a: { description: "A size.", anyOf: [{ $ref: "#/$defs/S" }] } }),
        $defs: { S: { type: "string", enum: ["s", "l"] } },
      },
      "cohere strict": {
        ...object({ a: { description: "A size.", anyOf: [{ $ref: "#/$defs/S" }] } }),
        $defs: { S: { enum: ["s", "l"] } },
      },
      "google schema": object({
        a: { description: "A size.", type: "string", enum: ["s", "l"], format: "enum" },
      }),
    },
  ),

  "references to an $id and an $anchor": whole(
    {
      ...object({ size: { $ref: "Size" }, name: { $ref: "#name" } }),
      $defs: { Size: { $id: "Size", ...object({ width: integer }) }, Name: { $anchor: "name", ...text } },
    },
    {
      ...each(["openai plain", "anthropic plain", "google json-schema", "cohere plain", "cohere strict"], {
        ...object({ size: { $ref: "#/$defs/Size" }, name: { $ref: "#/$defs/name" } }),
        $defs: { Size: object({ width: integer }), name: text },
      }),
      "openai strict": {
        ...closed({ size: { $ref: "#/$defs/Size" }, name: { $ref: "#/$defs/name" } }),
        $defs: { Size: closed({ width: integer }), name: text },
      },
      "anthropic strict": closed({ size: closed({ width: integer }), name: text }),
      "google schema": object({ size: object({ width: integer }), name: text }),
    },
  ),

  "a recursive reference": whole(
    { ...object({ tree: { $ref: "#/$defs/Node" } }), $defs: { Node: node } },
    {
      "openai strict": {
        ...closed({ tree: { $ref: "#/$defs/Node" } }),
        $defs: {
          Node: closed({ value: text, children: { type: ["array", "null"], items: { $ref: "#/$defs/Node" } } }),
        },
      },
      "anthropic strict": lossy(
        closed({
          tree: closed(
            { value: text, children: { type: "array", items: { type: "object", additionalProperties: false } } },
            ["value"],
          ),
        }),
        "inlineRefs at /$defs/Node/properties/children/items",
        "closeObjects at /properties/tree/properties/children/items",
      ),
      "google schema": lossy(
        object({ tree: object({ value: text, children: { type: "array", items: { type: "object" } } }, ["value"]) }),
        "inlineRefs at /$defs/Node/properties/children/items",
      ),
    },
  ),

  "a recursive reference in a required property": whole(
    {
      ...object({ tree: { $ref: "#/$defs/Node" } }),
      $defs: { Node: { ...node, required: ["value", "children"] } },
    },
    {
      "openai strict": {
        ...closed({ tree: { $ref: "#/$defs/Node" } }),
        $defs: { Node: closed({ value: text, children: { type: "array", items: { $ref: "#/$defs/Node" } } }) },
      },
      "anthropic strict": lossy(
        closed({
          tree: closed({
            value: text,
            children: { type: "array", items: { type: "object", additionalProperties: false } },
          }),
        }),
        "inlineRefs at /$defs/Node/properties/children/items",
        "closeObjects at /properties/tree/properties/children/items",
      ),
      // "may only be used within non-required properties"
      "google json-schema": lossy(
        { ...object({ tree: { $ref: "#/$defs/Node" } }), $defs: { Node: node } },
        "optionalCycles at /$defs/Node",
      ),
      "google schema": lossy(
        object({ tree: object({ value: text, children: { type: "array", items: { type: "object" } } }) }),
        "inlineRefs at /$defs/Node/properties/children/items",
      ),
    },
  ),
};

describe.each(Object.entries(rows))("%s", (_, { given, says }) => {
  it.each(dialects)("%s", (dialect) => {
    for (const lower of lowering[dialect]) {
      const losses: Loss[] = [];
      const schema = lower(toolOf(given), { onLoss: (loss) => losses.push(loss) });
      const said = losses.map(({ path, rule }) => (path === "" ? rule : `${rule} at ${path}`));
      expect({ schema, losses: said.toSorted() }).toEqual({
        schema: says[dialect].schema,
        losses: says[dialect].losses.toSorted(),
      });
    }
  });
});

type Lower = (tool: Tool, options: ToolsOptions) => unknown;

/** How to get at the schema of a tool, for each adapter that has the dialect. */
const lowering: Readonly<Record<Dialect, readonly Lower[]>> = {
  "openai plain": openaiSchemas(false),
  "openai strict": openaiSchemas(true),
  "anthropic plain": [(tool, options) => anthropic.tools([tool], options)[0]!.input_schema],
  "anthropic strict": [(tool, options) => anthropic.tools([tool], { ...options, strict: true })[0]!.input_schema],
  "google json-schema": [
    (tool, options) => google.tools([tool], options)[0]!.functionDeclarations[0]!.parametersJsonSchema,
  ],
  "google schema": [
    (tool, options) => google.tools([tool], { ...options, dialect: "schema" })[0]!.functionDeclarations![0]!.parameters,
  ],
  "cohere plain": [(tool, options) => cohere.tools([tool], options)[0]!.function!.parameters],
  "cohere strict": [(tool, options) => cohere.tools([tool], { ...options, strict: true })[0]!.function!.parameters],
};

function openaiSchemas(strict: boolean): Lower[] {
  return [
    (tool, options) => {
      const param = openaiChat.tools([tool], { ...options, strict })[0]!;
      return param.type === "function" ? param.function.parameters : undefined;
    },
    (tool, options) => {
      const param = openaiResponses.tools([tool], { ...options, strict })[0]!;
      return param.type === "function" ? param.parameters : undefined;
    },
  ];
}

it.each(Object.entries(rows))("the SDK's own rule for strict mode changes nothing more: %s", (_, { says }) => {
  const { schema } = says["openai strict"];
  expect(toStrictJsonSchema(structuredClone(schema!))).toEqual(schema);
});

it.each(dialects)("a zod schema and the equal JSON Schema are the same: %s", (dialect) => {
  const shape = z.object({ kind: z.literal("a"), when: z.iso.datetime().optional() }).describe("One.");
  const ofZod = z.object({
    name: z.string().min(1).describe("Who."),
    tags: z.array(z.string()).max(3),
    level: z.enum(["low", "high"]).optional(),
    size: z.number().nullable(),
    count: z.number().default(1),
    either: z.union([z.string(), z.boolean()]),
    scores: z.record(z.string(), z.number()),
    shape,
  });
  const plain: JsonSchema = object(
    {
      name: { type: "string", minLength: 1, description: "Who." },
      tags: { type: "array", items: text, maxItems: 3 },
      level: { type: "string", enum: ["low", "high"] },
      size: { type: ["number", "null"] },
      count: { type: "number", default: 1 },
      either: { type: ["string", "boolean"] },
      scores: { type: "object", propertyNames: text, additionalProperties: number },
      shape: {
        ...object({ kind: { type: "string", const: "a" }, when: isoDateTime(shape) }, ["kind"]),
        description: "One.",
      },
    },
    ["name", "tags", "size", "either", "scores", "shape"],
  );
  for (const lower of lowering[dialect]) {
    const losses: [Loss[], Loss[]] = [[], []];
    const ours = lower(defineTool({ name: "t", inputSchema: ofZod }), { onLoss: (loss) => losses[0].push(loss) });
    const theirs = lower(toolOf(plain), { onLoss: (loss) => losses[1].push(loss) });
    expect(ours).toEqual(theirs);
    expect(losses[0]).toEqual(losses[1]);
  }
});

/** The pattern that zod writes beside its date-time format is its own affair. */
function isoDateTime(shape: z.ZodType): unknown {
  return (z.toJSONSchema(shape, { io: "input" }).properties as Record<string, unknown>)["when"];
}

describe("strict: auto", () => {
  /** Which of the schemas stay plain, since strict mode would lose what the plain form says. */
  const plain: Readonly<Record<"openai" | "anthropic" | "cohere", readonly (keyof typeof rows)[]>> = {
    openai: [
      "a required property without a schema",
      "an object of any content",
      "a condition between properties",
      "an object that says it is open",
      "a record",
      "an array of anything",
      "a closed tuple",
      "a closed tuple of an earlier draft",
      "a tuple with more of one kind",
      "oneOf, of which several may fit",
      "any value",
      "the length of a string",
      "a pattern of names that looks ahead",
      "what must not be",
      "a reference", // for the minLength in it
    ],
    anthropic: [
      "a required property without a schema",
      "an object of any content",
      "a condition between properties",
      "an object that says it is open",
      "a record",
      "the length of an array",
      "a closed tuple",
      "a closed tuple of an earlier draft",
      "a tuple with more of one kind",
      "oneOf, of which several may fit",
      "null, as a branch", // for the minimum in it
      "any value",
      "the bounds of a number",
      "an exclusive bound of an integer",
      "the length of a string",
      "a pattern",
      "a pattern without anchors",
      "a pattern that looks ahead",
      "a pattern of names that looks ahead",
      "a format that names its pattern",
      "what must not be",
      "a reference",
      "a recursive reference",
      "a recursive reference in a required property",
    ],
    cohere: [
      "no parameters",
      "a required property without a schema",
      "a condition between properties",
      "the length of an array",
      "a closed tuple",
      "a closed tuple of an earlier draft",
      "a tuple with more of one kind",
      "oneOf, of which several may fit",
      "a union of objects at the root", // the only one that sends it as it is in the plain form
      "null, as a branch",
      "the bounds of a number",
      "an exclusive bound of an integer",
      "the length of a string",
      "a pattern",
      "a pattern that looks ahead",
      "a pattern of names that looks ahead",
      "a format that some of them know",
      "a format that names its pattern",
      "what must not be",
      "a reference",
    ],
  };

  it.each(Object.entries(rows))("%s", (name, { given, says }) => {
    const tool = toolOf(given);
    const options: ToolsOptions = { strict: "auto", onLoss: "ignore" };
    const isStrict = {
      openai: openaiChat.tools([tool], options).map((param) => param.type === "function" && param.function.strict),
      responses: openaiResponses.tools([tool], options).map((param) => param.type === "function" && param.strict),
      anthropic: anthropic.tools([tool], options).map(({ strict }) => strict),
      cohere: [cohere.request([tool], options).strictTools],
    };
    const expected = (wire: keyof typeof plain) => [!plain[wire].includes(name)];
    expect(isStrict.openai.map(Boolean)).toEqual(expected("openai"));
    expect(isStrict.responses.map(Boolean)).toEqual(expected("openai"));
    expect(isStrict.anthropic.map(Boolean)).toEqual(expected("anthropic"));
    expect(isStrict.cohere.map(Boolean)).toEqual(expected("cohere"));

    const sent = openaiResponses.tools([tool], options)[0]!;
    const form = plain.openai.includes(name) ? "openai plain" : "openai strict";
    expect(sent.type === "function" && sent.parameters).toEqual(says[form].schema);
    // Google has no strict form of a tool; nothing is lost by asking.
    expect(google.tools([tool], options)).toEqual(google.tools([tool], { onLoss: "ignore" }));
  });

  it("makes no more tools strict than one request to Anthropic may have unions", () => {
    const tools = Array.from({ length: 17 }, (_, index) =>
      defineTool({ name: `t${index}`, inputSchema: rows["an enum of mixed values"]!.given }),
    );
    const params = anthropic.tools(tools, { strict: "auto", onLoss: "ignore" });
    expect(params.filter(({ strict }) => strict === true)).toHaveLength(16);
  });

  it("makes no tools strict that have more fields than one request to Cohere may have", () => {
    const tools = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        defineTool({ name: `t${index}`, inputSchema: z.object({ a: z.string(), b: z.object({ c: z.string() }) }) }),
      );
    expect(cohere.request(tools(66), { strict: "auto" }).strictTools).toBe(true);
    expect(cohere.request(tools(67), { strict: "auto" })).not.toHaveProperty("strictTools");
    // Asked for, it is for the API to refuse.
    expect(cohere.request(tools(67), { strict: true }).strictTools).toBe(true);
  });
});

const adapters: readonly Adapter[] = [openaiChat, openaiResponses, anthropic, google, cohere];

it.each([anthropic, google, cohere] as readonly Adapter[])(
  "$name, whose tools take objects only, refuses one that takes text",
  (adapter) => {
    const shell = toolOf({ type: "string" });
    const error = {
      code: "schema_loss",
      message: expect.stringMatching(`^${adapter.name}: the input of a tool is an`),
    };
    expect(() => adapter.tools([shell], { onLoss: "ignore" })).toThrow(expect.objectContaining(error));
  },
);

it.each(
  [
    ...adapters,
    {
      name: "google schema",
      tools: (list: Tool[], options: ToolsOptions) => google.tools(list, { ...options, dialect: "schema" }),
    },
  ].flatMap(({ name, tools }) => [false, true].map((strict) => ({ name, tools, strict }))),
)("$name takes a chain of references, however long; strict: $strict", ({ tools, strict }) => {
  const link = (at: number) => object({ next: { $ref: `#/$defs/d${at}` } });
  const $defs = Object.fromEntries(
    Array.from({ length: 1_500 }, (_, at) => [`d${at}`, at === 0 ? text : link(at - 1)]),
  );
  expect(tools([toolOf({ ...link(1_499), $defs })], { strict, onLoss: "ignore" })).toHaveLength(1);
  // Put in place of one another, they are deeper than the stack.
  const deep = Array.from({ length: 30 }, (_, at) => [`d${at}`, nested(100, at === 0 ? text : link(at - 1))]);
  const schema = { ...link(29), $defs: Object.fromEntries(deep) };
  expect(tools([toolOf(schema)], { strict, onLoss: "ignore" })).toHaveLength(1);
});

it("google takes a chain of references in little time: only in a cycle is looked for what closes it", () => {
  const link = (at: number) => object({ next: { $ref: `#/$defs/d${at}` } });
  const $defs = Object.fromEntries(
    Array.from({ length: 4_000 }, (_, at) => [`d${at}`, at === 0 ? text : link(at - 1)]),
  );
  const begin = busyMs();
  expect(google.tools([toolOf({ ...link(3_999), $defs })], { onLoss: "ignore" })).toHaveLength(1);
  expect(busyMs() - begin).toBeLessThan(10_000);
});

function nested(depth: number, inner: JsonSchema): JsonSchema {
  return depth === 0 ? inner : object({ in: nested(depth - 1, inner) });
}

describe.each(adapters)("onLoss of $name", (adapter) => {
  const schema = adapter === google ? { not: { required: ["x"] } } : { type: "array", items: false, minItems: 9 };
  const options: ToolsOptions = { strict: adapter.capabilities.strict };
  const tool = () => toolOf(object({ a: schema, b: text }));

  it("throws one error with all losses", () => {
    const lower = () => adapter.tools([tool()], { ...options, onLoss: "throw" });
    expect(lower).toThrow(expect.objectContaining({ code: "schema_loss" }));
    expect(lower).toThrow(/at \/properties\/a/);
  });

  it("warns once a tool, which is the default", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const once = tool();
    adapter.tools([once], options);
    adapter.tools([once], { ...options, onLoss: "warn" });
    expect(warn.mock.calls).toEqual([[expect.stringContaining(`${adapter.name} cannot express all`)]]);
    warn.mockRestore();
  });

  it("says nothing when told to ignore", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    adapter.tools([tool()], { ...options, onLoss: "ignore" });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it("hands each loss to a function, with tool, path, rule and message", () => {
    const losses: Loss[] = [];
    adapter.tools([tool()], { ...options, onLoss: (loss) => losses.push(loss) });
    expect(losses.length).toBeGreaterThan(0);
    for (const { tool: name, path, rule, message } of losses) {
      expect([name, path.startsWith("/properties/a"), rule !== "", message !== ""]).toEqual(["t", true, true, true]);
    }
  });
});

/** One call of the tool `t`, as each provider answers with it. */
const answers: Readonly<Record<string, (input: unknown) => object>> = {
  "openai-chat": (input) => ({
    object: "chat.completion",
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "t", arguments: JSON.stringify(input) } }],
        },
      },
    ],
  }),
  "openai-responses": (input) => ({
    object: "response",
    status: "completed",
    output: [
      {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "t",
        arguments: JSON.stringify(input),
        status: "completed",
      },
    ],
  }),
  anthropic: (input) => ({
    type: "message",
    role: "assistant",
    content: [{ type: "tool_use", id: "toolu_1", name: "t", input }],
    stop_reason: "tool_use",
  }),
  google: (input) => ({
    candidates: [
      { content: { role: "model", parts: [{ functionCall: { name: "t", args: input } }] }, finishReason: "STOP" },
    ],
  }),
  cohere: (input) => ({
    finish_reason: "TOOL_CALL",
    message: {
      role: "assistant",
      tool_calls: [{ id: "t_1", type: "function", function: { name: "t", arguments: JSON.stringify(input) } }],
    },
  }),
};

/** The input that a handler of this schema would get for what the model wrote, or why it gets none. */
function received(adapter: Adapter, given: JsonSchema, written: unknown): unknown {
  const tools = [toolOf(given)];
  for (const event of adapter.parse(answers[adapter.name]!(written), { tools })) {
    if (event.type === "tool-use") return event.use.input;
    if (event.type === "tool-error") return event.error.message;
  }
  return undefined;
}

describe.each(adapters)("what strict mode forces is undone: $name", (adapter) => {
  it("a null for what is optional is absent, at any depth", () => {
    const filter = object({ field: text, value: { type: ["string", "null"] }, exact: { type: "boolean" } }, ["field"]);
    const given = {
      ...object(
        {
          query: text,
          limit: { type: "integer", default: 10 },
          filters: { type: "array", items: filter },
          sort: { anyOf: [text, object({ by: text, order: { type: "string", enum: ["asc", "desc"] } }, ["by"])] },
          tree: { $ref: "#/$defs/Node" },
        },
        ["query"],
      ),
      $defs: { Node: node },
    };
    const written = {
      query: "x",
      limit: null,
      filters: [
        { field: "a", value: null, exact: null },
        { field: "b", value: "c", exact: true },
      ],
      sort: { by: "date", order: null },
      tree: { value: "root", children: [{ value: "leaf", children: null }] },
    };
    expect(received(adapter, given, written)).toEqual({
      query: "x",
      // Of a plain JSON Schema `default` is an annotation: only libraries fill it in.
      filters: [
        { field: "a", value: null }, // it may be null: this null is the model's own
        { field: "b", value: "c", exact: true },
      ],
      sort: { by: "date" },
      tree: { value: "root", children: [{ value: "leaf" }] },
    });
  });

  it("a default of a library stands for the null", () => {
    const tools = [defineTool({ name: "t", inputSchema: z.object({ a: z.string(), n: z.number().default(5) }) })];
    const events = adapter.parse(answers[adapter.name]!({ a: "x", n: null }), { tools });
    expect(events.find(({ type }) => type === "tool-use")).toMatchObject({
      use: { input: { a: "x", n: 5 }, repairs: [{ kind: "null_dropped", path: ["n"], before: null }] },
    });
  });
});

/** What a model may answer at the least: null wherever it may. */
describe("whatever strict mode lets through with nothing lost, the tool takes", () => {
  const strict: readonly [Adapter, Dialect][] = [
    [openaiChat, "openai strict"],
    [openaiResponses, "openai strict"],
    [anthropic, "anthropic strict"],
    [cohere, "cohere strict"],
  ];
  const cases = strict.flatMap(([adapter, dialect]) =>
    Object.entries(rows)
      .filter(([, { says }]) => says[dialect].losses.length === 0)
      .map(([name, { given, says }]) => ({ name, given, adapter, wire: adapter.name, schema: says[dialect].schema! })),
  );
  it.each(cases)("$wire: $name", ({ given, adapter, schema }) => {
    expect(received(adapter, given, least(schema, schema))).toBeTypeOf("object");
  });
});

function least(schema: JsonSchema, root: JsonSchema): unknown {
  const {
    type,
    anyOf,
    enum: values,
    $ref,
    properties,
    required,
    items,
    minItems,
  } = schema as {
    [keyword: string]: any;
  };
  const definitions = root["$defs"] as Record<string, JsonSchema>;
  if ($ref !== undefined) return least(definitions[$ref.slice("#/$defs/".length)]!, root);
  if ("const" in schema) return schema["const"];
  if (values !== undefined) return values.includes(null) ? null : values[0];
  const branches = anyOf as JsonSchema[] | undefined;
  if (branches !== undefined) return branches.some((one) => one["type"] === "null") ? null : least(branches[0]!, root);
  const types = [type].flat();
  if (types.includes("null")) return null;
  if (types.includes("object")) {
    const names: string[] = required ?? [];
    return Object.fromEntries(names.map((name) => [name, least(properties[name], root)]));
  }
  if (types.includes("array")) {
    const length = minItems ?? (items?.$ref === undefined ? 1 : 0); // a recursion has to end
    return Array.from({ length }, () => least(items ?? {}, root));
  }
  if (types.includes("integer") || types.includes("number")) {
    const { minimum = 0, exclusiveMinimum } = schema as { minimum?: number; exclusiveMinimum?: number };
    return exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
  }
  if (types.includes("boolean")) return true;
  if (schema["pattern"] !== undefined) return "EUR";
  const formats: Record<string, string> = {
    "date-time": "2026-11-22T10:00:00Z",
    uuid: "123e4567-e89b-42d3-a456-426614174000",
    email: "a@example.com",
  };
  return formats[String(schema["format"])] ?? "text";
}

function toolOf(inputSchema: JsonSchema): Tool {
  return defineTool({ name: "t", inputSchema });
}
