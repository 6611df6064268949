import { branchesOf, propertiesOf, requiredOf } from "./fields.ts";
import { getOwn, isRecord, typeOfValue } from "./json.ts";
import { resolveRef } from "./refs.ts";
import type { JsonSchema } from "./types.ts";
import { takeStep, type Work } from "./work.ts";

/**
 * One walk over a value and its schema: where references are resolved, and how much work is left. A walk that runs out
 * gives up: unions of recursive schemas could otherwise take exponential time.
 */
export interface Walk extends Work {
  readonly root: JsonSchema;
}

const MAX_DEPTH = 500;

/** Thrown by a walk that takes too long or goes too deep; caught where the walk began. */
export class GiveUp extends Error {}

export function step(walk: Walk, depth: number): void {
  if (!takeStep(walk, 100) || depth > MAX_DEPTH) throw new GiveUp();
}

export function isOfType(value: unknown, types: ReadonlySet<string>): boolean {
  const type = typeOfValue(value);
  return types.has(type) || (type === "integer" && types.has("number"));
}

/**
 * All schemas that apply to the same value: the schema, the target of its `$ref`, its `allOf`.
 * Each once, so a cycle ends.
 */
export function conjunction(schema: unknown, walk: Walk): Record<string, unknown>[] {
  const parts: Record<string, unknown>[] = [];
  const add = (part: unknown): void => {
    if (part === false) parts.push({ not: {} });
    if (!isRecord(part) || parts.includes(part)) return;
    step(walk, parts.length);
    parts.push(part);
    if (typeof part["$ref"] === "string") add(resolveRef(walk.root, part["$ref"]));
    branchesOf(part, "allOf").forEach(add);
  };
  add(schema);
  return parts;
}

/** All schemas that apply to the value of a whole schema; `undefined` if there are too many. */
export function rootParts(root: JsonSchema): Record<string, unknown>[] | undefined {
  try {
    return conjunction(root, { root, steps: 10_000 });
  } catch (error) {
    if (error instanceof GiveUp) return undefined;
    throw error;
  }
}

/** The types that all parts allow; `undefined` if none of them names any. */
export function typesOf(parts: readonly Record<string, unknown>[]): ReadonlySet<string> | undefined {
  let types: Set<string> | undefined;
  for (const part of parts) {
    const own = ownTypes(part);
    if (own === undefined) continue;
    types = types === undefined ? own : commonTypes(types, own);
  }
  return types;
}

/** The types in both lists. An integer is also a number. */
export function commonTypes(types: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> {
  const has = (list: ReadonlySet<string>, type: string) => list.has(type) || (type === "integer" && list.has("number"));
  return new Set([...types, ...others].filter((type) => has(types, type) && has(others, type)));
}

function ownTypes(part: Record<string, unknown>): Set<string> | undefined {
  const { type, nullable } = part;
  const types = type === undefined ? literals(part)?.map(typeOfValue) : [type, nullable === true ? "null" : []].flat();
  return types && new Set(types as string[]);
}

/** The alternatives of each part: in every list, one must fit. */
export function unionsOf(part: Record<string, unknown>): (readonly unknown[])[] {
  return [branchesOf(part, "anyOf"), branchesOf(part, "oneOf")].filter((list) => list.length > 0);
}

/** The values that a schema lists; `undefined` if it lists none. */
export function literals({ enum: values, const: value }: Record<string, unknown>): readonly unknown[] | undefined {
  if (value !== undefined) return [value];
  return Array.isArray(values) ? values : undefined;
}

/** The property names that a schema lists; `undefined` if it lists none. */
export function listedNames({ propertyNames }: Record<string, unknown>): readonly unknown[] | undefined {
  return isRecord(propertyNames) ? literals(propertyNames) : undefined;
}

/** All schemas in the parts that apply to one property. */
export function propertySchemas(parts: readonly Record<string, unknown>[], key: string): unknown[] {
  const schemas: unknown[] = [];
  for (const part of parts) {
    const { patternProperties, additionalProperties } = part;
    const own = getOwn(propertiesOf(part), key);
    if (listedNames(part)?.includes(key) === false) schemas.push(false);
    if (own !== undefined) schemas.push(own);
    else if (patternProperties === undefined && additionalProperties !== undefined) schemas.push(additionalProperties);
  }
  return schemas;
}

/** All schemas in the parts that apply to one item. */
export function itemSchemas(parts: readonly Record<string, unknown>[], index: number): unknown[] {
  const schemas: unknown[] = [];
  for (const { prefixItems, items, additionalItems } of parts) {
    const prefix = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    const schema = index < prefix.length ? prefix[index] : rest;
    if (schema !== undefined) schemas.push(schema);
  }
  return schemas;
}

/**
 * Whether a value has the shape that a schema asks for: types, constants, required and known properties, items. Coarser
 * than validation, which comes later: bounds, patterns and formats are ignored.
 *
 * @param beside given if objects may hold only what is listed, as in strict modes: the other schemas that apply to the
 *   same value, and list properties of it too
 */
export function fits(
  value: unknown,
  schema: unknown,
  walk: Walk,
  depth = 0,
  beside?: readonly Record<string, unknown>[],
): boolean {
  step(walk, depth);
  const parts = conjunction(schema, walk);
  if (!fitsKind(value, parts)) return false;
  const all = beside && [...beside, ...parts];
  for (const part of parts) {
    for (const union of unionsOf(part)) {
      if (!meantOf(union, value, walk).some((branch) => fits(value, branch, walk, depth + 1, all))) return false;
    }
  }
  const fitsInside = (item: unknown, one: unknown) => fits(item, one, walk, depth + 1, beside && []);
  if (Array.isArray(value)) {
    return value.every((item, index) => itemSchemas(parts, index).every((one) => fitsInside(item, one)));
  }
  if (!isRecord(value)) return true;
  if (!parts.flatMap(requiredOf).every((name) => Object.hasOwn(value, name))) return false;
  return Object.keys(value).every((key) => {
    if (beside !== undefined && isClosedTo(key, parts) && !isKnown(key, beside)) return false;
    return propertySchemas(parts, key).every((one) => fitsInside(value[key], one));
  });
}

/** Whether the parts list properties, but not this one. If they have unions, those were already checked. */
function isClosedTo(key: string, parts: readonly Record<string, unknown>[]): boolean {
  const listsSome = parts.some(({ properties }) => isRecord(properties));
  return listsSome && !isKnown(key, parts) && parts.every((part) => unionsOf(part).length === 0);
}

function isKnown(key: string, parts: readonly Record<string, unknown>[]): boolean {
  return propertySchemas(parts, key).length > 0 || parts.some((part) => part["patternProperties"] !== undefined);
}

/**
 * The alternatives that a value can be, or become. Excluded are those that want another constant (`kind: "circle"`)
 * where the value has one of the same type: the rest of them need not be looked at.
 */
export function meantOf(union: readonly unknown[], value: unknown, walk: Walk): readonly unknown[] {
  if (!isRecord(value)) return union;
  return union.filter((branch) => {
    const parts = conjunction(branch, walk);
    return Object.keys(value).every((key) => {
      const item = value[key];
      if (typeof item === "object") return true;
      return propertySchemas(parts, key)
        .flatMap((one) => conjunction(one, walk))
        .every((part) => literals(part)?.some((one) => one === item || typeof one !== typeof item) ?? true);
    });
  });
}

/** Whether the value's own type and constants fit, whatever is in it. `not: {}` fits nothing. */
export function fitsKind(value: unknown, parts: readonly Record<string, unknown>[]): boolean {
  const types = typesOf(parts);
  if (types !== undefined && !isOfType(value, types)) return false;
  if (parts.some(({ not }) => not === true || (isRecord(not) && Object.keys(not).length === 0))) return false;
  if (typeof value === "object" && value !== null) return true;
  return parts.every((part) => literals(part)?.includes(value) ?? true);
}
