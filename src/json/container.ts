/** A value that holds other values. */
export type Container = Record<string, unknown> | unknown[];

/** True for `{}` and arrays, not for `null`. */
export function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null;
}

/** True for `{}`, not for `null` and arrays. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

/** Always an own property, as `JSON.parse` makes it: including `__proto__` and whatever else Object.prototype has. */
export function put(container: Container, key: string | number, value: unknown): void {
  if (typeof key === "string" && key in Object.prototype) putOwn(container, key, value);
  else (container as Record<string | number, unknown>)[key] = value;
}

/** {@link put} for a key that Object.prototype has. */
export function putOwn(container: Container, key: string | number, value: unknown): void {
  Object.defineProperty(container, key, { value, enumerable: true, writable: true, configurable: true });
}

/** A shallow copy. */
export function copyOf(container: Container): Container {
  return Array.isArray(container) ? container.slice() : { ...container };
}
