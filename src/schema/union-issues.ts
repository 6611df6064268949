import type { Issue } from "../errors.ts";
import { conjunction, GiveUp, itemSchemas, propertySchemas, unionsOf, type Walk } from "./fits.ts";
import { isRecord } from "./json.ts";
import { plainSchema } from "./plain.ts";
import type { JsonSchema, Schema } from "./types.ts";

/** As many as a model is told about: see `invalidInput()`. */
const MAX_EXPLAINED = 10;

/** Created when needed: most inputs fit. */
const checks = new WeakMap<JsonSchema, Pick<Schema, "validate">>();

/**
 * For a value that fits no alternative, or a property whose name is wrong, libraries report only that (`Invalid input`,
 * `Invalid key in record`), which a model cannot act on. Such an issue is extended with what the JSON Schema of the same
 * library finds there.
 */
export function withUnionIssues(
  issues: readonly Issue[],
  value: unknown,
  { jsonSchema }: Pick<Schema, "jsonSchema">,
): readonly Issue[] {
  const vague = new Set(issues.slice(0, MAX_EXPLAINED).filter(({ path }) => isVague(jsonSchema, path)));
  if (vague.size === 0) return issues;
  const check = checks.get(jsonSchema) ?? plainOrNothing(jsonSchema);
  checks.set(jsonSchema, check);
  const checked = check.validate(value);
  if (checked.ok) return issues;
  const known = new Set(issues.map(({ message }) => message)); // a plain JSON Schema has already found them
  const found = checked.issues.filter(({ message }) => !known.has(message));
  return issues.flatMap((issue) => {
    if (!vague.has(issue)) return [issue];
    return [issue, ...found.filter(({ path }) => isAtOrBelow(path, issue.path))];
  });
}

/** Some exports cannot be checked here because of their patterns. */
function plainOrNothing(jsonSchema: JsonSchema): Pick<Schema, "validate"> {
  try {
    return plainSchema(jsonSchema);
  } catch {
    return { validate: (value) => ({ ok: true, value }) };
  }
}

type Path = Issue["path"];

function isAtOrBelow(path: Path, above: Path): boolean {
  return above.every((step, index) => String(step) === String(path[index]));
}

/**
 * Whether a schema has alternatives at a path, null not counted, or a rule for the name there other than a type or a list.
 * A path may lead through alternatives.
 */
function isVague(root: JsonSchema, path: Path): boolean {
  const walk: Walk = { root, steps: 10_000 };
  try {
    let parts = withAlternatives([root], walk);
    let limitsName = false;
    for (const step of path) {
      limitsName = parts.some(({ propertyNames: names = {} }) =>
        Object.keys(names as object).some((keyword) => keyword !== "type" && keyword !== "enum"),
      );
      const schemas = typeof step === "number" ? itemSchemas(parts, step) : propertySchemas(parts, step);
      parts = withAlternatives(schemas, walk);
    }
    return limitsName || parts.some((part) => [...unionsOf(part), part["type"]].some(isChoice));
  } catch (error) {
    if (error instanceof GiveUp) return false;
    throw error;
  }
}

function withAlternatives(schemas: readonly unknown[], walk: Walk): Record<string, unknown>[] {
  const all = new Set<Record<string, unknown>>();
  const open = [...schemas];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    for (const part of conjunction(schema, walk)) {
      if (all.has(part)) continue;
      all.add(part);
      open.push(...unionsOf(part).flat());
    }
  }
  return [...all];
}

/** A list of schemas or of types. */
function isChoice(list: unknown): boolean {
  if (!Array.isArray(list)) return false;
  return list.filter((one) => one !== "null" && !(isRecord(one) && one["type"] === "null")).length > 1;
}
