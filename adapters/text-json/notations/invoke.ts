import { look } from "../../../src/text/look.ts";
import { attributeTags } from "../attribute-tags.ts";
import { invokeNotation } from "../invoke-tags.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";
import { TagBlock, type TagNotation } from "../tags.ts";

/**
 * Its tags begin with nothing, or with the namespace of Claude's or of Muse Glimmer's. The last section is that of
 * DeepSeek V4 where a server has left out the mark of dsml, which is a token of its own.
 */
const tags = invokeNotation(
  ["", "antml:", "atem:"],
  ["minimax:tool_call", "function_calls", "dots_function_call", "tool_calls"],
);

/** Of MiniCPM5. A value with `<`, `&` or line breaks in it is covered. */
const FUNCTION = "<function";
const functionTags: TagNotation = {
  ...attributeTags({
    open: "<",
    close: "</",
    end: ">",
    call: ["function", "name"],
    parameter: ["param", "name"],
    sections: [],
    isCommon: true,
    typeOf: () => undefined,
  }),
  around: ["<![CDATA[", "]]>"],
};

/** Of MiniMax M3, before each of its tags. */
const SPACE = "]<]minimax[>[";
const SECTION = `${SPACE}<tool_call>`;
const SECTION_END = `${SPACE}</tool_call>`;
const INVOKE = `${SPACE}<invoke`;
/** The model may leave out the bracket (https://github.com/vllm-project/vllm-gaudi/pull/1724). */
const BARE_INVOKE = `${SPACE}invoke`;

const markers = [...tags.markers, FUNCTION, SECTION, INVOKE, BARE_INVOKE];

/**
 * MiniMax M2: a section of `<invoke name="f">` with `<parameter name="key">value</parameter>`. The tool's schema says
 * what a value means. Claude's calls, and those of dots, are the same in other sections; some servers let them, or parts
 * of them, through (https://github.com/openclaw/openclaw/issues/97750). MiniCPM5 has other words for the same, and
 * MiniMax M3 has tags for the parameters, and for what is in them: `<key>value</key>`, `<key><item>value</item></key>`.
 *
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/muse_glimmer_detector.py
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/minicpm5_detector.py
 * @see https://github.com/MiniMax-AI/MiniMax-M2.5/blob/main/docs/tool_calling_guide.md
 * @see https://github.com/MiniMax-AI/MiniMax-M3/issues/31 for M3
 */
export const invoke: JsonDialect = {
  ...tags,
  markers,
  ends: [...tags.ends, SECTION_END],
  start(writer, context) {
    const start = tags.start(writer, context);
    return (marker) => {
      if (tags.markers.includes(marker)) return start(marker);
      const notation = marker === FUNCTION ? functionTags : spacedTags;
      return new TagBlock(notation, marker === SECTION ? "" : marker, writer, context);
    };
  },
  describe: (tools) => `# Tools

${offer(tools, "tools")}

To call functions, write one block in exactly this form:

<minimax:tool_call>
<invoke name="function_name">
<parameter name="parameter_name">value</parameter>
</invoke>
</minimax:tool_call>

Values are written as they are, without quotes or escapes; lists and objects as JSON. The results come back in <response> blocks, in the order of the calls.`,
  ...results({ open: "<response>", close: "</response>", separator: "\n", marks: markers }),
  resultMarks: [], // other XML has such a tag
};

/** The maximum length of a tag. */
const MAX_TAG = 240;

const spacedTags: TagNotation = {
  close: `${SPACE}</`,
  callEnd: `${SPACE}</invoke>`,
  nexts: [SECTION, INVOKE, BARE_INVOKE],
  parameterEnd: "end",
  sectionEnds: [SECTION_END],
  isCommon: false,
  // https://github.com/vllm-project/vllm/pull/51075
  mark: SPACE,
  tagAt(text, at) {
    const space = look(text, at, SPACE);
    if (space !== "yes") return space === "maybe" ? space : undefined;
    const from = at + SPACE.length;
    const head = text.slice(from, from + MAX_TAG);
    const [tag, end, word = "", given] = /^\s*(?:<(\/?)|(?=invoke ))([^\s<>/"]+)(?: name="([^"]*)")?>/.exec(head) ?? [];
    if (tag === undefined && head.length < MAX_TAG && !head.includes(">")) return "maybe";
    const isInvoke = word === "invoke";
    const kind = isInvoke ? "call" : word === "tool_call" ? "section" : "parameter";
    const name = isInvoke ? given : word || undefined;
    return { kind, isEnd: end === "/", name, end: from + (tag?.length ?? 0) };
  },
};
