import { isObject } from "../schema/json.ts";

/**
 * The outcome of a handler's return value: the value of a promise; for a generator, what it returned or, if it returned
 * nothing, the last value it yielded.
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
 * True for the result of an `async function*` or a `function*`, compiled down or not. A stream or a list, which is only
 * iterable, is a value like any other.
 */
export function isGenerator(value: unknown): value is AnyGenerator {
  if (!isObject(value)) return false;
  if (!(Symbol.asyncIterator in value || Symbol.iterator in value)) return false;
  const { next, return: end, throw: fail } = value as Partial<AnyGenerator>;
  return typeof next === "function" && typeof end === "function" && typeof fail === "function";
}

/**
 * Runs a handler's answer to its end. What a generator yields is reported as progress; the next value is requested once
 * the listener is done with it.
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
      // A sync generator may yield promises.
      last = await value;
      signal?.throwIfAborted();
      await onProgress(last);
    } catch (error) {
      // Nobody waits for it any longer, or nobody can be told: its finally blocks run, the rest of it does not.
      await (async () => answer.return(undefined))().catch(() => {});
      throw error;
    }
  }
}
