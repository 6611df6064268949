import { resolveRef } from "./refs.ts";
import { mapSubschemas } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/** One thing that a provider's schema dialect can not say. */
export interface Loss {
  /** The tool's name; `""` when a schema was lowered on its own. */
  readonly tool: string;
  /** JSON Pointer to the subschema in the schema as it was given; `""` is the schema itself. */
  readonly path: string;
  /** What was given up: the name of a rewrite, or `unsupported:<keyword>`. */
  readonly rule: string;
  /** For a person. */
  readonly message: string;
}

/** What to do with losses: fail, write one warning a tool, or say nothing. */
export type OnLoss = "throw" | "warn" | "ignore";

/** What a {@link Rewrite} knows about the subschema it is given. */
export interface RewriteContext {
  /** JSON Pointer to the subschema, in the schema as it was given where the subschema stood in it. */
  readonly path: string;
  /** The whole schema as this rewrite found it. */
  readonly root: JsonSchema;
  readonly isRoot: boolean;
  /** What a `$ref` points to inside {@link root}; `undefined` if there is nothing. */
  resolve(ref: string): JsonSchema | undefined;
  /** Reports what can not be said. `rule` is the rewrite's name unless given, `at` the subschema unless another is given. */
  lose(message: string, options?: { readonly rule?: string; readonly at?: JsonSchema }): void;
}

/**
 * One small, named change of a schema. A dialect is a list of them; each runs over every subschema before the next one starts.
 *
 * ```
 * { name: "constToEnum", apply: ({ const: value, ...rest }) => ... }
 * ```
 */
export interface Rewrite {
  readonly name: string;
  /** `down`: a subschema first, then what is inside the outcome. `up`: the inside first. `root`: the root only. Default `down`. */
  readonly order?: "down" | "up" | "root";
  /** Returns the same object when nothing changes, else a new one: what is given is never changed. */
  apply(node: JsonSchema, context: RewriteContext): JsonSchema;
}

/** A rewrite that leaves everything below the root alone. */
export function atRoot(rewrite: Rewrite): Rewrite {
  return { ...rewrite, order: "root" };
}

export interface Lowered {
  readonly schema: JsonSchema;
  /** Empty when the outcome says all that the schema said. */
  readonly losses: readonly Loss[];
}

/** Deeper than this a schema is cut, with a loss. */
const MAX_DEPTH = 128;

/** With more subschemas than this (inlined references multiply) a schema is cut, with a loss. */
export const MAX_SUBSCHEMAS = 10_000;

/**
 * Rewrites a JSON Schema into a dialect. The schema that is given is not changed; literal values (`enum`, `default`) are shared.
 *
 * @example
 * const { schema, losses } = lowerSchema(tool.inputSchema.jsonSchema, [inlineRefs(), closeObjects(), requireAll()]);
 */
export function lowerSchema(
  schema: JsonSchema,
  rewrites: readonly Rewrite[],
  options: { readonly tool?: string } = {},
): Lowered {
  const { tool = "" } = options;
  const losses = new Map<string, Loss>();
  const lose = (path: string, rule: string, message: string) => {
    const key = `${path}\n${rule}`;
    if (!losses.has(key)) losses.set(key, { tool, path, rule, message });
  };

  // Every subschema of the copy is an object of its own, so that it can be asked where it came from after it was moved.
  const origins = new WeakMap<object, string>();
  let root = copy(schema, origins, lose);
  for (const rewrite of rewrites) root = runRewrite(rewrite, root, origins, lose);
  return { schema: root, losses: [...losses.values()] };
}

function runRewrite(
  rewrite: Rewrite,
  root: JsonSchema,
  origins: WeakMap<object, string>,
  lose: (path: string, rule: string, message: string) => void,
): JsonSchema {
  const visit = (given: JsonSchema, madeAt: string, depth: number): JsonSchema => {
    // Only a rewrite that wraps what it is given in itself, again and again, comes here.
    if (depth > 4 * MAX_DEPTH) throw new Error(`Rewrite ${rewrite.name} does not come to an end at ${madeAt}.`);
    const path = origins.get(given) ?? madeAt;
    const context: RewriteContext = {
      path,
      root,
      isRoot: depth === 0,
      resolve: (ref) => resolveRef(root, ref),
      lose: (message, { rule = rewrite.name, at } = {}) =>
        lose(at === undefined ? path : (origins.get(at) ?? path), rule, message),
    };
    const known = (node: JsonSchema) => {
      if (!origins.has(node)) origins.set(node, path);
      return node;
    };
    const inside = (node: JsonSchema) =>
      known(mapSubschemas(node, (child, pointer) => visit(child, path + pointer, depth + 1)));
    if (rewrite.order === "root") return known(rewrite.apply(given, context));
    if (rewrite.order === "up") return known(rewrite.apply(inside(given), context));
    return inside(known(rewrite.apply(given, context)));
  };
  return visit(root, "", 0);
}

/** A deep copy in which no subschema occurs twice, at most {@link MAX_DEPTH} deep, without keywords that are `undefined`. */
function copy(
  schema: JsonSchema,
  origins: WeakMap<object, string>,
  lose: (path: string, rule: string, message: string) => void,
): JsonSchema {
  const above = new Set<JsonSchema>();
  let count = 0;
  const visit = (node: JsonSchema, path: string): JsonSchema => {
    let outcome: JsonSchema;
    if (above.has(node)) {
      lose(
        path,
        "recursion",
        "The schema object contains itself; use $ref for a recursive schema. Any value is allowed here.",
      );
      outcome = {};
    } else if (above.size >= MAX_DEPTH || ++count > MAX_SUBSCHEMAS) {
      lose(
        path,
        "size",
        `The schema is deeper than ${MAX_DEPTH} or has more than ${MAX_SUBSCHEMAS} subschemas. Any value is allowed here.`,
      );
      outcome = {};
    } else {
      above.add(node);
      const stated = Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined));
      outcome = mapSubschemas(stated, (child, pointer) => visit(child, path + pointer));
      above.delete(node);
    }
    origins.set(outcome, path);
    return outcome;
  };
  return visit(schema, "");
}
