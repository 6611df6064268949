import { ToolError } from "../errors.ts";
import type { JsonSchema } from "./types.ts";

/**
 * Arguments are an object, or free text for a custom tool. Rejects a root of any other type; one without a type (`{}`,
 * `anyOf`, `$ref`) can be an object.
 *
 * @throws ToolError `invalid_tool`
 */
export function checkRoot(schema: JsonSchema): void {
  const { type } = schema;
  if (type === undefined) return;
  const types = Array.isArray(type) ? type : [type];
  if (types.includes("object") || types.includes("string")) return;
  throw new ToolError(
    "invalid_tool",
    `the root is of type ${types.map((name) => JSON.stringify(name)).join(", ")}; arguments are an object (or one string, for free text). ` +
      "Put it in a property of an object.",
  );
}
