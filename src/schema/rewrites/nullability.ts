import type { Rewrite, RewriteContext } from "../lower.ts";
import { ANNOTATIONS, binding } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { without } from "./keywords.ts";
import { branchesOf, literals, oneOrAll, typesOf } from "../fields.ts";

/** `nullable: true` of OpenAPI 3.0 becomes a type: for dialects without the keyword. */
export const nullableToType: Rewrite = {
  name: "nullableToType",
  apply(node) {
    if (!Object.hasOwn(node, "nullable")) return node;
    const { nullable, ...rest } = node;
    const types = typesOf(node);
    const values = node["enum"] ?? [null];
    // Without a type it has no effect, and a list of values itself tells whether null is one of them.
    const isSaid = types.length === 0 || types.includes("null") || !Array.isArray(values) || !values.includes(null);
    if (nullable !== true || isSaid) return rest;
    return { ...rest, type: [...types, "null"] };
  },
};

/**
 * Expresses `null` as OpenAPI 3.0 does: `nullable: true` instead of a null type, a null branch or a null in an enum.
 * Run it before {@link typeArrayToAnyOf}, when `anyOf` is the only composition left, and no subschema is a boolean.
 */
export const nullableKeyword: Rewrite = {
  name: "nullableKeyword",
  apply(node) {
    let changed = node;
    const types = typesOf(node);
    if (types.length > 1 && types.includes("null")) {
      const others = types.filter((type) => type !== "null");
      changed = { ...changed, type: oneOrAll(others), nullable: true };
    }
    const values = changed["enum"];
    if (Array.isArray(values) && values.includes(null) && values.length > 1) {
      changed = { ...changed, enum: values.filter((value) => value !== null) };
      if (types.length === 0 || types.includes("null")) changed = { ...changed, nullable: true };
    }
    const branches = branchesOf(changed, "anyOf") as readonly JsonSchema[];
    const others = branches.filter((branch) => !isNull(branch));
    if (others.length === branches.length || others.length === 0) return changed;
    // One branch next to null: the union is gone. It may join what is around it only if that is annotations.
    const beside = without(changed, ["anyOf"]);
    const isAlone = others.length === 1 && binding(without(beside, ["nullable"])).length === 0;
    return isAlone ? { ...others[0], ...beside, nullable: true } : { ...changed, anyOf: others, nullable: true };
  },
};

function isNull(branch: JsonSchema): boolean {
  const values = literals(branch) ?? [];
  return branch["type"] === "null" || (values.length > 0 && values.every((value) => value === null));
}

/**
 * A schema that also accepts `null`: for rewrites that make optional properties required. Run them when no composition
 * except `anyOf` is left, and no subschema is a boolean.
 *
 * @param style how a plain type expresses it: `type: ["string", "null"]`, or an `anyOf` for dialects without type lists
 */
export function nullableProperty(
  node: JsonSchema,
  { resolve }: Pick<RewriteContext, "resolve">,
  style: "types" | "anyOf" = "types",
): JsonSchema {
  if (admitsNull(node, resolve)) return node;
  const types = typesOf(node);
  const isPlain = ["anyOf", "$ref", "const"].every((keyword) => !Object.hasOwn(node, keyword));
  if (style === "types" && isPlain && types.length > 0) {
    const values = node["enum"];
    return {
      ...node,
      type: [...new Set([...types, "null"])],
      ...(Array.isArray(values) && { enum: [...values, null] }),
    };
  }
  const branches = branchesOf(node, "anyOf");
  const said = binding(node);
  if (branches.length > 0 && said.length === 1) return { ...node, anyOf: [...branches, { type: "null" }] };
  // Annotations stay outside, where a reader looks for them; constraints go into the branch.
  return { ...without(node, said), anyOf: [without(node, ANNOTATIONS), { type: "null" }] };
}

/** Whether a schema accepts `null`, as far as can be told. */
function admitsNull(node: JsonSchema, resolve: RewriteContext["resolve"], depth = 0): boolean {
  if (depth > 32) return false; // a reference to itself
  const types = typesOf(node);
  if (types.length > 0 && !types.includes("null")) return false;
  if (literals(node)?.includes(null) === false) return false;
  const inside = (branch: JsonSchema) => admitsNull(branch, resolve, depth + 1);
  if (typeof node["$ref"] === "string") {
    const target = resolve(node["$ref"]);
    if (target === undefined || !inside(target)) return false;
  }
  return !Array.isArray(node["anyOf"]) || (node["anyOf"] as JsonSchema[]).some(inside);
}
