// See index.ts.
/** @ts-ignore */
import type { Cohere } from "cohere-ai";
import type { ToolsOptions } from "../../src/adapter.ts";
import { isSent } from "../../src/model.ts";
import { checkedChoice, requiresCall, type ToolChoice } from "../../src/tool/choice.ts";
import type { Rewrite } from "../../src/schema/lower.ts";
import { walkSchema } from "../../src/schema/subschemas.ts";
import {
  dropAnnotations,
  dropKeywords,
  ensureObjectRoot,
  flattenRootUnion,
  foldAllOf,
  isPortable,
  keepFormats,
  keepKeywords,
  keepLocalRefs,
  keepPatterns,
  listedNamesToProperties,
  nullableToType,
  oneOfToAnyOf,
  refsAlone,
  requireDeclared,
  spreadUnions,
  tuplesToArrays,
  typeArrayToAnyOf,
  withoutBooleanSchemas,
} from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { lowerTools, type LoweredTool } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import { checkSpelling } from "../../src/tool/option-names.ts";
import { namedTools, type ToolSource } from "../../src/tool/tool-set.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { isObject } from "../../src/wire/field.ts";
import { requireOne } from "./rewrites.ts";

/**
 * Cohere's documented rule: letters, digits and `_`, no digit first.
 * https://docs.cohere.com/v1/reference/chat#request.body.tools
 */
export const toolName = safeToolName({ allowed: /[a-zA-Z0-9_]/, allowedFirst: /[a-zA-Z_]/, maxLength: 128 });

/** Without `strict_tools` the model merely reads the schema, and the API rejects nothing in it. */
export const plain: readonly Rewrite[] = [dropAnnotations(["$schema", "$comment"]), keepLocalRefs, ensureObjectRoot];

/** https://docs.cohere.com/v2/docs/structured-outputs, "Parameter types support" and "Unsupported schema features" (2026-11). */
export const strict: readonly Rewrite[] = [
  keepLocalRefs,
  nullableToType,
  listedNamesToProperties,
  foldAllOf,
  refsAlone,
  oneOfToAnyOf,
  spreadUnions,
  foldAllOf,
  flattenRootUnion,
  // One of two merged properties may have been a reference.
  refsAlone,
  withoutBooleanSchemas,
  tuplesToArrays,
  ensureObjectRoot,
  typeArrayToAnyOf,
  // First, so that they are described as they were given.
  dropKeywords(["not", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas"]),
  // "^", "$", "(?=" and "(?!" are not supported, so most patterns can only be described, and those of names never.
  keepPatterns(
    (pattern) => isPortable(pattern) && !/[$^]/.test(pattern),
    () => false,
  ),
  keepKeywords([
    "type enum const anyOf $ref $defs title description default format pattern",
    "properties required additionalProperties items",
  ]),
  keepFormats(["date-time", "uuid", "date", "time"]),
  requireDeclared,
  requireOne,
];

/**
 * The tools in the form the request takes. Strict mode is one switch of the request, `strictTools: true`, for all of
 * them. So with `strict: "auto"` either all tools are strict or none is, as when they have more than 200 fields in all.
 * {@link request} sets the switch too.
 */
export const tools = (source: ToolSource, options?: ToolsOptions): Cohere.ToolV2[] => {
  return lower(source, options).tools;
};

/** The result of {@link request}: the request's fields about tools. */
export interface CohereRequestFields {
  /** Left out if there are none. */
  tools?: Cohere.ToolV2[];
  strictTools?: true;
  toolChoice?: "REQUIRED" | "NONE";
}

/**
 * All fields of a request that are about tools, to be spread into it. Cohere cannot restrict the choice to certain
 * tools, so those that `choice` leaves out are left out of the list.
 *
 * @throws TypeError when `choice` names a tool that does not exist
 */
export const request = (
  source: ToolSource,
  options: ToolsOptions & { readonly choice?: ToolChoice | undefined } = {},
): CohereRequestFields => {
  checkSpelling("cohere.request()", options, REQUEST);
  const { choice = "auto", ...rest } = options;
  const asked = toolChoice(choice);
  const lowered = lower(chosen(source, choice), rest);
  return {
    ...(lowered.tools.length > 0 && { tools: lowered.tools }),
    ...(lowered.strict && { strictTools: true as const }),
    ...(isSent(choice, lowered.tools) && asked),
  };
};

const REQUEST = { choice: true } as const;

/** A type, not an interface, so that it is assignable to a record of unknown fields. */
type ToolChoiceFields = { toolChoice?: "REQUIRED" | "NONE" };

/**
 * `{}` for `auto`, else `toolChoice`. This wire cannot name one tool, or some: this only says whether the model must
 * call one, and {@link request} filters the list. Parallel calls cannot be turned off.
 *
 * @throws TypeError when the choice is not valid, or requires one of no tools
 */
export const toolChoice = (
  wanted: ToolChoice,
  options?: { readonly parallel?: boolean | undefined },
): ToolChoiceFields => {
  const choice = checkedChoice(wanted, options);
  if (choice === "none") return { toolChoice: "NONE" };
  return requiresCall(choice) ? { toolChoice: "REQUIRED" } : {};
};

function chosen(source: ToolSource, choice: ToolChoice): ToolSource {
  if (!isObject(choice)) return source;
  return namedTools(source, "name" in choice ? [choice.name] : choice.names);
}

function lower(source: ToolSource, options: ToolsOptions = {}): { tools: Cohere.ToolV2[]; strict: boolean } {
  const dialect = { adapter: "cohere", toolName, plain, strict };
  let isStrict = options.strict ?? false;
  if (isStrict === "auto") {
    const lowered = lowerTools(source, {
      ...dialect,
      options: { strict: "auto", onLoss: "ignore" },
      make: (_, made) => made,
    });
    const fields = lowered.reduce((count, made) => count + fieldsIn(made.schema), 0);
    isStrict = lowered.length > 0 && lowered.every((made) => made.strict) && fields <= MAX_STRICT_FIELDS;
  }
  return {
    tools: lowerTools(source, { ...dialect, options: { ...options, strict: isStrict }, make }),
    strict: isStrict,
  };
}

/** For all tools of one request together: https://docs.cohere.com/v2/docs/tool-use-parameter-types */
const MAX_STRICT_FIELDS = 200;

function fieldsIn(schema: JsonSchema): number {
  let count = 0;
  walkSchema(schema, ({ properties }) => {
    if (isObject(properties)) count += Object.keys(properties).length;
  });
  return count;
}

function make({ description }: Tool, { name, schema }: LoweredTool): Cohere.ToolV2 {
  return {
    type: "function",
    function: { name, ...(description !== undefined && { description }), parameters: { ...schema } },
  };
}
