import type {
  CustomTool,
  FunctionTool,
  ResponseCreateParams,
  ToolChoiceAllowed,
  ToolChoiceCustom,
  ToolChoiceFunction,
} from "openai/resources/responses/responses";
import type { ToolChoice, ToolsOptions } from "../../src/adapter.ts";
import type { Rewrite } from "../../src/schema/lower.ts";
import {
  closeObjects,
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
import { lowerTools } from "../../src/tool/lower-tools.ts";
import { safeToolName } from "../../src/tool/names.ts";
import { toolList, type ToolSource } from "../../src/tool/tool-set.ts";

/** `^[a-zA-Z0-9_-]{1,64}$` */
export const toolName: (name: string) => string = safeToolName({ allowed: /[a-zA-Z0-9_-]/, maxLength: 64 });

/** Whether a tool takes free text and not JSON: its schema is a string. */
export function isFreeText(schema: JsonSchema): boolean {
  return schema["type"] === "string";
}

/**
 * What the API refuses even where it does not hold the model to the schema: "schema must have type 'object' and not have
 * 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level" (https://github.com/langchain-ai/langchainjs/issues/9804),
 * "array schema missing items".
 */
const PLAIN: readonly Rewrite[] = [
  freeText(),
  ...[
    keepLocalRefs(),
    atRoot(refsAlone()),
    dropAnnotations(["$schema", "$id", "$comment"]),
    withoutBooleanSchemas(),
    atRoot(foldAllOf()),
    flattenRootUnion(),
    atRoot(dropKeywords(["enum", "not"])),
    ensureItems(),
    ensureObjectRoot(),
  ].map(forFunctions),
];

/**
 * Strict mode: closed objects in which everything is required, a part of the keywords, no union at the root.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas (seen 2026-11)
 */
const STRICT: readonly Rewrite[] = [
  freeText(),
  ...[
    keepLocalRefs(),
    refsAlone(),
    dropAnnotations(["$schema", "$id", "$comment"]),
    withoutBooleanSchemas(),
    tuplesToArrays(),
    foldAllOf(),
    oneOfToAnyOf(),
    spreadUnions(),
    // What spreadUnions() has put beside a reference.
    foldAllOf(),
    flattenRootUnion(),
    dropKeywords(
      [
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$recursiveAnchor",
        "$recursiveRef",
        "contains",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "maxContains",
        "maxProperties",
        "minContains",
        "minProperties",
        "not",
        "patternProperties",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
      ],
      { toDescription: true },
    ),
    keepFormats(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"], {
      toDescription: true,
    }),
    atRoot(dropKeywords(["enum"])),
    ensureItems(),
    ensureObjectRoot(),
    ensureType(),
    closeObjects(),
    requireAll(),
  ].map(forFunctions),
];

/**
 * The tools as `responses.create()` takes them. A tool whose schema is a string becomes a custom tool: the model writes
 * free text.
 *
 * @throws ToolError `schema_loss` with `onLoss: "throw"`; `duplicate_tool` when two names map to one
 */
export function tools(source: ToolSource, options?: ToolsOptions): (FunctionTool | CustomTool)[] {
  return lowerTools<FunctionTool | CustomTool>(source, {
    adapter: "openai-responses",
    toolName,
    plain: PLAIN,
    strict: STRICT,
    options,
    make({ description, inputSchema, outputSchema }, { name, schema, strict }) {
      if (isFreeText(inputSchema.jsonSchema)) {
        const said = description ?? inputSchema.jsonSchema["description"];
        return { type: "custom", name, ...(typeof said === "string" && { description: said }) };
      }
      return {
        type: "function",
        name,
        ...(description !== undefined && { description }),
        parameters: schema,
        // Said either way: without it this API tries strict mode.
        strict,
        // It describes results that are JSON, and a string is sent as it is.
        ...(outputSchema?.jsonSchema["type"] === "object" && { output_schema: outputSchema.jsonSchema }),
      };
    },
  });
}

/** A type and not an interface, so that it is a record of unknown fields too. */
export type ToolChoiceFields = {
  tool_choice: "auto" | "none" | "required" | ToolChoiceFunction | ToolChoiceCustom | ToolChoiceAllowed;
  parallel_tool_calls?: NonNullable<ResponseCreateParams["parallel_tool_calls"]>;
};

export interface ToolChoiceOptions {
  /** Several calls in one turn. Default: the provider's. */
  readonly parallel?: boolean;
  /** Needed where a name is that of a free-text tool, which is chosen in another way than a function. */
  readonly tools?: ToolSource;
}

/** @throws TypeError when the choice is none, or requires one of no tools. */
export function toolChoice(choice: ToolChoice, options: ToolChoiceOptions = {}): ToolChoiceFields {
  const { parallel } = options;
  return {
    tool_choice: choiceOf(choice, options),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

function choiceOf(choice: ToolChoice, { tools: source = [] }: ToolChoiceOptions): ToolChoiceFields["tool_choice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (typeof choice === "object" && choice !== null) {
    const custom = new Set(
      toolList(source)
        .filter((tool) => isFreeText(tool.inputSchema.jsonSchema))
        .map((tool) => tool.name),
    );
    const reference = (name: string) =>
      ({ type: custom.has(name) ? "custom" : "function", name: toolName(name) }) as const;
    if ("name" in choice) return reference(choice.name);
    if (choice.names.length > 0) {
      return {
        type: "allowed_tools",
        mode: choice.required === true ? "required" : "auto",
        tools: choice.names.map(reference),
      };
    }
    if (choice.required !== true) return "none";
  }
  throw new TypeError(
    `toolChoice() takes "auto", "none", "required", { name } or { names, required? }, got ${JSON.stringify(choice)}`,
  );
}

// -- rewrites of this dialect

/** Free text has no schema: what the string must look like is not said. */
function freeText(): Rewrite {
  return {
    name: "freeText",
    apply(node, { isRoot, lose }) {
      if (!isRoot || !isFreeText(node)) return node;
      for (const keyword of Object.keys(node)) {
        if (!DESCRIBES.has(keyword))
          lose(`${keyword} is left out: the tool takes free text.`, { rule: `unsupported:${keyword}` });
      }
      return node;
    },
  };
}

const DESCRIBES: ReadonlySet<string> = new Set([
  "type",
  "title",
  "description",
  "default",
  "examples",
  "$schema",
  "$id",
  "$comment",
]);

function forFunctions(rewrite: Rewrite): Rewrite {
  return { ...rewrite, apply: (node, context) => (isFreeText(context.root) ? node : rewrite.apply(node, context)) };
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
