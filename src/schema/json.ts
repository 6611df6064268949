import { copyOf, isObject, isRecord, put, putOwn, type Container } from "../json/container.ts";

export { isObject, isRecord };

/** A deep copy of a JSON value. `__proto__` stays an own property; `undefined` properties are left out. */
export function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyJson);
  if (!isObject(value)) return value;
  const copy = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item !== undefined) setOwn(copy, key, copyJson(item));
  }
  return copy;
}

/** The same, deeply frozen. */
export function frozenJson(value: unknown): unknown {
  return freezeAll(copyJson(value));
}

function freezeAll(value: unknown): unknown {
  if (isObject(value)) Object.values(value).forEach(freezeAll);
  return Object.freeze(value);
}

/** What is in a container. */
export function contentOf(container: object): Iterable<[string | number, unknown]> {
  return Array.isArray(container) ? container.entries() : Object.entries(container);
}

/**
 * A copy of a container with its content changed; the same container if nothing changes. A property that becomes
 * `undefined` is dropped.
 */
export function mapContent<C extends object>(container: C, change: (item: unknown, key: KeyOf<C>) => unknown): C {
  let copy: Container | undefined;
  for (const [key, item] of contentOf(container)) {
    const after = change(item, key as KeyOf<C>);
    if (after === item) continue;
    copy ??= copyOf(container as Container);
    if (after === undefined) delete (copy as Record<string, unknown>)[key];
    else put(copy, key, after);
  }
  return (copy ?? container) as C;
}

type KeyOf<C> = C extends readonly unknown[]
  ? number
  : C extends Readonly<Record<string, unknown>>
    ? string
    : string | number;

/** `object[key] = value`, but any key becomes an own property, even `__proto__`. */
export function setOwn(object: object, key: string, value: unknown): void {
  if (key === "__proto__") putOwn(object as Record<string, unknown>, key, value);
  else (object as Record<string, unknown>)[key] = value;
}

/** The own property, or `undefined`: `constructor` and `toString` are not properties of a JSON object. */
export function getOwn<T>(object: Readonly<Record<string, T>>, key: string): T | undefined;
export function getOwn(object: unknown, key: string): unknown;
export function getOwn(object: unknown, key: string): unknown {
  return isObject(object) && Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}

/** A property with a value that is none of the known ones, if there is one. */
export function unknownKey(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find((key) => !known.includes(key) && getOwn(given, key) !== undefined);
}

/** True for objects of any kind, functions too. */
export function isObjectLike(value: unknown): value is object {
  return isObject(value) || typeof value === "function";
}

/** The kind of a value, as messages name it: `null`, `an array`, `a string`, `an empty string`. */
export function kindOf(value: unknown): string {
  if (value === "") return "an empty string";
  return value === null || value === undefined ? String(value) : article(Array.isArray(value) ? "array" : typeof value);
}

/** The kind of an object, as messages name it: by its class, or by its keys. */
export function kindOfObject(object: object): string {
  const { name } = object.constructor ?? {};
  return name && name !== "Object"
    ? `an instance of ${name}`
    : `an object with ${Object.keys(object).slice(0, 10).join(", ") || "no keys"}`;
}

export function article(type: string): string {
  return type === "null" ? type : `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

/** JSON Schema's name for the type of a value. Whole numbers are `integer`. */
export function typeOfValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** Equality of JSON values. */
export function sameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => sameValue(item, other[index]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && sameValue(one[name], other[name]))
  );
}
