import { look, skipSpace } from "../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { BlockWriter } from "../../src/text/writer.ts";
import { CodeState } from "./code-state.ts";

/** Collects the code of a block. It is read when it is whole: a block that is not closed runs nothing. */
export function codeBlock(
  close: string,
  read: (code: string) => void,
  writer: BlockWriter,
  context: TextContext,
  maxBlockLength: number,
): BlockReader {
  const code = new CodeState();
  const { maxArgumentsLength } = context.limits;
  const [maxLength, limit] =
    maxBlockLength <= maxArgumentsLength
      ? [maxBlockLength, "maxBlockLength of textHelpers()"]
      : [maxArgumentsLength, "limits.maxArgumentsLength"];
  const first = close.charCodeAt(0);
  let state: BlockReader["state"] = "head";
  let parts: string[] = [];
  let length = 0;
  /** Where the code ends if the string that is open has swallowed its end, and where what follows begins. */
  let hidden: { readonly from: number; readonly to: number } | undefined;

  function keep(piece: string): void {
    length += piece.length;
    if (length <= maxLength) parts.push(piece);
    else parts = [];
  }

  function finish(text: string): void {
    if (length > maxLength) {
      const advice = "Nothing of it was run; write it in several blocks";
      writer.call().unreadable(`the block is longer than ${maxLength} characters (${limit}). ${advice}`);
    } else read(withoutFence(text));
  }

  return {
    get state() {
      return state;
    },
    read(text, from) {
      if (state === "head") {
        const begins = beginsCode(text, from, close);
        if (begins === "maybe") return from;
        state = begins === "yes" ? "open" : "none";
        if (begins === "no") return from;
      }
      let at = from;
      for (; at < text.length; at++) {
        const character = text.charCodeAt(at);
        if (character === first) {
          const answer = look(text, at, close);
          if (answer === "maybe") break;
          if (answer === "yes" && (!code.isString || context.isBlind)) {
            keep(text.slice(from, at));
            finish(parts.join(""));
            state = "closed";
            return at + close.length;
          }
          if (answer === "yes" && hidden === undefined) {
            const place = length + at - from;
            hidden = { from: place, to: place + close.length };
          }
        }
        code.see(character);
      }
      keep(text.slice(from, at));
      return at;
    },
    end(rest) {
      if (state === "head") {
        if (rest.trim() === "") return undefined;
        state = "closed";
        writer.call().cut(NOT_CLOSED);
        return undefined;
      }
      keep(rest);
      const all = parts.join("");
      state = "closed";
      if (context.isWhole && hidden !== undefined && length <= maxLength) {
        finish(all.slice(0, hidden.from));
        return all.slice(hidden.to);
      }
      const call = writer.call();
      const name = /^\s*(?:[\w.]+\s*=\s*)?(?:await\s+)?([A-Za-z_][\w.]*)\s*\(/.exec(withoutFence(all))?.[1];
      if (name !== undefined) call.name(name);
      call.cut(NOT_CLOSED);
      return undefined;
    },
  };
}

const NOT_CLOSED = "the block was not closed, and nothing of it was run";

const KEYWORDS = /^(?:import|from|for|while|if|try|with|def|class|return|await|async|del|print)$/;

/** Code begins with a name and what makes it a call or an assignment, with a comment or a fence. Prose does not. */
function beginsCode(text: string, from: number, close: string): "yes" | "no" | "maybe" {
  const at = skipSpace(text, from);
  if (at === text.length) return "maybe";
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
 * Models put code into a fence, in a block too. Its lines stay, so that the numbers of the others do; the first line is
 * the one behind the tag.
 */
function withoutFence(block: string): string {
  const code = block.replace(/^[ \t]*\r?\n/, "");
  return code.replace(/^(\s*)```[a-z]*[ \t]*(?=\n)/i, "$1").replace(/\n[ \t]*```\s*$/, "\n");
}
