import { outputText } from "../../../src/stream/history.ts";
import { lookFor } from "../../../src/text/look.ts";
import { offer, results, TOOL_RESPONSE, type JsonDialect } from "../prompt.ts";
import { TagBlock, type TagNotation } from "../tags.ts";

/** The second spelling is that of Seed-OSS, which is otherwise the same. */
const OPENS = ["<tool_call>", "<seed:tool_call>"] as const;
const CLOSES = ["</tool_call>", "</seed:tool_call>"] as const;
const FUNCTION = "<function=";
const FUNCTION_END = "</function>";
const PARAMETER = "<parameter=";
const PARAMETER_END = "</parameter>";

const [OPEN] = OPENS;
const [CLOSE] = CLOSES;

/**
 * Qwen3-Coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`. All values are plain
 * text, with one line break before and after, or, of Seed-OSS and MiMo, none; the tool's schema says what they mean.
 * `<tool_call>` is sometimes left out, and so is the `>` after a name (ml-explore/mlx-lm#1811, #1881). A name may be in
 * quotes (openvinotoolkit/model_server#4487).
 *
 * @see https://huggingface.co/Qwen/Qwen3-Coder-480B-A35B-Instruct/blob/main/chat_template.jinja
 * @see https://github.com/ggml-org/llama.cpp/blob/master/models/templates/ByteDance-Seed-OSS.jinja
 */
export const qwenXml: JsonDialect = {
  markers: [...OPENS, FUNCTION],
  start: (writer, context) => (marker) => new TagBlock(tags, marker === FUNCTION ? marker : "", writer, context),
  ends: CLOSES,
  describe: (tools) => `# Tools

${offer(tools, "tools")}

To call a function, write a block in exactly this form, one block for each call, and nothing after the last one:

${OPEN}
${FUNCTION}function_name>
${PARAMETER}parameter_name>
value, which may have
several lines
${PARAMETER_END}
${FUNCTION_END}
${CLOSE}

Values are written as they are, without quotes or escapes; lists and objects as JSON. The results come back in <tool_response> blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `${PARAMETER}${key}>\n${outputText(value)}\n${PARAMETER_END}\n`,
        );
        return `${OPEN}\n${FUNCTION}${name}>\n${parameters.join("")}${FUNCTION_END}\n${CLOSE}`;
      })
      .join("\n"),
  ...results({ ...TOOL_RESPONSE, marks: [...OPENS, ...CLOSES, FUNCTION] }),
};

const WORDS = [FUNCTION, PARAMETER, FUNCTION_END, PARAMETER_END, ...OPENS, ...CLOSES];

/** Names are shorter than this. */
const MAX_NAME = 128;

const tags: TagNotation = {
  close: "</",
  callEnd: FUNCTION_END,
  nexts: [...OPENS, FUNCTION],
  parameterEnd: PARAMETER_END,
  sectionEnds: CLOSES,
  around: ["\n", "\n"],
  isCommon: true,
  tagAt(text, at, isInValue) {
    const found = lookFor(text, at, WORDS);
    if (typeof found !== "object") return found;
    const { word } = found;
    const end = at + word.length;
    const kind = /func/.test(word) ? "call" : /param/.test(word) ? "parameter" : "section";
    if (word !== FUNCTION && word !== PARAMETER) return { kind, isEnd: word[1] === "/", end };
    const head = text.slice(end, end + MAX_NAME);
    const own = word === FUNCTION ? /^("?)[\w./-]+\1[>\n]/ : /^(?:[^<>\n]*>|("?)[\w./-]+\1\n)/;
    const [tag] = (isInValue ? /^[^<>\n]*>/ : own).exec(head) ?? [];
    if (tag !== undefined) return { kind, isEnd: false, name: nameIn(tag), end: end + tag.length };
    return head.length < MAX_NAME && !/[<>\n]/.test(head) ? "maybe" : { kind, isEnd: false, end };
  },
};

function nameIn(tag: string): string {
  const name = tag.slice(0, -1).trim();
  return /^"(.+)"$/.exec(name)?.[1] ?? name;
}
