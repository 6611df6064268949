import { branchesOf, literals, propertiesOf } from "./fields.ts";
import { getOwn, isRecord } from "./json.ts";
import { followPointer } from "./pointer.ts";
import { changeAll } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * `discriminator` of OpenAPI beside a `oneOf` says by a property which alternative is meant. The alternatives themselves
 * mostly do not, so that an input may fit several of them, which `oneOf` refuses, and which no model can mend
 * (https://github.com/NousResearch/hermes-agent/pull/106070). So one that fits is enough, and the names in the `mapping`
 * are the values that the property may have. Without a `mapping` they would be the names of the schemas, but what makes
 * a tool's schema of an API's renames those.
 * https://spec.openapis.org/oas/v3.1.1#discriminator-object
 *
 * @returns values may be `undefined`: copy it as JSON
 */
export function withDiscriminators(schema: JsonSchema): JsonSchema {
  return changeAll(schema, (node) => {
    const { discriminator, oneOf, ...rest } = node;
    if (!isRecord(discriminator) || !Array.isArray(oneOf) || "anyOf" in rest) return node;
    const { propertyName: name, mapping } = discriminator;
    if (typeof name !== "string" || oneOf.every((branch) => lists(branch, name, schema))) return node;
    return { ...rest, discriminator, anyOf: oneOf.map((branch) => withNames(branch, name, mapping)) };
  });
}

/** Whether an alternative, or what it refers to, says itself which values the property may have. */
function lists(branch: unknown, name: string, root: JsonSchema): boolean {
  const parts = new Set([branch]);
  for (const part of parts) {
    if (!isRecord(part)) continue;
    const property = getOwn(propertiesOf(part), name);
    if (isRecord(property) && literals(property) !== undefined) return true;
    for (const other of branchesOf(part, "allOf")) parts.add(other);
    const { $ref } = part;
    if (typeof $ref === "string" && $ref.startsWith("#/")) parts.add(followPointer(root, $ref.slice(2)));
  }
  return false;
}

/** A mapping refers to a schema as the alternative does, or by its name alone. */
function withNames(branch: unknown, name: string, mapping: unknown): unknown {
  const ref = isRecord(branch) ? branch["$ref"] : undefined;
  if (typeof ref !== "string" || !isRecord(mapping)) return branch;
  const names = Object.keys(mapping).filter((key) => mapping[key] === ref || ref.endsWith(`/${String(mapping[key])}`));
  return names.length === 0 ? branch : { allOf: [branch, { properties: { [name]: { enum: names } } }] };
}
