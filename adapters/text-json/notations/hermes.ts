import { outputText } from "../../../src/stream/history.ts";
import { skipSpace } from "../../../src/text/look.ts";
import type { TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { MESSAGE_ENDS } from "../bare.ts";
import { JsonBlock, type Head } from "../block.ts";
import { Envelopes } from "../envelope.ts";
import { UNMARKED, unmarkedCalls } from "../fenced.ts";
import { offer, results, TOOL_RESPONSE, type JsonDialect } from "../prompt.ts";

/** Of Apertus, around objects whose only key is the name: `[{"f": {…}}]`. */
const KEYED = "<|tools_prefix|>";
/**
 * Of Hermes, Qwen and Granite; then of Hunyuan and Jamba, Nemotron Nano 2, LongCat, dots, Phi-4-mini, Command R and A,
 * InternLM, Apertus.
 */
const TAGS = ["tool_call>", "tool_calls>", "TOOLCALL>", "longcat_tool_call>", "dots_function_call>"];
const OPENS = [
  ...TAGS.map((tag) => `<${tag}`),
  "<|tool_call|>",
  "<|START_ACTION|>",
  "<|action_start|><|plugin|>",
  "<|action_start|> <|plugin|>",
  KEYED,
] as const;
const CLOSES = [
  ...TAGS.map((tag) => `</${tag}`),
  "<|/tool_call|>",
  "<|END_ACTION|>",
  "<|action_end|>",
  "<|tools_suffix|>",
] as const;
/** Of GigaChat 3.1, then of 3.0: its end is that of the message. */
const ENDLESS = ["<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>", "function call<|role_sep|>"];

const ENDS = [...CLOSES, ...MESSAGE_ENDS];

const [OPEN] = OPENS;
const [CLOSE] = CLOSES;

/**
 * Hermes and Qwen: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, one block per call. Others write the same,
 * or a list of it, between marks of their own; GigaChat writes no end mark, Qwen2.5-Coder none at all.
 *
 * @see https://github.com/NousResearch/Hermes-Function-Calling
 */
export const hermes: JsonDialect = {
  markers: [...OPENS, ...ENDLESS, ...UNMARKED],
  leading: UNMARKED,
  start: (writer, context) => (marker) => {
    if (UNMARKED.includes(marker)) return unmarkedCalls(marker, ENDS, writer, context);
    const isEndless = ENDLESS.includes(marker);
    return new JsonBlock({
      head: (text, at) => headOfObjects(text, at, writer, context, isEndless, marker === KEYED),
      ends: isEndless ? ["</s>", "<|message_sep|>"] : CLOSES,
      // Words alone begin no block: what follows them is one more object of this one.
      nexts: isEndless ? ENDLESS.slice(0, 2) : OPENS,
      context,
      writer,
    });
  },
  ends: CLOSES,
  describe: (tools) => `# Tools

${offer(tools, "tools")}

To call a function, write a block with its name and its arguments as JSON, one block for each call:

${OPEN}
{"name": "function_name", "arguments": {"parameter": "value"}}
${CLOSE}

The results come back in <tool_response> blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    calls.map(({ name, args }) => `${OPEN}\n${JSON.stringify({ name, arguments: args })}\n${CLOSE}`).join("\n"),
  ...results({
    ...TOOL_RESPONSE,
    marks: [...OPENS, ...CLOSES, ...ENDLESS],
    textOf: ({ name, output, isError }) => outputText(isError ? { name, error: output } : { name, content: output }),
  }),
};

/** `{` or `[{`, followed by the beginning of a key: a quote, or a letter if the model forgot the quote. */
export function headOfObjects(
  text: string,
  at: number,
  writer: BlockWriter,
  context: TextContext,
  isEndHidden = false,
  isKeyed = false,
): Head | "maybe" | "none" {
  const json = skipSpace(text, at);
  let next = json;
  if (text[next] === "[") next = skipSpace(text, next + 1);
  if (next >= text.length) return "maybe";
  if (text[next] !== "{") return "none";
  next = skipSpace(text, next + 1);
  if (next >= text.length) return "maybe";
  return /["'a-zA-Z_]/.test(text[next]!)
    ? { json, begin: () => new Envelopes(writer, context, isEndHidden, isKeyed) }
    : "none";
}
