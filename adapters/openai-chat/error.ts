import { isNothing, isObject, textOf } from "../../src/wire/field.ts";
import type { WireError, WireEvent } from "./wire.ts";

/** Whether it is a failure: servers that fill every field send one with nothing in it. */
export function isError(error: unknown): error is WireError | string {
  if (!isObject(error)) return typeof error === "string" && error !== "";
  return Object.values(error).some((value) => !isNothing(value) && value !== "");
}

/** Whether an event is an error itself, without a field around it. */
export function isBareError({ object, choices, message }: WireEvent): boolean {
  return object === "error" || (isNothing(choices) && textOf(message) !== undefined);
}

/** How MiniMax tells it, whose every response has such a field: https://github.com/edenai/edenai-apis/pull/360 */
export function baseError({ base_resp: base }: WireEvent): WireError | undefined {
  return isObject(base) && base.status_code ? { message: base.status_msg ?? null, code: base.status_code } : undefined;
}

/** What it says, at whatever depth a gateway has put it. */
export function errorMessage(error: unknown): string | undefined {
  if (typeof error === "string") return error === "" ? undefined : error;
  if (!isObject(error)) return undefined;
  const { message, error: inner, detail, code } = error as WireError;
  return (
    errorMessage(message) ??
    errorMessage(inner) ??
    (typeof detail === "string" ? detail : undefined) ??
    (typeof code === "string" || typeof code === "number" ? `The provider reported the error ${code}.` : undefined)
  );
}
