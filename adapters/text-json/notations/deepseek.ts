import type { TextDialect } from "../../../src/text/dialect.ts";
import { look, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { argumentsOf, JsonBlock } from "../block.ts";
import { anyName, endOfName, offer, results } from "../prompt.ts";
import { Section } from "../section.ts";

/** The first separates the words in the model's tokens; distilled models write the others instead. */
const SPACES = ["\u2581", "_", " "] as const;

function mark(words: string): string[] {
  return SPACES.map((space) => `<\u{ff5c}${words.replaceAll(" ", space)}\u{ff5c}>`);
}

const SECTIONS = mark("tool calls begin");
const SECTION_ENDS = mark("tool calls end");
const CALLS = mark("tool call begin");
const CALL_ENDS = mark("tool call end");
const SEPARATORS = mark("tool sep");
const FENCE = "```";
/** V3 and R1 put the arguments into a code fence. */
const FENCED_ENDS = CALL_ENDS.flatMap((end) => [end, `${FENCE}${end}`, `${FENCE}\n${end}`]);

const [SECTION] = SECTIONS as [string];
const [SECTION_END] = SECTION_ENDS as [string];
const [CALL] = CALLS as [string];
const [CALL_END] = CALL_ENDS as [string];
const [SEPARATOR] = SEPARATORS as [string];
const [RESULT] = mark("tool output begin") as [string];
const [RESULT_END] = mark("tool output end") as [string];

/**
 * DeepSeek V3.1: a section of calls, each `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`. V3 and R1 write
 * `function<｜tool▁sep｜>name`, with the arguments in a JSON code fence on the following lines.
 *
 * @see https://huggingface.co/deepseek-ai/DeepSeek-V3.1/blob/main/tokenizer_config.json
 * @see https://github.com/vllm-project/vllm/pull/23454 for both forms
 */
export const deepseek: TextDialect = {
  markers: [...SECTIONS, ...CALLS],
  start: (writer, context) => (marker) => (CALLS.includes(marker) ? callBlock : section)(writer, context),
  toolName: anyName,
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
  ...results([RESULT, RESULT_END], [...SECTIONS, ...SECTION_ENDS, ...CALLS, ...CALL_ENDS, ...SEPARATORS]),
};

function section(writer: BlockWriter, context: TextContext): BlockReader {
  return new Section({
    begins: CALLS,
    ends: CALL_ENDS,
    sectionEnds: SECTION_ENDS,
    call: () => callBlock(writer, context),
    strange: `it does not begin with a name and ${SEPARATOR}`,
    writer,
  });
}

function callBlock(writer: BlockWriter, context: TextContext): BlockReader {
  let name = "";
  return new JsonBlock({
    head(text, at) {
      const head = headOf(text, at);
      if (typeof head === "string") return head;
      name = head.name;
      return head.json;
    },
    begin() {
      const call = writer.call();
      call.name(name);
      return argumentsOf(call);
    },
    ends: FENCED_ENDS,
    nexts: [...CALLS, ...SECTION_ENDS],
    context,
    writer,
  });
}

interface Head {
  readonly name: string;
  readonly json: number;
}

function headOf(text: string, at: number): Head | "more" | "none" {
  const first = nameAt(text, at);
  const separator = SEPARATORS.map((one) => ({ one, found: look(text, first.end, one) }));
  const { one } = separator.find(({ found }) => found === "yes") ?? {};
  if (one === undefined) {
    const isOpen = first.end === text.length || separator.some(({ found }) => found === "maybe");
    return isOpen ? "more" : "none";
  }
  const behind = skipSpace(text, first.end + one.length);
  if (behind === text.length) return "more";
  if (text[behind] === "{") return first.name === "" ? "none" : { name: first.name, json: behind };
  if (first.name !== "function") return "none";
  const { name, end } = nameAt(text, behind);
  if (end === text.length) return "more";
  if (name === "") return "none";
  let json = end;
  for (const word of [`${FENCE}json`, FENCE]) {
    const found = look(text, json, word);
    if (found === "maybe") return "more";
    if (found === "yes") json = skipSpace(text, json + word.length);
  }
  if (json === text.length) return "more";
  return text[json] === "{" ? { name, json } : "none";
}

/** A name, and where the white space after it ends. */
function nameAt(text: string, from: number): { name: string; end: number } {
  const at = skipSpace(text, from);
  const end = endOfName(text, at);
  return { name: text.slice(at, end), end: skipSpace(text, end) };
}
