import type { Delta, EventPath } from "./delta.ts";
import type { Place } from "./places.ts";
import type { PlainEvent } from "./plain-event.ts";
import { SLOT, templateOf, type Template } from "./template.ts";

/**
 * The template of one event that is a delta. The delta says what may change in similar events, so that one event is
 * enough; everything else is fixed, except for the spaces before the last bracket if it is padded with some.
 *
 * @returns `undefined` if the piece is not found, or its index is not a count
 */
export function deltaTemplateOf(event: PlainEvent, places: readonly Place[], delta: Delta<any>): Template | undefined {
  const { text, index, ignored = [] } = delta;
  const slots: Place[] = [];
  let textSlot = -1;
  let indexSlot = -1;
  for (const place of places) {
    const { slot, path, start, end } = place;
    const isString = slot === SLOT.STRING;
    if (isString && isAt(path, text)) {
      textSlot = slots.length;
      slots.push({ ...place, slot: SLOT.PIECE });
    } else if (slot === SLOT.COUNT && index !== undefined && isAt(path, index)) {
      indexSlot = slots.length;
      slots.push(place);
    } else if (slot === SLOT.SPACES) {
      if (start < end) slots.push(place);
    } else if (slot !== undefined && ignored.some((other) => isAt(path, other)))
      slots.push(isString ? { ...place, slot: SLOT.IGNORED } : place);
  }
  if (textSlot === -1 || (index !== undefined && indexSlot === -1)) return undefined;
  return templateOf(event, slots, { delta, textSlot, indexSlot });
}

function isAt(path: EventPath, other: EventPath): boolean {
  return path.length === other.length && path.every((step, i) => step === other[i]);
}
