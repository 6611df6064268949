import { outputText } from "../../../src/stream/history.ts";
import type { TextDialect } from "../../../src/text/dialect.ts";
import { look, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { argumentsOf, JsonBlock } from "../block.ts";
import { Envelopes, UNESCAPED } from "../envelope.ts";
import { anyName, endOfName, results, toolLines } from "../prompt.ts";
import { headOfObjects } from "./hermes.ts";

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
export const mistral: TextDialect = {
  markers: [OPEN],
  start: (writer, context) => () => block(writer, context),
  toolName: anyName,
  ends: [],
  describe: (tools) => `[AVAILABLE_TOOLS][${toolLines(tools).replaceAll("\n", ", ")}][/AVAILABLE_TOOLS]

To call functions, end your answer with one list of all calls, in exactly this form:

${OPEN}[{"name": "function_name", "arguments": {"parameter": "value"}}]

The results come back in [TOOL_RESULTS] blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    OPEN + JSON.stringify(calls.map(({ id, name, args }) => ({ name, arguments: args, ...(id !== null && { id }) }))),
  ...results(["[TOOL_RESULTS]", "[/TOOL_RESULTS]"], [OPEN, ARGS, CALL_ID], "", ({ id, name, output, isError }) => {
    const content = isError ? { error: output } : output;
    return outputText({ ...(id === null ? { name } : { call_id: id }), content });
  }),
};

interface Head {
  readonly json: number;
  readonly name?: string;
  readonly id?: string | undefined;
}

/** The mark of the next call ends one whose JSON is broken, so that the next one is read. */
function block(writer: BlockWriter, context: TextContext): BlockReader {
  let { name, id }: Partial<Head> = {};
  return new JsonBlock({
    head(text, at) {
      const head = headOf(text, at);
      if (typeof head === "string") return head;
      ({ name, id } = head);
      return head.json;
    },
    begin() {
      if (name === undefined) return new Envelopes(writer, context);
      const call = writer.call();
      call.name(name, id);
      return {
        ...argumentsOf(call),
        second: () => call.unreadable(UNESCAPED),
        // Its JSON is closed, but nothing marks its end: the next call or the end of the turn decides.
        end: () => {},
      };
    },
    ends: [],
    nexts: [OPEN],
    endsWith: () => (name === undefined ? "json" : "next"),
    context,
    writer,
  });
}

function headOf(text: string, at: number): Head | "more" | "none" {
  const begin = skipSpace(text, at);
  if (begin === text.length) return "more";
  if (text[begin] === "[" || text[begin] === "{") {
    const json = headOfObjects(text, at);
    return typeof json === "string" ? json : { json };
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
  if (json === text.length || argsMark === "maybe" || (id === undefined && idMark === "maybe")) return "more";
  return text[json] === "{" ? { json, name, id } : "none";
}
