import type { Rewrite } from "../lower.ts";
import { ANNOTATIONS } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { without } from "./keywords.ts";
import { mergeSchemas } from "./merge.ts";
import { branchesOf } from "./types.ts";

/**
 * Merges `allOf` into its node, for dialects without it. What has no common form (two patterns, two unions) is a loss:
 * the first stays. A reference in an `allOf` is merged as what it points to, unless it is recursive.
 */
export function foldAllOf(): Rewrite {
  return {
    name: "foldAllOf",
    order: "up",
    apply(node, { lose, resolve }) {
      if (!Array.isArray(node["allOf"])) return closeEvaluated(node);
      const open = new Set<string>();
      const lost = new Set<string>();
      const merge = (one: JsonSchema, other: JsonSchema) => mergeSchemas(one, other, (keyword) => lost.add(keyword));
      const fold = (given: JsonSchema): JsonSchema => {
        let merged = without(given, ["allOf"]);
        for (const branch of branchesOf(given, "allOf")) {
          if (branch === false) lose("A part that nothing fits is left out.");
          else if (branch !== true) merged = merge(merged, partOf(branch));
        }
        return merged;
      };
      const partOf = (branch: JsonSchema): JsonSchema => {
        const { $ref: ref, ...beside } = branch;
        if (typeof ref !== "string" || isOnly(branch, node))
          return Array.isArray(branch["allOf"]) ? fold(branch) : branch;
        const found = resolve(ref);
        if (found === undefined || open.has(ref)) {
          lose(`${ref} can not be merged: it is recursive or points to nothing.`);
          return beside;
        }
        open.add(ref);
        const part = merge(beside, fold(without(found, ["$defs", "definitions"])));
        open.delete(ref);
        return part;
      };
      const merged = fold(node);
      if (lost.size > 0) lose(`The parts of allOf have no common form in: ${[...lost].join(", ")}.`);
      return closeEvaluated(merged);
    },
  };
}

/** With no other subschema beside it, `unevaluatedProperties: false` is `additionalProperties: false`. */
function closeEvaluated(node: JsonSchema): JsonSchema {
  if (node["unevaluatedProperties"] !== false || node["additionalProperties"] !== undefined) return node;
  if (APPLICATORS.some((keyword) => Object.hasOwn(node, keyword))) return node;
  return { ...without(node, ["unevaluatedProperties"]), additionalProperties: false };
}

const APPLICATORS = ["allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "dependentSchemas", "not"];

/** The one part of an `allOf` without neighbours that bind: its reference can stay one. */
function isOnly(branch: JsonSchema, node: JsonSchema): boolean {
  return (
    branchesOf(node, "allOf").length === 1 &&
    Object.keys(branch).length === 1 &&
    Object.keys(node).every((keyword) => keyword === "allOf" || ANNOTATIONS.includes(keyword))
  );
}
