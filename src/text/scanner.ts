import { Fence } from "./fence.ts";
import { isSpace, lookFor } from "./look.ts";
import { MAX_HEAD, type BlockReader, type Notation, type TextContext } from "./notation.ts";
import type { BlockWriter } from "./writer.ts";

/** Takes one text in pieces and separates its calls from the rest. */
export interface TextScanner {
  push(delta: string): void;
  /** The text is over: what was held back is emitted, and an open block was cut off. */
  end(isWhole: boolean): void;
  /** Whether the text so far ends in a block that has definitely begun. */
  isInBlock(): boolean;
  /** Whether it ends in one whose calls are not reported yet. */
  holdsCalls(): boolean;
}

/** The part of the context that does not change. */
export type TextKnowledge = Omit<TextContext, "isBlind" | "isWhole">;

/**
 * Finds the blocks of some notations in a text. What is definitely text is released immediately; held back is only what
 * may still become a marker, and what lies between a marker and the first sign that it begins a block.
 *
 * Each character is looked at once, except for the few that are held back.
 */
export function createScanner(
  notations: readonly Notation[],
  writer: BlockWriter,
  context: TextKnowledge,
): TextScanner {
  const shared = { ...context, isBlind: false, isWhole: false };
  const openers = notations.map((notation) => notation.start(writer, shared));
  const markers = [...new Set(notations.flatMap((notation) => notation.markers))];
  const leading = new Set(notations.flatMap((notation) => notation.leading ?? []));
  const byFirst = Map.groupBy(
    markers.filter((word) => !leading.has(word)),
    (word) => word.charCodeAt(0),
  );
  /** Only white space has come so far. */
  let isAtBegin = true;
  let fence = new Fence();
  /** What has come but is not consumed yet. */
  let held = "";
  let marker = "";
  let reader: BlockReader | undefined;
  /** The notations that may read what follows the marker if the current reader does not. */
  let others: ((marker: string) => BlockReader)[] = [];

  function push(delta: string): void {
    const text = held === "" ? delta : held + delta;
    let at = 0;
    for (;;) {
      const before = at;
      const wasReading = reader !== undefined;
      at = reader === undefined ? readText(text, at) : readBlock(reader, text, at);
      // No progress and no change of reader: wait for more text.
      if (at === before && wasReading === (reader !== undefined)) break;
    }
    held = text.slice(at);
  }

  /** @returns where a marker ends, or may begin; the end of the text if there is none */
  function readText(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const words = isAtBegin ? markers : byFirst.get(code);
      const found = words && lookFor(text, at, words);
      if (found === "maybe" || (found !== undefined && !fence.isQuoting())) {
        say(text.slice(from, at));
        if (found === "maybe") return at;
        begin(found.word);
        return at + found.word.length;
      }
      if (isAtBegin) isAtBegin = isSpace(code);
      fence.see(code);
    }
    say(text.slice(from));
    return text.length;
  }

  function begin(word: string): void {
    isAtBegin = false;
    marker = word;
    others = openers.filter((_, index) => notations[index]!.markers.includes(word));
    reader = others.shift()!(word);
  }

  function readBlock(current: BlockReader, text: string, from: number): number {
    // The deciding part is never longer than this, however the text was split.
    const at = current.read(current.state === "head" ? text.slice(0, from + MAX_HEAD) : text, from);
    const isHopeless = current.state === "none" || (current.state === "head" && text.length - at > MAX_HEAD);
    if (isHopeless) {
      reader = others.shift()?.(marker);
      if (reader !== undefined) return readBlock(reader, text, from);
      // The marker was text. What follows has not been consumed, and may contain another one.
      say(marker);
      for (let index = 0; index < marker.length; index++) fence.see(marker.charCodeAt(index));
      return from;
    }
    if (current.state !== "closed") return at;
    reader = undefined;
    if (current.isPreface === true) {
      isAtBegin = true;
      fence = new Fence();
    } else fence.seeBlock();
    return at;
  }

  function say(text: string): void {
    if (text !== "") writer.text(text);
  }

  function end(isWhole: boolean): void {
    shared.isWhole = isWhole;
    const rest = finish();
    if (rest === undefined) return;
    shared.isBlind = true;
    push(rest);
    end(isWhole);
  }

  function finish(): string | undefined {
    const rest = held;
    held = "";
    const last = reader;
    reader = undefined;
    if (last === undefined) {
      say(rest);
      return undefined;
    }
    const behind = last.end(rest);
    // A marker followed only by white space begins nothing.
    if (last.state === "head" || last.state === "none") say(marker + rest);
    return behind;
  }

  const isInBlock = () => reader?.state === "open";
  return { push, end, isInBlock, holdsCalls: () => isInBlock() && reader!.holdsCalls === true };
}
