import { jsonIn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { textOf } from "../../src/wire/field.ts";
import { isHosted } from "./hosted.ts";
import { differ, inputOf, isCall, isSame, type Item } from "./item.ts";
import type { WireEvent, WireItem } from "./wire.ts";

/**
 * The items of a response, in the order of their appearance, and which of them an event is about.
 *
 * It is told by `output_index`: the item's id changes from event to event on some servers
 * (https://github.com/vercel/ai/pull/18548), and is asked only where there is no index, or one index for several items.
 */
export class Items {
  readonly all: Item[] = [];
  readonly #byIndex = new Map<number, Item>();
  readonly #byId = new Map<string, Item>();
  /** Only where results come, or items without an index. */
  #byCallId: Map<string | undefined, Item> | undefined;
  /** Whether the server gave one index to several items. */
  #sharesIndex = false;
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
      const known = this.#sharesIndex && id ? this.#byId.get(id) : undefined;
      return known?.outputIndex === index ? known : this.#byIndex.get(index);
    }
    const named = (id && this.#byId.get(id)) || this.findCall(wire?.call_id);
    if (named !== undefined || id) return named;
    // No index and no id: the item now open, if it is one of that kind.
    const last = this.all.at(-1);
    return last !== undefined && !last.done && (wire === undefined || isSame(last.wire, wire)) ? last : undefined;
  }

  findCall(callId: string | null | undefined): Item | undefined {
    if (textOf(callId) === undefined) return undefined;
    this.#byCallId ??= new Map(this.all.map((item) => [item.callId, item]));
    return this.#byCallId.get(callId!);
  }

  /** The hosted call that a result is of: the last of that id; a search of the tools has none, and is the last of its kind. */
  hostedCall({ type, call_id: callId }: WireItem): WireItem | undefined {
    const kind = type?.replace(/(_call)?_output$/, "");
    return this.all.findLast(
      ({ wire }) =>
        isHosted(wire) && wire.type?.replace(/_call$/, "") === kind && (wire.call_id ?? null) === (callId ?? null),
    )?.wire;
  }

  add(event: WireEvent, said: WireItem): Item {
    const wire = event.item === undefined && event.item_id ? { ...said, id: event.item_id } : said;
    const outputIndex = typeof event.output_index === "number" ? event.output_index : this.#nextIndex;
    this.#nextIndex = Math.max(this.#nextIndex, outputIndex + 1);
    const item: Item = {
      key: this.all.length,
      outputIndex,
      wire,
      done: false,
      callId: undefined,
      name: undefined,
      sent: 0,
      unheaded: event.item === undefined && isCall(wire) ? "" : undefined,
      streamed: undefined,
      isTold: false,
      isAnswered: false,
    };
    this.all.push(item);
    this.#sharesIndex ||= this.#byIndex.has(outputIndex);
    this.#byIndex.set(outputIndex, item);
    if (wire.id) this.#byId.set(wire.id, item);
    return item;
  }

  setCallId(item: Item, callId: string | undefined): void {
    item.callId = callId;
    this.#byCallId?.set(callId, item);
  }

  /**
   * Which of them the response as a whole means by each of its own: told by the ids, then by the place or the order among
   * those that are alike, since servers give an item other ids there, and tell more than they streamed
   * (https://github.com/vllm-project/vllm/issues/47916, https://github.com/BerriAI/litellm/issues/37946).
   */
  match(output: readonly WireItem[]): ReadonlyMap<Item, WireItem> {
    const wholes = new Map<Item, WireItem>();
    const free = new Set<WireItem>(output.filter(isRecord));
    const claim = (find: (item: Item) => WireItem | undefined) => {
      for (const item of this.all) {
        const whole = wholes.has(item) ? undefined : find(item);
        if (whole !== undefined && free.delete(whole)) wholes.set(item, whole);
      }
    };
    const byId = new Map([...free].map((wire) => [wire.id, wire]));
    const byCallId = new Map([...free].map((wire) => [wire.call_id, wire]));
    claim(({ wire, callId }) => {
      const called = callId ? byCallId.get(callId) : undefined;
      if (called !== undefined || !wire.id) return called;
      const named = byId.get(wire.id);
      // The id of a call says more than that of its item.
      return differ(callId, named?.call_id) ? undefined : named;
    });
    const placed = ({ outputIndex }: Item) => {
      const whole = output[outputIndex];
      return whole !== undefined && free.has(whole) ? whole : undefined;
    };
    claim((item) => {
      const whole = placed(item);
      return whole !== undefined && kindOf(whole, item.done) === kindOf(item.wire, item.done) ? whole : undefined;
    });
    const alike = new Map<string, WireItem[]>();
    for (const wire of [...free].toReversed()) {
      for (const kind of new Set([kindOf(wire, true), kindOf(wire, false)])) {
        const list = alike.get(kind);
        if (list === undefined) alike.set(kind, [wire]);
        else list.push(wire);
      }
    }
    claim(({ wire, done }) => {
      const list = alike.get(kindOf(wire, done));
      let next = list?.pop();
      while (next !== undefined && !free.has(next)) next = list!.pop();
      return next;
    });
    // The input may be written in another way, and of a call whose beginning nobody saw the name is not known.
    claim((item) => {
      const whole = placed(item);
      return whole !== undefined && whole.type === item.wire.type && !differ(whole.name, item.wire.name)
        ? whole
        : undefined;
    });
    return wholes;
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

/** What it has in common with itself where neither its ids nor its place are the same: a call its name and, if that is whole, its input. */
function kindOf(wire: WireItem, isWhole: boolean): string {
  return isCall(wire) ? `${wire.type} ${wire.name} ${isWhole ? compact(inputOf(wire)) : ""}` : String(wire.type);
}

/** As JSON without white space, if it is JSON that can be written. */
function compact(input: unknown): string {
  const value = typeof input === "string" ? jsonIn(input) : input;
  try {
    return JSON.stringify(value) ?? String(input);
  } catch {
    return String(input);
  }
}
