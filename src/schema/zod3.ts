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
  // A default may be a Date, and a bound a bigint.
  const json = JSON.stringify(exported, (_, value) => (typeof value === "bigint" ? Number(value) : value));
  return in2020(JSON.parse(json)) as Record<string, unknown>;
}

/**
 * Tuples in their 2020-12 form: `items` and `additionalItems` became `prefixItems` and `items`. Bounds too:
 * `.positive()` is exported as `minimum: 0` with `exclusiveMinimum: true`, as draft 4 had it.
 */
function in2020(schema: unknown, isMap = false): unknown {
  if (Array.isArray(schema)) return schema.map((one) => in2020(one));
  if (!isRecord(schema)) return schema;
  const copy = {};
  for (const [key, value] of Object.entries(schema)) {
    if (isMap) setOwn(copy, key, in2020(value)); // a property may be called `items`
    else if (key === "default" || key === "const" || key === "enum") setOwn(copy, key, value);
    else if (key === "$ref") setOwn(copy, key, throughPrefixItems(String(value)));
    else if (value !== true || !key.startsWith("exclusive"))
      setOwn(copy, newName(key, value, schema), in2020(value, key === "properties"));
  }
  return copy;
}

function newName(keyword: string, value: unknown, schema: Readonly<Record<string, unknown>>): string {
  if (keyword === "items" && Array.isArray(value)) return "prefixItems";
  if (keyword === "additionalItems") return "items";
  const open = keyword.replace(/^m/, "exclusiveM");
  return schema[open] === true ? open : keyword;
}

function throughPrefixItems(ref: string): string {
  return ref.replace(/\/items\/(?=\d+(?:\/|$))/g, "/prefixItems/").replace(/\/additionalItems(?=\/|$)/g, "/items");
}
