import { mapSubschemas } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * A schema as all that read it after validation understand it; the same object if nothing changes.
 *
 * - `#/…` in a part with an `$id` of its own starts from that part: the `$id` is put in front, for `resolveRef()`.
 * - A single pattern that fits any name, as TypeBox writes a record, becomes `additionalProperties`.
 *
 * @param root one that the validator takes
 */
export function inPlainForm(root: JsonSchema): JsonSchema {
  const visit = (given: JsonSchema, base: string): JsonSchema => {
    const { $id, $ref } = given as { $id?: string; $ref?: string };
    const own = (given !== root && /^[^#]+/.exec($id ?? "")?.[0]) || base;
    const node = withOtherNames(mapSubschemas(given, (child) => visit(child, own)));
    return own !== "" && $ref?.startsWith("#") ? { ...node, $ref: own + $ref } : node;
  };
  return visit(root, "");
}

/** `^(.*)$` of TypeBox 0, `^.*$` of TypeBox 1, and `.*`. */
const ANY_NAME = /^\^?\(?\.\*\)?\$?$/;

function withOtherNames(node: JsonSchema): JsonSchema {
  const { patternProperties = {}, ...rest } = node as { [keyword in string]?: Record<string, unknown> };
  const pattern = Object.keys(patternProperties).join();
  if (!ANY_NAME.test(pattern) || Object.keys(rest["properties"] ?? {}).length > 0) return node;
  return { ...rest, additionalProperties: patternProperties[pattern] };
}
