import { outputText } from "../../../src/stream/history.ts";
import { look, lookFor, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader } from "../../../src/text/notation.ts";
import { endOfName } from "../names.ts";
import { offer, results, TOOL_RESPONSE, type JsonDialect } from "../prompt.ts";
import { TagBlock, type Tag, type TagNotation } from "../tags.ts";

const CALL = "<tool_call>";
const CALL_END = "</tool_call>";
const KEY = "<arg_key>";
const KEY_END = "</arg_key>";
const VALUE = "<arg_value>";
const VALUE_END = "</arg_value>";

/** Around the calls of K2 Horizon, then of Hunyuan, without and with a suffix. */
const OTHER_SECTION = "<ifm|tool_calls>";
const SECTIONS = [OTHER_SECTION, "<tool_calls>", "<tool_calls:"];
/** What a call begins with if its tags have a suffix. */
const SUFFIXED_CALL = "<tool_call:";

/** What begins and ends a call, a key and a value; the end of a key may begin the value, too. */
type Marks = readonly [
  call: string,
  callEnd: string,
  key: string,
  keyEnd: string,
  value: string,
  valueEnd: string,
  ...sectionEnds: string[],
];

/** Of Solar Open 2, IQuest Q1 and K2 Horizon. */
const OTHERS: readonly Marks[] = [
  ["<|tool_call:start|>", "<|tool_call:end|>", "<|tool_arg:start|>", "<|tool_arg:value|>", "", "<|tool_arg:end|>"],
  ["<iquest_tool_call>", "</iquest_tool_call>", KEY, KEY_END, VALUE, VALUE_END],
  [
    "<ifm|tool_call>",
    "</ifm|tool_call>",
    "<ifm|arg_key>",
    "</ifm|arg_key>",
    "<ifm|arg_value>",
    "</ifm|arg_value>",
    "</ifm|tool_calls>",
  ],
];
const OTHER_CALLS = OTHERS.map(([call]) => call);

/**
 * GLM 4.5 and on: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, with line breaks
 * between the tags (4.5, 4.6) or without. The tool's schema says what a value means. Hunyuan 3 and 4 write the same in
 * a section, 3 with `<tool_sep>` after the name. All of their tags may have a suffix, which depends on the checkpoint:
 * `<tool_call:opensource>`. Solar Open 2, IQuest Q1 and K2 Horizon have other marks for the same.
 *
 * @see https://huggingface.co/zai-org/GLM-4.5/blob/main/chat_template.jinja
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/hunyuan_detector.py for Hunyuan 3
 * @see https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/hy_v4_tool_parser.py for Hunyuan 4
 * @see https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/solar_open2_tool_parser.py
 * @see https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/k2_horizon_tool_parser.py
 * @see https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/iquest_q1_detector.py
 */
export const glm: JsonDialect = {
  markers: [CALL, SUFFIXED_CALL, ...SECTIONS, ...OTHER_CALLS],
  start: (writer, context) => (marker) => {
    const isSection = SECTIONS.includes(marker);
    const others = marker === OTHER_SECTION ? OTHERS.at(-1) : OTHERS.find(([call]) => call === marker);
    const block = (rest: string, suffix: string) =>
      new TagBlock(tagsOf(others ?? marksOf(suffix, isSection)), isSection ? "" : marker + rest, writer, context);
    return marker.endsWith(":") ? new SuffixedBlock(block) : block("", "");
  },
  // With an end mark, a call cut off after a name, or between two parameters, would look complete.
  ends: [],
  describe: (tools) => `# Tools

${offer(tools, "tools")}

To call a function, write a block in exactly this form, one block for each call, and nothing after the last one:

${CALL}function_name
${KEY}parameter_name${KEY_END}
${VALUE}value${VALUE_END}
${CALL_END}

Values are written as they are, without quotes or escapes; lists and objects as JSON. The results come back in <tool_response> blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `${KEY}${key}${KEY_END}\n${VALUE}${outputText(value)}${VALUE_END}\n`,
        );
        return `${CALL}${name}\n${parameters.join("")}${CALL_END}`;
      })
      .join("\n"),
  ...results({ ...TOOL_RESPONSE, marks: ["<tool_call", "</tool_call", ...OTHER_CALLS, OTHER_SECTION] }),
};

/** The maximum length of a name with the white space around it. */
const MAX_NAME = 128;

/** Reads the rest of the first tag, whose suffix all others have, and then the block. */
class SuffixedBlock implements BlockReader {
  readonly #blockOf: (rest: string, suffix: string) => BlockReader;
  #block: BlockReader | undefined;
  #isNone = false;

  constructor(blockOf: (rest: string, suffix: string) => BlockReader) {
    this.#blockOf = blockOf;
  }

  get state(): BlockReader["state"] {
    return this.#isNone ? "none" : (this.#block?.state ?? "head");
  }

  read(text: string, from: number): number {
    if (this.state === "open") return this.#block!.read(text, from);
    const [rest = ""] = /^[\w-]*>?/.exec(text.slice(from, from + MAX_NAME))!;
    this.#isNone =
      rest === ">" || rest.length === MAX_NAME || (!rest.endsWith(">") && from + rest.length < text.length);
    if (this.#isNone || !rest.endsWith(">")) return from;
    this.#block ??= this.#blockOf(rest, `:${rest.slice(0, -1)}`);
    const at = this.#block.read(text, from + rest.length);
    return this.state === "head" ? from : at;
  }

  end(rest: string): string | undefined {
    return this.#block?.end(this.state === "head" ? rest.slice(rest.indexOf(">") + 1) : rest);
  }
}

/** @param suffix of all tags, with its colon */
function marksOf(suffix: string, isSection: boolean): Marks {
  const end = `${suffix}>`;
  return [
    `<tool_call${end}`,
    `</tool_call${end}`,
    `<arg_key${end}`,
    `</arg_key${end}`,
    `<arg_value${end}`,
    `</arg_value${end}`,
    ...(isSection ? [`</tool_calls${end}`] : []),
  ];
}

function tagsOf([call, callEnd, key, keyEnd, value, valueEnd, ...sectionEnds]: Marks): TagNotation {
  /** Behind the name, of Hunyuan 3. */
  const separator = call.replace("call", "sep");
  const words = [call, key, callEnd, valueEnd, ...sectionEnds];
  const behindName = [key, callEnd, keyEnd, valueEnd];

  /**
   * A word followed by a tag of the notation: other notations, and prose, use the same `<tool_call>`. The following tag
   * may be a wrong one: `<arg_key>` is sometimes left out (vllm-project/vllm#47190), and `</arg_value>` may occur without
   * a parameter (fw-ai-external/python-sdk#119). Arguments may be JSON (ml-explore/mlx-lm#792), behind a bracket or not.
   */
  function callAt(text: string, at: number): Tag | "maybe" | undefined {
    const from = skipSpace(text, at);
    const nameEnd = endOfName(text, from);
    const end = skipSpace(text, nameEnd);
    if (end - at > MAX_NAME) return undefined;
    if (nameEnd === text.length) return "maybe";
    const name = text.slice(from, nameEnd);
    // A word that ends with a full stop is the last of a sentence.
    if (!/^[\w-](?:.*[\w-])?$/.test(name)) return undefined;
    const found = lookFor(text, end, [separator, ...behindName, "{", ">"]);
    if (typeof found !== "object") return found;
    const isOver = found.word === separator || found.word === ">";
    const begin = isOver ? end + found.word.length : end;
    if (found.word === ">") {
      const json = skipSpace(text, begin);
      if (json - at > MAX_NAME || (json < text.length && text[json] !== "{")) return undefined;
      if (json === text.length) return "maybe";
    }
    return { kind: "call", isEnd: false, name, end: begin };
  }

  /** A value may quote any call: one with words in it, or of another notation that has the same tags. */
  function quotedCallAt(text: string, at: number): Tag | "maybe" | undefined {
    const end = skipSpace(text, at);
    if (end - at > MAX_NAME) return undefined;
    const found = /[\w{[]/.test(text[end] ?? "") ? "yes" : look(text, end, "<function=");
    if (found === "yes") return { kind: "call", isEnd: false, name: "", end };
    return found === "maybe" ? found : undefined;
  }

  /** The end of the key that begins here, where it is followed by the tag that ends it. */
  function keyEndAt(text: string, at: number): number | "maybe" | undefined {
    const head = text.slice(at, at + MAX_NAME);
    const length = head.indexOf("<");
    if (length < 0) return head.length < MAX_NAME ? "maybe" : undefined;
    const end = look(text, at + length, keyEnd);
    return end === "yes" ? at + length : end === "maybe" ? end : undefined;
  }

  /** A key without the tag that begins it. It still ends what comes before it. */
  function bareKeyAt(text: string, at: number): Tag | "maybe" | undefined {
    const end = keyEndAt(text, at);
    return typeof end === "number" ? { kind: "parameter", isEnd: false, end: at } : end;
  }

  /** The key and the beginning of its value are one tag. A key without a value is a parameter tag without a name. */
  function parameterAt(text: string, at: number): Tag | "maybe" {
    const broken: Tag = { kind: "parameter", isEnd: false, end: at };
    const end = keyEndAt(text, at);
    if (typeof end !== "number") return end ?? broken;
    const behindKey = end + keyEnd.length;
    const from = value === "" ? behindKey : skipSpace(text, behindKey);
    const begin = from - at > 2 * MAX_NAME ? "no" : look(text, from, value);
    if (begin !== "yes") return begin === "maybe" ? "maybe" : broken;
    return { kind: "parameter", isEnd: false, name: text.slice(at, end).trim(), end: from + value.length };
  }

  return {
    close: callEnd.slice(0, 2),
    callEnd,
    nexts: [call],
    parameterEnd: valueEnd,
    sectionEnds,
    isCommon: false,
    tagAt(text, at, isInValue) {
      const found = lookFor(text, at, words);
      if (found === "maybe") return found;
      if (found === undefined) return isInValue ? undefined : bareKeyAt(text, at);
      const end = at + found.word.length;
      if (found.word === call) return isInValue ? quotedCallAt(text, end) : callAt(text, end);
      if (found.word === key) return parameterAt(text, end);
      const kind = found.word === callEnd ? "call" : found.word === valueEnd ? "parameter" : "section";
      return { kind, isEnd: true, end };
    },
  };
}
