import { isRecord } from "./container.ts";

/**
 * Neither a list nor an instance of a class. Works across realms: the prototype of plain objects has no prototype
 * itself.
 */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * An instance of a class that keeps its contents elsewhere: a promise that was not awaited, a Response, a Map. Or bytes:
 * JSON would make `{"0":104,"1":105}` of them.
 */
export function isEmptied(value: unknown): value is object {
  if (ArrayBuffer.isView(value)) return true;
  if (!isRecord(value) || isPlainObject(value)) return false;
  // JSON knows `new Number(5)`.
  return Object.keys(value).length === 0 && !("toJSON" in value) && typeof value.valueOf() === "object";
}

/** The message for such an instance. */
export function emptiedMessage({ constructor }: object): string {
  return `an instance of ${constructor?.name || "a class"}, for which JSON has no form`;
}
