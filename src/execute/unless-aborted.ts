/**
 * The answer to `ask()`; `undefined` once the signal fires, since an answer may never come, or be an error for that very
 * reason.
 */
export async function unlessAborted<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  const isAborted = () => signal?.aborted === true;
  if (isAborted()) return undefined;
  let giveUp!: () => void;
  const givenUp = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([ask(), givenUp]);
  } catch (error) {
    if (!isAborted()) throw error;
    return undefined;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
