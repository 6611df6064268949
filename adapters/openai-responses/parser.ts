import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { isRecord } from "../../src/schema/json.ts";
import { sayDelta, toolChunk } from "../../src/stream/chunk.ts";
import {
  argumentsObject,
  argumentsText,
  errorText,
  idOf,
  indexOf,
  isNothing,
  isObject,
  textOf,
} from "../../src/wire/field.ts";
import { Templates, type Delta } from "../../src/wire/index.ts";
import { errorMessage, statusOf } from "./finish.ts";
import { answeredCall, endOf, isHosted, isHostedResult, providerCall } from "./hosted.ts";
import {
  byOutput,
  callMetadata,
  corrected,
  differ,
  inputOf,
  isAnother,
  isCall,
  isOver,
  isResult,
  isSame,
  isSpoken,
  isTorn,
  keepName,
  nativeItem,
  noteWrapped,
  summaryPart,
  unsaid,
  type Item,
} from "./item.ts";
import { Items } from "./items.ts";
import { Speech } from "./speech.ts";
import { usageOf } from "./usage.ts";
import { wholesOf } from "./wholes.ts";
import type { NativeTurn, WireError, WireEvent, WireItem, WireResponse } from "./wire.ts";

const TORN = "pieces of them did not arrive, or came twice";

/** Where delta events have their piece, and the fields for counting, padding and ids. */
const PLACES = {
  text: ["delta"],
  index: ["output_index"],
  ignored: [["sequence_number"], ["obfuscation"], ["item_id"]],
} as const;

/** Reads the events of one response, or a whole response. */
export class ResponsesParser implements Parser<unknown> {
  readonly #sink: ParserSink;
  readonly #items = new Items();
  readonly #speech: Speech;
  /** The first call of each `call_id`: servers send a call twice, as another item. */
  readonly #firstCalls = new Map<string, Item>();
  #started = false;
  #ended = false;
  /** Whether a hosted tool waits for the client. */
  #waitsForClient = false;

  static readonly #arguments = ResponsesParser.#input("function_call");
  static readonly #freeText = ResponsesParser.#input("custom_tool_call");
  /** Only for the first part of an item, which is usually the only one. */
  static readonly #text: Delta<ResponsesParser> = {
    ...PLACES,
    push(parser, piece, index) {
      const item = parser.#items.at(index);
      if (item === undefined || item.done || item.wire.type !== "message" || parser.#ended) return parser.#ended;
      parser.#speech.text(item, 0, piece);
      return true;
    },
  };
  /** Pieces of arguments and of text are most of a stream. */
  static readonly #templates = new Templates(({ type, content_index: contentIndex }: WireEvent) => {
    switch (type) {
      case "response.function_call_arguments.delta":
        return ResponsesParser.#arguments;
      case "response.custom_tool_call_input.delta":
        return ResponsesParser.#freeText;
      case "response.output_text.delta":
        return contentIndex === 0 ? ResponsesParser.#text : undefined;
      default:
        return undefined;
    }
  });

  static #input(type: string): Delta<ResponsesParser> {
    return {
      ...PLACES,
      push(parser, piece, index) {
        const item = parser.#items.at(index);
        // What follows the end is ignored; without an item at the index, or if the piece may belong to another one, the
        // whole event is read.
        if (item?.wire.type !== type || parser.#ended || isOver(item) || !isCall(item.wire)) return parser.#ended;
        parser.#onInput(item, type, piece);
        return true;
      },
    };
  }

  get templates(): Templates {
    return ResponsesParser.#templates;
  }

  constructor(sink: ParserSink) {
    this.#sink = sink;
    this.#speech = new Speech(sink);
  }

  push(event: unknown): void {
    if (this.#ended || !isObject(event)) return;
    const { type } = event as WireEvent;
    if (typeof type === "string") this.#onEvent(type, withIndexes(event));
    // A response that was not streamed.
    else if ((event as WireResponse).object === "response") this.#onEnd(event, "response.done");
    // The body of an error response, or a line of a server that has no event for errors.
    else if ((event as WireEvent).error || errorText(event)) this.#fail((event as WireEvent).error ?? event, null);
  }

  /** A stream that ends before its terminal event was cut. */
  end(): void {
    if (!this.#ended) this.#endCalls(false);
  }

  /** The client throws an `APIError` with the event, or the error in it, as its `error`. */
  thrown(error: unknown): unknown {
    const said = isRecord(error) ? error["error"] : undefined;
    return isRecord(said) || textOf(said) !== undefined ? { type: "error", error: said } : undefined;
  }

  get native(): NativeTurn {
    return {
      items: this.#items.all
        .filter(
          (item) => (item.done && !this.#items.isRepeated(item)) || (isCall(item.wire) && item.unheaded === undefined),
        )
        .toSorted(byOutput)
        .map(nativeItem),
    };
  }

  #onEvent(type: string, event: WireEvent): void {
    // Deltas first: they are most of the stream.
    switch (type) {
      case "response.function_call_arguments.delta":
        return this.#onInput(this.#callOf(event, "function_call"), "function_call", event.delta);
      case "response.custom_tool_call_input.delta":
        return this.#onInput(this.#callOf(event, "custom_tool_call"), "custom_tool_call", event.delta);
      case "response.output_text.delta":
        return this.#speech.text(this.#spoken(event, "message"), event.content_index, event.delta);
      case "response.reasoning_text.delta":
        return this.#speech.reasoning(this.#spoken(event, "reasoning"), event.content_index, event.delta);
      case "response.reasoning_summary_text.delta":
        return this.#speech.reasoning(this.#spoken(event, "reasoning"), summaryPart(event.summary_index), event.delta);
      case "response.refusal.delta":
        return this.#speech.refusal(this.#spoken(event, "message"), event.content_index, event.delta);

      case "response.output_text.done":
        return this.#speech.textDone(() => this.#spoken(event, "message"), event.content_index, event.text);
      case "response.output_item.added":
        return this.#onAdded(event);
      case "response.content_part.added":
        return this.#onPart(event);
      case "response.function_call_arguments.done":
        return this.#onInputDone("function_call", event, event.arguments);
      case "response.custom_tool_call_input.done":
        return this.#onInputDone("custom_tool_call", event, event.input);
      case "response.output_item.done":
        return this.#onDone(event);

      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return this.#begin(event.response);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
      // OpenRouter's word for all four.
      case "response.done":
        return this.#onEnd(isRecord(event.response) ? event.response : {}, type);
      case "error":
      // A gateway's word for it.
      case "response.error":
        return this.#fail(event.error ?? (event as WireError), "failed");
      default:
        // vLLM's error, whose type is a word for what went wrong.
        if ((event as WireResponse).object === "error") this.#fail(event as WireError, "failed");
    }
  }

  // -- items

  #onAdded(event: WireEvent): void {
    const { item } = event;
    if (!isRecord(item)) return;
    const known = this.#items.findCallOf(event, textOf(item.type), item);
    // The same item may be announced twice; a server that gives every item the same index begins a new one.
    const isKnown = known !== undefined && !known.done && isSame(known.wire, item);
    if (!isKnown || differ(known.wire.call_id, item.call_id)) this.#open(event, item);
  }

  #onPart(event: WireEvent): void {
    const item = this.#items.find(event);
    if (item !== undefined) item.part = event.content_index ?? undefined;
  }

  /**
   * The item that text belongs to. It is never one of another kind, or one that has ended: some servers give the
   * message the index of the reasoning before it, and leave out its beginning
   * (https://github.com/BerriAI/litellm/issues/41185).
   */
  #spoken(event: WireEvent, type: "message" | "reasoning"): Item {
    const found = this.#items.find(event);
    if (found !== undefined && !isAnother(found, type, event.item_id)) return found;
    return this.#items.unfinished({ type, id: event.item_id ?? null }, event) ?? this.#open(event, { type });
  }

  #callOf(event: WireEvent, type: string): Item {
    const placed = this.#items.findCallOf(event, type);
    const isCallThere = placed !== undefined && isCall(placed.wire);
    const named = isCallThere ? undefined : this.#items.unfinished({ type, id: event.item_id ?? null }, event);
    const found = named ?? placed;
    const isNext = found === undefined || (isOver(found) && differ(found.id, event.item_id));
    return isNext ? this.#open(event, { type }) : found;
  }

  #open(event: WireEvent, wire: WireItem): Item {
    const item = this.#items.add(event, wire);
    if (isCall(wire)) {
      this.#items.setCallId(item, wire.call_id);
      item.name = textOf(wire.name);
      if (item.unheaded === undefined) this.#announce(item);
    } else if (isHosted(wire)) {
      const call = providerCall(wire, "started");
      // What the client has to run, or to approve, is reported once it is complete.
      if (call.executedBy === "provider" && wire.type !== "mcp_approval_request") this.#sink.providerTool(call);
    }
    return item;
  }

  #onDone(event: WireEvent): void {
    const { item: wire } = event;
    if (!isRecord(wire)) return;
    let item = this.#items.findCallOf(event, textOf(wire.type), wire);
    if (item !== undefined && (item.done || item.wire.type !== wire.type)) {
      if (item.done && isSame(item.wire, wire)) return;
      item = undefined;
    }
    const ended = item ?? this.#items.unfinished(wire, event) ?? this.#open(event, wire);
    // OpenRouter: https://github.com/OpenRouterTeam/ai-sdk-provider/pull/336
    ended.isBare =
      wire.type === "function_call" && ended.sent === 0 && !ended.unheaded && !inputOf(wire) && !inputOf(ended.wire);
    this.#finishItem(ended, wire);
  }

  #finishItem(item: Item, wire: WireItem): void {
    const began = item.wire;
    item.wire = wire;
    item.done = true;
    if (isCall(wire)) {
      this.#finishCall(item, wire, began);
    } else if (isResult(wire)) {
      this.#onResult(wire);
    } else if (isHostedResult(wire)) {
      const call = this.#items.hostedCall(wire);
      if (call !== undefined) this.#sink.providerTool(answeredCall(call, wire));
    } else if (isHosted(wire)) {
      const call = providerCall(wire, endOf(wire), item.id);
      this.#waitsForClient ||= call.executedBy === "client";
      this.#sink.providerTool(call);
    } else if (isSpoken(wire)) {
      this.#speech.whole(item, wire);
    }
  }

  // -- calls

  #announce(item: Item): void {
    const { key, callId, name } = item;
    if (callId !== undefined && !this.#firstCalls.has(callId)) this.#firstCalls.set(callId, item);
    this.#sink.tool(toolChunk(0, key, callId, name, undefined, false, callMetadata(item)));
  }

  /**
   * Ends calls that are still open at the end of the stream. One whose arguments never came is not a call without any.
   *
   * @param isWhole whether the response listed all of its items: pieces that belong to none of them are dropped then
   */
  #endCalls(isWhole: boolean): void {
    for (const { wire, done, unheaded, sent, isTold, guess, isBare, key: callIndex, id, name } of this.#items.all) {
      if (isBare && guess !== undefined) this.#sink.tool({ callIndex, argsTextDelta: guess, done: true });
      if (done || !isCall(wire)) continue;
      if (unheaded !== undefined) {
        if (isWhole) continue;
        const error = "the provider sent neither the call's start nor all of it";
        this.#sink.tool({ callIndex, id, name, argsTextDelta: unheaded, error, errorType: "truncated" });
      } else if (guess !== undefined) {
        const error = "the provider did not say which belong to this call";
        this.#sink.tool({ callIndex, error, errorType: "truncated" });
      } else if (sent === 0 && !isTold) {
        const whole = inputOf(wire);
        const text = textOf(argumentsText(whole));
        const record = argumentsObject(whole);
        if (text !== undefined) this.#sink.tool({ callIndex, argsTextDelta: text });
        else if (record !== undefined) this.#sink.tool({ callIndex, argsKvPatch: record });
        else this.#sink.tool({ callIndex, error: "the provider sent none of them", errorType: "truncated" });
      }
    }
  }

  /** A result in the response itself: the server ran the call, as agents behind this API do. */
  #onResult({ call_id: callId, output }: WireItem): void {
    const call = this.#items.findCall(callId);
    if (call === undefined) return;
    const metadata = { providerExecuted: true, type: call.wire.type, output };
    this.#sink.tool({ callIndex: call.key, metadata });
  }

  #onInput(item: Item, type: string, delta: unknown): void {
    if (typeof delta !== "string") return;
    if (!isCall(item.wire) || item.done || noteWrapped(item, type)) return;
    if (item.unheaded !== undefined) {
      item.unheaded += delta;
      return;
    }
    item.sent += delta.length;
    if (item.wire.type === "custom_tool_call") item.free += delta;
    sayDelta(this.#sink, 0, item.key, delta);
  }

  /** The whole input again: all of it is new if no piece came before (LM Studio). */
  #onInputDone(type: string, event: WireEvent, whole: unknown): void {
    const untold = typeof whole === "string" ? this.#items.untold(event, type, whole) : undefined;
    const item = untold?.item ?? this.#callOf(event, type);
    if (!isCall(item.wire) || item.done || noteWrapped(item, type) || (untold !== undefined && item.isTold)) return;
    // By its index it belongs to one call, by its id to another: the end of each decides.
    const named = this.#items.named(event.item_id);
    if (named !== undefined && named !== item && isCall(named.wire)) return;
    item.isTold = true;
    if (untold !== undefined && (item.sent > 0 || !untold.isSure)) {
      if (item.sent === 0) item.guess = whole as string;
      return;
    }
    if (isTorn(item, whole)) return this.#sink.tool({ callIndex: item.key, error: TORN, errorType: "truncated" });
    const name = keepName(item, event.name);
    const text = unsaid(item, whole);
    if (item.unheaded !== undefined) {
      item.unheaded = text ?? "";
      return;
    }
    const record = item.sent === 0 ? undefined : corrected(item, whole);
    if (name === undefined && text === undefined && record === undefined) return;
    item.sent += text?.length ?? 0;
    this.#sink.tool(toolChunk(0, item.key, undefined, name, text, false, undefined, record));
  }

  #finishCall(item: Item, wire: WireItem, began: WireItem): void {
    if (item.unheaded !== undefined) {
      this.#items.setCallId(item, wire.call_id);
      item.name = textOf(wire.name) ?? item.name;
      this.#announce(item);
    }
    const name = keepName(item, wire.name);
    const whole = inputOf(wire) || inputOf(began);
    // Pieces that nothing ties to this call may belong to another one, which has arguments.
    const isDoubtful = inputOf(wire) === "" && !item.isPlaced && Boolean(item.unheaded);
    const text = isDoubtful ? undefined : unsaid(item, whole);
    const record = item.sent > 0 ? corrected(item, whole) : argumentsObject(whole);
    // Results are matched against the id that came last: early servers announced a call with another one.
    const announced = item.callId;
    this.#items.setCallId(item, wire.call_id || announced);
    const { callId } = item;
    const metadata = callId === announced ? undefined : { id: callId };
    const torn = isTorn(item, whole) ? TORN : undefined;
    const first = callId === undefined ? undefined : this.#firstCalls.get(callId);
    if (item.isBare && first !== undefined && first !== item && first.name === item.name) {
      const error = "it has the id of an earlier one, and came without arguments";
      this.#sink.tool({ callIndex: item.key, error, errorType: "withdrawn" });
    } else if (wire.status === "incomplete" || isDoubtful || torn !== undefined) {
      this.#sink.tool(
        toolChunk(0, item.key, undefined, name, text, false, metadata, record, undefined, torn, "truncated"),
      );
    } else {
      // The end of free text cannot be seen: without a status, that of the response decides.
      const isComplete = wire.type === "custom_tool_call" ? wire.status === "completed" : !item.isBare;
      this.#sink.tool(toolChunk(0, item.key, undefined, name, text, isComplete, metadata, record));
    }
  }

  // -- the response

  #begin(response: WireResponse | null | undefined): void {
    if (this.#started || !isRecord(response)) return;
    this.#started = true;
    this.#sink.start(textOf(response.id), textOf(response.model));
  }

  #onEnd(response: WireResponse, type: string): void {
    this.#begin(response);
    const status = statusOf(response, type);
    const output: readonly WireItem[] = Array.isArray(response.output) ? response.output : [];
    this.#finishItems(output, status);
    this.#endCalls(output.length > 0);
    if (response.usage) this.#sink.usage(usageOf(response.usage));
    switch (status) {
      case "completed":
        this.#sink.finish(this.#speech.refused ? "refusal" : this.#waitsForClient ? "tool-use" : "stop", status);
        return this.#end();
      case "incomplete": {
        const reason = textOf(response.incomplete_details?.reason);
        // Whatever the reason, the answer is shorter than the model meant it to be.
        this.#sink.finish(
          reason === "content_filter" ? "content-filter" : "length",
          reason ? `${status}:${reason}` : status,
        );
        return this.#end();
      }
      case "failed":
      case "cancelled":
        return this.#fail(
          response.error ?? { message: `The response has ${status === "failed" ? status : "been cancelled"}.` },
          status,
        );
      default:
        // A background response that is still in progress.
        return this.#fail({ message: `The response is ${status}: retrieve it again when it has ended.` }, status);
    }
  }

  /** Completes what the events left open from the whole response. */
  #finishItems(output: readonly WireItem[], status: string): void {
    if (this.#items.all.length === 0) {
      output.forEach((wire, index) => this.#onDone({ output_index: index, item: wire }));
      return;
    }
    const wholes = wholesOf(this.#items.all, output);
    this.#finishMissed(this.#items.missing(output, wholes));
    for (const item of this.#items.all) {
      const wire = wholes.get(item);
      if (wire === undefined || wire.type !== item.wire.type) continue;
      const isNews =
        item.isBare && Boolean(inputOf(wire)) && item.callId !== undefined && item.callId === idOf(wire.call_id);
      if (item.done && !isNews) continue;
      item.isBare = false;
      if (status === "completed" || wire.status === "completed") this.#finishItem(item, wire);
    }
  }

  /**
   * In a stream that was resumed (`starting_after`): the items before it, whose text the earlier stream has given. Also
   * the remaining items of a server that streams only some of them.
   */
  #finishMissed(missing: readonly (readonly [number, WireItem])[]): void {
    const first = this.#items.all.reduce((least, { outputIndex }) => Math.min(least, outputIndex), Infinity);
    for (const [index, wire] of missing) {
      if (wire.status === "in_progress") continue;
      const item = this.#open({ output_index: index, item: wire }, wire);
      if (isSpoken(wire) && index < first) item.done = true;
      else this.#finishItem(item, wire);
    }
  }

  #fail(error: WireError | string | null | undefined, providerReason: string | null): void {
    const message = errorMessage(error);
    this.#sink.finish("error", providerReason, message);
    this.#sink.fail(new ToolError("provider_error", message, { cause: error }));
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    this.#sink.terminal();
  }
}

/** The event with indexes that are numbers, or missing. */
function withIndexes(event: WireEvent): WireEvent {
  const { output_index: output, content_index: content, summary_index: summary } = event;
  if (isIndex(output) && isIndex(content) && isIndex(summary)) return event;
  return {
    ...event,
    output_index: indexOf(output) ?? null,
    content_index: indexOf(content) ?? null,
    summary_index: indexOf(summary) ?? null,
  };
}

function isIndex(value: unknown): boolean {
  return isNothing(value) || typeof value === "number";
}
