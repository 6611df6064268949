import { outputText } from "../../../src/stream/history.ts";
import { skipSpace } from "../../../src/text/look.ts";
import type { TextDialect } from "../../../src/text/dialect.ts";
import type { TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { MESSAGE_ENDS } from "../bare.ts";
import { JsonBlock, type Head } from "../block.ts";
import { Envelopes } from "../envelope.ts";
import { UNMARKED, unmarkedCalls } from "../fenced.ts";
import { anyName, offer, results } from "../prompt.ts";

/** Of Hermes, Qwen and Granite; then of Hunyuan and Jamba, Nemotron Nano 2, LongCat, Phi-4-mini, Command R and A. */
const TAGS = ["tool_call>", "tool_calls>", "TOOLCALL>", "longcat_tool_call>"];
const OPENS = [...TAGS.map((tag) => `<${tag}`), "<|tool_call|>", "<|START_ACTION|>"] as const;
const CLOSES = [...TAGS.map((tag) => `</${tag}`), "<|/tool_call|>", "<|END_ACTION|>"] as const;

const ENDS = [...CLOSES, ...MESSAGE_ENDS];

const [OPEN] = OPENS;
const [CLOSE] = CLOSES;

/**
 * Hermes and Qwen: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, one block per call. Others write the same,
 * or a list of it, between marks of their own; Qwen2.5-Coder writes it without any mark.
 *
 * @see https://github.com/NousResearch/Hermes-Function-Calling
 */
export const hermes: TextDialect = {
  markers: [...OPENS, ...UNMARKED],
  leading: UNMARKED,
  start: (writer, context) => (marker) => {
    if (UNMARKED.includes(marker)) return unmarkedCalls(marker, ENDS, writer, context);
    return new JsonBlock({
      head: (text, at) => headOfObjects(text, at, writer, context),
      ends: CLOSES,
      nexts: OPENS,
      context,
      writer,
    });
  },
  toolName: anyName,
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
  ...results(["<tool_response>\n", "\n</tool_response>"], [...OPENS, ...CLOSES], "\n", ({ name, output, isError }) =>
    outputText(isError ? { name, error: output } : { name, content: output }),
  ),
};

/** `{` or `[{`, followed by the beginning of a key: a quote, or a letter if the model forgot the quote. */
export function headOfObjects(
  text: string,
  at: number,
  writer: BlockWriter,
  context: TextContext,
  isEndHidden = false,
): Head | "maybe" | "none" {
  const json = skipSpace(text, at);
  let next = json;
  if (text[next] === "[") next = skipSpace(text, next + 1);
  if (next >= text.length) return "maybe";
  if (text[next] !== "{") return "none";
  next = skipSpace(text, next + 1);
  if (next >= text.length) return "maybe";
  return /["'a-zA-Z_]/.test(text[next]!) ? { json, begin: () => new Envelopes(writer, context, isEndHidden) } : "none";
}
