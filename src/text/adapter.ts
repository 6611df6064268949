import {
  defineAdapter,
  type Adapter,
  type StreamSource,
  type Endpoint,
  type ParserSink,
  type ToolsOptions,
} from "../adapter.ts";
import type { Conversation, Model } from "../model.ts";
import { parseResponse, readTurn, type ReadOptions, type TurnStream } from "../read/index.ts";
import type { StreamEvent } from "../stream/events.ts";
import { isRecord } from "../schema/json.ts";
import { dropAnnotations } from "../schema/rewrites.ts";
import { lowerTools } from "../tool/lower-tools.ts";
import { checkSpelling } from "../tool/option-names.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import type { TextDialect, ToolDescription } from "./dialect.ts";
import { textConversation } from "./conversation.ts";
import { createTextParser, type TextEvent, type TextResponse } from "./events.ts";
import { textMessages, type TextMessage } from "./messages.ts";
import { textModel, type TextModelOptions, type TextSpeaker } from "./model.ts";
import { TEXT_OPTIONS, type TextOptions } from "./notation.ts";
import { expandParallel } from "./parallel.ts";
import { textSink } from "./sink.ts";

export type TextReadOptions<T extends Tool = Tool> = ReadOptions<T> & TextOptions;

/** Where text may come from: strings, another adapter's stream, or the bytes of a recording of either. */
export type TextSource = StreamSource<TextEvent> | AsyncIterable<string> | ReadableStream<string>;

/** An adapter for text that contains the calls. */
export interface TextAdapter extends Adapter<TextEvent, TextResponse, ToolDescription, TextMessage> {
  /** The part of the system prompt that describes the tools and how to call them. */
  describeTools(tools: ToolSource): string;
  read<T extends Tool = Tool>(source: TextSource, options?: TextReadOptions<T>): TurnStream<T>;
  /** Reads a whole text. */
  parse<T extends Tool = Tool>(response: TextResponse | string, options?: TextReadOptions<T>): StreamEvent<T>[];
  readonly conversation: Conversation<TextMessage>;
  /**
   * A model for a loop, made from one that only has to write text: the model of another adapter, or a function. The
   * system prompt goes into `instructions`, before the description of the tools; they replace the system prompt among
   * the other model's parameters.
   *
   * @throws TypeError for anything else
   * @example textHelpers().model(openaiChat.model(new OpenAI(), { model: "gpt-5-mini" }))
   * @example textJson("hermes").model(({ instructions, messages, signal }) => generate(instructions, messages, signal))
   */
  model(speaker: TextSpeaker, options?: TextModelOptions): Model;
}

/** Makes an adapter from a notation. */
export function textAdapter(
  name: string,
  dialect: TextDialect,
  { streamsInput, namespaced }: { readonly streamsInput: boolean; readonly namespaced?: RegExp },
): TextAdapter {
  const { toolName } = dialect;
  const names = { toolName, namespaced };
  const tools = (source: ToolSource, options?: ToolsOptions): ToolDescription[] =>
    lowerTools(source, {
      adapter: name,
      toolName,
      plain: [dropAnnotations(["$schema", "$comment"])],
      takesText: true,
      options,
      make: ({ description }, lowered) => ({ name: lowered.name, description, parameters: lowered.schema }),
    });
  function parser(sink: ParserSink, options: TextOptions = {}) {
    checkSpelling(`${name}.read() or parse()`, options, TEXT_OPTIONS);
    const { stop } = options;
    if (stop !== undefined && !dialect.ends.includes(stop)) {
      const ends = dialect.ends.length === 0 ? "has no end marks" : `has the end marks ${dialect.ends.join(" ")}`;
      throw new TypeError(`stop is an end mark of the notation: ${name} ${ends}, got ${JSON.stringify(stop)}.`);
    }
    const calls = expandParallel(sink, toolName, options.tools);
    return createTextParser(textSink(calls, [dialect], names, options), () => calls.end(), stop);
  }
  const reading = (options: TextOptions) => ({ name, ...names, parser: (sink: ParserSink) => parser(sink, options) });
  const parse = <T extends Tool = Tool>(response: TextResponse | string, options: TextReadOptions<T> = {}) =>
    parseResponse<TextEvent | TextResponse, T>(
      reading(options),
      typeof response === "string" ? { text: response } : response,
      options,
    );
  const { variables, ...conversation } = textConversation(dialect, parse);

  const adapter: TextAdapter = defineAdapter({
    name,
    capabilities: {
      streamsInput,
      wireIds: false,
      parallelCalls: true,
      strict: false,
      imagesInResults: false,
      errorFlag: false,
    },
    ...names,
    tools,
    describeTools: (source: ToolSource) => dialect.describe(tools(source, { onLoss: "ignore" })),
    /** A text has no field for it: describe only the tools that may be called. */
    toolChoice: () => ({}),
    parser,
    read: <T extends Tool = Tool>(source: TextSource, options: TextReadOptions<T> = {}) =>
      readTurn(reading(options), source as StreamSource<TextEvent>, options),
    parse,
    ...textMessages(dialect),
    recognizes,
    endpoint,
    conversation,
    model: (speaker: TextSpeaker, options: TextModelOptions = {}) =>
      textModel(adapter, { ...conversation, variables }, speaker, options),
  });
  return adapter;
}

/** A piece of text, or a whole text; `[DONE]` ends the streams of other wires. */
function recognizes(event: unknown): boolean {
  if (typeof event === "string") return event !== "[DONE]";
  if (!isRecord(event)) return false;
  const { type, delta, text } = event;
  return type === "text-delta" ? typeof delta === "string" : type === undefined && typeof text === "string";
}

/** Text has no endpoint of its own. */
const endpoint: Endpoint = {
  match: () => undefined,
  errorBody: (_, message) => ({ error: { message } }),
};
