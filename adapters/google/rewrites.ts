import { oneOrAll } from "../../src/schema/fields.ts";
import { isRecord } from "../../src/schema/json.ts";
import type { Rewrite, RewriteContext } from "../../src/schema/lower.ts";
import { recursiveIn } from "../../src/schema/refs.ts";
import { stringEnums, without } from "../../src/schema/rewrites.ts";
import { eachSubschema } from "../../src/schema/subschemas.ts";
import type { JsonSchema } from "../../src/schema/types.ts";

/** A tuple without further items expresses that by its length. */
export const closedTuples: Rewrite = {
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
export const listedValues: Rewrite = {
  name: "listedValues",
  apply(node, context) {
    const { enum: values, type, title, description, ...rest } = node;
    if (!Array.isArray(values) || values.every(isListed)) return node;
    const others = values.filter((value) => value !== null);
    const describing = { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
    if (values.length > 0 && others.length === 0) return { ...rest, ...describing, type: "null" };
    if (!others.every(isListed)) return stringEnums.apply(node, context);
    const types = [type].flat().filter((one) => one !== undefined && one !== "null");
    const listed = { ...(types.length > 0 && { type: oneOrAll(types) }), ...rest };
    // A list and a type both bind: null is then not one of the values.
    if (type !== undefined && ![type].flat().includes("null")) return { ...describing, ...listed, enum: others };
    return { ...describing, anyOf: [{ ...listed, enum: others }, { type: "null" }] };
  },
};

function isListed(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}

/** "Cyclic references ... may only be used within non-required properties": the required property that closes a cycle becomes optional. */
export const optionalCycles: Rewrite = {
  name: "optionalCycles",
  apply(node, { root, lose, resolve }) {
    const { properties, required } = node;
    if (!isRecord(properties) || !Array.isArray(required) || !recursiveIn(root).has(node)) return node;
    const closing = required.filter((name) => needs(properties[name], node, resolve));
    if (closing.length === 0) return node;
    lose(`Properties that contain their own object again cannot be required: ${closing.join(", ")}.`);
    const { required: _, ...rest } = node;
    const left = required.filter((name) => !closing.includes(name));
    return { ...rest, ...(left.length > 0 && { required: left }) };
  },
};

/** Whether a schema leads to `target` through references, but through no optional property. */
function needs(schema: unknown, target: JsonSchema, resolve: RewriteContext["resolve"]): boolean {
  const reached = new Set([schema]); // it grows meanwhile
  for (const one of reached) {
    if (one === target) return true;
    if (!isRecord(one)) continue;
    const { $ref, properties, required, $defs: _, ...rest } = one;
    if (typeof $ref === "string") reached.add(resolve($ref));
    if (isRecord(properties) && Array.isArray(required)) for (const name of required) reached.add(properties[name]);
    eachSubschema(rest, (child) => reached.add(child));
  }
  return false;
}

/** `exclusiveMinimum: 0` of an integer becomes `minimum: 1`. No loss. */
export const inclusiveBounds: Rewrite = {
  name: "inclusiveBounds",
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

/** A string with a value list has the format `enum`. */
export const enumFormat: Rewrite = {
  name: "enumFormat",
  apply: (node) => (Array.isArray(node["enum"]) ? { ...node, type: "string", format: "enum" } : node),
};

/** `anyOf` must stand alone (Vertex AI): its siblings move into each branch, unless the branch has its own. */
export const anyOfAlone: Rewrite = {
  name: "anyOfAlone",
  apply(node, { lose }) {
    const { anyOf: branches, ...beside } = node;
    if (!Array.isArray(branches) || Object.keys(beside).length === 0) return node;
    const meets = Object.keys(beside).filter(
      (keyword) =>
        keyword !== "description" &&
        keyword !== "title" &&
        branches.some((branch: JsonSchema) => Object.hasOwn(branch, keyword)),
    );
    if (meets.length > 0) lose(`${meets.join(", ")} next to anyOf and in a branch: the branch wins.`);
    return { anyOf: branches.map((branch: JsonSchema) => ({ ...beside, ...branch })) };
  },
};

/** An object below the root has properties, or leaves the keyword out: an empty list is rejected. */
export const filledObjects: Rewrite = {
  name: "filledObjects",
  apply(node, { isRoot }) {
    const { properties, ...rest } = node;
    const isEmpty = typeof properties === "object" && properties !== null && Object.keys(properties).length === 0;
    return isEmpty && !isRoot ? rest : node;
  },
};
