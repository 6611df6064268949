/** The answer to `ask()`; `undefined` once the signal fires, since an answer may never come. */
export async function unlessAborted<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal?.aborted === true) return undefined;
  let giveUp!: () => void;
  const givenUp = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([ask(), givenUp]);
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
