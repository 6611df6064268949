import type { ProviderToolCall } from "../../src/stream/events.ts";
import { idOf, textOf } from "../../src/wire/field.ts";
import type { Item } from "./item.ts";
import type { WireItem } from "./wire.ts";

/**
 * Whether an item is a call that is not ours: of a hosted tool or an MCP server, a program, or a client's built-in.
 * Kinds that are not known yet end in `_call`, too; calls of our own tools are checked for first. Those of OpenRouter
 * have its name in front (`openrouter:web_search`): https://openrouter.ai/docs/guides/features/server-tools
 */
export function isHosted({ type }: WireItem): boolean {
  return typeof type === "string" && HOSTED.test(type);
}

const HOSTED = /_call$|:|^(?:mcp_approval_request|program)$/;

/**
 * Such a call as the stream's events report it. Its id is that of the item, under which the provider lists it; for a
 * call that the client runs it is the `call_id`, to which the client's answer must refer.
 *
 * @param itemId the id under which the item was announced; some servers end it under another one
 */
export function providerCall(
  wire: WireItem,
  status: ProviderToolCall["status"],
  itemId: string | null | undefined = wire.id,
): ProviderToolCall {
  const type = wire.type ?? "";
  const executedBy = executor(wire);
  return {
    id: (executedBy === "client" ? idOf(wire.call_id) : undefined) ?? textOf(itemId) ?? null,
    name: textOf(wire.name) ?? type.replace(/_call$/, ""),
    type,
    status,
    executedBy,
    input: inputOf(wire),
    output: outputOf(wire),
  };
}

/** Whether an item is the result of such a call, if that is a separate item. */
export function isHostedResult({ type }: WireItem): boolean {
  return typeof type === "string" && type.endsWith("_output");
}

/** Such a call with its result. */
export function answeredCall({ wire, id }: Item, result: WireItem): ProviderToolCall {
  return { ...providerCall(wire, endOf(result), id), output: result["output"] ?? result["result"] ?? result["tools"] };
}

/** The status of such a call when its item is done. One that waits for approval has not been run. */
export function endOf({ type, status, error }: WireItem): ProviderToolCall["status"] {
  if (type === "mcp_approval_request") return "started";
  return status === "failed" || status === "incomplete" || Boolean(error) ? "failed" : "completed";
}

/** @see https://platform.openai.com/docs/guides/tools (seen 2026-11) */
function executor(wire: WireItem): ProviderToolCall["executedBy"] {
  switch (wire.type) {
    case "local_shell_call":
    case "computer_call":
    case "apply_patch_call":
      return "client";
    case "shell_call":
      return wire.environment?.type === "container_reference" ? "provider" : "client";
    case "tool_search_call":
      return wire.execution === "client" ? "client" : "provider";
    default:
      return "provider";
  }
}

function inputOf(wire: WireItem): unknown {
  switch (wire.type) {
    case "apply_patch_call":
      return wire["operation"];
    case "code_interpreter_call":
    case "program":
      return wire["code"];
    case "custom_tool_call":
      return wire.input;
    case "computer_call":
      return wire["actions"] ?? wire["action"];
    case "file_search_call":
      return wire["queries"];
    case "image_generation_call":
      return wire["revised_prompt"];
    default:
      return wire.arguments ?? wire["action"];
  }
}

function outputOf(wire: WireItem): unknown {
  switch (wire.type) {
    case "code_interpreter_call":
      return wire["outputs"];
    case "file_search_call":
      return wire["results"];
    case "image_generation_call":
      return wire["result"] ?? wire.error;
    default:
      return wire["output"] ?? wire.error;
  }
}
