// See index.ts.
/** @ts-ignore */
import type { FunctionCallingConfigMode, ToolConfig } from "@google/genai";
/** @ts-ignore */
import type { ToolConfig as LegacyToolConfig } from "@google/generative-ai";
import type { Rewrite } from "../../src/schema/lower.ts";
import {
  anythingElse,
  constToEnum,
  describedSchema,
  ensureItems,
  ensureObjectRoot,
  ensureType,
  flattenRootUnion,
  foldAllOf,
  hasParameters,
  integerBounds,
  inlineRefs,
  keepFormats,
  keepKeywords,
  listedNamesToProperties,
  nullableKeyword,
  nullableToType,
  oneOfToAnyOf,
  openObjects,
  requireDeclared,
  stringEnums,
  tellingBounds,
  tuplesToArrays,
  typeArrayToAnyOf,
  withoutBooleanSchemas,
} from "../../src/schema/rewrites.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import { lowerTools } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import { checkSpelling } from "../../src/tool/option-names.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";
import type { ToolsOptions } from "../../src/adapter.ts";
import { anyOfAlone, enumFormat, filledObjects } from "./rewrites.ts";
import type { GoogleFunctionDeclaration, GoogleSchemaTool, GoogleTool } from "./wire.ts";

/** Letters, digits, `_`, `.`, `:` and `-`, the first a letter or `_`; 128 characters. https://ai.google.dev/api/caching#FunctionDeclaration */
export const toolName = safeToolName({ allowed: /[A-Za-z0-9_.:-]/, allowedFirst: /[A-Za-z_]/, maxLength: 128 });

/** `parametersJsonSchema`: JSON Schema. */
const jsonSchemaDialect: readonly Rewrite[] = describedSchema();

/**
 * `parameters`: the `Schema` message, a subset of OpenAPI 3.0, for `@google/generative-ai` and for the `v1` API, which
 * has no `parametersJsonSchema`. A single unknown keyword, anywhere, fails the whole request.
 *
 * https://ai.google.dev/api/caching#Schema (2026-11)
 */
const schemaDialect: readonly Rewrite[] = [
  // First: what it inlines may come from a place that holds no schemas, such as the `components` of OpenAPI.
  inlineRefs,
  nullableToType,
  tuplesToArrays,
  listedNamesToProperties,
  withoutBooleanSchemas,
  constToEnum,
  oneOfToAnyOf,
  foldAllOf,
  flattenRootUnion,
  integerBounds,
  tellingBounds,
  keepKeywords([
    "type nullable enum anyOf title description default example format pattern minimum maximum minLength maxLength",
    "properties required additionalProperties propertyOrdering minProperties maxProperties",
    "items minItems maxItems",
  ]),
  ensureItems,
  anythingElse,
  ensureType,
  nullableKeyword,
  typeArrayToAnyOf,
  // An empty string fails the whole request, too: https://github.com/anomalyco/opencode/pull/46676
  stringEnums,
  enumFormat,
  keepFormats(["enum", "date-time", "float", "double", "int32", "int64"]),
  openObjects,
  requireDeclared,
  anyOfAlone,
  filledObjects,
  ensureObjectRoot,
];

export interface GoogleToolsOptions extends ToolsOptions {
  /**
   * How parameters are expressed.
   *
   * - `"json-schema"` (default): as `parametersJsonSchema`, which loses least. In the API since v1beta of 2025.
   * - `"schema"`: as `parameters`, a subset of OpenAPI 3.0: the form that the types of `@google/generative-ai` know,
   *   and the one for the API's v1 and for the Live API.
   */
  readonly dialect?: "json-schema" | "schema" | undefined;
}

/** Named, since what is said of overloads shows only where they are declared. */
export interface GoogleTools {
  /**
   * The tools as one `Tool` with all declarations; nothing for no tools, since an empty list is rejected.
   * `dialect: "schema"` gives the form of `@google/generative-ai`.
   *
   * @throws ToolError `schema_loss` for a tool whose input is one string: the API knows objects only
   */
  (source: ToolSource, options: GoogleToolsOptions & { readonly dialect: "schema" }): GoogleSchemaTool[];
  (source: ToolSource, options?: GoogleToolsOptions): GoogleTool[];
}

export const tools: GoogleTools = (source, options: GoogleToolsOptions = {}): any[] => {
  const { dialect = "json-schema" } = options;
  if (dialect !== "json-schema" && dialect !== "schema") {
    throw new TypeError(`dialect is "json-schema" or "schema", got ${JSON.stringify(dialect)}`);
  }
  checkSpelling("google.tools()", options, { dialect: true });
  const key = dialect === "schema" ? "parameters" : "parametersJsonSchema";
  const functionDeclarations = lowerTools<GoogleFunctionDeclaration>(source, {
    adapter: "google",
    toolName,
    plain: dialect === "schema" ? schemaDialect : jsonSchemaDialect,
    options,
    make: ({ description }, { name, schema }) => ({
      name,
      ...(description !== undefined && { description }),
      ...(hasParameters(schema) && { [key]: schema }),
    }),
  });
  return functionDeclarations.length === 0 ? [] : [{ functionDeclarations }];
};

export interface GoogleToolChoiceOptions {
  /** Nothing on this wire forbids several calls in one turn: `false` is ignored. */
  readonly parallel?: boolean | undefined;
  /** With `"auto"`: calls are held to their declarations (mode `VALIDATED`). A forced call always is. */
  readonly strict?: boolean | undefined;
  /** `"schema"` gives the types of `@google/generative-ai`; what is sent is the same. */
  readonly dialect?: "json-schema" | "schema" | undefined;
}

/** Named, so that the declarations of the adapter do not name the SDKs, one of which may be missing. */
export interface GoogleToolChoice {
  /**
   * `{ toolConfig }`, to be spread into `config` (`@google/genai`) or into the request (`@google/generative-ai`). An
   * optional call of some tools is mode `VALIDATED` with their names; `AUTO` takes no names.
   *
   * @throws TypeError when the choice is not valid, or requires one of no tools
   */
  (
    choice: ToolChoice,
    options: GoogleToolChoiceOptions & { readonly dialect: "schema" },
  ): { toolConfig: LegacyToolConfig };
  (choice: ToolChoice, options?: GoogleToolChoiceOptions): { toolConfig: ToolConfig };
}

export const toolChoice: GoogleToolChoice = (choice, options: GoogleToolChoiceOptions = {}): { toolConfig: any } => ({
  toolConfig: { functionCallingConfig: callingConfig(checkedChoice(choice, options), options.strict ?? false) },
});

function callingConfig(
  choice: ToolChoice,
  strict: boolean,
): { mode: `${FunctionCallingConfigMode}`; allowedFunctionNames?: string[] } {
  if (choice === "auto") return { mode: strict ? "VALIDATED" : "AUTO" };
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required") return { mode: "ANY" };
  if ("name" in choice) return { mode: "ANY", allowedFunctionNames: [toolName(choice.name)] };
  return { mode: choice.required === true ? "ANY" : "VALIDATED", allowedFunctionNames: choice.names.map(toolName) };
}
