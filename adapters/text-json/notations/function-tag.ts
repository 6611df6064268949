import { skipSpace } from "../../../src/text/look.ts";
import { MESSAGE_ENDS } from "../bare.ts";
import { JsonBlock, namedCall, type JsonBlockParts } from "../block.ts";
import { envelopeBlock, type EnvelopeForm } from "../envelope.ts";
import { UNMARKED, unmarkedCalls } from "../fenced.ts";
import { endOfName } from "../names.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";

const OPEN = "<function=";
const CLOSE = "</function>";
const PYTHON_TAG = "<|python_tag|>";
/** Its end is the end of the message, which many servers do not show. */
const PYTHON: EnvelopeForm = { ends: MESSAGE_ENDS, nexts: [PYTHON_TAG], endsWithLine: true };

/**
 * Llama: `<function=name>{…}</function>`; or `<|python_tag|>{"name": …, "parameters": {…}}` for the same as JSON, which
 * ends with its message; or that without the mark. The `>` may be missing, be another character, or follow the JSON; the
 * name may be in quotes.
 *
 * @see https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/#user-defined-custom-tool-calling
 */
export const functionTag: JsonDialect = {
  markers: [OPEN, PYTHON_TAG, ...UNMARKED],
  leading: UNMARKED,
  start: (writer, context) => (marker) => {
    if (UNMARKED.includes(marker)) return unmarkedCalls(marker, MESSAGE_ENDS, writer, context);
    return marker === OPEN ? new JsonBlock(FUNCTION, writer, context) : envelopeBlock(PYTHON, writer, context);
  },
  ends: [CLOSE, ...MESSAGE_ENDS],
  describe: (tools) => `${offer(tools)}

To call a function, write its name and its arguments as JSON, in one line and in exactly this form:

${OPEN}function_name>{"parameter": "value"}${CLOSE}

The results come back in <function_result> blocks, in the order of the calls.`,
  writeCalls: (calls) => calls.map(({ name, args }) => `${OPEN}${name}>${JSON.stringify(args)}${CLOSE}`).join("\n"),
  ...results({
    open: "<function_result=",
    head: ({ name }) => `${name}>`,
    close: "</function_result>",
    separator: "\n",
    marks: [OPEN, CLOSE, PYTHON_TAG, ...MESSAGE_ENDS],
  }),
};

/** The closing bracket of the head may follow the arguments: `<function=f{…}></function>`, `<function=f({…})`. */
const BRACKETS = ["", ">", ")"];

const FUNCTION: JsonBlockParts = {
  head(text, at) {
    const quote = text[at] === '"' ? '"' : "";
    const begin = at + quote.length;
    const end = endOfName(text, begin);
    const behind = end + quote.length;
    if (behind >= text.length) return "maybe";
    if (end === begin || !text.startsWith(quote, end)) return "none";
    const json = skipSpace(text, /[>=,(]/.test(text[behind]!) ? behind + 1 : behind);
    if (json >= text.length) return "maybe";
    return text[json] === "{" ? { json, begin: (writer) => namedCall(writer, text.slice(begin, end)) } : "none";
  },
  ends: BRACKETS.map((bracket) => bracket + CLOSE),
  nexts: BRACKETS.map((bracket) => bracket + OPEN),
};
