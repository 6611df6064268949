import { type Rewrite } from "../lower.ts";
import type { JsonSchema } from "../types.ts";
import { sameValue } from "./merge.ts";

/** Whether what is dropped is moved into the description, where the model can still read it. */
export interface DropOptions {
  /** Default `false`. It is reported either way: a description binds nobody. */
  readonly toDescription?: boolean;
}

/**
 * Drops keywords that the dialect does not have. Each is reported as `unsupported:<keyword>`,
 * unless its value says nothing (`uniqueItems: false`, `additionalProperties: true`).
 */
export function dropKeywords(keywords: readonly string[], options: DropOptions = {}): Rewrite {
  return {
    name: "dropKeywords",
    apply(node, { lose }) {
      const present = keywords.filter((keyword) => Object.hasOwn(node, keyword));
      if (present.length === 0) return node;
      const telling = present.filter((keyword) => !saysNothing(keyword, node));
      for (const keyword of telling) loseKeyword(lose, keyword, options);
      const rest = without(node, present);
      return options.toDescription === true
        ? describe(
            rest,
            telling.map((keyword) => [keyword, node[keyword]]),
          )
        : rest;
    },
  };
}

/** Drops keywords that bind no value (`$schema`, `title`, `examples`, ...), without a report. */
export function dropAnnotations(keywords: readonly string[]): Rewrite {
  return {
    name: "dropAnnotations",
    apply: (node) => (keywords.some((keyword) => Object.hasOwn(node, keyword)) ? without(node, keywords) : node),
  };
}

/**
 * Leaves every other keyword out, without a report: what no dialect knows (`x-…`, `enumDescriptions`) binds no value.
 * Run it when those that bind have been dropped by their names.
 */
export function keepKeywords(keywords: readonly string[]): Rewrite {
  return {
    name: "keepKeywords",
    apply(node) {
      const others = Object.keys(node).filter((keyword) => !keywords.includes(keyword));
      return others.length === 0 ? node : without(node, others);
    },
  };
}

/** Keeps only these string formats; another one is reported as `unsupported:format`. */
export function keepFormats(formats: readonly string[], options: DropOptions = {}): Rewrite {
  return {
    name: "keepFormats",
    apply(node, { lose }) {
      const { format } = node;
      if (format === undefined || formats.includes(format as string)) return node;
      loseKeyword(lose, "format", options, format);
      const rest = without(node, ["format"]);
      return options.toDescription === true ? describe(rest, [["format", format]]) : rest;
    },
  };
}

/** Lowers a `minItems` above `max` to `max`. */
export function limitMinItems(max: number, options: DropOptions = {}): Rewrite {
  return {
    name: "limitMinItems",
    apply(node, { lose }) {
      const { minItems } = node;
      if (typeof minItems !== "number" || minItems <= max) return node;
      lose(
        `minItems ${minItems} becomes ${max}${options.toDescription === true ? "; the description tells it" : ""}.`,
        {
          rule: "unsupported:minItems",
        },
      );
      const rest = { ...node, minItems: max };
      return options.toDescription === true ? describe(rest, [["minItems", minItems]]) : rest;
    },
  };
}

function loseKeyword(
  lose: (message: string, options: { rule: string }) => void,
  keyword: string,
  { toDescription = false }: DropOptions,
  value?: unknown,
): void {
  const what = value === undefined ? keyword : `${keyword} ${JSON.stringify(value)}`;
  lose(toDescription ? `${what} is kept in the description only.` : `${what} is left out.`, {
    rule: `unsupported:${keyword}`,
  });
}

/** Longer values would drown the description. */
const MAX_VALUE_CHARACTERS = 200;

/** Adds constraints to the description: `Where to look. (minLength: 2, pattern: "^[a-z]+$")`. */
export function describe(
  node: JsonSchema,
  constraints: readonly (readonly [keyword: string, value: unknown])[],
): JsonSchema {
  const said = constraints.flatMap(([keyword, value]) => {
    const text = JSON.stringify(value) ?? "";
    return text.length > MAX_VALUE_CHARACTERS ? [] : [`${keyword}: ${text}`];
  });
  if (said.length === 0) return node;
  const { description } = node;
  const list = `(${said.join(", ")})`;
  return {
    ...node,
    description: typeof description === "string" && description !== "" ? `${description} ${list}` : list,
  };
}

/** A keyword whose value allows everything that its absence allows. */
function saysNothing(keyword: string, node: JsonSchema): boolean {
  const value = node[keyword];
  switch (keyword) {
    case "additionalProperties":
    case "additionalItems":
    case "unevaluatedProperties":
    case "unevaluatedItems":
    case "items":
      return value === true || isEmpty(value);
    case "propertyNames": // a JSON name is a string anyway
      return value === true || isEmpty(value) || sameValue(value, { type: "string" });
    case "minimum":
    case "maximum": // the bounds of what a program can count, which some libraries write on every integer
      return typeof value === "number" && Math.abs(value) >= Number.MAX_SAFE_INTEGER;
    case "required":
    case "allOf":
    case "prefixItems":
    case "$defs":
    case "definitions":
    case "patternProperties":
    case "dependentSchemas":
    case "dependentRequired":
    case "dependencies":
      return isEmpty(value);
    case "minItems":
    case "minLength":
    case "minProperties":
      return value === 0;
    case "uniqueItems":
    case "nullable":
    case "exclusiveMinimum": // a boolean in draft 4
    case "exclusiveMaximum":
      return value === false;
    case "then":
    case "else":
      return !Object.hasOwn(node, "if");
    case "if":
      return !Object.hasOwn(node, "then") && !Object.hasOwn(node, "else");
    case "minContains":
    case "maxContains":
      return !Object.hasOwn(node, "contains");
    default:
      return false;
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** A node without some of its keywords. */
export function without(node: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(node).filter(([keyword]) => !keywords.includes(keyword)));
}
