import { isHuge } from "../json/index.ts";
import { isObject, setOwn } from "../schema/json.ts";

export class TooDeep extends RangeError {}
export class TooLong extends RangeError {}

/** A copy, and what was noticed while making it: walking over a large value again costs nearly as much. */
export interface Copied {
  readonly copy: unknown;
  /** Approximate length of its JSON. */
  readonly length: number;
  /** The value was plain JSON, so both have the same text. */
  readonly isExact: boolean;
  /** It holds a number that may differ from the one that was written. */
  readonly hasHuge: boolean;
}

/**
 * A deep copy of a JSON value. All properties become own ones, whatever their name; what JSON cannot hold becomes
 * `null`.
 *
 * @throws TooDeep, TooLong where the value passes a limit; the rest is then not read.
 */
export function copyValue(value: unknown, maxDepth: number, maxLength: number): Copied {
  let length = 0;
  let isExact = true;
  let hasHuge = false;

  function copyOf(item: unknown, levels: number): unknown {
    length += typeof item === "string" ? item.length + 2 : 2;
    if (length > maxLength) throw new TooLong();
    if (!isObject(item)) {
      if (typeof item === "number" && isHuge(item)) hasHuge = true;
      if (isJson(item)) return item;
      isExact = false;
      return null;
    }
    if (levels === 0) throw new TooDeep();
    if (Array.isArray(item)) return item.map((child) => copyOf(child, levels - 1));
    const copy = {};
    for (const key of Object.keys(item)) {
      length += key.length + 4;
      setOwn(copy, key, copyOf((item as Record<string, unknown>)[key], levels - 1));
    }
    return copy;
  }

  const copy = copyOf(value, maxDepth);
  return { copy, length, isExact, hasHuge };
}

/** No provider sends what JSON cannot hold (a function, a BigInt). */
function isJson(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
