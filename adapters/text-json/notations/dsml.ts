import { outputText } from "../../../src/stream/history.ts";
import { countOf, withoutMarks, type TextDialect } from "../../../src/text/dialect.ts";
import { find, indexWithin, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../../src/text/writer.ts";
import { argumentsOf, JsonBlock } from "../block.ts";
import { dsmlLeaks } from "../leaks.ts";
import { anyName, toolLines } from "../prompt.ts";
import { NO_END, QuotedCalls, type TagMeaning } from "../quoted.ts";
import { TypedArguments } from "../typed.ts";

/** The mark as the model's tokens have it, and as servers and models spell it. */
const MARKS = ["\u{ff5c}DSML\u{ff5c}", "\u{ff5c}\u{ff5c}DSML\u{ff5c}\u{ff5c}", "|DSML|", "||DSML||"];
/** Of V3.2 and of V4. */
const SECTIONS = ["function_calls", "tool_calls"];

const [MARK] = MARKS as [string];

/**
 * DeepSeek: a section of `<｜DSML｜invoke name="f">` with
 * `<｜DSML｜parameter name="key" string="true">value</｜DSML｜parameter>`. The bars are full-width ones, single or doubled,
 * or ASCII. `string` says whether a value is text or JSON.
 *
 * @see https://huggingface.co/deepseek-ai/DeepSeek-V3.2/blob/main/encoding/encoding_dsv32.py
 */
export const dsml: TextDialect = {
  name: "dsml",
  markers: MARKS.flatMap((mark) => [...SECTIONS.map((section) => `<${mark}${section}>`), `<${mark}invoke`]),
  start: (writer, context) => (marker) => {
    const mark = MARKS.find(
      (known) => marker.startsWith(`<${known}`) && /^[a-z]/.test(marker.slice(known.length + 1)),
    )!;
    return new DsmlBlock(mark, marker.endsWith("invoke"), writer, context);
  },
  leaks: dsmlLeaks(MARKS),
  toolName: anyName,
  ends: MARKS.flatMap((mark) => SECTIONS.map((section) => `</${mark}${section}>`)),
  countResults: (message) => countOf(message, "<function_results>") && message.split("<result>").length - 1,
  describe: (tools) => `## Tools

You can call these functions. Each line describes one of them, with its parameters as a JSON Schema:

<functions>
${toolLines(tools)}
</functions>

To call functions, write one block in exactly this form:

<${MARK}function_calls>
<${MARK}invoke name="function_name">
<${MARK}parameter name="parameter_name" string="true|false">value</${MARK}parameter>
</${MARK}invoke>
</${MARK}function_calls>

Values of strings are written as they are, with string="true"; all others as JSON, with string="false". The results come back in a <function_results> block, in the order of the calls.`,
  writeCalls: (calls) => {
    const invokes = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) =>
          `<${MARK}parameter name="${key}" string="${typeof value === "string"}">${outputText(value)}</${MARK}parameter>\n`,
      );
      return `<${MARK}invoke name="${name}">\n${parameters.join("")}</${MARK}invoke>\n`;
    });
    return `<${MARK}function_calls>\n${invokes.join("")}</${MARK}function_calls>`;
  },
  writeResults(results) {
    const list = results.map(({ output, isError }) => {
      const text = outputText(isError ? { error: output } : output);
      return `<result>${withoutMarks(text, RESULT_MARKS)}</result>\n`;
    });
    return `<function_results>\n${list.join("")}</function_results>`;
  },
};

const RESULT_MARKS = [
  "</result>",
  "<result>",
  "</function_results>",
  "<function_results>",
  ...MARKS.flatMap((mark) => [`<${mark}`, `</${mark}`]),
];

/** A tag with its attributes is no longer than this. */
const MAX_TAG = 240;

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly attributes: string;
  /** Where it ends. */
  readonly end: number;
}

class DsmlBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #mark: string;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  /** A call that stands alone, without a section around it. */
  readonly #isAlone: boolean;
  #call: CallWriter | undefined;
  #args: TypedArguments | undefined;
  /** Arguments that are one JSON object, in place of parameters. */
  #json: JsonBlock | undefined;
  #expected: "tag" | "value" | "nothing" = "tag";
  /** The calls that the value is about. */
  #quoted = new QuotedCalls();

  constructor(mark: string, isAlone: boolean, writer: BlockWriter, context: TextContext) {
    this.#mark = mark;
    this.#isAlone = isAlone;
    this.#writer = writer;
    this.#context = context;
  }

  read(text: string, at: number): number {
    if (this.state === "head") return this.#decide(text, at);
    if (this.#json !== undefined) return this.#readJson(this.#json, text, at);
    switch (this.#expected) {
      case "tag":
        return this.#readTag(text, at);
      case "value":
        return this.#readValue(text, at);
      case "nothing":
        return this.#skip(text, at);
    }
  }

  end(rest: string): string | undefined {
    if (this.state === "head" && rest.trim() === "") return undefined;
    if (this.#json !== undefined) return this.#json.end(rest);
    const isUnsure = this.#context.isWhole && this.#expected === "value" && this.#quoted.hasBegun;
    if (this.#call !== undefined) this.#call.cut(isUnsure ? NO_END : undefined);
    else if (this.state === "head" || rest.trim() !== "") this.#writer.call().cut();
    this.state = "closed";
    return undefined;
  }

  /** A tag of the notation, or the attributes of the one that has begun. */
  #decide(text: string, at: number): number {
    if (this.#isAlone) {
      const close = text.indexOf(">", at);
      if (close < 0) return at;
      const attributes = text.slice(at, close);
      this.state = attributeOf(attributes, "name") === undefined ? "none" : "open";
      return this.state === "open" ? this.#beginCall(attributes, close + 1) : at;
    }
    const tag = this.#tagAt(text, skipSpace(text, at));
    if (tag !== "maybe") this.state = tag === undefined ? "none" : "open";
    return this.state === "open" ? this.#readTag(text, at) : at;
  }

  #readTag(text: string, from: number): number {
    const at = skipSpace(text, from);
    const tag = this.#tagAt(text, at);
    if (tag === "maybe") return at;
    if (tag === undefined) {
      if (text[at] !== "{" || this.#args?.isEmpty !== true) return this.#strange(text, at);
      this.#json = this.#jsonOf(this.#call!);
      return this.#readJson(this.#json, text, at);
    }
    const { name, isEnd, attributes, end } = tag;
    if (name === "invoke" && !isEnd && this.#call === undefined) return this.#beginCall(attributes, end);
    if (name === "invoke" && isEnd && this.#call !== undefined) {
      this.#endCall();
      return end;
    }
    if (name === "parameter" && !isEnd && this.#call !== undefined) {
      const key = attributeOf(attributes, "name");
      const isString = attributeOf(attributes, "string");
      if (key === undefined) return this.#strange(text, at);
      this.#args!.begin(key, isString === "true" ? "string" : isString === "false" ? "json" : undefined);
      this.#quoted = new QuotedCalls();
      this.#expected = "value";
      return end;
    }
    if (isEnd && this.#call === undefined) {
      this.state = "closed";
      return end;
    }
    return this.#strange(text, at);
  }

  #beginCall(attributes: string, end: number): number {
    const name = attributeOf(attributes, "name") ?? "";
    this.#call = this.#writer.call();
    this.#call.name(name);
    this.#args = new TypedArguments(this.#call, this.#context.tool(name), this.#context);
    if (isEmptyTag(attributes)) this.#endCall();
    return end;
  }

  #endCall(): void {
    this.#args!.close();
    this.#call!.done();
    this.#leaveCall();
  }

  #leaveCall(): void {
    this.#call = this.#args = undefined;
    if (this.#isAlone) this.state = "closed";
  }

  /** As models write them now and then: https://github.com/sgl-project/sglang/issues/38924 */
  #jsonOf(call: CallWriter): JsonBlock {
    return new JsonBlock({
      head: (_, at) => at,
      begin: () => argumentsOf(call),
      ends: [`</${this.#mark}invoke>`],
      context: this.#context,
      cutHead: () => call.cut(),
    });
  }

  #readJson(json: JsonBlock, text: string, from: number): number {
    const at = json.read(text, from);
    if (json.state === "closed") {
      this.#json = undefined;
      this.#leaveCall();
    }
    return at;
  }

  /** Something that has no place here: the block ends, or what is left of the call that is open means nothing. */
  #strange(text: string, at: number, reason = "something else stands between its parameters"): number {
    if (this.#call === undefined) {
      this.state = "closed";
      return at;
    }
    this.#call.unreadable(reason);
    this.#expected = "nothing";
    return this.#skip(text, at);
  }

  #skip(text: string, from: number): number {
    const { at, word } = find(text, from, [`</${this.#mark}invoke>`]);
    if (word === undefined) return at;
    this.#expected = "tag";
    this.#leaveCall();
    return at + word.length;
  }

  #readValue(text: string, from: number): number {
    for (let at = from; ;) {
      const { at: begin } = find(text, at, [`<${this.#mark}`, `</${this.#mark}`]);
      this.#quoted.pass(text.slice(at, begin));
      const tag = this.#tagAt(text, begin);
      const meaning = typeof tag === "object" ? this.#meaningOf(tag, text) : (tag ?? "text");
      at = meaning === "quoted" && typeof tag === "object" ? tag.end : begin + 1;
      if (meaning === "text" || meaning === "quoted") continue;
      this.#args!.piece(text.slice(from, begin));
      if (meaning === "unclosed") return this.#strange(text, begin, `a value has no </${this.#mark}parameter>`);
      if (meaning === "maybe" || typeof tag !== "object") return begin;
      this.#args!.end();
      this.#expected = "tag";
      return tag.end;
    }
  }

  /**
   * What a tag in a value means. It is the value's end only where something of the call follows; where that end is
   * missing, the value would go on into the next parameter, or the next call. A call that begins in the value is written
   * about, with all its tags.
   */
  #meaningOf({ name, isEnd, attributes, end }: Tag, text: string): TagMeaning {
    const quoted = this.#quoted;
    if (name === "parameter" && isEnd) {
      const at = skipSpace(text, end);
      const next = at - end > MAX_TAG ? undefined : this.#tagAt(text, at);
      if (next === "maybe") return "maybe";
      const isFollowed = next !== undefined && (next.name === "parameter" ? !next.isEnd : next.isEnd);
      if (isFollowed && quoted.hasEnded && quoted.isIn) return "unclosed";
      if (quoted.endParameter(isFollowed)) return "quoted";
      return isFollowed ? "end" : "text";
    }
    if (name === "parameter") {
      if (!quoted.isIn && this.#args!.lacks(attributeOf(attributes, "name") ?? "")) return "unclosed";
      quoted.beginParameter();
      return "quoted";
    }
    if (name !== "invoke" || isEmptyTag(attributes)) return "text";
    if (!isEnd) quoted.beginCall();
    if (!isEnd || quoted.endCall()) return "quoted";
    const next = this.#nextCall(text, end);
    if (next === "text") quoted.hasEnded = true;
    return next;
  }

  /** Whether another call follows the end of one: in the same section, or in the next. */
  #nextCall(text: string, behind: number): TagMeaning {
    for (let at = behind; ;) {
      at = skipSpace(text, at);
      const tag = at - behind > MAX_TAG ? undefined : this.#tagAt(text, at);
      if (typeof tag !== "object") return tag ?? "text";
      if (tag.name === "invoke" && !tag.isEnd) return "unclosed";
      if (!SECTIONS.includes(tag.name)) return "text";
      at = tag.end;
    }
  }

  #tagAt(text: string, at: number): Tag | "maybe" | undefined {
    const isEnd = text[at + 1] === "/";
    const begin = `<${isEnd ? "/" : ""}${this.#mark}`;
    const left = text.slice(at, at + begin.length);
    if (left !== begin) return begin.startsWith(left) ? "maybe" : undefined;
    const close = indexWithin(text, ">", at, MAX_TAG + 1);
    const tag = text.slice(at + 1, close < 0 ? undefined : close);
    // One that goes on into another tag is none: code that looks for such tags.
    if (tag.length >= MAX_TAG || tag.includes("<")) return undefined;
    if (close < 0) return "maybe";
    const [, name = "", attributes = ""] = /^([a-z_]*)(.*)$/s.exec(text.slice(at + begin.length, close)) ?? [];
    if (isEnd && attributes.trim() !== "") return undefined;
    return { name, isEnd, attributes, end: close + 1 };
  }
}

/** How V4 writes calls without parameters now and then: https://github.com/sgl-project/sglang/pull/23915 */
function isEmptyTag(attributes: string): boolean {
  return attributes.endsWith("/");
}

function attributeOf(attributes: string, name: string): string | undefined {
  return new RegExp(`\\b${name}\\s*=\\s*"([^"]*)"`).exec(attributes)?.[1];
}
