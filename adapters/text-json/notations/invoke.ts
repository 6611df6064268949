import { outputText } from "../../../src/stream/history.ts";
import { countOf, type TextDialect } from "../../../src/text/dialect.ts";
import { invokeTags } from "../invoke-tags.ts";
import { anyName, offer, resultText } from "../prompt.ts";
import { TagBlock } from "../tags.ts";

/** What the tags begin with: nothing, or the namespace of Claude's. */
const MARKS = ["", "antml:"];
const SECTIONS = ["minimax:tool_call", "function_calls"];

/**
 * MiniMax M2: a section of `<invoke name="f">` with `<parameter name="key">value</parameter>`. The tool's schema says
 * what a value means. Claude's calls are the same in another section; some servers let them, or parts of them, through
 * (https://github.com/openclaw/openclaw/issues/97750).
 *
 * @see https://github.com/MiniMax-AI/MiniMax-M2.5/blob/main/docs/tool_calling_guide.md
 */
export const invoke: TextDialect = {
  markers: MARKS.flatMap((mark) =>
    [...SECTIONS, "invoke"].map((name) => `<${mark}${name}${name === "invoke" ? "" : ">"}`),
  ),
  start: (writer, context) => (marker) => {
    const mark = MARKS.findLast((known) => marker.startsWith(`<${known}`))!;
    return new TagBlock(invokeTags(mark, SECTIONS), marker.endsWith("invoke") ? marker : "", writer, context);
  },
  toolName: anyName,
  ends: MARKS.flatMap((mark) => SECTIONS.map((section) => `</${mark}${section}>`)),
  countResults: (message) => countOf(message, "<response>"),
  describe: (tools) => `# Tools

${offer(tools, "tools")}

To call functions, write one block in exactly this form:

<minimax:tool_call>
<invoke name="function_name">
<parameter name="parameter_name">value</parameter>
</invoke>
</minimax:tool_call>

Values are written as they are, without quotes or escapes; lists and objects as JSON. The results come back in <response> blocks, in the order of the calls.`,
  writeCalls(calls) {
    const invokes = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) => `<parameter name="${key}">${outputText(value)}</parameter>\n`,
      );
      return `<invoke name="${name}">\n${parameters.join("")}</invoke>\n`;
    });
    return `<minimax:tool_call>\n${invokes.join("")}</minimax:tool_call>`;
  },
  writeResults: (results) =>
    results.map((result) => `<response>${resultText(result, RESULT_MARKS)}</response>`).join("\n"),
};

const RESULT_MARKS = ["</response>", "<response>", ...invoke.markers];
