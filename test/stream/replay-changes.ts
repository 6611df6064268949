import type { JsonChange } from "../../src/index.ts";

/** What somebody sees who follows `changes()` and never looks at the value. */
export function createFollower() {
  let root: unknown;
  return {
    take(changes: readonly JsonChange[]): void {
      for (const change of changes) apply(change);
    },
    get value(): unknown {
      return root;
    },
  };

  function apply(change: JsonChange): void {
    if (!("value" in change) && !("append" in change)) return;
    const { path } = change;
    const last = path.at(-1);
    let parent = root as Record<string | number, unknown>;
    for (const step of path.slice(0, -1)) parent = parent[step] as typeof parent;
    const before = last === undefined ? root : Object.hasOwn(parent, last) ? parent[last] : undefined;
    const after =
      "append" in change ? ((before as string | undefined) ?? "") + change.append : structuredClone(change.value);
    if (last === undefined) root = after;
    else Object.defineProperty(parent, last, { value: after, writable: true, enumerable: true, configurable: true });
  }
}
