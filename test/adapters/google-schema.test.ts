import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { google } from "../../adapters/google/index.ts";
import type { Loss } from "../../src/schema/lower.ts";
import { defineTool } from "../../src/tool/tool.ts";
import { sharedTools } from "../fixtures.ts";

const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  effect: "read",
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const volume = defineTool({ name: "set_volume", inputSchema: z.object({ level: z.number().optional() }) });

/** The parameters of one tool, with what was lost. */
function lower(inputSchema: Record<string, unknown>, dialect: "json-schema" | "schema") {
  const losses: Loss[] = [];
  const tool = defineTool({ name: "t", inputSchema: { type: "object", ...inputSchema } });
  const [{ functionDeclarations: [declaration] } = { functionDeclarations: [] }] = google.tools([tool], {
    dialect,
    onLoss: (loss) => losses.push(loss),
  }) as {
    functionDeclarations: { parameters?: unknown; parametersJsonSchema?: unknown }[];
  }[];
  expect(Object.keys(declaration!).filter((key) => key.startsWith("parameters")).length).toBeLessThan(2);
  return {
    schema: dialect === "schema" ? declaration!.parameters : declaration!.parametersJsonSchema,
    rules: losses.map(({ path, rule }) => `${path} ${rule}`),
  };
}

const property = (schema: unknown, dialect: "json-schema" | "schema") => {
  const { schema: lowered, rules } = lower({ properties: { p: schema } }, dialect);
  return { p: (lowered as { properties: { p: unknown } }).properties.p, rules };
};

describe("tools", () => {
  it("are one list of declarations, and none for none", () => {
    expect(google.tools([weather, volume])).toMatchObject([
      {
        functionDeclarations: [
          { name: "get_weather", description: "Current weather of a city.", parametersJsonSchema: { type: "object" } },
          { name: "set_volume" },
        ],
      },
    ]);
    expect(google.tools([])).toEqual([]);
    expect(google.tools([], { dialect: "schema" })).toEqual([]);
  });

  it("without parameters have none, in both dialects", () => {
    const now = sharedTools.filter(({ name }) => name === "now");
    expect(google.tools(now)).toEqual([
      { functionDeclarations: [{ name: "now", description: "The current time, UTC." }] },
    ]);
    expect(google.tools(now, { dialect: "schema" })).toEqual(google.tools(now));
  });

  it("lose nothing of the shared schemas, in both dialects", () => {
    const onLoss = vi.fn<(loss: Loss) => void>();
    google.tools(sharedTools, { onLoss });
    google.tools(sharedTools, { dialect: "schema", onLoss });
    expect(onLoss).not.toHaveBeenCalled();
  });

  it("have no strict mode of their own, and say so", () => {
    expect(() => google.tools([weather], { strict: true, onLoss: "throw" })).toThrow(/no strict mode/);
    expect(google.tools([weather], { strict: "auto", onLoss: "throw" })).toHaveLength(1);
  });

  it("take a dialect that exists", () => {
    expect(() => google.tools([weather], { dialect: "openapi" as "schema" })).toThrow(TypeError);
  });

  it.each<[string, unknown, unknown, string[]]>([
    ["a nullable string stays", { type: ["string", "null"] }, { type: ["string", "null"] }, []],
    ["a constant becomes a list", { const: "x" }, { type: "string", enum: ["x"] }, []],
    ["numbers may be listed", { enum: [1, 2] }, { type: "integer", enum: [1, 2] }, []],
    [
      "a null that the type does not take is no value",
      { type: "string", enum: ["a", null], description: "d" },
      { type: "string", enum: ["a"], description: "d" },
      [],
    ],
    [
      "a null that the type takes stays one, and what describes both stays outside",
      { type: ["string", "null"], enum: ["a", null], title: "t", description: "d", default: "a" },
      { title: "t", description: "d", anyOf: [{ type: "string", enum: ["a"], default: "a" }, { type: "null" }] },
      [],
    ],
    ["a null alone is a type", { enum: [null], description: "d" }, { type: "null", description: "d" }, []],
    [
      "an exclusive bound of an integer becomes inclusive",
      { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9.5 },
      { type: "integer", minimum: 1, maximum: 9 },
      [],
    ],
    // What z.int() exports: https://github.com/googleapis/python-genai/issues/660
    [
      "the bounds of safe integers are left out",
      { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      { type: "integer" },
      [],
    ],
    [
      "a bound next to that of safe integers stays",
      { type: "integer", exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      { type: "integer", minimum: 1 },
      [],
    ],
    [
      "an exclusive bound of a number is told",
      { type: "number", exclusiveMinimum: 0 },
      { type: "number", description: "(exclusiveMinimum: 0)" },
      ["/properties/p unsupported:exclusiveMinimum"],
    ],
    [
      "a pattern is told",
      { type: "string", pattern: "^a" },
      { type: "string", description: '(pattern: "^a")' },
      ["/properties/p unsupported:pattern"],
    ],
    ["formats stay", { type: "string", format: "uuid" }, { type: "string", format: "uuid" }, []],
    [
      "records stay",
      { type: "object", additionalProperties: { type: "number" } },
      { type: "object", additionalProperties: { type: "number" } },
      [],
    ],
    [
      "a closed tuple is closed by its length",
      { type: "array", prefixItems: [{ type: "string" }], items: false },
      { type: "array", prefixItems: [{ type: "string" }], maxItems: 1 },
      [],
    ],
    ["any value stays", {}, {}, []],
    [
      "oneOf is read as anyOf",
      { oneOf: [{ type: "string" }, { type: "number" }] },
      { anyOf: [{ type: "string" }, { type: "number" }] },
      [],
    ],
    [
      "an intersection becomes one schema",
      { allOf: [{ minimum: 1 }, { type: "integer", maximum: 3 }] },
      { minimum: 1, type: "integer", maximum: 3 },
      [],
    ],
  ])("as JSON Schema: %s", (_, schema, expected, rules) => {
    expect(property(schema, "json-schema")).toEqual({ p: expected, rules });
  });

  it("as JSON Schema: a reference stands alone, its definitions at the root", () => {
    const { schema } = lower(
      {
        properties: { p: { $ref: "#/definitions/Tree", description: "the tree" } },
        definitions: {
          Tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/definitions/Tree" } } } },
        },
      },
      "json-schema",
    );
    expect(schema).toEqual({
      type: "object",
      properties: { p: { description: "the tree", anyOf: [{ $ref: "#/$defs/Tree" }] } },
      $defs: { Tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/Tree" } } } } },
    });
  });

  it.each<[string, unknown, unknown, string[]]>([
    [
      "a type array with null is nullable",
      { type: ["string", "null"], description: "d" },
      { type: "string", nullable: true, description: "d" },
      [],
    ],
    [
      "other type arrays are a union",
      { type: ["string", "number", "null"] },
      {
        anyOf: [
          { type: "string", nullable: true },
          { type: "number", nullable: true },
        ],
      },
      [],
    ],
    [
      "a null in a list is nullable where the type takes it",
      { type: ["string", "null"], enum: ["a", null] },
      { type: "string", enum: ["a"], format: "enum", nullable: true },
      [],
    ],
    [
      "a null that the type does not take is no value",
      { type: "string", enum: ["a", null] },
      { type: "string", enum: ["a"], format: "enum" },
      [],
    ],
    ["a constant becomes an enum", { const: "x" }, { type: "string", enum: ["x"], format: "enum" }, []],
    [
      "an enum has its format",
      { type: "string", enum: ["a", "b"] },
      { type: "string", enum: ["a", "b"], format: "enum" },
      [],
    ],
    [
      // "enum[0]: cannot be empty": https://github.com/anomalyco/opencode/pull/46676
      "an empty string cannot be listed",
      { type: "string", enum: ["", "a"] },
      { type: "string", description: '(one of: ["","a"])' },
      ["/properties/p unsupported:enum"],
    ],
    [
      "nor be the only one",
      { const: "" },
      { type: "string", description: '(one of: [""])' },
      ["/properties/p unsupported:enum"],
    ],
    [
      "numbers cannot be listed and stay numbers",
      { type: "integer", enum: [1, 2] },
      { type: "integer", description: "(one of: [1,2])" },
      ["/properties/p unsupported:enum"],
    ],
    [
      "oneOf becomes anyOf",
      { oneOf: [{ type: "string" }, { type: "number" }] },
      { anyOf: [{ type: "string" }, { type: "number" }] },
      [],
    ],
    [
      "anyOf stands alone",
      { description: "d", anyOf: [{ type: "string", description: "s" }, { type: "number" }] },
      {
        anyOf: [
          { type: "string", description: "s" },
          { type: "number", description: "d" },
        ],
      },
      [],
    ],
    [
      "what stands next to anyOf and in a branch is told",
      { title: "t", minLength: 1, anyOf: [{ type: "string", title: "s", minLength: 2 }, { type: "string" }] },
      {
        anyOf: [
          { type: "string", title: "s", minLength: 2 },
          { type: "string", title: "t", minLength: 1 },
        ],
      },
      ["/properties/p anyOfAlone"],
    ],
    [
      "a closed object is open",
      { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      [],
    ],
    [
      "a record is told",
      { type: "object", additionalProperties: { type: "number" } },
      { type: "object", description: '(additionalProperties: {"type":"number"})' },
      ["/properties/p unsupported:additionalProperties"],
    ],
    ["a record of anything is an object", { type: "object", additionalProperties: {} }, { type: "object" }, []],
    ["an object without properties has no list of them", { type: "object", properties: {} }, { type: "object" }, []],
    ["known formats stay", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }, []],
    [
      "other formats are told",
      { type: "string", format: "uuid" },
      { type: "string", description: '(format: "uuid")' },
      ["/properties/p unsupported:format"],
    ],
    [
      "bounds stay",
      { type: "string", minLength: 1, maxLength: 9, pattern: "a" },
      { type: "string", minLength: 1, maxLength: 9, pattern: "a" },
      [],
    ],
    [
      "an array holds something",
      { type: "array" },
      {
        type: "array",
        items: {
          anyOf: [
            { type: "string", nullable: true },
            { type: "number", nullable: true },
            { type: "boolean", nullable: true },
          ],
        },
      },
      ["/properties/p/items ensureType"],
    ],
    [
      "a name that is required and not there is left out",
      { type: "object", properties: { a: { type: "string" } }, required: ["a", "b"] },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      ["/properties/p requireDeclared"],
    ],
  ])("as Schema: %s", (_, schema, expected, rules) => {
    expect(property(schema, "schema")).toEqual({ p: expected, rules });
  });

  it("as Schema: what references lead to in the components of OpenAPI is said as all else", () => {
    const schemas = {
      A: { type: "object", properties: { x: { type: "string" }, y: false }, additionalProperties: false },
      B: { type: "array", items: [{ type: "string" }] },
    };
    const properties = { a: { $ref: "#/components/schemas/A" }, b: { $ref: "#/components/schemas/B" } };
    const { schema, rules } = lower({ properties, components: { schemas } }, "schema");
    expect(schema).toEqual({
      type: "object",
      properties: {
        a: { type: "object", properties: { x: { type: "string" } } },
        b: { type: "array", items: { type: "string" } },
      },
    });
    expect(rules).toEqual(["/properties/b tuplesToArrays"]);
  });

  it("as JSON Schema: a cycle of references is followed once, however long it is", () => {
    const stepsOf = (count: number): number => {
      const name = (index: number) => `d${index % count}`;
      const $defs = Object.fromEntries(
        Array.from({ length: count }, (_, index) => {
          const next = { $ref: `#/$defs/${name(index + 1)}` };
          return [name(index), { type: "object", properties: { next }, required: ["next"] }];
        }),
      );
      const looks = vi.spyOn(Object, "entries");
      const { rules } = lower({ properties: { p: { $ref: "#/$defs/d0" } }, $defs }, "json-schema");
      const steps = looks.mock.calls.length;
      looks.mockRestore();
      expect(rules).toHaveLength(count);
      return steps;
    };
    expect(stepsOf(100)).toBeLessThan(2.5 * stepsOf(50));
  });

  it("as Schema: references are put in their place, recursion is cut", () => {
    const { schema, rules } = lower(
      {
        properties: { p: { $ref: "#/$defs/Tree" } },
        $defs: { Tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/Tree" } } } } },
      },
      "schema",
    );
    expect(schema).toEqual({
      type: "object",
      properties: { p: { type: "object", properties: { kids: { type: "array", items: { type: "object" } } } } },
    });
    expect(rules).toEqual(["/$defs/Tree/properties/kids/items inlineRefs"]);
  });
});

describe("toolChoice", () => {
  it.each([
    ["auto", undefined, { mode: "AUTO" }],
    ["auto", { strict: true }, { mode: "VALIDATED" }],
    ["none", undefined, { mode: "NONE" }],
    ["required", { parallel: false }, { mode: "ANY" }],
    [{ name: "1/add" }, undefined, { mode: "ANY", allowedFunctionNames: ["_1__add"] }],
    [{ names: ["a", "b"], required: true }, undefined, { mode: "ANY", allowedFunctionNames: ["a", "b"] }],
    [{ names: ["a"] }, { dialect: "schema" }, { mode: "VALIDATED", allowedFunctionNames: ["a"] }],
    // No names at all would be leave to call any of them.
    [{ names: [] }, undefined, { mode: "NONE" }],
  ] as const)("says %j", (choice, options, functionCallingConfig) => {
    expect(google.toolChoice(choice, options)).toEqual({ toolConfig: { functionCallingConfig } });
  });
});
