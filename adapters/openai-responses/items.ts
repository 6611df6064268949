import { isRecord } from "../../src/schema/json.ts";
import { textOf } from "../../src/wire/field.ts";
import { isHosted } from "./hosted.ts";
import { differ, isCall, isSame, type Item } from "./item.ts";
import type { WireEvent, WireItem } from "./wire.ts";

interface Untold {
  readonly item: Item | undefined;
  readonly isSure: boolean;
}

/**
 * The items of a response, in the order of their appearance, and which of them an event is about.
 *
 * It is told by `output_index`: the item's id changes from event to event on some servers
 * (https://github.com/vercel/ai/pull/18548), and is asked only where there is no index, or one index for several items.
 */
export class Items {
  readonly all: Item[] = [];
  readonly #byIndex = new Map<number, Item>();
  readonly #callByIndex = new Map<number, Item>();
  readonly #byId = new Map<string, Item>();
  /** Only where results come, or items without an index. */
  #byCallId: Map<string | undefined, Item> | undefined;
  /** Whether the server gave one index to several items. */
  #sharesIndex = false;
  /** Whether an event had an id that is not known, at the index of an item that has one. */
  #idsChange = false;
  #nextIndex = 0;

  /** The item of an index, where that says enough. */
  at(index: number): Item | undefined {
    return this.#sharesIndex ? undefined : this.#byIndex.get(index);
  }

  /** @param wire of an event that tells an item, or its end. */
  find(event: WireEvent, wire?: WireItem): Item | undefined {
    const id = wire?.id ?? event.item_id;
    const { output_index: index } = event;
    if (typeof index === "number") {
      const known = this.#sharesIndex ? this.named(id) : undefined;
      if (known?.outputIndex === index) return known;
      const placed = this.#byIndex.get(index);
      // Servers that count in one way at the beginning of a call and in another one at its end: the end has its own call_id.
      const ended = differ(placed?.callId, wire?.call_id) ? this.findCall(wire!.call_id) : undefined;
      if (ended !== undefined && ended.wire.type === wire!.type) return ended;
      this.#idsChange ||= wire === undefined && differ(placed?.id, id) && !this.#byId.has(id!);
      return placed;
    }
    // Servers have the call's id in its place: https://github.com/anomalyco/opencode/pull/45081
    const named = this.named(id) ?? this.findCall(wire === undefined ? event.call_id || id : wire.call_id);
    if (named !== undefined || id) return named;
    // No index and no id: the item now open, if it is one of that kind.
    const last = this.all.at(-1);
    if (last === undefined || last.done) return undefined;
    const isHeaded = last.unheaded === undefined;
    // Behind all the input of a call whose beginning nobody saw comes that of another one, or its end.
    if (wire === undefined) return isHeaded || !last.isTold ? last : undefined;
    return isSame(last.wire, wire) || (!isHeaded && last.wire.type === wire.type) ? last : undefined;
  }

  named(id: string | null | undefined): Item | undefined {
    return id ? this.#byId.get(id) : undefined;
  }

  findCall(callId: string | null | undefined): Item | undefined {
    if (textOf(callId) === undefined) return undefined;
    this.#byCallId ??= new Map(this.all.map((item) => [item.callId, item]));
    return this.#byCallId.get(callId!);
  }

  /** The hosted call that a result is of: the last of its kind and id, which a search of the tools has not. */
  hostedCall({ type, call_id: callId }: WireItem): Item | undefined {
    const kind = type?.replace(/(_call)?_output$/, "");
    return this.all.findLast(
      ({ wire }) =>
        isHosted(wire) && wire.type?.replace(/_call$/, "") === kind && (wire.call_id ?? null) === (callId ?? null),
    );
  }

  /**
   * The call that a piece of its input, or its end, is of. Text in the midst of a call may have the call's index, and
   * is an item of its own: unless an id tells another one, the call goes on.
   */
  findCallOf(event: WireEvent, type: string | undefined, wire?: WireItem): Item | undefined {
    const found = this.find(event, wire);
    if (found === undefined || !this.#sharesIndex || isCall(found.wire)) return found;
    const call = this.#callByIndex.get(found.outputIndex);
    if (call === undefined || call.wire.type !== type) return found;
    // Its end said again.
    if (call.done) return wire?.call_id && wire.call_id === call.wire.call_id ? call : found;
    const isOther = wire === undefined ? differ(call.wire.id, event.item_id) : !isSame(call.wire, wire);
    return isOther ? found : call;
  }

  /**
   * The call that a whole input is most likely of, where neither an index nor an id tells (llama.cpp,
   * https://github.com/can1357/oh-my-pi/pull/1971): of those that are open and were not told theirs the first that it fits.
   *
   * @returns whether it can be of no other, too; nothing where an index or an id tells
   */
  untold(event: WireEvent, type: string, whole: string): Untold | undefined {
    if (typeof event.output_index === "number" || event.item_id || this.findCall(event.call_id)) return undefined;
    const open = this.all.filter(({ wire, done, isTold }) => wire.type === type && !done && !isTold);
    const item = open.find(({ sent }) => sent === 0 || sent === whole.length) ?? open[0];
    // One that is open may have been told what is the input of another.
    return { item, isSure: open.length <= 1 && this.all.every(({ done, guess }) => done || guess === undefined) };
  }

  /**
   * One of that type, and of that id or `call_id`, that has not ended, whatever its index. Of what is no call of ours it may
   * have another id by now: where ids are known to change, and of a hosted call without an index, it is the only one of its
   * type that is open.
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
      piece: "",
      unheaded: event.item === undefined && isCall(wire) ? "" : undefined,
      isPlaced: typeof event.output_index === "number" || itemId !== undefined,
      streamed: undefined,
      part: undefined,
      isTold: false,
      guess: undefined,
      isBare: false,
      isAnswered: false,
    };
    this.all.push(item);
    this.#sharesIndex ||= this.#byIndex.has(outputIndex);
    this.#byIndex.set(outputIndex, item);
    if (isCall(wire)) this.#callByIndex.set(outputIndex, item);
    if (wire.id) this.#byId.set(wire.id, item);
    return item;
  }

  setCallId(item: Item, callId: string | undefined): void {
    item.callId = callId;
    this.#byCallId?.set(callId, item);
  }

  /** What the response as a whole tells and no event did, with its index. */
  missing(output: readonly WireItem[], wholes: ReadonlyMap<Item, WireItem>): readonly (readonly [number, WireItem])[] {
    if (output.length <= this.all.length) return [];
    const told = new Set(wholes.values());
    const ids = new Set(this.all.flatMap(({ wire, callId }) => [wire.id, wire.call_id, callId]));
    return [...output.entries()].filter(
      ([, wire]) => isRecord(wire) && !told.has(wire) && ![wire.id, wire.call_id].some((id) => id && ids.has(id)),
    );
  }
}
