import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { isAmidObject } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { sayDelta, toolChunk } from "../../src/stream/chunk.ts";
import { argumentsObject, argumentsText, errorText, isNothing, isObject } from "../../src/wire/field.ts";
import { Templates, type Delta } from "../../src/wire/index.ts";
import { finishReasonOf } from "./finish.ts";
import { usageOf } from "./usage.ts";
import type {
  CohereContent,
  CohereNative,
  OneOrMany,
  WireContent,
  WireDelta,
  WireEvent,
  WireMessage,
  WireToolCall,
  WireUsage,
} from "./wire.ts";

/**
 * Reads Cohere's v2 chat.
 *
 * ```
 * message-start, tool-plan-delta*, ( tool-call-start, tool-call-delta*, tool-call-end )*, message-end
 * message-start, ( content-start, content-delta*, content-end )*, citation-start*, message-end
 * ```
 * The plan is reported as reasoning, which it is to a viewer; on the way back it is a field of its own.
 */
export class CohereParser implements Parser<WireEvent> {
  readonly #sink: ParserSink;
  #toolPlan = "";
  /** By the index on the wire, and by type, since one index may carry both. */
  readonly #blocks: { readonly index: number | undefined; readonly type: "text" | "thinking"; text: string }[] = [];
  readonly #citations: object[] = [];
  /** The last piece of a call's arguments, and the call's index. */
  #piece = "";
  #pieceIndex: number | undefined;

  static readonly #arguments: Delta<CohereParser> = {
    text: ["delta", "message", "tool_calls", "function", "arguments"],
    index: ["index"],
    push(parser, piece, index) {
      parser.#onPiece(piece, index);
      return true;
    },
  };
  static readonly #text: Delta<CohereParser> = {
    text: ["delta", "message", "content", "text"],
    index: ["index"],
    push(parser, piece, index) {
      parser.#onText(piece, index);
      return true;
    },
  };
  /** Most of a stream is pieces of arguments or text. */
  static readonly #templates = new Templates(({ type, delta }: WireEvent) => {
    const message = delta?.message;
    if (type === "tool-call-delta") return isOnlyArguments(message) ? CohereParser.#arguments : undefined;
    return type === "content-delta" && isOnlyText(message) ? CohereParser.#text : undefined;
  });

  get templates(): Templates {
    return CohereParser.#templates;
  }

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  push(event: WireEvent): void {
    // Raw streams may end with "[DONE]", which the SDK does not pass on.
    if (!isObject(event)) return;
    const message = event.delta?.message;
    switch (event.type) {
      case "message-start":
        return this.#sink.start(stringOf(event.id), undefined);
      case "tool-plan-delta":
        return this.#onPlan(message);
      case "tool-call-start":
      case "tool-call-delta":
        return this.#onCalls(message, event.index ?? undefined, false);
      case "tool-call-end":
        return this.#onCallEnd(event.index ?? undefined);
      case "content-start":
      case "content-delta":
        return this.#onContent(message, event.index ?? undefined);
      case "citation-start":
        return this.#onCitations(message);
      case "message-end":
        return this.#onEnd(event.delta ?? {});
      case undefined:
      case null:
        return this.#onWhole(event);
      case "error":
        return this.#onError(event);
      default: // content-end, citation-end, debug, and future types
    }
  }

  #onPlan(message: WireMessage | null | undefined): void {
    const delta = message?.tool_plan ?? message?.toolPlan;
    if (typeof delta !== "string" || delta === "") return;
    this.#toolPlan += delta;
    this.#sink.reasoning(delta);
  }

  /** @param index of the first call; a list is rare and counts on from there. */
  #onCalls(message: WireMessage | null | undefined, index: number | undefined, isWhole: boolean): void {
    const calls = message?.tool_calls ?? message?.toolCalls;
    if (isList(calls)) {
      for (const [position, call] of calls.entries()) {
        this.#onCall(call, index === undefined ? undefined : index + position, isWhole);
      }
    } else if (!isNothing(calls)) this.#onCall(calls, index, isWhole);
  }

  #onCall(call: WireToolCall | null, index: number | undefined, isWhole: boolean): void {
    const { name: wireName, arguments: args } = call?.function ?? {};
    const id = stringOf(call?.id);
    const name = stringOf(wireName);
    const text = argumentsText(args);
    const isPiece = id === undefined && name === undefined && text !== undefined && !isWhole;
    if (isPiece) return this.#onPiece(text, index);
    const record = argumentsObject(args);
    this.#piece = text ?? "";
    this.#pieceIndex = index;
    this.#sink.tool(toolChunk(undefined, index, id, name, text, isWhole, undefined, record));
  }

  #onPiece(piece: string, index: number | undefined): void {
    this.#piece = piece;
    this.#pieceIndex = index;
    sayDelta(this.#sink, undefined, index, piece);
  }

  /**
   * vLLM ends a call wherever text or thinking comes, and the rest of its arguments may follow: then the next call or
   * the end of the message ends it.
   * https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/cohere/serving.py,
   * https://github.com/vllm-project/vllm/issues/55284
   */
  #onCallEnd(index: number | undefined): void {
    // `null` stands for no arguments.
    const isAmid = this.#piece !== "null" && isAmidObject(this.#piece);
    if (isAmid && index === this.#pieceIndex) return;
    this.#sink.tool({ callIndex: index, done: true });
  }

  #onContent(message: WireMessage | null | undefined, index: number | undefined): void {
    const { content } = message ?? {};
    if (typeof content === "string") this.#onBlock({ text: content }, index);
    else if (isList(content))
      for (const [position, block] of content.entries()) this.#onBlock(block, (index ?? 0) + position);
    else if (!isNothing(content)) this.#onBlock(content, index);
  }

  #onBlock(block: WireContent | null, index: number | undefined): void {
    const { text, thinking } = block ?? {};
    if (typeof thinking === "string" && thinking !== "") {
      this.#blockOf("thinking", index).text += thinking;
      this.#sink.reasoning(thinking);
    }
    if (typeof text === "string") this.#onText(text, index);
  }

  #onText(text: string, index: number | undefined): void {
    if (text === "") return;
    this.#blockOf("text", index).text += text;
    this.#sink.text(text);
  }

  #blockOf(type: "text" | "thinking", index: number | undefined) {
    let block = this.#blocks.find((known) => known.index === index && known.type === type);
    if (block === undefined) this.#blocks.push((block = { index, type, text: "" }));
    return block;
  }

  #onCitations(message: WireMessage | null | undefined): void {
    const found = message?.citations;
    if (isList(found)) this.#citations.push(...found);
    else if (isObject(found)) this.#citations.push(found);
  }

  #onEnd(end: WireDelta): void {
    this.#onUsage(end.usage);
    this.#onFinish(end.finish_reason ?? end.finishReason, end.error);
    this.#sink.terminal();
  }

  #onUsage(usage: WireUsage | null | undefined): void {
    if (!isObject(usage)) return;
    this.#sink.usage(usageOf(usage));
  }

  #onFinish(said: string | null | undefined, error: unknown): void {
    const reason = stringOf(said);
    const neutral = finishReasonOf(reason ?? "");
    const message = errorText(error);
    this.#sink.finish(neutral, reason ?? null, message);
    if (neutral === "error" || message !== undefined)
      this.#sink.fail(new ToolError("provider_error", message ?? `Cohere ended the generation with ${reason}.`));
  }

  /** Without a type: a whole response, or an error in the middle of a stream. */
  #onWhole(event: WireEvent): void {
    const { message } = event;
    const isError = event.error || typeof message === "string" || (isNothing(message) && errorText(event));
    if (isError) return this.#onError(event);
    if (!isRecord(message)) return;
    this.#sink.start(stringOf(event.id), undefined);
    this.#onPlan(message);
    this.#onContent(message, undefined);
    this.#onCalls(message, 0, true);
    this.#onCitations(message);
    this.#onEnd({ finish_reason: event.finish_reason ?? event.finishReason, usage: event.usage });
  }

  #onError(event: WireEvent): void {
    const message = errorText(event.error) ?? errorText(event) ?? JSON.stringify(event.error || event);
    this.#sink.fail(new ToolError("provider_error", message, { cause: event }));
  }

  end(): void {}

  get native(): CohereNative {
    return { toolPlan: this.#toolPlan, content: this.#blocks.map(contentOf), citations: this.#citations };
  }
}

/** Whether the event only continues one call's arguments. */
function isOnlyArguments(message: WireMessage | null | undefined): boolean {
  if (!isObject(message)) return false;
  const { tool_calls: call } = message;
  if (!isObject(call) || isList(call)) return false;
  const { id, function: part } = call;
  return isNothing(id) && isObject(part) && isNothing(part.name);
}

function isOnlyText(message: WireMessage | null | undefined): boolean {
  const content = message?.content;
  return isObject(content) && !isList(content) && !content.thinking;
}

/** A string, even an empty one. */
function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function contentOf({ type, text }: { type: "text" | "thinking"; text: string }): CohereContent {
  return type === "text" ? { type, text } : { type, thinking: text };
}

/** `Array.isArray` does not narrow readonly lists. */
function isList<T>(value: OneOrMany<T> | string): value is readonly T[] {
  return Array.isArray(value);
}
