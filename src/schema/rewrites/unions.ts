import { typeOfValue } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import type { JsonSchema } from "../types.ts";
import { without } from "./keywords.ts";
import { mergeSchemas, sameValue } from "./merge.ts";
import {
  ANNOTATIONS,
  branchesOf,
  isObjectNode,
  own,
  propertiesOf,
  requiredOf,
  typeOfKeyword,
  typesOf,
} from "./types.ts";

/**
 * `oneOf` becomes `anyOf`. No loss where no value can fit two branches
 * (different types, or one property with different constants, as in a discriminated union).
 */
export function oneOfToAnyOf(): Rewrite {
  return {
    name: "oneOfToAnyOf",
    apply(node, { lose, resolve }) {
      if (!Array.isArray(node["oneOf"])) return node;
      const branches = branchesOf(node, "oneOf");
      const exclusive = branches.every((one, index) =>
        branches.slice(index + 1).every((other) => disjoint(one, other, node, resolve)),
      );
      if (!exclusive) lose("oneOf becomes anyOf: a value that fits several branches passes too.");
      if (!Array.isArray(node["anyOf"])) return replaceKeyword(node, "oneOf", "anyOf", branches);
      return { ...without(node, ["oneOf"]), allOf: [...branchesOf(node, "allOf"), { anyOf: branches }] };
    },
  };
}

/** Whether no value of the node can fit both branches, as far as types and literals tell. */
function disjoint(
  one: JsonSchema | boolean,
  other: JsonSchema | boolean,
  node: JsonSchema,
  resolve: (ref: string) => JsonSchema | undefined,
): boolean {
  const [first, second] = [target(one, resolve), target(other, resolve)];
  if (first === undefined || second === undefined) return false;
  const [ours, theirs] = [typesOf(first), typesOf(second)];
  if (ours.length > 0 && theirs.length > 0 && !ours.some((type) => theirs.some((same) => overlap(type, same))))
    return true;
  if (excludes(first, second)) return true;
  // A property that both require, with no value in common. It says nothing of values that are no objects.
  if (![first, second, node].some((schema) => typesOf(schema).join() === "object")) return false;
  return requiredOf(first).some((name) => {
    const [mine, yours] = [own(propertiesOf(first), name), own(propertiesOf(second), name)];
    if (mine === undefined || yours === undefined || !requiredOf(second).includes(name)) return false;
    return excludes(target(mine, resolve), target(yours, resolve));
  });
}

function overlap(type: string, other: string): boolean {
  return type === other || [type, other].toSorted().join() === "integer,number";
}

function excludes(one: JsonSchema | undefined, other: JsonSchema | undefined): boolean {
  const [values, others] = [literals(one), literals(other)];
  return (
    values !== undefined &&
    others !== undefined &&
    !values.some((value) => others.some((same) => sameValue(value, same)))
  );
}

function target(node: JsonSchema | boolean, resolve: (ref: string) => JsonSchema | undefined): JsonSchema | undefined {
  if (typeof node === "boolean") return undefined;
  return typeof node["$ref"] === "string" ? resolve(node["$ref"]) : node;
}

/** The values that a node allows, where it lists them. */
function literals(node: JsonSchema | undefined): readonly unknown[] | undefined {
  if (node === undefined) return undefined;
  if (Object.hasOwn(node, "const")) return [node["const"]];
  return Array.isArray(node["enum"]) ? node["enum"] : undefined;
}

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
      const fold = (given: JsonSchema): JsonSchema => {
        let merged = without(given, ["allOf"]);
        for (const branch of branchesOf(given, "allOf")) {
          if (branch === true) continue;
          if (branch === false) {
            lose("A part that nothing fits is left out.");
            continue;
          }
          const ref = branch["$ref"];
          let part = branch;
          if (typeof ref === "string" && !isOnly(branch, node)) {
            const found = resolve(ref);
            if (found === undefined || open.has(ref)) {
              lose(`${ref} can not be merged: it is recursive or points to nothing.`);
              part = without(branch, ["$ref"]);
            } else {
              open.add(ref);
              part = mergeSchemas(
                without(branch, ["$ref"]),
                fold(without(found, ["$defs", "definitions"])),
                (keyword) => lost.add(keyword),
              );
              open.delete(ref);
            }
          } else if (Array.isArray(branch["allOf"])) part = fold(branch);
          merged = mergeSchemas(merged, part, (keyword) => lost.add(keyword));
        }
        return merged;
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

/**
 * Puts what stands beside an `anyOf` of objects into each branch, so that every branch is whole and can be closed on its own.
 */
export function spreadUnions(): Rewrite {
  return {
    name: "spreadUnions",
    apply(node, { lose, isRoot }) {
      const branches = branchesOf(node, "anyOf");
      const beside = Object.keys(node).filter(
        (keyword) =>
          keyword !== "anyOf" && keyword !== "$defs" && keyword !== "definitions" && !ANNOTATIONS.includes(keyword),
      );
      if (branches.length === 0 || beside.length === 0 || !isObjectNode(node)) return node;
      const shared = Object.fromEntries(beside.map((keyword) => [keyword, node[keyword]]));
      const spread = branches.map((branch) => {
        if (typeof branch === "boolean") return branch ? shared : false;
        if (typeof branch["$ref"] === "string") return { allOf: [branch, shared] };
        return mergeSchemas(branch, shared, (keyword) =>
          lose(`${keyword} beside anyOf and in a branch have no common form.`),
        );
      });
      const rest = { ...without(node, beside), anyOf: spread };
      return isRoot ? { type: "object", ...rest } : rest;
    },
  };
}

/**
 * Makes one object of a union at the root, for dialects that want a plain object there: all properties of all branches,
 * of which those that every branch requires stay required. A loss, unless only one branch is left.
 */
export function flattenRootUnion(): Rewrite {
  return {
    name: "flattenRootUnion",
    apply(node, { isRoot, lose, resolve }) {
      if (!isRoot || unionOf(node) === undefined) return node;
      const clash = (keyword: string) => lose(`${keyword} beside the union and in a branch have no common form.`);
      const { $defs, definitions, ...rest } = node;
      const branches = leavesOf(rest, resolve, clash);
      const objects = branches.filter((branch) => isObjectNode(branch));
      if (branches.length !== 1) {
        lose(`A union at the root becomes one object with the properties of all ${branches.length} branches.`);
      }
      const [first, ...others] = objects;
      return {
        ...keepOnly(node, ANNOTATIONS),
        ...(others.reduce(eitherObject, first ?? {}) as object),
        type: "object",
        ...($defs !== undefined && { $defs }),
        ...(definitions !== undefined && { definitions }),
      };
    },
  };
}

/** The branches of a union, and of the unions in its branches, each whole: with what stands beside the union. */
function leavesOf(
  node: JsonSchema,
  resolve: (ref: string) => JsonSchema | undefined,
  clash: (keyword: string) => void,
  depth = 0,
): JsonSchema[] {
  const keyword = unionOf(node);
  if (keyword === undefined || depth > 8) return [node]; // deeper only in a union that refers to itself
  const beside = without(node, [keyword]);
  return branchesOf(node, keyword).flatMap((branch) => {
    if (branch === false) return [];
    if (branch === true) return leavesOf(beside, resolve, clash, depth + 1);
    const { $ref, ...more } = branch;
    const found = typeof $ref === "string" ? target(branch, resolve) : undefined;
    const part = found === undefined ? branch : mergeSchemas(more, found, clash);
    return leavesOf(mergeSchemas(without(part, ANNOTATIONS), beside, clash), resolve, clash, depth + 1);
  });
}

function unionOf(node: JsonSchema): "anyOf" | "oneOf" | undefined {
  if (Array.isArray(node["anyOf"])) return "anyOf";
  return Array.isArray(node["oneOf"]) ? "oneOf" : undefined;
}

function keepOnly(node: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(node).filter(([keyword]) => keywords.includes(keyword)));
}

/** An object schema that lets through what fits either: looser than the two. */
function eitherObject(first: JsonSchema, second: JsonSchema): JsonSchema {
  const [ours, theirs] = [propertiesOf(first), propertiesOf(second)];
  const names = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])];
  const properties = names.map((name) => {
    const [one, other] = [own(ours, name), own(theirs, name)];
    if (one === undefined || other === undefined || sameValue(one, other)) return [name, one ?? other];
    return [name, eitherValue(one, other)];
  });
  const required = requiredOf(first).filter((name) => requiredOf(second).includes(name));
  const closed = first["additionalProperties"] === false && second["additionalProperties"] === false;
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(closed && { additionalProperties: false }),
  };
}

/** Lists of constants become one list; anything else stays a union. */
function eitherValue(one: JsonSchema | boolean, other: JsonSchema | boolean): JsonSchema {
  if (typeof one !== "boolean" && typeof other !== "boolean") {
    const [values, others] = [literals(one), literals(other)];
    if (values !== undefined && others !== undefined) {
      const all = [...values, ...others.filter((value) => !values.some((same) => sameValue(value, same)))];
      const types = [...new Set(all.map(typeOfValue))];
      const { description } = one;
      return {
        ...(description !== undefined && { description }),
        type: types.length === 1 ? types[0] : types,
        enum: all,
      };
    }
  }
  const list = [one, other].flatMap((branch) => {
    if (typeof branch === "boolean") return [branch];
    return Object.keys(branch).length === 1 && Array.isArray(branch["anyOf"]) ? branchesOf(branch, "anyOf") : [branch];
  });
  return { anyOf: list };
}

/** `type: ["string", "integer"]` becomes an `anyOf` with one type a branch, each with the keywords that are about its type. */
export function typeArrayToAnyOf(options: { readonly keepNull?: boolean } = {}): Rewrite {
  const { keepNull = false } = options;
  return {
    name: "typeArrayToAnyOf",
    apply(node, { lose }) {
      const { type } = node;
      if (!Array.isArray(type)) return node;
      const types = typesOf(node);
      if (types.length === 1) return { ...node, type: types[0] };
      if (keepNull && types.length === 2 && types.includes("null")) return node;
      if (Array.isArray(node["anyOf"])) {
        lose(`type ${types.join(" or ")} beside anyOf is left out.`);
        return without(node, ["type"]);
      }
      const outside: [string, unknown][] = [];
      const inside: [string, unknown][] = [];
      for (const [keyword, value] of Object.entries(node)) {
        if (keyword === "type") continue;
        (keyword !== "enum" && typeOfKeyword(keyword) === undefined ? outside : inside).push([keyword, value]);
      }
      const branches = types.flatMap((one) => {
        const about = inside.filter(
          ([keyword]) => keyword !== "enum" && typeOfKeyword(keyword) === (one === "integer" ? "number" : one),
        );
        const values = node["enum"];
        if (!Array.isArray(values)) return [{ type: one, ...Object.fromEntries(about) }];
        const fitting = values.filter(
          (value) => typeOfValue(value) === one || (one === "number" && typeof value === "number"),
        );
        return fitting.length === 0 ? [] : [{ type: one, ...Object.fromEntries(about), enum: fitting }];
      });
      return { ...Object.fromEntries(outside), anyOf: branches };
    },
  };
}

/** `nullable: true`, as OpenAPI 3.0 has it, becomes a type: for dialects without the keyword. */
export function nullableToType(): Rewrite {
  return {
    name: "nullableToType",
    apply(node) {
      if (!Object.hasOwn(node, "nullable")) return node;
      const { nullable, ...rest } = node;
      const types = typesOf(node);
      const values = node["enum"] ?? [null];
      // Without a type it says nothing, and a list of values says itself whether null is one of them.
      const isSaid = types.length === 0 || types.includes("null") || !Array.isArray(values) || !values.includes(null);
      if (nullable !== true || isSaid) return rest;
      return { ...rest, type: [...types, "null"] };
    },
  };
}

/**
 * Says `null` as OpenAPI 3.0 does: `nullable: true` in place of a null type, a null branch or a null in an enum.
 * Run it before {@link typeArrayToAnyOf}.
 */
export function nullableKeyword(): Rewrite {
  return {
    name: "nullableKeyword",
    apply(node) {
      let changed = node;
      const types = typesOf(node);
      if (types.length > 1 && types.includes("null")) {
        const others = types.filter((type) => type !== "null");
        changed = { ...changed, type: others.length === 1 ? others[0] : others, nullable: true };
      }
      const values = changed["enum"];
      if (Array.isArray(values) && values.includes(null) && values.length > 1) {
        changed = { ...changed, enum: values.filter((value) => value !== null), nullable: true };
      }
      for (const keyword of ["anyOf", "oneOf"] as const) {
        const branches = branchesOf(changed, keyword);
        const others = branches.filter((branch) => !isNull(branch));
        if (others.length === branches.length || others.length === 0) continue;
        const [only] = others;
        // One branch beside null: the union is gone. Its keywords may meet those around it only where they just describe.
        const beside = Object.keys(changed).filter((name) => name !== keyword);
        if (
          others.length === 1 &&
          typeof only === "object" &&
          beside.every((name) => ANNOTATIONS.includes(name) || name === "nullable")
        ) {
          changed = { ...only, ...without(changed, [keyword]), nullable: true };
        } else {
          changed = { ...changed, [keyword]: others, nullable: true };
        }
      }
      return changed;
    },
  };
}

function isNull(branch: JsonSchema | boolean): boolean {
  if (typeof branch === "boolean") return false;
  if (branch["type"] === "null" || (Object.hasOwn(branch, "const") && branch["const"] === null)) return true;
  const values = branch["enum"];
  return Array.isArray(values) && values.length > 0 && values.every((value) => value === null);
}

/** The node with one keyword under another name, in the same place. */
function replaceKeyword(node: JsonSchema, from: string, to: string, value: unknown): JsonSchema {
  return Object.fromEntries(
    Object.entries(node).map(([keyword, old]) => (keyword === from ? [to, value] : [keyword, old])),
  );
}
