import type { ParserSink } from "../../src/adapter.ts";
import { textOf } from "../../src/wire/field.ts";
import { partsOf, summaryPart, type Item } from "./item.ts";
import type { WireItem, WirePart } from "./wire.ts";

/** The content index of a delta without one. */
const NO_INDEX = -1;

/** What the model says: text, refusals and reasoning. A part that came in pieces is not said again when it is whole. */
export class Speech {
  readonly #sink: ParserSink;
  /** Whether the model refused. */
  refused = false;
  #reasoned = false;
  #hasTextPieces = false;

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  text(item: Item, index: number | null | undefined, delta: unknown): void {
    if (typeof delta !== "string" || delta === "") return;
    this.#hasTextPieces = true;
    this.#say(item, index, delta);
  }

  #say(item: Item, index: number | null | undefined, text: string): void {
    (item.streamed ??= new Set()).add(index ?? NO_INDEX);
    this.#sink.text(text);
  }

  /** The text of a part again. It is new only if a server sends no pieces: https://github.com/TanStack/ai/pull/937 */
  textDone(item: () => Item, index: number | null | undefined, whole: unknown): void {
    const text = textOf(whole);
    if (!this.#hasTextPieces && text !== undefined) this.#rest(item(), index ?? NO_INDEX, { text });
  }

  refusal(item: Item, index: number | null | undefined, delta: unknown): void {
    if (typeof delta !== "string") return;
    (item.streamed ??= new Set()).add(index ?? NO_INDEX);
    this.refused = true;
    this.#sink.refusal(delta);
  }

  reasoning(item: Item, index: number | null | undefined, delta: unknown, isWhole = false): void {
    if (typeof delta !== "string") return;
    const part = index ?? NO_INDEX;
    // A part is a paragraph of its own, and most begin with a title. If the content was not announced, its index may
    // count the pieces instead: https://github.com/vllm-project/vllm/pull/35184
    const isPart = isWhole || part < NO_INDEX || item.streamed === undefined || item.part === part;
    const apart = this.#reasoned && isPart && !item.streamed?.has(part);
    (item.streamed ??= new Set()).add(part);
    this.#reasoned = true;
    this.#sink.reasoning(apart ? `\n\n${delta}` : delta);
  }

  /** A finished item: what is new in it. */
  whole(item: Item, { summary, content }: WireItem): void {
    partsOf(summary).forEach((part, index) => this.#rest(item, summaryPart(index), part));
    const parts = partsOf(content);
    // vLLM numbers the parts of all items in one sequence: https://github.com/vllm-project/vllm/issues/45742
    const isMiscounted = item.streamed !== undefined && [...item.streamed].some((index) => index >= parts.length);
    if (!isMiscounted) parts.forEach((part, index) => this.#rest(item, index, part));
  }

  /** A part of a finished item: new only if no delta came before. */
  #rest(item: Item, index: number, part: WirePart): void {
    if (item.streamed?.has(index) || item.streamed?.has(NO_INDEX)) return;
    if (part.refusal) return this.refusal(item, index, part.refusal);
    const text = textOf(part.text);
    if (text === undefined) return;
    if (item.wire.type === "reasoning") this.reasoning(item, index, text, true);
    else this.#say(item, index, text);
  }
}
