import { changeAll } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * `nullable: true` of OpenAPI 3.0 beside a reference or a union becomes one more alternative. OpenAPI 3.0.3 gives it a
 * meaning beside a `type` only, but what writes it elsewhere (zod-to-json-schema, NestJS, Swashbuckle, Django) means it.
 * https://github.com/tfranzel/drf-spectacular/issues/925
 *
 * @returns values may be `undefined`: copy it as JSON
 */
export function withNullAlternatives(schema: JsonSchema): JsonSchema {
  return changeAll(schema, (node) => {
    const { nullable, $ref, allOf, anyOf, oneOf, ...rest } = node;
    const other = $ref ?? allOf ?? oneOf;
    if (nullable !== true || rest["type"] !== undefined || (other ?? anyOf) === undefined) return node;
    // The alternatives stay where references point to.
    return { ...rest, anyOf: [other ? { $ref, allOf, anyOf, oneOf } : anyOf, { type: "null" }].flat() };
  });
}
