// See index.ts.
/** @ts-ignore */
import type { Tool, ToolChoice as WireToolChoice } from "@anthropic-ai/sdk/resources/messages";
import type { ToolsOptions } from "../../src/adapter.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import { atRoot, type Rewrite } from "../../src/schema/lower.ts";
import { walkSchema } from "../../src/schema/subschemas.ts";
import {
  closeObjects,
  dropAnnotations,
  dropKeywords,
  ensureObjectRoot,
  ensureType,
  flattenRootUnion,
  foldAllOf,
  inlineRefs,
  keepFormats,
  keepKeywords,
  keepLocalRefs,
  limitMinItems,
  listedItemsToPrefixItems,
  listedNamesToProperties,
  nullableToType,
  oneOfToAnyOf,
  refsAlone,
  requireDeclared,
  spreadUnions,
  tellingBounds,
  tuplesToArrays,
  typeArrayToAnyOf,
  typedValues,
  withoutBooleanSchemas,
} from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { lowerTools, type Dialect } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import { toolList, type ToolSource } from "../../src/tool/tool-set.ts";
import { isObject } from "../../src/wire/field.ts";
import { describeObjectValues, keepLegalKeys } from "./rewrites.ts";

/**
 * The API answers `tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'` to any other name. (Older
 * pages say 64.)
 */
export const toolName = safeToolName({ allowed: /[a-zA-Z0-9_-]/, maxLength: 128 });

/**
 * JSON Schema draft 2020-12, with a plain object at the root (`input_schema does not support oneOf, allOf, or anyOf at
 * the top level`).
 */
export const plain: readonly Rewrite[] = [
  // First: a reference into a part that is merged or left out would lead nowhere.
  keepLocalRefs,
  nullableToType,
  typedValues,
  dropAnnotations(["$schema"]),
  tellingBounds,
  listedItemsToPrefixItems,
  atRoot(refsAlone),
  atRoot(foldAllOf),
  flattenRootUnion,
  ensureObjectRoot,
  keepLegalKeys,
];

/**
 * The subset that can be compiled into a grammar. A keyword outside it makes the API reject the whole request, so the
 * rest goes into the descriptions, as with the SDK's own `transformJSONSchema()`.
 *
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 */
export const strict: readonly Rewrite[] = [
  // No recursion, and no reference with siblings. First, while `$id` and `$anchor` still say where references lead.
  inlineRefs,
  nullableToType,
  listedNamesToProperties,
  // Before `items: false`, which closes a tuple, becomes something else.
  tuplesToArrays,
  withoutBooleanSchemas,
  // First: next to an anyOf it becomes part of an allOf.
  oneOfToAnyOf,
  foldAllOf,
  // Described as they were given: closing the objects in a condition would change its meaning.
  dropKeywords(["not", "if", "then", "else", "dependentSchemas"]),
  // Before the keywords that may imply the type are dropped, and again after, for what lost all of its keywords.
  ensureType,
  // A list of types next to a list of values fails the request ("Enum value 'low' does not match declared type
  // '['string', 'null']'"), https://github.com/BerriAI/litellm/pull/37882
  typeArrayToAnyOf,
  spreadUnions,
  flattenRootUnion,
  ensureObjectRoot,
  requireDeclared,
  keepLegalKeys,
  closeObjects,
  limitMinItems(1),
  describeObjectValues,
  keepKeywords([
    "type enum const anyOf allOf title description default format",
    "properties required additionalProperties items minItems",
  ]),
  keepFormats(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]),
  ensureType,
];

/**
 * Tools in the form `messages.create()` takes. `strict: "auto"` makes only as many of them strict as fit the limits of
 * one request; `strict: true` leaves it to the API to reject what is too much.
 *
 * @throws ToolError `schema_loss` for a tool whose input is one string: the API knows objects only
 */
export const tools = (source: ToolSource, options: ToolsOptions = {}): Tool[] => {
  const list = toolList(source);
  const params = lowerTools(list, dialect(options));
  if (options.strict !== "auto") return params;
  const budget = { ...STRICT_LIMITS };
  return params.map((param, index) => {
    if (param.strict !== true || spend(budget, param.input_schema)) return param;
    return lowerTools([list[index]!], dialect({ ...options, strict: false }))[0]!;
  });
};

/**
 * This wire cannot name several tools: for `{ names }` offer only those, `tools(those)`; this then says whether one of
 * them must be called. Extended thinking works with `auto` and `none` only.
 */
export const toolChoice = (
  choice: ToolChoice,
  options: { readonly parallel?: boolean | undefined } = {},
): { tool_choice: WireToolChoice } => {
  const tool_choice = choiceOf(checkedChoice(choice, options));
  const { parallel = true } = options;
  const isAlone = !parallel && tool_choice.type !== "none";
  return { tool_choice: { ...tool_choice, ...(isAlone && { disable_parallel_tool_use: true }) } };
};

function choiceOf(choice: ToolChoice): WireToolChoice {
  if (choice === "required") return { type: "any" };
  if (typeof choice === "string") return { type: choice };
  if ("name" in choice) return { type: "tool", name: toolName(choice.name) };
  if (choice.required !== true) return { type: "auto" };
  return choice.names.length === 1 ? { type: "tool", name: toolName(choice.names[0]!) } : { type: "any" };
}

function dialect(options: ToolsOptions): Dialect<Tool> {
  return {
    adapter: "anthropic",
    toolName,
    plain,
    strict,
    options,
    make: ({ description }, lowered) => ({
      name: lowered.name,
      ...(description !== undefined && { description }),
      input_schema: lowered.schema as Tool.InputSchema,
      ...(lowered.strict && { strict: true }),
    }),
  };
}

/**
 * What all strict tools of one request may have together: the API answers 400 to more (`Schemas contains too many
 * optional parameters (87) ... (limit: 24)`, and 16 for `parameters with union types`).
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 */
const STRICT_LIMITS = { tools: 20, optional: 24, unions: 16 };

/** Takes what a schema needs out of the budget; returns `false`, and takes nothing, if too little is left. */
function spend(budget: typeof STRICT_LIMITS, schema: JsonSchema): boolean {
  const need = { tools: 1, optional: 0, unions: 0 };
  walkSchema(schema, ({ properties, required, anyOf, type }) => {
    if (Array.isArray(anyOf) || Array.isArray(type)) need.unions++;
    if (!isObject(properties)) return;
    need.optional += Object.keys(properties).length - (Array.isArray(required) ? required.length : 0);
  });
  if (need.tools > budget.tools || need.optional > budget.optional || need.unions > budget.unions) return false;
  budget.tools -= need.tools;
  budget.optional -= need.optional;
  budget.unions -= need.unions;
  return true;
}
