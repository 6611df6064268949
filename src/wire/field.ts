/** What a server has put in a field. Servers send what they like, so a field is asked for what it holds before it is read. */

/** A string with something in it. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A number, zero too. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Whether it holds fields or a list. Where a list is something else, ask `isRecord` of the JSON values. */
export function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null;
}

/** Whether nothing is said: the field is left out, or filled with `null`. */
export function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
