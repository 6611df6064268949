import { toolList, type ToolSource } from "../tool/tool-set.ts";
import type { Tool } from "../tool/tool.ts";

/** The tools that an executor may run. */
export interface KnownTools {
  get(name: string): Tool | undefined;
  /** In the order of their source. */
  all(): readonly Tool[];
}

/** A list is taken as it is now. A registry grows: a name that is not known is looked for there again. */
export function knownTools(source: ToolSource): KnownTools {
  const read = () => new Map(toolList(source).map((tool) => [tool.name, tool]));
  const mayGrow = !Array.isArray(source);
  let byName = read();
  return {
    get(name) {
      if (mayGrow && !byName.has(name)) byName = read();
      return byName.get(name);
    },
    all() {
      if (mayGrow) byName = read();
      return [...byName.values()];
    },
  };
}
