import type { JsonSchema } from "./types.ts";

/** One value that was changed, and where. */
export interface Coercion {
  readonly path: readonly (string | number)[];
  readonly before: unknown;
  readonly after: unknown;
}

/** A value after the change; the same object when nothing was changed. */
export interface Coerced {
  readonly value: unknown;
  readonly repairs: readonly Coercion[];
}

export function dropNulls(value: unknown, _schema: JsonSchema): Coerced {
  return { value, repairs: [] };
}

export function coerce(value: unknown, _schema: JsonSchema): Coerced {
  return { value, repairs: [] };
}
