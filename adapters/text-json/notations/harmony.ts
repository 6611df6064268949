import { look, skipSpace } from "../../../src/text/look.ts";
import type { BlockReader, TextContext } from "../../../src/text/notation.ts";
import type { BlockWriter } from "../../../src/text/writer.ts";
import { JsonBlock, namedCall, type Head, type JsonBlockParts, type JsonConsumer } from "../block.ts";
import { offer, results, type JsonDialect } from "../prompt.ts";

const START = "<|start|>";
const CHANNEL = "<|channel|>";
const RECIPIENT = "to=functions.";
/** What an answer may begin with whose first marks are missing. */
const LEADS = [RECIPIENT, `commentary ${RECIPIENT}`, `assistant ${RECIPIENT}`];
const MESSAGE = "<|message|>";
const CALL = "<|call|>";
const END = "<|end|>";
const RETURN = "<|return|>";

/**
 * gpt-oss: everything is said in messages with a channel, and a call is a message to a function:
 * `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`. The recipient may come before the
 * channel; an answer whose `<|start|>assistant` was in the prompt then begins with it. Calls also come on the channel
 * `analysis`. Anything else on that channel is reasoning, the rest is text.
 * `<|call|>` ends the generation, so servers may not show it: then the end of the turn decides. Some show no mark, and
 * GPT-5 writes none where it does this: `to=functions.name commentary json {…}` (https://github.com/openai/codex/issues/13114,
 * https://github.com/raullenchai/Rapid-MLX/issues/480).
 *
 * @see https://developers.openai.com/cookbook/articles/openai-harmony
 */
export const harmony: JsonDialect = {
  markers: [START, CHANNEL, ...LEADS],
  leading: LEADS,
  start: (writer, context) => (marker) => messageBlock(marker, writer, context),
  ends: [],
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
  ...results({
    open: `${START}functions.`,
    head: ({ name }) => `${name} to=assistant${CHANNEL}commentary${MESSAGE}`,
    close: END,
    marks: [START, CHANNEL, RECIPIENT, MESSAGE, CALL, RETURN, "<|constrain|>"],
  }),
  resultMarks: [], // they begin like any message
};

/** What ends a message, besides the next one. */
const ENDS = [CALL, END, RETURN];

const MAX_HEADER = 240;
/** How much white space before the content to wait through. */
const MAX_SPACE = 8;

/** @param marker belongs to the header */
function messageBlock(marker: string, writer: BlockWriter, context: TextContext): BlockReader {
  const parts: JsonBlockParts = {
    head(text, at) {
      const bare = LEADS.includes(marker) ? bareAt(text, at, context) : undefined;
      if (bare !== undefined) return bare;
      const end = text.indexOf(MESSAGE, at);
      // Without the beginning of a mark that is still incomplete.
      const came = end < 0 ? text.slice(at).replace(/<(?:\|[a-z]*\|?)?$/, "") : text.slice(at, end);
      const header = marker + came;
      if (!isHeader(header)) return "none";
      if (end < 0) return "maybe";
      const json = end + MESSAGE.length;
      // Muse Glimmer has the same messages, and calls of another notation in them.
      const begin = skipSpace(text, json);
      const isOurs = recipientOf(header) === undefined || begin > json + MAX_SPACE;
      const other = isOurs ? "no" : look(text, begin, "<atem:");
      if (other !== "no") return other === "yes" ? "none" : other;
      return { json, begin: () => contentOf(header, writer) };
    },
    // An unfinished header of a call is a truncated call; any other stays text.
    isCall: (rest) => (marker + rest).includes("<|") && recipientOf(marker + rest) !== undefined,
    ends: ENDS,
    nexts: [START, CHANNEL],
    isEndHidden: true,
  };
  return new JsonBlock(parts, writer, context);
}

/** Behind the recipient: the name of a tool, the rest of the header without a mark, and an object. */
function bareAt(text: string, at: number, context: TextContext): Head | undefined {
  const [head, name = ""] =
    /^([\w.-]+)(?:\s+(?:commentary|analysis))?\s*(?:json)?\s*(?=\{)/.exec(text.slice(at, at + MAX_HEADER)) ?? [];
  if (head === undefined || context.tool(name) === undefined) return undefined;
  return { json: at + head.length, begin: (writer) => namedCall(writer, name), isBare: true };
}

function contentOf(header: string, writer: BlockWriter): JsonConsumer {
  const recipient = recipientOf(header);
  if (recipient !== undefined) return namedCall(writer, recipient.replace(/^functions\./, ""));
  const isThought = /<\|channel\|>\s*analysis/.test(header);
  const feed = (piece: string) => (isThought ? writer.reasoning(piece) : writer.text(piece));
  return { feed, end() {}, cut() {}, isUnquoted: true };
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
