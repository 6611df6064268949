import { find, look, lookFor, skipSpace } from "../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../src/text/writer.ts";
import { argumentsOf, JsonBlock } from "./block.ts";
import { QuotedCalls } from "./quoted.ts";
import { TypedArguments, type ValueType } from "./typed.ts";

/** A tag of a call, of one of its parameters, or of the section around calls. */
export interface Tag {
  readonly kind: "call" | "parameter" | "section";
  readonly isEnd: boolean;
  /** The name in a begin tag. Without one, a tag has begun but is malformed: `<parameter=city</parameter>`. */
  readonly name?: string | undefined;
  /** What a parameter says about its value. */
  readonly type?: ValueType;
  /** A call that consists of this one tag. */
  readonly isWhole?: boolean;
  /** Where it ends. */
  readonly end: number;
}

/** A notation in which calls and parameters are tags, and values are plain text. */
export interface TagNotation {
  /**
   * The tag that begins here, like all with the first character of `close`; `maybe` while it could become one.
   *
   * @param isInValue whether this is a value, which may be code that contains such tags or looks for them
   */
  tagAt(text: string, at: number, isInValue: boolean): Tag | "maybe" | undefined;
  /** What begins a tag that ends something. */
  readonly close: string;
  readonly callEnd: string;
  /** What only begins another call or section: arguments that are JSON end there, too. */
  readonly nexts: readonly string[];
  readonly parameterEnd: string;
  readonly sectionEnds: readonly string[];
  /**
   * What is not part of a value where it begins, and where it ends: both, or neither. White space may stand around them,
   * unless that is what they are.
   */
  readonly around?: readonly [begin: string, end: string];
  /** Only what follows distinguishes a call without a section from another notation, or other XML. */
  readonly isCommon: boolean;
  /**
   * What all tags begin with where the ends of parameters have names, too. A parameter may then have others in it, lists
   * and objects; and a model may write nothing else of the tag that begins one.
   */
  readonly mark?: string;
}

/** How much white space after a tag to wait through. */
const MAX_SPACE = 128;

const INCOMPLETE = "the tag of a parameter is incomplete";

/** Why a call that the model may well have ended is treated as cut off. */
const NO_END = "a value has no end, or quotes a call or a parameter that has none";

/** A tag in a value: its end, a sign that it has none, or two, part of a quoted call, of the value itself, or its text. */
type TagMeaning = "end" | "unclosed" | "doubled" | "quoted" | "inner" | "text" | "maybe";

/** Calls in a section, or a single call. */
export class TagBlock implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #notation: TagNotation;
  /** The beginning of the tag of a single call; "" after that of a section. */
  readonly #marker: string;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  /** How elements of a value's own begin that are named like a parameter: `<parameter>`. */
  readonly #elements: readonly string[];
  #call: CallWriter | undefined;
  #args: TypedArguments | undefined;
  /** Arguments that are one JSON object instead of parameters. */
  #json: JsonBlock | undefined;
  #expected: "tag" | "value" | "unnamed" | "nothing" = "tag";
  /** What is not part of the value at its beginning, until that has been read. */
  #lead = "";
  /** What is not part of it at its end; all of that, or its beginning, held back. */
  #tail = "";
  #held = "";
  /** The names of the parameters that are open. */
  #path: string[] = [];
  /** The calls that the value quotes. */
  #quoted = new QuotedCalls();

  constructor(notation: TagNotation, marker: string, writer: BlockWriter, context: TextContext) {
    this.#notation = notation;
    this.#marker = marker;
    this.#writer = writer;
    this.#context = context;
    const begin = notation.parameterEnd.replace("/", "").slice(0, -1);
    this.#elements = [`${begin}>`, `${begin} `];
  }

  read(text: string, at: number): number {
    if (this.state === "head") return this.#decide(text, at);
    if (this.#json !== undefined) return this.#readJson(this.#json, text, at);
    switch (this.#expected) {
      case "tag":
        return this.#call === undefined ? this.#readSection(text, at) : this.#readTag(text, at);
      case "value":
        return this.#readValue(text, at);
      case "unnamed":
        return this.#readUnnamed(text, at);
      case "nothing":
        return this.#skip(text, at);
    }
  }

  end(rest: string): string | undefined {
    // A line break behind a word may show that it is none, such as the last one of a sentence.
    const isWord = this.state === "head" && !rest.includes(this.#notation.close[0]!);
    if (isWord && this.#context.isWhole) this.#decide(`${rest}\n`, 0);
    if (this.state === "none" || (this.state === "head" && rest.trim() === "")) return undefined;
    if (this.#json !== undefined) return this.#json.end(rest);
    const isUnsure = this.#context.isWhole && this.#expected === "value" && this.#quoted.hasBegun;
    if (this.#call !== undefined) this.#call.cut(isUnsure ? NO_END : undefined);
    // Any tag but an end.
    else if (this.state === "head" || look(rest, skipSpace(rest, 0), this.#notation.close) === "no") {
      this.#writer.call().cut();
    }
    this.state = "closed";
    return undefined;
  }

  #decide(text: string, at: number): number {
    const head = this.#marker + text.slice(at);
    const tag = this.#notation.tagAt(head, skipSpace(head, 0), false);
    if (tag === "maybe") return at;
    const isCall = tag !== undefined && isBegin(tag, "call") && this.#isCall(tag, head);
    if (isCall === "maybe") return at;
    this.state = isCall ? "open" : "none";
    if (!isCall) return at;
    this.#beginCall(tag);
    return at + tag.end - this.#marker.length;
  }

  #isCall({ name, isWhole, end }: Tag, head: string): boolean | "maybe" {
    if (name === undefined) return false;
    if (this.#marker === "" || !this.#notation.isCommon) return true;
    const next = isWhole === true ? undefined : this.#notation.tagAt(head, skipSpace(head, end), false);
    return next === "maybe" ? next : next !== undefined && (isBegin(next, "parameter") || isEnd(next, "call"));
  }

  /** Between two calls, or after the last one. The end of the section may be missing. */
  #readSection(text: string, from: number): number {
    // Without sections, each call is a block.
    if (this.#notation.sectionEnds.length === 0) {
      this.state = "closed";
      return from;
    }
    const at = skipSpace(text, from);
    const isText = at - from > MAX_SPACE || (at < text.length && text[at] !== this.#notation.close[0]);
    const tag = isText ? undefined : this.#notation.tagAt(text, at, false);
    if (tag === "maybe") return from;
    if (tag !== undefined && isBegin(tag, "call") && tag.name !== undefined && this.#marker === "") {
      this.#beginCall(tag);
      return tag.end;
    }
    this.state = "closed";
    return tag !== undefined && isEnd(tag, "section") ? tag.end : from;
  }

  #beginCall({ name = "", isWhole }: Tag): void {
    this.#call = this.#writer.call();
    this.#call.name(name);
    this.#args = new TypedArguments(this.#call, this.#context.tool(name), this.#context);
    if (isWhole === true) this.#endCall();
  }

  #endCall(): void {
    this.#args!.close();
    this.#call!.done();
    this.#call = this.#args = undefined;
  }

  #readTag(text: string, from: number): number {
    const at = skipSpace(text, from);
    const tag = this.#notation.tagAt(text, at, false);
    if (tag === "maybe") return at;
    if (text[at] === "{" && this.#args!.isEmpty) {
      this.#json = this.#jsonOf(this.#call!);
      return this.#readJson(this.#json, text, at);
    }
    if (tag !== undefined && isEnd(tag, "call")) {
      this.#endCall();
      return tag.end;
    }
    if (tag === undefined || !isBegin(tag, "parameter")) {
      return this.#refuse("it has something else between its parameters", text, at);
    }
    if (tag.name === undefined) {
      const { mark } = this.#notation;
      if (mark === undefined || tag.end !== at + mark.length) return this.#refuse(INCOMPLETE, text, at);
      this.#held = "";
      this.#expected = "unnamed";
      return tag.end;
    }
    this.#args!.begin(tag.name, tag.type);
    [this.#lead, this.#tail] = this.#notation.around ?? ["", ""];
    if (text[tag.end - 1] === this.#lead) this.#lead = "";
    this.#held = "";
    this.#path = [tag.name];
    this.#quoted = new QuotedCalls();
    this.#expected = "value";
    return tag.end;
  }

  /** The text of a parameter that only its end names. */
  #readUnnamed(text: string, from: number): number {
    const { at, word } = find(text, from, [this.#notation.mark!]);
    this.#held += text.slice(from, at);
    const tag = word === undefined ? "maybe" : this.#notation.tagAt(text, at, true);
    if (this.#held.length > this.#context.limits.maxArgumentsLength) return this.#refuse(INCOMPLETE, text, at);
    if (tag === "maybe") return at;
    const name = tag !== undefined && isEnd(tag, "parameter") ? tag.name : undefined;
    if (name === undefined || !this.#args!.lacks(name)) return this.#refuse(INCOMPLETE, text, at);
    this.#args!.begin(name);
    this.#args!.piece(this.#held);
    this.#args!.end();
    this.#expected = "tag";
    return tag!.end;
  }

  /** Models sometimes write them this way: https://github.com/sgl-project/sglang/issues/38924 */
  #jsonOf(call: CallWriter): JsonBlock {
    const head = (_: string, json: number) => ({ json, begin: () => argumentsOf(call) });
    const { callEnd, nexts, sectionEnds } = this.#notation;
    const parts = { head, ends: [callEnd], nexts: [...nexts, ...sectionEnds] };
    return new JsonBlock(parts, this.#writer, this.#context);
  }

  #readJson(json: JsonBlock, text: string, from: number): number {
    const at = json.read(text, from);
    if (json.state !== "closed") return at;
    this.#json = this.#call = this.#args = undefined;
    return this.#readSection(text, at);
  }

  /** Everything up to the end of the call belongs to it, and is ignored. */
  #refuse(reason: string, text: string, at: number): number {
    this.#call!.unreadable(reason);
    this.#expected = "nothing";
    return this.#skip(text, at);
  }

  #skip(text: string, from: number): number {
    const { callEnd, sectionEnds } = this.#notation;
    const { at, word } = find(text, from, [callEnd, ...sectionEnds]);
    if (word === undefined) return at;
    this.#expected = "tag";
    this.#call = this.#args = undefined;
    return word === callEnd ? at + word.length : this.#readSection(text, at);
  }

  #readValue(text: string, from: number): number {
    const first = this.#lead.length > 1 ? skipSpace(text, from) : from;
    const lead = first - from > MAX_SPACE ? "no" : look(text, first, this.#lead);
    if (lead === "maybe") return from;
    if (lead === "yes") from = first + this.#lead.length;
    else this.#tail = "";
    this.#lead = "";
    for (let at = from; ;) {
      const begin = text.indexOf(this.#notation.close[0]!, at);
      this.#quoted.pass(text.slice(at, begin < 0 ? undefined : begin));
      if (begin < 0) return this.#pass(text, from, text.length);
      const tag = this.#isCovered(text, from, begin) ? undefined : this.#notation.tagAt(text, begin, true);
      let meaning = typeof tag === "object" ? this.#meaningOf(tag, text) : (tag ?? "text");
      if (meaning === "text" && (tag as Tag | undefined)?.isEnd !== true) meaning = this.#element(text, begin);
      at = meaning === "quoted" ? (tag as Tag).end : begin + 1;
      if (meaning === "text" || meaning === "quoted") continue;
      this.#pass(text, from, begin);
      if (meaning === "maybe") return begin;
      const { parameterEnd } = this.#notation;
      if (meaning === "unclosed") return this.#refuse(`a value has no ${parameterEnd}`, text, begin);
      if (meaning === "doubled") return this.#refuse(`a value has two ${parameterEnd} in a row`, text, begin);
      const { kind, name, isEnd: isOver, end } = tag as Tag;
      if (meaning === "inner" && !isOver && kind !== "parameter") this.#call!.unreadable("a value has a call in it");
      if (isOver) this.#args!.end();
      else this.#args!.begin(name ?? "");
      from = at = end;
      if (meaning === "inner") continue;
      this.#expected = "tag";
      return end;
    }
  }

  /** Counts the elements of the value's own that are named like a parameter. */
  #element(text: string, at: number): "text" | "maybe" {
    const found = lookFor(text, at, this.#elements);
    if (found === "maybe") return found;
    if (found !== undefined) this.#quoted.elements++;
    return "text";
  }

  /** Whether the value can end only behind something that has not come right before. */
  #isCovered(text: string, from: number, at: number): boolean {
    if (this.#tail.length <= 1) return false;
    const length = this.#tail.length + MAX_SPACE;
    const before = this.#held + text.slice(Math.max(from, at - length), at);
    return !before.slice(-length).trimEnd().endsWith(this.#tail);
  }

  /**
   * A tag in a value ends it only if a parameter or the end of the call or section follows: a value that is code may
   * contain such tags. Models do leave the end out, and servers close the value for them
   * (https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/qwen3coder_tool_parser.py); but what they meant
   * is unknown, so the call is an error. So is one whose value has two ends in a row: the second may be a slip of the
   * model (https://github.com/ggml-org/llama.cpp/issues/24807), or the first may end an element that the value quotes in
   * part. A call that begins in the value is quoted, with all its tags.
   */
  #meaningOf(tag: Tag, text: string): TagMeaning {
    if (this.#notation.mark !== undefined) return this.#nesting(tag);
    const quoted = this.#quoted;
    if (isEnd(tag, "parameter")) {
      const next = this.#next(tag, text);
      if (next === "maybe") return "maybe";
      const isFollowed =
        next !== undefined && (isBegin(next, "parameter") || (next.isEnd && next.kind !== "parameter"));
      if (isFollowed && quoted.hasEnded && quoted.isIn) return "unclosed";
      const { isDoubled } = quoted;
      if (quoted.endParameter(isFollowed, next !== undefined && isEnd(next, "parameter"))) return "quoted";
      return !isFollowed ? "text" : isDoubled ? "doubled" : "end";
    }
    if (tag.kind === "section" || tag.isWhole === true || (!tag.isEnd && tag.name === undefined)) return "text";
    if (tag.kind === "parameter") {
      if (!quoted.isIn && this.#args!.lacks(tag.name!)) return "unclosed";
      quoted.beginParameter();
      return "quoted";
    }
    if (!tag.isEnd) quoted.beginCall();
    if (!tag.isEnd || quoted.endCall()) return "quoted";
    const next = this.#nextCall(tag, text);
    if (next === "text") quoted.hasEnded = true;
    return next;
  }

  /** A call in a value is read to its end with all its tags, so that nothing in it runs; what was meant is unknown. */
  #nesting({ kind, isEnd: isOver, name }: Tag): TagMeaning {
    const key = kind === "parameter" ? name : kind;
    if (key === undefined) return "unclosed";
    if (isOver) {
      if (this.#path.pop() !== key) return "unclosed";
    } else this.#path.push(key);
    return this.#path.length === 0 ? "end" : "inner";
  }

  /** Whether another call follows the end of one, in the same section or in the next. */
  #nextCall(tag: Tag, text: string): TagMeaning {
    let next = this.#next(tag, text);
    while (typeof next === "object" && next.kind === "section") next = this.#next(next, text, tag.end);
    if (typeof next !== "object") return next ?? "text";
    return isBegin(next, "call") ? "unclosed" : "text";
  }

  #next({ end }: Tag, text: string, from = end): Tag | "maybe" | undefined {
    const at = skipSpace(text, end);
    return at - from > MAX_SPACE ? undefined : this.#notation.tagAt(text, at, false);
  }

  #pass(text: string, from: number, until: number): number {
    const piece = this.#held + text.slice(from, until);
    const end = this.#tailAt(piece);
    this.#args!.piece(piece.slice(0, end));
    this.#held = piece.slice(end);
    return until;
  }

  /** Where the end begins that may not be part of the value. */
  #tailAt(piece: string): number {
    const tail = this.#tail;
    const end = tail.length > 1 ? piece.trimEnd().length : 0;
    if (end > 0 && piece.length - end <= MAX_SPACE && piece.startsWith(tail, end - tail.length)) {
      return end - tail.length;
    }
    let at = Math.max(0, piece.length - tail.length);
    while (!tail.startsWith(piece.slice(at))) at++;
    return at;
  }
}

function isBegin(tag: Tag, kind: Tag["kind"]): boolean {
  return tag.kind === kind && !tag.isEnd;
}

function isEnd(tag: Tag, kind: Tag["kind"]): boolean {
  return tag.kind === kind && tag.isEnd;
}
