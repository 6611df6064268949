import { setOwn } from "./path.ts";

export class TooDeep extends RangeError {}
export class TooLong extends RangeError {}

/**
 * A deep copy of a JSON value, and about how long its JSON is. Properties are own ones, whatever their name.
 *
 * @throws TooDeep, TooLong where the value passes a limit; it is not read further then.
 */
export function copyValue(value: unknown, maxDepth: number, maxLength: number): { copy: unknown; length: number } {
  let length = 0;

  function copyOf(item: unknown, levels: number): unknown {
    length += typeof item === "string" ? item.length + 2 : 2;
    if (length > maxLength) throw new TooLong();
    if (typeof item !== "object" || item === null) return isJson(item) ? item : null;
    if (levels === 0) throw new TooDeep();
    if (Array.isArray(item)) return item.map((child) => copyOf(child, levels - 1));
    const copy = {};
    for (const key of Object.keys(item)) {
      length += key.length + 4;
      setOwn(copy, key, copyOf((item as Record<string, unknown>)[key], levels - 1));
    }
    return copy;
  }

  return { copy: copyOf(value, maxDepth), length };
}

/** What no JSON can hold (a function, a BigInt) comes from no provider. */
function isJson(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
