// See index.ts.
/** @ts-ignore */
import type { Interactions } from "@google/genai";
import type { ToolsOptions } from "../../src/adapter.ts";
import { describedSchema, hasParameters } from "../../src/schema/rewrites.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import { lowerTools } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";

/** Letters, digits, `_`, `.`, `:` and `-`, the first a letter or `_`; 128 characters, as for generateContent. */
export const toolName = safeToolName({ allowed: /[A-Za-z0-9_.:-]/, allowedFirst: /[A-Za-z_]/, maxLength: 128 });

const dialect = describedSchema();

/**
 * The tools as `interactions.create()` takes them.
 *
 * @throws ToolError `schema_loss` for a tool whose input is one string: the API knows objects only
 */
export const tools = (source: ToolSource, options?: ToolsOptions): Interactions.Function[] => {
  return lowerTools<Interactions.Function>(source, {
    adapter: "google-interactions",
    toolName,
    plain: dialect,
    options,
    make: ({ description }, { name, schema }) => ({
      type: "function",
      name,
      ...(description !== undefined && { description }),
      ...(hasParameters(schema) && { parameters: schema }),
    }),
  });
};

export interface InteractionsToolChoiceOptions {
  /** Nothing on this wire forbids several calls in one turn: `false` is ignored. */
  readonly parallel?: boolean | undefined;
  /** With `"auto"`: calls are held to their declarations (`validated`). A forced call always is. */
  readonly strict?: boolean | undefined;
}

/** A type rather than an interface, so that it is assignable to a record of unknown fields. */
export type ToolChoiceFields = {
  generation_config: { tool_choice: Interactions.ToolChoiceType | Interactions.ToolChoiceConfig };
};

/**
 * `{ generation_config: { tool_choice } }`, to be spread into the request; with other settings of the generation:
 * `generation_config: { temperature: 0, ...googleInteractions.toolChoice("auto").generation_config }`.
 *
 * @throws TypeError when the choice is not valid, or requires one of no tools
 */
export const toolChoice = (choice: ToolChoice, options: InteractionsToolChoiceOptions = {}): ToolChoiceFields => {
  return { generation_config: { tool_choice: choiceOf(checkedChoice(choice, options), options.strict ?? false) } };
};

function choiceOf(choice: ToolChoice, strict: boolean): ToolChoiceFields["generation_config"]["tool_choice"] {
  if (choice === "auto") return strict ? "validated" : "auto";
  if (choice === "none") return "none";
  if (choice === "required") return "any";
  if ("name" in choice) return { allowed_tools: { mode: "any", tools: [toolName(choice.name)] } };
  // `auto` takes no names, as for generateContent.
  const mode = choice.required === true ? "any" : "validated";
  return { allowed_tools: { mode, tools: choice.names.map(toolName) } };
}
