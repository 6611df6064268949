import type { Rewrite } from "../../src/schema/lower.ts";
import {
  dropAnnotations,
  dropKeywords,
  ensureObjectRoot,
  flattenRootUnion,
  foldAllOf,
  keepFormats,
  keepLocalRefs,
  listedNamesToProperties,
  nullableProperty,
  nullableToType,
  oneOfToAnyOf,
  refsAlone,
  requireDeclared,
  spreadUnions,
  tuplesToArrays,
  typeArrayToAnyOf,
  withoutBooleanSchemas,
} from "../../src/schema/rewrites.ts";
import { safeToolName } from "../../src/tool/names.ts";

/** The rule that Cohere documents: letters, digits and `_`, no digit first. https://docs.cohere.com/v1/reference/chat#request.body.tools */
export const toolName = safeToolName({ allowed: /[a-zA-Z0-9_]/, allowedFirst: /[a-zA-Z_]/, maxLength: 128 });

/** Without `strict_tools` a schema is something for the model to read, and nothing in it is refused. */
export const plain: readonly Rewrite[] = [
  dropAnnotations(["$schema", "$comment"]),
  keepLocalRefs(),
  ensureObjectRoot(),
];

/** Kept in the description, since a grammar can not hold the model to them. */
const toDescription = { toDescription: true };

/** https://docs.cohere.com/v2/docs/structured-outputs, "Parameter types support" and "Unsupported schema features" (2026-11). */
export const strict: readonly Rewrite[] = [
  dropAnnotations(["$schema", "$comment"]),
  keepLocalRefs(),
  nullableToType(),
  listedNamesToProperties(),
  refsAlone(),
  foldAllOf(),
  oneOfToAnyOf(),
  spreadUnions(),
  foldAllOf(),
  flattenRootUnion(),
  withoutBooleanSchemas(),
  tuplesToArrays(),
  typeArrayToAnyOf(),
  ensureObjectRoot(),
  // First, so that they are told as they were given.
  dropKeywords(["not", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas"], toDescription),
  keepFormats(["date-time", "uuid", "date", "time"], toDescription),
  plainPatterns(),
  dropKeywords(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], toDescription),
  dropKeywords(
    ["minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"],
    toDescription,
  ),
  dropKeywords(
    [
      "patternProperties",
      "propertyNames",
      "minProperties",
      "maxProperties",
      "unevaluatedProperties",
      "unevaluatedItems",
    ],
    toDescription,
  ),
  dropAnnotations(["contentEncoding", "contentMediaType", "contentSchema"]),
  requireDeclared(),
  requireOne(),
];

/** Patterns may not hold `^`, `$`, `(?=` or `(?!`, so that most of them can only be told. */
function plainPatterns(): Rewrite {
  const drop = dropKeywords(["pattern"], toDescription);
  return {
    name: "plainPatterns",
    apply: (node, context) => (/[$^]|\?[=!]/.test(String(node["pattern"] ?? "")) ? drop.apply(node, context) : node),
  };
}

/**
 * Every object needs a required property. Where all are optional the first becomes required and nullable,
 * and its null is read as absent.
 */
function requireOne(): Rewrite {
  return {
    name: "requireOne",
    apply(node, context) {
      const { properties, required } = node as { properties?: Record<string, never>; required?: unknown[] };
      if (properties === undefined || (Array.isArray(required) && required.length > 0)) return node;
      const [first] = Object.keys(properties);
      if (first === undefined) return node;
      const entries = Object.entries(properties).map(([name, property]) => [
        name,
        name === first ? nullableProperty(property, context, "anyOf") : property,
      ]);
      return { ...node, properties: Object.fromEntries(entries), required: [first] };
    },
  };
}
