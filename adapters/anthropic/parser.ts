import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { isAmidObject } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { sayDelta, toolChunk } from "../../src/stream/chunk.ts";
import {
  argumentsObject,
  argumentsText,
  errorText,
  isEmpty,
  isNothing,
  isObject,
  textOf,
} from "../../src/wire/field.ts";
import { Templates, type Delta } from "../../src/wire/index.ts";
import { finishReasonOf, isCut } from "./finish.ts";
import { inputText, parsedInput } from "./input.ts";
import { isServerCall, isServerResult, ServerCalls } from "./server-calls.ts";
import { UsageSum } from "./usage.ts";
import type {
  AnthropicRecord,
  BlockRecord,
  CallPlace,
  MessageRecord,
  WireBlock,
  WireContainer,
  WireDelta,
  WireError,
  WireEvent,
  WireMessage,
  WireStopDetails,
} from "./wire.ts";

/** The input of {@link AnthropicParser}: an event of a stream, a whole message, or the `[DONE]` that gateways add. */
export type ParserInput = WireEvent | WireMessage | string;

/** A block between its start and its stop. */
interface OpenBlock {
  readonly record: BlockRecord;
  /** The input so far of a block that is not a client's call. */
  json: string;
  /** An input that came whole at the start. */
  input: unknown;
  /** The last piece of the input; empty until one has come. */
  piece: string;
}

/**
 * Reads what the Messages API sends.
 *
 * Pieces find their block by its index alone, and blocks are independent: text, thinking, server tools and calls may be
 * interleaved. A call's `callIndex` is the position of its block in the message, which is the block's index wherever
 * the server counts as documented.
 */
export class AnthropicParser implements Parser<ParserInput> {
  readonly #sink: ParserSink;
  readonly #messages: MessageRecord[] = [];
  readonly native: AnthropicRecord = { messages: this.#messages };
  readonly #serverCalls: ServerCalls;
  readonly #usage: UsageSum;
  #message: MessageRecord | undefined;
  /** The message that `message_start` brought. */
  #start: WireMessage | undefined;
  #ended = false;
  readonly #open = new Map<number, OpenBlock>();
  /** The index of the block that began last. */
  #latest = -1;
  /** Blocks with an input that were stopped, or whose index was reused: the last one of each index. */
  readonly #stopped = new Map<number, OpenBlock>();
  /** The last thinking block. */
  #thinking: BlockRecord | undefined;
  /** The last text or thinking that came under the index of a block of another type. */
  #astray: BlockRecord | undefined;
  /** Whether a piece of the message came whose call is unknown. */
  #isLost = false;

  static readonly #input: Delta<AnthropicParser> = {
    text: ["delta", "partial_json"],
    index: ["index"],
    push(parser, piece, index) {
      const target = parser.#open.get(index);
      if (target === undefined) return false;
      if (piece !== "") parser.#inputPiece(target, index, piece);
      return true;
    },
  };
  static readonly #text: Delta<AnthropicParser> = {
    text: ["delta", "text"],
    index: ["index"],
    push(parser, piece, index) {
      const target = parser.#open.get(index);
      if (target === undefined) return false;
      if (piece !== "") parser.#textPiece(target, piece);
      return true;
    },
  };
  /** Most of a stream is pieces of inputs or text. */
  static readonly #templates = new Templates(({ type, delta }: WireEvent) => {
    if (type !== "content_block_delta") return undefined;
    if (delta?.type === "input_json_delta") return AnthropicParser.#input;
    return delta?.type === "text_delta" ? AnthropicParser.#text : undefined;
  });

  get templates(): Templates {
    return AnthropicParser.#templates;
  }

  constructor(sink: ParserSink) {
    this.#sink = sink;
    this.#serverCalls = new ServerCalls(sink);
    this.#usage = new UsageSum(sink);
  }

  push(event: ParserInput): void {
    if (!isObject(event)) return;
    switch (event.type) {
      case "content_block_delta":
        return this.#blockDelta(event as WireEvent);
      case "content_block_start":
        return this.#blockStart(event as WireEvent);
      case "content_block_stop":
        return this.#blockStop(event as WireEvent);
      case "message_start":
        return this.#messageStart((event as WireEvent).message ?? {});
      case "message_delta":
        return this.#messageDelta(event as WireEvent);
      case "message_stop":
        return this.#messageStop();
      case "message":
        this.#messageStart(event as WireMessage);
        return this.#messageStop();
      case "error":
        return this.#fail(event as WireEvent);
      default:
        // ping, and future event types. An error that lost its type is still an error.
        if (!event.type && ((event as WireEvent).error || errorText(event))) this.#fail(event as WireEvent);
    }
  }

  /**
   * Also a whole message that was not streamed. Its content and stop reason wait for what comes next. A start has them
   * after programmatic calls, and if the client's `messages.stream()` is read a little late: the client builds the
   * whole message in this very object (`#accumulateMessage` in its `lib/MessageStream`), and its blocks still come as
   * events of their own.
   */
  #messageStart(start: WireMessage): void {
    const message = this.#message;
    if (message !== undefined && !this.#ended) {
      if (message.stopReason === null) this.#abandon(message);
      else this.#endOpenBlocks();
    }
    this.#beginMessage();
    this.#sink.start(textOf(start.id), textOf(start.model));
    this.#start = start;
    this.#usage.add(start.usage);
    this.#keepContainer(start.container);
  }

  /**
   * The blocks in `message_start`: all of them, or those before the first one that comes as an event. If nothing comes,
   * the stream was cut, and they may be too. A block that comes is one of them if it matches the one at its index; a
   * gateway may count the blocks that follow from 0 again, or not at all.
   */
  #startContent(next?: WireBlock, index = 0): void {
    const { content, stop_reason: reason } = this.#start ?? {};
    if (!Array.isArray(content) || this.#message!.blocks.length > 0) return;
    const last = isCut(reason) ? content.length - 1 : -1;
    const end = next !== undefined && isSameBlock(content[index], next) ? index : undefined;
    content.slice(0, end).forEach((block: WireBlock, at) => this.#wholeBlock(block, at === last));
  }

  #keepContainer(container: WireContainer | null | undefined): void {
    if (container?.id) this.native.container = container.id;
  }

  #beginMessage(): MessageRecord {
    const message: MessageRecord = { blocks: [], stopReason: null, replaced: false };
    this.#message = message;
    this.#messages.push(message);
    this.#ended = false;
    this.#open.clear();
    this.#stopped.clear();
    this.#isLost = false;
    this.#usage.begin();
    return message;
  }

  /** A gateway started over: the calls of its first attempt are over, and what follows must not be joined to them. */
  #abandon(first: MessageRecord): void {
    first.replaced = true;
    for (const { call } of first.blocks) {
      if (call !== undefined) this.#cut(call, "the provider restarted the message before it ended");
    }
  }

  #blockStart({ index, content_block: block }: WireEvent): void {
    if (typeof block?.type !== "string") return;
    const before = this.#open.get(index ?? -1);
    // Announced twice, it is still one block.
    if (block.id && before?.record.block.id === block.id) return;
    if (before !== undefined && isSpoken(before.record)) before.record.done = true;
    else if (before !== undefined) this.#stopped.set(index ?? -1, before);
    this.#startContent(block, index ?? 0);
    this.#latest = index ?? -1;
    this.#open.set(this.#latest, this.#openBlock(block));
    this.#say(block);
  }

  /** The text that a block begins with. */
  #say(block: WireBlock): void {
    const text = textOf(block.text);
    const thinking = textOf(block.thinking);
    if (text !== undefined) this.#sink.text(text);
    if (thinking !== undefined) this.#sink.reasoning(thinking);
  }

  /** Announces calls. An input that came whole is held back until it is certain that no pieces follow. */
  #openBlock(block: WireBlock): OpenBlock {
    const { blocks } = this.#message ?? this.#beginMessage();
    const call =
      block.type === "tool_use" ? { turnIndex: this.#messages.length - 1, callIndex: blocks.length } : undefined;
    let record: BlockRecord;
    if (call === undefined) {
      const { citations } = block;
      record = { block: { ...block, ...(Array.isArray(citations) && { citations: [...citations] }) }, done: false };
    } else {
      const { input: _, ...rest } = block;
      record = { block: rest, call, done: false };
      const id = textOf(block.id);
      const { turnIndex, callIndex } = call;
      const name = textOf(block.name);
      this.#sink.tool(toolChunk(turnIndex, callIndex, id, name, undefined, undefined, callMetadata(block)));
    }
    blocks.push(record);
    if (block.type === "thinking") this.#thinking = record;
    if (block.type === "fallback") this.#handOver(block, blocks);
    if (isServerCall(block)) this.#serverCalls.started(block);
    // It goes back under the id of its call: Kimi gives it another.
    else if (typeof block.tool_use_id === "string" && isServerResult(block))
      (record.block as { tool_use_id?: unknown }).tool_use_id = this.#serverCalls.ended(block, block.tool_use_id);
    // One that is empty may be only a placeholder for one that is still to come.
    return { record, json: "", input: isEmpty(block.input) ? undefined : block.input, piece: "" };
  }

  /**
   * A model declined, and another takes over. The calls of the first may be cut; neither they nor their results go
   * back: https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback#continuing-the-conversation
   */
  #handOver({ to }: WireBlock, blocks: readonly BlockRecord[]): void {
    for (const { call } of blocks) {
      if (call !== undefined)
        this.#sink.tool({ ...call, error: "the model that wrote it declined to go on", errorType: "withdrawn" });
    }
    this.#sink.start(undefined, textOf(to?.model));
  }

  /**
   * A gateway may give an index to the beginning of a block only (https://github.com/decolua/9router/issues/2218): what
   * has none belongs to the block that began last.
   */
  #place(index: number | null | undefined): number {
    return index ?? this.#latest;
  }

  #blockDelta({ index: said, delta }: WireEvent): void {
    if (!delta) return;
    const index = this.#place(said);
    if (delta.type === "signature_delta") return this.#sign(this.#open.get(index)?.record, delta.signature);
    const target = this.#open.get(index) ?? this.#missingBlock(said, delta);
    if (target === undefined) return;
    const { record } = target;
    const block: { [field: string]: unknown } = record.block;
    switch (delta.type) {
      case "input_json_delta":
        if (delta.partial_json) this.#inputPiece(target, index, inputText(delta.partial_json));
        return;
      case "text_delta":
        if (textOf(delta.text) !== undefined) this.#textPiece(target, delta.text!);
        return;
      case "thinking_delta":
        // https://github.com/maximhq/bifrost/issues/5638
        if (delta.signature) this.#sign(record, delta.signature);
        if (typeof delta.thinking !== "string" || delta.thinking === "") return;
        this.#sink.reasoning(delta.thinking);
        append(this.#blockThatSays("thinking", target), "thinking", delta.thinking);
        return;
      case "citations_delta":
        if (!isRecord(delta.citation)) return;
        if (Array.isArray(block["citations"])) block["citations"].push(delta.citation);
        else block["citations"] = [delta.citation];
        return;
      default:
        // Future delta types: their fields extend those of the block. Those of a compaction_delta replace them.
        for (const [field, value] of Object.entries(delta)) {
          if (field === "type" || field === "__proto__") continue;
          if (delta.type === "compaction_delta") block[field] = value;
          else if (typeof value === "string") append(block, field, value);
          else if (!isNothing(value)) block[field] = value;
        }
    }
  }

  /** A gateway may sign thinking after its end, or in the next block: https://github.com/looplj/axonhub/issues/1105 */
  #sign(record: BlockRecord | undefined, signature: unknown): void {
    const isStray = record === undefined || record.call !== undefined || record.block.type === "text";
    const signed = isStray ? this.#thinking : record;
    // Sent twice, at the start and behind it, it is still one.
    if (typeof signature !== "string" || signed === undefined || signed.block["signature"] === signature) return;
    if (!isStray || !signed.block["signature"]) append(signed.block, "signature", signature);
  }

  #inputPiece(target: OpenBlock, index: number, piece: string): void {
    const { call } = target.record;
    if (call === undefined && isSpoken(target.record)) {
      this.#callOfStray(index);
      const found = this.#open.get(index)!;
      if (found !== target) this.#inputPiece(found, index, piece);
      return;
    }
    target.input = undefined;
    target.piece = piece;
    if (call === undefined) target.json += piece;
    else sayDelta(this.#sink, call.turnIndex, call.callIndex, piece);
  }

  #textPiece(target: OpenBlock, piece: string): void {
    this.#sink.text(piece);
    append(this.#blockThatSays("text", target), "text", piece);
  }

  /** A gateway may send text or thinking under the index of a call, or of the other kind: it is a block of its own. */
  #blockThatSays(type: "text" | "thinking", { record }: OpenBlock): { [field: string]: unknown } {
    if (record.block.type === type || (record.call === undefined && !isSpoken(record))) return record.block;
    const { blocks } = this.#message!;
    let said = this.#astray;
    if (said === undefined || said !== blocks.at(-1) || said.block.type !== type)
      blocks.push((this.#astray = said = { block: { type }, done: true }));
    if (type === "thinking") this.#thinking = said;
    return said.block;
  }

  /** A gateway may omit the start of text or thinking, or lose the block that an input belongs to. */
  #missingBlock(index: number | null | undefined, delta: WireDelta): OpenBlock | undefined {
    if (delta.type === "text_delta") this.#blockStart({ index, content_block: { type: "text", text: "" } });
    else if (delta.type === "thinking_delta")
      this.#blockStart({ index, content_block: { type: "thinking", thinking: "" } });
    else if (delta.type === "input_json_delta" && delta.partial_json) this.#callOfStray(index ?? -1);
    return this.#open.get(index ?? -1);
  }

  /**
   * A gateway may stop a call before its input comes, which reopens it
   * (https://github.com/agentgateway/agentgateway/issues/2147). Or the input comes under an index without a block, or
   * of text (https://github.com/Wei-Shaw/sub2api/pull/4294): it may then belong to any call without input, also to one
   * that begins later. If there is none so far, the start of its call was lost: it is a call without a name.
   */
  #callOfStray(index: number): void {
    const stopped = this.#stopped.get(index);
    if (stopped !== undefined) {
      if (isBareCall(stopped) || isAmidObject(stopped.piece)) this.#open.set(index, stopped);
      return;
    }
    const bare = [...this.#stopped.values(), ...this.#open.values()].filter(isBareCall);
    for (const { record } of bare) this.#cut(record.call!, UNASSIGNED);
    if (bare.length === 0) this.#blockStart({ index, content_block: { type: "tool_use" } });
    this.#isLost = true;
  }

  /**
   * A gateway may also stop a call in the middle of its input (https://github.com/ai-dynamo/dynamo/issues/12285): the
   * next piece continues it, or else the end of the message ends it.
   */
  #blockStop({ index: said }: WireEvent): void {
    const index = this.#place(said);
    const stopped = this.#open.get(index);
    if (stopped === undefined || isAmidObject(stopped.piece)) return;
    this.#open.delete(index);
    if (!isSpoken(stopped.record)) this.#stopped.set(index, stopped);
    this.#endBlock(stopped);
  }

  #endBlock(ended: OpenBlock): void {
    const { record, json, input } = ended;
    const { block, call } = record;
    record.done = true;
    if (call !== undefined) {
      if (this.#isLost && isBareCall(ended)) return this.#cut(call, UNASSIGNED);
      this.#sink.tool({
        ...call,
        argsTextDelta: argumentsText(input),
        argsKvPatch: argumentsObject(input),
        done: true,
      });
      return;
    }
    if (json !== "") (block as { [field: string]: unknown })["input"] = parsedInput(json);
    if (isServerCall(block)) this.#serverCalls.started(block, { input: block.input });
  }

  /**
   * A gateway may omit the end of a block. The end of the message implies it, unless that is a cut. The stop reason
   * does not: more of a block may follow it.
   */
  #endOpenBlocks(): void {
    if (isCut(this.#message?.stopReason)) return;
    for (const block of this.#open.values()) this.#endBlock(block);
    this.#open.clear();
  }

  /** A stop reason came, but no end: a call whose input had not begun may have been cut before it. */
  #endStopped(): void {
    for (const block of this.#open.values())
      if (isBareCall(block)) this.#cut(block.record.call!, "the stream ended before they began");
    this.#endOpenBlocks();
  }

  /**
   * A block that comes in one piece. The last one that the model wrote before it ran out of tokens may be cut, although
   * it looks whole:
   * https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
   */
  #wholeBlock(block: WireBlock, mayBeCut: boolean): void {
    if (typeof block?.type !== "string") return;
    const opened = this.#openBlock(block);
    this.#say(block);
    const { call } = opened.record;
    if (mayBeCut && isWritten(block)) {
      const input = isRecord(block.input) ? block.input : undefined;
      if (call !== undefined) this.#cut(call, "the model was stopped midway", input);
      return;
    }
    // Here `{}` is not a placeholder: it is the input.
    opened.input = block.input ?? undefined;
    this.#endBlock(opened);
  }

  #cut({ turnIndex, callIndex }: CallPlace, why: string, input?: Readonly<Record<string, unknown>>): void {
    this.#sink.tool({ turnIndex, callIndex, argsKvPatch: input, error: why, errorType: "truncated" });
  }

  #messageDelta({ delta, usage: more }: WireEvent): void {
    this.#startContent();
    this.#keepContainer(delta?.container);
    this.#finish(delta?.stop_reason, delta?.stop_details);
    if (!more) return;
    this.#usage.add(more);
    this.#usage.tell();
  }

  #messageStop(): void {
    this.#startContent();
    if (this.#message?.stopReason === null) this.#finish(this.#start?.stop_reason, this.#start?.stop_details);
    this.#endOpenBlocks();
    this.#usage.tell();
    this.#ended = true;
    this.#sink.terminal();
  }

  #finish(reason: string | null | undefined, details: WireStopDetails | null | undefined): void {
    if (typeof reason !== "string" || reason === "") return;
    (this.#message ?? this.#beginMessage()).stopReason = reason;
    this.#sink.finish(finishReasonOf(reason), reason, textOf(details?.explanation));
  }

  #fail(event: WireEvent): void {
    const said = errorText(event) ?? "the provider reported an error without a message";
    const type = textOf((event.error as WireError | null | undefined)?.type);
    this.#usage.tell();
    this.#sink.fail(new ToolError("provider_error", type === undefined ? said : `${type}: ${said}`, { cause: event }));
  }

  end(): void {
    if (!this.#ended && this.#message?.stopReason) this.#endStopped();
    this.#usage.tell();
  }

  /** The client throws an `APIError` with the whole event as its `error`. */
  thrown(error: unknown): ParserInput | undefined {
    const event = isRecord(error) || error instanceof Error ? (error as { error?: unknown }).error : undefined;
    return isRecord(event) && event["type"] === "error" ? (event as ParserInput) : undefined;
  }
}

const UNASSIGNED = "the provider did not say which call some belong to";

/** What goes back with the call, besides its id, name and input. */
function callMetadata({ caller, toolset_name: toolset }: WireBlock): Record<string, unknown> | undefined {
  if (isNothing(caller) && isNothing(toolset)) return undefined;
  return { ...(!isNothing(caller) && { caller }), ...(!isNothing(toolset) && { toolset_name: toolset }) };
}

/** Text or thinking. */
function isSpoken({ block: { type } }: BlockRecord): boolean {
  return type === "text" || type === "thinking";
}

/** A call without any input so far. */
function isBareCall({ record, piece, input }: OpenBlock): boolean {
  return record.call !== undefined && piece === "" && input === undefined;
}

function isSameBlock(a: WireBlock | null | undefined, b: WireBlock): boolean {
  return a?.type === b.type && (a.id ?? null) === (b.id ?? null);
}

/** Whether it is written word by word, and so may be cut: a server's result is not, nor is anything encrypted. */
function isWritten({ type }: WireBlock): boolean {
  return !isServerResult({ type }) && !AT_ONCE.has(type);
}

const AT_ONCE: ReadonlySet<string> = new Set([
  "redacted_thinking",
  "container_upload",
  "fallback",
  "compaction",
  "mcp_tool_listing",
]);

function append(block: { [field: string]: unknown }, field: string, more: string): void {
  const before = block[field];
  block[field] = typeof before === "string" ? before + more : more;
}
