// See index.ts.
/** @ts-ignore */
import type {
  CustomTool,
  FunctionTool,
  ResponseCreateParams,
  ToolChoiceAllowed,
  ToolChoiceCustom,
  ToolChoiceFunction,
} from "openai/resources/responses/responses";
import type { ToolsOptions } from "../../src/adapter.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import { lowerSchema } from "../../src/schema/lower.ts";
import {
  functionPatterns,
  functionSchema,
  isFreeText,
  keepLocalRefs,
  listedItemsToPrefixItems,
  strictFunctionSchema,
} from "../../src/schema/rewrites.ts";
import { saidOfRoot } from "../../src/schema/root.ts";
import { freeTextNames, lowerTools } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";

/** `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`. OpenAI takes a digit at the front, too; Kimi and Gemini, behind OpenRouter, do not. */
export const toolName = safeToolName({ allowed: /[a-zA-Z0-9_-]/, allowedFirst: /[a-zA-Z_]/, maxLength: 64 });

/**
 * The tools as `responses.create()` takes them. A tool whose schema is a string becomes a custom tool: the model writes
 * free text.
 *
 * @throws ToolError `schema_loss` with `onLoss: "throw"`; `duplicate_tool` if two names map to the same one
 */
export const tools = (source: ToolSource, options?: ToolsOptions): (FunctionTool | CustomTool)[] => {
  return lowerTools<FunctionTool | CustomTool>(source, {
    adapter: "openai-responses",
    toolName,
    plain: functionSchema(),
    strict: strictFunctionSchema(),
    takesText: true,
    options,
    make({ description, inputSchema, outputSchema }, { name, schema, strict }) {
      if (isFreeText(inputSchema.jsonSchema)) {
        const said = description ?? saidOfRoot(inputSchema.jsonSchema, "description");
        return { type: "custom", name, ...(typeof said === "string" && { description: said }) };
      }
      return {
        type: "function",
        name,
        ...(description !== undefined && { description }),
        parameters: schema,
        // Always set: without it this API tries strict mode.
        strict,
        // It describes results that are JSON; a string is sent as it is.
        ...(outputSchema?.jsonSchema["type"] === "object" && {
          output_schema: lowerSchema(outputSchema.jsonSchema, outputRewrites).schema,
        }),
      };
    },
  });
};

/** What would make the schema of an input fail the request, in any place. */
const outputRewrites = [keepLocalRefs, functionPatterns, listedItemsToPrefixItems];

/** A type rather than an interface, so that it is assignable to a record of unknown fields. */
export type ToolChoiceFields = {
  tool_choice: "auto" | "none" | "required" | ToolChoiceFunction | ToolChoiceCustom | ToolChoiceAllowed;
  parallel_tool_calls?: NonNullable<ResponseCreateParams["parallel_tool_calls"]>;
};

export interface ToolChoiceOptions {
  /** Allow several calls in one turn. Default: the provider's. */
  readonly parallel?: boolean | undefined;
  /** Needed to name a free-text tool, which is chosen in another form than a function. */
  readonly tools?: ToolSource | undefined;
}

/**
 * The fields of the request that say which tools may be called: spread them into it.
 *
 * @throws TypeError if the choice is invalid, or requires one of no tools.
 */
export const toolChoice = (choice: ToolChoice, options: ToolChoiceOptions = {}): ToolChoiceFields => {
  const { parallel } = options;
  return {
    tool_choice: choiceOf(choice, options),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
};

function choiceOf(wanted: ToolChoice, options: ToolChoiceOptions): ToolChoiceFields["tool_choice"] {
  const choice = checkedChoice(wanted, options);
  if (typeof choice === "string") return choice;
  const { tools: source = [] } = options;
  const custom = freeTextNames(source);
  const reference = (name: string) =>
    ({ type: custom.has(name) ? "custom" : "function", name: toolName(name) }) as const;
  if ("name" in choice) return reference(choice.name);
  const mode = choice.required === true ? "required" : "auto";
  return { type: "allowed_tools", mode, tools: choice.names.map(reference) };
}
