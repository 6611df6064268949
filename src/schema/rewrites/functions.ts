import { propertiesOf, requiredOf } from "../fields.ts";
import { isRecord } from "../json.ts";
import { atRoot, type Rewrite, type RewriteContext } from "../lower.ts";
import { once } from "../once.ts";
import { targetOf } from "../refs.ts";
import { saidOfRoot } from "../root.ts";
import { ANNOTATIONS } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { foldAllOf } from "./all-of.ts";
import { describe, dropAnnotations, dropKeywords, keepFormats, keepKeywords, tellingBounds } from "./keywords.ts";
import { withinLimits, type SchemaLimits } from "./limits.ts";
import { closeObjects, ensureObjectRoot, listedNamesToProperties, requireAll } from "./objects.ts";
import { nullableToType } from "./nullability.ts";
import { keepPatterns } from "./patterns.ts";
import { isPortable } from "./portable.ts";
import { addsNothing, keepLocalRefs, refsAlone } from "./refs.ts";
import { flattenRootUnion, oneOfToAnyOf, spreadUnions } from "./unions.ts";
import {
  constToEnum,
  ensureItems,
  ensureType,
  listedItemsToPrefixItems,
  tuplesToArrays,
  typedValues,
  withoutBooleanSchemas,
} from "./values.ts";

/** Whether a tool takes free text instead of JSON: its schema is a string. */
export function isFreeText(schema: JsonSchema): boolean {
  return saidOfRoot(schema, "type") === "string";
}

/**
 * The dialect of function tools that two of the wires share: any JSON Schema is accepted, except at the root ("schema
 * must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level",
 * https://github.com/langchain-ai/langchainjs/issues/9804), and an array must define its items, in one schema and not
 * in a list of them ("[...] is not of type 'object', 'boolean'", https://github.com/vercel/ai/issues/2271). One schema
 * that breaks a rule fails the whole request; so does one pattern that {@link functionPatterns} leaves out.
 *
 * A root that is a string is free text: such a tool is sent without a schema.
 */
export function functionSchema(): readonly Rewrite[] {
  return unlessFreeText([
    // First: a part that is left out for its pattern may be the target of a reference.
    keepLocalRefs,
    functionPatterns,
    nullableToType,
    typedValues,
    dropAnnotations(["$schema", "$comment"]),
    tellingBounds,
    // What some servers make no grammar of fails the whole request: https://github.com/QwenLM/qwen-code/issues/9865
    // (Kimi), https://docs.x.ai/developers/model-capabilities/text/structured-outputs.
    dropKeywords(["uniqueItems", "minContains", "maxContains"]),
    listedItemsToPrefixItems,
    withoutBooleanSchemas,
    listedNamesToProperties,
    nothingBesideRefs,
    atRoot(foldAllOf),
    flattenRootUnion,
    // What the `if` says about properties may be what counts them as evaluated.
    atRoot(dropKeywords(["not", "enum", "const", "if", "then", "else", "unevaluatedProperties"])),
    ensureItems,
    ensureObjectRoot,
    completeBranches,
    declareRequired,
    // A part that was merged into the root may have held the last reference to a definition.
    keepLocalRefs,
  ]);
}

/**
 * The same in strict mode: closed objects in which everything is required, no composition except `anyOf`, a subset of
 * the keywords. What is dropped stays in the description.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas (seen 2026-11)
 */
export function strictFunctionSchema(): readonly Rewrite[] {
  return unlessFreeText([
    keepLocalRefs,
    functionPatterns,
    // Before spreadUnions would move it into the branches.
    dropAnnotations(["discriminator"]),
    nullableToType,
    listedNamesToProperties,
    withoutBooleanSchemas,
    tuplesToArrays,
    foldAllOf,
    refsAlone,
    oneOfToAnyOf,
    spreadUnions,
    // For what spreadUnions has put next to a reference: to a union, mostly to none.
    foldAllOf,
    spreadUnions,
    foldAllOf,
    flattenRootUnion,
    // One of two merged properties may have been a reference.
    refsAlone,
    constToEnum,
    defaultToDescription,
    tellingBounds,
    keepKeywords(STRICT_KEYWORDS),
    keepFormats(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    atRoot(dropKeywords(["enum"])),
    ensureItems,
    ensureObjectRoot,
    ensureType,
    closeObjects,
    requireAll,
    keepLocalRefs,
    withinLimits(STRICT_LIMITS),
  ]);
}

/**
 * Nothing stays beside a reference, where that loses nothing: annotations go around it, and constraints into a copy of
 * what it points to. Kimi's API, which follows it first, rejects a type ("when using $ref, type should be defined in the
 * referenced schema", https://github.com/router-for-me/CLIProxyAPI/issues/5316), and whatever is said twice
 * ("conflicting keywords found after $ref expansion: description",
 * https://github.com/MoonshotAI/kimi-cli/issues/2061).
 */
const nothingBesideRefs: Rewrite = {
  name: "nothingBesideRefs",
  apply(node, context) {
    const { $ref: _, ...beside } = node;
    const target = targetOf(node, context.root);
    if (context.isRoot || target === undefined || addsNothing(beside, target)) return refsAlone.apply(node, context);
    if (!mayBeCopied(target)) return node;
    return ifExact(refsAlone, node, context);
  },
};

/** What a rewrite makes of a schema, if that loses nothing. */
function ifExact(rewrite: Rewrite, node: JsonSchema, context: RewriteContext): JsonSchema {
  let isExact = true;
  const made = rewrite.apply(node, { ...context, lose: () => void (isExact = false) });
  return isExact ? made : node;
}

/** With references of its own it could multiply. */
const mayBeCopied = /* @__PURE__ */ once((target: JsonSchema): boolean => {
  const text = JSON.stringify(target);
  return text.length <= 1000 && !text.includes('"$ref"');
});

/**
 * Each required property has a schema. Kimi's API rejects one without ("required property 'codecType' is not defined in
 * properties", https://github.com/MoonshotAI/kimi-code/issues/1610).
 */
const declareRequired: Rewrite = {
  name: "declareRequired",
  apply(node) {
    const properties = propertiesOf(node);
    const missing = requiredOf(node).filter((name) => !Object.hasOwn(properties, name));
    // What a reference points to has properties of its own, and their list would stand beside it a second time.
    if (missing.length === 0 || Object.hasOwn(node, "$ref")) return node;
    const { additionalProperties: other } = node;
    const added = missing.map((name) => [name, isRecord(other) ? { ...other } : {}]);
    return { ...node, properties: { ...properties, ...Object.fromEntries(added) } };
  },
};

/**
 * What is beside an `anyOf` goes into its branches. Kimi's API rejects a type where it was ("when using anyOf, type
 * should be defined in anyOf items instead of the parent schema", https://github.com/MoonshotAI/kimi-code/issues/2661),
 * and a branch that requires what it does not define. Not where that would lose something or be long.
 */
const completeBranches: Rewrite = {
  name: "completeBranches",
  apply(node, context) {
    const { anyOf: branches, ...beside } = node;
    if (!Array.isArray(branches)) return node;
    const copied = JSON.stringify(beside);
    // Unions within unions would multiply.
    if (copied.includes('"anyOf"') || branches.length * copied.length > 10_000) return node;
    return ifExact(spreadUnions, node, context);
  },
};

/**
 * The patterns that these wires accept, in either mode and in schemas of results: those that Python's `re` compiles
 * ("'[^\p{Cc}]+' is not a 'regex'", https://github.com/BerriAI/litellm/pull/40485), without lookaround ("regex
 * lookaround is not supported", https://github.com/vercel/ai/pull/21037).
 */
export const functionPatterns: Rewrite = /* @__PURE__ */ keepPatterns(isPortable);

/** All that the page above lists. */
const STRICT_KEYWORDS = [
  "type enum anyOf $ref $defs title description format pattern",
  "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
  "properties required additionalProperties items minItems maxItems",
];

/** "Limitations on nesting depth and size", on the page above. More than this fails the whole request. */
const STRICT_LIMITS: SchemaLimits = {
  properties: 5000,
  nesting: 10,
  values: 1000,
  characters: 120_000,
  list: 15_000,
};

/** Reports a string's constraints: free text has no schema. */
const freeText: Rewrite = {
  name: "freeText",
  order: "root",
  apply(node, { lose }) {
    if (!isFreeText(node)) return node;
    for (const keyword of Object.keys({ ...targetOf(node, node), ...node })) {
      if (DESCRIBES.has(keyword)) continue;
      lose(`${keyword} is left out: the tool takes free text.`, { rule: `unsupported:${keyword}` });
    }
    return node;
  },
};

const DESCRIBES: ReadonlySet<string> = new Set(["type", ...ANNOTATIONS, "$schema", "$id", "$ref", "$defs"]);

/** A dialect for schemas of objects; of free text it only tells what is lost. */
function unlessFreeText(rewrites: readonly Rewrite[]): readonly Rewrite[] {
  const unless = (rewrite: Rewrite): Rewrite => ({
    ...rewrite,
    apply: (node, context) => (isFreeText(context.root) ? node : rewrite.apply(node, context)),
  });
  return [freeText, ...rewrites.map(unless)];
}

/** Strict mode rejects `default`. In the description it still works; no loss, since validation fills it in. */
const defaultToDescription: Rewrite = {
  name: "defaultToDescription",
  apply(node) {
    if (!Object.hasOwn(node, "default")) return node;
    const { default: value, ...rest } = node;
    return value === null ? rest : describe(rest, { default: value });
  },
};
