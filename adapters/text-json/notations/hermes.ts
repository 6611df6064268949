import { outputText } from "../../../src/stream/history.ts";
import { skipSpace } from "../../../src/text/look.ts";
import type { TextDialect } from "../../../src/text/dialect.ts";
import { BARE, BareCalls, isBare, MESSAGE_ENDS } from "../bare.ts";
import { JsonBlock } from "../block.ts";
import { Envelopes } from "../envelope.ts";
import { FENCE, FencedCalls } from "../fenced.ts";
import { anyName, offer, results } from "../prompt.ts";

/** Of Hermes, Qwen and Granite; then of Hunyuan and Jamba, Nemotron Nano 2, Phi-4-mini, Command R. */
const OPENS = ["<tool_call>", "<tool_calls>", "<TOOLCALL>", "<|tool_call|>", "<|START_ACTION|>"] as const;
const CLOSES = ["</tool_call>", "</tool_calls>", "</TOOLCALL>", "<|/tool_call|>", "<|END_ACTION|>"] as const;

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
  markers: [...OPENS, ...BARE, FENCE],
  leading: [...BARE, FENCE],
  start: (writer, context) => (marker) => {
    if (isBare(marker)) return new BareCalls(marker, ENDS, writer, context);
    if (marker === FENCE) return new FencedCalls(ENDS, writer, context);
    return new JsonBlock({
      head: headOfObjects,
      begin: () => new Envelopes(writer, context),
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
export function headOfObjects(text: string, at: number): number | "more" | "none" {
  const first = skipSpace(text, at);
  let next = first;
  if (text[next] === "[") next = skipSpace(text, next + 1);
  if (next >= text.length) return "more";
  if (text[next] !== "{") return "none";
  next = skipSpace(text, next + 1);
  if (next >= text.length) return "more";
  return /["'a-zA-Z_]/.test(text[next]!) ? first : "none";
}
