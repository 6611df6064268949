import { outputText } from "../../../src/stream/history.ts";
import { look, skipSpace } from "../../../src/text/look.ts";
import { JsonBlock, namedCall, type Head } from "../block.ts";
import { headOfEnvelopes } from "../envelope.ts";
import { endOfName } from "../names.ts";
import { results, toolLines, type JsonDialect } from "../prompt.ts";

const OPEN = "[TOOL_CALLS]";
const ARGS = "[ARGS]";
const CALL_ID = "[CALL_ID]";

/**
 * Mistral: `[TOOL_CALLS][{"name": …, "arguments": {…}, "id": …}]`, and since version 11 of the tokenizer
 * `[TOOL_CALLS]name[CALL_ID]id[ARGS]{…}`, with one marker per call; not all models write the id and `[ARGS]`. There is
 * no end marker: a call ends with its JSON.
 *
 * @see https://docs.mistral.ai/cookbooks/concept-deep-dive-tokenization-tool_calling
 */
export const mistral: JsonDialect = {
  markers: [OPEN],
  // The mark of the next call ends one whose JSON is broken, so that the next one is read.
  start: (writer, context) => () => new JsonBlock({ head: headOf, ends: [], nexts: [OPEN] }, writer, context),
  ends: [],
  describe: (tools) => `[AVAILABLE_TOOLS][${toolLines(tools).replaceAll("\n", ", ")}][/AVAILABLE_TOOLS]

To call functions, end your answer with one list of all calls, in exactly this form:

${OPEN}[{"name": "function_name", "arguments": {"parameter": "value"}}]

The results come back in [TOOL_RESULTS] blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    OPEN + JSON.stringify(calls.map(({ id, name, args }) => ({ name, arguments: args, ...(id !== null && { id }) }))),
  ...results({
    open: "[TOOL_RESULTS]",
    close: "[/TOOL_RESULTS]",
    marks: [OPEN, ARGS, CALL_ID],
    textOf({ id, name, output, isError }) {
      const content = isError ? { error: output } : output;
      return outputText({ ...(id === null ? { name } : { call_id: id }), content });
    },
  }),
};

function headOf(text: string, at: number): Head | "maybe" | "none" {
  const begin = skipSpace(text, at);
  if (begin === text.length) return "maybe";
  if (text[begin] === "[" || text[begin] === "{") {
    return headOfEnvelopes(text, at, { endsWithLine: true, isSingle: true });
  }
  // A name follows the mark immediately; a word after a space belongs to a sentence.
  let end = begin > at ? begin : endOfName(text, begin);
  if (end === begin) return "none";
  const name = text.slice(begin, end);
  let id: string | undefined;
  const idMark = look(text, end, CALL_ID);
  if (idMark === "yes") {
    const from = end + CALL_ID.length;
    end = endOfName(text, from);
    id = text.slice(from, end);
  }
  const argsMark = look(text, end, ARGS);
  if (argsMark === "yes") end += ARGS.length;
  const json = skipSpace(text, end);
  if (json === text.length || argsMark === "maybe" || (id === undefined && idMark === "maybe")) return "maybe";
  return text[json] === "{" ? { json, begin: (writer) => namedCall(writer, name, id), endsWithLine: true } : "none";
}
