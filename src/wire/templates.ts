import type { DecoderOptions } from "./decoder.ts";
import type { Delta } from "./delta.ts";
import { deltaTemplateOf } from "./delta-template.ts";
import { fit, values } from "./fit.ts";
import { templateOf, type Container, type Model, type Sample, type Template } from "./template.ts";

const MAX_TEMPLATES = 4;
const MAX_SAMPLES = 2;
/** Longer events are rare. */
const MAX_DATA_LENGTH = 2048;
/** Comparisons that may fail before no more is learned; each event that fits a template earns one. */
const PATIENCE = 16;
/** Events that are only read before any are compared: for those of a short stream that costs more than it saves. */
const UNCOMPARED = 8;
/** Templates of deltas that may be made, one after the other, without one that fits. */
const MAX_MISSES = 4;

/**
 * Events of a stream repeat one another but for a few values: the delta, a number that counts, a padding. One that is a
 * delta makes a template, and so do two that are none but are alike: the bytes between those values, and the parsed event
 * to put new ones into. An event that has the same bytes between its values needs no text and no `JSON.parse`; at the
 * slightest difference it is nobody's and is read as ever.
 *
 * ```
 * data: {"type":"delta","n":7,"delta":"lo","index":0}⏎⏎
 * ----- fixed -------------|1|-- fixed --|2-|-- fixed ---
 * ```
 */
export class Templates {
  /** Nothing is known and nothing will be: the events of this stream are not alike. */
  isHopeless = false;
  /** What fitted last, and mostly fits next. */
  #fitted: Template | undefined;
  #patience = UNCOMPARED + PATIENCE;
  #misses = 0; // templates of deltas that were made since one fitted
  /** All of them. */
  #templates: Template[] = NO_TEMPLATES;
  #samples: Sample[] = NO_SAMPLES;
  readonly #parser: Pick<DecoderOptions, "deltaOf"> | undefined;

  /** @param parser knows what an event is a piece of, if it is one: asked once for each template */
  constructor(parser?: Pick<DecoderOptions, "deltaOf">) {
    this.#parser = parser;
  }

  /**
   * Where the event at `at` of the bytes ends, if it is one of a template; -1 for any other. What is in it is then told
   * by `delta`, `text` and `index` or, where the template is no delta's, by `value`: at once, since nothing of it is kept.
   */
  match(bytes: Uint8Array, at: number): number {
    let end = this.#fitted === undefined ? -1 : fit(this.#fitted, bytes, at);
    if (end === -1) end = this.#matchOther(bytes, at);
    if (end === -1) return -1;
    if (this.#patience < PATIENCE) this.#patience++;
    if (this.delta !== undefined) this.#misses = 0;
    return end;
  }

  get delta(): Delta | undefined {
    return this.#fitted!.delta;
  }

  get text(): string {
    return values[this.#fitted!.textSlot] as string;
  }

  get index(): number {
    const { indexSlot } = this.#fitted!;
    return indexSlot === -1 ? 0 : (values[indexSlot] as number);
  }

  /** Made anew each time, nothing in it is shared. */
  get value(): unknown {
    return copy(this.#fitted!.model!);
  }

  #matchOther(bytes: Uint8Array, at: number): number {
    const templates = this.#templates;
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i]!;
      const end = template === this.#fitted ? -1 : fit(template, bytes, at);
      if (end === -1) continue;
      // To the front: what has not fitted for the longest time gives way to what is new.
      templates.splice(i, 1);
      templates.unshift(template);
      template.isProven = true;
      this.#fitted = template;
      return end;
    }
    return -1;
  }

  /** An event that was parsed: `head`, the JSON text `data`, a blank line. */
  learn(head: string, data: string, value: unknown): void {
    if (this.#patience === 0 || data.length > MAX_DATA_LENGTH || typeof value !== "object" || value === null) return;
    const event: Sample = { head, data, value: value as Container };
    const template = this.#deltaTemplate(event) ?? this.#valueTemplate(event);
    if (template !== undefined) {
      this.#templates = [template, ...this.#templates.slice(0, MAX_TEMPLATES - 1)];
    }
    if (--this.#patience === 0) this.#templates = this.#templates.filter(({ isProven }) => isProven);
    this.isHopeless = this.#patience === 0 && this.#templates.length === 0;
  }

  /** What a delta says of itself. If that did not fit the next one, more may change than it said. */
  #deltaTemplate(event: Sample): Template | undefined {
    const delta = this.#misses < MAX_MISSES ? this.#parser?.deltaOf?.(event.value) : undefined;
    return delta === undefined ? undefined : deltaTemplateOf(event, delta, this.#misses++ > 0);
  }

  /** What an event has in common with one before it. */
  #valueTemplate(event: Sample): Template | undefined {
    if (this.#patience > PATIENCE) return undefined;
    let template: Template | undefined;
    for (let i = 0; i < this.#samples.length && template === undefined; i++)
      template = templateOf(this.#samples[i]!, event);
    this.#samples = [event, ...this.#samples.slice(0, MAX_SAMPLES - 1)];
    return template;
  }
}

const NO_TEMPLATES: Template[] = [];
const NO_SAMPLES: Sample[] = [];

/** A fresh value: the copies of all containers, with the values of the slots in their places. */
function copy({ original, isArray, places }: Model): Container {
  const made = (isArray ? (original as unknown as unknown[]).slice() : { ...original }) as Container;
  for (let i = 0; i < places.length; i++) {
    const { key, model, slot } = places[i]!;
    made[key] = model === undefined ? values[slot] : copy(model);
  }
  return made;
}
