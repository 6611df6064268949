import { UsageError } from "./usage-error.ts";

/**
 * The users whose files are run: the user of this process, root, and those given.
 *
 * @throws UsageError for anything but a user's number
 */
export function ownersOf(given: readonly string[] = []): { owners?: readonly number[] } {
  if (given.length === 0) return {};
  const wrong = given.find((owner) => !/^\d{1,10}$/.test(owner));
  if (wrong !== undefined) throw new UsageError(`--owner is the number of a user, got ${JSON.stringify(wrong)}.`);
  return { owners: [process.getuid?.() ?? 0, 0, ...given.map(Number)] };
}
