import { setOwn } from "../schema/json.ts";
import { isPlainObject } from "../json/index.ts";
import { unlessItThrows } from "../quietly.ts";

/**
 * A copy that nobody else can change, so that what was judged and shown is what runs. Plain objects, arrays, dates,
 * maps and sets are copied. Anything else that a schema may have made (a URL, a class instance) is passed on as it is,
 * and so is what cannot be copied (it contains itself, a getter throws), which has no digest either and will not run.
 */
export function snapshot<T>(value: T): T {
  return (unlessItThrows(() => copy(value, 0)) ?? value) as T;
}

/** The depth limit of digests. */
const MAX_DEPTH = 256;

function copy(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw new RangeError("too deep");
  const inner = (item: unknown) => copy(item, depth + 1);
  if (Array.isArray(value)) return value.map(inner);
  if (value instanceof Date) return new Date(value);
  if (value instanceof Map) return new Map(Array.from(value, ([key, item]) => [inner(key), inner(item)]));
  if (value instanceof Set) return new Set(Array.from(value, inner));
  if (!isPlainObject(value)) return value;
  const plain = {};
  for (const key of Object.keys(value)) setOwn(plain, key, inner((value as Record<string, unknown>)[key]));
  return plain;
}
