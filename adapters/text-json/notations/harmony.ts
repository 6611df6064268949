import { countOf, type TextDialect } from "../../../src/text/dialect.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter, CallWriter } from "../../../src/text/writer.ts";
import { TWO_VALUES } from "../block.ts";
import { anyName, offer, resultText } from "../prompt.ts";
import { UntilMarker } from "../until.ts";

const START = "<|start|>";
const CHANNEL = "<|channel|>";
const RECIPIENT = "to=functions.";
const MESSAGE = "<|message|>";
const CALL = "<|call|>";
const END = "<|end|>";
const RETURN = "<|return|>";

/**
 * gpt-oss: everything is said in messages with a channel, and a call is a message to a function:
 * `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`. The recipient may come before the
 * channel; an answer whose `<|start|>assistant` was in the prompt then begins with it. Calls also come on the channel
 * `analysis`. Anything else on that channel is reasoning, the rest is text.
 * `<|call|>` ends the generation, so servers may not show it: then the end of the turn decides.
 *
 * @see https://developers.openai.com/cookbook/articles/openai-harmony
 */
export const harmony: TextDialect = {
  markers: [START, CHANNEL, RECIPIENT],
  leading: [RECIPIENT],
  start: (writer, context) => (marker) => new HarmonyMessage(marker, writer, context),
  toolName: anyName,
  ends: [],
  countResults: (message) => countOf(message, `${START}functions.`),
  describe: (tools) => `# Tools

${offer(tools)}

Calls go to the commentary channel, one message for each: 'functions.function_name' is the recipient, and the content is its arguments as JSON.`,
  writeCalls: (calls) =>
    calls
      .map(
        ({ name, args }) =>
          `${START}assistant${CHANNEL}commentary to=functions.${name} <|constrain|>json${MESSAGE}${JSON.stringify(args)}${CALL}`,
      )
      .join(""),
  writeResults: (results) =>
    results
      .map(
        (result) =>
          `${START}functions.${result.name} to=assistant${CHANNEL}commentary${MESSAGE}${resultText(result, MARKS)}${END}`,
      )
      .join(""),
};

const MARKS = [START, CHANNEL, RECIPIENT, MESSAGE, CALL, END, RETURN, "<|constrain|>"];
/** What ends a message, besides the next one. */
const ENDS = [CALL, END, RETURN];

const MAX_HEADER = 240;

class HarmonyMessage implements BlockReader {
  state: BlockReader["state"] = "head";
  readonly #marker: string;
  readonly #writer: BlockWriter;
  readonly #context: TextContext;
  #until: UntilMarker | undefined;
  #call: CallWriter | undefined;

  constructor(marker: string, writer: BlockWriter, context: TextContext) {
    this.#marker = marker;
    this.#writer = writer;
    this.#context = context;
  }

  read(text: string, at: number): number {
    if (this.#until === undefined) {
      const message = text.indexOf(MESSAGE, at);
      // Without the beginning of a mark that is still incomplete.
      const came = message < 0 ? text.slice(at).replace(/<(?:\|[a-z]*\|?)?$/, "") : text.slice(at, message);
      const header = this.#marker + came;
      if (!isHeader(header)) this.state = "none";
      if (message < 0 || this.state === "none") return at;
      this.state = "open";
      this.#begin(header);
      at = message + MESSAGE.length;
    }
    at = this.#until!.read(text, at);
    if (this.#until!.isOver) {
      this.#call?.done();
      this.state = "closed";
    }
    return at;
  }

  end(rest: string): string | undefined {
    const { state } = this;
    if (this.#until === undefined) {
      // An unfinished header of a call is a truncated call; any other stays text.
      const header = this.#marker + rest;
      if (!header.includes("<|") || recipientOf(header) === undefined) return undefined;
      this.#writer.call().cut();
      this.state = "closed";
      return undefined;
    }
    const behind = this.#until.end(rest);
    if (state !== "open" || this.#call === undefined) return behind;
    if (behind !== undefined) this.#call.done();
    // If its JSON is closed, the server may just have hidden the end mark.
    else if (!this.#until.isClosed) this.#call.cut();
    return behind;
  }

  #begin(header: string): void {
    const recipient = recipientOf(header);
    if (recipient !== undefined) {
      this.#call = this.#writer.call();
      this.#call.name(recipient.replace(/^functions\./, ""));
    }
    const isThought = /<\|channel\|>\s*analysis/.test(header);
    const take = (piece: string) => {
      if (this.#call !== undefined) this.#call.args(piece);
      else if (isThought) this.#writer.reasoning(piece);
      else this.#writer.text(piece);
    };
    // In text, quotes hide nothing.
    const context = this.#call === undefined ? { ...this.#context, isBlind: true } : this.#context;
    this.#until = new UntilMarker({
      ends: ENDS,
      nexts: [START, CHANNEL],
      context,
      take,
      second: () => this.#call?.unreadable(TWO_VALUES),
    });
  }
}

function recipientOf(header: string): string | undefined {
  return /\bto=([^\s<]+)/.exec(header)?.[1];
}

/** A role, a channel, a recipient and a content type, or the beginning of these. */
function isHeader(header: string): boolean {
  if (header.length > MAX_HEADER) return false;
  const words = header
    .replace(/^<\|start\|>/, " ")
    .replaceAll("<|channel|>", " ")
    .replaceAll("<|constrain|>", " ");
  return words.split(/\s+/).every((word) => /^(?:[a-z]*|to=[\w.\-/]*)$/.test(word));
}
