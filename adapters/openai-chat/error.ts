import { countOf, errorText, isNothing, isObject, textOf } from "../../src/wire/field.ts";
import type { WireError, WireEvent } from "./wire.ts";

/** Whether it is a failure: servers that fill every field send an empty one. */
export function isError(error: unknown): error is WireError | string {
  if (!isObject(error)) return typeof error === "string" && error !== "";
  return Object.values(error).some((value) => !isNothing(value) && value !== "");
}

/** Whether an event is itself an error, not wrapped in a field. */
export function isBareError(event: WireEvent): boolean {
  const { object, choices } = event;
  if (object === "error" || choices?.length) return object === "error";
  const { message, detail, errors, error_message: said } = event;
  if (textOf(said) !== undefined) return true;
  return isNothing(choices) && (textOf(message) ?? errorText(detail) ?? errorText(errors)) !== undefined;
}

/** How MiniMax reports it; all of its responses have this field: https://github.com/edenai/edenai-apis/pull/360 */
export function baseError({ base_resp: base }: WireEvent): WireError | undefined {
  return isObject(base) && base.status_code ? { message: base.status_msg ?? null, code: base.status_code } : undefined;
}

export function errorMessage(error: WireError | string): string {
  const { code, type } = error as WireError;
  const name = textOf(code) ?? countOf(code) ?? textOf(type);
  const noText = name === undefined ? "an error without a message" : `the error ${name}`;
  return errorText(error) ?? `The provider reported ${noText}.`;
}
