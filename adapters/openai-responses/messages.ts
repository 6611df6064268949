// See index.ts.
/** @ts-ignore */
import type { EasyInputMessage, ResponseInputContent, ResponseInputItem } from "openai/resources/responses/responses";
import type { FailedCall } from "../../src/errors.ts";
import type { ToolCall } from "../../src/stream/call.ts";
import type { Turn } from "../../src/stream/events.ts";
import { isFreeText } from "../../src/schema/rewrites.ts";
import { wellFormed, wellFormedTurn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { answers, historyArguments, outputText, recordOf, wireId } from "../../src/stream/history.ts";
import { safeToolName } from "../../src/tool/names.ts";
import type { Tool } from "../../src/tool/tool.ts";
import { textOf } from "../../src/wire/field.ts";
import { isCall, isResult, mayLackId, partsOf } from "./item.ts";
import { toolName } from "./schema.ts";
import type { NativeItem, NativeTurn, WireItem, WirePart } from "./wire.ts";

/**
 * The turn as the input items that go back: the output as it came, with ids, reasoning and calls of every kind. For a
 * turn that failed: its text as far as it came, what else was complete, and every call, since every call gets a result.
 */
export const assistantMessage = (turn: Turn): ResponseInputItem[] => {
  const native = recordOf<NativeTurn>(turn, "items", { items: [] });
  const calls = new Map<unknown, ToolCall>(turn.calls.map((call) => [call.metadata["item"] ?? call, call]));
  const answered = new Set(native.items.map(({ item }) => (isResult(item) ? item.call_id : undefined)));
  const sent = turn.error === undefined ? native.items : native.items.flatMap(withoutReference);
  const recorded: WireItem[] = sent.flatMap(({ key, item, done }) => {
    if (!isCall(item)) return isTaken(item) ? [inputItem(item)] : [];
    const call = calls.get(key);
    calls.delete(key);
    if (call !== undefined) return [callItem(call, inputItem(item), done)];
    // A call that is not in the turn has no result, so the API would reject it, unless the server has run it.
    return item.call_id && answered.has(item.call_id) ? [inputItem(item)] : [];
  });
  // Calls with another turn index did not come as items: they were found in the text.
  const wasFound = [...calls.values()].some(({ turnIndex }) => turnIndex !== 0);
  // Gateways end a message without its text, or too early: https://github.com/agentgateway/agentgateway/pull/3326
  const isShort = lengthOf(recorded) < turn.text.length;
  const items: (WireItem | EasyInputMessage)[] = wasFound || isShort ? onlySaid(recorded, turn.text) : recorded;
  // Calls without an item of their own: a server that sends two calls as one item, a turn put together by hand.
  for (const call of calls.values()) items.push(callItem(call, {}, true));
  if (turn.text !== "" && !items.some(({ type }) => type === "message")) {
    // DeepSeek also misses reasoning that comes after the text: https://github.com/GizClaw/flowcraft/issues/477
    const at = items.findIndex((item) => !isThought(item));
    items.splice(Math.max(at, 0), 0, { role: "assistant", content: turn.text });
  }
  // The API rejects reasoning without the item that it led to; a turn that was cut may end with it.
  while (items.at(-1)?.type === "reasoning") items.pop();
  return wellFormedTurn(items as unknown as ResponseInputItem[]);
};

/**
 * An item of a failed turn, which the API may not have stored: it looks items up by their ids, and refuses this and
 * every later request for one that is missing (`Item with id 'rs_...' not found`):
 * https://github.com/vercel/ai/issues/8811. Messages are left out, since {@link assistantMessage} writes the whole text
 * without an id. Reasoning with its text stays, since DeepSeek rejects calls without it ("The `reasoning_text` in the
 * thinking mode must be passed back"): https://github.com/rikkahub/rikkahub/issues/1629,
 * https://github.com/DotHarness/dotcraft/issues/263.
 */
function withoutReference(native: NativeItem): NativeItem[] {
  const { item } = native;
  const isReference = item.type === "reasoning" && !item["encrypted_content"] && !isThought(item);
  if (item.type === "message" || isReference) return [];
  return isCall(item) ? [{ ...native, item: without(item, "id") }] : [native];
}

/** Whether it is reasoning that came as text, which no server has to look up or decrypt. */
function isThought(item: WireItem | EasyInputMessage): boolean {
  const { type, content, encrypted_content: sealed } = item as WireItem;
  return type === "reasoning" && !sealed && partsOf(content).length > 0;
}

/** The length of the text of all messages. */
function lengthOf(items: readonly WireItem[]): number {
  const parts = items.flatMap(({ type, content }) => (type === "message" ? partsOf(content) : []));
  return parts.reduce((length, { text }) => length + (textOf(text) ?? "").length, 0);
}

/** Replaces the text of the messages with what was said, at the place of their first text. */
function onlySaid(items: readonly WireItem[], said: string): WireItem[] {
  let left = said.trim() === "" ? undefined : said;
  return items.flatMap((item) => {
    const { type, content } = item;
    if (type !== "message" || !Array.isArray(content)) return [item];
    const parts = (content.length === 0 ? [NO_TEXT] : content).flatMap((part: WirePart) => {
      if (!isRecord(part) || part.type !== "output_text") return [part];
      const text = left;
      left = undefined;
      return text === undefined ? [] : [{ ...part, text }];
    });
    return parts.length === 0 ? [] : [{ ...item, content: parts }];
  });
}

const NO_TEXT: WirePart = { type: "output_text", annotations: [] };

export const { toolResult, toolError, toolResults } = answers<ResponseInputItem>({
  result: (use, output) => reply(use, outputOf(output, use.note)),
  // The wire has no error flag: a failure is the JSON `{"error":"…"}`, which no model mistakes for a result.
  error: (call, message) => reply(call, outputText({ error: message })),
});

/** The content of a tool result: `input_text`, `input_image` and `input_file`. */
export type ResultParts = ResponseInputContent[];
type Output = string | ResultParts;

const RESULT_CONTENT: unique symbol = Symbol.for("toolstream.openai-responses.resultContent");

/**
 * Marks a handler's output as content parts, for results that are more than text. Without the mark an array is data and
 * is sent as JSON, whatever it looks like: what a tool has fetched must not make the provider load an image.
 *
 * @example
 * execute: async () => resultContent([{ type: "input_image", image_url: dataUrl, detail: "auto" }]),
 */
export function resultContent(parts: ResultParts): { readonly content: ResultParts } {
  return Object.freeze({ [RESULT_CONTENT]: true, content: parts });
}

function outputOf(output: unknown, note: string | undefined): Output {
  if (!isRecord(output) || !(RESULT_CONTENT in output)) return outputText(output);
  const parts = output["content"] as ResultParts;
  return wellFormed(note === undefined ? parts : [...parts, { type: "input_text", text: note }]);
}

function reply(call: FailedCall, output: Output): ResponseInputItem {
  const { caller } = call.metadata;
  const reference = {
    call_id: callIdOf(call),
    output,
    // A program at the provider waits for the result, not the model.
    ...(isCaller(caller) && { caller }),
  };
  return isCustom(call)
    ? { type: "custom_tool_call_output", ...reference }
    : { type: "function_call_output", ...reference };
}

/** A call as it goes back: the item as it came, with an input that every server can read again. */
function callItem(call: ToolCall, item: WireItem, done: boolean): WireItem {
  // Dirty names (token debris, dots) make a server reject the whole history.
  const said = textOf(item.name) ?? "";
  const name = isClean(said) ? said : toolName(call.name ?? "unnamed");
  const known = { ...item, call_id: callIdOf(call), name };
  // It has not ended but will have a result: there is no status for that.
  if (!done) delete (known as { status?: unknown }).status;
  if (isCustom(call)) return { ...known, type: "custom_tool_call", input: call.argsText };
  return { ...known, type: "function_call", arguments: historyArguments(call) };
}

/** The API accepts tools that were added on the way only from the developer ("Only `developer` is supported"). */
function isTaken({ type, role }: WireItem): boolean {
  return type !== "additional_tools" || role === "developer";
}

/**
 * An output item as the API accepts it as input: what only the output has is left out.
 *
 * - `status` of reasoning, custom calls and their results, and one that is `null`: https://github.com/openai/openai-python/issues/3008
 * - `status` of a failed screenshot: the input has no such value, and without its result the call would be rejected
 * - `created_by`, also in the pieces of a shell's output, and what the SDK's `parse()` adds
 * - an `id` of more than 64 characters, where it is optional: ChatGPT's backend and GitHub Copilot give such ids, and
 *   reject them ("string too long"): https://github.com/NousResearch/hermes-agent/issues/27038,
 *   https://github.com/openclaw/openclaw/issues/84774. Sealed reasoning has its id in `encrypted_content`, too:
 *   https://github.com/openclaw/openclaw/issues/72602
 * - an `id` that a gateway made (`chatcmpl-…`, a UUID), for which OpenAI refuses the whole history ("Expected an ID that
 *   begins with 'msg'"): https://github.com/BerriAI/litellm/issues/27333, https://github.com/can1357/oh-my-pi/issues/977
 */
function inputItem(item: WireItem): WireItem {
  const { created_by: _, parsed_arguments: __, ...input } = item;
  const { type, status, content, output } = input;
  const isFailedShot = type === "computer_call_output" && status === "failed";
  if (status === null || isFailedShot || STATUSLESS.has(type)) delete input["status"];
  const isFree = mayLackId(item) || Boolean(item["encrypted_content"]);
  if (FOREIGN_ID.test(`${type} ${item.id}`) || (isFree && (item.id?.length ?? 0) > MAX_ID_LENGTH)) delete input["id"];
  if (type === "message" && Array.isArray(content) && content.some((part) => isRecord(part) && "parsed" in part)) {
    input["content"] = content.map(({ parsed: ___, ...part }) => part);
  }
  if (type === "shell_call_output" && Array.isArray(output)) {
    input.output = output.map((piece: unknown) => (isRecord(piece) ? without(piece, "created_by") : piece));
  }
  return input;
}

/** Of an item's `id` and of a `call_id`. */
const MAX_ID_LENGTH = 64;

/** The type and id of an item that OpenAI did not make, and that may lack its id. */
const FOREIGN_ID = /^(?:message (?!msg_)|function_call (?!fc_)|custom_tool_call (?!ctc_))/;

const STATUSLESS: ReadonlySet<unknown> = new Set(["reasoning", "custom_tool_call", "custom_tool_call_output"]);

function without(record: Readonly<Record<string, unknown>>, field: string): Record<string, unknown> {
  const { [field]: _, ...rest } = record;
  return rest;
}

/** The id under which a call goes back; our own is made to fit. */
function callIdOf(call: FailedCall | ToolCall): string {
  const id = wireId(call);
  return id === call.id ? id : madeId(id);
}

const madeId = safeToolName({ allowed: /[a-zA-Z0-9_-]/, maxLength: MAX_ID_LENGTH });

/** Whether the input is free text instead of JSON; for a use made by hand only the tool tells. */
function isCustom(call: Pick<FailedCall, "metadata"> & { readonly tool?: Tool | undefined }): boolean {
  const { custom, item } = call.metadata;
  if (custom !== undefined || item !== undefined) return custom === true;
  return call.tool !== undefined && isFreeText(call.tool.inputSchema.jsonSchema);
}

function isCaller(value: unknown): value is { type: "direct" } | { type: "program"; caller_id: string } {
  return isRecord(value) && (value["type"] === "direct" || value["type"] === "program");
}

function isClean(name: string): boolean {
  return /^[a-zA-Z_][\w-]*$/.test(name);
}
