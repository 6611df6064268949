import { outputText } from "../../../src/stream/history.ts";
import { look, lookFor, skipSpace } from "../../../src/text/look.ts";
import type { TextDialect } from "../../../src/text/dialect.ts";
import { anyName, endOfName, offer, results } from "../prompt.ts";
import { TagBlock, type Tag, type TagNotation } from "../tags.ts";

const CALL = "<tool_call>";
const CALL_END = "</tool_call>";
const KEY = "<arg_key>";
const KEY_END = "</arg_key>";
const VALUE = "<arg_value>";
const VALUE_END = "</arg_value>";

/**
 * GLM 4.5 and on: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, with line breaks
 * between the tags (4.5, 4.6) or without. The tool's schema says what a value means.
 *
 * @see https://huggingface.co/zai-org/GLM-4.5/blob/main/chat_template.jinja
 */
export const glm: TextDialect = {
  markers: [CALL],
  start: (writer, context) => (marker) => new TagBlock(tags, marker, writer, context),
  toolName: anyName,
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
  ...results(["<tool_response>\n", "\n</tool_response>"], [CALL, CALL_END], "\n"),
};

const WORDS = [CALL, KEY, CALL_END, VALUE_END];

/** The maximum length of a name with the white space around it. */
const MAX_NAME = 128;

const tags: TagNotation = {
  callEnd: CALL_END,
  parameterEnd: VALUE_END,
  sectionEnds: [],
  hasLines: false,
  isCommon: false,
  tagAt(text, at, isInValue) {
    const found = lookFor(text, at, WORDS);
    if (found === "maybe") return found;
    if (found === undefined) return isInValue ? undefined : bareKeyAt(text, at);
    const end = at + found.word.length;
    if (found.word === CALL) return isInValue ? quotedCallAt(text, end) : callAt(text, end);
    if (found.word === KEY) return parameterAt(text, end);
    return { kind: found.word === CALL_END ? "call" : "parameter", isEnd: true, end };
  },
};

/**
 * A word followed by a tag of the notation: other notations, and prose, use the same `<tool_call>`. The following tag
 * may be a wrong one: `<arg_key>` is sometimes left out (vllm-project/vllm#47190), and `</arg_value>` may occur without
 * a parameter (fw-ai-external/python-sdk#119).
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
  const found = lookFor(text, end, [KEY, CALL_END, KEY_END, VALUE_END]);
  return typeof found === "object" ? { kind: "call", isEnd: false, name, end } : found;
}

/** A value may quote any call: one with words in it, or of another notation that has the same tags. */
function quotedCallAt(text: string, at: number): Tag | "maybe" | undefined {
  const end = skipSpace(text, at);
  if (end - at > MAX_NAME) return undefined;
  const found = /[\w{[]/.test(text[end] ?? "") ? "yes" : look(text, end, "<function=");
  if (found === "yes") return { kind: "call", isEnd: false, name: "", end };
  return found === "maybe" ? found : undefined;
}

/** A key without the tag that begins it. It still ends what comes before it. */
function bareKeyAt(text: string, at: number): Tag | "maybe" | undefined {
  const head = text.slice(at, at + MAX_NAME);
  const length = head.indexOf("<");
  if (length < 0) return head.length < MAX_NAME ? "maybe" : undefined;
  const end = look(text, at + length, KEY_END);
  if (end === "yes") return { kind: "parameter", isEnd: false, end: at };
  return end === "maybe" ? end : undefined;
}

/** The key and the beginning of its value are one tag. A key without a value is a parameter tag without a name. */
function parameterAt(text: string, at: number): Tag | "maybe" {
  const broken: Tag = { kind: "parameter", isEnd: false, end: at };
  const head = text.slice(at, at + MAX_NAME);
  const length = head.indexOf("<");
  if (length < 0) return head.length < MAX_NAME ? "maybe" : broken;
  const keyEnd = look(text, at + length, KEY_END);
  if (keyEnd !== "yes") return keyEnd === "maybe" ? "maybe" : broken;
  const from = skipSpace(text, at + length + KEY_END.length);
  const value = from - at > 2 * MAX_NAME ? "no" : look(text, from, VALUE);
  if (value !== "yes") return value === "maybe" ? "maybe" : broken;
  return { kind: "parameter", isEnd: false, name: head.slice(0, length).trim(), end: from + VALUE.length };
}
