import { sameValue } from "../json.ts";
import { MAX_DEPTH, MAX_SUBSCHEMAS, type Rewrite, type RewriteContext } from "../lower.ts";
import { recursiveIn } from "../refs.ts";
import { binding, holdingOf, mapSubschemas } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { dropKeywords, only, without } from "./keywords.ts";
import { lossOf, mergeSchemas } from "./merge.ts";

/**
 * Replaces each `$ref` by its target and drops `$defs`: for dialects without references. A recursive one is a loss and
 * becomes a schema of the same type without content; one that points to nothing is a loss, too.
 */
export const inlineRefs: Rewrite = {
  name: "inlineRefs",
  order: "root",
  apply(node, context) {
    let count = 0;
    const expand = (schema: JsonSchema, open: readonly JsonSchema[], depth: number): JsonSchema => {
      if (typeof schema["$ref"] !== "string") {
        return mapSubschemas(schema, (child, _, keyword) =>
          DEFINITIONS.includes(keyword) ? child : expand(child, open, depth + 1),
        );
      }
      const { $ref: ref, ...beside } = schema as { $ref: string };
      const target = context.resolve(ref);
      if (target === undefined) {
        context.lose(`${ref} points to nothing in this schema; any value is allowed.`, { at: schema });
        return expand(beside, open, depth);
      }
      if (open.includes(target) || depth > MAX_DEPTH || ++count > MAX_SUBSCHEMAS) {
        const what = open.includes(target) ? "recursive" : "too large";
        context.lose(`${ref} is ${what} and this dialect has no references: it is cut.`, { at: schema });
        return { ...only(target, ["type", "description"]), ...expand(beside, open, depth) };
      }
      const inlined = expand({ ...without(target, DEFINITIONS) }, [...open, target], depth + 1);
      return mergeSchemas(
        expand(beside, open, depth),
        inlined,
        lossOf(context.lose, `${ref} and in what it points to`, schema),
      );
    };
    return dropDefinitions(expand(node, [node], 1));
  },
};

const DEFINITIONS: readonly string[] = ["$defs", "definitions", "$anchor", "$dynamicAnchor", "$id"];

function dropDefinitions(node: JsonSchema): JsonSchema {
  return mapSubschemas(without(node, DEFINITIONS), dropDefinitions);
}

/**
 * Brings every `$ref` into the form `#` or `#/$defs/Name`, with all definitions in the root's `$defs`, and only used
 * ones: the form that dialects with references agree on, and that survives later rewrites. A reference that points to
 * nothing (another document) is a loss.
 */
export const keepLocalRefs: Rewrite = {
  name: "keepLocalRefs",
  order: "root",
  apply(root, context) {
    const names = new Map<JsonSchema, string>();
    /** By name. It grows while they are rewritten: a chain of references can be longer than the stack. */
    const targets = new Map<string, JsonSchema>();
    /** Where they were: OpenAPI's `components`, which is not a keyword, and the keywords that hold definitions. */
    const places = new Set(DEFINITIONS);
    const rewrite = (schema: JsonSchema): JsonSchema => {
      const node = mapSubschemas(without(schema, DEFINITIONS), rewrite);
      const ref = schema["$ref"];
      if (typeof ref !== "string") return node;
      const target = context.resolve(ref);
      if (target === undefined) {
        context.lose(`${ref} points to nothing in this schema; any value is allowed.`, { at: schema });
        return without(node, ["$ref"]);
      }
      return { ...node, $ref: target === root ? "#" : `#/$defs/${nameOf(target, ref)}` };
    };
    const nameOf = (target: JsonSchema, ref: string): string => {
      const [, place] = /^#\/(\w+)\//.exec(ref) ?? [];
      if (place !== undefined && holdingOf(place) === undefined) places.add(place);
      const name = names.get(target) ?? freeName(ref, targets);
      names.set(target, name);
      targets.set(name, target);
      return name;
    };
    const rewritten = rewrite(root);
    const definitions = [];
    for (const [name, target] of targets) definitions.push([name, rewrite(target)]);
    const rest = without(rewritten, [...places]);
    return definitions.length === 0 ? rest : { ...rest, $defs: Object.fromEntries(definitions) };
  },
};

/** The last step of a reference as a name that needs no escapes, numbered if it is taken. */
function freeName(ref: string, taken: ReadonlyMap<string, unknown>): string {
  const base = (ref.split(/[/#]/).at(-1) ?? "").replace(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9_.-]/g, "_") || "schema";
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}_${number}`;
  return name;
}

/**
 * Leaves a `$ref` no siblings, for dialects that ignore them, as draft 7 did, or reject them: annotations go around it
 * (`{ description, anyOf: [{ $ref }] }`), constraints are merged with the target. If the target is recursive,
 * constraints that are not in it are a loss.
 */
export const refsAlone: Rewrite = {
  name: "refsAlone",
  apply(node, context) {
    const { root, isRoot, lose, resolve } = context;
    const seen = new Set<JsonSchema>();
    let current = node;
    // A root that is only a reference (`{ $ref: "#/$defs/Input", $defs }`) becomes its target.
    while (isRoot ? typeof current["$ref"] === "string" : binds(current)) {
      const { $ref, ...beside } = current as { $ref: string };
      const target = resolve($ref);
      const isLast =
        target === undefined ||
        seen.has(target) ||
        (isRoot ? target === root : addsNothing(beside, target) || recursiveIn(root).has(target));
      if (isLast) {
        if (!isRoot) return besideRef($ref, beside, target ?? {}, context);
        lose(`${$ref} at the root points only to itself.`);
        return beside;
      }
      seen.add(target);
      current = mergeSchemas(beside, target, lossOf(lose, `${$ref} and in what it points to`));
    }
    const { $ref, ...beside } = current;
    return typeof $ref === "string" ? besideRef($ref, beside, {}, context) : current;
  },
};

/** A reference with annotations around it; constraints that are not in the target can only be described. */
function besideRef($ref: string, beside: JsonSchema, target: JsonSchema, context: RewriteContext): JsonSchema {
  const isSaid = (keyword: string) => sameValue(beside[keyword], target[keyword]);
  const bound = binding(beside);
  const described = dropKeywords(bound).apply(without(beside, bound.filter(isSaid)), context);
  return Object.keys(described).length === 0 ? { $ref } : { ...described, anyOf: [{ $ref }] };
}

/** Whether what is beside a reference binds only what its target does, too. */
export function addsNothing(beside: JsonSchema, target: JsonSchema): boolean {
  return binding(beside).every((keyword) => sameValue(beside[keyword], target[keyword]));
}

/** Whether a reference has siblings other than annotations. */
function binds({ $ref, ...beside }: JsonSchema): boolean {
  return typeof $ref === "string" && binding(beside).length > 0;
}
