import type { Issue } from "../errors.ts";
import { getOwn } from "./json.ts";
import { once } from "./once.ts";
import { explaining, isPlainIssue, short } from "./plain-issues.ts";
import { plainSchema } from "./plain.ts";
import type { JsonSchema, Schema, Validation } from "./types.ts";

/** As many as a model is told about: see `invalidInput()`. */
const MAX_EXPLAINED = 10;

const reasoned = new WeakMap<Schema, Schema>();

/**
 * For a value that fits no alternative, a property whose name is wrong, or a check without a message, libraries report
 * only that (`Invalid input`, `Invalid key in record`), which a model cannot act on. Such an issue is extended with what
 * the JSON Schema of the same library finds there, or with what came if it finds nothing.
 *
 * The same object for the same schema, and for what came of it: an executor tells by it whether a call was validated by
 * the definition that runs.
 */
export function withReasons(schema: Schema): Schema {
  const known = reasoned.get(schema);
  if (known !== undefined) return known;
  const { jsonSchema } = schema;
  const made: Schema = Object.freeze({
    jsonSchema,
    validate(value: unknown): Validation {
      const checked = schema.validate(value);
      if (checked.ok) return checked;
      let issues: readonly Issue[] | undefined;
      return {
        ok: false,
        // made when somebody reads them, which nobody does of a value that can be coerced
        get issues() {
          return (issues ??= withUnionIssues(checked.issues, value, jsonSchema));
        },
      };
    },
  });
  reasoned.set(schema, made).set(made, made);
  return made;
}

function withUnionIssues(issues: readonly Issue[], value: unknown, jsonSchema: JsonSchema): readonly Issue[] {
  if (issues.some((issue) => isPlainIssue(issue))) return issues;
  const checked = checkOf(jsonSchema)?.validate(value);
  if (checked === undefined) return issues;
  return issues.flatMap((issue, index) => {
    if (index >= MAX_EXPLAINED) return [issue];
    const { path } = issue;
    // zod says no more of a union that is missing, of a template literal, and of a refinement.
    const isBare = issue.message === "Invalid input";
    const says = (found: Issue) => isPlainIssue(found, path) || (isBare && isAtOrBelow(found.path, path));
    const found = checked.ok ? [] : checked.issues.filter(says);
    if (isBare && found.length === 0) {
      const got = path.reduce<unknown>((inside, step) => getOwn(inside, String(step)), value);
      return [
        issue,
        explaining({ path, message: `a rule that the schema does not state refuses ${short(got)}` }, path),
      ];
    }
    return [issue, ...found];
  });
}

function isAtOrBelow(path: Issue["path"], above: Issue["path"]): boolean {
  return above.every((step, index) => String(step) === String(path[index]));
}

/** Created when needed: most inputs fit. Nothing for an export that cannot be checked here, because of its patterns. */
const checkOf = once((jsonSchema: JsonSchema): Schema | undefined => {
  try {
    return plainSchema(jsonSchema);
  } catch {
    return undefined;
  }
});
