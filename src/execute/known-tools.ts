import { onceForTools, toolsByName, type ToolSource } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";

/** The tools that an executor may run, or that a run offers. */
export interface KnownTools {
  get(name: string): Tool | undefined;
  /** In the order of their source. */
  all(): readonly Tool[];
}

/** An array is copied. A registry may grow and a server's tools may change, so these are consulted each time. */
export function knownTools(source: ToolSource): KnownTools {
  const namesOf = onceForTools((tools) => toolsByName(tools));
  const first = namesOf(source);
  const now = () => (Array.isArray(source) ? first : namesOf(source));
  return {
    get: (name) => now().get(name),
    all: () => [...now().values()],
  };
}
