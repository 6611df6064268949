import { isObject } from "../json/container.ts";
import type { Delta } from "./delta.ts";
import { deltaTemplateOf } from "./delta-template.ts";
import { fit, valueOf } from "./fit.ts";
import { placesOf, shapeOf, type Place } from "./places.ts";
import type { PlainEvent } from "./plain-event.ts";
import { MAX_LENGTH, type Template } from "./template.ts";
import { sampleOf, valueTemplateOf, type Sample } from "./value-template.ts";

/** A wire has about ten kinds of events, and servers differ in how they write them. */
const MAX_TEMPLATES = 24;
const MAX_KINDS = 24;
/** After a starting credit, each event to learn from is paid for by eight events that were found. */
const MAX_CREDIT = 1024;
const LEARNING = 8;
/** How many events at most are passed over after one that was examined in vain. */
const MAX_PASSING = 64;
/** The credit that each stream brings: learning from its first events costs it next to nothing. */
const START = 4 * LEARNING;

/** Events that differ only in the values of their strings and numbers. */
interface Kind {
  /** One such event that is no delta, to compare the others with; empty until one came. */
  sample: Sample;
  template: Template | undefined;
  /** How many came that no template knew, and which of them to learn from next: what failed once mostly fails again. */
  seen: number;
  next: number;
}

/**
 * Events repeat one another except for a few values: the delta, a counter, padding, an id. One event that is a delta
 * makes a template, and so do two similar events that are not: the bytes between those values, and the parsed event to
 * put new values into. An event with the same bytes between its values needs no text and no `JSON.parse`; at the
 * slightest difference it fits no template and is read as usual.
 *
 * ```
 * data: {"type":"delta","n":7,"delta":"lo","index":0}⏎⏎
 * ----- fixed -------------|1|-- fixed --|2-|-- fixed ---
 * ```
 *
 * Shared by all streams of a wire: they begin and end alike, and what thousands of open streams consult is in one
 * place. It holds a limited number of templates, and one event of each kind until a similar one comes: after that,
 * nothing is kept of what stood in the changing places.
 */
export class Templates {
  /** The template of the last event found. @internal */
  found: Template | undefined;
  #templates: Template[] = [];
  readonly #kinds = new Map<string, Kind>();
  #credit = MAX_CREDIT;
  /** How many events are passed over, since others were learned from in vain. */
  #passing = 0;
  #uses = 0;
  /** Index of the template with which a stream began last time; -1 if none did. */
  #first = -1;
  readonly #deltaOf: ((event: any) => Delta<any> | undefined) | undefined;

  /** @param deltaOf says what an event is a piece of, if it is one: asked once for each template */
  constructor(deltaOf?: (event: any) => Delta<any> | undefined) {
    this.#deltaOf = deltaOf;
  }

  /**
   * Where the event at `at` of the bytes ends, if it fits a template, which is then `found`; -1 if it does not.
   *
   * @param last the template of the event before; this event does not fit it. What followed it last time mostly does
   * again.
   * @internal
   */
  find(bytes: Uint8Array, at: number, last?: Template): number {
    const templates = this.#templates;
    const likely = last === undefined ? this.#first : last.next;
    const end = likely === -1 ? -1 : fit(templates[likely]!, bytes, at);
    if (end !== -1) return this.#take(templates[likely]!, end);
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i]!;
      if (i === likely || template === last) continue;
      const otherEnd = fit(template, bytes, at);
      if (otherEnd === -1) continue;
      if (last === undefined) this.#first = i;
      else last.next = i;
      return this.#take(template, otherEnd);
    }
    return -1;
  }

  #take(template: Template, end: number): number {
    template.lastUse = ++this.#uses;
    this.found = template;
    if (this.#credit < MAX_CREDIT) this.#credit++;
    return end;
  }

  /** A stream begins. Even if no template fitted earlier ones, this one gets some credit to learn from. @internal */
  begin(): void {
    this.#credit = Math.min(MAX_CREDIT, this.#credit + START);
  }

  /** An event that fitted no template, and its parsed data. @internal */
  learn(event: PlainEvent, value: unknown): void {
    const { head, data } = event;
    if (this.#credit < LEARNING || head.length + data.length > MAX_LENGTH) return;
    if (!isObject(value)) return;
    if (this.#passing > 0) return void this.#passing--;
    this.#credit -= LEARNING;
    const places = placesOf(data);
    if (places === undefined) return;
    const kind = this.#kindOf(shapeOf(event, places));
    if (++kind.seen < kind.next) return void (this.#passing = Math.min(kind.seen, MAX_PASSING));
    const delta = this.#deltaOf?.(value);
    const template = delta === undefined ? undefined : deltaTemplateOf(event, places, delta);
    if (template !== undefined) {
      kind.next = 2 * kind.seen;
      this.#add(template, undefined);
    } else if (kind.sample.length === 0) kind.sample = sampleOf(event, places);
    else this.#compare(kind, event, places);
  }

  #kindOf(key: string): Kind {
    const kinds = this.#kinds;
    let kind = kinds.get(key);
    if (kind === undefined) {
      if (kinds.size === MAX_KINDS) kinds.delete(kinds.keys().next().value!);
      kinds.set(key, (kind = { sample: [], template: undefined, seen: 0, next: 0 }));
    }
    return kind;
  }

  /** Makes a template of what an event has in common with another of its kind. */
  #compare(kind: Kind, event: PlainEvent, places: readonly Place[]): void {
    const template = valueTemplateOf(event, places, kind.sample);
    if (template === undefined) kind.next = 2 * kind.seen;
    else kind.template = this.#add(template, kind.template);
  }

  #add(template: Template, instead: Template | undefined): Template {
    const templates = this.#templates;
    template.lastUse = ++this.#uses;
    const at = instead === undefined ? -1 : templates.indexOf(instead);
    if (at !== -1) templates[at] = template;
    else if (templates.length < MAX_TEMPLATES) templates.push(template);
    else templates[this.#leastUsed()] = template;
    return template;
  }

  #leastUsed(): number {
    let least = 0;
    for (let i = 1; i < this.#templates.length; i++)
      if (this.#templates[i]!.lastUse < this.#templates[least]!.lastUse) least = i;
    return least;
  }
}

/** The piece in the event that has just fitted a delta's template. */
export function textIn({ textSlot }: Template): string {
  return valueOf(textSlot) as string;
}

/** 0 if there is no index. */
export function indexIn({ indexSlot }: Template): number {
  return indexSlot === -1 ? 0 : (valueOf(indexSlot) as number);
}
