import { jsonIn } from "../../src/json/index.ts";
import { isSpace, skipSpace } from "../../src/text/look.ts";
import type { TextContext } from "../../src/text/notation.ts";
import { UNESCAPED, type BlockWriter, type CallWriter } from "../../src/text/writer.ts";
import { JsonBlock, type Head, type JsonBlockParts, type JsonConsumer } from "./block.ts";
import { takesArguments } from "./typed.ts";
import { ValueEnd } from "./value.ts";

/** What stands around such objects, and what is in them. */
export interface EnvelopeForm extends Pick<JsonBlockParts, "ends" | "nexts"> {
  /** Where the objects end, the block does, once what follows shows that it does not go on. */
  readonly endsWithLine?: boolean | undefined;
  /** There is one object, or one list of them, and it ends by itself. */
  readonly isSingle?: boolean | undefined;
  /** The only key of a call is its name: `{"f": {…}}`. */
  readonly isKeyed?: boolean | undefined;
  /** The key of the arguments, besides the usual ones. */
  readonly argumentsKey?: string | undefined;
  /** Whether the objects that begin here are calls, if their first bracket does not tell. */
  areCalls?(text: string, json: number): "yes" | "maybe" | "none";
}

/** A block of objects that are calls. */
export function envelopeBlock(
  { areCalls, ...form }: EnvelopeForm,
  writer: BlockWriter,
  context: TextContext,
): JsonBlock {
  const head = (text: string, at: number) => {
    const found = headOfEnvelopes(text, at, form);
    const are = typeof found === "string" ? "yes" : (areCalls?.(text, found.json) ?? "yes");
    return are === "yes" ? found : are;
  };
  return new JsonBlock({ ...form, head }, writer, context);
}

/**
 * `{` or `[{`, followed by the beginning of a key: a quote, or a letter if the model forgot the quote. A second brace
 * (leehack/llamadart#43) needs the quote: `{{ name }}` is a variable of a template.
 */
export function headOfEnvelopes(
  text: string,
  at: number,
  { endsWithLine, ...keys }: Omit<EnvelopeForm, "ends">,
): Head | "maybe" | "none" {
  const json = skipSpace(text, at);
  let next = json;
  if (text[next] === "[") next = skipSpace(text, next + 1);
  if (next >= text.length) return "maybe";
  if (text[next] !== "{") return "none";
  next = skipSpace(text, next + 1);
  const isDoubled = text[next] === "{";
  if (isDoubled) next = skipSpace(text, next + 1);
  if (next >= text.length) return "maybe";
  return (isDoubled ? /["']/ : /["'a-zA-Z_]/).test(text[next]!)
    ? { json, begin: (writer, context) => new Envelopes(writer, context, keys), endsWithLine }
    : "none";
}

/**
 * Reads one or several objects that are calls, in a list or in sequence: `{"name": …, "arguments": {…}}`. The arguments
 * are passed on as they come, the name and the id once they are complete. `parameters` is another name for arguments,
 * and all of it may be inside an object `function`.
 */
export class Envelopes implements JsonConsumer {
  readonly isSequence: boolean;
  /** Begun, but not closed. */
  #call: CallWriter | undefined;
  /** Closed. The last one is not ended: the next call or the end of the block does that. */
  readonly #closed: CallWriter[] = [];
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  readonly #maxKept: number;
  /** The end of the object ends the call. */
  #isAlone: boolean;
  readonly #isKeyed: boolean;
  readonly #argumentsKey: string | undefined;
  #expected: "object" | "first" | "key" | "in key" | "colon" | "value" | "in value" | "next" = "object";
  #key = "";
  #quote = 0;
  /** Objects that hold parts of the call: `{"function": {…}}`, or all of it: `{{…}}`. */
  #depth = 0;
  #value = new ValueEnd();
  #kept = "";
  /** The arguments come as a string, encoded once more: they are decoded once complete. */
  #isText = false;
  #id: string | undefined;
  #name: string | undefined;
  #hasArguments = false;
  /** The first unknown key: if there are no arguments, that is where the model put them. */
  #strange: string | undefined;

  constructor(writer: BlockWriter, context: TextContext, keys: Omit<EnvelopeForm, "ends"> = {}) {
    this.#writer = writer;
    this.#context = context;
    this.isSequence = keys.isSingle !== true;
    this.#isAlone = !this.isSequence;
    this.#isKeyed = keys.isKeyed === true;
    this.#argumentsKey = keys.argumentsKey;
    // One more than allowed, so that the buffer reports it.
    this.#maxKept = context.limits.maxArgumentsLength + 1;
  }

  get isUnquoted(): boolean {
    return this.#call === undefined;
  }

  feed(text: string): void {
    for (let at = 0; at < text.length;) at = this.#step(text, at);
  }

  /** The block is over: the model has ended what is closed, and an unclosed call is malformed. */
  end(): void {
    this.balanced();
    this.#last?.done();
  }

  balanced(): void {
    if (this.#call !== undefined) this.#refuse("the JSON is not closed where the call ends");
  }

  second(): void {
    this.#last?.unreadable(UNESCAPED);
  }

  /** All of it turned out not to be calls, also those that have ended. */
  unreadable(reason: string): void {
    for (const call of this.#closed) call.unreadable(reason);
    this.#call?.unreadable(reason);
  }

  /** The text is over. */
  cut(): void {
    this.#last?.cut();
    this.#call?.cut();
  }

  get #last(): CallWriter | undefined {
    return this.#closed.at(-1);
  }

  #step(text: string, at: number): number {
    const code = text.charCodeAt(at);
    switch (this.#expected) {
      case "object":
        if (code === OPEN) this.#begin();
        else if (code === OPEN_LIST) this.#isAlone = false;
        // In a list of calls, a comma or the end of the list ends the call before it.
        else if (code === COMMA || code === CLOSE_LIST) this.#last?.done();
        else if (code === DOUBLE) this.second();
        return at + 1;
      case "next":
        if (isSpace(code)) return at + 1;
        if (this.#hasArguments && code !== COMMA && code !== CLOSE) this.#refuse(UNESCAPED);
        this.#expected = "key";
        return at;
      case "first":
        if (isSpace(code)) return at + 1;
        this.#expected = "key";
        if (code !== OPEN) return at;
        this.#depth++;
        return at + 1;
      case "key":
        if (isSpace(code) || code === COMMA) return at + 1;
        if (code === CLOSE) return this.#close(at);
        this.#expected = "in key";
        this.#key = "";
        this.#quote = code === DOUBLE || code === SINGLE ? code : 0;
        return this.#quote === 0 ? at : at + 1;
      case "in key":
        return this.#readKey(text, at);
      case "colon":
        if (code === COLON) this.#expected = "value";
        else if (!isSpace(code)) this.#refuse(UNESCAPED);
        return at + 1;
      case "value":
        if (isSpace(code)) return at + 1;
        if (this.#isKeyed) this.#nameByKey();
        else if (this.#key === "function" && code === OPEN) {
          this.#depth++;
          this.#expected = "key";
          return at + 1;
        }
        if (this.#areArguments) this.#hasArguments = true;
        else if (!KNOWN.includes(this.#key)) this.#strange ??= this.#key;
        this.#expected = "in value";
        this.#value = new ValueEnd();
        this.#kept = "";
        this.#isText = code === DOUBLE;
        return at;
      case "in value":
        return this.#readValue(text, at);
    }
  }

  #nameByKey(): void {
    if (this.#name !== undefined) this.#call!.unreadable(`it has the name ${JSON.stringify(this.#name)}, and another`);
    else this.#named((this.#name = this.#key));
    this.#key = "arguments";
  }

  /** Only now it is a call, which ends the one before it: without a name, it may be the rest of a string in that. */
  #named(name: string): void {
    this.#last?.done();
    this.#call!.name(name, this.#id);
  }

  #refuse(reason: string): void {
    if (!this.#call!.hasName()) this.second();
    this.#call!.unreadable(reason);
  }

  #begin(): void {
    this.#call = this.#writer.call();
    this.#id = this.#name = this.#strange = undefined;
    this.#hasArguments = false;
    this.#depth = 1;
    this.#expected = "first";
  }

  #close(at: number): number {
    if (--this.#depth === 0) {
      if (this.#strange !== undefined && this.#lacksArguments()) {
        this.#call!.unreadable(`it has ${JSON.stringify(this.#strange)}, but no "arguments": all of them belong there`);
      }
      // What has no name by now will have none.
      const isNamed = this.#call!.hasName();
      if (!isNamed) this.second();
      if (!isNamed || this.#isAlone) this.#call!.done();
      this.#closed.push(this.#call!);
      this.#call = undefined;
      this.#expected = "object";
    }
    return at + 1;
  }

  /** Missing arguments are fine if the tool has no parameters. */
  #lacksArguments(): boolean {
    if (this.#name === undefined || this.#hasArguments) return false;
    return takesArguments(this.#context.tool(this.#name));
  }

  #readKey(text: string, at: number): number {
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#quote === 0 ? code === COLON || isSpace(code) : code === this.#quote) {
        this.#expected = "colon";
        return this.#quote === 0 ? at : at + 1;
      }
      if (this.#quote === 0 && /["'{}()[\],]/.test(text[at]!)) this.#refuse(UNESCAPED);
      if (this.#key.length < MAX_KEY) this.#key += text[at]!;
    }
    return at;
  }

  #readValue(text: string, from: number): number {
    const at = this.#value.read(text, from);
    const piece = text.slice(from, at);
    if (this.#areArguments && !this.#isText) this.#call!.args(piece);
    else if (this.#kept.length < this.#maxKept) this.#kept += piece;
    if (!this.#value.isClosed) return at;
    this.#endValue();
    this.#expected = "next";
    return at;
  }

  get #areArguments(): boolean {
    return this.#key === "arguments" || this.#key === "parameters" || this.#key === this.#argumentsKey;
  }

  #endValue(): void {
    const key = this.#key;
    if (NAMES.includes(key)) {
      this.#name ??= textOf(this.#kept).trim();
      // The id may follow, but models that send one usually send it first, and readers wait for the name.
      this.#named(this.#name);
    } else if (IDS.includes(key)) this.#id ??= textOf(this.#kept);
    else if (this.#areArguments && this.#isText) this.#call!.args(textOf(this.#kept));
  }
}

/** Longer than any name. */
const MAX_KEY = 256;

const DOUBLE = 34;
const SINGLE = 39;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN = 123;
const CLOSE = 125;

const NAMES = ["name", "function", "tool_name"];
const IDS = ["id", "call_id", "tool_call_id"];
/** Those, and the other keys of a call in OpenAI's wire format. */
const KNOWN = [...NAMES, ...IDS, "type", "index"];

/** The text of a JSON string; anything else unchanged. */
function textOf(json: string): string {
  const value = jsonIn(json);
  if (typeof value === "string") return value;
  return json.startsWith("'") ? json.slice(1, -1) : json;
}
