import { cyclesFrom } from "../cycles.ts";
import { oneOrAll, propertiesOf, requiredOf, typesOf } from "../fields.ts";
import { getOwn, isRecord } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import { once } from "../once.ts";
import { linksOf } from "../refs.ts";
import { walkSchema } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { foldAllOf } from "./all-of.ts";
import { keepKeywords, only, tellingBounds, without } from "./keywords.ts";
import { nullableToType } from "./nullability.ts";
import { ensureObjectRoot, listedNamesToProperties, requireDeclared } from "./objects.ts";
import { keepPatterns } from "./patterns.ts";
import { keepLocalRefs, refsAlone } from "./refs.ts";
import { flattenRootUnion, oneOfToAnyOf } from "./unions.ts";
import { constToEnum, listedItemsToPrefixItems, stringEnums, typedValues, withoutBooleanSchemas } from "./values.ts";

/**
 * JSON Schema for a server that silently ignores what it does not read: that is moved into the description, where the
 * model can read it, and reported. Two of the wires share it.
 *
 * Read are `$defs`, `$ref` (without siblings, in a cycle only below an optional property), `type`, `format`, `title`,
 * `description`, `enum` (of strings and numbers), `items`, `prefixItems`, `minItems`, `maxItems`, `minimum`, `maximum`,
 * `anyOf`, `oneOf` (as `anyOf`), `properties`, `additionalProperties` and `required`.
 * https://ai.google.dev/gemini-api/docs/structured-output#json-schema-support ·
 * https://github.com/googleapis/python-genai/issues/1093
 */
export function describedSchema(): readonly Rewrite[] {
  return [
    keepLocalRefs,
    nullableToType,
    listedNamesToProperties,
    listedItemsToPrefixItems,
    closedTuples,
    withoutBooleanSchemas,
    foldAllOf,
    refsAlone,
    flattenRootUnion,
    // One of two merged properties may have been a reference.
    refsAlone,
    oneOfToAnyOf,
    constToEnum,
    typedValues,
    listedValues,
    integerBounds,
    tellingBounds,
    keepPatterns(() => false),
    keepKeywords([
      "type enum anyOf $ref $defs title description default format minimum maximum",
      "properties required additionalProperties propertyOrdering items prefixItems minItems maxItems",
    ]),
    requireDeclared,
    optionalCycles,
    ensureObjectRoot,
  ];
}

/** Whether a lowered input has any property: an object without one is declared without a schema. */
export function hasParameters({ properties, additionalProperties = false }: JsonSchema): boolean {
  return additionalProperties !== false || Object.keys(properties as object).length > 0;
}

/** A tuple without further items expresses that by its length. */
const closedTuples: Rewrite = {
  name: "closedTuples",
  apply(node) {
    const { prefixItems, items, ...rest } = node;
    if (!Array.isArray(prefixItems) || items !== false) return node;
    const { maxItems } = rest;
    const most = typeof maxItems === "number" ? Math.min(maxItems, prefixItems.length) : prefixItems.length;
    return { ...rest, prefixItems, maxItems: most };
  },
};

/** Value lists hold strings and numbers: `null` becomes a branch, a list with anything else is only described. */
const listedValues: Rewrite = {
  name: "listedValues",
  apply(node, context) {
    const { enum: values } = node;
    if (!Array.isArray(values) || values.every(isListed)) return node;
    const others = values.filter((value) => value !== null);
    if (others.length === 0) return { ...without(node, ["enum"]), type: "null" };
    if (!others.every(isListed)) return stringEnums.apply(node, context);
    // A list and a type both bind: null is then not one of the values.
    const types = typesOf(node);
    if (types.length > 0 && !types.includes("null")) return { ...node, enum: others };
    const named = types.filter((one) => one !== "null");
    const rest = without(node, ["enum", "type", "title", "description"]);
    const listed = { ...(named.length > 0 && { type: oneOrAll(named) }), ...rest, enum: others };
    return { ...only(node, ["title", "description"]), anyOf: [listed, { type: "null" }] };
  },
};

function isListed(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}

/**
 * "Cyclic references ... may only be used within non-required properties": the required property that closes a cycle
 * becomes optional.
 */
const optionalCycles: Rewrite = {
  name: "optionalCycles",
  apply(node, { root, lose }) {
    const cycles = cyclesIn(root);
    const cycle = cycles.get(node);
    if (cycle === undefined) return node;
    const { required: _, ...rest } = node;
    const names = requiredOf(node);
    const isClosing = (name: string) => cycles.get(getOwn(propertiesOf(node), name) as JsonSchema) === cycle;
    const closing = names.filter(isClosing);
    if (closing.length === 0) return node;
    lose(`Properties that contain their own object again cannot be required: ${closing.join(", ")}.`);
    const left = names.filter((name) => !isClosing(name));
    return { ...rest, ...(left.length > 0 && { required: left }) };
  },
};

/** The schemas that need themselves: they lead to themselves through references, but through no optional property. */
const cyclesIn = /* @__PURE__ */ once((root: JsonSchema) => {
  const all: JsonSchema[] = [];
  walkSchema(root, (node) => all.push(node));
  // Nothing leads back to where all of them are found.
  const start: JsonSchema = {};
  return cyclesFrom(start, (node) => (node === start ? all : needsOf(node, root)));
});

function needsOf(node: JsonSchema, root: JsonSchema): JsonSchema[] {
  const { properties: _, $defs: __, ...rest } = node;
  const required = requiredOf(node).map((name) => getOwn(propertiesOf(node), name));
  return [...required.filter(isRecord), ...linksOf(rest, root)];
}

/**
 * `exclusiveMinimum: 0` of an integer becomes `minimum: 1`. Before {@link tellingBounds}: where calls are held to their
 * declarations, each bound counts against a limit of the whole request, "too many states for serving"
 * (https://github.com/googleapis/python-genai/issues/660).
 */
export const integerBounds: Rewrite = {
  name: "integerBounds",
  apply(node) {
    if (node["type"] !== "integer") return node;
    const { exclusiveMinimum: above, exclusiveMaximum: below, minimum = -Infinity, maximum = Infinity } = node;
    let changed = node;
    if (typeof above === "number") {
      const least = Math.max(Math.floor(above) + 1, Number(minimum));
      changed = { ...without(changed, ["exclusiveMinimum"]), minimum: least };
    }
    if (typeof below === "number") {
      const most = Math.min(Math.ceil(below) - 1, Number(maximum));
      changed = { ...without(changed, ["exclusiveMaximum"]), maximum: most };
    }
    return changed;
  },
};

/** `additionalProperties: {}` means the same as `true`, which is the default for objects here anyway. */
export const anythingElse: Rewrite = {
  name: "anythingElse",
  apply(node) {
    const { additionalProperties: other } = node;
    return isRecord(other) && Object.keys(other).length === 0 ? { ...node, additionalProperties: true } : node;
  },
};
