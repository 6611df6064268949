import { isRecord, setOwn } from "./json.ts";
import { encodeToken } from "./pointer.ts";
import type { JsonSchema } from "./types.ts";

/** Which keywords hold schemas: one, a list, or a record of them. Everything else is a literal value. */
export const SCHEMA_KEYWORDS: ReadonlyMap<string, Kind> = new Map([
  // `items` is a list in drafts before 2020-12.
  ...each(
    "one",
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties",
  ),
  ...each("list", "allOf anyOf oneOf prefixItems"),
  // `dependencies`, in drafts before 2019-09, holds schemas and lists of names.
  ...each("record", "$defs definitions dependencies dependentSchemas patternProperties properties"),
]);

type Kind = "one" | "list" | "record";

function each(kind: Kind, keywords: string): [string, Kind][] {
  return keywords.split(" ").map((keyword) => [keyword, kind]);
}

/** Keywords that describe, for people and for the model, and constrain nothing. */
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
 * A schema with each of its direct subschemas changed, except for `true` and `false`; the same object if none changed.
 *
 * @param change gets the subschema, its JSON Pointer from `node` (`/properties/city`) and the keyword that holds it
 */
export function mapSubschemas(
  node: JsonSchema,
  change: (child: JsonSchema, pointer: string, keyword: string) => JsonSchema,
): JsonSchema {
  return mapAnySubschemas(node, (child, pointer, keyword) =>
    typeof child === "boolean" ? child : change(child, pointer, keyword),
  );
}

/** The same, including `true` and `false`. */
export function mapAnySubschemas(
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
      // fromEntries, not assignment: a property may be called __proto__.
      outcome = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, child(one, `/${encodeToken(name)}`)]),
      );
    }
    if (isChanged) (changed ??= { ...node })[keyword] = outcome;
  }
  return changed ?? node;
}

/** Calls `visit` for each direct subschema that is not `true` or `false`. */
export function eachSubschema(
  node: JsonSchema,
  visit: (child: JsonSchema, pointer: string, keyword: string) => void,
): void {
  mapSubschemas(node, (child, pointer, keyword) => {
    visit(child, pointer, keyword);
    return child;
  });
}

/** Calls `visit` for a schema and everything inside it, outside first. */
export function walkSchema(node: JsonSchema, visit: (node: JsonSchema, pointer: string) => void, pointer = ""): void {
  visit(node, pointer);
  eachSubschema(node, (child, step) => walkSchema(child, visit, pointer + step));
}

/** Keywords that hold no schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/**
 * A copy of a schema with everything in it changed, the inside first: nonstandard keywords too, since a `$ref` may
 * point into them (`#/components/schemas/Name`, in OpenAPI).
 *
 * @param schema not deeper than the stack
 */
export function changeAll(schema: JsonSchema, change: (node: JsonSchema) => JsonSchema): JsonSchema {
  return visit(schema, false) as JsonSchema;

  function visit(value: unknown, isMap: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => visit(item, false));
    if (!isRecord(value)) return value;
    const copy = {};
    for (const [key, child] of Object.entries(value)) {
      const isData = !isMap && DATA.has(key);
      setOwn(copy, key, isData ? child : visit(child, !isMap && SCHEMA_KEYWORDS.get(key) === "record"));
    }
    return isMap ? copy : change(copy);
  }
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return typeof value === "boolean" || isRecord(value);
}
