/** A source that gives these, one after the other. */
export async function* iterate<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}
