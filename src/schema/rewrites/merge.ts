import { getOwn, isRecord, sameValue } from "../json.ts";
import type { RewriteContext } from "../lower.ts";
import { ANNOTATIONS, binding, holdingOf } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { isWithin, oneOrAll, propertiesOf } from "../fields.ts";

/** Called for each keyword that the result expresses less exactly than the two schemas did. */
export type Conflict = (keyword: string) => void;

/** Reports a conflict as a loss: `pattern beside #/$defs/Name and in what it points to have no common form.` */
export function lossOf(lose: RewriteContext["lose"], beside: string, at?: JsonSchema): Conflict {
  return (keyword) => lose(`${keyword} beside ${beside} have no common form.`, { at });
}

/**
 * One schema for what fits both. If two keywords have no common form, the first one stays and `conflict` is called.
 * Annotations come from the first, if both have them.
 */
export function mergeSchemas(first: JsonSchema, second: JsonSchema, conflict: Conflict): JsonSchema {
  // The key order of the first, then what the second adds; the values of the first.
  const merged: Record<string, unknown> = { ...first, ...second, ...first };
  for (const keyword of Object.keys(first)) {
    if (!Object.hasOwn(second, keyword) || MERGED_APART.has(keyword)) continue;
    const [one, other] = [first[keyword], second[keyword]];
    if (sameValue(one, other)) continue;
    const both = mergeKeyword(keyword, one, other, conflict);
    if (both === undefined) conflict(keyword);
    else merged[keyword] = both;
  }
  // `items` covers only what a `prefixItems` next to it does not.
  const [bare, ...others] = [first, second].filter((side) => !Object.hasOwn(side, "prefixItems"));
  if (bare !== undefined && others.length === 0 && Object.hasOwn(bare, "items")) conflict("prefixItems");
  GROUPS.forEach(mergeGroup);
  for (const keyword of UNEVALUATED) if (Object.hasOwn(second, keyword) && says(first)) conflict(keyword);
  mergeProperties();
  return merged;

  /** A whole group comes from one side: an `else` would otherwise belong to the `if` of the other. */
  function mergeGroup(group: readonly [string, ...string[]]): void {
    const [one, other] = [first, second].filter((side) => Object.hasOwn(side, group[0]));
    if (one !== undefined && other !== undefined && !group.every((keyword) => sameValue(one[keyword], other[keyword])))
      conflict(group[0]);
    for (const keyword of group) {
      if (one !== undefined && Object.hasOwn(one, keyword)) merged[keyword] = one[keyword];
      else delete merged[keyword];
    }
  }

  /** A property follows both sides; a side that does not name it contributes its `additionalProperties`. */
  function mergeProperties(): void {
    const [ours, theirs] = [propertiesOf(first), propertiesOf(second)];
    const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    const entries = Array.from(names, (name) => {
      const one = getOwn(ours, name) ?? otherProperty(first);
      const other = getOwn(theirs, name) ?? otherProperty(second);
      if (one !== undefined && other !== undefined) return [name, mergeEither(one, other, conflict)];
      // Closed on one side, named on the other: read strictly nothing fits; both was meant.
      conflict("additionalProperties");
      return [name, one ?? other];
    });
    if (entries.length > 0) merged["properties"] = Object.fromEntries(entries);
    if (movesOthers(first, second) || movesOthers(second, first)) conflict("patternProperties");
    const [one, other] = [first["additionalProperties"], second["additionalProperties"]];
    if (one !== undefined && other !== undefined) merged["additionalProperties"] = mergeEither(one, other, conflict);
  }
}

/** The second's are about its own keywords only; the first's see those of the second, too. */
const UNEVALUATED = ["unevaluatedProperties", "unevaluatedItems"];

/** Whether a schema has any constraint other than a type. */
function says(node: JsonSchema): boolean {
  return binding(node).some((keyword) => keyword !== "type");
}

/** The first of each works alone; the others only next to it. */
const GROUPS = [
  ["if", "then", "else"],
  ["contains", "minContains", "maxContains"],
] as const;

/** Not merged one by one: annotations come from one side, and the others depend on each other. */
const MERGED_APART: ReadonlySet<string> = new Set([
  ...ANNOTATIONS,
  ...GROUPS.flat(),
  "properties",
  "additionalProperties",
]);

function mergeKeyword(keyword: string, one: unknown, other: unknown, conflict: Conflict): unknown {
  if (holdingOf(keyword) === "number" && typeof one === "number" && typeof other === "number") {
    if (keyword === "multipleOf") return one % other === 0 ? one : other % one === 0 ? other : undefined;
    return /min/i.test(keyword) ? Math.max(one, other) : Math.min(one, other);
  }
  switch (keyword) {
    case "type":
      return mergeTypes(one, other);
    case "enum": {
      if (!Array.isArray(one) || !Array.isArray(other)) return undefined;
      const common = one.filter((value) => other.some((same) => sameValue(value, same)));
      return common.length === 0 ? undefined : common;
    }
    case "required":
      return Array.isArray(one) && Array.isArray(other) ? [...new Set([...one, ...other])] : undefined;
    case "uniqueItems":
      return true; // the two differ, so one is true
    case "items":
    case "propertyNames":
      return mergeEither(one, other, conflict);
    default:
      return undefined;
  }
}

/** Whether the rule for other properties would cover different ones than before, next to one side's patterns. */
function movesOthers(one: JsonSchema, other: JsonSchema): boolean {
  if (one["patternProperties"] === undefined || sameValue(one["patternProperties"], other["patternProperties"]))
    return false;
  const isNamedOnlyThere = (name: string) => !Object.hasOwn(propertiesOf(one), name);
  return bindsOthers(other) || (bindsOthers(one) && Object.keys(propertiesOf(other)).some(isNamedOnlyThere));
}

function bindsOthers({ additionalProperties: other }: JsonSchema): boolean {
  return other !== undefined && other !== true;
}

/** A side's schema for a property that it does not name; `undefined` if it forbids it. */
function otherProperty(node: JsonSchema): JsonSchema | boolean | undefined {
  const other = node["additionalProperties"];
  if (other === false) return undefined;
  return isRecord(other) ? other : true;
}

function mergeEither(one: unknown, other: unknown, conflict: Conflict): unknown {
  if (one === true) return other;
  if (other === true) return one;
  if (one === false || other === false) return false;
  return isRecord(one) && isRecord(other) ? mergeSchemas(one, other, conflict) : undefined;
}

function mergeTypes(one: unknown, other: unknown): unknown {
  const common = commonTypes([one].flat(), [other].flat());
  return common.length === 0 ? undefined : oneOrAll(common);
}

/** The types in both lists. An integer is also a number. */
export function commonTypes(types: readonly unknown[], others: readonly unknown[]): unknown[] {
  const isIn = (list: readonly unknown[], type: unknown) => list.some((one) => isWithin(type, one));
  return [...new Set([...types, ...others])].filter((type) => isIn(types, type) && isIn(others, type));
}
