import { branchesOf, isWithin, listedNames, literals, propertiesOf, requiredOf } from "./fields.ts";
import { contentOf, getOwn, isObject, isRecord, typeOfValue } from "./json.ts";
import { targetOf } from "./refs.ts";
import type { JsonSchema } from "./types.ts";
import { takeStep, TooMuchWork, type Work } from "./work.ts";

/**
 * One walk over a value and its schema: where references are resolved, and how much work is left. A walk that runs out
 * gives up: unions of recursive schemas could otherwise take exponential time.
 */
export interface Walk extends Work {
  readonly root: JsonSchema;
}

/** All schemas that apply to one value. */
export type Parts = readonly JsonSchema[];

const MAX_DEPTH = 500;

/** What a walk finds, or `otherwise` if it has to give up. */
export function unlessTooMuch<Found>(find: () => Found, otherwise: Found): Found {
  try {
    return find();
  } catch (error) {
    if (error instanceof TooMuchWork) return otherwise;
    throw error;
  }
}

export function step(walk: Walk, depth: number): void {
  takeStep(walk, 100);
  if (depth > MAX_DEPTH) throw new TooMuchWork();
}

/**
 * All schemas that apply to a value: those given, the targets of their `$ref`, their `allOf`. Each once, so a cycle ends.
 */
export function conjunction(schemas: readonly unknown[], walk: Walk): JsonSchema[] {
  const parts: JsonSchema[] = [];
  const add = (part: unknown): void => {
    if (part === false) parts.push({ not: {} });
    if (!isRecord(part) || parts.includes(part)) return;
    step(walk, parts.length);
    parts.push(part);
    add(targetOf(part, walk.root));
    branchesOf(part, "allOf").forEach(add);
  };
  schemas.forEach(add);
  return parts;
}

/** All schemas that apply to the value of a whole schema; none if there are too many. */
export function rootParts(root: JsonSchema): Parts {
  return unlessTooMuch(() => conjunction([root], { root, steps: 10_000 }), []);
}

/** Whether all parts allow a type. */
export function takes(parts: Parts, type: string): boolean {
  return parts.every((part) => allowedTypes(part)?.some((own) => isWithin(type, own)) ?? true);
}

/** The types that a part allows, by what it says or lists; `undefined` if it allows any. */
export function allowedTypes(part: JsonSchema): readonly unknown[] | undefined {
  const { type, nullable } = part;
  if (type === undefined) return literals(part)?.map(typeOfValue);
  const types = Array.isArray(type) ? type : [type];
  return nullable === true ? [...types, "null"] : types;
}

/** The alternatives in the parts: of every list, one must fit. */
export function unionsOf(parts: Parts): (readonly unknown[])[] {
  return parts
    .flatMap((part) => [branchesOf(part, "anyOf"), branchesOf(part, "oneOf")])
    .filter(({ length }) => length > 0);
}

/** All schemas in the parts that apply to one property, or to one item. */
export function schemasAt(parts: Parts, key: string | number): unknown[] {
  return typeof key === "string" ? propertySchemas(parts, key) : itemSchemas(parts, key);
}

function propertySchemas(parts: Parts, key: string): unknown[] {
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

function itemSchemas(parts: Parts, index: number): unknown[] {
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
 * Whether a value has the shape that schemas ask for: types, constants, required and known properties, items. Coarser
 * than validation, which comes later: bounds, patterns and formats are ignored.
 *
 * @param beside given if objects may hold only what is listed, as in strict modes: the other schemas that apply to the
 *   same value, and list properties of it too
 */
export function fits(value: unknown, schemas: readonly unknown[], walk: Walk, depth = 0, beside?: Parts): boolean {
  if (schemas.length === 0) return true;
  step(walk, depth);
  const parts = conjunction(schemas, walk);
  if (!fitsKind(value, parts)) return false;
  const all = beside && [...beside, ...parts];
  for (const union of unionsOf(parts)) {
    if (!meantOf(union, value, walk).some((branch) => fits(value, [branch], walk, depth + 1, all))) return false;
  }
  if (!isObject(value)) return true;
  if (isRecord(value) && !parts.flatMap(requiredOf).every((name) => Object.hasOwn(value, name))) return false;
  for (const [key, item] of contentOf(value)) {
    if (beside !== undefined && typeof key === "string" && isClosedTo(key, parts) && !isKnown(key, beside))
      return false;
    if (!fits(item, schemasAt(parts, key), walk, depth + 1, beside && [])) return false;
  }
  return true;
}

/** Whether the parts list properties, but not this one. If they have unions, those were already checked. */
function isClosedTo(key: string, parts: Parts): boolean {
  const listsSome = parts.some(({ properties }) => isRecord(properties));
  return listsSome && !isKnown(key, parts) && unionsOf(parts).length === 0;
}

function isKnown(key: string, parts: Parts): boolean {
  return propertySchemas(parts, key).length > 0 || parts.some((part) => part["patternProperties"] !== undefined);
}

/**
 * The alternatives that a value can be, or become. Excluded are those that want another constant (`kind: "circle"`)
 * where the value has one of the same type: the rest of them need not be looked at.
 */
export function meantOf(union: readonly unknown[], value: unknown, walk: Walk): readonly unknown[] {
  if (!isRecord(value)) return union;
  return union.filter((branch) => {
    const parts = conjunction([branch], walk);
    return Object.entries(value).every(([key, item]) => {
      if (typeof item === "object") return true;
      return conjunction(propertySchemas(parts, key), walk).every(
        (part) => literals(part)?.some((one) => one === item || typeof one !== typeof item) ?? true,
      );
    });
  });
}

/** Whether the value's own type and constants fit, whatever is in it. `not: {}` fits nothing. */
export function fitsKind(value: unknown, parts: Parts): boolean {
  if (!takes(parts, typeOfValue(value))) return false;
  if (parts.some(({ not }) => not === true || (isRecord(not) && Object.keys(not).length === 0))) return false;
  return isObject(value) || parts.every((part) => literals(part)?.includes(value) ?? true);
}
