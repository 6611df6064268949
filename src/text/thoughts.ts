import { find, lookFor, skipSpace } from "./look.ts";
import { markAlone, type Notation } from "./notation.ts";

/**
 * The tags around thoughts. `<thought>` is that of EXAONE Deep, and of Gemini on wires without a field for them; the
 * four after it those of MiniMax M3, Reka Flash 3, OpenThinker and Kimi-VL.
 *
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/parser/reasoning_parser.py
 */
const TAGS: ReadonlyMap<string, string> = new Map([
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<mm:think>", "</mm:think>"],
  ["<reasoning>", "</reasoning>"],
  ["<|begin_of_thought|>", "<|end_of_thought|>"],
  ["◁think▷", "◁/think▷"],
  ["[THINK]", "[/THINK]"],
  ["<|think:start|>", "<|think:end|>"],
  ["<ifm|think>", "</ifm|think>"],
  ["<ifm|think_fast>", "</ifm|think_fast>"],
  ["<ifm|think_faster>", "</ifm|think_faster>"],
  ["<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"],
  ["<seed:think>", "</seed:think>"],
  ["<think:opensource>", "</think:opensource>"],
  ["<think:6124c78e>", "</think:6124c78e>"],
  ["<|open|>think<|sep|>", "<|close|>think<|sep|>"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
  ["<|inner_prefix|>", "<|inner_suffix|>"],
  ["<|channel>", "<channel|>"],
]);
const OPENS = [...TAGS.keys()];
const CLOSES = [...TAGS.values()];

/** Takes one text in pieces and separates the thoughts at its beginning from the rest. */
export interface ThoughtSplitter {
  push(delta: string): void;
  /** The text is over: what was held back is released. */
  end(): void;
  isThinking(): boolean;
}

/**
 * A text that begins with `<think>` is thoughts up to `</think>`, tags included. They are split off before the text is
 * searched, as in servers with a reasoning parser.
 *
 * @param isThinking whether the tag that begins them was in the prompt
 */
export function splitThoughts(
  thought: (delta: string) => void,
  text: (delta: string) => void,
  isThinking = false,
): ThoughtSplitter {
  let state: "begin" | "thinking" | "over" = isThinking ? "thinking" : "begin";
  let closes: readonly string[] = CLOSES;
  let held = "";

  function push(delta: string): void {
    if (state === "over") return text(delta);
    const all = held + delta;
    held = "";
    if (state === "thinking") think(all);
    else begin(all);
  }

  function begin(all: string): void {
    const at = skipSpace(all, 0);
    if (at > 0) text(all.slice(0, at));
    const rest = all.slice(at);
    const found = lookFor(rest, 0, OPENS);
    if (found === "maybe") held = rest;
    else if (found !== undefined) {
      state = "thinking";
      closes = [TAGS.get(found.word)!];
      think(rest);
    } else {
      state = "over";
      text(rest);
    }
  }

  function think(all: string): void {
    const { at, word } = find(all, 0, closes);
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

/**
 * Reports the tags of thoughts elsewhere in a text. Where the prompt ends with `<think>`, as in the templates of
 * DeepSeek-R1 and QwQ, the text has only `</think>`: what it was the end of is known only then.
 */
export function thoughtTags(report: (tag: string, isEnd: boolean) => void): Notation {
  return {
    markers: [...OPENS, ...CLOSES],
    start: () => (marker) => {
      const isEnd = CLOSES.includes(marker);
      report(marker, isEnd);
      return markAlone(isEnd);
    },
  };
}
