import { changeAll } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * `nullable: true` of OpenAPI 3.0 beside a reference or a union becomes one more alternative. OpenAPI 3.0.3 gives it a
 * meaning beside a `type` only, but what writes it elsewhere (zod, zod-to-json-schema, NestJS, Swashbuckle, Django) means
 * it. https://github.com/tfranzel/drf-spectacular/issues/925
 */
export function withNullAlternatives(schema: JsonSchema): JsonSchema {
  return changeAll(schema, (node) => {
    const { nullable, type, $ref, allOf, anyOf, oneOf, ...rest } = node;
    const parts = Object.entries({ $ref, allOf, anyOf, oneOf }).filter(([, part]) => part !== undefined);
    if (nullable !== true || type !== undefined || parts.length === 0) return node;
    const isUnion = parts.length === 1 && Array.isArray(anyOf);
    return { ...rest, anyOf: [...(isUnion ? anyOf : [Object.fromEntries(parts)]), { type: "null" }] };
  });
}
