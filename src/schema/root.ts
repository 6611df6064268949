import { ToolError } from "../errors.ts";
import { targetOf } from "./refs.ts";
import type { JsonSchema, Schema } from "./types.ts";

/**
 * What the root of a schema says under a keyword, itself or where it refers to: zod writes a schema with an id as
 * `{ $ref: "#/$defs/Query", $defs }`. `undefined` if neither says anything.
 */
export function saidOfRoot(schema: JsonSchema, keyword: string): unknown {
  return schema[keyword] ?? targetOf(schema, schema)?.[keyword];
}

/**
 * Arguments are an object, or free text for a custom tool. Rejects an input schema with a root of any other type; one
 * without a type (`{}`, `anyOf`) can be an object.
 *
 * @throws ToolError `invalid_tool`
 */
export function withInputRoot<S extends Schema>(schema: S): S {
  const type = saidOfRoot(schema.jsonSchema, "type");
  const types = [type].flat();
  if (type === undefined || types.includes("object") || types.includes("string")) return schema;
  throw new ToolError(
    "invalid_tool",
    `the root is of type ${types.map((name) => JSON.stringify(name)).join(", ")}; arguments are an object (or one string, for free text). ` +
      "Put it in a property of an object.",
  );
}
