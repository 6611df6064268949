import { lookFor, skipSpace } from "../../src/text/look.ts";
import { MAX_HEAD, type BlockReader, type TextContext } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { endOfGap, FOLLOWED } from "./block.ts";
import { Envelopes } from "./envelope.ts";
import { ValueEnd } from "./value.ts";

/** The end of a message and of a turn, of Llama 3, then of Llama 4: servers that show special tokens show these too. */
export const MESSAGE_ENDS = ["<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>"] as const;

/**
 * Calls without a mark, at the beginning of an answer: `{"name": "f", "parameters": {…}}`, a list of them, or several
 * separated by `;` or white space. An answer in JSON begins the same way, so the first object must name an existing
 * tool and continue with its arguments; and the line must end after the last one, or it is only being written about.
 *
 * @see https://github.com/ollama/ollama/issues/12174 for Qwen2.5-Coder
 * @see https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/llama_tool_parser.py for Llama 3
 */
export class BareCalls implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #marker: string;
  readonly #context: TextContext;
  readonly #envelopes: Envelopes;
  readonly #ends: readonly string[];
  /** The open value. */
  #value: ValueEnd | undefined;

  constructor(marker: string, ends: readonly string[], writer: BlockWriter, context: TextContext) {
    this.#marker = marker;
    this.#ends = ends;
    this.#context = context;
    this.#envelopes = new Envelopes(writer, context);
  }

  read(text: string, from: number): number {
    let at = from;
    if (this.state === "head") {
      const head = headOfCalls(this.#marker, text, at, this.#context);
      if (head === "none") this.state = "none";
      if (head !== "yes") return at;
      this.state = "open";
      this.#value = new ValueEnd();
      this.#feed(this.#marker, 0);
    }
    for (;;) {
      if (this.#value !== undefined) at = this.#feed(text, at);
      const next = this.#next(text, at);
      if (next === "maybe") return at;
      if (next === undefined) {
        this.state = "closed";
        return this.#close(text, at);
      }
      at = next;
      this.#value = new ValueEnd();
    }
  }

  #feed(text: string, from: number): number {
    const at = this.#value!.read(text, from);
    const isClosed = this.#value!.isClosed;
    // The end of a list would end its last call, but what follows may still show that it is not a call.
    this.#envelopes.feed(text.slice(from, isClosed && text[at - 1] === "]" ? at - 1 : at));
    if (!isClosed) return at;
    this.#envelopes.balanced();
    this.#value = undefined;
    return at;
  }

  /** Where the next call begins. */
  #next(text: string, from: number): number | "maybe" | undefined {
    const at = endOfGap(text, from);
    if (at === text.length || lookFor(text, at, this.#ends) === "maybe") return "maybe";
    if (text[at] !== "{") return undefined;
    const near = text.slice(0, at + MAX_HEAD);
    const head = headOfCall(near, at + 1, this.#context);
    if (head === "maybe" && near.length - at < MAX_HEAD) return head;
    return head === "yes" ? at : undefined;
  }

  #close(text: string, from: number): number {
    const at = endOfGap(text, from);
    const end = lookFor(text, at, this.#ends);
    if (typeof end === "object") {
      this.#envelopes.end();
      return at + end.word.length;
    }
    if (text.slice(from, at).includes("\n")) this.#envelopes.end();
    else this.#envelopes.unreadable(FOLLOWED);
    return from;
  }

  end(rest: string): string | undefined {
    if (this.state !== "open") return undefined;
    const gap = rest.slice(0, endOfGap(rest, 0));
    const isOver = gap.includes("\n");
    // In a text that was cut off, more might have come on the line.
    if (this.#value !== undefined || !(isOver || this.#context.isWhole)) this.#envelopes.cut();
    else if (!isOver && gap !== rest) this.#envelopes.unreadable(FOLLOWED);
    return rest === "" ? undefined : rest;
  }
}

/**
 * What follows a bracket: the head of a call, or that of the first call in a list.
 *
 * @param isBesideTools whether descriptions of tools may stand in the same place
 */
export function headOfCalls(
  bracket: string | undefined,
  text: string,
  at: number,
  context: TextContext,
  isBesideTools = false,
): "yes" | "maybe" | "none" {
  if (bracket === "{") return headOfCall(text, at, context, isBesideTools);
  const begin = skipSpace(text, at);
  if (bracket === "[" && begin === text.length) return "maybe";
  return bracket === "[" && text[begin] === "{" ? headOfCall(text, begin + 1, context, isBesideTools) : "none";
}

const KEYS = ["name", "function", "type", "arguments", "parameters"].map((key) => `"${key}"`);

/**
 * What follows `{`: the name of a tool, then the beginning of its arguments. `parameters` inside a `function` object
 * describe a tool.
 */
function headOfCall(text: string, from: number, context: TextContext, isBesideTools = false): "yes" | "maybe" | "none" {
  let isNamed = false;
  let isNested = isBesideTools;
  for (let at = from; ;) {
    at = skipSpace(text, at);
    const key = lookFor(text, at, KEYS);
    if (key === "maybe") return "maybe";
    if (key === undefined) return "none";
    at = skipSpace(text, at + key.word.length);
    if (at === text.length) return "maybe";
    if (text[at] !== ":") return "none";
    at = skipSpace(text, at + 1);
    if (at === text.length) return "maybe";
    if (key.word === '"arguments"' || key.word === '"parameters"') {
      if (text[at] === '"' && at + 1 === text.length) return "maybe";
      if (isNested && key.word !== '"arguments"') return "none";
      return isNamed && (text[at] === "{" || text.startsWith('"{', at)) ? "yes" : "none";
    }
    if (key.word === '"function"' && text[at] === "{") {
      isNested = true;
      at++;
      continue;
    }
    if (text[at] !== '"') return "none";
    const end = text.indexOf('"', at + 1);
    const value = text.slice(at + 1, end < 0 ? undefined : end);
    if (end < 0) return "maybe";
    if (key.word === '"type"' ? value !== "function" : context.tool(value) === undefined) return "none";
    isNamed ||= key.word !== '"type"';
    at = skipSpace(text, end + 1);
    if (at === text.length) return "maybe";
    if (text[at] !== ",") return "none";
    at++;
  }
}
