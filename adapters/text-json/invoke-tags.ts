import { outputText } from "../../src/stream/history.ts";
import type { TextDialect } from "../../src/text/dialect.ts";
import { attributeTags, escaped } from "./attribute-tags.ts";
import { TagBlock, type TagNotation } from "./tags.ts";

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
            `<${written}parameter name="${escaped(key)}"${attributesOf(value)}>${outputText(value)}</${written}parameter>\n`,
        );
        return `<${written}invoke name="${name}">\n${parameters.join("")}</${written}invoke>\n`;
      });
      return `<${written}${sections[0]}>\n${invokes.join("")}</${written}${sections[0]}>`;
    },
  };
}

function invokeTags(mark: string, sections: readonly string[]): TagNotation {
  return attributeTags({
    open: `<${mark}`,
    close: `</${mark}`,
    end: ">",
    call: ["invoke", "name"],
    parameter: ["parameter", "name"],
    sections,
    isCommon: mark === "",
    typeOf(attribute) {
      const string = attribute("string");
      return string === "true" ? "string" : string === "false" ? "json" : undefined;
    },
  });
}
