import type { Issue } from "../errors.ts";
import { isPlainIssue } from "./plain-issues.ts";
import { plainSchema } from "./plain.ts";
import type { JsonSchema, Schema } from "./types.ts";

/** As many as a model is told about: see `invalidInput()`. */
const MAX_EXPLAINED = 10;

/** Created when needed: most inputs fit. */
const checks = new WeakMap<JsonSchema, Pick<Schema, "validate">>();

/**
 * For a value that fits no alternative, or a property whose name is wrong, libraries report only that (`Invalid input`,
 * `Invalid key in record`), which a model cannot act on. Such an issue is extended with what the JSON Schema of the same
 * library finds there.
 */
export function withUnionIssues(
  issues: readonly Issue[],
  value: unknown,
  { jsonSchema }: Pick<Schema, "jsonSchema">,
): readonly Issue[] {
  if (issues.some((issue) => isPlainIssue(issue))) return issues;
  const check = checks.get(jsonSchema) ?? plainOrNothing(jsonSchema);
  checks.set(jsonSchema, check);
  const checked = check.validate(value);
  if (checked.ok) return issues;
  return issues.flatMap((issue, index) => {
    if (index >= MAX_EXPLAINED) return [issue];
    return [issue, ...checked.issues.filter((found) => isPlainIssue(found, issue.path))];
  });
}

/** Some exports cannot be checked here because of their patterns. */
function plainOrNothing(jsonSchema: JsonSchema): Pick<Schema, "validate"> {
  try {
    return plainSchema(jsonSchema);
  } catch {
    return { validate: (value) => ({ ok: true, value }) };
  }
}
