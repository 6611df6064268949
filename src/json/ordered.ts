import { isRecord } from "./container.ts";

/**
 * The JSON of a value with the keys of its objects sorted, so that equal values give equal text: a database with a JSON
 * type of its own (`jsonb`) does not keep the order of keys, nor does a server that parses what its model wrote.
 */
export function orderedText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (!isRecord(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
