import type { ProviderToolCall } from "../../src/stream/events.ts";
import { isNothing, textOf } from "../../src/wire/field.ts";
import type { WireContent, WireDelta, WireStep } from "./wire.ts";

/** The call of a tool that the server runs: `google_search_call`, `code_execution_call`, `mcp_server_tool_call`, … */
export function isHosted({ type }: WireStep | WireDelta): boolean {
  return typeof type === "string" && type.endsWith("_call") && type !== "function_call";
}

/** What a call gave that the server has run; `function_result` for one that the client could have run. */
export function isResult({ type }: WireStep | WireDelta): boolean {
  return typeof type === "string" && type.endsWith("_result");
}

/** A delta that is a content of its own. */
export function isMedia(type: string): boolean {
  return MEDIA.has(type);
}

const MEDIA: ReadonlySet<string> = new Set(["image", "audio", "document", "video"]);

/**
 * Such a call as the stream's events report it.
 *
 * @param result its result, once that has come
 */
export function providerCall(call: WireStep, result?: WireStep): ProviderToolCall {
  const type = (call.type ?? "").replace(/_result$/, "_call");
  return {
    id: textOf(call.id) ?? textOf(call.call_id) ?? null,
    name: textOf(call.name) ?? type.replace(/_call$/, ""),
    type,
    status: result === undefined ? "started" : result.is_error === true ? "failed" : "completed",
    executedBy: "provider",
    ...(!isNothing(call.arguments) && { input: call.arguments }),
    ...(!isNothing(result?.result) && { output: result!.result }),
  };
}

/** Puts a delta into the step of a call or result. It repeats the fields; only results come in pieces. */
export function mergeHosted(step: WireStep, delta: WireDelta): void {
  const own = step as Record<string, unknown>;
  for (const [field, value] of Object.entries(delta)) {
    if (field === "__proto__" || isNothing(value) || value === "") continue;
    const before = own[field];
    if (field === "result" && typeof before === "string" && typeof value === "string") own[field] = before + value;
    else if (field === "result" && Array.isArray(before) && Array.isArray(value)) own[field] = [...before, ...value];
    else own[field] = value;
  }
}

/** Adds text to the text at the end of a list of contents. */
export function sayText(contents: WireContent[], text: string): void {
  const last = contents.at(-1);
  if (last?.type === "text" && typeof last.text === "string") (last as { text: string }).text += text;
  else contents.push({ type: "text", text });
}
