import { Kept } from "../../../src/text/kept.ts";
import { look, lookFor, skipSpace } from "../../../src/text/look.ts";
import { MAX_HEAD, type BlockReader, type TextContext } from "../../../src/text/notation.ts";
import { CodeState } from "../../../src/text/python/code-state.ts";
import { Refusal } from "../../../src/text/python/refusal.ts";
import { pythonOf } from "../../../src/text/python/write.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { MESSAGE_ENDS } from "../bare.ts";
import { endOfName } from "../names.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";
import { readCalls } from "../python-calls.ts";

/** Of Olmo 3, around calls that stand on a line each instead of in a list. */
const LINES = "<function_calls>";
/** Of LFM2, then as Llama 4 sometimes writes them. */
const OPENS = ["<|tool_call_start|>", "<|python_start|>", LINES] as const;
const CLOSES = ["<|tool_call_end|>", "<|python_end|>", "</function_calls>"] as const;
const ENDS = [...CLOSES, ...MESSAGE_ENDS];
const LIST = "[";
const RESULT = "<|tool_response_start|>";
const RESULT_END = "<|tool_response_end|>";

const [OPEN] = OPENS;
const [CLOSE] = CLOSES;

/**
 * A list of Python calls: `[get_weather(city="Oslo"), now()]`. LFM2 writes it between marks, Llama 4 and Llama 3.2 as
 * their whole answer, Olmo 3 as lines between other marks. Arguments are literals with a name.
 *
 * @see https://docs.liquid.ai/lfm/key-concepts/tool-use
 * @see https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/
 * @see https://github.com/vllm-project/vllm/pull/26143 for Olmo 3
 */
export const pythonic: JsonDialect = {
  markers: [...OPENS, LIST],
  leading: [LIST],
  start: (writer, context) => (marker) => new CallList(marker, writer, context),
  ends: CLOSES,
  describe: (tools) => `# Tools

${offer(tools)}

To call functions, end your answer with one list of all calls, in exactly this form:

${OPEN}[function_name(parameter="value", other=[1, True, None]), other_function()]${CLOSE}

Arguments are Python literals, each with its name. The results come back between ${RESULT} and ${RESULT_END}, in the order of the calls.`,
  writeCalls(calls) {
    const list = calls.map(({ name, args }) => {
      const entries = Object.entries(args).map(([key, value]) =>
        /^[\w$]+$/.test(key) ? `${key}=${pythonOf(value)}` : `**${pythonOf({ [key]: value })}`,
      );
      return `${name}(${entries.join(", ")})`;
    });
    return `${OPEN}[${list.join(", ")}]${CLOSE}`;
  },
  ...results({ open: RESULT, close: RESULT_END, marks: [...OPENS, ...CLOSES] }),
};

/** How much longer than the arguments of one call a list may be. */
const MAX_LIST = 1_048_576;

/**
 * One list. It is read once its last bracket has come: of a list that was cut off, nothing runs. Without a mark, it must
 * begin with the call of an existing tool, and its line must end after it: anything else is text. Lines of calls are a
 * list whose brackets are the marks.
 */
class CallList implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly holdsCalls = true;
  readonly #isBare: boolean;
  readonly #isLines: boolean;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  readonly #state = new CodeState(true);
  readonly #code: Kept;
  /** The last bracket has come. */
  #isClosed = false;
  /** Where the text after the first end mark in the open string begins. */
  #hidden: number | undefined;

  constructor(marker: string, writer: BlockWriter, context: TextContext) {
    this.#isBare = marker === LIST;
    this.#isLines = marker === LINES;
    this.#writer = writer;
    this.#context = context;
    this.#code = new Kept(this.#limit);
    if (this.#isBare || this.#isLines) this.#code.add(LIST);
  }

  read(text: string, from: number): number {
    let at = from;
    if (this.state === "head") {
      const begin = this.#isBare ? headOfBare(text, at, this.#context) : headOfList(text, at, this.#isLines);
      if (begin === "none") this.state = "none";
      if (typeof begin === "string") return at;
      this.state = "open";
      if (this.#isBare || this.#isLines) this.#state.see(LIST.charCodeAt(0));
      at = begin;
    }
    return this.#isClosed ? this.#readEnd(text, at) : this.#readList(text, at);
  }

  end(rest: string): string | undefined {
    if (this.state === "head") {
      if (this.#isBare || rest.trim() === "") return undefined;
      this.#writer.call().cut();
      this.state = "closed";
      return undefined;
    }
    const isFollowed = rest.trim() !== "";
    if (this.#isClosed && this.#isBare && isFollowed) {
      this.#writer.text(this.#code.text ?? "");
      return rest;
    }
    // In a text that was cut off, the line of a list without a mark may have gone on.
    if (this.#isClosed && (this.#context.isWhole || !this.#isBare)) {
      this.#write(false);
      // A part of the end mark belongs to the list.
      return isFollowed || rest === "" ? undefined : rest;
    }
    this.#code.add(rest);
    const { text: code = "" } = this.#code;
    if (this.#context.isWhole && this.#hidden !== undefined && code !== "") {
      this.#fail("a string has no end");
      return code.slice(this.#hidden);
    }
    const call = this.#writer.call();
    call.name(firstName(code));
    call.cut(`the list ${this.#isClosed ? "may have gone on" : "was not closed"}, and nothing in it was run`);
    return undefined;
  }

  #readList(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const mark = code === LESS && !this.#isBare ? lookFor(text, at, CLOSES) : undefined;
      if (mark === "maybe") {
        this.#code.add(text.slice(from, at));
        return at;
      }
      if (mark !== undefined) {
        const end = at + mark.word.length;
        if (!this.#state.isString || this.#context.isBlind) {
          this.#code.add(text.slice(from, at));
          if (this.#isLines && this.#state.depth === 1 && !this.#state.isString) {
            this.#code.add("]");
            this.#write(true);
          } else this.#fail("its brackets are not closed where the list ends");
          this.state = "closed";
          return end;
        }
        this.#hidden ??= this.#code.length + end - from;
      }
      this.#state.see(code);
      if (!this.#state.isString) this.#hidden = undefined;
      if (this.#state.depth > 0 || this.#isLines) continue;
      this.#code.add(text.slice(from, at + 1));
      this.#isClosed = true;
      return this.#readEnd(text, at + 1);
    }
    this.#code.add(text.slice(from));
    return text.length;
  }

  /** What follows shows whether the list is the answer. */
  #readEnd(text: string, from: number): number {
    const at = skipSpace(text, from);
    const end = at - from > MAX_HEAD ? undefined : lookFor(text, at, ENDS);
    const isOver = /\n/.test(text.slice(from, at)) || at - from > MAX_HEAD;
    if (end === "maybe" || (at === text.length && !isOver)) return from;
    this.state = "closed";
    if (end !== undefined || isOver || !this.#isBare) {
      this.#write(true);
      return end === undefined ? from : at + end.word.length;
    }
    this.#writer.text(this.#code.text ?? "");
    return from;
  }

  /** @param isEnded if not, the end of the turn decides about the last call */
  #write(isEnded: boolean): void {
    const { text: code } = this.#code;
    if (code === undefined) return this.#fail(`the list is longer than ${this.#limit} characters`);
    try {
      const calls = readCalls(code, this.#context.limits, this.#isLines);
      for (const [index, { name, args }] of calls.entries()) {
        const call = this.#writer.call();
        call.name(name);
        call.args(args);
        if (isEnded || index < calls.length - 1) call.done();
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#fail(error.message);
    }
  }

  #fail(reason: string): void {
    const call = this.#writer.call();
    call.name(firstName(this.#code.text ?? ""));
    call.unreadable(`${reason}. Nothing in the list was run`);
  }

  get #limit(): number {
    return this.#context.limits.maxArgumentsLength + MAX_LIST;
  }
}

const LESS = 60;

function firstName(code: string): string {
  const from = skipSpace(code, 1);
  return code.slice(from, endOfName(code, from));
}

/** `[`, a name and `(`. Without the `[`, where the calls are lines, a space before the `(` is that of a sentence. */
function headOfList(text: string, from: number, isLines: boolean): number | "maybe" | "none" {
  const at = skipSpace(text, from);
  if (at === text.length) return "maybe";
  if (!isLines && text[at] !== LIST) return "none";
  const call = headOfCall(text, isLines ? at : at + 1);
  if (typeof call === "string") return call;
  return isLines && call.end > at + call.name.length + 1 ? "none" : at;
}

/** The call of an existing tool, and no argument or the name of one: `[text](link)` and `[f(x)]` are text. */
function headOfBare(text: string, from: number, context: TextContext): number | "maybe" | "none" {
  const call = headOfCall(text, from);
  if (typeof call === "string") return call;
  if (context.tool(call.name) === undefined) return "none";
  let at = skipSpace(text, call.end);
  if (text[at] === ")") return from;
  const [key = ""] = /^[\p{L}\p{N}_$-]*/u.exec(text.slice(at)) ?? [];
  at = skipSpace(text, at + key.length);
  if (at >= text.length - 1 && look(text, at, "=") !== "no") return "maybe";
  return key !== "" && text[at] === "=" && text[at + 1] !== "=" ? from : "none";
}

function headOfCall(text: string, from: number): { name: string; end: number } | "maybe" | "none" {
  const begin = skipSpace(text, from);
  const end = endOfName(text, begin);
  const bracket = skipSpace(text, end);
  if (bracket === text.length) return "maybe";
  return end > begin && text[bracket] === "(" ? { name: text.slice(begin, end), end: bracket + 1 } : "none";
}
