/** How much one walk over a value may do. */
export interface Work {
  /** Counted down. */
  steps: number;
  /** The value that it goes over: when no steps are left, there are more once, in line with the size of this. */
  value?: unknown;
}

/** Takes a step. The answer is `false` when none is left: the walk takes a time that is out of proportion. */
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
    if (typeof item === "object" && item !== null) for (const inner of Object.values(item)) open.push(inner);
  }
  return size;
}
