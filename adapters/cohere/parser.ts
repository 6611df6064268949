import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { toolChunk } from "../../src/stream/chunk.ts";
import type { FinishReason } from "../../src/stream/events.ts";
import type { Delta } from "../../src/wire/index.ts";
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
 * The plan is told as reasoning, which it is for whoever looks on; on the way back it is a field of its own.
 */
export function createParser(sink: ParserSink): Parser<WireEvent> {
  let toolPlan = "";
  /** By the index on the wire; a new block where the kind under an index changes. */
  const blocks: { readonly index: number | undefined; readonly type: "text" | "thinking"; text: string }[] = [];
  const citations: object[] = [];

  function push(event: WireEvent): void {
    // Raw streams may end with "[DONE]", which the SDK keeps to itself.
    if (typeof event !== "object" || event === null) return;
    const message = event.delta?.message;
    switch (event.type) {
      case "message-start":
        return sink.start(event.id ?? undefined, undefined);
      case "tool-plan-delta":
        return onPlan(message);
      case "tool-call-start":
      case "tool-call-delta":
        return onCalls(message, event.index ?? undefined, false);
      case "tool-call-end":
        return sink.tool(toolChunk(undefined, event.index ?? undefined, undefined, undefined, undefined, true));
      case "content-start":
      case "content-delta":
        return onContent(message, event.index ?? undefined);
      case "citation-start":
        return onCitations(message);
      case "message-end":
        return onEnd(event.delta ?? {});
      case undefined:
      case null:
        return onWhole(event);
      case "error":
        return onError(event);
      default: // content-end, citation-end, debug, and what will come
    }
  }

  /** The pieces of arguments and of text, which are most of a stream. */
  function deltaOf({ type, delta }: WireEvent): Delta | undefined {
    const message = delta?.message;
    if (type === "tool-call-delta") return isOnlyArguments(message) ? argumentsDelta : undefined;
    return type === "content-delta" && isOnlyText(message) ? textDelta : undefined;
  }

  const argumentsDelta: Delta = {
    text: ["delta", "message", "tool_calls", "function", "arguments"],
    index: ["index"],
    push(piece, index) {
      sink.tool(toolChunk(undefined, index, undefined, undefined, piece, false));
      return true;
    },
  };

  const textDelta: Delta = {
    text: ["delta", "message", "content", "text"],
    index: ["index"],
    push(piece, index) {
      onText(piece, index);
      return true;
    },
  };

  function onPlan(message: WireMessage | null | undefined): void {
    const delta = message?.tool_plan ?? message?.toolPlan;
    if (typeof delta !== "string" || delta === "") return;
    toolPlan += delta;
    sink.reasoning(delta);
  }

  /** @param index of the first; a list is rare and counts on from there. */
  function onCalls(message: WireMessage | null | undefined, index: number | undefined, isWhole: boolean): void {
    const calls = message?.tool_calls ?? message?.toolCalls;
    if (isList(calls)) {
      for (const [position, call] of calls.entries()) {
        sink.tool(callChunk(call, index === undefined ? undefined : index + position, isWhole));
      }
    } else if (calls !== undefined && calls !== null) sink.tool(callChunk(calls, index, isWhole));
  }

  function onContent(message: WireMessage | null | undefined, index: number | undefined): void {
    const { content } = message ?? {};
    if (typeof content === "string") onBlock({ text: content }, index);
    else if (isList(content))
      for (const [position, block] of content.entries()) onBlock(block, (index ?? 0) + position);
    else if (content !== undefined && content !== null) onBlock(content, index);
  }

  function onBlock({ text, thinking }: WireContent, index: number | undefined): void {
    if (typeof thinking === "string" && thinking !== "") {
      blockOf("thinking", index).text += thinking;
      sink.reasoning(thinking);
    }
    if (typeof text === "string") onText(text, index);
  }

  function onText(text: string, index: number | undefined): void {
    if (text === "") return;
    blockOf("text", index).text += text;
    sink.text(text);
  }

  function blockOf(type: "text" | "thinking", index: number | undefined) {
    let block = blocks.find((known) => known.index === index && known.type === type);
    if (block === undefined) blocks.push((block = { index, type, text: "" }));
    return block;
  }

  function onCitations(message: WireMessage | null | undefined): void {
    const found = message?.citations;
    if (isList(found)) citations.push(...found);
    else if (typeof found === "object" && found !== null) citations.push(found);
  }

  function onEnd(end: WireDelta): void {
    onUsage(end.usage);
    onFinish(end.finish_reason ?? end.finishReason, end.error);
    sink.terminal();
  }

  function onUsage(usage: WireUsage | null | undefined): void {
    if (typeof usage !== "object" || usage === null) return;
    const tokens = usage.tokens ?? usage.billed_units ?? usage.billedUnits;
    const inputTokens = tokens?.input_tokens ?? tokens?.inputTokens ?? undefined;
    const outputTokens = tokens?.output_tokens ?? tokens?.outputTokens ?? undefined;
    const totalTokens =
      inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
    sink.usage({ inputTokens, outputTokens, totalTokens, raw: usage });
  }

  function onFinish(reason: string | null | undefined, error: string | null | undefined): void {
    const neutral = FINISH_REASONS.get(reason ?? "") ?? "unknown";
    sink.finish(neutral, reason ?? null, error ?? undefined);
    if (neutral === "error" || typeof error === "string") {
      sink.fail(new ToolError("provider_error", error ?? `Cohere ended the generation with ${reason}.`));
    }
  }

  /** Without a type: a whole response, or an error in the middle of a stream. */
  function onWhole(event: WireEvent): void {
    const { message } = event;
    if ((event.error ?? undefined) !== undefined || typeof message === "string") return onError(event);
    if (typeof message !== "object" || message === null) return;
    sink.start(event.id ?? undefined, undefined);
    onPlan(message);
    onContent(message, undefined);
    onCalls(message, 0, true);
    onCitations(message);
    onEnd({ finish_reason: event.finish_reason ?? event.finishReason, usage: event.usage });
  }

  function onError(event: WireEvent): void {
    sink.fail(new ToolError("provider_error", errorText(event.error ?? event.message), { cause: event }));
  }

  function native(): CohereNative {
    return { toolPlan, content: blocks.map(contentOf), citations };
  }

  return new CohereParser(push, deltaOf, native);
}

/** Its getter is on a prototype: in an object literal it is a new function, with a hidden class of its own, each time. */
class CohereParser implements Parser<WireEvent> {
  readonly push: (event: WireEvent) => void;
  readonly deltaOf: (event: WireEvent) => Delta | undefined;
  readonly #native: () => CohereNative;

  constructor(
    push: (event: WireEvent) => void,
    deltaOf: (event: WireEvent) => Delta | undefined,
    native: () => CohereNative,
  ) {
    this.push = push;
    this.deltaOf = deltaOf;
    this.#native = native;
  }

  end(): void {}

  get native(): CohereNative {
    return this.#native();
  }
}

/** Whether nothing is said but more of one call's arguments. */
function isOnlyArguments(message: WireMessage | null | undefined): boolean {
  if (typeof message !== "object" || message === null) return false;
  const { tool_calls: call } = message;
  if (typeof call !== "object" || call === null || isList(call)) return false;
  const { id, function: part } = call;
  return isMissing(id) && typeof part === "object" && part !== null && isMissing(part.name);
}

function isOnlyText(message: WireMessage | null | undefined): boolean {
  const content = message?.content;
  return typeof content === "object" && content !== null && !isList(content) && !content.thinking;
}

/** https://docs.cohere.com/v2/reference/chat#response.body.finish_reason; the last two are older words for others. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop"],
  ["MAX_TOKENS", "length"],
  ["TOOL_CALL", "tool-use"],
  ["ERROR", "error"],
  ["TIMEOUT", "error"],
  ["ERROR_TOXIC", "content-filter"],
  ["ERROR_LIMIT", "length"],
]);

function callChunk(call: WireToolCall, index: number | undefined, isWhole: boolean) {
  const { name, arguments: args } = call.function ?? {};
  const isObject = typeof args === "object" && args !== null && !Array.isArray(args);
  return toolChunk(
    undefined,
    index,
    call.id ?? undefined,
    name ?? undefined,
    typeof args === "string" ? args : undefined,
    isWhole,
    undefined,
    isObject ? (args as Record<string, unknown>) : undefined,
  );
}

function isMissing(value: unknown): boolean {
  return value === null || value === undefined;
}

function contentOf({ type, text }: { type: "text" | "thinking"; text: string }): CohereContent {
  return type === "text" ? { type, text } : { type, thinking: text };
}

function errorText(error: unknown): string {
  const message = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : error;
  return typeof message === "string" ? message : (JSON.stringify(error) ?? String(error));
}

/** `Array.isArray` does not narrow readonly lists. */
function isList<T>(value: OneOrMany<T> | string): value is readonly T[] {
  return Array.isArray(value);
}
