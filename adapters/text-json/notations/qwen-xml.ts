import { outputText } from "../../../src/stream/history.ts";
import { countOf, withoutMarks, type TextDialect } from "../../../src/text/dialect.ts";
import { find, indexWithin, look, lookFor, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../../src/text/writer.ts";
import { anyName, endOfName, toolLines } from "../prompt.ts";
import { NO_END, QuotedCalls, type TagMeaning } from "../quoted.ts";
import { TypedArguments } from "../typed.ts";

/** The second spelling is Seed-OSS's, which is the same otherwise. */
const OPENS = ["<tool_call>", "<seed:tool_call>"] as const;
const CLOSES = ["</tool_call>", "</seed:tool_call>"] as const;
const FUNCTION = "<function=";
const FUNCTION_END = "</function>";
const PARAMETER = "<parameter=";
const PARAMETER_END = "</parameter>";

const [OPEN] = OPENS;
const [CLOSE] = CLOSES;

/**
 * Qwen3-Coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`. All values are plain
 * text, one line break before and one behind them; what they mean is said by the tool's schema. `<tool_call>` is left
 * out now and then, and so is the `>` behind a name (ml-explore/mlx-lm#1811, #1881).
 *
 * @see https://huggingface.co/Qwen/Qwen3-Coder-480B-A35B-Instruct/blob/main/chat_template.jinja
 */
export const qwenXml: TextDialect = {
  name: "qwen-xml",
  markers: [...OPENS, FUNCTION],
  start: (writer, context) => (marker) => new QwenBlock(marker !== FUNCTION, writer, context),
  toolName: anyName,
  ends: CLOSES,
  countResults: (message) => countOf(message, "<tool_response>"),
  describe: (tools) => `# Tools

You can call these functions. Each line describes one of them, with its parameters as a JSON Schema:

<tools>
${toolLines(tools)}
</tools>

To call a function, write a block in exactly this form, one block for each call, and nothing behind the last one:

${OPEN}
${FUNCTION}function_name>
${PARAMETER}parameter_name>
value, which may have
several lines
${PARAMETER_END}
${FUNCTION_END}
${CLOSE}

Values are written as they are, without quotes or escapes; lists and objects as JSON. The results come back in <tool_response> blocks, in the order of the calls.`,
  writeCalls: (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `${PARAMETER}${key}>\n${outputText(value)}\n${PARAMETER_END}\n`,
        );
        return `${OPEN}\n${FUNCTION}${name}>\n${parameters.join("")}${FUNCTION_END}\n${CLOSE}`;
      })
      .join("\n"),
  writeResults: (results) =>
    results
      .map(({ output, isError }) => {
        const text = outputText(isError ? { error: output } : output);
        return `<tool_response>\n${withoutMarks(text, MARKS)}\n</tool_response>`;
      })
      .join("\n"),
};

const MARKS = ["</tool_response>", "<tool_response>", ...OPENS, ...CLOSES, FUNCTION];

/** What is looked at in a value. */
const VALUE_MARKS = [PARAMETER_END, FUNCTION_END, FUNCTION, PARAMETER];

/** The name of a parameter, and the white space behind a tag that is waited through, are no longer than this. */
const MAX_SPACE = 128;

class QwenBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #isWrapped: boolean;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  #call: CallWriter | undefined;
  #args: TypedArguments | undefined;
  #expected: "function" | "parameter" | "value" | "close" | "nothing" = "function";
  /** At the beginning of a value: one line break there is none of it. */
  #isFirst = false;
  /** A line break that is the last of a value is none of it either. */
  #lineBreak = "";
  /** The calls that the value is about. */
  #quoted = new QuotedCalls();

  constructor(isWrapped: boolean, writer: BlockWriter, context: TextContext) {
    this.#isWrapped = isWrapped;
    this.#writer = writer;
    this.#context = context;
  }

  read(text: string, at: number): number {
    switch (this.#expected) {
      case "function":
        return this.#readFunction(text, at);
      case "parameter":
        return this.#readParameter(text, at);
      case "value":
        return this.#readValue(text, at);
      case "close":
        return this.#readClose(text, at);
      case "nothing":
        return this.#skip(text, at);
    }
  }

  end(rest: string): string | undefined {
    if (this.state === "head" && rest.trim() === "") return undefined;
    const isUnsure = this.#context.isWhole && this.#expected === "value" && this.#quoted.hasBegun;
    if (this.#expected !== "close") (this.#call ?? this.#writer.call()).cut(isUnsure ? NO_END : undefined);
    this.state = "closed";
    return undefined;
  }

  #readFunction(text: string, from: number): number {
    let at = from;
    if (this.#isWrapped) {
      at = skipSpace(text, at);
      const answer = look(text, at, FUNCTION);
      if (answer !== "yes") {
        if (answer === "no") this.state = "none";
        return from;
      }
      at += FUNCTION.length;
    }
    const end = endOfName(text, at);
    if (end === text.length) return from;
    // Without the outer tag only what follows tells the notation from another one.
    const next = this.#isWrapped || lookFor(text, skipSpace(text, end + 1), [PARAMETER, FUNCTION_END]);
    if (end === at || !/[>\n]/.test(text[end]!) || next === undefined) this.state = "none";
    if (this.state === "none" || next === "maybe") return from;
    const name = text.slice(at, end);
    this.state = "open";
    this.#call = this.#writer.call();
    this.#call.name(name);
    this.#args = new TypedArguments(this.#call, this.#context.tool(name), this.#context);
    this.#expected = "parameter";
    return end + 1;
  }

  #readParameter(text: string, from: number): number {
    const at = skipSpace(text, from);
    const next = lookFor(text, at, [PARAMETER, FUNCTION_END]);
    if (next === "maybe") return at;
    if (next === undefined) return this.#refuse("something else stands between its parameters", text, at);
    if (next.word === FUNCTION_END) {
      this.#args!.close();
      this.#call!.done();
      this.#expected = "close";
      return at + FUNCTION_END.length;
    }
    const begin = at + PARAMETER.length;
    const head = text.slice(begin, begin + MAX_SPACE);
    const [tag] = /^(?:[^<>\n]*>|[\w./-]+\n)/.exec(head) ?? [];
    if (tag === undefined) {
      const mayEnd = head.length < MAX_SPACE && !/[<\n]/.test(head);
      return mayEnd ? at : this.#refuse("the name of a parameter has no end", text, at);
    }
    this.#args!.begin(tag.slice(0, -1).trim());
    this.#isFirst = tag.endsWith(">");
    this.#lineBreak = "";
    this.#quoted = new QuotedCalls();
    this.#expected = "value";
    return begin + tag.length;
  }

  /** What follows to the end of the call is part of it, and means nothing. */
  #refuse(reason: string, text: string, at: number): number {
    this.#call!.unreadable(reason);
    this.#expected = "nothing";
    return this.#skip(text, at);
  }

  #skip(text: string, from: number): number {
    const { at, word } = find(text, from, [FUNCTION_END, ...CLOSES]);
    if (word === undefined) return at;
    if (word === FUNCTION_END) this.#expected = "close";
    else this.state = "closed";
    return at + word.length;
  }

  #readValue(text: string, from: number): number {
    let at = from;
    if (this.#isFirst && at < text.length) {
      this.#isFirst = false;
      if (text[at] === "\n") at++;
      from = at;
    }
    for (;;) {
      const tag = text.indexOf("<", at);
      this.#quoted.pass(text.slice(at, tag < 0 ? undefined : tag));
      if (tag < 0) return this.#pass(text, from, text.length);
      const mark = lookFor(text, tag, VALUE_MARKS);
      const behind = typeof mark === "object" ? tag + mark.word.length : tag;
      const meaning = typeof mark === "object" ? this.#meaningOf(mark.word, text, behind) : (mark ?? "text");
      at = meaning === "quoted" ? text.indexOf(">", tag) + 1 : tag + 1;
      if (meaning === "text" || meaning === "quoted") continue;
      this.#pass(text, from, tag);
      if (meaning === "maybe") return tag;
      if (meaning === "unclosed") return this.#refuse(`a value has no ${PARAMETER_END}`, text, tag);
      this.#args!.end();
      this.#expected = "parameter";
      return behind;
    }
  }

  /**
   * A tag in a value is its end only if a parameter or the end of the function, or of the block, follows: code that is
   * written holds such tags. Models do leave the end out, and servers close the value for them
   * (https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/qwen3coder_tool_parser.py); but what they meant to
   * write is not known, so the call is none. A function that begins in the value is written about, with all its tags.
   */
  #meaningOf(mark: string, text: string, behind: number): TagMeaning {
    const quoted = this.#quoted;
    switch (mark) {
      case PARAMETER_END: {
        const at = skipSpace(text, behind);
        const next = at - behind > MAX_SPACE ? undefined : lookFor(text, at, [PARAMETER, FUNCTION_END, ...CLOSES]);
        if (next === "maybe") return "maybe";
        if (next !== undefined && quoted.hasEnded && quoted.isIn) return "unclosed";
        if (quoted.endParameter(next !== undefined)) return "quoted";
        return next === undefined ? "text" : "end";
      }
      case FUNCTION_END: {
        if (quoted.endCall()) return "quoted";
        const next = nextFunction(text, behind);
        if (next === "text") quoted.hasEnded = true;
        return next;
      }
      default: {
        const end = indexWithin(text, ">", behind, MAX_SPACE);
        const name = text.slice(behind, end < 0 ? undefined : end);
        if (name.length >= MAX_SPACE) return "text";
        if (end < 0) return "maybe";
        if (mark === FUNCTION) {
          quoted.beginCall();
          return "quoted";
        }
        // What goes on into another tag, or line, is none: code that looks for such tags.
        if (/[<\n]/.test(name)) return "text";
        if (!quoted.isIn && this.#args!.lacks(name.trim())) return "unclosed";
        quoted.beginParameter();
        return "quoted";
      }
    }
  }

  #pass(text: string, from: number, until: number): number {
    if (until === from) return until;
    const piece = this.#lineBreak + text.slice(from, until);
    this.#lineBreak = piece.endsWith("\n") ? "\n" : "";
    this.#args!.piece(this.#lineBreak === "" ? piece : piece.slice(0, -1));
    return until;
  }

  /** The end of the block. It may be missing, and another function be in its place. */
  #readClose(text: string, from: number): number {
    const at = skipSpace(text, from);
    const next = at - from > MAX_SPACE ? undefined : lookFor(text, at, CLOSES);
    if (next === "maybe") return from;
    this.state = "closed";
    return next === undefined ? from : at + next.word.length;
  }
}

/** Whether another function follows the end of one: in the same block, or in the next. */
function nextFunction(text: string, behind: number): TagMeaning {
  for (let at = behind; ;) {
    at = skipSpace(text, at);
    if (at - behind > MAX_SPACE) return "text";
    const next = lookFor(text, at, [...CLOSES, ...OPENS, FUNCTION]);
    if (typeof next !== "object") return next ?? "text";
    if (next.word === FUNCTION) return "unclosed";
    at += next.word.length;
  }
}
