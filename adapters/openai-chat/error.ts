import { countOf, isNothing, isObject, textOf } from "../../src/wire/field.ts";
import type { WireError, WireEvent } from "./wire.ts";

/** Whether it is a failure: servers that fill every field send one with nothing in it. */
export function isError(error: unknown): error is WireError | string {
  if (!isObject(error)) return typeof error === "string" && error !== "";
  return Object.values(error).some((value) => !isNothing(value) && value !== "");
}

/** Whether an event is an error itself, without a field around it. */
export function isBareError({ object, choices, message, detail, errors }: WireEvent): boolean {
  if (object === "error") return true;
  return isNothing(choices) && (textOf(message) ?? errorMessage(detail) ?? errorMessage(errors)) !== undefined;
}

/** How MiniMax tells it, whose every response has such a field: https://github.com/edenai/edenai-apis/pull/360 */
export function baseError({ base_resp: base }: WireEvent): WireError | undefined {
  return isObject(base) && base.status_code ? { message: base.status_msg ?? null, code: base.status_code } : undefined;
}

/** What it says, at whatever depth a gateway has put it; of several errors the first. */
export function errorMessage(error: unknown): string | undefined {
  if (!isObject(error)) return textOf(error);
  if (Array.isArray(error)) return errorMessage(error[0]);
  const { message, msg, error: inner, detail, errors, code, type } = error as WireError;
  const name = textOf(code) ?? countOf(code) ?? textOf(type);
  return (
    errorMessage(message) ??
    errorMessage(msg) ??
    errorMessage(inner) ??
    errorMessage(detail) ??
    errorMessage(errors) ??
    (name === undefined ? undefined : `The provider reported the error ${name}.`)
  );
}
