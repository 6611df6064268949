// See index.ts.
/** @ts-ignore */
import type { ChatCompletionTool, ChatCompletionToolChoiceOption } from "openai/resources/chat/completions";
import type { ToolsOptions } from "../../src/adapter.ts";
import { checkedChoice, type ToolChoice } from "../../src/tool/choice.ts";
import { functionSchema, isFreeText, strictFunctionSchema } from "../../src/schema/rewrites.ts";
import { saidOfRoot } from "../../src/schema/root.ts";
import { freeTextNames, lowerTools, type LoweredTool } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import type { ToolSource } from "../../src/tool/tool-set.ts";
import type { Tool } from "../../src/tool/tool.ts";

/**
 * `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`: what OpenAI and every server of its wire accept. `math.add` becomes `math__add`.
 * Kimi and Gemini reject a digit at the front, and a hyphen: https://platform.kimi.ai/docs/api/tool-use,
 * https://github.com/openclaw/openclaw/issues/79179, https://github.com/labring/FastGPT/issues/5834
 */
export const toolName = safeToolName({ allowed: /[a-zA-Z0-9_-]/, allowedFirst: /[a-zA-Z_]/, maxLength: 64 });

/**
 * The tools as `chat.completions.create()` takes them. A tool whose input is a string (not an object) becomes a custom
 * tool: the model writes free text, without JSON around it.
 */
export const tools = (source: ToolSource, options?: ToolsOptions): ChatCompletionTool[] => {
  return lowerTools<ChatCompletionTool>(source, {
    adapter: "openai-chat",
    toolName,
    plain: functionSchema(),
    strict: strictFunctionSchema(),
    takesText: true,
    options,
    make: toolParam,
  });
};

function toolParam(tool: Tool, { name, schema, strict }: LoweredTool): ChatCompletionTool {
  const isCustom = isFreeText(schema);
  const description = tool.description ?? (isCustom ? saidOfRoot(schema, "description") : undefined);
  const described = { name, ...(typeof description === "string" && { description }) };
  // The wire cannot express what the text must look like; the input is validated all the same.
  if (isCustom) return { type: "custom", custom: described };
  return { type: "function", function: { ...described, parameters: { ...schema }, ...(strict && { strict }) } };
}

/** A type rather than an interface, so that it is assignable to a record of unknown fields. */
export type ToolChoiceParams = {
  tool_choice: ChatCompletionToolChoiceOption;
  parallel_tool_calls?: boolean;
};

export interface ToolChoiceOptions {
  /** `false`: at most one call per turn. Default: the server's. */
  readonly parallel?: boolean | undefined;
  /** Needed to name a custom tool, which is chosen in another form than a function. */
  readonly tools?: ToolSource | undefined;
}

/**
 * The fields of the request that say which tools may be called: spread them into it.
 *
 * @throws TypeError if the choice is invalid, or requires one of no tools.
 */
export const toolChoice = (choice: ToolChoice, options: ToolChoiceOptions = {}): ToolChoiceParams => {
  const { parallel } = options;
  return {
    tool_choice: choiceOf(choice, options),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
};

function choiceOf(wanted: ToolChoice, options: ToolChoiceOptions): ChatCompletionToolChoiceOption {
  const choice = checkedChoice(wanted, options);
  if (typeof choice === "string") return choice;
  const { tools: source = [] } = options;
  const custom = freeTextNames(source);
  const named = (name: string) =>
    custom.has(name)
      ? { type: "custom" as const, custom: { name: toolName(name) } }
      : { type: "function" as const, function: { name: toolName(name) } };
  if ("name" in choice) return named(choice.name);
  const mode = choice.required === true ? "required" : "auto";
  return { type: "allowed_tools", allowed_tools: { mode, tools: choice.names.map(named) } };
}
