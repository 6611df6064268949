import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { sayDelta, toolChunk } from "../../src/stream/chunk.ts";
import { argumentsObject, argumentsText, idOf, indexOf, isNothing, isObject, textOf } from "../../src/wire/field.ts";
import { Templates, type Delta } from "../../src/wire/index.ts";
import { baseError, errorMessage, isBareError, isError } from "./error.ts";
import { failedGeneration } from "./failed-generation.ts";
import { CALL_DROPPED, droppedCall, finishReasonOf } from "./finish.ts";
import { isOnlyArguments, isOnlyText, onlyDelta } from "./only-delta.ts";
import { isThought, keepParts, mergePart, partText } from "./parts.ts";
import { usageOf } from "./usage.ts";
import {
  BUILTIN,
  REASONING,
  REASONING_PARTS,
  REASONING_SEALS,
  REASONING_TEXTS,
  type NativeMessage,
  type WireChoice,
  type WireError,
  type WireEvent,
  type WireFunction,
  type WireMessage,
  type WirePart,
  type WireResults,
  type WireToolCall,
} from "./wire.ts";

export interface ChatParserOptions {
  /** Which choice is read if the request asked for several (`n`); the others are skipped. Default 0. */
  readonly choice?: number | undefined;
}

/** Fields that are not read after the first chunk; on some servers id and time differ from chunk to chunk. */
const UNREAD = { ignored: [["obfuscation"], ["id"], ["created"]] } as const;

/**
 * Reads Chat Completions: chunks, a whole `chat.completion`, or the closing `"[DONE]"`. It only maps; the ToolBuffer
 * decides which fragment belongs to which call.
 *
 * ```
 * { choices: [{ delta: { content: "Hel" } }] }                                  -> sink.text("Hel")
 * { choices: [{ delta: { tool_calls: [{ index: 0, id, function: {…} }] } }] }   -> sink.tool({ callIndex: 0, id, … })
 * { choices: [{ delta: {}, finish_reason: "tool_calls" }] }                     -> sink.finish("tool-use", "tool_calls")
 * ```
 */
export class ChatParser implements Parser<WireEvent | string> {
  readonly native: NativeMessage = {};
  readonly #sink: ParserSink;
  readonly #choice: number;
  #started = false;
  /** After "[DONE]" and after a whole response: what a server still sends is not part of this turn. */
  #over = false;
  /** What has come so far: of that, a whole message after deltas is only a repetition. */
  readonly #came = { ...NOTHING };
  /** In a thought that is marked in the content. */
  #inThought = false;
  /** Whether the choice to read has come, and whether others have. */
  #isThere = false;
  #others = false;
  /** The audio is complete, and nothing came after it. */
  #endsInSound = false;
  #isFinished = false;
  /** The usage of the whole answer has come. */
  #isCounted = false;

  static readonly #text: Delta<ChatParser> = {
    text: ["choices", 0, "delta", "content"],
    ...UNREAD,
    push(parser, piece) {
      if (!parser.#started || parser.#inThought) return false;
      if (parser.#takesDelta()) parser.#speak(piece);
      return true;
    },
  };
  static readonly #arguments: Delta<ChatParser> = {
    text: ["choices", 0, "delta", "tool_calls", 0, "function", "arguments"],
    index: ["choices", 0, "delta", "tool_calls", 0, "index"],
    ...UNREAD,
    push(parser, piece, index) {
      if (!parser.#started) return false;
      if (parser.#takesDelta()) parser.#call(index, undefined, undefined, piece, undefined, false);
      return true;
    },
  };
  /** Pieces of arguments and of text are most of a stream. Those of choices after the first are ordinary events. */
  static readonly #templates = new Templates((event: WireEvent | string) => {
    const delta = onlyDelta(event, 0);
    if (delta === undefined) return undefined;
    if (isOnlyText(delta)) return ChatParser.#text;
    return isOnlyArguments(delta) ? ChatParser.#arguments : undefined;
  });

  get templates(): Templates {
    return ChatParser.#templates;
  }

  constructor(sink: ParserSink, { choice = 0 }: ChatParserOptions = {}) {
    this.#sink = sink;
    this.#choice = choice;
  }

  push(event: WireEvent | string): void {
    if (this.#over) return;
    if (typeof event === "string") {
      if (event.trim() === "[DONE]") this.#end();
    } else if (isObject(event)) {
      this.#event(event);
    }
  }

  end(): void {
    // An audio answer may end without a `finish_reason`; the official client considers it complete, too.
    if (this.#endsInSound) this.#sink.finish("stop", null);
    // No proof of an end: gateways add it to a stream that was cut, too.
    else if (this.#isCounted && !this.#isFinished && !this.#over)
      this.#sink.fail(new ToolError("connection_lost", NO_FINISH));
    this.#over = true;
  }

  /**
   * The client throws an `APIError` with the error of the chunk. The helper `chat.completions.stream()` throws instead
   * of giving the last chunk if a strict tool, or a response format, was cut.
   */
  thrown(error: unknown): WireEvent {
    const { message, error: said = null } = (error ?? {}) as { message?: string; error?: WireEvent["error"] };
    const cut = CUT_BY_HELPER.get(message);
    if (cut !== undefined) return { choices: [{ index: this.#choice, message: {}, finish_reason: cut }] };
    return { error: said };
  }

  #end(): void {
    this.#over = true;
    if (this.#others && !this.#isThere) {
      const message = `The response has no choice ${this.#choice}, only others: \`n\` of the request sets how many there are.`;
      this.#sink.fail(new ToolError("provider_error", message));
    }
    this.#sink.terminal();
  }

  #event(event: WireEvent): void {
    const { choices } = event;
    // Events of other wires have an id, too.
    if (!this.#started && Array.isArray(choices) && (event.id || event.model || choices.length > 0)) {
      this.#started = true;
      this.#sink.start(textOf(event.id), textOf(event.model));
    }
    let whole = false;
    let saysCalls = false;
    let others: WireMessage[] | undefined;
    let error = event.error ?? event.x_groq?.error ?? baseError(event);
    if (!isError(error) && isBareError(event)) error = event as WireError;
    if (Array.isArray(choices)) {
      for (let position = 0; position < choices.length; position++) {
        const choice = choices[position] as WireChoice | null;
        if (!isObject(choice)) continue;
        // Some gateways write "chat.completion" on chunks, too: it is whole only if the message is.
        const isWhole = isObject(choice.message) && !isObject(choice.delta);
        if (!this.#isRead(indexOf(choice.index) ?? position)) {
          whole ||= isWhole && event.object === "chat.completion";
          if (isWhole) (others ??= []).push(choice.message!);
          continue;
        }
        whole ||= isWhole;
        this.#readChoice(choice);
        saysCalls ||= isWhole && finishReasonOf(textOf(choice.finish_reason) ?? "") === "tool-use";
        error ??= choice.error ?? undefined;
      }
    }
    // Copilot splits one message of Claude's into choices: the first says that there are calls, the others contain them
    // (https://github.com/HKUDS/nanobot/pull/1555).
    if (whole && saysCalls && !this.#came.calls && others !== undefined)
      this.#toolCalls(
        others.flatMap(({ tool_calls: calls }) => calls ?? []),
        true,
      );
    const usage = event.usage ?? event.x_groq?.usage;
    if (isObject(usage)) {
      this.#sink.usage(usageOf(usage));
      this.#isCounted ||= Array.isArray(choices) && choices.length === 0;
    }
    // Last: a chunk with an error may contain a delta as well, and what came before the failure counts.
    if (isError(error)) this.#fail(error);
    if (whole) this.#end();
  }

  /** Notes that a choice has come. @returns whether it is the one to read */
  #isRead(index: number): boolean {
    if (index === this.#choice) return (this.#isThere = true);
    this.#others = true;
    return false;
  }

  /** {@link #isRead} for a delta of the first choice. */
  #takesDelta(): boolean {
    if (this.#over || !this.#isRead(0)) return false;
    this.#endsInSound = false;
    return true;
  }

  /** Payload first, finish second: the last arguments may come together with the `finish_reason`. */
  #readChoice(choice: WireChoice): void {
    if (isObject(choice.delta)) this.#message(choice.delta, false);
    else if (isObject(choice.message)) this.#message(choice.message, true);
    if (typeof choice.finish_reason === "string") this.#finish(choice, choice.finish_reason);
    if (isObject(choice.usage)) this.#sink.usage(usageOf(choice.usage));
  }

  /**
   * Of a whole message only what no delta has given is new: MiniMax ends its streams with one
   * (https://github.com/GCWing/OpenBitFun/issues/792).
   */
  #message(message: WireMessage, whole: boolean): void {
    const told = whole ? { ...this.#came } : NOTHING;
    const reasoned = this.#reasoning(message, whole) || told.reasoning;
    const { extra_content: extra } = message;
    const google = extra?.google;
    const isMarked = google?.thought === true;
    const content = spoken(message.content);
    if (content) this.#content(content, reasoned, told, isMarked);
    this.#refusal(message.refusal, told);
    const { tool_calls: calls, provider_specific_fields: fields } = message;
    const ran = isObject(fields) ? resultsOf(fields) : undefined;
    if (isObject(calls) && !told.calls)
      this.#toolCalls((Array.isArray(calls) ? calls : [calls]) as WireToolCall[], whole, ran);
    if (isObject(message.function_call)) this.#functionCall(message.function_call, whole);
    for (const [id, metadata] of ran ?? []) this.#sink.tool({ turnIndex: this.#choice, id, metadata });
    const { id: audioId, expires_at: expiresAt } = message.audio ?? {};
    const id = textOf(audioId);
    if (id !== undefined) this.native.audio = { id };
    const { images } = message;
    if (Array.isArray(images) && !(whole && this.native.images))
      for (const image of images) (this.native.images ??= []).push(image);
    this.#endsInSound = typeof expiresAt === "number";
    // It goes back without the mark of thoughts, as the content does.
    const kept = isMarked ? { ...extra, google: { ...google, thought: undefined } } : extra;
    if (!isEmpty(kept)) this.native.extra_content = kept;
  }

  #toolCalls(entries: readonly WireToolCall[], whole: boolean, ran?: Results): void {
    for (let position = 0; position < entries.length; position++) {
      const entry = entries[position];
      if (isObject(entry)) this.#toolCall(entry, whole ? position : undefined, ran);
    }
  }

  #speak(text: string): void {
    if (text === "") return;
    this.#came.text = true;
    this.#sink.text(text);
    if (this.native.content !== undefined) mergePart(this.native.content, { type: "text", text });
  }

  #refusal(text: unknown, told: Told): void {
    if (typeof text !== "string" || text === "" || told.refusal) return;
    this.#came.refusal = true;
    this.#sink.refusal(text);
  }

  #content(content: string | readonly WirePart[], reasoned: boolean, told: Told, isMarked: boolean): void {
    if (typeof content === "string") {
      const answer = isMarked || this.#inThought ? this.#answerOf(content, isMarked, reasoned) : content;
      if (!told.text) this.#speak(answer);
    }
    if (!Array.isArray(content)) return;
    for (const part of content) {
      if (!isObject(part) || (isThought(part) ? told.reasoning : told.text)) continue;
      mergePart((this.native.content ??= []), part);
      if (isThought(part)) {
        if (!reasoned) this.#think(partText(part));
      } else if (typeof part.text === "string" && part.text !== "") {
        this.#came.text = true;
        this.#sink.text(part.text);
      } else {
        this.#refusal(part.refusal, told);
      }
    }
  }

  /**
   * What follows the thoughts. Gemini's endpoint has them between tags in the content; pieces of thoughts are marked,
   * the end tag is not: `<thought>The user`, ` wants`, `</thought>It is`.
   * https://ai.google.dev/gemini-api/docs/openai#thinking
   */
  #answerOf(content: string, isMarked: boolean, reasoned: boolean): string {
    const [, thought, answer] = (isMarked ? THOUGHT : AFTER_THOUGHT).exec(content)!;
    this.#inThought = answer === undefined;
    if (thought && !reasoned) this.#think(thought);
    return answer ?? "";
  }

  #think(text: string): void {
    this.#came.reasoning = true;
    this.#sink.reasoning(text);
  }

  /**
   * Emits the reasoning once, even if a server sends it in several fields; each field is kept, since it goes back.
   * Empty text is kept, too: DeepSeek wants `reasoning_content` back with every call, even if empty
   * (https://api-docs.deepseek.com/guides/thinking_mode). In a whole message only fields that no delta had count.
   */
  #reasoning(message: WireMessage, whole: boolean): boolean {
    if (!hasReasoning(message)) return false;
    const { native } = this;
    let delta = "";
    for (const field of REASONING_TEXTS) {
      const said = spoken(message[field]);
      // Envoy's gateway has an object there: https://github.com/envoyproxy/ai-gateway/pull/1222
      if (isObject(said)) delta ||= partText(said);
      if (typeof said !== "string" || (whole && native[field] !== undefined)) continue;
      native[field] = (native[field] ?? "") + said;
      delta ||= said;
    }
    for (const field of REASONING_SEALS) {
      const seal = textOf(message[field]);
      if (seal !== undefined) native[field] = seal;
    }
    for (const field of REASONING_PARTS) {
      const parts = message[field];
      if (!Array.isArray(parts) || (whole && native[field] !== undefined)) continue;
      const text = keepParts((native[field] ??= []), parts);
      delta ||= text;
    }
    if (delta === "") return false;
    if (!(whole && this.#came.reasoning)) this.#think(delta);
    return true;
  }

  /**
   * @param position in the list of a whole message, where calls have no index and are complete
   * @param ran what its message says of calls that the server has run
   */
  #toolCall(entry: WireToolCall, position: number | undefined, ran: Results | undefined): void {
    // A server may fill the field that does not apply with empty strings: the type decides.
    const custom = entry.type === "custom" || !isObject(entry.function) ? entry.custom : undefined;
    const isCustom = isObject(custom);
    const named: WireFunction = isCustom ? custom : isObject(entry.function) ? entry.function : entry;
    const { name } = named;
    const args = isCustom ? custom.input : named.arguments;
    const id = idOf(entry.id) ?? "";
    const served = ran?.get(id) ?? (SERVED_ID.test(id) ? SERVED : undefined);
    const extras = extrasOf(entry, served ?? (isCustom ? CUSTOM : undefined));
    // The end of free text cannot be seen: that of the turn decides.
    const isComplete = position !== undefined && !isCustom;
    this.#call(position ?? indexOf(entry.index), entry.id, name, args, extras, isComplete);
  }

  /** The form before `tool_calls`: one call per message, without an id. Servers that fill both fields mean one call. */
  #functionCall({ name, arguments: args }: WireFunction, whole: boolean): void {
    if (!this.#came.calls) this.#call(LEGACY_INDEX, undefined, name, args, name ? LEGACY : undefined, whole);
  }

  #call(
    index: number | undefined,
    wireId: unknown,
    wireName: unknown,
    args: unknown,
    metadata: Readonly<Record<string, unknown>> | undefined,
    whole: boolean,
  ): void {
    const id = idOf(wireId);
    // `"null"` on the later pieces is none, as of an id: https://github.com/BerriAI/litellm/issues/12513
    const name = typeof wireName === "string" && wireName !== "null" ? withoutDebris(wireName) : undefined;
    const record = argumentsObject(args);
    const text = argumentsText(args);
    // Nothing but empty strings: a stub, or the empty fragment that some servers send last.
    if (!id && !name && !text && record === undefined && metadata === undefined) return;
    if (index !== LEGACY_INDEX) this.#came.calls = true;
    const isPiece = id === undefined && name === undefined && text !== undefined && metadata === undefined && !whole;
    if (isPiece) sayDelta(this.#sink, this.#choice, index, text);
    else this.#sink.tool(toolChunk(this.#choice, index, id, name, text, whole || undefined, metadata, record));
  }

  #finish(choice: WireChoice, word: string): void {
    this.#endsInSound = false;
    const message = textOf(choice.native_finish_reason);
    if (message !== undefined) this.native.native_finish_reason = message;
    // "" on a chunk is not an end: some servers send it with each one. In a whole response it is the reason they gave.
    if (word === "" && isObject(choice.delta)) return;
    this.#isFinished = true;
    const dropped = droppedCall(word, message);
    if (dropped !== undefined) this.#sink.finish("error", word, `${CALL_DROPPED} (${dropped})`);
    else this.#sink.finish(finishReasonOf(word), word, message === word ? undefined : message);
  }

  #fail(raw: WireError | string): void {
    const message = errorMessage(raw);
    const failed = failedGeneration(raw);
    if (failed !== undefined) {
      this.#sink.tool({
        turnIndex: this.#choice,
        callIndex: REJECTED_INDEX,
        name: failed.name,
        argsTextDelta: failed.args,
        error: message,
        errorType: "rejected",
      });
    }
    this.#sink.fail(new ToolError("provider_error", message, { cause: raw }));
  }
}

const NOTHING = { text: false, reasoning: false, refusal: false, calls: false };
type Told = typeof NOTHING;

/** A marked piece: the thought, and what follows it, if anything may. */
const THOUGHT = /^(?:<thought>)?(.*?)(?:<\/thought>(.*))?$/s;
/** The piece after them. */
const AFTER_THOUGHT = /^()(?:<\/thought>)?(.*)$/s;

const IS_REASONING = new Set<string>(REASONING);

/** A delta has one or two fields: to look at those costs less than to ask for each that it might have. */
function hasReasoning(delta: WireMessage): boolean {
  for (const field in delta) if (IS_REASONING.has(field)) return true;
  return false;
}

/** Workers AI sends a text that reads as a number as one: https://github.com/cloudflare/ai/issues/651 */
function spoken<T>(said: T | number): T | string {
  return typeof said === "number" ? String(said) : said;
}

const NO_FINISH =
  "The stream ended before the provider ended the turn: it has a usage, but no finish_reason. If all streams of this server end so, read its bytes, as asResponse() gives them: their [DONE] is an end.";

/** `LengthFinishReasonError` and `ContentFilterFinishReasonError` of the `openai` package, by their messages. */
const CUT_BY_HELPER = new Map<string | undefined, string>([
  ["Could not parse response content as the length limit was reached", "length"],
  ["Could not parse response content as the request was rejected by the content filter", "content_filter"],
]);

/** Indexes that no server uses, so that these calls collide with no others. */
const LEGACY_INDEX = -1;
const REJECTED_INDEX = -2;

/** The input is free text. */
const CUSTOM = Object.freeze({ custom: true });
/** The server runs it. */
const SERVED = Object.freeze({ providerExecuted: true, type: "function" });
/** LiteLLM has calls of tools that Anthropic runs among the client's: https://github.com/BerriAI/litellm/issues/17254 */
const SERVED_ID = /^(?:srv|mcp)toolu_/;

/** What is known of calls that the server has run, by their ids. */
type Results = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/**
 * LiteLLM has run calls on an MCP server, and goes on with an answer (https://github.com/BerriAI/litellm/issues/31910);
 * or Anthropic has, and the results so far are there again each time.
 */
function resultsOf({ mcp_call_results, web_search_results, tool_results }: WireResults): Results {
  const results = new Map<string, Readonly<Record<string, unknown>>>();
  for (const found of [mcp_call_results, web_search_results, tool_results].flat()) {
    const id = idOf(found?.tool_call_id ?? found?.tool_use_id);
    if (id) results.set(id, { ...SERVED, output: found!.result ?? found!.content });
  }
  return results;
}

/** It goes back as `function_call`, its result under the role `function`. */
const LEGACY = Object.freeze({ functionCall: true });

/**
 * Cuts the model's own tokens that leak into the name (gpt-oss: `search<|channel|>commentary`); no name has `<|`. What
 * may hold the arguments stays, so that no tool runs without them: see `namespaced`.
 */
function withoutDebris(name: string): string {
  const debris = name.indexOf("<|");
  return debris < 0 || name.includes("{", debris) ? name : name.slice(0, debris);
}

/** Fields of an entry that are read here, or that mean something else to the buffer. */
const KNOWN = new Set(
  "index id type function name arguments custom providerExecuted functionCall __proto__".split(" "),
);

/**
 * Whether nothing is in it but empty fields. Gemini rejects an empty signature ("Corrupted thought signature"):
 * https://github.com/NousResearch/hermes-agent/pull/111559
 */
function isEmpty(value: unknown, depth = 2): boolean {
  if (!isObject(value)) return isNothing(value) || value === "";
  return depth > 0 && Object.values(value).every((inner) => isEmpty(inner, depth - 1));
}

/** Everything else on an entry belongs to the call and goes back with it: `extra_content` holds Gemini's signature. */
function extrasOf(entry: WireToolCall, base: Readonly<Record<string, unknown>> | undefined) {
  let extras: Record<string, unknown> | undefined;
  if (entry.type === BUILTIN) extras = { type: BUILTIN };
  for (const key in entry) {
    const value = (entry as Record<string, unknown>)[key];
    if (KNOWN.has(key) || isEmpty(value)) continue;
    (extras ??= { ...base })[key] = value;
  }
  return extras ?? base;
}
