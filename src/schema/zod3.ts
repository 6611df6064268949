import { ignoreOverride, zodToJsonSchema } from "zod-to-json-schema";
import { isRecord, setOwn } from "./json.ts";
import { isStandardSchema, notAllSaid, withJsonSchema } from "./standard.ts";
import type { Schema } from "./types.ts";

/** The little of a zod 3 schema that is used here. */
export interface Zod3Schema<Input = any, Output = any> {
  readonly _input: Input;
  readonly _output: Output;
  readonly _def: object;
}

/**
 * A zod 3 schema, which cannot export itself as JSON Schema: `zod-to-json-schema` does (an optional peer dependency,
 * install it). Validation stays with zod. zod 4 needs no wrapper.
 *
 * @throws ToolError `invalid_tool` when the schema contains what JSON cannot express, TypeError when it is not of zod 3
 * @example
 * import { zod3 } from "toolstream/zod3";
 * defineTool({ name: "get_weather", inputSchema: zod3(z.object({ city: z.string() })), execute: ({ city }) => city });
 */
export function zod3<Input, Output>(schema: Zod3Schema<Input, Output>): Schema<Input, Output> {
  if (!isStandardSchema(schema) || "_zod" in schema || typeof schema._def !== "object") {
    throw new TypeError(
      "zod3() takes a schema of zod 3.24 or newer; a schema of zod 4 is given as it is, without zod3()",
    );
  }
  return withJsonSchema(schema, exportJsonSchema(schema)) as Schema<Input, Output>;
}

/** zod 3 types without a JSON value. A coercing date takes the string that the model writes. */
const FOREIGN = new Set(
  ["Date", "BigInt", "Map", "Set", "Symbol", "Function", "Promise", "NaN", "Void"].map((name) => `Zod${name}`),
);

function exportJsonSchema(schema: object): Record<string, unknown> {
  const exported = zodToJsonSchema(schema as never, {
    target: "jsonSchema2019-09", // the newest it knows
    pipeStrategy: "input",
    applyRegexFlags: true,
    override: (def, { currentPath }) => {
      const { typeName, coerce } = def as { typeName?: string; coerce?: boolean };
      if (typeName !== undefined && FOREIGN.has(typeName) && coerce !== true)
        throw notAllSaid("zod 3", `${currentPath.join("/")} is a ${typeName}`);
      return ignoreOverride;
    },
  });
  return withPrefixItems(exported) as Record<string, unknown>;
}

/** Tuples in their 2020-12 form: `items` and `additionalItems` became `prefixItems` and `items`. */
function withPrefixItems(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withPrefixItems);
  if (!isRecord(schema)) return schema;
  const copy = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "items" && Array.isArray(value)) setOwn(copy, "prefixItems", value.map(withPrefixItems));
    else if (keyword === "additionalItems") setOwn(copy, "items", withPrefixItems(value));
    else if (keyword === "$ref") setOwn(copy, keyword, throughPrefixItems(String(value)));
    else if (keyword === "properties" && isRecord(value)) setOwn(copy, keyword, withPrefixItemsInEach(value));
    else if (keyword === "default" || keyword === "const" || keyword === "enum") setOwn(copy, keyword, value);
    else setOwn(copy, keyword, withPrefixItems(value));
  }
  return copy;
}

/** The keys here are names of properties, and `items` may be one of them. */
function withPrefixItemsInEach(properties: Record<string, unknown>): object {
  const copy = {};
  for (const [name, schema] of Object.entries(properties)) setOwn(copy, name, withPrefixItems(schema));
  return copy;
}

function throughPrefixItems(ref: string): string {
  return ref.replace(/\/items\/(?=\d+(?:\/|$))/g, "/prefixItems/").replace(/\/additionalItems(?=\/|$)/g, "/items");
}
