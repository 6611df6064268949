import { ToolError } from "../errors.ts";
import { foreignSchema } from "../schema/foreign-schema.ts";
import { isRecord, kindOf } from "../schema/json.ts";
import { withInputRoot } from "../schema/root.ts";
import type { JsonSchema, Schema } from "../schema/index.ts";
import type { Effect } from "../tool/tool.ts";

/** What a program says about itself with `--schema`. */
export interface Definition {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema | undefined;
  readonly effect: Effect | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const SHAPE = '{"name", "description", "parameters": {"city": {"type": "string", "required": true}}}';
/** More than a person would read before approving. */
const MAX_DESCRIPTION = 32_768;
const EFFECTS: readonly unknown[] = ["read", "idempotent", "write"];

/**
 * ```
 * { "name": "weather", "description": "...", "effect"?: "read",
 *   "parameters": {
 *     "city": { "type": "string", "description": "...", "required": true },
 *     "unit": { "enum": [..], "default": "C" } } }
 * ```
 * or a JSON Schema as `inputSchema` (or as `parameters`, if its `type` is a string).
 *
 * @throws ToolError `invalid_tool`, or `too_large` for a schema that is too costly
 */
export function readDefinition(value: unknown): Definition {
  if (!isRecord(value)) throw invalid(`it has to be an object ${SHAPE}, got ${kindOf(value)}`);
  const { name, description, parameters, inputSchema, outputSchema, effect, metadata = {} } = value;
  // MCP's rule for names (2026-07-28): otherwise different names could look the same (Cyrillic letters, zero-width
  // spaces).
  if (typeof name !== "string" || !/^[\w.-]{1,128}$/.test(name)) {
    throw invalid(`"name" has 1 to 128 letters a-z, digits and _ . -, got ${JSON.stringify(name)?.slice(0, 200)}`);
  }
  if (description !== undefined && typeof description !== "string") {
    throw invalid(`"description" is a text, got ${kindOf(description)}`);
  }
  if ((description?.length ?? 0) > MAX_DESCRIPTION) {
    throw new ToolError("too_large", `"description" has more than ${MAX_DESCRIPTION} characters.`);
  }
  if (effect !== undefined && !EFFECTS.includes(effect)) {
    throw invalid(`"effect" is "read", "idempotent" or "write", got ${JSON.stringify(effect).slice(0, 200)}`);
  }
  return {
    name,
    description,
    inputSchema: readInputSchema(inputSchema, parameters),
    outputSchema: outputSchema === undefined ? undefined : foreignSchema(objectOf('"outputSchema"', outputSchema)),
    effect: effect as Effect | undefined,
    metadata: objectOf('"metadata"', metadata),
  };
}

function readInputSchema(inputSchema: unknown, parameters: unknown): Schema {
  if (inputSchema !== undefined && inputSchema !== null)
    return withInputRoot(foreignSchema(objectOf('"inputSchema"', inputSchema)));
  const given = objectOf('"parameters"', parameters ?? {});
  return typeof given["type"] === "string" ? withInputRoot(foreignSchema(given)) : parametersSchema(given);
}

/** The short form. Parameters with a default are filled in, and so never required; unknown properties are refused. */
function parametersSchema(parameters: Record<string, unknown>): Schema {
  const properties: [string, JsonSchema][] = [];
  const required: string[] = [];
  const defaults: [string, unknown][] = [];
  for (const [name, parameter] of Object.entries(parameters)) {
    const { required: isRequired, ...rest } = objectOf(`the parameter ${JSON.stringify(name)}`, parameter);
    const isList = Array.isArray(isRequired); // JSON Schema's `required` of an object
    if (isRequired !== undefined && typeof isRequired !== "boolean" && !isList) {
      throw invalid(`"required" of the parameter ${JSON.stringify(name)} is true or false, got ${kindOf(isRequired)}`);
    }
    properties.push([name, isList ? { ...rest, required: isRequired } : rest]);
    if (Object.hasOwn(rest, "default")) defaults.push([name, rest["default"]]);
    else if (isRequired === true) required.push(name);
  }
  const object = { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
  if (defaults.length > 0) checkDefaults(foreignSchema(object), defaults);
  const schema = foreignSchema(required.length > 0 ? { ...object, required } : object);
  return withDefaults(schema, defaults);
}

/** Defaults are filled in after an input was validated, so they must be valid themselves. */
function checkDefaults(schema: Schema, defaults: readonly (readonly [string, unknown])[]): void {
  const checked = schema.validate(Object.fromEntries(defaults));
  if (checked.ok) return;
  const [issue] = checked.issues;
  throw invalid(
    `the "default" of the parameter ${JSON.stringify(issue?.path[0])} does not fit its schema: ${issue?.message}`,
  );
}

function withDefaults(schema: Schema, defaults: readonly (readonly [string, unknown])[]): Schema {
  if (defaults.length === 0) return schema;
  return Object.freeze({
    jsonSchema: schema.jsonSchema,
    validate(value: unknown) {
      const checked = schema.validate(value);
      if (!checked.ok || !isRecord(checked.value)) return checked;
      const given = checked.value;
      const missing = defaults.filter(([name]) => given[name] === undefined || !Object.hasOwn(given, name));
      const filled = missing.map(([name, item]) => [name, structuredClone(item)] as const);
      return { ok: true, value: Object.fromEntries([...Object.entries(given), ...filled]) } as const;
    },
  });
}

function objectOf(what: string, value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw invalid(`${what} is an object, got ${kindOf(value)}`);
}

function invalid(reason: string): ToolError {
  return new ToolError("invalid_tool", `${reason}.`);
}
