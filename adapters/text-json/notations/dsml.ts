import { invokeNotation } from "../invoke-tags.ts";
import { DSML_SECTIONS, dsmlLeaks } from "../leaks.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";

/** The mark as in the model's tokens, as servers and models spell it; then that of GigaChat 3.5. */
const SPELLINGS = [
  "\u{ff5c}DSML\u{ff5c}",
  "\u{ff5c}\u{ff5c}DSML\u{ff5c}\u{ff5c}",
  "DSML\u{ff5c}", // https://github.com/antirez/ds4/blob/main/ds4_server.c
  "\u{2016}DSML\u{2016}",
  "|DSML|",
  "||DSML||",
  "\u{ff5c}GCML\u{ff5c}",
];
/** V4.1 writes a space behind it, in any spelling (https://github.com/diegosouzapw/OmniRoute/pull/13930). */
const MARKS = SPELLINGS.flatMap((mark) => [mark, `${mark} `]) as [string, ...string[]];

const [MARK] = MARKS;

const RESULTS = "<function_results>\n";
const list = results({
  open: "<result>",
  close: "</result>\n",
  marks: ["<function_results>", "</function_results>", ...MARKS.flatMap((mark) => [`<${mark}`, `</${mark}`])],
});

/**
 * DeepSeek: a section of `<｜DSML｜invoke name="f">` with
 * `<｜DSML｜parameter name="key" string="true">value</｜DSML｜parameter>`. The bars are full-width or ASCII, single or
 * doubled, or the first is missing, and a space may follow them. `string` says whether a value is text or JSON.
 * GigaChat 3.5 writes the same.
 *
 * @see https://huggingface.co/deepseek-ai/DeepSeek-V3.2/blob/main/encoding/encoding_dsv32.py
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/deepseekv41_detector.py for V4.1
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/gigachat35_detector.py
 */
export const dsml: JsonDialect = {
  ...invokeNotation(MARKS, DSML_SECTIONS, (value) => ` string="${typeof value === "string"}"`),
  leaks: dsmlLeaks(MARKS),
  resultMarks: [RESULTS.trim()],
  countResults: (message) => (message.startsWith(RESULTS) ? list.countResults(message.slice(RESULTS.length)) : 0),
  describe: (tools) => `## Tools

${offer(tools, "functions")}

To call functions, write one block in exactly this form:

<${MARK}function_calls>
<${MARK}invoke name="function_name">
<${MARK}parameter name="parameter_name" string="true|false">value</${MARK}parameter>
</${MARK}invoke>
</${MARK}function_calls>

Values of strings are written as they are, with string="true"; all others as JSON, with string="false". The results come back in a <function_results> block, in the order of the calls.`,
  writeResults: (written) => `${RESULTS}${list.writeResults(written)}</function_results>`,
};
