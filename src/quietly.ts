/** Does something whose failure changes nothing, be it a rejection or a throw of what should have been a promise. */
export async function quietly(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch {
    // See above.
  }
}

/** The answer to `look()`; `undefined` where it throws, as on a proxy, a getter, or an object without a prototype. */
export function unlessItThrows<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
