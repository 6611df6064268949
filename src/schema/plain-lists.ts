import type { OutputUnit, Schema as CheckedSchema } from "@cfworker/json-schema";
import type { Issue } from "../errors.ts";
import { orderedText } from "../json/index.ts";
import { locate } from "./plain-issues.ts";

/**
 * The validator compares each item of a list of unique items with every other: 40,000 items take seconds. So it does
 * this for short lists only; for others it looks up this reference, and the items are compared here.
 */
export const LONG_LIST = "toolstream:long-list";

/** The target of the reference until the long lists are known: it marks them with an error. */
export const MARK: CheckedSchema = { const: "a list whose items can be compared" };

/** Replaces the keyword `uniqueItems`. */
export const UNIQUE_ITEMS: CheckedSchema = {
  if: { maxItems: 50 },
  // oxlint-disable-next-line unicorn/no-thenable
  then: { uniqueItems: true },
  else: { $ref: LONG_LIST },
};

/** The pointers of the marked lists, including one in an alternative that was not meant. */
export function markedLists(units: readonly OutputUnit[]): string[] {
  const text = JSON.stringify(MARK.const);
  return units
    .filter(({ keyword, error }) => keyword === "const" && error.includes(text))
    .map(({ instanceLocation }) => instanceLocation);
}

/** The first two equal items of a list. */
export function equalItems(pointer: string, root: unknown): Issue[] {
  const { path, value } = locate(pointer, root);
  const known = new Map<string, number>();
  for (const [index, item] of (value as unknown[]).entries()) {
    const text = orderedText(item);
    const first = known.get(text);
    if (first !== undefined) return [{ message: `must have no equal items, items ${first} and ${index} are`, path }];
    known.set(text, index);
  }
  return [];
}
