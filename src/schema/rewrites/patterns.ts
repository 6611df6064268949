import { isRecord } from "../json.ts";
import type { Rewrite } from "../lower.ts";
import type { JsonSchema } from "../types.ts";
import { dropKeywords } from "./keywords.ts";
import { loosenAround } from "./loosen.ts";

/**
 * Keeps only the patterns that the dialect can read. Others are reported as `unsupported:pattern` and described, along
 * with what would bind more values without them ({@link loosenAround}). So are patterns of names, which leave the
 * object open.
 *
 * @param canReadName the same for patterns of names, for dialects that have none
 */
export function keepPatterns(canRead: (pattern: string) => boolean, canReadName = canRead): Rewrite {
  const isRefused = (pattern: unknown) => typeof pattern === "string" && !canRead(pattern);
  const refusesNames = ({ patternProperties: keyed }: JsonSchema) =>
    isRecord(keyed) && Object.keys(keyed).some((pattern) => !canReadName(pattern));
  const loses = (node: JsonSchema) => isRefused(node["pattern"]) || refusesNames(node);
  return {
    name: "keepPatterns",
    apply(node, context) {
      const names = refusesNames(node);
      const refused = [
        ...(isRefused(node["pattern"]) ? ["pattern"] : []),
        ...(names ? ["patternProperties", "additionalProperties", "unevaluatedProperties"] : []),
      ];
      const kept = dropKeywords(refused).apply(loosenAround(node, context, loses), context);
      return names ? { ...kept, additionalProperties: true } : kept;
    },
  };
}
