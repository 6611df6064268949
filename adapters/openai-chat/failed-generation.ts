import { jsonIn } from "../../src/json/index.ts";
import type { WireError } from "./wire.ts";

/**
 * What the model wrote when Groq rejected its call: an error with code `tool_use_failed` contains the text. It is JSON
 * (`{"name":"f","arguments":{…}}`) or the model's own markup (`<function=f={…}</function>`), often broken, so name and
 * arguments are read only where they are clear. It is for display and for the model's next try, never executed.
 *
 * @see https://console.groq.com/docs/tool-use
 */
export function failedGeneration(error: WireError | string): { name: string | undefined; args: string } | undefined {
  const { code, failed_generation: text } = error as WireError;
  if (code !== "tool_use_failed" || typeof text !== "string") return undefined;
  return fromJson(text) ?? fromMarkup(text) ?? { name: undefined, args: text };
}

function fromJson(text: string) {
  const value = jsonIn(text);
  const call = (Array.isArray(value) ? value[0] : value) as
    | { name?: unknown; arguments?: unknown; parameters?: unknown }
    | null
    | undefined;
  if (typeof call?.name !== "string") return undefined;
  const args = call.arguments ?? call.parameters;
  return { name: call.name, args: typeof args === "string" ? args : (JSON.stringify(args) ?? "") };
}

function fromMarkup(text: string) {
  const call = /<function[=(]\s*([\w.:-]+)[^{]*(\{.*\})?/s.exec(text);
  return call === null ? undefined : { name: call[1], args: call[2] ?? "" };
}
