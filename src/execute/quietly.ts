/** Does something whose failure changes nothing, be it a rejection or a throw of what should have been a promise. */
export async function quietly(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch {
    // See above.
  }
}
