import { isAmidObject } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { textOf } from "../../src/wire/field.ts";
import { isHosted } from "./hosted.ts";
import type { NativeItem, WireItem, WirePart } from "./wire.ts";

/** An element of the output, from `response.output_item.added` to `response.output_item.done`. */
export interface Item {
  /** In the order of appearance; the `callIndex` of a call. */
  readonly key: number;
  readonly outputIndex: number;
  /** Under which it was announced; some servers end it under another one. */
  readonly id: string | undefined;
  /** As it began, then as it ended. */
  wire: WireItem;
  done: boolean;
  /** What the tool sink knows of a call. */
  callId: string | undefined;
  name: string | undefined;
  /** Characters of the arguments that went to the sink. */
  sent: number;
  /** The last piece of them that came. */
  piece: string;
  /** Pieces of a call whose beginning nobody saw: a stream may be taken up in its middle. */
  unheaded: string | undefined;
  /** Whether an index or an id told that those pieces are of one call. */
  readonly isPlaced: boolean;
  /** Which parts of a message or of reasoning came as deltas, by `content_index`; a summary's by `-2 - summary_index`. */
  streamed: Set<number> | undefined;
  /** Of reasoning: the part of its content that was announced last. */
  part: number | undefined;
  /** Of a call: all of its input was said, be it nothing. */
  isTold: boolean;
  /** Of a call: an input that may be that of another one, until its end tells. */
  guess: string | undefined;
  /** Of a call: its end told nothing of its input, which the response as a whole may tell. */
  isBare: boolean;
  /** Of a call: the response has its result, too. */
  isAnswered: boolean;
}

/** Whether it is a call of a tool of ours. */
export function isCall({ type, call_id: callId }: Pick<WireItem, "type" | "call_id">): boolean {
  return type === "function_call" || (type === "custom_tool_call" && !isSearch(callId));
}

/**
 * What xAI searches by itself comes as a call of a custom tool that nobody offered
 * (https://github.com/vercel/ai/tree/main/packages/xai); only its id tells.
 */
function isSearch(callId: unknown): boolean {
  return typeof callId === "string" && callId.startsWith("xs_call_");
}

/** Whether it is a call that nobody began and of which all was told: behind it comes, under the same index, another one. */
export function isOver({ isTold, unheaded }: Item): boolean {
  return unheaded !== undefined && isTold;
}

/** Of a call; in a response, the result of one that the server has run. */
export function isResult({ type }: WireItem): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}

/** Whether the model says it to whoever asked: other items have text too, as what agents at the provider tell each other. */
export function isSpoken({ type }: WireItem): boolean {
  return !type || type === "message" || type === "reasoning";
}

/** Whether text of this kind, and of that id, can not be of an item. */
export function isAnother({ wire, done }: Item, type: string, id: string | null | undefined): boolean {
  if (done && differ(wire.id, id)) return true;
  return (isSpoken(wire) || isCall(wire) || isHosted(wire)) && Boolean(wire.type) && wire.type !== type;
}

/** Whether two announcements are of one item: by either id or, where they have none in common, by the name. */
export function isSame(known: WireItem, wire: WireItem): boolean {
  if (known.type !== wire.type) return false;
  if (known.id && known.id === wire.id) return true;
  if (known.call_id && wire.call_id) return known.call_id === wire.call_id;
  return !differ(known.id, wire.id) && known.name === wire.name;
}

/** Whether two ids are given, and not the same. */
export function differ(a: string | null | undefined, b: string | null | undefined): boolean {
  return Boolean(a) && Boolean(b) && a !== b;
}

export function itemTypeOf(eventType: string): string {
  return eventType.startsWith("response.custom_tool_call_input") ? "custom_tool_call" : "function_call";
}

/** Keeps the first name, and gives it if it is news. */
export function keepName(item: Item, name: string | null | undefined): string | undefined {
  return item.name === undefined ? (item.name = textOf(name)) : undefined;
}

/** Some servers have the text itself in place of its parts. */
export function partsOf(content: readonly WirePart[] | string | null | undefined): readonly WirePart[] {
  if (typeof content === "string") return [{ text: content }];
  return Array.isArray(content) ? content.map((part) => (isRecord(part) ? part : {})) : [];
}

export function inputOf(wire: WireItem): unknown {
  return wire.type === "custom_tool_call" ? wire.input : wire.arguments;
}

/**
 * What of a call's input, told as a whole, is news: nothing, where its pieces came before, unless some of them did not
 * (https://github.com/anomalyco/opencode/pull/44893). Of a call whose beginning nobody saw the pieces are held, since they
 * may be the end of it only; they count where nothing tells the whole.
 */
export function unsaid(item: Item, whole: unknown): string | undefined {
  const { wire, sent, piece, unheaded } = item;
  if (sent === 0) return textOf(whole) ?? (isRecord(whole) ? undefined : textOf(unheaded));
  return wire.type === "function_call" && isAmidObject(piece) && isLonger(whole, item) ? whole : undefined;
}

/**
 * Whether free text came in pieces, and not all of them. In JSON a root that is open tells it, and the whole may be written
 * in another way.
 */
export function lacksPieces(item: Item, whole: unknown): boolean {
  return item.wire.type === "custom_tool_call" && item.sent > 0 && isLonger(whole, item);
}

/** Whether more is told as a whole than came in pieces. */
function isLonger(whole: unknown, { sent }: Item): whole is string {
  return typeof whole === "string" && whole.length > sent;
}

/** What goes with the call: how to find its item again, and what its result must repeat. */
export function callMetadata({ key, wire }: Item): Record<string, unknown> {
  const metadata: Record<string, unknown> = { item: key };
  if (wire.type === "custom_tool_call") metadata["custom"] = true;
  if (wire.id) metadata["itemId"] = wire.id;
  if (wire.namespace) metadata["namespace"] = wire.namespace;
  if (wire.caller) metadata["caller"] = wire.caller;
  return metadata;
}

/** Summary and content of one item are counted apart. */
export function summaryPart(index: number | null | undefined): number {
  return -2 - (index ?? 0);
}

export function byOutput(a: Item, b: Item): number {
  return a.outputIndex - b.outputIndex || a.key - b.key;
}

export function nativeItem({ key, wire, done, callId, name }: Item): NativeItem {
  if (done || !isCall(wire)) return { key, item: wire, done };
  return { key, item: { ...wire, ...(callId && { call_id: callId }), ...(name && { name }) }, done };
}
