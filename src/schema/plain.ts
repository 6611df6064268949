import { dereference, validate, type Schema as CheckedSchema, type SchemaDraft } from "@cfworker/json-schema";
import { isToolError, messageOf, ToolError, type Issue } from "../errors.ts";
import { withDiscriminators } from "./discriminators.ts";
import { fromDraft4 } from "./draft4.ts";
import { copyJson, frozenJson } from "./json.ts";
import { withNullAlternatives } from "./nullable-unions.ts";
import { inPlainForm } from "./plain-form.ts";
import { readIssues } from "./plain-issues.ts";
import { equalItems, LONG_LIST, MARK, markedLists } from "./plain-lists.ts";
import { checkKeywords, checkReferences, placesIn, prepare } from "./plain-prepare.ts";
import { guardUnions, limitWork } from "./plain-unions.ts";
import { rejected, type JsonSchema, type Schema, type Validation } from "./types.ts";
import { TooMuchWork } from "./work.ts";

/**
 * A plain JSON Schema, checked when it is defined, so that a mistake in it shows before any model calls. The validator
 * interprets the schema and generates no code: edge runtimes forbid `eval`. Nothing is ever fetched: a `$ref` that
 * points outside the schema is rejected.
 *
 * @throws ToolError `invalid_tool`
 */
export function plainSchema(source: JsonSchema): Schema {
  try {
    return checkedSchema(source);
  } catch (cause) {
    if (isToolError(cause)) throw cause;
    // A cycle, an absurd depth, or a chain of a thousand references. Else it is not JSON, or two parts have one `$id`.
    const reason =
      cause instanceof RangeError ? "it contains itself or is nested too deeply; use $ref." : messageOf(cause);
    throw new ToolError("invalid_tool", `the JSON Schema cannot be read: ${reason}`, { cause });
  }
}

function checkedSchema(source: JsonSchema): Schema {
  const { $schema: dialect = "", ...rest } = frozenJson(source) as Record<string, unknown>;
  const isDraft4 = String(dialect).includes("draft-04");
  const later = isDraft4 ? fromDraft4(rest) : rest;
  const stated = frozenJson(withNullAlternatives(withDiscriminators(later))) as JsonSchema;
  checkKeywords(stated);
  const draft = draftOf(String(dialect));
  const prepared = prepare(stated, placesIn(stated)) as CheckedSchema;
  let longLists = 0;
  let onLongList: CheckedSchema | boolean = MARK;
  const known = Object.defineProperty(dereference(prepared), LONG_LIST, { get: () => (longLists++, onLongList) });
  checkReferences(prepared, known);
  guardUnions(prepared, known, draft);
  const plain = inPlainForm(stated);
  const jsonSchema = plain === stated ? stated : (frozenJson(plain) as JsonSchema);

  return Object.freeze({
    jsonSchema,
    validate(value: unknown): Validation {
      try {
        return run(value, false);
      } catch (error) {
        return runOnCopy(value, error instanceof RangeError);
      }
    },
  });

  function run(value: unknown, onlyFirst: boolean): Validation {
    longLists = 0;
    onLongList = MARK;
    const findErrors = () => validate(value, prepared, draft, limitWork(known, value), onlyFirst).errors;
    let errors = findErrors();
    let issues: Issue[] = [];
    if (longLists > 0 && !onlyFirst) {
      const lists = markedLists(errors);
      // Under `not`, and next to an alternative that fits, a mark is not an error: there the validator has to compare.
      const areAllMarked = lists.length === longLists;
      if (areAllMarked) issues = [...new Set(lists)].flatMap((list) => equalItems(list, value));
      onLongList = areAllMarked || { uniqueItems: true };
      errors = findErrors();
    }
    if (longLists > 0 && onlyFirst && errors.length === 0) throw new TooMuchWork();
    issues.push(...readIssues(errors, value, prepared, known));
    return errors.length + issues.length === 0 ? { ok: true, value } : { ok: false, issues };
  }

  /** The validator throws for what is not JSON, for what is too deep, and for more errors than a call can spread. */
  function runOnCopy(value: unknown, onlyFirst: boolean): Validation {
    try {
      // A hand-made value: absent and undefined are the same in JSON.
      return run(copyJson(value), onlyFirst);
    } catch (error) {
      return rejected(unchecked(error));
    }
  }
}

function unchecked(error: unknown): string {
  if (error instanceof TooMuchWork) return "takes too long to be checked: its alternatives are nested too deeply";
  if (error instanceof RangeError) return "is nested too deeply to be checked";
  if (error instanceof URIError) return "a property name holds half a character (a lone surrogate)";
  const message = messageOf(error);
  const [, type] = /^Instances of "(.+)" type/.exec(message) ?? []; // as of a structure that a server left out
  return type === undefined ? `cannot be checked: ${message}` : `must be a JSON value, got ${type}`;
}

/** 2020-12 if the schema names no dialect, or a newer or unknown one. */
function draftOf(dialect: string): SchemaDraft {
  if (/draft-0[467]/.test(dialect)) return "7";
  return dialect.includes("2019-09") ? "2019-09" : "2020-12";
}
