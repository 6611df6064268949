import { invokeNotation } from "../invoke-tags.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";

/** Its tags begin with nothing, or with the namespace of Claude's or of Muse Glimmer's. */
const tags = invokeNotation(["", "antml:", "atem:"], ["minimax:tool_call", "function_calls", "dots_function_call"]);

/**
 * MiniMax M2: a section of `<invoke name="f">` with `<parameter name="key">value</parameter>`. The tool's schema says
 * what a value means. Claude's calls, and those of dots, are the same in other sections; some servers let them, or parts
 * of them, through (https://github.com/openclaw/openclaw/issues/97750).
 *
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/muse_glimmer_detector.py
 * @see https://github.com/MiniMax-AI/MiniMax-M2.5/blob/main/docs/tool_calling_guide.md
 */
export const invoke: JsonDialect = {
  ...tags,
  describe: (tools) => `# Tools

${offer(tools, "tools")}

To call functions, write one block in exactly this form:

<minimax:tool_call>
<invoke name="function_name">
<parameter name="parameter_name">value</parameter>
</invoke>
</minimax:tool_call>

Values are written as they are, without quotes or escapes; lists and objects as JSON. The results come back in <response> blocks, in the order of the calls.`,
  ...results({ open: "<response>", close: "</response>", separator: "\n", marks: tags.markers }),
};
