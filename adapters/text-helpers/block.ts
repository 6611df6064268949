import { Kept } from "../../src/text/kept.ts";
import { look, skipSpace } from "../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { CodeState } from "../../src/text/python/code-state.ts";

/** Collects the code of a block. It is read once complete: an unclosed block runs nothing. */
export class CodeBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #close: string;
  readonly #read: (code: string) => void;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  readonly #maxBlockLength: number;
  readonly #maxLength: number;
  readonly #state = new CodeState();
  readonly #code: Kept;
  /** Where the first end tag in the open string stands: the end of the block, if the string is never closed. */
  #swallowed: number | undefined;
  /** Where the first end tag in a string stands that was never closed. */
  #hidden: number | undefined;

  constructor(
    close: string,
    read: (code: string) => void,
    writer: BlockWriter,
    context: TextContext,
    maxBlockLength: number,
  ) {
    this.#close = close;
    this.#read = read;
    this.#writer = writer;
    this.#context = context;
    this.#maxBlockLength = maxBlockLength;
    this.#maxLength = Math.min(maxBlockLength, context.limits.maxArgumentsLength);
    this.#code = new Kept(this.#maxLength);
  }

  read(text: string, from: number): number {
    const close = this.#close;
    if (this.state === "head") {
      const begins = beginsCode(text, from, close);
      if (begins === "maybe") return from;
      this.state = begins === "yes" ? "open" : "none";
      if (begins === "no") return from;
    }
    const first = close.charCodeAt(0);
    const state = this.#state;
    let at = from;
    for (; at < text.length; at++) {
      const character = text.charCodeAt(at);
      if (character === first) {
        const answer = look(text, at, close);
        if (answer === "maybe") break;
        if (answer === "yes" && (!state.isString || this.#context.isBlind)) {
          this.#code.add(text.slice(from, at));
          this.#finish(this.#code.text);
          this.state = "closed";
          return at + close.length;
        }
        if (answer === "yes") this.#swallowed ??= this.#code.length + at - from;
      }
      state.see(character);
      if (this.#swallowed !== undefined && !state.isString) {
        if (character === NEWLINE) this.#hidden ??= this.#swallowed;
        this.#swallowed = undefined;
      }
    }
    this.#code.add(text.slice(from, at));
    return at;
  }

  end(rest: string): string | undefined {
    if (this.state === "head") {
      if (rest.trim() === "") return undefined;
      this.state = "closed";
      this.#writer.call().cut(NOT_CLOSED);
      return undefined;
    }
    this.#code.add(rest);
    const all = this.#code.text;
    const hidden = this.#hidden ?? this.#swallowed;
    if (this.#context.isWhole && hidden !== undefined) {
      this.#finish(all?.slice(0, hidden));
      return all?.slice(hidden + this.#close.length);
    }
    const call = this.#writer.call();
    const name = /^\s*(?:[\w.]+\s*=\s*)?(?:await\s+)?([A-Za-z_][\w.]*)\s*\(/.exec(withoutFence(all ?? ""))?.[1];
    if (name !== undefined) call.name(name);
    call.cut(NOT_CLOSED);
    return undefined;
  }

  #finish(code: string | undefined): void {
    if (code !== undefined) return this.#read(withoutFence(code));
    const max = this.#maxLength;
    const limit = max === this.#maxBlockLength ? "maxBlockLength of textHelpers()" : "limits.maxArgumentsLength";
    const advice = "Nothing in it was run; write it in several blocks";
    this.#writer.call().unreadable(`the block is longer than ${max} characters (${limit}). ${advice}`);
  }
}

const NEWLINE = 10;

const NOT_CLOSED = "the block was not closed, and nothing in it was run";

const KEYWORDS = /^(?:import|from|for|while|if|try|with|def|class|return|await|async|del|print)$/;

/** Code begins with a name followed by a sign of a call or an assignment, a comment or a fence. Prose does not. */
function beginsCode(text: string, from: number, close: string): "yes" | "no" | "maybe" {
  const at = skipSpace(text, from);
  const isEmpty = look(text, at, close);
  if (isEmpty !== "no") return isEmpty;
  if (text[at] === "#" || text[at] === "`") return "yes";
  const [word = ""] = /^[\p{L}_][\p{L}\p{N}_.]*/u.exec(text.slice(at)) ?? [];
  if (word === "") return "no";
  const next = skipSpace(text, at + word.length);
  if (next === text.length) return "maybe";
  return /[(=:,;+[]/.test(text[next]!) || KEYWORDS.test(word) ? "yes" : "no";
}

/**
 * Models put code into a fence, even inside a block. The fence's lines stay as empty ones to keep line numbers correct;
 * line 1 is the one after the tag.
 */
function withoutFence(block: string): string {
  const code = block.replace(/^[ \t]*\r?\n/, "");
  return code.replace(/^(\s*)```[a-z]*[ \t]*(?=\n)/i, "$1").replace(/\n[ \t]*```\s*$/, "\n");
}
