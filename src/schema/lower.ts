import { resolveRef } from "./refs.ts";
import { mapSubschemas } from "./subschemas.ts";
import type { JsonSchema } from "./types.ts";

/** One thing that a provider's schema dialect cannot express. */
export interface Loss {
  /** The tool's name; `""` when a schema was lowered on its own. */
  readonly tool: string;
  /** JSON Pointer to the subschema in the original schema; `""` is the schema itself. */
  readonly path: string;
  /** What was lost: the name of a rewrite, or `unsupported:<keyword>`. */
  readonly rule: string;
  /** For people. */
  readonly message: string;
}

/** What to do with losses: throw, write one warning per tool, or ignore them. */
export type OnLoss = "throw" | "warn" | "ignore";

/** What a {@link Rewrite} knows about the subschema it is given. */
export interface RewriteContext {
  /** JSON Pointer to the subschema, in the original schema if it comes from there. */
  readonly path: string;
  /** The whole schema as this rewrite found it. */
  readonly root: JsonSchema;
  readonly isRoot: boolean;
  /** The target of a `$ref` inside {@link root}; `undefined` if there is none. */
  resolve(ref: string): JsonSchema | undefined;
  /** Reports what cannot be expressed. `rule` defaults to the rewrite's name, `at` to the subschema. */
  lose(message: string, options?: { readonly rule?: string; readonly at?: JsonSchema | undefined }): void;
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
  /** `down` (default): a node first, then the inside of the result. `up`: the inside first. `root`: the root only. */
  readonly order?: "down" | "up" | "root";
  /** Returns the same object if nothing changes, else a new one: the input is never modified. */
  apply(node: JsonSchema, context: RewriteContext): JsonSchema;
}

/** A rewrite that changes only the root. */
export function atRoot(rewrite: Rewrite): Rewrite {
  return { ...rewrite, order: "root" };
}

export interface Lowered {
  readonly schema: JsonSchema;
  /** Empty if the result expresses everything that the schema did. */
  readonly losses: readonly Loss[];
}

/** A schema deeper than this is cut, with a loss. */
export const MAX_DEPTH = 128;

/** A schema with more subschemas than this (inlined references multiply) is cut, with a loss. */
export const MAX_SUBSCHEMAS = 10_000;

/**
 * Rewrites a JSON Schema into a dialect. The input is not modified; literal values (`enum`, `default`) are shared.
 *
 * @example
 * const { schema, losses } = lowerSchema(tool.inputSchema.jsonSchema, [inlineRefs, closeObjects, requireAll]);
 */
export function lowerSchema(
  schema: JsonSchema,
  rewrites: readonly Rewrite[],
  options: { readonly tool?: string } = {},
): Lowered {
  const { tool = "" } = options;
  const losses = new Map<string, Loss>();
  // Every subschema of the copy is an object of its own, so its origin can still be looked up after it was moved.
  const origins = new WeakMap<object, string>();
  let count = 0;
  let lowered = copy(schema, "", 1);
  for (const rewrite of rewrites) lowered = run(rewrite, lowered);
  return { schema: lowered, losses: [...losses.values()] };

  function lose(path: string, rule: string, message: string): void {
    const key = `${path}\n${rule}`;
    if (!losses.has(key)) losses.set(key, { tool, path, rule, message });
  }

  function loseSize(path: string): void {
    const limits = `${MAX_DEPTH} or has more than ${MAX_SUBSCHEMAS} subschemas`;
    lose(path, "size", `The schema is deeper than ${limits}. Any value is allowed here.`);
  }

  /** A deep copy in which no subschema occurs twice, without keywords that are `undefined`. */
  function copy(node: JsonSchema, path: string, depth: number): JsonSchema {
    let outcome: JsonSchema = {};
    if (depth > MAX_DEPTH || ++count > MAX_SUBSCHEMAS) loseSize(path);
    else {
      const stated = Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined));
      outcome = mapSubschemas(stated, (child, pointer) => copy(child, path + pointer, depth + 1));
    }
    origins.set(outcome, path);
    return outcome;
  }

  function run(rewrite: Rewrite, root: JsonSchema): JsonSchema {
    let visits = 0;
    return visit(root, "", 1);

    function visit(given: JsonSchema, madeAt: string, depth: number): JsonSchema {
      const path = origins.get(given) ?? madeAt;
      // What is merged with the targets of references multiplies; null and annotations add a few to each.
      if (depth > 4 * MAX_DEPTH || ++visits > 4 * MAX_SUBSCHEMAS) {
        loseSize(path);
        return {};
      }
      const context: RewriteContext = {
        path,
        root,
        isRoot: given === root,
        resolve: (ref) => resolveRef(root, ref),
        lose: (message, { rule = rewrite.name, at } = {}) => lose((at && origins.get(at)) ?? path, rule, message),
      };
      const known = (node: JsonSchema) => {
        if (!origins.has(node)) origins.set(node, path);
        return node;
      };
      const inside = (node: JsonSchema) =>
        known(mapSubschemas(node, (child, pointer) => visit(child, path + pointer, depth + 1)));
      const { order = "down" } = rewrite;
      const node = known(rewrite.apply(order === "up" ? inside(given) : given, context));
      return order === "down" ? inside(node) : node;
    }
  }
}
