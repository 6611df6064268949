import { lookFor, skipSpace } from "../../../src/text/look.ts";
import { namedCall, type Head } from "../block.ts";
import { endOfName } from "../names.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";
import { sectionNotation } from "../section.ts";

/** The first separates the words in the model's tokens; distilled models write the others instead. */
const SPACES = ["\u2581", "_", " "] as const;

function mark(words: string): string[] {
  return SPACES.map((space) => `<\u{ff5c}${words.replaceAll(" ", space)}\u{ff5c}>`);
}

/** Of PLaMo 3. */
function plamo(words: string): string {
  return `<|plamo:${words.replaceAll(" ", "_")}:plamo|>`;
}

const PLAMO_SEPARATOR = plamo("end tool name") + plamo("begin tool arguments");
const PLAMO_JSON = "<|plamo:msg|>";

const SECTIONS = [...mark("tool calls begin"), plamo("begin tool requests")];
const SECTION_ENDS = [...mark("tool calls end"), plamo("end tool requests")];
const CALLS = [...mark("tool call begin"), plamo("begin tool request") + plamo("begin tool name")];
const CALL_ENDS = [...mark("tool call end"), plamo("end tool arguments") + plamo("end tool request")];
const SEPARATORS = [
  ...mark("tool sep"),
  PLAMO_SEPARATOR,
  PLAMO_SEPARATOR + PLAMO_JSON,
  `${PLAMO_SEPARATOR}<|plamo:constrain|>json${PLAMO_JSON}`,
];
/** V3 and R1 put the arguments into a code fence. */
const FENCES = ["```json", "```"];
const FENCED_ENDS = CALL_ENDS.flatMap((end) => [end, `\`\`\`${end}`, `\`\`\`\n${end}`]);

const [SECTION] = SECTIONS as [string];
const [SECTION_END] = SECTION_ENDS as [string];
const [CALL] = CALLS as [string];
const [CALL_END] = CALL_ENDS as [string];
const [SEPARATOR] = SEPARATORS as [string];
const [RESULT] = mark("tool output begin") as [string];
const [RESULT_END] = mark("tool output end") as [string];

/**
 * DeepSeek V3.1: a section of calls, each `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`. V3 and R1 write
 * `function<｜tool▁sep｜>name`, with the arguments in a JSON code fence on the following lines. PLaMo 3 has other marks for
 * the same, none of them a token of its own.
 *
 * @see https://huggingface.co/deepseek-ai/DeepSeek-V3.1/blob/main/tokenizer_config.json
 * @see https://github.com/vllm-project/vllm/pull/23454 for both forms
 * @see https://github.com/vllm-project/vllm/pull/56575 and https://github.com/openclaw/openclaw/pull/62893 for PLaMo
 */
export const deepseek: JsonDialect = {
  ...sectionNotation({
    sections: SECTIONS,
    sectionEnds: SECTION_ENDS,
    begins: CALLS,
    ends: FENCED_ENDS,
    separator: SEPARATOR,
    head: headOf,
  }),
  ends: [...SECTION_ENDS, ...CALL_ENDS],
  describe: (tools) => `## Tools

${offer(tools)}

To call functions, end your answer with one section in exactly this form, with one call after another:

${SECTION}${CALL}function_name${SEPARATOR}{"parameter": "value"}${CALL_END}${SECTION_END}

The results come back between ${RESULT} and ${RESULT_END}, in the order of the calls.`,
  writeCalls(calls) {
    const blocks = calls.map(({ name, args }) => `${CALL}${name}${SEPARATOR}${JSON.stringify(args)}${CALL_END}`);
    return `${SECTION}${blocks.join("")}${SECTION_END}`;
  },
  ...results({
    open: RESULT,
    close: RESULT_END,
    marks: [...SECTIONS, ...SECTION_ENDS, ...CALLS, ...CALL_ENDS, ...SEPARATORS],
  }),
};

function headOf(text: string, at: number): Head | "maybe" | "none" {
  const first = nameAt(text, at);
  const separator = lookFor(text, first.end, SEPARATORS);
  if (typeof separator !== "object") return separator ?? "none";
  const behind = skipSpace(text, first.end + separator.word.length);
  if (behind === text.length) return "maybe";
  const isPlain = text[behind] === "{";
  if (!isPlain && first.name !== "function") return "none";
  const { name, end } = isPlain ? { name: first.name, end: behind } : nameAt(text, behind);
  const fence = lookFor(text, end, FENCES);
  if (fence === "maybe") return fence;
  const json = fence === undefined ? end : skipSpace(text, end + fence.word.length);
  if (name === "") return "none";
  if (json === text.length) return "maybe";
  return text[json] === "{" ? { json, begin: (writer) => namedCall(writer, name) } : "none";
}

/** A name, and where the white space after it ends. */
function nameAt(text: string, from: number): { name: string; end: number } {
  const at = skipSpace(text, from);
  const end = endOfName(text, at);
  return { name: text.slice(at, end), end: skipSpace(text, end) };
}
