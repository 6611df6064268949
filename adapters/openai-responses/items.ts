import { isRecord } from "../../src/schema/json.ts";
import { idOf, textOf } from "../../src/wire/field.ts";
import { isHosted } from "./hosted.ts";
import { differ, isCall, isSame, type Item } from "./item.ts";
import type { WireEvent, WireItem } from "./wire.ts";

interface Untold {
  readonly item: Item | undefined;
  readonly isSure: boolean;
}

/**
 * The items of a response, in order of appearance, and which of them an event is about.
 *
 * `output_index` decides: on some servers the item's id changes from event to event
 * (https://github.com/vercel/ai/pull/18548), so it is used only without an index, or if several items share one.
 */
export class Items {
  readonly all: Item[] = [];
  readonly #byIndex = new Map<number, Item>();
  readonly #callByIndex = new Map<number, Item>();
  readonly #byId = new Map<string, Item>();
  /** Built only when results come, or items without an index. */
  #byCallId: Map<string | undefined, Item> | undefined;
  /** Whether the server gave one index to several items. */
  #sharesIndex = false;
  /** Whether an event had an unknown id, at the index of an item with an id. */
  #idsChange = false;
  #nextIndex = 0;

  /** The item at an index, if no two items share one. */
  at(index: number): Item | undefined {
    return this.#sharesIndex ? undefined : this.#byIndex.get(index);
  }

  /** @param wire the item, if the event begins or ends one */
  find(event: WireEvent, wire?: WireItem): Item | undefined {
    const id = wire?.id ?? event.item_id;
    const { output_index: index } = event;
    if (typeof index === "number") {
      const known = this.#sharesIndex ? this.named(id) : undefined;
      if (known?.outputIndex === index) return known;
      const placed = this.#byIndex.get(index);
      // Some servers count differently at the beginning of a call and at its end: the `call_id` of the end decides.
      const ended = differ(placed?.callId, wire?.call_id) ? this.findCall(wire!.call_id) : undefined;
      if (ended !== undefined) return ended;
      this.#idsChange ||= wire === undefined && differ(placed?.id, id) && !this.#byId.has(id!);
      // An item that began without an index may be the one that this unknown index means.
      if (placed !== undefined || id || this.all.at(-1)?.isPlaced !== false) return placed;
    }
    // Some servers send the call's id instead: https://github.com/anomalyco/opencode/pull/45081
    const named = this.named(id) ?? this.findCall(wire === undefined ? event.call_id || id : wire.call_id);
    if (named !== undefined || id) return named;
    // No index and no id: the item now open, if it is of that kind.
    const last = this.all.at(-1);
    if (last === undefined || last.done) return undefined;
    const isHeaded = last.unheaded === undefined;
    // After the whole input of a call whose beginning was not seen comes the input of another call, or its end.
    if (wire === undefined) return isHeaded || !last.isTold ? last : undefined;
    return isSame(last.wire, wire) || (!isHeaded && last.wire.type === wire.type) ? last : undefined;
  }

  named(id: string | null | undefined): Item | undefined {
    return id ? this.#byId.get(id) : undefined;
  }

  findCall(callId: string | null | undefined): Item | undefined {
    const id = idOf(callId);
    if (!id) return undefined;
    this.#byCallId ??= new Map(this.all.map((item) => [item.callId, item]));
    return this.#byCallId.get(id);
  }

  /** The hosted call that a result belongs to: the last of its kind and `call_id`; a tool search has no id. */
  hostedCall({ type, call_id: callId }: WireItem): Item | undefined {
    const kind = type?.replace(/(_call)?_output$/, "");
    return this.all.findLast(
      ({ wire }) =>
        isHosted(wire) && wire.type?.replace(/_call$/, "") === kind && (wire.call_id ?? null) === (callId ?? null),
    );
  }

  /**
   * The call that a piece of input, or an end, belongs to. Text in the middle of a call may have the call's index, and
   * is an item of its own: unless an id says otherwise, the call goes on.
   */
  findCallOf(event: WireEvent, type: string | undefined, wire?: WireItem): Item | undefined {
    const found = this.find(event, wire);
    if (found === undefined || !this.#sharesIndex || isCall(found.wire)) return found;
    const call = this.#callByIndex.get(found.outputIndex);
    if (call === undefined || call.wire.type !== type) return found;
    // Its end, repeated.
    if (call.done) return wire?.call_id && wire.call_id === call.wire.call_id ? call : found;
    const isOther = wire === undefined ? differ(call.wire.id, event.item_id) : !isSame(call.wire, wire);
    return isOther ? found : call;
  }

  /**
   * The call that a whole input most likely belongs to if neither an index nor an id says so (llama.cpp,
   * https://github.com/can1357/oh-my-pi/pull/1971): the first that it fits of the open calls still without theirs.
   *
   * @returns also whether it can belong to no other; `undefined` if an index or an id says so
   */
  untold(event: WireEvent, type: string, whole: string): Untold | undefined {
    if (typeof event.output_index === "number" || event.item_id || this.findCall(event.call_id)) return undefined;
    const open = this.all.filter(({ wire, done, isTold }) => wire.type === type && !done && !isTold);
    const item = open.find(({ sent }) => sent === 0 || sent === whole.length) ?? open[0];
    // An open call may have been given the input of another one.
    return { item, isSure: open.length <= 1 && this.all.every(({ done, guess }) => done || guess === undefined) };
  }

  /**
   * The item of that type, with that id or `call_id`, that has not ended, whatever its index. What is not a call of
   * ours may have another id by now: if ids are known to change, or for a hosted call without an index, it is the only
   * open item of its type (at its index, if it has one).
   */
  unfinished(wire: WireItem, { output_index: index }: WireEvent): Item | undefined {
    const { id, type } = wire;
    const known = this.named(id) ?? this.findCall(wire.call_id);
    if (known !== undefined) return !known.done && known.wire.type === type ? known : undefined;
    const isPlaced = typeof index === "number";
    if (isCall(wire) || !(this.#idsChange || (!isPlaced && isHosted(wire)))) return undefined;
    const open = this.all.filter(
      (item) => !item.done && item.wire.type === type && (!isPlaced || item.outputIndex === index),
    );
    return open.length === 1 ? open[0] : undefined;
  }

  add(event: WireEvent, said: WireItem): Item {
    const itemId = textOf(event.item_id);
    const wire = event.item === undefined && itemId ? { ...said, id: itemId } : said;
    const outputIndex = typeof event.output_index === "number" ? event.output_index : this.#nextIndex;
    this.#nextIndex = Math.max(this.#nextIndex, outputIndex + 1);
    const item: Item = {
      key: this.all.length,
      outputIndex,
      id: textOf(wire.id),
      wire,
      done: false,
      callId: undefined,
      name: undefined,
      sent: 0,
      free: "",
      isWrapped: false,
      unheaded: event.item === undefined && isCall(wire) ? "" : undefined,
      isPlaced: typeof event.output_index === "number" || itemId !== undefined,
      streamed: undefined,
      part: undefined,
      isTold: false,
      guess: undefined,
      isBare: false,
    };
    this.all.push(item);
    this.#sharesIndex ||= this.#byIndex.has(outputIndex);
    this.#byIndex.set(outputIndex, item);
    if (isCall(wire)) this.#callByIndex.set(outputIndex, item);
    if (wire.id) this.#byId.set(wire.id, item);
    return item;
  }

  setCallId(item: Item, callId: string | null | undefined): void {
    item.callId = idOf(callId) || undefined;
    this.#byCallId?.set(item.callId, item);
  }

  /**
   * Whether a later message has its id: CLIProxyAPI gives all texts of Claude one id, and repeats the earlier ones at
   * the end of each. What a later one lacks, `assistantMessage()` adds.
   */
  isRepeated(item: Item): boolean {
    const { type, id } = item.wire;
    const last = type === "message" ? this.named(id) : undefined;
    return last !== undefined && last.key > item.key && last.done && last.wire.type === type;
  }

  /** What the whole response contains and no event did, with its index. */
  missing(output: readonly WireItem[], wholes: ReadonlyMap<Item, WireItem>): readonly (readonly [number, WireItem])[] {
    if (output.length <= this.all.length) return [];
    const told = new Set(wholes.values());
    const ids = new Set(this.all.flatMap(({ wire, callId }) => [wire.id, wire.call_id, callId]));
    return [...output.entries()].filter(
      ([, wire]) => isRecord(wire) && !told.has(wire) && ![wire.id, wire.call_id].some((id) => id && ids.has(id)),
    );
  }
}
