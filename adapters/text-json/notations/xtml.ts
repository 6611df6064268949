import { outputText } from "../../../src/stream/history.ts";
import { markAlone } from "../../../src/text/notation.ts";
import { attributeTags, escaped } from "../attribute-tags.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";
import { TagBlock, type TagNotation } from "../tags.ts";

const OPEN = "<|open|>";
const CLOSE = "<|close|>";
const END = "<|sep|>";
const SECTION = `${OPEN}tools${END}`;
const SECTION_END = `${CLOSE}tools${END}`;
const CALL = `${OPEN}call`;
const MESSAGE_END = `${CLOSE}message${END}`;

/** Of the answer before the calls, and of the message: they are no part of what is said. */
const FRAMES: readonly string[] = [`${OPEN}response${END}`, `${CLOSE}response${END}`, MESSAGE_END, "<|end_of_msg|>"];

/**
 * Kimi K3: a section of `<|open|>call tool="f" index="1"<|sep|>` with
 * `<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>`. Strings are written as they are, values
 * of any other `type` as JSON.
 *
 * @see https://github.com/vllm-project/vllm/pull/50093
 * @see https://github.com/sgl-project/sglang/pull/33025
 */
export const xtml: JsonDialect = {
  markers: [SECTION, CALL, ...FRAMES],
  start: (writer, context) => (marker) =>
    FRAMES.includes(marker)
      ? markAlone(marker === FRAMES[0])
      : new TagBlock(tags, marker === CALL ? marker : "", writer, context),
  ends: [SECTION_END],
  describe: (tools) => `# Tools

${offer(tools)}

To call functions, end your answer with one section in exactly this form, with one call after another, counted from 1:

${SECTION}${CALL} tool="function_name" index="1"${END}${OPEN}argument key="parameter_name" type="string"${END}value${CLOSE}argument${END}${CLOSE}call${END}${SECTION_END}

Values of strings are written as they are; all others as JSON, with type="number", "boolean", "null", "array" or "object". The results come back in messages of the role "tool", in the order of the calls.`,
  writeCalls(calls) {
    const blocks = calls.map(({ name, args }, at) => {
      const list = Object.entries(args).map(
        ([key, value]) =>
          `${OPEN}argument key="${escaped(key)}" type="${typeOf(value)}"${END}${outputText(value)}${CLOSE}argument${END}`,
      );
      return `${CALL} tool="${name}" index="${at + 1}"${END}${list.join("")}${CLOSE}call${END}`;
    });
    return `${SECTION}${blocks.join("")}${SECTION_END}`;
  },
  ...results({
    open: `${OPEN}message role="tool"`,
    head: ({ name }, index) => ` tool="${name}" index="${index + 1}"${END}`,
    close: MESSAGE_END,
    separator: "\n",
    marks: [OPEN, CLOSE, END, "<|end_of_msg|>"],
  }),
  resultMarks: [], // they begin like any message
};

const tags: TagNotation = attributeTags({
  open: OPEN,
  close: CLOSE,
  end: END,
  call: ["call", "tool"],
  parameter: ["argument", "key"],
  sections: ["tools"],
  isCommon: true,
  typeOf: (attribute) => (attribute("type") === "string" ? "string" : "json"),
});

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}
