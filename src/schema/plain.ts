import { Validator } from "@cfworker/json-schema";
import { checkRoot } from "./root.ts";
import { copyJson } from "./json.ts";
import type { JsonSchema, Schema } from "./types.ts";

export function plainSchema(source: JsonSchema): Schema {
  const { $schema: _dialect, ...rest } = copyJson(source) as Record<string, unknown>;
  const jsonSchema: JsonSchema = Object.freeze(rest);
  checkRoot(jsonSchema);
  let validator: Validator | undefined;
  return Object.freeze({
    jsonSchema,
    validate(value: unknown) {
      validator ??= new Validator(structuredClone(jsonSchema) as never, "2020-12", false);
      const result = validator.validate(value);
      if (result.valid) return { ok: true as const, value };
      return { ok: false as const, issues: result.errors.map((e) => ({ message: e.error, path: [] })) };
    },
  });
}
