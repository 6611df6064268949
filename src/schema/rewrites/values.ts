import { isRecord, sameValue, typeOfValue } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import { IN_PLACE, mapAnySubschemas, typeOfKeyword } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { describe, dropKeywords, without } from "./keywords.ts";
import { loosenAround } from "./loosen.ts";
import { literals, oneOrAll, propertiesOf, requiredOf, typesAmong, typesOf } from "../fields.ts";

/** `const: "x"` becomes `enum: ["x"]`, with its type if none is named. */
export const constToEnum: Rewrite = {
  name: "constToEnum",
  apply(node) {
    if (!Object.hasOwn(node, "const")) return node;
    const { const: value, ...rest } = node;
    return { type: typeOfValue(value), ...rest, enum: [value] };
  },
};

/**
 * A constant or a list of values names its type, also if null is one of them. No loss: some servers refuse the request
 * for one without ("type is not defined", https://github.com/earendil-works/pi/issues/4138).
 */
export const typedValues: Rewrite = {
  name: "typedValues",
  apply(node) {
    const values = literals(node);
    if (!values?.length || typesOf(node).length > 0) return node;
    const types = typesAmong(values);
    return types.filter((type) => type !== "null").length < 2 ? { type: oneOrAll(types), ...node } : node;
  },
};

/**
 * Leaves `enum` to strings that are not empty, for dialects whose enums hold nothing else. Other values are a loss: the
 * type is kept, and the description lists the values. As strings they would come back as strings, which only a coercing
 * tool could take; and a list without its empty string would no longer allow it.
 */
export const stringEnums: Rewrite = {
  name: "stringEnums",
  apply(node, { lose }) {
    const { enum: values, ...rest } = node;
    if (!Array.isArray(values) || values.every((value) => typeof value === "string" && value !== "")) return node;
    lose("A list of other values than filled strings is kept in the description only.", { rule: "unsupported:enum" });
    return describe({ ...rest, type: rest["type"] ?? oneOrAll(typesAmong(values)) }, { "one of": values });
  },
};

/**
 * Gives every node a type, inferred from its other keywords, unless its parts have one. A node that allows any value is
 * a loss: it becomes any string, number or boolean, or null.
 */
export const ensureType: Rewrite = {
  name: "ensureType",
  apply(node, { lose }) {
    if (typesOf(node).length > 0 || Object.keys(node).some((keyword) => IN_PLACE.has(keyword))) return node;
    const values = literals(node);
    const stated = Object.keys(node).flatMap((keyword) => typeOfKeyword(keyword) ?? []);
    const types = values === undefined ? [...new Set(stated)] : typesAmong(values);
    if (types.length > 0) return { type: oneOrAll(types), ...node };
    lose("A value of any type cannot be expressed.");
    return { type: ["string", "number", "boolean", "null"], ...node };
  },
};

/** Tuples in their 2020-12 form: earlier drafts have a list under `items`, for which APIs reject the whole request. */
export const listedItemsToPrefixItems: Rewrite = {
  name: "listedItemsToPrefixItems",
  apply(node) {
    const { items, additionalItems, ...rest } = node;
    if (!Array.isArray(items)) return node;
    return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) };
  },
};

/** An array whose items may be anything has to say so. */
export const ensureItems: Rewrite = {
  name: "ensureItems",
  apply(given, context) {
    const node = loosenAround(given, context, losesUnevaluated);
    if (!lacksItems(node)) return node;
    return { ...dropKeywords(["unevaluatedItems"]).apply(node, context), items: {} };
  },
};

function lacksItems(node: JsonSchema): boolean {
  return typesOf(node).includes("array") && !Object.hasOwn(node, "items");
}

/** Next to `items` there are none. */
function losesUnevaluated(node: JsonSchema): boolean {
  return lacksItems(node) && Object.hasOwn(node, "unevaluatedItems");
}

/** Turns a tuple into a list of one kind of item. A loss: which item belongs where is given up. */
export const tuplesToArrays: Rewrite = {
  name: "tuplesToArrays",
  apply(given, context) {
    const node = listedItemsToPrefixItems.apply(given, context);
    const { prefixItems: tuple, items: more, unevaluatedItems, ...rest } = node;
    if (!Array.isArray(tuple)) return given;
    context.lose("A tuple becomes a list of any of its items, in any order.");
    const isClosed = isNothing(more) || isNothing(unevaluatedItems);
    const kinds = [...tuple, ...(isRecord(more) ? [more] : [])]
      .map((item) => (item === true ? {} : item))
      .filter((item) => !isNothing(item));
    const distinct = Array.from(Map.groupBy(kinds, (item) => JSON.stringify(item)).values(), ([first]) => first);
    return {
      ...rest,
      items: distinct.length > 1 ? { anyOf: distinct } : (distinct[0] ?? {}),
      ...(isClosed && { maxItems: node["maxItems"] ?? tuple.length }),
    };
  },
};

/** `false`, or the form that {@link withoutBooleanSchemas} and zod give it. */
function isNothing(schema: unknown): boolean {
  return schema === false || sameValue(schema, { not: {} });
}

/** `true` becomes `{}`; a forbidden property is left out, any other `false` becomes `{ not: {} }`. */
export const withoutBooleanSchemas: Rewrite = {
  name: "withoutBooleanSchemas",
  apply(node, context) {
    let changed = loosenAround(node, context, losesForbidden);
    const forbidden = forbiddenIn(changed);
    if (losesForbidden(changed))
      context.lose(`Properties that must not be there are left out: ${forbidden.join(", ")}.`);
    if (forbidden.length > 0) {
      const properties = without(propertiesOf(changed), forbidden);
      const required = requiredOf(changed).filter((name) => !forbidden.includes(name));
      changed = { ...changed, properties, ...(changed["required"] !== undefined && { required }) };
    }
    return mapAnySubschemas(changed, (child, _, keyword) => {
      if (typeof child !== "boolean" || MAY_BE_BOOLEAN.includes(keyword)) return child;
      return child ? {} : { not: {} };
    });
  },
};

function forbiddenIn(node: JsonSchema): readonly string[] {
  const properties = propertiesOf(node);
  return Object.keys(properties).filter((name) => isNothing(properties[name]));
}

/** Whether an object says less without them: one that is open, or that requires one, so that nothing fits it. */
function losesForbidden(node: JsonSchema): boolean {
  const forbidden = forbiddenIn(node);
  if (forbidden.length === 0) return false;
  return node["additionalProperties"] !== false || requiredOf(node).some((name) => forbidden.includes(name));
}

const MAY_BE_BOOLEAN = ["additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"];
