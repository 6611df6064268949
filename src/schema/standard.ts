import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { messageOf, ToolError, type Issue } from "../errors.ts";
import { isPromise } from "../promise.ts";
import { frozenJson, isObject, isObjectLike } from "./json.ts";
import { changeAll } from "./subschemas.ts";
import { rejected, type JsonSchema, type Schema, type Validation } from "./types.ts";

/** True for a schema of a Standard Schema library. https://standardschema.dev */
export function isStandardSchema(source: unknown): source is StandardSchemaV1 {
  if (!isObjectLike(source)) return false;
  const standard = (source as Partial<StandardSchemaV1>)["~standard"];
  return isObject(standard) && typeof standard.validate === "function";
}

/**
 * A Standard Schema with the JSON Schema that its own library makes of it (Standard JSON Schema). Validation stays with
 * the library: it knows defaults, transforms and refinements.
 *
 * @throws ToolError `invalid_tool` when the library makes none, or the schema contains what JSON cannot express.
 */
export function standardSchema(source: StandardSchemaV1): Schema {
  return withJsonSchema(source, exportJsonSchema(source));
}

/** A Standard Schema with a JSON Schema from elsewhere. */
export function withJsonSchema(source: StandardSchemaV1, exported: Readonly<Record<string, unknown>>): Schema {
  const { $schema: _dialect, ...rest } = frozenJson(exported) as Record<string, unknown>;
  const jsonSchema: JsonSchema = Object.freeze(rest);
  return Object.freeze({ jsonSchema, validate: (value: unknown) => validate(source, value) });
}

function validate(source: StandardSchemaV1, value: unknown): Validation {
  try {
    const result = run(source, value);
    if (isPromise(result)) {
      result.then(undefined, () => {}); // nothing else handles its rejection
      return rejected(ASYNCHRONOUS);
    }
    if (result.issues === undefined) return { ok: true, value: result.value };
    return { ok: false, issues: Array.from(result.issues, readIssue) };
  } catch (error) {
    const message = messageOf(error);
    return rejected(ZOD_IS_ASYNCHRONOUS.test(message) ? ASYNCHRONOUS : `the check itself failed: ${message}`);
  }
}

const ASYNCHRONOUS =
  "this schema answers with a promise: asynchronous checks, and ones that throw, belong in the handler";

/**
 * "Encountered Promise during synchronous parse. Use .parseAsync() instead.", and zod 3's message. zod drops the
 * promise itself: if it rejects, only the process notices, as after any other `safeParse()`.
 */
const ZOD_IS_ASYNCHRONOUS = /\bUse \.parseAsync\b/;

/**
 * Uses `safeParse()` if the schema is zod's: when a check throws, the standard `validate` runs all of them again and
 * returns a promise, as if a check were asynchronous.
 * https://github.com/colinhacks/zod/blob/main/packages/zod/src/v4/core/schemas.ts
 */
function run(source: StandardSchemaV1, value: unknown): ReturnType<StandardSchemaV1["~standard"]["validate"]> {
  const { safeParse } = source as Partial<SafeParsing>;
  if (source["~standard"].vendor !== "zod" || safeParse === undefined) return source["~standard"].validate(value);
  const parse = (params?: ParseParams) => {
    const { success, data, error } = safeParse.call(source, value, params);
    return success ? { value: data } : { issues: error!.issues };
  };
  try {
    return parse();
  } catch (error) {
    // What zod compiles for an object takes an asynchronous transform's promise for a result: `undefined.length`.
    if (!(error instanceof TypeError && /\blength\b/.test(error.message))) throw error;
    return parse({ jitless: true });
  }
}

interface SafeParsing {
  safeParse(
    value: unknown,
    params?: ParseParams,
  ): { success: boolean; data?: unknown; error?: StandardSchemaV1.FailureResult };
}

interface ParseParams {
  readonly jitless: boolean;
}

function readIssue({ message, path = [] }: StandardSchemaV1.Issue): Issue {
  return {
    message,
    path: Array.from(path, (segment) => {
      const key = typeof segment === "object" ? segment.key : segment;
      return typeof key === "symbol" ? String(key) : key;
    }),
  };
}

function exportJsonSchema(source: StandardSchemaV1): Record<string, unknown> {
  const { vendor } = source["~standard"];
  const { jsonSchema } = source["~standard"] as Partial<StandardJSONSchemaV1.Props>;
  if (typeof jsonSchema?.input !== "function") throw noJsonSchema(vendor, source);
  try {
    const target = "draft-2020-12";
    const { version } = (source as Partial<ZodSchema>)._zod ?? {};
    const options = { ...libraryOptions[vendor], ...((version?.minor ?? 0) > 4 && { unrepresentable: coercedDate }) };
    const exported = jsonSchema.input({ target, libraryOptions: options });
    return vendor === "effect" ? changeAll(exported, withoutOpen) : exported;
  } catch (cause) {
    throw notAllSaid(vendor, messageOf(cause), { cause });
  }
}

/** effect exports every struct as open, and then drops what it does not know: a strict mode loses nothing by closing it. */
function withoutOpen({ additionalProperties: others = true, ...node }: JsonSchema): JsonSchema {
  return others === true ? node : { ...node, additionalProperties: others };
}

/** The error for a schema that contains what JSON cannot express. */
export function notAllSaid(vendor: string, reason: string, options?: { cause: unknown }): ToolError {
  return new ToolError(
    "invalid_tool",
    `JSON Schema cannot express all of this ${vendor} schema: ${reason.replace(/\.?$/, ".")} ` +
      "Describe what the model writes (a date is a string in JSON) and convert it in the schema's own transform or in the handler.",
    options,
  );
}

export function noJsonSchema(vendor: string, source: object): ToolError {
  return new ToolError(
    "invalid_tool",
    `this ${vendor} schema cannot be exported as JSON Schema. ${nextStep(vendor, source)}`,
  );
}

/** What to do about a schema without a JSON Schema, by library. */
function nextStep(vendor: string, source: object): string {
  switch (vendor) {
    case "valibot":
      return "Give toStandardJsonSchema(schema) of @valibot/to-json-schema instead of the schema.";
    case "effect":
      return "Give Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(Schema.toCodecJson(schema))) instead of the schema (of effect 4).";
    case "zod":
      return "_zod" in source
        ? 'Update zod to 4.2 or later. For zod/mini, from 4.3 on, give z.toJSONSchema(schema, { io: "input" }) (it keeps zod\'s own validation).'
        : 'It is a zod 3 schema: give zod3(schema) from "toolstream/zod3" instead of the schema, or move to zod 4.';
    default:
      return "Give a schema that implements Standard JSON Schema (https://standardschema.dev/json-schema), or a plain JSON Schema.";
  }
}

/**
 * Makes a library reject a type without a JSON value that it would export as one that a model can write, but that never
 * validates. Conversions and refinements lose nothing that matters: they are checked afterwards. A pattern with flags
 * is left out, since without them it would fit less: the model is held to `^[a-z]+$` where `/^[a-z]+$/i` was meant.
 *
 * - arktype exports `{}` for a Date, a Map, a bigint. https://arktype.io/docs/configuration#fallback
 * - valibot refuses `v.trim()`, `v.check()`, two patterns. https://github.com/open-circle/valibot (to-json-schema)
 * - zod exports a string for a file, and no flags. https://zod.dev/json-schema#file-schemas
 */
const libraryOptions: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  arktype: { fallback: { date: foreign, domain: foreign, proto: foreign, symbolKey: foreign, unit: foreign } },
  valibot: {
    overrideAction({ errors, valibotAction: { requirement }, jsonSchema: { pattern, ...rest } }: ValibotAction) {
      return errors && { ...rest, ...(pattern !== undefined && !hasFlags(requirement) && { pattern }) };
    },
  },
  zod: {
    override({ zodSchema: { _zod }, jsonSchema }: ZodOverride): void {
      const { type, pattern, checks = [] } = _zod.def;
      if (type === "file") foreign({ code: type });
      if (![pattern, ...checks.map((check) => check._zod.def.pattern)].some(hasFlags)) return;
      delete jsonSchema["pattern"];
      delete jsonSchema["allOf"]; // of several patterns
    },
  },
};

/**
 * `z.coerce.date()` takes the string that the model writes, and zod refuses to export it
 * (https://github.com/colinhacks/zod/issues/4508). Not for zod before 4.5, which does not ask, and exports anything at all.
 */
function coercedDate({ zodSchema: { _zod } }: Pick<ZodOverride, "zodSchema">): JsonSchema | undefined {
  const { type, coerce } = _zod.def;
  return type === "date" && coerce === true ? { type: "string", format: "date-time" } : undefined;
}

function foreign({ code }: { readonly code: string }): never {
  throw new Error(`it holds a type that JSON has no value for (${code}).`);
}

interface ValibotAction {
  readonly errors?: readonly string[] | undefined;
  readonly valibotAction: { readonly requirement?: unknown };
  readonly jsonSchema: Record<string, unknown>;
}

interface ZodSchema {
  readonly _zod: { readonly def: ZodDef; readonly version: { readonly minor: number } };
}

interface ZodOverride {
  readonly zodSchema: ZodSchema;
  readonly jsonSchema: Record<string, unknown>;
}

interface ZodDef {
  readonly type?: string;
  readonly coerce?: boolean;
  readonly pattern?: unknown;
  readonly checks?: readonly { readonly _zod: { readonly def: ZodDef } }[];
}

/** Flags that make a pattern fit other texts than it does without them. */
function hasFlags(pattern: unknown): boolean {
  return pattern instanceof RegExp && /[ims]/.test(pattern.flags);
}
