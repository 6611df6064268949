import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ToolError } from "../errors.ts";
import { isObjectLike, isRecord, kindOf } from "./json.ts";
import { once } from "./once.ts";
import { plainSchema } from "./plain.ts";
import { isStandardSchema, noJsonSchema, standardSchema } from "./standard.ts";
import type { JsonSchema, Schema } from "./types.ts";

export type { JsonSchema, Schema, Validation } from "./types.ts";
export { withReasons } from "./union-issues.ts";
export { coerce, dropNulls, mayForceNulls, type Coercion } from "./coerce.ts";

/**
 * What a tool takes as a schema: one from a Standard Schema library (zod 4, valibot, arktype, ...), a plain JSON Schema
 * object, or a {@link Schema} made here or by hand.
 */
export type SchemaSource = StandardSchemaV1<any, any> | Schema<any, any> | JsonSchemaLike;

/** Also an interface type (`JSONSchema7` of `@types/json-schema`), which has no index signature. */
type JsonSchemaLike = JsonSchema | SomeKeywords;

interface SomeKeywords {
  readonly type?: unknown;
  readonly properties?: unknown;
  readonly $ref?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly allOf?: unknown;
}

/** What the model writes for a schema. A plain JSON Schema has no compile-time type: `any`. */
export type InferInput<S> =
  S extends StandardSchemaV1<any, any>
    ? StandardSchemaV1.InferInput<S>
    : S extends Schema<infer Input, any>
      ? Input
      : any;

/** What the handler receives for a schema: defaults filled in, transforms applied. */
export type InferOutput<S> =
  S extends StandardSchemaV1<any, any>
    ? StandardSchemaV1.InferOutput<S>
    : S extends Schema<any, infer Output>
      ? Output
      : any;

const schemaOf = /* @__PURE__ */ once(makeSchema);

/**
 * Brings a schema of any kind into one form. The result is cached per source: asking again costs nothing.
 *
 * @throws ToolError `invalid_tool` when the schema cannot be shown to a model or cannot be checked.
 * @example toSchema(z.object({ city: z.string() })).validate({ city: "Oslo" })
 */
export function toSchema<const S extends SchemaSource>(source: S): Schema<InferInput<S>, InferOutput<S>> {
  return schemaOf(source) as Schema<InferInput<S>, InferOutput<S>>;
}

/**
 * A plain JSON Schema with the type that it describes, which a compiler cannot read from it.
 *
 * @throws ToolError `invalid_tool`
 * @example jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } }, required: ["city"] })
 */
export function jsonSchema<T = any>(schema: JsonSchemaLike): Schema<T> {
  return toSchema(schema) as Schema<T>;
}

function makeSchema(source: object): Schema {
  if (isStandardSchema(source)) return standardSchema(source);
  // The AI SDK's schemas have the same two fields, but return something else.
  const isWrapped = isObjectLike(source) && Symbol.for("vercel.ai.schema") in source;
  if (isSchema(source) && !isWrapped) return source;
  // It implements neither standard by itself, and is a function, not an object.
  if (isObjectLike(source) && "~effect/Schema/Schema" in source) throw noJsonSchema("effect", source);
  if (isRecord(source) && !isWrapped && !isMixed(source)) return plainSchema(source);
  const got = isWrapped
    ? "one that the AI SDK has wrapped; give what zodSchema() or jsonSchema() was given"
    : isRecord(source)
      ? "schemas in a plain object; z.object({ … }) makes one of them"
      : kindOf(source);
  throw new ToolError(
    "invalid_tool",
    `a schema is a Standard Schema (zod, valibot, arktype, ...) or a JSON Schema object, got ${got}.`,
  );
}

/** `{ city: z.string() }`, which other libraries take, would be a JSON Schema of unknown keywords and check nothing. */
function isMixed(source: { properties?: unknown }): boolean {
  return Object.values({ ...source, ...(source.properties as object | undefined) }).some(isStandardSchema);
}

function isSchema(source: unknown): source is Schema {
  return (
    isObjectLike(source) &&
    typeof (source as Partial<Schema>).validate === "function" &&
    isObjectLike((source as Partial<Schema>).jsonSchema)
  );
}
