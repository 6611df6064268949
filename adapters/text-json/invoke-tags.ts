import { outputText } from "../../src/stream/history.ts";
import type { TextDialect } from "../../src/text/dialect.ts";
import { indexWithin, lookFor } from "../../src/text/look.ts";
import { TagBlock, type TagNotation } from "./tags.ts";

/** The maximum length of a tag's attributes. */
const MAX_TAG = 240;

/**
 * Calls written as `<invoke name="f">` and `<parameter name="key">`, in a section or without one. What is written is in
 * the first of the sections.
 *
 * @param marks what all of these tags may begin with, after `<` and `</`; the first is written
 * @param attributesOf further attributes of a written parameter, by its value
 */
export function invokeNotation(
  marks: readonly [string, ...string[]],
  sections: readonly string[],
  attributesOf: (value: unknown) => string = () => "",
): Pick<TextDialect, "markers" | "start" | "ends" | "writeCalls"> {
  const [written] = marks;
  return {
    markers: marks.flatMap((mark) => [...sections.map((section) => `<${mark}${section}>`), `<${mark}invoke`]),
    ends: marks.flatMap((mark) => sections.map((section) => `</${mark}${section}>`)),
    start: (writer, context) => (marker) => {
      // The last, since longer marks follow those that they begin with.
      const mark = marks.findLast((known) => marker.startsWith(`<${known}`))!;
      return new TagBlock(invokeTags(mark, sections), marker.endsWith("invoke") ? marker : "", writer, context);
    },
    writeCalls(calls) {
      const invokes = calls.map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) =>
            `<${written}parameter name="${key}"${attributesOf(value)}>${outputText(value)}</${written}parameter>\n`,
        );
        return `<${written}invoke name="${name}">\n${parameters.join("")}</${written}invoke>\n`;
      });
      return `<${written}${sections[0]}>\n${invokes.join("")}</${written}${sections[0]}>`;
    },
  };
}

function invokeTags(mark: string, sections: readonly string[]): TagNotation {
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
