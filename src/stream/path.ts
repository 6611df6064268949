import type { JsonChange } from "../json/index.ts";
import { copyOf, type Container } from "../json/container.ts";
import { copyJson, getOwn, isObject, setOwn } from "../schema/json.ts";
import type { PathPatch, PathStep } from "./chunk.ts";

/** How far past its end an array may grow: a few bytes must not cost much memory. Models write in order. */
const MAX_GAP = 16;

/**
 * Applies what `changes()` of a call told to a copy of its input that is kept elsewhere, as in a page: what came of the
 * changes before, `undefined` at first. Neither is written to: what changed is returned as new objects, and what did
 * not stays the same, as React and others want it, whose updaters may run twice
 * (https://github.com/cloudflare/agents/issues/1835).
 *
 * @throws RangeError for changes that do not follow on those before.
 * @example
 * for (const { changes } of events) input = applyChanges(input, changes);
 */
export function applyChanges(input: unknown, changes: readonly PathPatch[]): unknown {
  const copies = new Set<Container>();
  const own = (there: Container): Container => {
    if (copies.has(there)) return there;
    const copy = copyOf(there);
    copies.add(copy);
    return copy;
  };
  for (const { path, append, value } of changes) {
    if (append !== undefined || value !== undefined)
      input = applyPatch(input, { path, append, value: copyJson(value) }, own);
  }
  return input;
}

/**
 * Applies one patch to a value and returns it: the same object, or a new root where the path is empty.
 * Properties are always own properties (`__proto__` included), gaps in an array are filled with `null`.
 *
 * @param own what to write to in place of a container on the way
 * @throws RangeError when the path does not fit the value that is there.
 */
export function applyPatch(root: unknown, patch: PathPatch, own = (there: Container) => there): unknown {
  const { path } = patch;
  if (path.length === 0) return patchedLeaf(root, patch);
  const base = own(container(root, path[0]!));
  let parent = base;
  for (let depth = 0; depth < path.length - 1; depth++) {
    const step = path[depth]!;
    const child = own(container(getOwn(parent, step as string), path[depth + 1]!));
    set(parent, step, child);
    parent = child;
  }
  const last = path[path.length - 1]!;
  set(parent, last, patchedLeaf(getOwn(parent, last as string), patch));
  return base;
}

/**
 * What an applied patch changes for a consumer with a copy of the earlier shape: where the patch created containers or
 * filled a gap, everything that is new there; else the patch itself.
 */
export function changeOf({ path, append, done = false }: PathPatch, told: number, root: unknown): JsonChange {
  const place = path.slice(0, told);
  if (append !== undefined && told === path.length) return { path: place, append, done };
  return { path: place, value: copyJson(valueAt(root, place)), done: told >= path.length && done };
}

/**
 * How many steps of a path lead to the first place that a patch creates: all of them if only the last place changes,
 * one more if the string that the patch extends does not exist yet.
 */
export function stepsToNew(root: unknown, { path, append }: PathPatch): number {
  let at = root;
  for (let depth = 0; depth < path.length; depth++) {
    if (!isObject(at)) return depth;
    const step = path[depth]!;
    if (Array.isArray(at) && (step as number) > at.length) return depth;
    at = getOwn(at, step as string);
  }
  return append !== undefined && typeof at !== "string" ? path.length + 1 : path.length;
}

/** What is at a path; `undefined` if there is nothing. */
export function valueAt(root: unknown, path: readonly PathStep[]): unknown {
  return path.reduce((at, step) => getOwn(at, step as string), root);
}

function patchedLeaf(before: unknown, patch: PathPatch): unknown {
  if (patch.append === undefined) return patch.value;
  return typeof before === "string" ? before + patch.append : patch.append;
}

/** The existing value if the next step can go into it; a new container if there is none. */
function container(existing: unknown, step: PathStep): Container {
  if (existing === undefined || existing === null) return typeof step === "number" ? [] : {};
  if (typeof step === "number" ? Array.isArray(existing) : typeof existing === "object" && !Array.isArray(existing)) {
    return existing as Container;
  }
  throw new RangeError(
    `the step ${JSON.stringify(step)} does not fit ${Array.isArray(existing) ? "an array" : `a value of type ${typeof existing}`}`,
  );
}

function set(parent: Container, step: PathStep, value: unknown): void {
  if (!Array.isArray(parent)) {
    setOwn(parent, String(step), value);
    return;
  }
  const index = step as number;
  if (!Number.isInteger(index) || index < 0 || index > parent.length + MAX_GAP) {
    throw new RangeError(`the index ${index} is too far past the end of an array of ${parent.length}`);
  }
  while (parent.length < index) parent.push(null);
  parent[index] = value;
}
