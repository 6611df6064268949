import { outputText } from "../../../src/stream/history.ts";
import { countOf, withoutMarks, type TextDialect } from "../../../src/text/dialect.ts";
import { look, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { argumentsOf, type JsonConsumer } from "../block.ts";
import { Envelopes } from "../envelope.ts";
import { anyName, endOfName, toolLines } from "../prompt.ts";
import { ValueEnd } from "../value.ts";
import { headOfObjects } from "./hermes.ts";

const OPEN = "[TOOL_CALLS]";
const ARGS = "[ARGS]";
const CALL_ID = "[CALL_ID]";

/**
 * Mistral: `[TOOL_CALLS][{"name": …, "arguments": {…}, "id": …}]`, and since the tokenizer's version 11
 * `[TOOL_CALLS]name[CALL_ID]id[ARGS]{…}`, one marker a call, the id and `[ARGS]` not in all models. No end marker: a
 * call ends with its JSON.
 *
 * @see https://docs.mistral.ai/cookbooks/concept-deep-dive-tokenization-tool_calling
 */
export const mistral: TextDialect = {
  name: "mistral",
  markers: [OPEN],
  start: (writer, context) => () => new MistralBlock(writer, context),
  toolName: anyName,
  ends: [],
  countResults: (message) => countOf(message, "[TOOL_RESULTS]"),
  describe: (tools) => `[AVAILABLE_TOOLS][${toolLines(tools).replaceAll("\n", ", ")}][/AVAILABLE_TOOLS]

To call functions, end your answer with one list of all calls, in exactly this form:

${OPEN}[{"name": "function_name", "arguments": {"parameter": "value"}}]

The results come back in [TOOL_RESULTS] blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    OPEN + JSON.stringify(calls.map(({ id, name, args }) => ({ name, arguments: args, ...(id !== null && { id }) }))),
  writeResults: (results) =>
    results
      .map(({ id, name, output, isError }) => {
        const content = isError ? { error: output } : output;
        const value = { ...(id === null ? { name } : { call_id: id }), content };
        return `[TOOL_RESULTS]${withoutMarks(outputText(value), MARKS)}[/TOOL_RESULTS]`;
      })
      .join(""),
};

const MARKS = ["[/TOOL_RESULTS]", "[TOOL_RESULTS]", OPEN, ARGS, CALL_ID];

interface Head {
  readonly json: number;
  readonly name?: string;
  readonly id?: string | undefined;
}

class MistralBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  readonly #value = new ValueEnd();
  #consumer: JsonConsumer | undefined;

  constructor(writer: BlockWriter, context: TextContext) {
    this.#writer = writer;
    this.#context = context;
  }

  read(text: string, at: number): number {
    if (this.#consumer === undefined) {
      const head = headOf(text, at);
      if (head === "none") this.state = "none";
      if (typeof head === "string") return at;
      this.state = "open";
      this.#consumer = this.#begin(head);
      at = head.json;
    }
    const end = this.#value.read(text, at);
    this.#consumer.feed(text.slice(at, end));
    if (this.#value.isClosed) {
      this.#consumer.end();
      this.state = "closed";
    }
    return end;
  }

  end(rest: string): string | undefined {
    if (this.#consumer !== undefined) this.#consumer.cut();
    else if (rest.trim() !== "") {
      this.#writer.call().cut();
      this.state = "closed";
    }
    return undefined;
  }

  #begin({ name, id }: Head): JsonConsumer {
    if (name === undefined) return new Envelopes(this.#writer, this.#context);
    const call = this.#writer.call();
    call.name(name, id);
    const args = argumentsOf(call);
    // Closed, and no word of its end: the next call or the end of the turn decides.
    return { ...args, end: () => {} };
  }
}

function headOf(text: string, at: number): Head | "more" | "none" {
  const begin = skipSpace(text, at);
  if (begin === text.length) return "more";
  if (text[begin] === "[" || text[begin] === "{") {
    const json = headOfObjects(text, at);
    return typeof json === "string" ? json : { json };
  }
  // A name stands right behind the mark; a word behind a space is one of a sentence.
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
