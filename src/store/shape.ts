/** Stored data is untrusted input: it may be newer, damaged, or forged. Each of these says whether a value is as it was written. */
export type Check = (value: unknown) => boolean;

/** An object with these fields; others may be anything. */
export function shape(fields: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(fields);
  return (value) => isObject(value) && checks.every(([name, fits]) => fits((value as Record<string, unknown>)[name]));
}

export function oneOf<Value>(...values: readonly Value[]): Check {
  return (value) => values.includes(value as Value);
}

export function optional(fits: Check): Check {
  return (value) => value === undefined || fits(value);
}

export function nullable(fits: Check): Check {
  return (value) => value === null || fits(value);
}

export function listOf(fits: Check): Check {
  return (value) => Array.isArray(value) && value.every(fits);
}

export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** An id or a name. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** A time, or an amount. */
export function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
