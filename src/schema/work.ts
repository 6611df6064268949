/**
 * Counts the steps of one walk over a value: some are free, and more come with each value in it. The answer is `false`
 * when none is left: then the walk takes a time that is out of proportion.
 */
export function countWork(value: unknown, free: number, forEach: number): () => boolean {
  let left = free;
  let isExtended = false;
  return () => {
    if (--left >= 0) return true;
    if (isExtended) return false;
    isExtended = true; // what needs no more than the free steps is never measured
    left = forEach * sizeOf(value);
    return true;
  };
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
