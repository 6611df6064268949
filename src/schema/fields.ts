import { isRecord, typeOfValue } from "./json.ts";
import type { JsonSchema } from "./types.ts";

/** The types that a node names; empty if it names none. */
export function typesOf({ type }: JsonSchema): readonly string[] {
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((one) => typeof one === "string") : [];
}

/** The value of `type` for a list of types. */
export function oneOrAll(types: readonly unknown[]): unknown {
  return types.length === 1 ? types[0] : types;
}

/** The types of values, each once. */
export function typesAmong(values: readonly unknown[]): readonly string[] {
  return [...new Set(values.map(typeOfValue))];
}

/** Whether a value of one type is also of the other: an integer is a number. */
export function isWithin(type: unknown, other: unknown): boolean {
  return type === other || (type === "integer" && other === "number");
}

/** Whether a node describes an object: by its type or, without one, by its keywords. */
export function isObjectNode(node: JsonSchema): boolean {
  const types = typesOf(node);
  if (types.length > 0) return types.includes("object");
  return OBJECT_KEYWORDS.some((keyword) => Object.hasOwn(node, keyword));
}

const OBJECT_KEYWORDS = ["properties", "required", "additionalProperties", "patternProperties", "propertyNames"];

/** The properties of a node; empty if it has none. Read with `Object.entries` or `getOwn`. */
export function propertiesOf({ properties }: JsonSchema): Readonly<Record<string, JsonSchema | boolean>> {
  return isRecord(properties) ? (properties as Record<string, JsonSchema | boolean>) : {};
}

export function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

/** The list under a keyword that holds schemas; empty if there is none. */
export function branchesOf(node: JsonSchema, keyword: "anyOf" | "oneOf" | "allOf"): readonly (JsonSchema | boolean)[] {
  const value = node[keyword];
  return Array.isArray(value) ? (value as (JsonSchema | boolean)[]) : [];
}

/** The values that a schema lists; `undefined` if it lists none. */
export function literals({ enum: values, const: value }: JsonSchema): readonly unknown[] | undefined {
  if (value !== undefined) return [value];
  return Array.isArray(values) ? values : undefined;
}

/** The property names that a schema lists; `undefined` if it lists none. */
export function listedNames({ propertyNames }: JsonSchema): readonly unknown[] | undefined {
  return isRecord(propertyNames) ? literals(propertyNames) : undefined;
}
