/**
 * What a handler's answer comes to: the value of a promise; of an async generator what it returned, or the last it
 * yielded where it returned nothing.
 */
export type HandlerResult<Output> =
  Output extends AsyncGenerator<infer Yielded, infer Returned, any>
    ? [Returned] extends [void]
      ? Yielded | undefined
      : Exclude<Returned, void>
    : Awaited<Output>;

/**
 * True for what an `async function*` gives, compiled down or not. A stream that is only iterable is a value like others.
 */
export function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, undefined> {
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return false;
  const { next, return: end, throw: fail } = value as Partial<AsyncGenerator>;
  return typeof next === "function" && typeof end === "function" && typeof fail === "function";
}

/**
 * Runs a handler's answer to its end. What a generator yields is told as progress, and the next is asked for when the
 * listener is done with it.
 */
export async function settle(
  answer: unknown,
  onProgress: (value: unknown) => unknown,
  signal?: AbortSignal,
): Promise<unknown> {
  if (!isGenerator(answer)) return answer;
  let last: unknown;
  for (;;) {
    const { done, value } = await answer.next();
    if (done === true) return value === undefined ? last : value;
    last = value;
    try {
      signal?.throwIfAborted();
      await onProgress(value);
    } catch (error) {
      // Nobody waits for it any more, or nobody can be told: its finally blocks run, the rest of it does not.
      await answer.return(undefined).catch(() => {});
      throw error;
    }
  }
}
