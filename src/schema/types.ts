import type { Issue } from "../errors.ts";

/** A JSON Schema (draft 2020-12 unless its `$schema` says otherwise). */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The outcome of validation: the value as the schema's library outputs it (defaults, transforms), or what is wrong. */
export type Validation<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** The outcome for a value that is wrong as a whole. */
export function rejected(message: string): Validation<never> {
  return { ok: false, issues: [{ message, path: [] }] };
}

/**
 * An input schema of any kind, in one form: what to show to a model, and how to check what it writes. `Input` is what
 * the model writes, `Output` what the handler receives.
 */
export interface Schema<Input = unknown, Output = Input> {
  /** For the model. A plain object schema without `$schema`, if the library's own export allows. */
  readonly jsonSchema: JsonSchema;
  /** Synchronous; never throws for a bad value. */
  validate(value: unknown): Validation<Output>;
  /** Types only. */
  readonly "~types"?: { readonly input: Input; readonly output: Output };
}
