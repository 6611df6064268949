import { checkForeignSchema } from "./foreign.ts";
import { plainSchema } from "./plain.ts";
import { findSlowPatterns, stepsOf } from "./slow-patterns.ts";
import { changeAll } from "./subschemas.ts";
import { rejected, type JsonSchema, type Schema } from "./types.ts";

/** A few tenths of a second. */
const MAX_STEPS = 1e8;

/**
 * A JSON Schema from outside (a program's, a server's) that cannot make this process hang: neither by its size, nor by
 * patterns such as `^.*.*.*x$`, which take seconds for a text of 2,000 characters, and hours for ten times that. They
 * are checked on texts that are short enough; a value with longer ones is rejected.
 *
 * @param given shown to the model as it is, without keywords that are `null`
 * @param checksItself the owner of the schema checks every value itself, as servers have to: values with longer texts
 *   then pass if everything else fits
 * @throws ToolError `too_large`, `invalid_tool`
 */
export function foreignSchema(given: JsonSchema, checksItself = false): Schema {
  checkForeignSchema(given);
  const schema = changeAll(given, withoutNulls);
  const whole = plainSchema(schema);
  const { counts, areForNames, rest } = findSlowPatterns(schema);
  if (counts.length === 0) return whole;
  const withoutSlow = plainSchema(rest);
  return Object.freeze({
    jsonSchema: whole.jsonSchema,
    validate(value: unknown) {
      if (stepsOf(value, counts) <= MAX_STEPS) return whole.validate(value);
      if (checksItself && !areForNames) return withoutSlow.validate(value);
      return rejected("has texts that are too long to be checked against the patterns of the schema; shorten them");
    },
  });
}

/** What is empty in Go is `null` in its JSON (`required`, `properties`): https://github.com/opencode-ai/opencode/pull/278 */
function withoutNulls(node: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(node).filter(([keyword, value]) => value !== null || MAY_BE_NULL.includes(keyword)),
  );
}

/** Values, and a `type` that was meant to be `"null"`: it is refused. */
const MAY_BE_NULL = ["const", "default", "example", "type"];
