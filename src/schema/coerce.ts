import { changedLiteral, exceedsDepth, jsonIn } from "../json/index.ts";
import {
  conjunction,
  fits,
  fitsKind,
  GiveUp,
  isOfType,
  itemSchemas,
  listedNames,
  meantOf,
  propertySchemas,
  step,
  typesOf,
  unionsOf,
  type Walk,
} from "./fits.ts";
import { propertiesOf, requiredOf } from "./fields.ts";
import { isRecord } from "./json.ts";
import type { JsonSchema } from "./types.ts";

/** One value that was changed, and where. `after` is `undefined` for a property that was dropped. */
export interface Coercion {
  readonly path: readonly (string | number)[];
  readonly before: unknown;
  readonly after: unknown;
}

/** A value after the change. The input is never modified: changed parts are copies, the rest is shared with it. */
export interface Coerced {
  readonly value: unknown;
  readonly repairs: readonly Coercion[];
}

/**
 * Drops properties that are `null` if the schema lists them as optional and does not accept `null`. This undoes strict
 * modes, which make every property required and let the model express "absent" as `null`.
 */
export function dropNulls(value: unknown, schema: JsonSchema): Coerced {
  return rewrite(value, schema, { dropNulls: true, convert: (item) => item });
}

const forcing = new WeakMap<JsonSchema, boolean>();

/** Whether {@link dropNulls} can find anything: some property in the schema is optional. */
export function mayForceNulls(schema: JsonSchema): boolean {
  let answer = forcing.get(schema);
  if (answer === undefined) forcing.set(schema, (answer = hasOptional(schema)));
  return answer;
}

function hasOptional(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(hasOptional);
  if (!isRecord(node)) return false;
  const required = new Set<unknown>(requiredOf(node));
  if (namesIn(node).some((name) => !required.has(name))) return true;
  return Object.values(node).some(hasOptional);
}

/**
 * Converts a value to the type that the schema asks for, if its text states it plainly: `"5"` for a number, `"true"`
 * for a boolean, `"[1,2]"` or `"{}"` for a container, a single value for an array of it. What already fits stays;
 * `null` and `""` are never interpreted; a number that would lose digits stays a string.
 */
export function coerce(value: unknown, schema: JsonSchema): Coerced {
  return rewrite(value, schema, { dropNulls: false, convert: convertPlainly });
}

interface Rules {
  readonly dropNulls: boolean;
  /** Converts the value itself, not its content. Returns the same value to leave it. */
  convert(value: unknown, parts: readonly Record<string, unknown>[], walk: Walk, atRoot: boolean): unknown;
}

function rewrite(value: unknown, schema: JsonSchema, rules: Rules): Coerced {
  const walk: Walk = { root: schema, steps: 200_000, value };
  const repairs: Coercion[] = [];
  try {
    return { value: visit(value, schema, []), repairs };
  } catch (error) {
    if (error instanceof GiveUp) return { value, repairs: [] };
    throw error;
  }

  function visit(given: unknown, itsSchema: unknown, path: readonly (string | number)[]): unknown {
    step(walk, path.length);
    const parts = conjunction(itsSchema, walk);
    let current = rules.convert(given, parts, walk, path.length === 0);
    if (current !== given) repairs.push({ path, before: given, after: current });
    if (Array.isArray(current)) current = visitItems(current, parts, path);
    else if (isRecord(current)) current = visitProperties(current, parts, path);
    for (const part of parts) for (const union of unionsOf(part)) current = visitUnion(current, union, parts, path);
    return current;
  }

  function visitItems(
    list: readonly unknown[],
    parts: Record<string, unknown>[],
    path: readonly (string | number)[],
  ): unknown {
    let copy: unknown[] | undefined;
    for (const [index, item] of list.entries()) {
      const schemas = itemSchemas(parts, index);
      if (schemas.length === 0) continue;
      const after = visitAll(item, schemas, [...path, index]);
      if (after !== item) (copy ??= [...list])[index] = after;
    }
    return copy ?? list;
  }

  function visitProperties(
    object: Record<string, unknown>,
    parts: Record<string, unknown>[],
    path: readonly (string | number)[],
  ): unknown {
    const changed = new Map<string, unknown>();
    for (const key of Object.keys(object)) {
      const schemas = propertySchemas(parts, key);
      if (schemas.length === 0) continue;
      const item = object[key];
      const at = [...path, key];
      if (item === null) {
        if (!rules.dropNulls || !isOptional(key, parts) || schemas.every((one) => fits(null, one, walk))) continue;
        changed.set(key, undefined);
        repairs.push({ path: at, before: null, after: undefined });
        continue;
      }
      const after = visitAll(item, schemas, at);
      if (after !== item) changed.set(key, after);
    }
    if (changed.size === 0) return object;
    return withoutKeys({ ...object, ...Object.fromEntries(changed) }, (key, item) => item === undefined);
  }

  function visitAll(item: unknown, schemas: readonly unknown[], path: readonly (string | number)[]): unknown {
    return visit(item, schemas.length === 1 ? schemas[0] : { allOf: schemas }, path);
  }

  /**
   * The first alternative that fits after the change; failing that, the only one of the value's own kind. When nulls
   * are dropped, an alternative has to list everything the value has, and one with exactly the same list comes first:
   * any other would let properties through that it does not know, and validation might drop them.
   */
  function visitUnion(
    given: unknown,
    branches: readonly unknown[],
    parts: readonly Record<string, unknown>[],
    path: readonly (string | number)[],
  ): unknown {
    const beside = rules.dropNulls ? parts : undefined;
    const isMeant = (one: unknown, branch: unknown) => fits(one, branch, walk, 0, beside);
    if (branches.some((branch) => isMeant(given, branch))) return given;
    const mark = repairs.length;
    let meant = meantOf(branches, given, walk);
    if (rules.dropNulls && isRecord(given)) {
      const rank = (branch: unknown) => (listsTheSame([...parts, ...conjunction(branch, walk)], given, walk) ? 0 : 1);
      meant = meant.toSorted((one, other) => rank(one) - rank(other));
    }
    const akin: { after: unknown; made: Coercion[] }[] = [];
    for (const branch of meant) {
      const after = visitBranch(given, branch, branches, path);
      if (after !== given && isMeant(after, branch)) return after;
      const made = repairs.splice(mark);
      if (fitsKind(given, conjunction(branch, walk))) akin.push({ after, made });
    }
    const [sole, ...others] = akin;
    if (sole === undefined || others.length > 0) return given;
    for (const one of sole.made) repairs.push(one);
    return sole.after;
  }

  /**
   * If a dialect has no union at the root, all properties of all alternatives are asked for: those of the other
   * alternatives are `null` too, and a closed object does not know them.
   */
  function visitBranch(
    given: unknown,
    branch: unknown,
    branches: readonly unknown[],
    path: readonly (string | number)[],
  ): unknown {
    if (!rules.dropNulls || !isRecord(given)) return visit(given, branch, path);
    const own = conjunction(branch, walk);
    const all = branches.flatMap((one) => conjunction(one, walk));
    const isOfOthers = (key: string) => given[key] === null && !isListed(key, own) && isListed(key, all);
    const others = Object.keys(given).filter(isOfOthers);
    if (others.length === 0) return visit(given, branch, path);
    for (const key of others) repairs.push({ path: [...path, key], before: null, after: undefined });
    return visit(withoutKeys(given, isOfOthers), branch, path);
  }
}

function withoutKeys(object: object, isLeftOut: (key: string, item: unknown) => boolean): object {
  return Object.fromEntries(Object.entries(object).filter(([key, item]) => !isLeftOut(key, item)));
}

/** As a property, or among the names that a record may have. */
function isListed(key: string, parts: readonly Record<string, unknown>[]): boolean {
  return parts.some((part) => Object.hasOwn(propertiesOf(part), key) || listedNames(part)?.includes(key));
}

/** Whether an object has exactly the properties that the parts list, and so do the objects in it, except for unions. */
function listsTheSame(parts: readonly Record<string, unknown>[], object: object, walk: Walk, depth = 0): boolean {
  step(walk, depth);
  const names = new Set(parts.flatMap(namesIn));
  const entries = Object.entries(object);
  return (
    entries.length === names.size &&
    entries.every(([key, value]) => {
      if (!names.has(key)) return false;
      if (!isRecord(value)) return true;
      const inside = propertySchemas(parts, key).flatMap((one) => conjunction(one, walk));
      const isListing =
        inside.some((part) => namesIn(part).length > 0) && inside.every((part) => unionsOf(part).length === 0);
      return !isListing || listsTheSame(inside, value, walk, depth + 1);
    })
  );
}

function namesIn(part: Record<string, unknown>): readonly unknown[] {
  return [...Object.keys(propertiesOf(part)), ...(listedNames(part) ?? [])];
}

/** Listed, but required by no part. */
function isOptional(key: string, parts: readonly Record<string, unknown>[]): boolean {
  return isListed(key, parts) && !parts.some((part) => requiredOf(part).includes(key));
}

function convertPlainly(
  value: unknown,
  parts: readonly Record<string, unknown>[],
  walk: Walk,
  atRoot: boolean,
): unknown {
  const types = typesOf(parts) ?? (atRoot && takesOnlyObjects(parts) ? new Set(["object"]) : undefined);
  if (value === null || value === "" || types === undefined || isOfType(value, types)) return value;
  if (typeof value === "string") {
    const read = readPlainly(value, types);
    if (read !== undefined) return read;
    if (/^\s*\[/.test(value)) return value; // meant as a list, not as an item of one
  }
  if (!types.has("array") || Array.isArray(value)) return value;
  const itemSchema = itemSchemas(parts, 0);
  return itemSchema.length > 0 && itemSchema.every((schema) => fits(value, schema, walk)) ? [value] : value;
}

/** Arguments are an object unless their schema says text: one that lists properties need not name the type. */
function takesOnlyObjects(parts: readonly Record<string, unknown>[]): boolean {
  return parts.every((part) => unionsOf(part).length === 0);
}

function readPlainly(text: string, types: ReadonlySet<string>): unknown {
  if (types.has("number") || types.has("integer")) {
    const number = readNumber(text);
    if (number !== undefined && isOfType(number, types)) return number;
  }
  if (types.has("boolean") && (text === "true" || text === "false")) return text === "true";
  if (/^\s*[[{]/.test(text)) {
    const container = readContainer(text);
    if (container !== undefined && isOfType(container, types)) return container;
  }
  return undefined;
}

/** Above this, no number of a double's digits is that long. */
const MAX_NUMBER_LENGTH = 350;

/** A JSON number that a double represents without losing a digit; otherwise, and for `-0`, `undefined`. */
function readNumber(text: string): number | undefined {
  if (text.length > MAX_NUMBER_LENGTH || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const number = Number(text);
  if (Object.is(number, -0) || digitsOf(text) !== digitsOf(String(number))) return undefined;
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? undefined : number;
}

function digitsOf(number: string): string {
  return number
    .replace(/e.*/i, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");
}

/** JSON inside a string has not passed any limit yet. */
const MAX_CONTAINER_DEPTH = 128;

function readContainer(text: string): unknown {
  if (exceedsDepth(text, MAX_CONTAINER_DEPTH)) return undefined;
  const value = jsonIn(text);
  return value !== undefined && changedLiteral(text) === undefined ? value : undefined;
}
