import { outputText } from "../../../src/stream/history.ts";
import { headOfCalls, MESSAGE_ENDS } from "../bare.ts";
import { envelopeBlock, type EnvelopeForm } from "../envelope.ts";
import { UNMARKED, unmarkedCalls } from "../fenced.ts";
import { offer, results, TOOL_RESPONSE, type JsonDialect } from "../prompt.ts";

interface Form extends Pick<EnvelopeForm, "isKeyed" | "argumentsKey"> {
  readonly open: string;
  /** Without one, the block ends with its objects. */
  readonly close?: string;
  /** The same marks stand around descriptions of tools: the first object must be the call of an existing one. */
  readonly isBesideTools?: true;
}

/**
 * Of Hermes, Qwen and Granite; then of Hunyuan and Jamba, Nemotron Nano 2, LongCat, dots, Qwen2.5-Coder, Phi-4-mini,
 * LFM2 where it is asked for JSON, Command R and A, InternLM, Apertus, Inkling (vllm-project/vllm#50512), Phi-4-mini as
 * vLLM and Ollama prompt it, GigaChat 3.1 and 3.0.
 */
const FORMS: readonly Form[] = [
  ...["tool_call", "tool_calls", "TOOLCALL", "longcat_tool_call", "dots_function_call"].map((tag) => ({
    open: `<${tag}>`,
    close: `</${tag}>`,
  })),
  { open: "<tools>", close: "</tools>", isBesideTools: true },
  { open: "<|tool_call|>", close: "<|/tool_call|>" },
  { open: "<|tool_call_start|>", close: "<|tool_call_end|>" },
  { open: "<|START_ACTION|>", close: "<|END_ACTION|>" },
  { open: "<|action_start|><|plugin|>", close: "<|action_end|>" },
  { open: "<|action_start|> <|plugin|>", close: "<|action_end|>" },
  { open: "<|tools_prefix|>", close: "<|tools_suffix|>", isKeyed: true },
  { open: "<|content_invoke_tool_json|>", close: "<|end_message|>", argumentsKey: "args" },
  { open: "functools[" },
  { open: "<|function_call|>" },
  { open: "<|message_sep|>\n\nfunction call<|role_sep|>" },
  { open: "function call<|role_sep|>" },
];
const OPENS = FORMS.map(({ open }) => open);
const CLOSES = FORMS.flatMap(({ close }) => close ?? []);
/** Words alone begin no block where one is open. */
const NEXTS = OPENS.filter((open) => open.startsWith("<"));
/** Of a message of GigaChat. */
const ENDS = ["</s>", "<|message_sep|>"];

const [OPEN] = OPENS as [string];
const [CLOSE] = CLOSES as [string];

/**
 * Hermes and Qwen: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, one block per call. Others write the same,
 * or a list of it, between marks of their own; GigaChat and Phi-4-mini write no end mark, Qwen2.5-Coder none at all.
 *
 * @see https://github.com/NousResearch/Hermes-Function-Calling
 * @see https://github.com/ardanlabs/kronk/issues/944 for Qwen2.5-Coder
 * @see https://docs.liquid.ai/lfm/key-concepts/tool-use for LFM2
 * @see https://github.com/vllm-project/vllm/blob/main/examples/tool_chat_template_phi4_mini.jinja
 */
export const hermes: JsonDialect = {
  markers: [...OPENS, ...UNMARKED],
  leading: UNMARKED,
  start: (writer, context) => (marker) => {
    const form = FORMS.find(({ open }) => open === marker);
    if (form === undefined) return unmarkedCalls(marker, [...CLOSES, ...MESSAGE_ENDS], writer, context);
    const { close, isKeyed, argumentsKey, isBesideTools } = form;
    if (close === undefined) return envelopeBlock({ ends: ENDS, nexts: NEXTS, endsWithLine: true }, writer, context);
    const areCalls = (text: string, json: number) => headOfCalls(text[json], text, json + 1, context, true);
    const keys = { isKeyed, argumentsKey, ...(isBesideTools && { areCalls }) };
    return envelopeBlock({ ends: CLOSES, nexts: NEXTS, ...keys }, writer, context);
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
    marks: [...OPENS, ...CLOSES],
    textOf: ({ name, output, isError }) => outputText(isError ? { name, error: output } : { name, content: output }),
  }),
};
