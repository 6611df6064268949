import { find, look, lookFor, skipSpace } from "../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { BareCalls, headOfCalls } from "./bare.ts";
import { Envelopes } from "./envelope.ts";
import { ValueEnd } from "./value.ts";

const FENCE = "```";

/** What an answer begins with that consists of calls without any mark. */
export const UNMARKED: readonly string[] = ["{", "[", FENCE];

/**
 * Reads the calls of such an answer.
 *
 * @param ends what may stand behind them
 */
export function unmarkedCalls(
  marker: string,
  ends: readonly string[],
  writer: BlockWriter,
  context: TextContext,
): BlockReader {
  return new (marker === FENCE ? FencedCalls : BareCalls)(marker, ends, writer, context);
}

/** How much longer than the arguments of one call the JSON may be. */
const MAX_JSON = 1_048_576;

/**
 * A call, or a list of calls, in a code fence that is the whole answer, as Qwen2.5-Coder writes it where the prompt is
 * long. Until the text is over, it may still be an example: with anything behind the fence, it is text.
 *
 * @see https://github.com/ardanlabs/kronk/pull/950
 * @see https://github.com/ggml-org/llama.cpp/blob/master/common/chat.cpp which reads it anywhere
 */
class FencedCalls implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly holdsCalls = true;
  readonly #ends: readonly string[];
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  readonly #value = new ValueEnd();
  #expected: "json" | "fence" | "nothing" | "text" = "json";
  #json = "";
  /** All of it, in case it is text. */
  #raw: string;

  constructor(marker: string, ends: readonly string[], writer: BlockWriter, context: TextContext) {
    this.#raw = marker;
    this.#ends = ends;
    this.#writer = writer;
    this.#context = context;
  }

  read(text: string, from: number): number {
    let at = from;
    if (this.state === "head") {
      const begin = headOf(text, at, this.#context);
      if (begin === "none") this.state = "none";
      if (typeof begin === "string") return at;
      this.state = "open";
      at = this.#keep(text, at, begin);
    }
    if (this.#expected === "json") {
      const end = this.#value.read(text, at);
      this.#json += text.slice(at, end);
      at = this.#keep(text, at, end);
      if (this.#json.length > this.#context.limits.maxArgumentsLength + MAX_JSON) this.#expected = "text";
      else if (this.#value.isClosed) this.#expected = "fence";
    }
    if (this.#expected === "fence") {
      at = this.#keep(text, at, skipSpace(text, at));
      const fence = look(text, at, FENCE);
      if (fence === "maybe") return at;
      this.#expected = fence === "yes" ? "nothing" : "text";
      if (fence === "yes") at = this.#keep(text, at, at + FENCE.length);
    }
    if (this.#expected === "nothing") {
      at = this.#keep(text, at, skipSpace(text, at));
      const end = lookFor(text, at, this.#ends);
      if (end === "maybe") return at;
      if (end !== undefined) return this.#keep(text, at, at + end.word.length);
      this.#giveBack();
      this.state = "closed";
      return at;
    }
    return this.#expected === "text" ? this.#readText(text, at) : at;
  }

  end(rest: string): string | undefined {
    if (this.state === "head") return undefined;
    // With something left, or in a text that was cut off, the fence may not have been all of the answer.
    if (this.#expected === "nothing" && rest === "" && this.#context.isWhole) {
      const envelopes = new Envelopes(this.#writer, this.#context);
      envelopes.feed(this.#json);
      envelopes.balanced();
    } else {
      this.#giveBack();
      if (rest !== "") this.#writer.text(rest);
    }
    return undefined;
  }

  /** What is left of the fence is text, whatever it looks like. */
  #readText(text: string, from: number): number {
    this.#giveBack();
    const { at, word } = find(text, from, [`\n${FENCE}`]);
    const end = at + (word?.length ?? 0);
    if (end > from) this.#writer.text(text.slice(from, end));
    if (word !== undefined) this.state = "closed";
    return end;
  }

  #giveBack(): void {
    if (this.#raw !== "") this.#writer.text(this.#raw);
    this.#raw = "";
  }

  #keep(text: string, from: number, until: number): number {
    this.#raw += text.slice(from, until);
    return until;
  }
}

/** The rest of the first line, then the head of a call. */
function headOf(text: string, from: number, context: TextContext): number | "maybe" | "none" {
  const [info = ""] = /^(?:json|xml)?[ \t]*\r?/.exec(text.slice(from)) ?? [];
  const line = from + info.length;
  if (line === text.length || (info === "" && lookFor(text, from, ["json", "xml"]) === "maybe")) return "maybe";
  if (text[line] !== "\n") return "none";
  const begin = skipSpace(text, line);
  if (begin === text.length) return "maybe";
  const head = headOfCalls(text[begin], text, begin + 1, context);
  return head === "yes" ? begin : head;
}
