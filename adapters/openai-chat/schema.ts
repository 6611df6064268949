import type { ChatCompletionTool, ChatCompletionToolChoiceOption } from "openai/resources/chat/completions";
import type { ToolChoice, ToolsOptions } from "../../src/adapter.ts";
import type { Rewrite } from "../../src/schema/lower.ts";
import {
  anyTypes,
  closeObjects,
  constToEnum,
  dropAnnotations,
  dropKeywords,
  ensureObjectRoot,
  ensureType,
  flattenRootUnion,
  foldAllOf,
  keepFormats,
  keepLocalRefs,
  oneOfToAnyOf,
  refsAlone,
  requireAll,
  spreadUnions,
  tuplesToArrays,
  withoutBooleanSchemas,
} from "../../src/schema/rewrites.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { lowerTools, type LoweredTool } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import { toolList, type ToolSource } from "../../src/tool/tool-set.ts";
import type { Tool } from "../../src/tool/tool.ts";

/** `^[a-zA-Z0-9_-]{1,64}$`: what OpenAI takes, and every server that speaks its wire. `math.add` is `math__add` there. */
export const toolName = safeToolName({ allowed: /[a-zA-Z0-9_-]/, maxLength: 64 });

/**
 * The tools as `chat.completions.create()` takes them. A tool whose input is a string (not an object) becomes a custom
 * tool: the model writes free text, without JSON around it.
 */
export function tools(source: ToolSource, options?: ToolsOptions): ChatCompletionTool[] {
  return lowerTools<ChatCompletionTool>(source, {
    adapter: "openai-chat",
    toolName,
    plain: PLAIN,
    strict: STRICT,
    options,
    make: toolParam,
  });
}

function toolParam(tool: Tool, { name, schema, strict }: LoweredTool): ChatCompletionTool {
  const described = tool.description === undefined ? { name } : { name, description: tool.description };
  // What the text must look like can not be said; the input is validated all the same.
  if (isText(schema)) return { type: "custom", custom: described };
  return { type: "function", function: { ...described, parameters: { ...schema }, ...(strict && { strict }) } };
}

/**
 * Without strict mode any JSON Schema goes, but for its root: `type: "object"` and no composition there; and an array
 * says what its items are. OpenAI refuses the whole request for one such tool
 * (https://github.com/langchain-ai/langchainjs/issues/9804).
 */
const PLAIN: readonly Rewrite[] = [
  freeText(),
  ...[
    keepLocalRefs(),
    dropAnnotations(["$schema", "$id", "$comment"]),
    withoutBooleanSchemas(),
    atRoot(refsAlone()),
    atRoot(foldAllOf()),
    flattenRootUnion(),
    atRoot(dropKeywords(["not", "enum", "const", "if", "then", "else"])),
    ensureItems(),
    ensureObjectRoot(),
    keepLocalRefs(),
  ].map(unlessFreeText),
];

/**
 * The subset of strict mode: closed objects, everything required, no composition but `anyOf`.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas (seen 2026-08)
 */
const STRICT: readonly Rewrite[] = [
  freeText(),
  ...[
    keepLocalRefs(),
    dropAnnotations(["$schema", "$id", "$comment", "examples", "deprecated", "readOnly", "writeOnly", "discriminator"]),
    withoutBooleanSchemas(),
    refsAlone(),
    tuplesToArrays(),
    foldAllOf(),
    oneOfToAnyOf(),
    spreadUnions(),
    foldAllOf(), // spreading beside a reference makes new ones
    flattenRootUnion(),
    constToEnum(),
    defaultToDescription(),
    drop("not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"),
    drop("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
    drop("additionalItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems"),
    drop("minLength", "maxLength", "contentEncoding", "contentMediaType", "contentSchema"),
    drop("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"),
    keepFormats(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"], {
      toDescription: true,
    }),
    atRoot(dropKeywords(["enum"])),
    ensureItems(),
    ensureObjectRoot(),
    ensureType(anyTypes(["string", "number", "boolean", "null"])),
    closeObjects(),
    requireAll(),
    keepLocalRefs(),
  ].map(unlessFreeText),
];

/** A root that is text is the input of a custom tool, and has no schema there. */
function freeText(): Rewrite {
  return {
    name: "freeText",
    apply(node, { isRoot, lose }) {
      if (!isRoot || !isText(node)) return node;
      for (const keyword of Object.keys(node)) {
        if (DESCRIBES.has(keyword)) continue;
        lose(`${keyword} is left out: the tool takes free text.`, { rule: `unsupported:${keyword}` });
      }
      return node;
    },
  };
}

const DESCRIBES = new Set(["type", "title", "description", "default", "examples", "$schema", "$id", "$comment"]);

function unlessFreeText(rewrite: Rewrite): Rewrite {
  return { ...rewrite, apply: (node, context) => (isText(context.root) ? node : rewrite.apply(node, context)) };
}

function isText({ type }: JsonSchema): boolean {
  return type === "string";
}

function drop(...keywords: string[]): Rewrite {
  return dropKeywords(keywords, { toDescription: true });
}

function atRoot(rewrite: Rewrite): Rewrite {
  return { ...rewrite, apply: (node, context) => (context.isRoot ? rewrite.apply(node, context) : node) };
}

/** An array whose items may be anything has to say so. */
function ensureItems(): Rewrite {
  return {
    name: "ensureItems",
    apply: (node) => (mayBeArray(node) && !Object.hasOwn(node, "items") ? { ...node, items: {} } : node),
  };
}

function mayBeArray({ type }: JsonSchema): boolean {
  return Array.isArray(type) ? type.includes("array") : type === "array";
}

/** Strict mode refuses `default`. Told in the description it does its work; no loss, since validation fills it in. */
function defaultToDescription(): Rewrite {
  return {
    name: "defaultToDescription",
    apply(node) {
      if (!Object.hasOwn(node, "default")) return node;
      const { default: value, ...rest } = node;
      const { description } = rest;
      const told = JSON.stringify(value) ?? "";
      if (value === null || told === "" || told.length > 200) return rest;
      const list = `(default: ${told})`;
      return {
        ...rest,
        description: typeof description === "string" && description !== "" ? `${description} ${list}` : list,
      };
    },
  };
}

/** A type and not an interface, so that it is a record of unknown fields too. */
export type ToolChoiceParams = {
  tool_choice: ChatCompletionToolChoiceOption;
  parallel_tool_calls?: boolean;
};

export interface ToolChoiceOptions {
  /** `false`: one call a turn at most. Default: the server's. */
  readonly parallel?: boolean;
  /** Needed where a name is that of a custom tool, which is chosen in another form than a function. */
  readonly tools?: ToolSource;
}

/** @throws TypeError when the choice is none, or requires one of no tools. */
export function toolChoice(choice: ToolChoice, options: ToolChoiceOptions = {}): ToolChoiceParams {
  const { parallel } = options;
  return {
    tool_choice: choiceParam(choice, options),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

function choiceParam(choice: ToolChoice, { tools: source = [] }: ToolChoiceOptions): ChatCompletionToolChoiceOption {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (typeof choice === "object" && choice !== null) {
    const custom = new Set(
      toolList(source)
        .filter((tool) => isText(tool.inputSchema.jsonSchema))
        .map((tool) => tool.name),
    );
    const named = (name: string) =>
      custom.has(name)
        ? { type: "custom" as const, custom: { name: toolName(name) } }
        : { type: "function" as const, function: { name: toolName(name) } };
    if ("name" in choice) return named(choice.name);
    if (choice.names.length > 0) {
      const mode = choice.required === true ? "required" : "auto";
      return { type: "allowed_tools", allowed_tools: { mode, tools: choice.names.map(named) } };
    }
    if (choice.required !== true) return "none";
  }
  throw new TypeError(
    `toolChoice() takes "auto", "none", "required", { name } or { names, required? }, got ${JSON.stringify(choice)}`,
  );
}
