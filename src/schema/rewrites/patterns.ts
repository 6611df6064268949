import { isRecord } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import { walkSchema } from "../subschemas.ts";
import type { JsonSchema } from "../types.ts";
import { dropKeywords } from "./keywords.ts";

/**
 * Keeps only the patterns that the dialect can read; another one is reported as `unsupported:pattern` and told in the
 * description. A `not` or an `if` that holds one goes whole: without its pattern it would bind more values, not fewer.
 * So do the patterns of names, and leave the object open.
 */
export function keepPatterns(canRead: (pattern: string) => boolean): Rewrite {
  const isRefused = (pattern: unknown) => typeof pattern === "string" && !canRead(pattern);
  const refusesNames = ({ patternProperties: keyed }: JsonSchema) =>
    isRecord(keyed) && Object.keys(keyed).some(isRefused);
  const holdsRefused = (schema: unknown) => {
    let holds = false;
    if (isRecord(schema)) walkSchema(schema, (node) => (holds ||= isRefused(node["pattern"]) || refusesNames(node)));
    return holds;
  };
  return {
    name: "keepPatterns",
    apply(node, context) {
      const names = refusesNames(node);
      const refused = [
        ...(isRefused(node["pattern"]) ? ["pattern"] : []),
        ...(holdsRefused(node["not"]) ? ["not"] : []),
        ...(holdsRefused(node["if"]) ? ["if", "then", "else"] : []),
        ...(names ? ["patternProperties", "additionalProperties", "unevaluatedProperties"] : []),
      ];
      const kept = dropKeywords(refused, { toDescription: true }).apply(node, context);
      return names ? { ...kept, additionalProperties: true } : kept;
    },
  };
}
