import { isObject } from "./json.ts";

/** How much work one walk over a value may do. */
export interface Work {
  /** Counted down. */
  steps: number;
  /** The value being walked: when no steps are left, it gives more once, in proportion to its size. */
  value?: unknown;
}

/** A walk takes disproportionately long. */
export class TooMuchWork extends RangeError {}

/** @throws TooMuchWork if no step is left */
export function takeStep(work: Work, stepsForEach: number): void {
  if (--work.steps >= 0) return;
  if (work.value === undefined) throw new TooMuchWork();
  work.steps = stepsForEach * sizeOf(work.value);
  work.value = undefined;
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
