import { ToolError } from "../errors.ts";
import type { Schema } from "./types.ts";

/**
 * Arguments are an object, or free text for a custom tool. Rejects an input schema with a root of any other type; one
 * without a type (`{}`, `anyOf`, `$ref`) can be an object.
 *
 * @throws ToolError `invalid_tool`
 */
export function withInputRoot<S extends Schema>(schema: S): S {
  const { type } = schema.jsonSchema;
  const types = Array.isArray(type) ? type : [type];
  if (type === undefined || types.includes("object") || types.includes("string")) return schema;
  throw new ToolError(
    "invalid_tool",
    `the root is of type ${types.map((name) => JSON.stringify(name)).join(", ")}; arguments are an object (or one string, for free text). ` +
      "Put it in a property of an object.",
  );
}
