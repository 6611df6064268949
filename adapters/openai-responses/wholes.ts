import { jsonIn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { differ, inputOf, type Item } from "./item.ts";
import type { WireItem } from "./wire.ts";

/**
 * Matches the items to those of the whole response: by id, then by the place or the order among those that are alike,
 * since servers give an item other ids there, and list more than they streamed
 * (https://github.com/vllm-project/vllm/issues/47916, https://github.com/BerriAI/litellm/issues/37946).
 */
export function wholesOf(items: readonly Item[], output: readonly WireItem[]): ReadonlyMap<Item, WireItem> {
  const wholes = new Map<Item, WireItem>();
  const free = new Set<WireItem>(output.filter(isRecord));
  const claim = (find: (item: Item) => WireItem | undefined) => {
    for (const item of items) {
      const whole = wholes.has(item) ? undefined : find(item);
      if (whole !== undefined && free.delete(whole)) wholes.set(item, whole);
    }
  };
  const placedIf = ({ outputIndex }: Item, fits: (whole: WireItem) => boolean) => {
    const whole = output[outputIndex];
    return whole !== undefined && free.has(whole) && fits(whole) ? whole : undefined;
  };
  // Ids first. Real servers repeat them within one answer, so of those with the same id, the one at the same place.
  claim((item) => placedIf(item, (whole) => namesOf(whole).includes(nameOf(item))));
  const named = lists(free, namesOf);
  claim((item) => named(nameOf(item)));
  claim((item) => placedIf(item, (whole) => kindOf(whole, item.done) === kindOf(item.wire, item.done)));
  const alike = lists(free, (wire) => [...new Set([kindOf(wire, true), kindOf(wire, false)])]);
  claim(({ wire, done }) => alike(kindOf(wire, done)));
  // The input may be written differently, and the name of a call whose beginning was not seen is not known.
  claim((item) => placedIf(item, (whole) => whole.type === item.wire.type && !differ(whole.name, item.wire.name)));
  return wholes;
}

/** Hands out the items of a set that have a key, each once and in order. */
function lists(
  wires: ReadonlySet<WireItem>,
  keysOf: (wire: WireItem) => readonly string[],
): (key: string) => WireItem | undefined {
  const keyed = [...wires].toReversed().flatMap((wire) => keysOf(wire).map((key) => ({ key, wire })));
  const byKey = Map.groupBy(keyed, ({ key }) => key);
  return (key) => {
    const list = byKey.get(key);
    let next = list?.pop();
    while (next !== undefined && !wires.has(next.wire)) next = list!.pop();
    return next?.wire;
  };
}

/** The names an item may be known by. The result of a call has the call's id, too, so they include the type. */
function namesOf({ type, id, call_id: callId }: WireItem): string[] {
  const names = callId ? [`${type} call ${callId}`] : [];
  if (id) names.push(`${type} ${id}`);
  return names;
}

/** The id of a call is more reliable than that of its item. */
function nameOf({ wire: { type, id }, callId }: Item): string {
  return callId ? `${type} call ${callId}` : `${type} ${id}`;
}

/** What an item has in common with its whole if their ids differ: its type, and the name and input of a call. */
function kindOf(wire: WireItem, isWhole: boolean): string {
  return `${wire.type} ${wire.name} ${isWhole ? compact(inputOf(wire)) : ""}`;
}

/** As JSON without white space, if possible. */
function compact(input: unknown): string {
  const value = typeof input === "string" ? jsonIn(input) : input;
  try {
    return JSON.stringify(value) ?? String(input);
  } catch {
    return String(input);
  }
}
