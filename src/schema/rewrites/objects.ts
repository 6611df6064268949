import { getOwn, isRecord, mapContent } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import type { JsonSchema } from "../types.ts";
import { dropKeywords, without } from "./keywords.ts";
import { nullableProperty } from "./nullability.ts";
import { isObjectNode, listedNames, propertiesOf, requiredOf, typesOf } from "../fields.ts";

/**
 * A record with listed names (`z.record(z.enum(["a", "b"]), …)`) becomes an object with these properties. No loss.
 */
export const listedNamesToProperties: Rewrite = {
  name: "listedNamesToProperties",
  apply(node) {
    const { propertyNames: _, additionalProperties: value = true, patternProperties, ...rest } = node;
    const names = listedNames(node);
    const stated = propertiesOf(node);
    if (names === undefined || !names.every((name) => typeof name === "string")) return node;
    if (patternProperties !== undefined || !Object.keys(stated).every((name) => names.includes(name))) return node;
    const properties = names.map((name) => [name, getOwn(stated, name) ?? value]);
    return { ...rest, properties: Object.fromEntries(properties), additionalProperties: false };
  },
};

/**
 * `additionalProperties: false` on every object. An object that does not mention other properties is closed without a
 * report; one that is open on purpose, a record, or any object at all (no properties) is a loss. Run {@link foldAllOf}
 * and {@link spreadUnions} first: closing the parts of an intersection leaves nothing that fits.
 */
export const closeObjects: Rewrite = {
  name: "closeObjects",
  apply(node, { lose, isRoot }) {
    if (!isObjectNode(node) || node["additionalProperties"] === false) return node;
    const isAnyObject = !isRoot && node["properties"] === undefined;
    if (node["additionalProperties"] !== undefined || isAnyObject) {
      const isEmpty = Object.keys(propertiesOf(node)).length === 0;
      lose(
        `An object with other properties cannot be expressed: ${isEmpty ? "an empty one is left" : "it is closed"}.`,
      );
    }
    return { ...node, additionalProperties: false };
  },
};

/**
 * Removes `additionalProperties`. A `false` goes without a report (inputs are still validated); a schema is a loss,
 * kept in the description.
 */
export const openObjects: Rewrite = {
  name: "openObjects",
  apply(node, context) {
    const keyword = "additionalProperties";
    return isRecord(node[keyword]) ? dropKeywords([keyword]).apply(node, context) : without(node, [keyword]);
  },
};

/**
 * Makes every property required, and optional ones nullable: for dialects in which nothing may be left out. No loss:
 * `dropNulls()` of `coerce.ts` removes the nulls before validation.
 */
export const requireAll: Rewrite = {
  name: "requireAll",
  apply(given, context) {
    if (given["properties"] === undefined && given["required"] === undefined) return given;
    if (!isObjectNode(given)) return given;
    const node = requireDeclared.apply(given, context);
    const properties = propertiesOf(node);
    const required = new Set(requiredOf(node));
    const nullable = mapContent(properties, (property, name) =>
      required.has(name) ? property : nullableProperty(property as JsonSchema, context),
    );
    return { ...node, properties: nullable, required: Object.keys(properties) };
  },
};

/**
 * Removes names from `required` that have no property, and a list without any: some providers reject the whole request
 * for one, or for the empty list, as JSON Schema did up to draft 4 (https://github.com/openclaw/openclaw/pull/52106).
 */
export const requireDeclared: Rewrite = {
  name: "requireDeclared",
  apply(node, { lose }) {
    const required = requiredOf(node);
    const properties = propertiesOf(node);
    const declared = required.filter((name) => Object.hasOwn(properties, name));
    const missing = required.filter((name) => !declared.includes(name));
    if (missing.length > 0) lose(`Required without a schema of its own: ${missing.join(", ")}.`);
    if (declared.length === 0) return without(node, ["required"]);
    return missing.length === 0 ? node : { ...node, required: declared };
  },
};

/** Gives the root `type: "object"` and `properties`. A root that is not an object is a loss; none of it is kept. */
export const ensureObjectRoot: Rewrite = {
  name: "ensureObjectRoot",
  order: "root",
  apply(node, { lose }) {
    const types = typesOf(node);
    if (types.length > 0 && !types.includes("object")) {
      lose(`The arguments of a call are an object, the schema says ${types.join(" or ")}.`);
      return { type: "object", properties: {} };
    }
    if (node["type"] === "object" && node["properties"] !== undefined) return node;
    const { type: _, ...rest } = node;
    return { type: "object", properties: {}, ...rest };
  },
};
