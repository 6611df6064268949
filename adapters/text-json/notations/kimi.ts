import { look, skipSpace } from "../../../src/text/look.ts";
import { namedCall, type Head } from "../block.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";
import { sectionNotation } from "../section.ts";

/** The first spelling is the model's; some checkpoints write the other. */
const SECTIONS = ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"] as const;
const SECTION_ENDS = ["<|tool_calls_section_end|>", "<|tool_call_section_end|>"] as const;
const CALL = "<|tool_call_begin|>";
const ARGUMENTS = "<|tool_call_argument_begin|>";
const CALL_END = "<|tool_call_end|>";

const [SECTION] = SECTIONS;
const [SECTION_END] = SECTION_ENDS;

/**
 * Kimi K2: a section of calls, each `<|tool_call_begin|>functions.name:3<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
 * What precedes the arguments is the id of the call, and goes back unchanged: with a different one, the model starts to
 * write its marks as text.
 *
 * @see https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/kimi_k2_tool_parser.py for both spellings
 * @see https://huggingface.co/moonshotai/Kimi-K2-Instruct/blob/main/docs/tool_call_guidance.md
 */
export const kimi: JsonDialect = {
  ...sectionNotation({
    sections: SECTIONS,
    sectionEnds: SECTION_ENDS,
    begins: [CALL],
    ends: [CALL_END],
    separator: ARGUMENTS,
    head: headOf,
  }),
  ends: [...SECTION_ENDS, CALL_END],
  describe: (tools) => `# Tools

${offer(tools)}

To call functions, end your answer with one section, in which the number after each name counts all calls from 0:

${SECTION}${CALL}functions.function_name:0${ARGUMENTS}{"parameter": "value"}${CALL_END}${SECTION_END}

The results come back in the order of the calls, each below the id of its call.`,
  writeCalls(calls) {
    const blocks = calls.map(({ id, name, args }, at) => {
      return `${CALL}${ownId(id, name) ?? `functions.${name}:${at}`}${ARGUMENTS}${JSON.stringify(args)}${CALL_END}`;
    });
    return `${SECTION}${blocks.join("")}${SECTION_END}`;
  },
  ...results({
    open: "## Return of ",
    head: ({ id, name }) => `${ownId(id, name) ?? name}\n`,
    close: "",
    separator: "\n\n",
    marks: [...SECTIONS, ...SECTION_ENDS, CALL, CALL_END, ARGUMENTS],
  }),
};

/** Including the white space around it. */
const MAX_ID = 200;

/** An id contains neither white space nor a mark. */
function headOf(text: string, at: number): Head | "maybe" | "none" {
  const from = skipSpace(text, at);
  const [id = ""] = /^[^\s<]*/.exec(text.slice(from, at + MAX_ID + 1)) ?? [];
  const mark = skipSpace(text, from + id.length);
  if (mark - at > MAX_ID) return "none";
  const found = look(text, mark, ARGUMENTS);
  if (found === "maybe") return found;
  if (found === "no" || id === "") return "none";
  return { json: mark + ARGUMENTS.length, begin: (writer, { tool }) => namedCall(writer, nameOf(id, tool), id) };
}

/** The id, if it names the function that is called; ids of other wires do not. */
function ownId(id: string | null, name: string): string | undefined {
  return id !== null && nameOf(id, (one) => one === name || undefined) === name ? id : undefined;
}

/**
 * `functions.read_file:3` is a call of `read_file`; some models leave out one part or the other. If that is not a tool,
 * the separators may be missing or different (`functionsread_file3`, `functions_read_file_3`), as long as only one tool
 * can be meant.
 *
 * @see https://github.com/sgl-project/sglang/pull/21377
 * @see https://github.com/exo-explore/exo/issues/2281
 */
function nameOf(id: string, toolOf: (name: string) => unknown): string {
  const name = id.replace(/^functions\./, "").replace(/:\d+$/, "");
  if (toolOf(name) !== undefined) return name;
  const found = new Map<unknown, string>();
  for (const whole of [id, id.replace(/^functions[._]?/, "")]) {
    for (let end = whole.length; end > 0 && /^[:_]?\d*$/.test(whole.slice(end)); end--) {
      const tool = toolOf(whole.slice(0, end));
      if (tool !== undefined) found.set(tool, whole.slice(0, end));
    }
  }
  return found.size === 1 ? [...found.values()][0]! : name;
}
