import type { JsonChange } from "../json/index.ts";
import { setOwn } from "../schema/json.ts";
import type { PathPatch, PathStep } from "./chunk.ts";

/** How far past its end an array may grow: a few bytes must not cost much memory. Models write in order. */
const MAX_GAP = 16;

/**
 * Applies one patch to a value and returns it: the same object, or a new root where the path is empty.
 * Properties are always own properties (`__proto__` included), gaps in an array are filled with `null`.
 *
 * @throws RangeError when the path does not fit the value that is there.
 */
export function applyPatch(root: unknown, patch: PathPatch): unknown {
  const { path } = patch;
  if (path.length === 0) return patchedLeaf(root, patch);
  const base = container(root, path[0]!);
  let parent = base;
  for (let depth = 0; depth < path.length - 1; depth++) {
    const step = path[depth]!;
    const child = container(get(parent, step), path[depth + 1]!);
    set(parent, step, child);
    parent = child;
  }
  const last = path[path.length - 1]!;
  set(parent, last, patchedLeaf(get(parent, last), patch));
  return base;
}

/**
 * What an applied patch changes for a consumer with a copy of the earlier shape: where the patch created containers or
 * filled a gap, everything that is new there; else the patch itself.
 */
export function changeOf(patch: PathPatch, told: number, root: unknown): JsonChange {
  const { path, append, value, done = false } = patch;
  if (told < path.length || (append !== undefined && told > path.length)) {
    const place = path.slice(0, told);
    let at = root;
    for (const step of place) at = (at as Record<PathStep, unknown>)[step];
    return { path: place, value: structuredClone(at), done: told > path.length && done };
  }
  return append === undefined
    ? { path: [...path], value: structuredClone(value), done }
    : { path: [...path], append, done };
}

/**
 * How many steps of a path lead to the first place that a patch creates: all of them if only the last place changes,
 * one more if the string that the patch extends does not exist yet.
 */
export function stepsToNew(root: unknown, { path, append }: PathPatch): number {
  let at = root;
  for (let depth = 0; depth < path.length; depth++) {
    if (typeof at !== "object" || at === null) return depth;
    const step = path[depth]!;
    if (Array.isArray(at) && (step as number) > at.length) return depth;
    at = get(at as Container, step);
  }
  return append !== undefined && typeof at !== "string" ? path.length + 1 : path.length;
}

/** Whether there is something at a path. */
export function hasPlace(root: unknown, path: readonly PathStep[]): boolean {
  let at = root;
  for (const step of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return false;
    at = (at as Record<PathStep, unknown>)[step];
  }
  return true;
}

function patchedLeaf(before: unknown, patch: PathPatch): unknown {
  if (patch.append === undefined) return patch.value;
  return typeof before === "string" ? before + patch.append : patch.append;
}

type Container = unknown[] | Record<string, unknown>;

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

function get(parent: Container, step: PathStep): unknown {
  return Object.hasOwn(parent, step) ? (parent as Record<PathStep, unknown>)[step] : undefined;
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
