import { messageOf } from "../errors.ts";
import { isPlainObject } from "../json/index.ts";

/** More levels than any tool's data has, yet few enough for every stack. */
const MAX_DEPTH = 1_000;

/**
 * The JSON of a value, in a safe form: lone surrogates and NUL are escaped, so that no backend can change them.
 *
 * What would come back as something else is rejected, instead of being changed silently as `JSON.stringify` does: NaN
 * and Infinity (`null`), `undefined` in an array (`null`), functions and symbols (omitted), Date, Map and other class
 * instances. Two things are let through: a property that is `undefined` is omitted, and -0 becomes 0.
 *
 * @throws TypeError with the path of what cannot be stored
 */
export function textOf(value: unknown): string {
  check(value, []);
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new TypeError(`A store keeps JSON, and the value cannot be written as JSON: ${messageOf(cause)}.`, {
      cause,
    });
  }
}

function check(value: unknown, path: (string | number)[]): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (typeof value !== "object") return refuse(typeof value === "number" ? String(value) : `a ${typeof value}`, path);
  if (path.length >= MAX_DEPTH) refuse(`more than ${MAX_DEPTH} levels (or a value that contains itself)`, path);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      check(value[index], path);
      path.pop();
    }
    return;
  }
  if (!isPlainObject(value)) refuse(nameOf(Object.getPrototypeOf(value) as object), path);
  for (const key of Object.keys(value)) {
    path.push(key);
    const item = read(value as Record<string, unknown>, key, path);
    if (item !== undefined) check(item, path);
    path.pop();
  }
}

function read(object: Record<string, unknown>, key: string, path: readonly (string | number)[]): unknown {
  try {
    return object[key];
  } catch (cause) {
    return refuse(`a getter that throws (${messageOf(cause)})`, path, cause);
  }
}

function refuse(what: string, path: readonly (string | number)[], cause?: unknown): never {
  const shown = path.length > 8 ? [...path.slice(0, 8), "…"] : path;
  const at = path.length === 0 ? "" : ` at ${shown.map((part) => JSON.stringify(part)).join(".")}`;
  throw new TypeError(
    `A store keeps JSON, and the value holds ${what}${at}. Expected null, booleans, finite numbers, strings, arrays and plain objects.`,
    cause === undefined ? undefined : { cause },
  );
}

function nameOf(prototype: object): string {
  const maker: unknown = (prototype as { constructor?: unknown }).constructor;
  return typeof maker === "function" && maker.name !== "" ? `an instance of ${maker.name}` : "an instance of a class";
}
