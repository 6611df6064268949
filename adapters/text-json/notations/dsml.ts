import { outputText } from "../../../src/stream/history.ts";
import { countOf, type TextDialect } from "../../../src/text/dialect.ts";
import { invokeTags } from "../invoke-tags.ts";
import { dsmlLeaks } from "../leaks.ts";
import { anyName, offer, resultText } from "../prompt.ts";
import { TagBlock } from "../tags.ts";

/** The mark as in the model's tokens, then as servers and models spell it. */
const MARKS = ["\u{ff5c}DSML\u{ff5c}", "\u{ff5c}\u{ff5c}DSML\u{ff5c}\u{ff5c}", "|DSML|", "||DSML||"];
/** Of V3.2 and of V4. */
const SECTIONS = ["function_calls", "tool_calls"];

const [MARK] = MARKS as [string];

/**
 * DeepSeek: a section of `<｜DSML｜invoke name="f">` with
 * `<｜DSML｜parameter name="key" string="true">value</｜DSML｜parameter>`. The bars are full-width or ASCII, single or
 * doubled. `string` says whether a value is text or JSON.
 *
 * @see https://huggingface.co/deepseek-ai/DeepSeek-V3.2/blob/main/encoding/encoding_dsv32.py
 */
export const dsml: TextDialect = {
  markers: MARKS.flatMap((mark) => [...SECTIONS.map((section) => `<${mark}${section}>`), `<${mark}invoke`]),
  start: (writer, context) => (marker) => {
    // None of them is a prefix of another.
    const mark = MARKS.find((known) => marker.startsWith(`<${known}`))!;
    return new TagBlock(invokeTags(mark, SECTIONS), marker.endsWith("invoke") ? marker : "", writer, context);
  },
  leaks: dsmlLeaks(MARKS),
  toolName: anyName,
  ends: MARKS.flatMap((mark) => SECTIONS.map((section) => `</${mark}${section}>`)),
  countResults: (message) => countOf(message, "<function_results>") && message.split("<result>").length - 1,
  describe: (tools) => `## Tools

${offer(tools, "functions")}

To call functions, write one block in exactly this form:

<${MARK}function_calls>
<${MARK}invoke name="function_name">
<${MARK}parameter name="parameter_name" string="true|false">value</${MARK}parameter>
</${MARK}invoke>
</${MARK}function_calls>

Values of strings are written as they are, with string="true"; all others as JSON, with string="false". The results come back in a <function_results> block, in the order of the calls.`,
  writeCalls: (calls) => {
    const invokes = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) =>
          `<${MARK}parameter name="${key}" string="${typeof value === "string"}">${outputText(value)}</${MARK}parameter>\n`,
      );
      return `<${MARK}invoke name="${name}">\n${parameters.join("")}</${MARK}invoke>\n`;
    });
    return `<${MARK}function_calls>\n${invokes.join("")}</${MARK}function_calls>`;
  },
  writeResults(results) {
    const list = results.map((result) => `<result>${resultText(result, RESULT_MARKS)}</result>\n`);
    return `<function_results>\n${list.join("")}</function_results>`;
  },
};

const RESULT_MARKS = [
  "</result>",
  "<result>",
  "</function_results>",
  "<function_results>",
  ...MARKS.flatMap((mark) => [`<${mark}`, `</${mark}`]),
];
