import { indexWithin, lookFor } from "../../src/text/look.ts";
import type { TagNotation } from "./tags.ts";

/** The maximum length of a tag's attributes. */
const MAX_TAG = 240;

/**
 * The tags `<invoke name="f">` and `<parameter name="key">`.
 *
 * @param mark what all of them begin with, after `<` and `</`
 */
export function invokeTags(mark: string, sections: readonly string[]): TagNotation {
  const names = ["invoke", "parameter", ...sections];
  const begins = names.map((name) => `<${mark}${name}`);
  const ends = names.map((name) => `</${mark}${name}`);
  return {
    callEnd: `${ends[0]}>`,
    parameterEnd: `${ends[1]}>`,
    sectionEnds: ends.slice(2).map((end) => `${end}>`),
    hasLines: false,
    isCommon: mark === "",
    tagAt(text, at) {
      const isEnd = text[at + 1] === "/";
      const words = isEnd ? ends : begins;
      const found = lookFor(text, at, words);
      if (typeof found !== "object") return found;
      const behind = at + found.word.length;
      const close = indexWithin(text, ">", behind, MAX_TAG);
      const attributes = text.slice(behind, close < 0 ? behind + MAX_TAG : close);
      const kind = (["call", "parameter"] as const)[words.indexOf(found.word)] ?? "section";
      const hasNone = isEnd || kind === "section";
      if (hasNone ? attributes.trim() !== "" : /^\S/.test(attributes)) return undefined;
      // One that runs into another tag is not a tag, but code that looks for such tags.
      if (attributes.length >= MAX_TAG || attributes.includes("<")) return { kind, isEnd, end: behind };
      if (close < 0) return "maybe";
      const string = attributeOf(attributes, "string");
      return {
        kind,
        isEnd,
        name: attributeOf(attributes, "name"),
        type: string === "true" ? "string" : string === "false" ? "json" : undefined,
        // V4 sometimes writes calls without parameters this way: https://github.com/sgl-project/sglang/pull/23915
        isWhole: attributes.endsWith("/"),
        end: close + 1,
      };
    },
  };
}

function attributeOf(attributes: string, name: string): string | undefined {
  return new RegExp(`\\b${name}\\s*=\\s*"([^"]*)"`).exec(attributes)?.[1];
}
