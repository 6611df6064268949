// See index.ts.
/** @ts-ignore */
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
} from "openai/resources/chat/completions";
import type { FailedCall } from "../../src/errors.ts";
import type { ToolCall } from "../../src/stream/call.ts";
import type { Turn } from "../../src/stream/events.ts";
import { wellFormedTurn } from "../../src/json/index.ts";
import { answers, checkTurn, foreignTurn, historyArguments, outputText } from "../../src/stream/history.ts";
import { hash } from "../../src/tool/names.ts";
import { textOf } from "../../src/wire/field.ts";
import { isThought, mergePart } from "./parts.ts";
import { toolName } from "./schema.ts";
import { BUILTIN, REASONING, type NativeMessage, type WirePart } from "./wire.ts";

export interface AssistantMessageOptions {
  /**
   * Send the reasoning back in the fields in which it came (`reasoning_content`, `reasoning_details`, ...). DeepSeek,
   * Kimi, GitHub Copilot and OpenRouter want it back with calls; servers that never send it never get it. Default true.
   */
  readonly reasoning?: boolean | undefined;
}

/**
 * The turn as the message that goes back: one, or none for an empty turn. Ids and extras (`extra_content`) are as they
 * came; every call is in it, since every call gets a result.
 *
 * @throws TypeError for a turn of another adapter
 */
export const assistantMessage = (
  turn: Turn,
  { reasoning = true }: AssistantMessageOptions = {},
): ChatCompletionMessageParam[] => {
  checkTurn(turn);
  const native = (turn.native ?? {}) as NativeMessage;
  // Unlike the records of other adapters it has no field that always came.
  if (Object.keys(native).some((field) => !FIELDS.has(field))) throw foreignTurn(turn);
  const legacy = turn.calls.find(isLegacy);
  const calls = turn.calls.filter((call) => call !== legacy);
  const message: ChatCompletionAssistantMessageParam = {
    role: "assistant",
    content: contentOf(turn, native, reasoning),
  };
  // Next to calls or a refusal, every server accepts `null` for "no text"; alone it is rejected, and by many so is "".
  if (message.content === null && turn.calls.length === 0 && turn.refusal === "") {
    if ((native.audio ?? native.images) === undefined) return [];
    message.content = "";
  }
  if (turn.refusal !== "") message.refusal = turn.refusal;
  if (legacy !== undefined) message.function_call = functionOf(legacy);
  if (calls.length > 0) message.tool_calls = calls.map(toolCallOf);

  const reasoned = reasoning ? reasoningOf(native) : {};
  return wellFormedTurn([Object.assign(message, reasoned, fieldsOf(native, OTHERS))]);
};

/**
 * Text of a turn as a message without its calls. With its reasoning, since DeepSeek rejects the whole history for one
 * message of the model without it: https://github.com/openclaw/openclaw/issues/73417
 */
export function textMessage(text: string, turn?: Turn): ChatCompletionMessageParam {
  return Object.assign(
    { role: "assistant" as const, content: text },
    reasoningOf((turn?.native ?? {}) as NativeMessage),
  );
}

function reasoningOf(native: NativeMessage): Partial<NativeMessage> {
  const fields = fieldsOf(native, REASONING);
  // Kimi's parts have an index only in the stream, and its client always sends `reasoning_content` with them: "must not
  // contain streaming index" (https://github.com/anomalyco/opencode/issues/50232). Those of OpenRouter keep theirs.
  if (fields.reasoning_details?.some(({ type }) => type === "summary" || type === "encrypted")) {
    fields.reasoning_content ??= "";
    fields.reasoning_details = fields.reasoning_details.map(({ index: _, ...part }) => part);
  }
  return fields;
}

function fieldsOf(native: NativeMessage, names: readonly (keyof NativeMessage)[]): Partial<NativeMessage> {
  const fields: Partial<NativeMessage> = {};
  for (const name of names) if (native[name] !== undefined) Object.assign(fields, { [name]: native[name] });
  return fields;
}

/** What else goes back as it came. */
const OTHERS = ["extra_content", "images", "audio"] as const;

const FIELDS = new Set<string>([...REASONING, ...OTHERS, "content", "native_finish_reason"]);

export const { toolResult, toolError, toolResults } = answers<ChatCompletionMessageParam>({
  result(use, output) {
    const text = outputText(output);
    // As JSON: GLM's API and gateways to Claude reject it as it is, and so all that follows in the conversation
    // (https://github.com/earendil-works/pi/pull/3309).
    return reply(use, isBlank(text) ? JSON.stringify(text) : text);
  },
  // The wire has no error flag: a failure is the JSON `{"error":"…"}`, which no model mistakes for a result.
  error: (call, message) => reply(call, outputText({ error: message })),
});

/**
 * The id under which a call goes back: the server's own, byte for byte. If an earlier call of the turn has it, with a
 * number: "Duplicate value for 'tool_call_id'" (https://github.com/neuron-core/neuron-ai/issues/46), and Kimi's template
 * shows its model the id as the name. If it gave none, nine letters and digits derived from our own id, the same every
 * time; nine, because Mistral accepts no other length.
 */
export function wireId({
  id,
  invocationId,
  metadata = {},
}: Pick<FailedCall, "id" | "invocationId"> & Partial<Pick<FailedCall, "metadata">>): string {
  if (!id) return shortId(invocationId);
  if (metadata["sharesId"] !== true) return id;
  return /^[a-z\d]{9}$/i.test(id) ? shortId(invocationId) : `${id}_${invocationId.split("-").at(-1)}`;
}

function reply(call: FailedCall, content: string): ChatCompletionMessageParam {
  if (isLegacy(call)) return { role: "function", name: nameOf(call), content };
  return { role: "tool", tool_call_id: wireId(call), content };
}

function toolCallOf(call: ToolCall): ChatCompletionMessageToolCall {
  const { custom, sharesId: _, ...extras } = call.metadata;
  const id = wireId(call);
  // A tool built into the server, whose name is not that of a function.
  if (extras["type"] === BUILTIN)
    return { ...extras, id, type: BUILTIN as "function", function: { ...functionOf(call), name: call.name ?? "" } };
  if (custom === true) return { ...extras, id, type: "custom", custom: { name: nameOf(call), input: call.argsText } };
  return { ...extras, id, type: "function", function: functionOf(call) };
}

function functionOf(call: ToolCall): { name: string; arguments: string } {
  return { name: nameOf(call), arguments: historyArguments(call) };
}

/** Dirty names (token debris, dots) make strict servers reject the whole history with a 400. */
function nameOf({ name }: Pick<FailedCall, "name">): string {
  return toolName(name ?? "unnamed");
}

function contentOf(
  turn: Turn,
  native: NativeMessage,
  reasoning: boolean,
): NonNullable<ChatCompletionAssistantMessageParam["content"]> | null {
  // "text content blocks must contain non-whitespace text": https://github.com/anomalyco/opencode/issues/31259
  const text = isBlank(turn.text) ? null : turn.text;
  if (native.content === undefined) return text;
  const list = native.content;
  // It starts with the first list that came; text that is missing at its front came before it, as plain text.
  const listed = list.reduce((length, part) => length + (isThought(part) ? 0 : (textOf(part.text) ?? "").length), 0);
  // The turn has less text than the list if calls were found in that text.
  const before = turn.text.slice(0, Math.max(0, turn.text.length - listed));
  const said = [{ type: "text", text: before } as WirePart, ...list].filter((part) =>
    isThought(part) ? reasoning : part.type !== "text" || !isBlank(textOf(part.text) ?? ""),
  );
  // Thoughts with nothing between them any more are one: "Expected at most one leading ThinkChunk, got 2", says Mistral
  // (https://github.com/earendil-works/pi/issues/9674).
  const parts: WirePart[] = [];
  for (const part of said) mergePart(parts, part);
  if (parts.every(({ type }) => type === "text")) return text;
  // Parts that only this server knows; it gets them back as it sent them.
  return parts as NonNullable<ChatCompletionAssistantMessageParam["content"]> & object;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function isLegacy({ metadata }: Pick<FailedCall, "metadata">): boolean {
  return metadata["functionCall"] === true;
}

/** Two rounds of 32-bit FNV-1a, as nine digits of base 62. */
function shortId(text: string): string {
  let id = "";
  let bits = 0;
  for (let round = 0; id.length < 9; round++) {
    if (round % 5 === 0) bits = hash(`${round}:${text}`);
    id += DIGITS[bits % 62];
    bits = Math.floor(bits / 62);
  }
  return id;
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
