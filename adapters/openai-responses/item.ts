import { jsonIn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { argumentsObject, argumentsText, textOf } from "../../src/wire/field.ts";
import { isHosted } from "./hosted.ts";
import type { NativeItem, WireItem, WirePart } from "./wire.ts";

/** An element of the output, from `response.output_item.added` to `response.output_item.done`. */
export interface Item {
  /** Numbered in order of appearance; the `callIndex` of a call. */
  readonly key: number;
  readonly outputIndex: number;
  /** The id with which it was announced; some servers end it with another one. */
  readonly id: string | undefined;
  /** The item as it began, then as it ended. */
  wire: WireItem;
  done: boolean;
  /** What the sink knows about a call. */
  callId: string | undefined;
  name: string | undefined;
  /** Characters of the arguments that were passed to the sink. */
  sent: number;
  /** Those of free text. */
  free: string;
  /** For free text: pieces of JSON around it came, and only the end of the call tells the text. */
  isWrapped: boolean;
  /** The pieces of a call whose beginning was not seen: a stream may be resumed in its middle. */
  unheaded: string | undefined;
  /** Whether an index or an id showed that those pieces belong to one call. */
  readonly isPlaced: boolean;
  /** Which parts of a message or of reasoning came as deltas, by `content_index`; a summary's by `-2 - summary_index`. */
  streamed: Set<number> | undefined;
  /** For reasoning: the part of its content that was announced last. */
  part: number | undefined;
  /** For a call: all of its input has come, even if empty. */
  isTold: boolean;
  /** For a call: an input that may belong to another one, until the end of the call decides. */
  guess: string | undefined;
  /** For a call: it ended without its input, which the whole response may still give. */
  isBare: boolean;
}

/** Whether it is a call of one of our tools. */
export function isCall({ type, call_id: callId }: Pick<WireItem, "type" | "call_id">): boolean {
  return type === "function_call" || (type === "custom_tool_call" && !isSearch(callId));
}

/** Whether the API takes an item without its `id`, as `ResponseInputItem` of `openai` 7.59 says. */
export function mayLackId({ type }: { readonly type?: unknown }): boolean {
  return WITHOUT_ID.test(String(type));
}

const WITHOUT_ID =
  /^(?:message|additional_tools|(?:function|custom_tool|shell|apply_patch|tool_search)_call(?:_output)?|tool_search_output)$/;

/**
 * xAI reports its own searches as calls of a custom tool that was never offered
 * (https://github.com/vercel/ai/tree/main/packages/xai); only the id tells them apart.
 */
function isSearch(callId: unknown): boolean {
  return typeof callId === "string" && callId.startsWith("xs_call_");
}

/** Whether it is a call without a beginning whose input is complete: what follows under its index is another call. */
export function isOver({ isTold, unheaded }: Item): boolean {
  return unheaded !== undefined && isTold;
}

/** The result of a call; in a response, of a call that the server has run. */
export function isResult({ type }: WireItem): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}

/** Whether the model says it to the user: other items have text, too, e.g. messages between agents at the provider. */
export function isSpoken({ type }: WireItem): boolean {
  return !type || type === "message" || type === "reasoning";
}

/** Whether text with this type and id cannot belong to the item. */
export function isAnother({ wire, done }: Item, type: string, id: string | null | undefined): boolean {
  if (done && differ(wire.id, id)) return true;
  return (isSpoken(wire) || isCall(wire) || isHosted(wire)) && Boolean(wire.type) && wire.type !== type;
}

/** Whether two announcements are of the same item: by either id or, if they have none in common, by the name. */
export function isSame(known: WireItem, wire: WireItem): boolean {
  if (known.type !== wire.type) return false;
  if (known.id && known.id === wire.id) return true;
  if (known.call_id && wire.call_id) return known.call_id === wire.call_id;
  return !differ(known.id, wire.id) && known.name === wire.name;
}

/** Whether two ids are given and differ. */
export function differ(a: string | null | undefined, b: string | null | undefined): boolean {
  return Boolean(a) && Boolean(b) && a !== b;
}

/** Keeps the first name, and returns it if it is new. */
export function keepName(item: Item, name: string | null | undefined): string | undefined {
  return item.name === undefined ? (item.name = textOf(name)) : undefined;
}

/** Some servers send the text itself instead of its parts. */
export function partsOf(content: readonly WirePart[] | string | null | undefined): readonly WirePart[] {
  if (typeof content === "string") return [{ text: content }];
  return Array.isArray(content) ? content.map((part) => (isRecord(part) ? part : {})) : [];
}

export function inputOf(wire: WireItem): unknown {
  return wire.type === "custom_tool_call" ? wire.input : wire.arguments;
}

/**
 * What is new in the text of a call's input when it comes whole: nothing if its pieces came before. The pieces of a
 * call whose beginning was not seen are held back, since they may be only its end; they count if the whole never comes.
 */
export function unsaid({ sent, unheaded }: Item, whole: unknown): string | undefined {
  if (sent > 0) return undefined;
  return textOf(argumentsText(whole)) ?? (argumentsObject(whole) === undefined ? textOf(unheaded) : undefined);
}

/**
 * The arguments as their end tells them, which counts where pieces did not arrive, or came twice
 * (https://github.com/MoonshotAI/kimi-code/issues/1455, https://github.com/diegosouzapw/OmniRoute/issues/10223). They may
 * also be the same, written differently: the buffer compares them.
 */
export function corrected(item: Item, whole: unknown): Readonly<Record<string, unknown>> | undefined {
  if (item.wire.type !== "function_call" || typeof whole !== "string" || whole.length === item.sent) return undefined;
  const value = jsonIn(whole);
  if (!isRecord(value) || Object.keys(value).length === 0) return undefined;
  item.sent = whole.length;
  return value;
}

/** Whether free text came in pieces that are not the whole: some did not arrive, or came twice. */
export function isTorn({ wire, free, isWrapped: needsWhole }: Item, whole: unknown): boolean {
  if (wire.type !== "custom_tool_call") return false;
  return textOf(whole) === undefined ? needsWhole : free !== "" && whole !== free;
}

/**
 * Notes, and tells, whether an input of this type is the JSON in which LiteLLM has a model without custom tools write the
 * free text (its `responses/litellm_completion_transformation/custom_tools.py`).
 */
export function noteWrapped(item: Item, type: string): boolean {
  const isJson = item.wire.type === "custom_tool_call" && type !== item.wire.type;
  item.isWrapped ||= isJson;
  return isJson;
}

/** Metadata of a call: how to find its item again, and what its result must repeat. */
export function callMetadata({ key, wire }: Item): Record<string, unknown> {
  const metadata: Record<string, unknown> = { item: key };
  if (wire.type === "custom_tool_call") metadata["custom"] = true;
  if (wire.id) metadata["itemId"] = wire.id;
  if (wire.namespace) metadata["namespace"] = wire.namespace;
  if (wire.caller) metadata["caller"] = wire.caller;
  return metadata;
}

/** Summary and content of one item are counted separately, unless there is no index. */
export function summaryPart(index: number | null | undefined): number {
  return -2 - (index ?? -1);
}

export function byOutput(a: Item, b: Item): number {
  return a.outputIndex - b.outputIndex || a.key - b.key;
}

export function nativeItem({ key, wire, done }: Item): NativeItem {
  return { key, item: wire, done };
}
