import { isNothing, isObject } from "../../src/wire/field.ts";
import { baseError } from "./error.ts";
import type { WireChoice, WireEvent, WireMessage, WireToolCall } from "./wire.ts";

/** The delta of a chunk that contains nothing else. */
export function onlyDelta(event: unknown, index: number): WireMessage | undefined {
  if (!isObject(event)) return undefined;
  const { choices, object, error, usage, x_groq } = event as WireEvent;
  const isChunk = object !== "chat.completion" && object !== "error";
  if (!isChunk || !isNothing(error) || !isNothing(usage) || !isNothing(x_groq) || !Array.isArray(choices))
    return undefined;
  if (baseError(event as WireEvent) !== undefined) return undefined;
  const [choice, ...others] = choices as readonly (WireChoice | null)[];
  if (!isObject(choice) || others.length > 0 || (choice.index ?? 0) !== index || !isObject(choice.delta))
    return undefined;
  return !isNothing(choice.finish_reason) || !isNothing(choice.usage) || !isNothing(choice.error)
    ? undefined
    : choice.delta;
}

export function isOnlyText(message: WireMessage): boolean {
  return typeof message.content === "string" && saysOnly(message, TEXT_FIELDS);
}

export function isOnlyArguments(message: WireMessage): boolean {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls) || calls.length !== 1 || !saysOnly(message, CALL_FIELDS)) return false;
  const [call] = calls as readonly (WireToolCall | null)[];
  return (
    isObject(call) &&
    saysOnly(call, ENTRY_FIELDS) &&
    typeof call.index === "number" &&
    isObject(call.function) &&
    saysOnly(call.function, ARGUMENTS_FIELDS)
  );
}

const TEXT_FIELDS = new Set(["content", "role"]);
const CALL_FIELDS = new Set(["tool_calls", "role"]);
const ENTRY_FIELDS = new Set(["index", "type", "function"]);
const ARGUMENTS_FIELDS = new Set(["arguments"]);

/** Whether all fields except these are empty. */
function saysOnly(record: object, fields: ReadonlySet<string>): boolean {
  return Object.entries(record).every(([field, value]) => fields.has(field) || isNothing(value));
}
