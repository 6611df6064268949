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
    // zod says no more of a union that is missing, and of a template literal.
    const isBare = issue.message === "Invalid input";
    const says = (found: Issue) => isPlainIssue(found, issue.path) || (isBare && isAtOrBelow(found.path, issue.path));
    return [issue, ...checked.issues.filter(says)];
  });
}

function isAtOrBelow(path: Issue["path"], above: Issue["path"]): boolean {
  return above.every((step, index) => String(step) === String(path[index]));
}

/** Some exports cannot be checked here because of their patterns. */
function plainOrNothing(jsonSchema: JsonSchema): Pick<Schema, "validate"> {
  try {
    return plainSchema(jsonSchema);
  } catch {
    return { validate: (value) => ({ ok: true, value }) };
  }
}
