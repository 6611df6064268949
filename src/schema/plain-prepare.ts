import { format as knownFormats, type Schema as CheckedSchema } from "@cfworker/json-schema";
import { ToolError } from "../errors.ts";
import { copyJson, getOwn, isObject, isRecord, setOwn } from "./json.ts";
import { UNIQUE_ITEMS } from "./plain-lists.ts";
import { readPattern } from "./pattern.ts";
import { encodeToken, percentDecoded } from "./pointer.ts";
import { ANNOTATIONS, eachSubschema, holdingOf, holdsSchemas, IN_PLACE } from "./subschemas.ts";

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const MAX_DEPTH = 200;

/**
 * A copy of a schema for the validator, which marks the objects it reads and does not check keywords.
 *
 * @param places the targets of its references, see {@link placesIn}
 * @throws ToolError `invalid_tool` that names the wrong keyword and its JSON pointer.
 */
export function prepare(schema: unknown, places: ReadonlySet<string>, at = "#", depth = 0): CheckedSchema | boolean {
  if (typeof schema === "boolean") return schema;
  must(isRecord(schema), at, "a schema is an object or a boolean", schema);
  if (depth > MAX_DEPTH) refuse(at, `the schema is nested deeper than ${MAX_DEPTH}`);
  const copy: CheckedSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    // What looks like an `$id` or a `$ref` in an example is not one.
    if (ANNOTATIONS.includes(keyword) || keyword === "id") continue;
    setOwn(copy, keyword, prepareKeyword(keyword, value));
  }
  // From OpenAPI 3.0, where many schemas come from. Providers and models understand it, so it has to be enforced.
  const named = copy["nullable"] === true && copy.type !== undefined ? [copy.type].flat() : [];
  if (named.length > 0 && !named.includes("null")) copy.type = [...named, "null"];
  if (copy.uniqueItems) {
    delete copy.uniqueItems;
    copy.allOf = [...(copy.allOf ?? []), UNIQUE_ITEMS];
  }
  return copy;

  function prepareKeyword(keyword: string, value: unknown): unknown {
    const here = `${at}/${encodeToken(keyword)}`;
    const sub = (item: unknown, key?: string | number) =>
      prepare(item, places, key === undefined ? here : `${here}/${encodeToken(String(key))}`, depth + 1);

    switch (holdingOf(keyword)) {
      case "schema":
        return keyword === "items" && Array.isArray(value) ? value.map(sub) : sub(value);
      case "list":
        if (!Array.isArray(value) || value.length === 0) refuse(here, "is a list of schemas");
        return value.map(sub);
      case "record":
        return mapRecord(value, here, "schemas", (item, key) =>
          keyword === "dependencies" && Array.isArray(item) ? names(item, here) : sub(item, key),
        );
      case "number": {
        const only = keyword.startsWith("ex") ? ' (a boolean only under "$schema" draft-04)' : "";
        must(typeof value === "number", here, `is a number${only}`, value);
        return value;
      }
    }
    switch (keyword) {
      case "dependentRequired":
        return mapRecord(value, here, "lists of names", (item) => names(item, here));
      case "type": {
        const types = [value].flat();
        const unknown = types.find((type) => !TYPES.includes(type as string));
        if (unknown !== undefined || types.length === 0) {
          refuse(here, `${JSON.stringify(unknown ?? value)} is not a JSON Schema type; types are: ${TYPES.join(", ")}`);
        }
        return value;
      }
      case "required":
        return names(value, here);
      case "enum":
        if (!Array.isArray(value)) refuse(here, "is a list of values");
        return value;
      case "pattern":
        return pattern(value, here);
      case "format":
        return readFormat(value);
      case "$ref":
      case "$id":
      case "$anchor":
        must(typeof value === "string", here, "is a string", value);
        return value;
      case "$dynamicRef":
        return refuse(here, `${JSON.stringify(value)}: dynamic references are not supported; use $ref`);
      default:
        // The validator marks what it reads: none of it may be frozen.
        return isRecord(value) && keyword !== "const" ? prepareOther(value, here, depth + 1) : copyJson(value);
    }
  }

  /** In a keyword outside JSON Schema, only the targets of a `$ref` are schemas, and nothing else is kept. */
  function prepareOther(value: unknown, here: string, level: number): unknown {
    if (places.has(here)) return prepare(value, places, here, level);
    if (!isRecord(value) || level > MAX_DEPTH) return undefined;
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([key, item]) => [key, prepareOther(item, `${here}/${encodeToken(key)}`, level + 1)]),
    );
  }
}

/** `{ city: { type: "string" } }`, or what libraries wrap around a JSON Schema, would check nothing. */
export function checkKeywords(root: Readonly<Record<string, unknown>>): void {
  const entries = Object.entries(root);
  const [first] = entries;
  const isName = (key: string) => !holdsSchemas(key) && key !== "const" && key !== "dependentRequired";
  if (first && entries.every(([key, value]) => isRecord(value) && isName(key)))
    refuse("#", `${first[0]} is not a keyword; properties belong in { type: "object", properties: { … } }`);
}

/** The pointers of all references: they may point into any keyword (`#/components/schemas/Name`, in OpenAPI). */
export function placesIn(value: unknown, places = new Set<string>()): ReadonlySet<string> {
  if (!isObject(value)) return places;
  for (const child of Object.values(value)) placesIn(child, places);
  const ref = getOwn(value, "$ref");
  if (typeof ref === "string") places.add(percentDecoded(ref.slice(ref.indexOf("#"))));
  return places;
}

/**
 * Checks that every `$ref` leads to a place in the schema, and no chain of them back to itself without going into the
 * value.
 *
 * @throws ToolError `invalid_tool` that names the reference
 */
export function checkReferences(
  root: CheckedSchema | boolean,
  known: Readonly<Record<string, CheckedSchema | boolean>>,
): void {
  const open = new Set<object>(); // unfinished schemas for the same value
  const done = new Set<object>();
  // Those for another value (a property, an item): a chain of references may return through it. It grows meanwhile.
  const apart: (readonly [schema: unknown, via: string])[] = [[root, "#"]];
  for (const [schema, via] of apart) {
    open.clear();
    visit(schema, via);
  }

  function visit(schema: unknown, via: string): void {
    if (!isRecord(schema) || done.has(schema)) return;
    if (open.has(schema)) refuse(via, "the reference leads back to itself: no value could ever be checked");
    open.add(schema);
    const { $ref, $recursiveRef } = schema;
    if (typeof $ref === "string") {
      const target = known[String(schema["__absolute_ref__"])];
      if (target === undefined) {
        refuse($ref, "the $ref points to nothing in this schema, and nothing is fetched: copy its target into $defs");
      }
      visit(target, $ref);
    }
    if (typeof $recursiveRef === "string" && $recursiveRef !== "#") refuse($recursiveRef, 'a $recursiveRef is "#"');
    eachSubschema(schema, (child, _, keyword) => {
      if (IN_PLACE.has(keyword)) visit(child, via);
      else apart.push([child, via]);
    });
    done.add(schema);
  }
}

function mapRecord(value: unknown, at: string, what: string, change: (item: unknown, key: string) => unknown): object {
  if (!isRecord(value)) refuse(at, `is an object of ${what}`);
  const nameOf = (key: string) => (at.endsWith("/patternProperties") ? pattern(key, at) : key);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [nameOf(key), change(item, key)]));
}

function pattern(value: unknown, at: string): string {
  return readPattern(value, (reason) => refuse(at, reason));
}

function names(value: unknown, at: string): unknown {
  const isRight = Array.isArray(value) && value.every((name) => typeof name === "string");
  must(isRight, at, "is a list of property names", value);
  return value;
}

/** Only what the validator really knows; `url` is not a JSON Schema format, and its check takes exponential time. */
function readFormat(value: unknown): string | undefined {
  if (value === "url") return "uri";
  return typeof value === "string" && Object.hasOwn(knownFormats, value) ? value : undefined;
}

function must(isRight: boolean, at: string, what: string, got: unknown): asserts isRight {
  if (!isRight) refuse(at, `${what}, got ${JSON.stringify(got)}`);
}

function refuse(at: string, reason: string): never {
  throw new ToolError("invalid_tool", `JSON Schema: ${at}: ${reason}.`);
}
