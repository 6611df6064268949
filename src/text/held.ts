import type { ParserSink } from "../adapter.ts";
import { RootScan } from "../json/index.ts";
import type { ToolChunk } from "../stream/chunk.ts";

/** How many characters of arguments are held back; if more come, they are passed on unchanged. */
export const MAX_HELD = 1_048_576;

/** A sink that releases what it holds when the turn ends. */
export interface HoldingSink extends ParserSink {
  end(): void;
}

/** A call of the wire whose chunks are held back until it is clear what to do with it. */
export class HeldCall {
  readonly chunks: ToolChunk[] = [];
  readonly #first: ToolChunk;
  readonly #root = new RootScan(Infinity);
  #id: string | null | undefined;
  argsText = "";

  constructor(first: ToolChunk) {
    this.#first = first;
    this.add(first);
  }

  add(chunk: ToolChunk): void {
    if (this.#isCopy(chunk)) chunk = { ...chunk, argsTextDelta: undefined };
    this.chunks.push(chunk);
    this.#id ||= chunk.id;
    const text = chunk.argsTextDelta ?? "";
    this.argsText += text;
    this.#root.feed(text);
  }

  /**
   * Whether a chunk belongs to this call: by its index, or else by its id and name. As in the router, a name with
   * arguments begins another call once this one's are closed: some servers send no labels, or the same for all. Not if
   * it only repeats this one; without labels, calls that come whole may be equal.
   */
  owns(chunk: ToolChunk): boolean {
    const { turnIndex = 0, callIndex, id, name, argsTextDelta } = chunk;
    const first = this.#first;
    if (turnIndex !== (first.turnIndex ?? 0) || (id && this.#id && id !== this.#id)) return false;
    const isBare = !this.#id && callIndex === undefined && this.chunks.length === 1;
    const begins = this.#root.state === "closed" && argsTextDelta?.trimStart()[0] === "{";
    if (name && begins && (isBare || name !== this.name || !this.#isCopy(chunk))) return false;
    if (callIndex !== undefined || first.callIndex !== undefined) return callIndex === first.callIndex;
    return !name || name === first.name;
  }

  #isCopy({ argsTextDelta }: ToolChunk): boolean {
    return this.#root.state === "closed" && argsTextDelta === this.argsText;
  }

  get name(): string | undefined {
    return this.chunks.find(({ name }) => name)?.name ?? undefined;
  }

  /** Arguments that came as an object. */
  get argsValue(): Readonly<Record<string, unknown>> | undefined {
    return this.chunks.find(({ argsKvPatch }) => argsKvPatch !== undefined)?.argsKvPatch;
  }

  get hasFailed(): boolean {
    return this.chunks.some(({ error, errorType }) => error !== undefined || errorType !== undefined);
  }
}

/** A sink in front of another, which sees its calls first. */
export function holdingSink(
  sink: ParserSink,
  { tool, end, giveUp }: { tool(chunk: ToolChunk): void; end(): void; giveUp(): void },
): HoldingSink {
  return {
    start: (responseId, model) => sink.start(responseId, model),
    text: (delta) => sink.text(delta),
    reasoning: (delta) => sink.reasoning(delta),
    refusal: (delta) => sink.refusal(delta),
    tool,
    providerTool: (call) => sink.providerTool(call),
    usage: (usage) => sink.usage(usage),
    finish: (reason, providerReason, message) => sink.finish(reason, providerReason, message),
    terminal: () => sink.terminal(),
    fail(error) {
      // What was held did arrive: the failed turn accounts for it, and accepts nothing more.
      giveUp();
      sink.fail(error);
    },
    end,
  };
}
