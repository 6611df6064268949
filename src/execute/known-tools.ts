import { toolsByName, type ToolSource } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";

/** The tools that an executor may run, or a loop offers. */
export interface KnownTools {
  get(name: string): Tool | undefined;
  /** In the order of their source. */
  all(): readonly Tool[];
}

/** A list is taken as it is now. A registry grows, and a server's tools change: there counts what it holds when asked. */
export function knownTools(source: ToolSource): KnownTools {
  const first = toolsByName(source);
  const now = () => (Array.isArray(source) ? first : toolsByName(source));
  return {
    get: (name) => now().get(name),
    all: () => [...now().values()],
  };
}
