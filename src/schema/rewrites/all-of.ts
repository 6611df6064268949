import type { Rewrite } from "../lower.ts";
import { once } from "../once.ts";
import { binding, IN_PLACE, mapSubschemas } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { without } from "./keywords.ts";
import { lossOf, mergeSchemas } from "./merge.ts";
import { branchesOf } from "../fields.ts";

/** How many references may be merged inside the targets of others: they multiply. */
const MAX_NESTED = 10_000;
/** As many count where one is inside the value of another: there its whole content is copied. */
const COST_INSIDE = 33;

/** What was merged in a whole schema. */
const mergedIn = /* @__PURE__ */ once((_root: JsonSchema) => ({ count: 0 }));

/**
 * Merges `allOf` into its node, for dialects without it. Parts without a common form (two patterns, two unions) are a
 * loss: the first stays. A reference in an `allOf` is merged as its target; if that contains the same reference again,
 * only the reference is left. Run {@link refsAlone} after it: a reference that is the only part stays one, next to
 * annotations.
 */
export const foldAllOf: Rewrite = {
  name: "foldAllOf",
  order: "up",
  apply(node, { root, lose, resolve }) {
    /** The references being merged. */
    const open = new Set<string>();
    let depth = 0;
    const isTooMuch = (ref: string) => {
      if (open.size === 0) return false;
      const merged = mergedIn(root);
      merged.count += depth > 0 ? COST_INSIDE : 1;
      return open.has(ref) || merged.count > MAX_NESTED;
    };
    const merge = (one: JsonSchema, other: JsonSchema) => mergeSchemas(one, other, lossOf(lose, "allOf and in a part"));
    /** Half by half, at least one: each merge copies all that its two sides have. */
    const mergeAll = (all: JsonSchema[]): JsonSchema => {
      const half = all.length >> 1;
      return half === 0 ? all[0]! : merge(mergeAll(all.slice(0, half)), mergeAll(all.slice(half)));
    };
    const fold = (given: JsonSchema): JsonSchema => {
      const parts = [without(given, ["allOf"])];
      for (const branch of branchesOf(given, "allOf")) {
        if (branch === false) lose("A part that nothing fits is left out.");
        if (typeof branch === "boolean") continue;
        const { $ref: ref, ...beside } = branch;
        if (typeof ref !== "string" || isOnly(branch, given)) parts.push(fold(branch));
        else if (isTooMuch(ref)) {
          lose(`${ref} is recursive, or holds too many others: its siblings are left out.`);
          return { $ref: ref };
        } else {
          open.add(ref);
          const target = foldAll(without(resolve(ref) ?? {}, ["$defs"]));
          open.delete(ref);
          parts.push(merge(beside, target));
        }
      }
      return mergeAll(parts);
    };
    const foldAll = (given: JsonSchema): JsonSchema => {
      const merged = fold(given);
      depth++;
      const outcome = mapSubschemas(merged, foldAll);
      depth--;
      return outcome;
    };
    return closeEvaluated(fold(node));
  },
};

/** With no other subschema next to it, `unevaluatedProperties: false` is `additionalProperties: false`. */
function closeEvaluated(node: JsonSchema): JsonSchema {
  if (node["unevaluatedProperties"] !== false || node["additionalProperties"] !== undefined) return node;
  if (Object.keys(node).some((keyword) => IN_PLACE.has(keyword))) return node;
  return { ...without(node, ["unevaluatedProperties"]), additionalProperties: false };
}

/** The only part of an `allOf` without binding siblings: its reference can stay one. */
function isOnly(branch: JsonSchema, node: JsonSchema): boolean {
  return branchesOf(node, "allOf").length === 1 && Object.keys(branch).length === 1 && binding(node).length === 1;
}
