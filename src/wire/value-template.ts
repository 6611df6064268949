import { isObject } from "../json/container.ts";
import { parseJson } from "../json/parse.ts";
import type { EventPath } from "./delta.ts";
import { valueOf } from "./fit.ts";
import type { Place } from "./places.ts";
import type { PlainEvent } from "./plain-event.ts";
import { templateOf, type Container, type Model, type Template } from "./template.ts";

/** The texts at an event's places, to compare another one with; `undefined` where two have differed. */
export type Sample = (string | undefined)[];

export function sampleOf({ data }: PlainEvent, places: readonly Place[]): Sample {
  return places.map(({ start, end }) => data.slice(start, end));
}

/**
 * The template of an event that is no delta, from what it has in common with another of its shape: they differ in some
 * strings and counts, which are then dropped from the sample. `undefined` if they differ in more.
 */
export function valueTemplateOf(event: PlainEvent, places: readonly Place[], sample: Sample): Template | undefined {
  const { data } = event;
  const slots: Place[] = [];
  for (const [i, place] of places.entries()) {
    if (data.slice(place.start, place.end) === sample[i]) continue;
    if (place.slot === undefined) return undefined;
    sample[i] = undefined;
    slots.push(place);
  }
  // A value of our own: whoever got the event's value may keep and change it.
  const value = parseJson(data) as Container;
  const paths = slots.map(({ path }) => path);
  return templateOf(event, slots, { model: modelOf(value, paths, 0) });
}

/** `paths` are those of the slots inside this container, including its own first `depth` steps. */
function modelOf(original: Container, paths: readonly EventPath[], depth: number): Model {
  const isArray = Array.isArray(original);
  const members: Model["members"][number][] = [];
  for (const name of Object.keys(original)) {
    const key = isArray ? Number(name) : name;
    const value = original[key];
    // Paths into other containers stay in the list, emptied, so that the index remains the slot.
    const inside = paths.map((path) => (path[depth] === key ? path : []));
    if (isObject(value)) {
      members.push({ key, model: modelOf(value as Container, inside, depth + 1), slot: -1 });
    } else {
      const slot = inside.findIndex((path) => path.length > 0);
      if (slot === -1) continue;
      members.push({ key, model: undefined, slot });
      if (typeof value === "string") original[key] = ""; // not kept
    }
  }
  return { original, members };
}

/** The event that has just fitted a template without a delta. Created fresh each time, sharing nothing. */
export function valueIn({ model }: Template): unknown {
  return copy(model!);
}

/** A fresh value: copies of all containers, with the slots' values in their places. */
function copy({ original, members }: Model): Container {
  const made = (Array.isArray(original) ? original.slice() : Object.assign({}, original)) as Container;
  for (let i = 0; i < members.length; i++) {
    const { key, model, slot } = members[i]!;
    made[key] = model === undefined ? valueOf(slot) : copy(model);
  }
  return made;
}
