import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { toolChunk } from "../../src/stream/chunk.ts";
import type { FinishReason, Usage } from "../../src/stream/events.ts";
import type { Delta } from "../../src/wire/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import type { WireBlock, WireDelta, WireError, WireEvent, WireMessage, WireStopDetails, WireUsage } from "./wire.ts";

/** Everything that {@link createParser} takes: an event of a stream, a whole message, or the `[DONE]` that gateways add. */
export type ParserInput = WireEvent | WireMessage | string;

/** What was sent, block by block: what `assistantMessage()` is made of. Plain JSON. */
export interface AnthropicRecord {
  readonly messages: readonly MessageRecord[];
}

/** One `message_start` and what followed it. */
export interface MessageRecord {
  readonly blocks: BlockRecord[];
  /** `null` while the message goes on, and for ever when it was cut. */
  stopReason: string | null;
  /** Whether another message began before this one had ended: a gateway that tried again. */
  replaced: boolean;
}

export interface BlockRecord {
  /** As it goes back. Of a client's call without `input`, which is the call's. */
  readonly block: { readonly type: string; [field: string]: unknown };
  /** Only for a client's call (`tool_use`): where to find it among the calls of the turn. */
  readonly call?: CallPlace;
  /** Whether the block has ended. */
  done: boolean;
}

export interface CallPlace {
  readonly turnIndex: number;
  readonly callIndex: number;
}

/** A block between its start and its stop. */
interface OpenBlock {
  readonly record: BlockRecord;
  /** The pieces of an input that is not a client's call. */
  json: string;
  /** An input that came whole with the start. */
  input: unknown;
}

/**
 * Reads what the Messages API sends.
 *
 * Pieces find their block by its index alone, and no block can touch another: text, thinking, server tools and calls
 * may be interleaved. A call's `callIndex` is the position of its block in the message, which is the block's index wherever the
 * server counts as documented.
 */
export function createParser(sink: ParserSink): Parser<ParserInput> {
  const messages: MessageRecord[] = [];
  const native: AnthropicRecord = { messages };
  const serverCalls = new Map<string, WireBlock>();
  let message: MessageRecord | undefined;
  let ended = false;
  let open = new Map<number, OpenBlock>();
  let usage: WireUsage | undefined;
  let usageTold = true;

  function push(event: ParserInput): void {
    if (typeof event !== "object" || event === null) return;
    switch (event.type) {
      case "content_block_delta":
        return blockDelta(event as WireEvent);
      case "content_block_start":
        return blockStart(event as WireEvent);
      case "content_block_stop":
        return blockStop(event as WireEvent);
      case "message_start":
        return messageStart((event as WireEvent).message ?? {});
      case "message_delta":
        return messageDelta(event as WireEvent);
      case "message_stop":
        return messageStop();
      case "message":
        messageStart(event as WireMessage);
        return messageStop();
      case "error":
        return fail(event as WireEvent);
      default:
        // ping, and what is yet to be invented. An error that lost its type is still an error.
        if (!event.type && (event as WireEvent).error) fail(event as WireEvent);
    }
  }

  /** Also the whole of a message that was not streamed: only then, and after programmatic calls, it has content. */
  function messageStart(start: WireMessage): void {
    if (message !== undefined && !ended && message.stopReason === null) abandon(message);
    beginMessage();
    sink.start(start.id ?? undefined, start.model ?? undefined);
    const { content, stop_reason: reason } = start;
    if (Array.isArray(content)) {
      const last = CUT_REASONS.has(reason) ? content.length - 1 : -1;
      content.forEach((block: WireBlock, index) => wholeBlock(block, index === last));
    }
    addUsage(start.usage);
    finish(reason, start.stop_details);
  }

  function beginMessage(): MessageRecord {
    message = { blocks: [], stopReason: null, replaced: false };
    messages.push(message);
    ended = false;
    open = new Map();
    usage = undefined;
    return message;
  }

  /** A gateway began again: the calls of its first attempt are over, and none of them may be joined to what follows. */
  function abandon(first: MessageRecord): void {
    first.replaced = true;
    for (const { call } of first.blocks) {
      if (call !== undefined) cut(call, "the provider began the message again before it had ended");
    }
  }

  function blockStart({ index, content_block: block }: WireEvent): void {
    if (typeof block?.type !== "string") return;
    const opened = openBlock(block);
    open.set(index ?? -1, opened);
    if (block.text) sink.text(block.text);
    if (block.thinking) sink.reasoning(block.thinking);
  }

  /** Calls are announced here, with an input that came whole kept back until it is certain that no pieces follow. */
  function openBlock(block: WireBlock): OpenBlock {
    const { blocks } = message ?? beginMessage();
    const call = block.type === "tool_use" ? { turnIndex: messages.length - 1, callIndex: blocks.length } : undefined;
    let record: BlockRecord;
    if (call === undefined) {
      const { citations } = block;
      record = { block: { ...block, ...(Array.isArray(citations) && { citations: [...citations] }) }, done: false };
    } else {
      const { input: _, ...rest } = block;
      record = { block: rest, call, done: false };
      sink.tool(
        toolChunk(call.turnIndex, call.callIndex, block.id, block.name, undefined, undefined, callMetadata(block)),
      );
    }
    blocks.push(record);
    if (isServerCall(block)) serverCallStarted(block);
    else if (block.tool_use_id && block.type.endsWith("_tool_result")) serverCallEnded(block, block.tool_use_id);
    return { record, json: "", input: isEmpty(block.input) ? undefined : block.input };
  }

  function blockDelta({ index, delta }: WireEvent): void {
    if (!delta) return;
    const target = open.get(index ?? -1) ?? implicitBlock(index, delta);
    if (target === undefined) return;
    const { record } = target;
    const block: { [field: string]: unknown } = record.block;
    switch (delta.type) {
      case "input_json_delta":
        if (delta.partial_json) inputPiece(target, inputText(delta.partial_json));
        return;
      case "text_delta":
        if (delta.text) textPiece(record, delta.text);
        return;
      case "thinking_delta":
        if (!delta.thinking) return;
        sink.reasoning(delta.thinking);
        append(block, "thinking", delta.thinking);
        return;
      case "citations_delta":
        if (Array.isArray(block["citations"])) block["citations"].push(delta.citation);
        else block["citations"] = [delta.citation];
        return;
      default:
        // signature_delta, compaction_delta and what is yet to be invented: its fields extend those of the block.
        for (const [field, value] of Object.entries(delta)) {
          if (field === "type" || field === "__proto__") continue;
          if (typeof value === "string") append(block, field, value);
          else if (!isNothing(value)) block[field] = value;
        }
    }
  }

  /** The pieces of an input or a text, which are most of a stream. */
  function deltaOf({ type, delta }: WireEvent): Delta | undefined {
    if (type !== "content_block_delta") return undefined;
    if (delta?.type === "input_json_delta") return inputDelta;
    return delta?.type === "text_delta" ? textDelta : undefined;
  }

  const inputDelta: Delta = {
    text: ["delta", "partial_json"],
    index: ["index"],
    push(piece, index) {
      const target = open.get(index);
      if (target === undefined) return false;
      if (piece !== "") inputPiece(target, piece);
      return true;
    },
  };

  const textDelta: Delta = {
    text: ["delta", "text"],
    index: ["index"],
    push(piece, index) {
      const target = open.get(index);
      if (target === undefined) return false;
      if (piece !== "") textPiece(target.record, piece);
      return true;
    },
  };

  function inputPiece(target: OpenBlock, piece: string): void {
    const { call } = target.record;
    target.input = undefined;
    if (call === undefined) target.json += piece;
    else sink.tool(toolChunk(call.turnIndex, call.callIndex, undefined, undefined, piece));
  }

  function textPiece({ block }: BlockRecord, piece: string): void {
    sink.text(piece);
    append(block, "text", piece);
  }

  /** A gateway may forget to say that text or thinking begins. */
  function implicitBlock(index: number | null | undefined, delta: WireDelta): OpenBlock | undefined {
    if (delta.type === "text_delta") blockStart({ index, content_block: { type: "text", text: "" } });
    else if (delta.type === "thinking_delta") blockStart({ index, content_block: { type: "thinking", thinking: "" } });
    return open.get(index ?? -1);
  }

  function blockStop({ index }: WireEvent): void {
    const stopped = open.get(index ?? -1);
    if (stopped === undefined) return;
    open.delete(index ?? -1);
    endBlock(stopped);
  }

  function endBlock({ record, json, input }: OpenBlock): void {
    const { block, call } = record;
    record.done = true;
    if (call !== undefined) {
      const { turnIndex, callIndex } = call;
      const whole = isRecord(input) ? input : undefined;
      const text = input === undefined || whole !== undefined ? undefined : inputText(input);
      sink.tool(toolChunk(turnIndex, callIndex, undefined, undefined, text, true, undefined, whole));
      return;
    }
    if (json !== "") (block as { [field: string]: unknown })["input"] = parsed(json);
    if (isServerCall(block)) serverCallSaid(block);
  }

  /** A gateway may forget to say that a block ends; the end of the message says it too, unless that is a cut. */
  function endOpenBlocks(): void {
    for (const block of open.values()) endBlock(block);
    open.clear();
  }

  /**
   * A block that comes in one piece. The last one of a message that ran out of tokens may be cut, and looks whole all the same:
   * https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
   */
  function wholeBlock(block: WireBlock, mayBeCut: boolean): void {
    if (typeof block?.type !== "string") return;
    const opened = openBlock(block);
    if (block.text) sink.text(block.text);
    if (block.thinking) sink.reasoning(block.thinking);
    const { call } = opened.record;
    if (mayBeCut) {
      const input = isRecord(block.input) ? block.input : undefined;
      if (call !== undefined) cut(call, "the limit of tokens fell into it", input);
      return;
    }
    // Here `{}` is no promise of more: it is the input.
    opened.input = block.input ?? undefined;
    endBlock(opened);
  }

  function cut({ turnIndex, callIndex }: CallPlace, why: string, input?: Readonly<Record<string, unknown>>): void {
    sink.tool({ turnIndex, callIndex, argsKvPatch: input, error: why, errorType: "truncated" });
  }

  function serverCallStarted(block: WireBlock): void {
    const { id, name, type } = block;
    sink.providerTool({ id: id ?? null, name: name ?? "", type, status: "started", executedBy: "provider" });
    if (id) serverCalls.set(id, block);
  }

  /** The provider now knows the input, and runs the tool. */
  function serverCallSaid(block: WireBlock): void {
    const { id, name, type, input } = block;
    sink.providerTool({ id: id ?? null, name: name ?? "", type, status: "started", executedBy: "provider", input });
    if (id) serverCalls.set(id, block);
  }

  function serverCallEnded(result: WireBlock, id: string): void {
    const { content } = result;
    const failed = result.is_error === true || (isRecord(content) && String(content["type"]).endsWith("_error"));
    // The call may be one of an earlier turn, whose program waited for our results.
    const call = serverCalls.get(id);
    sink.providerTool({
      id,
      name: call?.name ?? result.type.slice(0, -"_tool_result".length),
      type: call?.type ?? result.type,
      status: failed ? "failed" : "completed",
      executedBy: "provider",
      ...(call?.input !== undefined && { input: call.input }),
      output: content,
    });
  }

  function messageDelta({ delta, usage: more }: WireEvent): void {
    finish(delta?.stop_reason, delta?.stop_details);
    if (!more) return;
    addUsage(more);
    tellUsage();
  }

  function messageStop(): void {
    tellUsage();
    ended = true;
    sink.terminal();
  }

  function finish(reason: string | null | undefined, details: WireStopDetails | null | undefined): void {
    if (!reason) return;
    (message ?? beginMessage()).stopReason = reason;
    if (!CUT_REASONS.has(reason)) endOpenBlocks();
    sink.finish(FINISH_REASONS.get(reason) ?? "unknown", reason, details?.explanation ?? undefined);
  }

  /** Counts are cumulative; a `null` in a later frame means that nothing was said of it. */
  function addUsage(more: WireUsage | null | undefined): void {
    if (!more) return;
    const sum: Record<string, unknown> = { ...usage };
    for (const [name, value] of Object.entries(more)) if (!isNothing(value) && name !== "__proto__") sum[name] = value;
    usage = sum as WireUsage;
    usageTold = false;
  }

  function tellUsage(): void {
    if (usage === undefined || usageTold) return;
    usageTold = true;
    sink.usage(neutralUsage(usage));
  }

  function fail(event: WireEvent): void {
    const error: WireError = typeof event.error === "string" ? { message: event.error } : (event.error ?? {});
    const said = error.message ?? "the provider reported an error without a message";
    tellUsage();
    sink.fail(new ToolError("provider_error", error.type ? `${error.type}: ${said}` : said, { cause: event }));
  }

  return { push, deltaOf, end: tellUsage, thrown, native };
}

/** The client throws an `APIError` with the whole event as its `error`. */
function thrown(error: unknown): ParserInput | undefined {
  const event = isRecord(error) || error instanceof Error ? (error as { error?: unknown }).error : undefined;
  return isRecord(event) && event["type"] === "error" ? (event as ParserInput) : undefined;
}

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  // The server's loop of server tools was cut short; send the message back as it is and it goes on.
  ["pause_turn", "stop"],
  // Beta: the context was compacted and the request asked to pause then.
  ["compaction", "stop"],
  ["tool_use", "tool-use"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "refusal"],
]);

/** Stop reasons under which the last block may be a part only. */
export const CUT_REASONS: ReadonlySet<unknown> = new Set(["max_tokens", "model_context_window_exceeded"]);

/** `input_tokens` leaves out what was read from and written to the cache; the total is the sum of the three. */
function neutralUsage(raw: WireUsage): Usage {
  const {
    input_tokens: fresh,
    output_tokens: output,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
  } = raw;
  const inputTokens = isNothing(fresh) ? undefined : fresh + (written ?? 0) + (read ?? 0);
  const outputTokens = output ?? undefined;
  const totalTokens = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  return { inputTokens, outputTokens, totalTokens, raw };
}

/** What goes back with the call, beside its id, name and input. */
function callMetadata({ caller, toolset_name: toolset }: WireBlock): Record<string, unknown> | undefined {
  if (isNothing(caller) && isNothing(toolset)) return undefined;
  return { ...(!isNothing(caller) && { caller }), ...(!isNothing(toolset) && { toolset_name: toolset }) };
}

/** `server_tool_use`, `mcp_tool_use` and their kind to come: the provider runs these. */
function isServerCall({ type }: { readonly type: string }): boolean {
  return type.endsWith("_tool_use");
}

function isEmpty(input: unknown): boolean {
  return isNothing(input) || input === "" || (isRecord(input) && Object.keys(input).length === 0);
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** An input that is no object: the text itself from gateways that do not parse it, else something for the schema to refuse. */
function inputText(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** The input of a server tool; text that is no JSON is kept in an object, since the API takes no other. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return { INVALID_JSON: json };
  }
}

function append(block: { [field: string]: unknown }, field: string, more: string): void {
  const before = block[field];
  block[field] = typeof before === "string" ? before + more : more;
}
