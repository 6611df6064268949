import { countOf, type TextDialect } from "../../../src/text/dialect.ts";
import { skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../../src/text/writer.ts";
import { BARE, BareCalls, isBare, MESSAGE_ENDS } from "../bare.ts";
import { argumentsOf, JsonBlock, type JsonConsumer } from "../block.ts";
import { Envelopes } from "../envelope.ts";
import { FENCE, FencedCalls } from "../fenced.ts";
import { anyName, endOfName, offer, resultText } from "../prompt.ts";
import { headOfObjects } from "./hermes.ts";

const OPEN = "<function=";
const CLOSE = "</function>";
const PYTHON_TAG = "<|python_tag|>";

/**
 * Llama: `<function=name>{…}</function>`; or `<|python_tag|>{"name": …, "parameters": {…}}` for the same as JSON, which
 * ends with its message; or that without the mark. The `>` may be missing, be another character, or follow the JSON.
 *
 * @see https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/#user-defined-custom-tool-calling
 */
export const functionTag: TextDialect = {
  markers: [OPEN, PYTHON_TAG, ...BARE, FENCE],
  leading: [...BARE, FENCE],
  start: (writer, context) => (marker) => {
    if (isBare(marker)) return new BareCalls(marker, MESSAGE_ENDS, writer, context);
    if (marker === FENCE) return new FencedCalls(MESSAGE_ENDS, writer, context);
    return marker === OPEN ? functionBlock(writer, context) : pythonTag(writer, context);
  },
  toolName: anyName,
  ends: [CLOSE, ...MESSAGE_ENDS],
  countResults: (message) => countOf(message, "<function_result="),
  describe: (tools) => `${offer(tools)}

To call a function, write its name and its arguments as JSON, in one line and in exactly this form:

${OPEN}function_name>{"parameter": "value"}${CLOSE}

The results come back in <function_result> blocks, in the order of the calls.`,
  writeCalls: (calls) => calls.map(({ name, args }) => `${OPEN}${name}>${JSON.stringify(args)}${CLOSE}`).join("\n"),
  writeResults: (results) =>
    results
      .map((result) => `<function_result=${result.name}>${resultText(result, MARKS)}</function_result>`)
      .join("\n"),
};

const MARKS = ["</function_result>", "<function_result=", OPEN, CLOSE, PYTHON_TAG, ...MESSAGE_ENDS];

function functionBlock(writer: BlockWriter, context: TextContext): BlockReader {
  let name = "";
  return new JsonBlock({
    head(text, at) {
      const end = endOfName(text, at);
      if (end === text.length) return "more";
      if (end === at) return "none";
      const json = skipSpace(text, /[>=,(]/.test(text[end]!) ? end + 1 : end);
      if (json >= text.length) return "more";
      if (text[json] !== "{") return "none";
      name = text.slice(at, end);
      return json;
    },
    begin() {
      const call = writer.call();
      call.name(name);
      return inBrackets(call);
    },
    ends: [CLOSE],
    nexts: [OPEN],
    context,
    writer,
  });
}

/** Arguments followed by the closing bracket of the head: `<function=f{…}></function>`, `<function=f({…})`. */
function inBrackets(call: CallWriter): JsonConsumer {
  const args = argumentsOf(call);
  /** The last character, if it may be that bracket. */
  let held = "";
  return {
    ...args,
    feed(piece) {
      const text = held + piece;
      held = /[>)]$/.exec(text)?.[0] ?? "";
      args.feed(held === "" ? text : text.slice(0, -1));
    },
  };
}

/** Its end is the end of the message, which many servers do not show. */
function pythonTag(writer: BlockWriter, context: TextContext): BlockReader {
  return new JsonBlock({
    head: headOfObjects,
    begin() {
      const envelopes = new Envelopes(writer, context);
      return {
        feed: (piece) => envelopes.feed(piece),
        end: () => envelopes.end(),
        cut: () => envelopes.endOfText(),
      };
    },
    ends: MESSAGE_ENDS,
    nexts: [PYTHON_TAG],
    context,
    writer,
  });
}
