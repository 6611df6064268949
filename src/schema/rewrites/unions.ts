import { getOwn, isRecord, sameValue, typeOfValue } from "../json.ts";
import type { Rewrite, RewriteContext } from "../lower.ts";
import { once } from "../once.ts";
import { recursiveIn, targetOf } from "../refs.ts";
import { ANNOTATIONS, binding, eachSubschema, holdsSchemas, typeOfKeyword } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { foldAllOf } from "./all-of.ts";
import { describe, dropKeywords, only, without } from "./keywords.ts";
import { commonTypes, lossOf, mergeSchemas, type Conflict } from "./merge.ts";
import {
  branchesOf,
  isObjectNode,
  literals,
  oneOrAll,
  propertiesOf,
  requiredOf,
  typesAmong,
  typesOf,
} from "../fields.ts";

/**
 * `oneOf` becomes `anyOf`. No loss if no value can fit two branches (different types, or one property with different
 * constants, as in a discriminated union).
 */
export const oneOfToAnyOf: Rewrite = {
  name: "oneOfToAnyOf",
  apply(node, { lose, root }) {
    if (!Array.isArray(node["oneOf"])) return node;
    const branches = branchesOf(node, "oneOf");
    if (!areExclusive(branches.map((branch) => kindOfBranch(branch, node, root))))
      lose("oneOf becomes anyOf: a value that fits several branches passes too.", { rule: "oneOfToAnyOf" });
    const rest = without(node, ["oneOf"]);
    if (!Array.isArray(node["anyOf"])) return { ...rest, anyOf: branches };
    return { ...rest, allOf: [...branchesOf(node, "allOf"), { anyOf: branches }] };
  },
};

/** What a value must be to fit a branch of a node, as far as types and literals tell. */
interface Kind {
  /** Empty if any. */
  readonly types: readonly string[];
  /** What it may be (at `undefined`), and the values of properties that it must have if it is an object. */
  readonly constants: ReadonlyMap<string | undefined, readonly unknown[]>;
  readonly isObject: boolean;
}

function kindOfBranch(branch: JsonSchema | boolean, node: JsonSchema, root: JsonSchema): Kind {
  const schema = target(branch, root) ?? {};
  const constants = [undefined, ...requiredOf(schema)].flatMap((name) => {
    const place = name === undefined ? schema : getOwn(propertiesOf(schema), name);
    const values = literals(target(place, root) ?? {});
    return values === undefined ? [] : [[name, values] as const];
  });
  return {
    types: typesOf(schema),
    constants: new Map(constants),
    isObject: [schema, node].some((one) => typesOf(one).join() === "object"),
  };
}

/** Whether no value fits two of them. Those with different values in one place need not be compared. */
function areExclusive(kinds: readonly Kind[]): boolean {
  const listed = kinds.flatMap((kind) =>
    [...kind.constants].flatMap(([place, values]) =>
      place === undefined || kind.isObject ? values.map((value) => ({ kind, place, value })) : [],
    ),
  );
  const byPlace = Array.from(Map.groupBy(listed, ({ place }) => place).values(), (all) =>
    Array.from(Map.groupBy(all, ({ value }) => (typeof value === "object" ? undefined : value)).values(), (same) =>
      same.map(({ kind }) => kind),
    ),
  );
  // The place that tells most of them apart.
  const [alike = []] = byPlace.toSorted((one, other) => other.length - one.length);
  const told = new Set(alike.flat());
  const others = kinds.filter((kind) => !told.has(kind));
  const areDisjoint = (some: readonly Kind[], all: readonly Kind[]) =>
    some.every((one) => all.every((other) => other === one || disjoint(one, other)));
  return areDisjoint(others, kinds) && alike.every((same) => areDisjoint(same, same));
}

function disjoint(one: Kind, other: Kind): boolean {
  if (areApart(one.types, other.types)) return true;
  for (const [place, values] of one.constants) {
    const isSure = place === undefined || one.isObject || other.isObject;
    if (isSure && excludes(values, other.constants.get(place))) return true;
  }
  return false;
}

/** Whether types are named on both sides, and none is common. */
function areApart(types: readonly string[], others: readonly string[]): boolean {
  return types.length > 0 && others.length > 0 && commonTypes(types, others).length === 0;
}

function excludes(values: readonly unknown[], others: readonly unknown[] | undefined): boolean {
  return others !== undefined && !values.some((value) => others.some((same) => sameValue(value, same)));
}

/** A schema, or what it refers to; `undefined` for none, and for `true` and `false`. */
function target(node: JsonSchema | boolean | undefined, root: JsonSchema): JsonSchema | undefined {
  if (typeof node !== "object") return undefined;
  return typeof node["$ref"] === "string" ? targetOf(node, root) : node;
}

/** In subschemas of the whole schema: no provider takes as many. */
const MAX_SPREAD = 5_000;

/**
 * Moves the siblings of an `anyOf` into each branch, if they have a type: it is complete then, and can be closed alone.
 * A branch of another type fits nothing and is left out. Unions within the siblings multiply: in a schema that would
 * become too large, those that copy others become one object, with a loss. Run {@link foldAllOf} and this again after
 * it, for what is put next to a reference to another union.
 */
export const spreadUnions: Rewrite = {
  name: "spreadUnions",
  apply(node, context) {
    const { lose, isRoot, root, resolve } = context;
    const types = typesOf(node);
    const branches = branchesOf(node, "anyOf").filter(
      (one) => typeof one === "boolean" || !areApart(types, typesOf(one)),
    );
    const beside = binding(without(node, ["anyOf", "$defs"]));
    const isTyped = types.length > 0 || isObjectNode(node);
    if (branches.length === 0 || beside.length === 0 || !isTyped) return node;
    if (beside.some(holdsSchemas) && sizeOnceSpread(root) > MAX_SPREAD) {
      if (!isObjectNode(node)) return dropKeywords(["anyOf"]).apply(node, context);
      const { type = "object" } = node;
      // What is inside is visited again: a target that contains itself would have no end.
      const finite = (ref: string) => {
        const found = resolve(ref);
        return found === undefined || recursiveIn(root).has(found) ? undefined : found;
      };
      return { ...flattenRootUnion.apply(node, { ...context, resolve: finite }), type };
    }
    const shared = only(node, beside);
    const spread = branches.map((branch) => {
      if (typeof branch === "boolean") return branch ? shared : false;
      if (typeof branch["$ref"] === "string") return { allOf: [branch, shared] };
      return mergeSchemas(branch, shared, lossOf(lose, "anyOf and in a branch"));
    });
    const rest = { ...without(node, beside), anyOf: spread };
    return isRoot ? { type: "object", ...rest } : rest;
  },
};

/** How many subschemas there are when the siblings of each union have been copied, and merged with references. */
const sizeOnceSpread = /* @__PURE__ */ once((root: JsonSchema): number => {
  const sizes = new Map<JsonSchema, number>();
  const sizeOf = (node: JsonSchema): number => {
    if (sizes.has(node)) return sizes.get(node)!;
    sizes.set(node, 1); // for a reference back to it
    const isCopied = binding(node).length > 1;
    let [inBranches, beside] = [0, 1];
    eachSubschema(node, (child, _, keyword) => {
      if (keyword !== "anyOf") beside += sizeOf(child);
      else inBranches += sizeOf((isCopied ? target(child, root) : undefined) ?? child);
    });
    sizes.set(node, inBranches + beside * Math.max(branchesOf(node, "anyOf").length, 1));
    return sizes.get(node)!;
  };
  return sizeOf(root);
});

/**
 * Turns a union at the root into one object, for dialects that want a plain object there: all properties of all
 * branches; those that every branch requires stay required. A loss, unless only one branch is left.
 */
export const flattenRootUnion: Rewrite = {
  name: "flattenRootUnion",
  order: "root",
  apply(node, context) {
    const { lose } = context;
    const keyword = unionOf(node);
    if (keyword === undefined) return node;
    const clash = lossOf(lose, "the union and in a branch");
    // Arguments are never null.
    const branches = leavesOf(without(node, ["$defs"]), context, clash).filter(
      (branch) => typesOf(branch).join() !== "null",
    );
    const objects = branches.filter(mayBeObject);
    if (branches.length !== 1) {
      lose(`A union becomes one object with the properties of all ${branches.length} branches.`);
    }
    const flat = { ...without(node, binding(node)), ...anyObject(objects), type: "object", ...only(node, ["$defs"]) };
    // Nothing else would be left of branches that only require.
    const isTold = branchesOf(node, keyword).every((branch) => Object.keys(branch).join() === "required");
    return isTold ? describe(flat, only(node, [keyword])) : flat;
  },
};

/** An object also fits a branch without a type: then nothing is required, and any property may be there. */
function mayBeObject(branch: JsonSchema): boolean {
  if (typesOf(branch).length > 0) return typesOf(branch).includes("object");
  return literals(branch)?.some(isRecord) ?? true;
}

/** How many branches are looked at: unions of references to unions multiply. */
const MAX_VISITS = 20_000;

/** The branches of a union, and of the unions in its branches, each complete with the siblings of the union. */
function leavesOf(root: JsonSchema, context: RewriteContext, clash: Conflict): JsonSchema[] {
  let visits = 0;
  return leaves(root, 0);

  function leaves(given: JsonSchema, depth: number): JsonSchema[] {
    // Only a union that refers to itself is deeper.
    if (depth > 16 || visits++ > MAX_VISITS) return [given];
    const node = foldAllOf.apply(given, context);
    const { $ref, ...rest } = node;
    const found = typeof $ref === "string" ? context.resolve($ref) : undefined;
    if (found !== undefined) return leaves(mergeSchemas(rest, without(found, ANNOTATIONS), clash), depth + 1);
    const keyword = unionOf(node);
    if (keyword === undefined) return [node];
    const beside = without(node, [keyword]);
    return branchesOf(node, keyword).flatMap((branch) => {
      if (branch === false) return [];
      const whole = branch === true ? beside : mergeSchemas(beside, without(branch, ANNOTATIONS), clash);
      return leaves(whole, depth + 1);
    });
  }
}

function unionOf(node: JsonSchema): "anyOf" | "oneOf" | undefined {
  if (Array.isArray(node["anyOf"])) return "anyOf";
  return Array.isArray(node["oneOf"]) ? "oneOf" : undefined;
}

/** An object schema that accepts what fits any of them: looser than all. */
function anyObject(objects: readonly JsonSchema[]): JsonSchema {
  if (objects.length < 2) return objects[0] ?? {};
  const stated = objects.flatMap((object) => Object.entries(propertiesOf(object)));
  const properties = Array.from(
    Map.groupBy(stated, ([name]) => name),
    ([name, all]) => [name, all.map(([, value]) => value).reduce(eitherValue)] as const,
  );
  const required = objects.map(requiredOf).reduce((common, names) => common.filter((name) => names.includes(name)));
  const closed = objects.every((object) => object["additionalProperties"] === false);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(closed && { additionalProperties: false }),
  };
}

/** Lists of constants become one list; anything else stays a union, unless it is the same. */
function eitherValue(one: JsonSchema | boolean, other: JsonSchema | boolean): JsonSchema | boolean {
  if (sameValue(one, other)) return one;
  // `true` and `false` list nothing.
  const [ours, theirs] = [one as JsonSchema, other as JsonSchema];
  const [values, others] = [literals(ours), literals(theirs)];
  if (values !== undefined && others !== undefined) {
    const all = [...values, ...others.filter((value) => !values.some((same) => sameValue(value, same)))];
    return { ...only(ours, ["description"]), type: oneOrAll(typesAmong(all)), enum: all };
  }
  const list = [ours, theirs].flatMap((branch) => {
    const inside = branchesOf(branch, "anyOf");
    return inside.length > 0 && Object.keys(branch).length === 1 ? inside : [branch];
  });
  return { anyOf: list };
}

/** `type: ["string", "integer"]` becomes an `anyOf` with one type per branch, each with the keywords for its type. */
export const typeArrayToAnyOf: Rewrite = {
  name: "typeArrayToAnyOf",
  apply(node, { lose }) {
    const { type, enum: values, ...rest } = node;
    if (!Array.isArray(type)) return node;
    const types = typesOf(node);
    if (types.length === 1) return { ...node, type: types[0] };
    if (Array.isArray(node["anyOf"])) {
      lose(`type ${types.join(" or ")} beside anyOf is left out.`);
      return without(node, ["type"]);
    }
    const keywords = Object.keys(rest);
    const about = (wanted: string | undefined) => {
      const those = keywords.filter((keyword) => typeOfKeyword(keyword) === wanted);
      return only(rest, those);
    };
    const branches = types.flatMap((one) => {
      const branch = { type: one, ...about(one === "integer" ? "number" : one) };
      if (!Array.isArray(values)) return [branch];
      const fitting = values.filter(
        (value) => typeOfValue(value) === one || (one === "number" && typeof value === "number"),
      );
      return fitting.length === 0 ? [] : [{ ...branch, enum: fitting }];
    });
    return { ...about(undefined), anyOf: branches };
  },
};
