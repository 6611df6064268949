import { isObject } from "./json.ts";

/** How much work one walk over a value may do. */
export interface Work {
  /** Counted down. */
  steps: number;
  /** The value being walked: when no steps are left, it gives more once, in proportion to its size. */
  value?: unknown;
}

/** Takes a step. Returns `false` if none is left: the walk takes disproportionately long. */
export function takeStep(work: Work, stepsForEach: number): boolean {
  if (--work.steps >= 0) return true;
  if (work.value === undefined) return false;
  work.steps = stepsForEach * sizeOf(work.value);
  work.value = undefined;
  return true;
}

function sizeOf(value: unknown): number {
  const open = [value];
  let size = 0;
  for (; open.length > 0; size++) {
    const item = open.pop();
    if (isObject(item)) for (const inner of Object.values(item)) open.push(inner);
  }
  return size;
}
