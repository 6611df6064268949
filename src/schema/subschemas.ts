import { isRecord } from "./json.ts";
import { encodeToken } from "./pointer.ts";
import type { JsonSchema } from "./types.ts";

/** Which keywords hold schemas: one, a list of them, or a record of them. Everything else is a literal value. */
export const SCHEMA_KEYWORDS: ReadonlyMap<string, "one" | "list" | "record"> = new Map([
  ["additionalItems", "one"],
  ["additionalProperties", "one"],
  ["contains", "one"],
  ["contentSchema", "one"],
  ["else", "one"],
  ["if", "one"],
  // A list in drafts before 2020-12.
  ["items", "one"],
  ["not", "one"],
  ["propertyNames", "one"],
  ["then", "one"],
  ["unevaluatedItems", "one"],
  ["unevaluatedProperties", "one"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["oneOf", "list"],
  ["prefixItems", "list"],
  ["$defs", "record"],
  ["definitions", "record"],
  // Drafts before 2019-09: a record of schemas and of lists of names.
  ["dependencies", "record"],
  ["dependentSchemas", "record"],
  ["patternProperties", "record"],
  ["properties", "record"],
]);

/** Keywords that describe, for people and for the model, and do not bind. */
export const ANNOTATIONS: readonly string[] = [
  "title",
  "description",
  "default",
  "examples",
  "example",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$comment",
];

/**
 * A schema with each of its direct subschemas changed; the same object when none was.
 *
 * @param change gets the subschema, its JSON Pointer from `node` (`/properties/city`) and the keyword that holds it
 */
export function mapSubschemas(
  node: JsonSchema,
  change: (child: JsonSchema | boolean, pointer: string, keyword: string) => JsonSchema | boolean,
): JsonSchema {
  let changed: Record<string, unknown> | undefined;
  for (const [keyword, value] of Object.entries(node)) {
    const kind = SCHEMA_KEYWORDS.get(keyword);
    if (kind === undefined) continue;
    let isChanged = false;
    const child = (given: unknown, step = ""): unknown => {
      const outcome = isSchema(given) ? change(given, `/${keyword}${step}`, keyword) : given;
      isChanged ||= outcome !== given;
      return outcome;
    };
    let outcome = value;
    if (kind !== "record") {
      outcome = Array.isArray(value)
        ? value.map((one, index) => child(one, `/${index}`))
        : kind === "one" && child(value);
    } else if (isRecord(value)) {
      // fromEntries and not assignment: a property may be called __proto__.
      outcome = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, child(one, `/${encodeToken(name)}`)]),
      );
    }
    if (isChanged) (changed ??= { ...node })[keyword] = outcome;
  }
  return changed ?? node;
}

/** Calls `visit` for a schema and everything inside it, outside first. */
export function walkSchema(node: JsonSchema, visit: (node: JsonSchema, pointer: string) => void, pointer = ""): void {
  visit(node, pointer);
  mapSubschemas(node, (child, step) => {
    if (typeof child !== "boolean") walkSchema(child, visit, pointer + step);
    return child;
  });
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return typeof value === "boolean" || isRecord(value);
}
