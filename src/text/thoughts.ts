import { find, isSpace, look } from "./look.ts";

const OPEN = "<think>";
const CLOSE = "</think>";

/** Takes one text in pieces and separates the thoughts at its beginning from the rest. */
export interface ThoughtSplitter {
  push(delta: string): void;
  /** The text is over: what was held back is released. */
  end(): void;
  isThinking(): boolean;
}

/**
 * A text that begins with `<think>` is thoughts up to `</think>`, tags included. They are split off before the text is
 * searched, as in servers with a reasoning parser. Later tags are only being written about.
 */
export function splitThoughts(thought: (delta: string) => void, text: (delta: string) => void): ThoughtSplitter {
  let state: "begin" | "thinking" | "over" = "begin";
  let held = "";

  function push(delta: string): void {
    if (state === "over") return text(delta);
    const all = held + delta;
    held = "";
    if (state === "thinking") think(all);
    else begin(all);
  }

  function begin(all: string): void {
    let at = 0;
    while (at < all.length && isSpace(all.charCodeAt(at))) at++;
    if (at > 0) text(all.slice(0, at));
    const rest = all.slice(at);
    const found = look(rest, 0, OPEN);
    if (found === "maybe") held = rest;
    else if (found === "yes") {
      state = "thinking";
      think(rest);
    } else {
      state = "over";
      text(rest);
    }
  }

  function think(all: string): void {
    const { at, word } = find(all, 0, [CLOSE]);
    const behind = word === undefined ? at : at + word.length;
    const rest = all.slice(behind);
    thought(all.slice(0, behind));
    if (word === undefined) held = rest;
    else {
      state = "over";
      if (rest !== "") text(rest);
    }
  }

  function end(): void {
    const rest = held;
    held = "";
    if (rest !== "") (state === "thinking" ? thought : text)(rest);
  }

  return { push, end, isThinking: () => state === "thinking" };
}
