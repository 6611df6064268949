import { isHuge } from "../json/index.ts";
import { setOwn } from "../schema/json.ts";

export class TooDeep extends RangeError {}
export class TooLong extends RangeError {}

/** A copy, and what is seen while it is made, since to walk over a large value once more costs nearly as much. */
export interface Copied {
  readonly copy: unknown;
  /** About how long its JSON is. */
  readonly length: number;
  /** The value was JSON, so that both have the same text. */
  readonly isExact: boolean;
  /** It holds a number that may not be the one that was written. */
  readonly hasHuge: boolean;
}

/**
 * A deep copy of a JSON value. Properties are own ones, whatever their name; what no JSON can hold becomes `null`.
 *
 * @throws TooDeep, TooLong where the value passes a limit; it is not read further then.
 */
export function copyValue(value: unknown, maxDepth: number, maxLength: number): Copied {
  let length = 0;
  let isExact = true;
  let hasHuge = false;

  function copyOf(item: unknown, levels: number): unknown {
    length += typeof item === "string" ? item.length + 2 : 2;
    if (length > maxLength) throw new TooLong();
    if (typeof item !== "object" || item === null) {
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

/** What no JSON can hold (a function, a BigInt) comes from no provider. */
function isJson(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
