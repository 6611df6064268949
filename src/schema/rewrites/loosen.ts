import type { RewriteContext } from "../lower.ts";
import { once } from "../once.ts";
import { reaching } from "../refs.ts";
import type { JsonSchema } from "../types.ts";
import { dropKeywords } from "./keywords.ts";
import { branchesOf } from "../fields.ts";
import { oneOfToAnyOf } from "./unions.ts";

/**
 * For a rewrite that leaves something out of a schema: changes what would then accept less, instead of more. A `not`,
 * an `if` or a `maxContains` about such a schema, or about a reference to one, moves to the description; a `oneOf` of
 * such schemas becomes an `anyOf`.
 *
 * @param loses whether the rewrite leaves something out of a schema itself; schemas inside it are asked about too
 */
export function loosenAround(node: JsonSchema, context: RewriteContext, loses: Loses): JsonSchema {
  const loosened = loosenedIn(context.root)(loses);
  const isLoosened = (schema: unknown) => loosened.has(schema as JsonSchema);
  const tighter = [
    ...(isLoosened(node["not"]) ? ["not"] : []),
    // The last two may rely on what the condition says about a property or an item.
    ...(isLoosened(node["if"]) ? ["if", "then", "else", "unevaluatedProperties", "unevaluatedItems"] : []),
    ...(isLoosened(node["contains"]) ? ["maxContains"] : []),
  ];
  const loose = dropKeywords(tighter).apply(node, context);
  return branchesOf(node, "oneOf").some(isLoosened) ? oneOfToAnyOf.apply(loose, context) : loose;
}

type Loses = (schema: JsonSchema) => boolean;

/** Each rewrite asks about the same root again and again. */
const loosenedIn = once((root: JsonSchema) => once((loses: Loses) => reaching(root, loses)));
