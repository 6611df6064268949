import { branchesOf, literals, propertiesOf } from "./fields.ts";
import { getOwn, isRecord } from "./json.ts";
import { targetOf } from "./refs.ts";
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
    if (typeof name !== "string") return node;
    const lists = oneOf.map((branch) => listOf(branch, name, schema));
    const listed = lists.flat();
    if (lists.every((list) => list?.length) && new Set(listed).size === listed.length) return node;
    return { ...rest, discriminator, anyOf: oneOf.map((branch, i) => withNames(branch, name, mapping, lists[i])) };
  });
}

/**
 * The values that an alternative, or what it refers to, lists for the property. `undefined` if it lists none; empty if
 * it does not even take a string, as the names in a mapping are.
 */
function listOf(branch: unknown, name: string, root: JsonSchema): readonly unknown[] | undefined {
  const properties = partsOf([branch], root).map((part) => getOwn(propertiesOf(part), name));
  const lists = partsOf(properties, root).map((part) => {
    const { type = "string" } = part;
    return literals(part) ?? ([type].flat().includes("string") ? undefined : []);
  });
  return lists.find((list) => list !== undefined);
}

/** Schemas, what they refer to, and the parts of their `allOf`: the nearest first. */
function partsOf(schemas: readonly unknown[], root: JsonSchema): JsonSchema[] {
  const parts = new Set(schemas);
  for (const part of parts) {
    if (!isRecord(part)) continue;
    for (const other of [targetOf(part, root), ...branchesOf(part, "allOf")]) parts.add(other);
  }
  return [...parts].filter(isRecord);
}

/** A mapping refers to a schema as the alternative does, or by its name alone. */
function withNames(branch: unknown, name: string, mapping: unknown, list?: readonly unknown[]): unknown {
  const ref = isRecord(branch) ? branch["$ref"] : undefined;
  if (typeof ref !== "string" || !isRecord(mapping)) return branch;
  const isMeant = (to: unknown) => typeof to === "string" && `/${ref}`.endsWith(`/${to}`);
  const names = new Set<unknown>(Object.keys(mapping).filter((key) => isMeant(mapping[key])));
  const values = list?.filter((value) => names.has(value)) ?? [...names];
  const saysNothing = values.length === 0 || values.length === list?.length;
  return saysNothing ? branch : { allOf: [branch, { properties: { [name]: { enum: values } } }] };
}
