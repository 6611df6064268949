import { isObject, isRecord, mapContent } from "./json.ts";
import { encodeToken } from "./pointer.ts";
import type { JsonSchema } from "./types.ts";

/** What a keyword holds: one schema, a list or a record of them, a number, or another value. */
export type Holding = "schema" | "list" | "record" | "number" | "value";

interface Keyword {
  readonly holds: Holding;
  /** Of the values that it is about (`number` for `integer` too); `undefined` if it is about all. */
  readonly type: string | undefined;
}

/** The keywords that hold schemas, and those about values of one type. */
const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  (
    [
      ["schema", undefined, "not if then else"],
      ["schema", "string", "contentSchema"],
      // `items` is a list in drafts before 2020-12.
      ["schema", "array", "items additionalItems unevaluatedItems contains"],
      ["schema", "object", "additionalProperties unevaluatedProperties propertyNames"],
      ["list", undefined, "allOf anyOf oneOf"],
      ["list", "array", "prefixItems"],
      ["record", undefined, "$defs definitions"],
      // `dependencies`, in drafts before 2019-09, holds schemas and lists of names.
      ["record", "object", "properties patternProperties dependentSchemas dependencies"],
      ["number", "number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"],
      ["number", "string", "minLength maxLength"],
      ["number", "array", "minItems maxItems minContains maxContains"],
      ["number", "object", "minProperties maxProperties"],
      ["value", "string", "pattern format contentEncoding contentMediaType"],
      ["value", "array", "uniqueItems"],
      ["value", "object", "required dependentRequired"],
    ] as const
  ).flatMap(([holds, type, keywords]) =>
    keywords.split(" ").map((keyword): [string, Keyword] => [keyword, { holds, type }]),
  ),
);

/** `undefined` for keywords that are not listed above. */
export function holdingOf(keyword: string): Holding | undefined {
  return KEYWORDS.get(keyword)?.holds;
}

export function typeOfKeyword(keyword: string): string | undefined {
  return KEYWORDS.get(keyword)?.type;
}

export function holdsSchemas(keyword: string): boolean {
  const holds = holdingOf(keyword);
  return holds === "schema" || holds === "list" || holds === "record";
}

/** Keywords whose schemas are about the value itself, not one inside it. */
export const IN_PLACE: ReadonlySet<string> = new Set(
  "$ref $dynamicRef allOf anyOf oneOf not if then else dependentSchemas dependencies".split(" "),
);

/** Keywords that describe, for people and for the model, and constrain nothing. */
export const ANNOTATIONS: readonly string[] =
  "title description default examples example deprecated readOnly writeOnly $comment".split(" ");

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
  return mapContent(node, (value, keyword) => {
    if (!holdsSchemas(keyword)) return value;
    const child = (given: unknown, step = "") =>
      isSchema(given) ? change(given, `/${keyword}${step}`, keyword) : given;
    if (holdingOf(keyword) === "schema" && !Array.isArray(value)) return child(value);
    return isObject(value) ? mapContent(value, (one, key) => child(one, `/${encodeToken(String(key))}`)) : value;
  });
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

/** The keywords of a node that are no annotations. */
export function binding(node: JsonSchema): string[] {
  return Object.keys(node).filter((keyword) => !ANNOTATIONS.includes(keyword));
}

/** Keywords that hold no schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples"]);

/**
 * A schema with everything in it changed, the inside first: nonstandard keywords too, since a `$ref` may
 * point into them (`#/components/schemas/Name`, in OpenAPI).
 *
 * @param schema not deeper than the stack
 */
export function changeAll(schema: JsonSchema, change: (node: JsonSchema) => JsonSchema): JsonSchema {
  return visit(schema, false) as JsonSchema;

  function visit(value: unknown, isMap: boolean): unknown {
    if (!isObject(value)) return value;
    if (isMap || Array.isArray(value)) return mapContent(value, (child) => visit(child, false));
    return change(
      mapContent(value as JsonSchema, (child, key) =>
        DATA.has(key) ? child : visit(child, holdingOf(key) === "record"),
      ),
    );
  }
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return typeof value === "boolean" || isRecord(value);
}
