import { format as standardFormats } from "@cfworker/json-schema";
import { isObject, sameValue } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import { holdingOf } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";

/**
 * Moves keywords that the dialect lacks into the description, where the model can still read them. Each is reported as
 * `unsupported:<keyword>`, since a description enforces nothing, unless its value has no effect (`uniqueItems: false`,
 * `additionalProperties: true`).
 */
export function dropKeywords(keywords: readonly string[]): Rewrite {
  return {
    name: "dropKeywords",
    apply(node, { lose }) {
      const telling = keywords.filter((keyword) => Object.hasOwn(node, keyword) && !saysNothing(keyword, node));
      for (const keyword of telling)
        lose(`${keyword} is kept in the description only.`, { rule: `unsupported:${keyword}` });
      return describe(without(node, keywords), only(node, telling));
    },
  };
}

/** Drops keywords that constrain nothing (`$schema`, `title`, `examples`, ...), without a report. */
export function dropAnnotations(keywords: readonly string[]): Rewrite {
  return {
    name: "dropAnnotations",
    apply: (node) => without(node, keywords),
  };
}

/**
 * Keeps only these keywords: one in each text, or several (`"type enum"`). Other constraints are dropped as by
 * {@link dropKeywords}; annotations (`examples`) and unknown keywords (`x-…`) go without a report.
 */
export function keepKeywords(texts: readonly string[]): Rewrite {
  const keywords = texts.flatMap((text) => text.split(" "));
  return {
    name: "keepKeywords",
    apply(node, context) {
      const others = Object.keys(node).filter((keyword) => !keywords.includes(keyword));
      return without(dropKeywords(others.filter(binds)).apply(node, context), others);
    },
  };
}

function binds(keyword: string): boolean {
  return holdingOf(keyword) !== undefined || keyword === "$recursiveRef";
}

/**
 * Keeps only these string formats; others are reported as `unsupported:format` and described. A library's own name for
 * the `pattern` next to it (`starts_with`, `nanoid`) goes without either: the pattern says it all. Run it after the
 * patterns that the dialect lacks are gone.
 */
export function keepFormats(formats: readonly string[]): Rewrite {
  return {
    name: "keepFormats",
    apply(node, context) {
      const { format } = node;
      if (formats.includes(format as string)) return node;
      if (node["pattern"] !== undefined && !Object.hasOwn(standardFormats, String(format)))
        return without(node, ["format"]);
      return dropKeywords(["format"]).apply(node, context);
    },
  };
}

/**
 * Leaves out bounds that say nothing: those of safe integers, as zod writes them on every integer, and beyond, as OpenAPI
 * has them for `int64`. Servers fail on them: "int too big to convert" (https://github.com/RevenueCat/ai-toolkit/issues/26,
 * https://github.com/ansible/aap-mcp-server/pull/170). So does a record not say that its names are texts, as all of zod's
 * do: vLLM rejects that where it makes a grammar of the tools ("Unimplemented keys: ["propertyNames"]",
 * https://github.com/noonghunna/club-3090/issues/45). No loss.
 */
export const tellingBounds: Rewrite = {
  name: "tellingBounds",
  apply: (node) =>
    without(
      node,
      [...BOUNDS, "propertyNames"].filter((keyword) => saysNothing(keyword, node)),
    ),
};

const BOUNDS = "minimum exclusiveMinimum maximum exclusiveMaximum maxItems maxLength maxProperties".split(" ");

/** Lowers a `minItems` above `max` to `max`; the description keeps the original. */
export function limitMinItems(max: number): Rewrite {
  return {
    name: "limitMinItems",
    apply(node, { lose }) {
      const { minItems } = node;
      if (typeof minItems !== "number" || minItems <= max) return node;
      lose(`minItems ${minItems} becomes ${max}; the description says so.`, { rule: "unsupported:minItems" });
      return describe({ ...node, minItems: max }, { minItems });
    },
  };
}

/** Longer values would drown the description. */
const MAX_VALUE_CHARACTERS = 200;

/** Adds constraints to the description: `Where to look. (minLength: 2, pattern: "^[a-z]+$")`. */
export function describe(node: JsonSchema, constraints: JsonSchema): JsonSchema {
  const said = Object.entries(constraints).flatMap(([keyword, value]) => {
    const text = JSON.stringify(value) ?? "";
    return text.length > MAX_VALUE_CHARACTERS ? [] : [`${keyword}: ${text}`];
  });
  if (said.length === 0) return node;
  const list = `(${said.join(", ")})`;
  const { description } = node;
  return {
    ...node,
    description: typeof description === "string" && description !== "" ? `${description} ${list}` : list,
  };
}

/** A keyword whose value allows everything that its absence allows. */
export function saysNothing(keyword: string, node: JsonSchema): boolean {
  const value = node[keyword];
  const stands = (...keywords: string[]) => keywords.some((one) => Object.hasOwn(node, one));
  switch (keyword) {
    case "not":
    case "contains":
      return false;
    case "then":
    case "else":
      return !stands("if");
    case "if":
      return !stands("then", "else");
    case "minContains":
    case "maxContains":
      return !stands("contains");
    case "minItems":
    case "minLength":
    case "minProperties":
      return value === 0;
    case "uniqueItems":
    case "nullable":
      return value === false;
  }
  if (BOUNDS.includes(keyword)) {
    const isBeyond = (limit: number) =>
      /minimum/i.test(keyword) ? limit <= Number.MIN_SAFE_INTEGER : limit >= Number.MAX_SAFE_INTEGER;
    return value === false || (typeof value === "number" && isBeyond(value)); // a boolean in draft 4
  }
  const holds = holdingOf(keyword);
  if (holds === undefined) return false;
  // A JSON property name is always a string.
  const isText = keyword === "propertyNames" && sameValue(value, { type: "string" });
  return isEmpty(value) || (value === true && holds === "schema") || isText;
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** A node without some of its keywords; the same object if it has none of them. */
export function without(node: JsonSchema, keywords: readonly string[]): JsonSchema {
  if (!keywords.some((keyword) => Object.hasOwn(node, keyword))) return node;
  return only(
    node,
    Object.keys(node).filter((keyword) => !keywords.includes(keyword)),
  );
}

/** Those of the keywords that a node has, in the order given. */
export function only(node: JsonSchema, keywords: readonly string[]): JsonSchema {
  const stated = keywords.filter((keyword) => Object.hasOwn(node, keyword));
  return Object.fromEntries(stated.map((keyword) => [keyword, node[keyword]]));
}
