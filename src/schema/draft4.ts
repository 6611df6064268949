import { changeAll } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/**
 * A draft-04 schema in the form of all later drafts, which providers read: `id` becomes `$id`, and
 * `exclusiveMinimum: true` next to `minimum: 5` becomes `exclusiveMinimum: 5`.
 * https://json-schema.org/draft-06/json-schema-release-notes
 */
export function fromDraft4(schema: JsonSchema): JsonSchema {
  return changeAll(schema, ({ id, ...node }) => {
    const named = id === undefined ? node : { ...node, [typeof id === "string" ? "$id" : "id"]: id };
    return withBound(withBound(named, "minimum", "exclusiveMinimum"), "maximum", "exclusiveMaximum");
  });
}

function withBound(node: JsonSchema, bound: string, exclusive: string): JsonSchema {
  const { [bound]: limit, [exclusive]: isExclusive, ...rest } = node;
  if (typeof isExclusive !== "boolean") return node;
  return limit === undefined ? rest : { ...rest, [isExclusive ? exclusive : bound]: limit };
}
