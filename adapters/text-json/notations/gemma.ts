import { isObject } from "../../../src/schema/json.ts";
import type { BlockReader } from "../../../src/text/notation.ts";
import { DelimitedCall, type Delimiters } from "../delimited.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";

/** Of Gemma 4, then of FunctionGemma. */
const FORMS: readonly [Delimiters, Delimiters] = [
  { open: "<|tool_call>", close: "<tool_call|>", quote: '<|"|>' },
  { open: "<start_function_call>", close: "<end_function_call>", quote: "<escape>" },
];
const RESPONSES = ["<|tool_response>", "<start_function_response>"] as const;

const [{ open: OPEN, close: CLOSE, quote: QUOTE }] = FORMS;
const [RESPONSE] = RESPONSES;
const RESPONSE_END = "<tool_response|>";
/** Instead of the first mark of Gemma 4, which it leaves out behind its thoughts. */
const BARE = "call:";

/**
 * Gemma 4: `<|tool_call>call:name{key:<|"|>value<|"|>}<tool_call|>`, one block per call. FunctionGemma writes the same
 * with other marks. Strings stand between delimiters, all other values are JSON; keys are bare, or delimited. After its
 * calls, the model begins their response, and servers stop it there. An answer that begins with a call may do so without a
 * mark, and end without one (https://github.com/vllm-project/vllm/issues/54256).
 *
 * @see https://ai.google.dev/gemma/docs/capabilities/text/function-calling-gemma4
 * @see https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices
 */
export const gemma: JsonDialect = {
  markers: [...FORMS.map(({ open }) => open), ...RESPONSES, BARE],
  leading: [BARE],
  start: (writer, context) => (marker) => {
    if (marker === BARE) return new DelimitedCall({ ...FORMS[0], next: [BARE, ...RESPONSES] }, writer, context);
    const form = FORMS.find(({ open }) => open === marker);
    return form === undefined ? new ResponseMark() : new DelimitedCall(form, writer, context);
  },
  ends: FORMS.map(({ close }) => close),
  describe: (tools) => `# Tools

${offer(tools)}

To call a function, write a block in exactly this form, one block for each call, and nothing after the last one:

${OPEN}call:function_name{text:${QUOTE}value${QUOTE},number:1.5,list:[${QUOTE}a${QUOTE},true],object:{key:null}}${CLOSE}

The results come back between ${RESPONSE} and ${RESPONSE_END}, in the order of the calls.`,
  writeCalls: (calls) => calls.map(({ name, args }) => `${OPEN}call:${name}${valueText(args)}${CLOSE}`).join(""),
  ...results({
    open: RESPONSE,
    head: ({ name }) => `response:${name}{value:${QUOTE}`,
    close: `${QUOTE}}${RESPONSE_END}`,
    marks: [...FORMS.flatMap((form) => Object.values(form) as string[]), ...RESPONSES, RESPONSE_END],
  }),
};

/** The mark that servers stop at: as the last word of a text, it belongs to the calls. */
class ResponseMark implements BlockReader {
  state: BlockReader["state"] = "head";

  read(text: string, at: number): number {
    if (text.slice(at).trim() !== "") this.state = "none";
    return at;
  }

  end(rest: string): string | undefined {
    this.state = "closed";
    return rest === "" ? undefined : rest;
  }
}

function valueText(value: unknown): string {
  if (typeof value === "string") return stringText(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, item]) => `${/^[\w$-]+$/.test(key) ? key : stringText(key)}:${valueText(item)}`,
  );
  return `{${entries.join(",")}}`;
}

/** A string that contains the delimiter is written as JSON, without its first character. */
function stringText(text: string): string {
  return text.includes(QUOTE) ? JSON.stringify(text).replaceAll("<", "\\u003c") : QUOTE + text + QUOTE;
}
