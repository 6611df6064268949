/**
 * What a handler's answer comes to: the value of a promise; of a generator what it returned, or the last it yielded where
 * it returned nothing.
 */
export type HandlerResult<Output> =
  Output extends AnyGenerator<infer Yielded, infer Returned>
    ? [Returned] extends [void]
      ? Awaited<Yielded> | undefined
      : Awaited<Exclude<Returned, void>>
    : Awaited<Output>;

type AnyGenerator<Yielded = unknown, Returned = unknown> =
  | AsyncGenerator<Yielded, Returned, any>
  | Generator<Yielded, Returned, any>;

/**
 * True for what an `async function*` or a `function*` gives, compiled down or not. A stream or a list that is only
 * iterable is a value like others.
 */
export function isGenerator(value: unknown): value is AnyGenerator {
  if (typeof value !== "object" || value === null) return false;
  if (!(Symbol.asyncIterator in value || Symbol.iterator in value)) return false;
  const { next, return: end, throw: fail } = value as Partial<AnyGenerator>;
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
    try {
      // One that is not async may yield promises.
      last = await value;
      signal?.throwIfAborted();
      await onProgress(last);
    } catch (error) {
      // Nobody waits for it any more, or nobody can be told: its finally blocks run, the rest of it does not.
      await (async () => answer.return(undefined))().catch(() => {});
      throw error;
    }
  }
}
