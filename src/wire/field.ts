import { cut } from "../errors.ts";
import { isObject } from "../json/container.ts";
import { jsonIn } from "../json/parse.ts";

export { isObject };

/** Reading fields of what a server sent. Servers send anything, so the type of a field is checked before it is read. */

/** A string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * An id as text: some servers send a number. `"null"` on the later pieces of a call is none, and the same for all calls:
 * https://github.com/langchain-ai/langchainjs/pull/11373, https://github.com/langchain-ai/langchainjs/pull/11505
 */
export function idOf(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : typeof value === "string" && value !== "null" ? value : undefined;
}

/** A number, including zero. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The sum of two counts, as far as they were given. */
export function sumOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}

/** A number that counts, also one that is written as text. */
export function indexOf(value: unknown): number | undefined {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : countOf(value);
}

/** The arguments of a call, if they are an object; servers in PHP write an empty one as `[]`. */
export function argumentsObject(args: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isObject(args)) return undefined;
  if (Array.isArray(args)) return args.length === 0 ? {} : undefined;
  return args as Record<string, unknown>;
}

/**
 * The arguments of a call as text, unless they are an object: text as it is, anything else as JSON, and validation
 * reports what is wrong with it.
 */
export function argumentsText(args: unknown): string | undefined {
  if (typeof args === "string") return args;
  return isNothing(args) || argumentsObject(args) !== undefined ? undefined : JSON.stringify(args);
}

/** Whether nothing is said: the field is missing or `null`. */
export function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** Whether nothing is in it: it says no more than a field that is missing. Servers in PHP write `{}` as `[]`. */
export function isEmpty(value: unknown): boolean {
  return isNothing(value) || value === "" || (isObject(value) && Object.keys(value).length === 0);
}

/**
 * What an error says, at whatever depth a gateway has put it, also as JSON in a text; of several errors the first. A
 * gateway that says little itself has the error of the server behind it in its metadata (OpenRouter), or as the value
 * that it could not read (https://github.com/vercel/ai/issues/18303).
 */
export function errorText(error: unknown, depth = 0): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const inside = (value: unknown) => errorText(value, depth + 1);
  if (typeof error === "string") return (/^\s*[[{]/.test(error) ? inside(jsonIn(error)) : undefined) ?? textOf(error);
  if (!isObject(error)) return undefined;
  if (Array.isArray(error)) return inside(error[0]);
  const fields = error as { readonly [field: string]: unknown };
  let said: string | undefined;
  for (const field of ERROR_FIELDS) said ??= inside(fields[field]);
  const { metadata, value } = fields;
  const reason = inside((metadata as { raw?: unknown } | null | undefined)?.raw ?? (isObject(value) ? value : null));
  if (reason === undefined || said?.includes(reason)) return said;
  return said === undefined ? reason : `${said}: ${cut(reason, 500)}`;
}

/** No gateway wraps an error that often; what is nested deeper is shown as it is. */
const MAX_DEPTH = 16;
const ERROR_FIELDS = ["message", "msg", "error", "detail", "errors", "error_message"] as const;
