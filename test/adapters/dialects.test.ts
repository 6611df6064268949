import { describe, expect, it } from "vitest";
import { z } from "zod";
import { anthropic } from "../../adapters/anthropic/index.ts";
import { cohere } from "../../adapters/cohere/index.ts";
import { google } from "../../adapters/google/index.ts";
import { openaiChat } from "../../adapters/openai-chat/index.ts";
import { openaiResponses } from "../../adapters/openai-responses/index.ts";
import type { Adapter, ToolsOptions } from "../../src/adapter.ts";
import { isToolError } from "../../src/errors.ts";
import type { Loss } from "../../src/schema/lower.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { defineTool, type Tool } from "../../src/tool/tool.ts";

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
const NO_ONE_OF = [...STRICT, "google schema"] as const;

const circle = object({ kind: { const: "circle" }, radius: number });
const square = object({ kind: { const: "square" }, side: number });
const node = object({ value: text, children: { type: "array", items: { $ref: "#/$defs/Node" } } }, ["value"]);
const address = object({ street: text, zip: { type: "string", minLength: 5 } }, ["street"]);

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
        ["openai strict", "google json-schema", "google schema"],
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

  "a closed tuple": property(
    { type: "array", prefixItems: [text, integer], items: false },
    {
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
    },
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

  "an enum of numbers": property(
    { type: "integer", enum: [1, 2] },
    // Its enums hold strings; numbers as strings would come back as strings.
    { "google schema": lossy({ type: "integer", description: "(one of: [1,2])" }, "unsupported:enum") },
  ),

  "an enum of mixed values": property(
    { enum: ["a", 1, null] },
    {
      ...each(CLOSED, { type: ["string", "integer", "null"], enum: ["a", 1, null] }),
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
      "anthropic strict": { type: "string", const: "x" },
      "google schema": { type: "string", format: "enum", enum: ["x"] },
    },
  ),

  "null, as a list of types": property(
    { type: ["string", "null"] },
    {
      ...each(["anthropic strict", "cohere strict"], { anyOf: [text, { type: "null" }] }),
      "google schema": { type: "string", nullable: true },
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
      ...each(CLOSED, lossy({ type: ["string", "number", "boolean", "null"] }, "ensureType")),
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

function toolOf(inputSchema: JsonSchema): Tool {
  return defineTool({ name: "t", inputSchema });
}
