import { changedLiteral, exceedsDepth, isHuge, jsonIn } from "../json/index.ts";
import {
  allowedTypes,
  conjunction,
  fits,
  fitsKind,
  meantOf,
  schemasAt,
  step,
  takes,
  unionsOf,
  unlessTooMuch,
  type Parts,
  type Walk,
} from "./fits.ts";
import { listedNames, propertiesOf, requiredOf } from "./fields.ts";
import { isObject, isRecord, mapContent, typeOfValue } from "./json.ts";
import { once } from "./once.ts";
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
  return rewrite(value, schema, true);
}

/** Whether {@link dropNulls} can find anything: some property in the schema is optional. */
export const mayForceNulls: (schema: JsonSchema) => boolean = once(hasOptional);

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
  return rewrite(value, schema, false);
}

/** Drops nulls, or converts values. */
function rewrite(value: unknown, schema: JsonSchema, dropsNulls: boolean): Coerced {
  const walk: Walk = { root: schema, steps: 200_000, value };
  const repairs: Coercion[] = [];
  return unlessTooMuch(() => ({ value: visit(value, [schema], []), repairs }), { value, repairs: [] });

  function visit(given: unknown, schemas: readonly unknown[], path: Coercion["path"]): unknown {
    if (schemas.length === 0) return given;
    step(walk, path.length);
    const parts = conjunction(schemas, walk);
    let current = dropsNulls ? given : convertPlainly(given, parts, walk, path.length === 0);
    if (current !== given) repairs.push({ path, before: given, after: current });
    if (isObject(current)) current = visitContent(current, parts, path);
    for (const union of unionsOf(parts)) current = visitUnion(current, union, parts, path);
    return current;
  }

  function visitContent<C extends object>(container: C, parts: Parts, path: Coercion["path"]): C {
    return mapContent(container, (item, key) => {
      const schemas = schemasAt(parts, key);
      const at = [...path, key];
      if (item !== null) return visit(item, schemas, at);
      return dropsNulls && isOptional(key, parts) && !fits(null, schemas, walk) ? dropped(at) : null;
    });
  }

  /**
   * The first alternative that fits after the change; failing that, the only one of the value's own kind. When nulls
   * are dropped, an alternative has to list everything the value has, and one with exactly the same list comes first:
   * any other would let properties through that it does not know, and validation might drop them.
   */
  function visitUnion(given: unknown, branches: readonly unknown[], parts: Parts, path: Coercion["path"]): unknown {
    const beside = dropsNulls ? parts : undefined;
    const isMeant = (one: unknown, branch: unknown) => fits(one, [branch], walk, 0, beside);
    if (branches.some((branch) => isMeant(given, branch))) return given;
    const mark = repairs.length;
    let meant = meantOf(branches, given, walk);
    if (dropsNulls && isRecord(given)) {
      const rank = (branch: unknown) => (listsTheSame([...parts, ...conjunction([branch], walk)], given, walk) ? 0 : 1);
      meant = meant.toSorted((one, other) => rank(one) - rank(other));
    }
    const akin: { after: unknown; made: Coercion[] }[] = [];
    for (const branch of meant) {
      const after = visitBranch(given, branch, branches, path);
      if (after !== given && isMeant(after, branch)) return after;
      const made = repairs.splice(mark);
      if (fitsKind(given, conjunction([branch], walk))) akin.push({ after, made });
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
  function visitBranch(given: unknown, branch: unknown, branches: readonly unknown[], path: Coercion["path"]): unknown {
    if (!dropsNulls || !isRecord(given)) return visit(given, [branch], path);
    const own = conjunction([branch], walk);
    const all = branches.flatMap((one) => conjunction([one], walk));
    const isOfOthers = (key: string) => given[key] === null && !isListed(key, own) && isListed(key, all);
    const rest = mapContent(given, (item, key) => (isOfOthers(key) ? dropped([...path, key]) : item));
    return visit(rest, [branch], path);
  }

  function dropped(path: Coercion["path"]): undefined {
    repairs.push({ path, before: null, after: undefined });
  }
}

/** As a property, or among the names that a record may have. */
function isListed(key: string, parts: Parts): boolean {
  return parts.some((part) => Object.hasOwn(propertiesOf(part), key) || listedNames(part)?.includes(key));
}

/** Whether an object has exactly the properties that the parts list, and so do the objects in it, except for unions. */
function listsTheSame(parts: Parts, object: object, walk: Walk, depth = 0): boolean {
  step(walk, depth);
  const names = new Set(parts.flatMap(namesIn));
  const entries = Object.entries(object);
  return (
    entries.length === names.size &&
    entries.every(([key, value]) => {
      if (!names.has(key)) return false;
      if (!isRecord(value)) return true;
      const inside = conjunction(schemasAt(parts, key), walk);
      const isListing = inside.some((part) => namesIn(part).length > 0) && unionsOf(inside).length === 0;
      return !isListing || listsTheSame(inside, value, walk, depth + 1);
    })
  );
}

function namesIn(part: JsonSchema): readonly unknown[] {
  return [...Object.keys(propertiesOf(part)), ...(listedNames(part) ?? [])];
}

/** Listed, but required by no part. */
function isOptional(key: string | number, parts: Parts): boolean {
  return typeof key === "string" && isListed(key, parts) && !parts.some((part) => requiredOf(part).includes(key));
}

function convertPlainly(value: unknown, given: Parts, walk: Walk, atRoot: boolean): unknown {
  const isTyped = given.some((part) => allowedTypes(part) !== undefined);
  // Arguments are an object unless their schema says text: one that lists properties need not name the type.
  const parts = isTyped ? given : atRoot && unionsOf(given).length === 0 ? OBJECT : [];
  const isTaken = (one: unknown) => takes(parts, typeOfValue(one));
  if (value === null || value === "" || isTaken(value)) return value;
  if (typeof value === "string") {
    const read = readPlainly(value);
    if (isTaken(read)) return read;
    if (/^\s*\[/.test(value)) return value; // meant as a list, not as an item of one
  }
  if (!takes(parts, "array")) return value;
  const itemSchemas = schemasAt(parts, 0);
  return itemSchemas.length > 0 && fits(value, itemSchemas, walk) ? [value] : value;
}

const OBJECT: Parts = [{ type: "object" }];

function readPlainly(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  return /^\s*[[{]/.test(text) ? readContainer(text) : readNumber(text);
}

/** Above this, no number of a double's digits is that long. */
const MAX_NUMBER_LENGTH = 350;

/** A JSON number that a double represents without losing a digit; otherwise, and for `-0`, `undefined`. */
function readNumber(text: string): number | undefined {
  if (text.length > MAX_NUMBER_LENGTH || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const number = Number(text);
  const isOther = Object.is(number, -0) || isHuge(number) || digitsOf(text) !== digitsOf(String(number));
  return isOther ? undefined : number;
}

function digitsOf(number: string): string {
  return number.replace(/e.*|\D/gi, "").replace(/^0+|0+$/g, "");
}

/** JSON inside a string has not passed any limit yet. */
const MAX_CONTAINER_DEPTH = 128;

function readContainer(given: string): unknown {
  if (exceedsDepth(given, MAX_CONTAINER_DEPTH)) return undefined;
  return readExactly(given) ?? readExactly(withEscapes(given));
}

function readExactly(text: string): unknown {
  const value = jsonIn(text);
  return value !== undefined && changedLiteral(text) === undefined ? value : undefined;
}

/** In JSON that was encoded twice, line breaks are often escaped once: https://github.com/earendil-works/pi/issues/8521 */
function withEscapes(json: string): string {
  let isIn = false; // in a string
  return json.replaceAll(/\\[^]|["\n\r\t]/g, (found) => {
    if (found === '"') isIn = !isIn;
    return isIn && found < " " ? JSON.stringify(found).slice(1, -1) : found;
  });
}
