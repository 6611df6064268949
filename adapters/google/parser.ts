import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { objectIn } from "../../src/json/index.ts";
import { isRecord } from "../../src/schema/json.ts";
import { toolChunk, type PathPatch } from "../../src/stream/chunk.ts";
import type { FinishReason, ProviderToolCall } from "../../src/stream/events.ts";
import {
  argumentsObject,
  argumentsText,
  countOf,
  errorText,
  isEmpty,
  isNothing,
  isObject,
  textOf,
} from "../../src/wire/field.ts";
import { Templates } from "../../src/wire/index.ts";
import { CallLookup } from "./call-lookup.ts";
import { finishMessageOf, finishReasonOf } from "./finish.ts";
import { continues, cutOf, isAstray, patch, type CallEnd, type OpenCall } from "./open-call.ts";
import { usageOf } from "./usage.ts";
import type {
  GoogleErrorBody,
  GoogleEvent,
  GoogleNative,
  GoogleResponse,
  NativeCall,
  WireCandidate,
  WireFunctionCall,
  WirePart,
  WirePartialArg,
  WireUsage,
} from "./wire.ts";

/**
 * Reads GenerateContentResponses, streamed or whole: they have the same shape.
 *
 * There is no terminal event. The last finish reason marks a clean end, but chunks may follow it (an empty text; each
 * step of the tools that the server runs ends with one), so the turn ends with {@link Parser.end}.
 */
export class GoogleParser implements Parser<GoogleEvent> {
  readonly native: GoogleNative = { parts: [], calls: [] };
  readonly #sink: ParserSink;
  /** Created for a result of the server's, or an id where none belongs: few streams have either. */
  #lookup: CallLookup | undefined;
  #open: OpenCall | undefined;
  /** The last call, if whole but without arguments: they may still follow, so the next call or the answer ends it. */
  #bare: number | undefined;
  #started = false;
  #finishReason: FinishReason | undefined;
  /** The end was clean, and no piece of a call came after it. */
  #isFinished = false;
  /** A STOP before there was anything else: it counts if nothing follows. */
  #emptyStop: WireCandidate | undefined;
  #sawDone = false;
  /** The counts are running totals, so only the last ones are passed on. */
  #usage: WireUsage | undefined;
  /** The calls of tools that the server runs: by id, and the latest ones by name. */
  #serverCalls: Map<string, ProviderToolCall> | undefined;
  /** What a search or the reading of pages found: it comes in no part, and the last version counts. */
  #grounding: object | undefined;
  #pages: object | undefined;

  static readonly #templates = new Templates();

  get templates(): Templates {
    return GoogleParser.#templates;
  }

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  push(event: GoogleEvent): void {
    if (event === "[DONE]") this.#sawDone = true;
    else if (Array.isArray(event)) for (const one of event) this.push(one);
    else if (isObject(event)) {
      if ("error" in event && event.error) this.#fail(event.error);
      // Gateways may leave out the wrapper.
      else if (!("candidates" in event) && errorText(event) !== undefined) this.#fail(event as object);
      else this.#response(event as GoogleResponse);
    }
  }

  #response({ candidates, promptFeedback, usageMetadata, modelVersion, responseId }: GoogleResponse): void {
    if (!this.#started) {
      this.#started = true;
      this.#sink.start(textOf(responseId), textOf(modelVersion));
    }
    if (usageMetadata) this.#usage = usageMetadata;
    const first = Array.isArray(candidates) ? candidates.find(isFirst) : undefined;
    if (first !== undefined) return this.#candidate(first);
    const blocked = textOf(promptFeedback?.blockReason);
    if (blocked !== undefined)
      this.#sink.finish("content-filter", `blocked:${blocked}`, textOf(promptFeedback?.blockReasonMessage));
  }

  #candidate(candidate: WireCandidate): void {
    const { content, finishReason: word, finishMessage, groundingMetadata, urlContextMetadata } = candidate;
    // Without a search, the metadata may be present but empty.
    if (isObject(groundingMetadata) && !isEmpty(groundingMetadata)) this.#grounding = groundingMetadata;
    if (isObject(urlContextMetadata) && !isEmpty(urlContextMetadata)) this.#pages = urlContextMetadata;
    // Parts first: the chunk with the finish reason may hold the last, or the only, call.
    const parts = content?.parts;
    if (Array.isArray(parts)) for (const item of parts) if (isRecord(item)) this.#part(item);
    if (typeof word === "string" && word !== "" && word !== "FINISH_REASON_UNSPECIFIED") {
      // A gateway may send STOP with the empty chunks before an answer: https://github.com/Chevey339/kelivo/issues/1003
      if (this.native.parts.length === 0 && finishReasonOf(word) === "stop") this.#emptyStop = candidate;
      else this.#finish(word, finishMessage);
    }
  }

  #finish(word: string, message: string | undefined): void {
    this.#finishReason = finishReasonOf(word);
    this.#isFinished = this.#finishReason === "stop";
    this.#sink.finish(this.#finishReason, word, finishMessageOf(word, textOf(message)));
  }

  #part(item: WirePart): void {
    if (isObject(item.functionCall)) {
      // A proxy may put both on one part: https://github.com/NousResearch/hermes-agent/issues/109862
      const text = textOf(item.text);
      if (text !== undefined) this.#text({ text, thought: item.thought }, text);
      this.#functionCall(item, item.functionCall);
    } else if (typeof item.text === "string") this.#text(item, item.text);
    else if (hasOnly(item, "thought", "thoughtSignature", "text")) {
      // A text may be missing or of another type, but not on the way back: `required oneof field 'data' must have one
      // initialized field`.
      if (textOf(item.thoughtSignature) !== undefined) this.native.parts.push({ ...item, text: "" });
    } else {
      this.native.parts.push(item);
      if (isObject(item.functionResponse)) this.#functionResponse(item.functionResponse);
      else this.#serverTool(item);
    }
  }

  #text(item: WirePart, delta: string): void {
    if (delta !== "") {
      if (item.thought) this.#sink.reasoning(delta);
      else this.#sink.text(delta);
    }
    if (!isPlainText(item)) {
      this.native.parts.push(item);
    } else if (delta !== "") {
      const last = this.native.parts.at(-1);
      // Only parts without a signature are joined: a signature belongs to the part on which it came.
      if (last !== undefined && isPlainText(last) && Boolean(last.thought) === Boolean(item.thought)) {
        (last as { text: string }).text += delta;
      } else {
        this.native.parts.push(item.thought ? { text: delta, thought: true } : { text: delta });
      }
    }
  }

  #functionCall(item: WirePart, wire: WireFunctionCall): void {
    this.#isFinished = false;
    const { willContinue = false, partialArgs } = wire;
    const pieces = isNothing(partialArgs) || Array.isArray(partialArgs) ? (partialArgs ?? undefined) : [partialArgs];
    const open = this.#open;
    if (open !== undefined && continues(wire, open)) {
      if (isAstray(wire, open)) return this.#refuseBoth(open, wire.id!);
      const signature = textOf(item.thoughtSignature);
      if (signature !== undefined) this.#signLate(open, signature);
      this.#more(open, wire, pieces);
      if (!willContinue) this.#close("end");
      return;
    }
    // `functionCall: {}` ends a call; with none open it means nothing.
    if (!wire.name && isNothing(wire.args) && pieces === undefined) return;
    // A gateway may send a call as whole, and its arguments after it: https://github.com/mcowger/plexus/issues/702
    if (!wire.name && this.#bare !== undefined)
      return this.#refuse(this.#bare, "a piece of its arguments cannot be read", "rejected");
    // The model has moved on to the next call, so the previous one has ended, although its end marker is missing.
    this.#close("next");
    this.#endBare();

    const id = textOf(wire.id);
    const name = textOf(wire.name);
    const isWhole = !willContinue && pieces === undefined;
    const kept = isWhole ? item : { ...item, functionCall: { id, name } };
    const { callIndex, position } = this.#remember(kept);
    const thoughtSignature = textOf(item.thoughtSignature);
    const metadata = thoughtSignature === undefined ? undefined : { thoughtSignature };
    if (isWhole) {
      if (callIndex > 0 && id !== undefined && thoughtSignature !== undefined) this.#signAgain(wire, thoughtSignature);
      const args = isNothing(wire.args) ? {} : argumentsObject(wire.args);
      // A value that is not an object is kept as it came: without its arguments it would be a different call.
      const argsText = argumentsText(wire.args);
      const done = args === undefined || !isEmpty(args);
      if (!done) this.#bare = callIndex;
      this.#sink.tool(toolChunk(0, callIndex, id, name, argsText, done, metadata, args));
      return;
    }
    this.#sink.tool(toolChunk(0, callIndex, id, name, undefined, false, metadata));
    const call: OpenCall = {
      callIndex,
      position,
      id,
      name,
      empty: true,
      openPath: undefined,
      openSteps: [],
    };
    this.#open = call;
    this.#more(call, wire, pieces);
    if (!willContinue) this.#close("end");
  }

  #endBare(): void {
    const callIndex = this.#bare;
    this.#bare = undefined;
    if (callIndex !== undefined) this.#sink.tool({ callIndex, done: true });
  }

  get #calls(): CallLookup {
    return (this.#lookup ??= new CallLookup(this.native));
  }

  #remember(item: WirePart): NativeCall {
    const call = { callIndex: this.native.calls.length, position: this.native.parts.length, executed: false };
    this.native.calls.push(call);
    this.native.parts.push(item);
    return call;
  }

  /**
   * A call may be sent again once it is signed (https://github.com/NousResearch/hermes-agent/pull/102809): only the
   * first of the two goes back.
   */
  #signAgain({ id, args }: WireFunctionCall, thoughtSignature: string): void {
    const first = this.#calls.find(id, undefined);
    const sent = first && this.native.parts[first.position]?.functionCall?.args;
    if (first !== undefined && JSON.stringify(sent) === JSON.stringify(args)) this.#signLate(first, thoughtSignature);
  }

  /** A signature that came with a later part of the call: the call goes back as one part, with it. */
  #signLate({ callIndex, position }: Pick<NativeCall, "callIndex" | "position">, thoughtSignature: string): void {
    if (textOf(this.native.parts[position]?.thoughtSignature) !== undefined) return;
    this.native.parts[position] = { ...this.native.parts[position], thoughtSignature };
    this.#sink.tool({ callIndex, metadata: { thoughtSignature } });
  }

  /** More arguments for the open call. */
  #more(call: OpenCall, wire: WireFunctionCall, pieces: readonly WirePartialArg[] | undefined): void {
    const args = argumentsObject(wire.args);
    if (args !== undefined) {
      call.empty = false;
      this.#sink.tool({ callIndex: call.callIndex, argsKvPatch: args });
    } else if (!isNothing(wire.args)) {
      return this.#refuse(call.callIndex, "its arguments are not an object", "rejected");
    }
    if (pieces === undefined || pieces.length === 0) return;
    call.empty = false;
    const patches: PathPatch[] = [];
    for (const piece of pieces) {
      const problem = isObject(piece) ? patch(call, piece, patches) : "a piece of its arguments cannot be read";
      if (problem !== undefined) return this.#refuse(call.callIndex, problem, "rejected");
    }
    this.#sink.tool({ callIndex: call.callIndex, argsPathPatch: patches });
  }

  /** Ends the open call, if there is one: the wire says so, or what follows implies it. */
  #close(how: CallEnd): void {
    const call = this.#open;
    this.#open = undefined;
    if (call === undefined) return;
    const cut = cutOf(call, how);
    if (cut !== undefined) this.#refuse(call.callIndex, cut, "truncated");
    else this.#sink.tool({ callIndex: call.callIndex, argsKvPatch: call.empty ? {} : undefined, done: true });
  }

  /** Interleaved calls: pieces without an id may have belonged to either. */
  #refuseBoth(open: OpenCall, id: string): void {
    const error = "a piece of arguments came under the id of another call";
    this.#refuse(open.callIndex, error, "rejected");
    const other = this.#calls.find(id, undefined);
    if (other !== undefined) this.#refuse(other.callIndex, error, "rejected");
  }

  /** What follows of a call that was refused changes nothing: its outcome stands. */
  #refuse(callIndex: number, error: string, errorType: "truncated" | "rejected"): void {
    this.#sink.tool({ callIndex, done: true, error, errorType });
  }

  /** A result in the answer itself: the server has run this call (on an MCP server of the request). */
  #functionResponse({ id, name, response: output }: NonNullable<WirePart["functionResponse"]>): void {
    const call = this.#calls.find(id, name);
    if (call === undefined) return;
    call.executed = true;
    this.#sink.tool({
      callIndex: call.callIndex,
      metadata: { providerExecuted: true, type: "functionCall", output },
    });
  }

  #serverTool({ executableCode, codeExecutionResult, toolCall, toolResponse }: WirePart): void {
    if (isObject(executableCode)) {
      const { id, language, code } = executableCode;
      this.#serverCall("executableCode", CODE, id, { language, code });
    } else if (isObject(codeExecutionResult)) {
      const { id, outcome, output } = codeExecutionResult;
      const status = outcome === undefined || /^outcome_ok$/i.test(outcome) ? "completed" : "failed";
      this.#serverResult("executableCode", CODE, id, output, status);
    } else if (isObject(toolCall)) {
      this.#serverCall("toolCall", textOf(toolCall.toolType), toolCall.id, toolCall.args);
    } else if (isObject(toolResponse)) {
      this.#serverResult("toolCall", textOf(toolResponse.toolType), toolResponse.id, toolResponse.response);
    }
  }

  #serverCall(type: string, name = "", id: unknown, input: unknown): void {
    const call: ProviderToolCall = {
      id: textOf(id) ?? null,
      name,
      type,
      status: "started",
      executedBy: "provider",
      input,
    };
    (this.#serverCalls ??= new Map()).set(name, call).set(call.id ?? name, call);
    this.#sink.providerTool(call);
  }

  /** The result of the call with this id, or else of the last one of this name. */
  #serverResult(
    type: string,
    name = "",
    id: unknown,
    output: unknown,
    status: ProviderToolCall["status"] = "completed",
  ): void {
    const call = this.#serverCalls?.get(textOf(id) ?? name) ?? this.#serverCalls?.get(name);
    this.#sink.providerTool({
      id: call?.id ?? textOf(id) ?? null,
      name: call?.name ?? name,
      type,
      status,
      executedBy: "provider",
      input: call?.input,
      output,
    });
  }

  #fail(error: object | string): void {
    const { code: status, status: word } = error as Partial<GoogleErrorBody["error"]>;
    const label = [countOf(status), textOf(word)].filter((piece) => piece !== undefined).join(" ");
    this.#sink.fail(
      new ToolError(
        "provider_error",
        `${errorText(error) ?? "The provider reported an error"}${label === "" ? "" : ` (${label})`}`,
        { cause: error },
      ),
    );
  }

  end(): void {
    if (this.#grounding) this.#serverResult("groundingMetadata", "grounding", undefined, this.#grounding);
    if (this.#pages) this.#serverResult("urlContextMetadata", "url_context", undefined, this.#pages);
    const stop = this.#emptyStop;
    if (stop !== undefined && this.native.parts.length === 0 && this.#finishReason === undefined)
      this.#finish(stop.finishReason!, stop.finishMessage);
    // A call without its end marker is finished if the answer is: after any other finish reason, or none, it was cut.
    this.#close(this.#isFinished ? "finish" : "cut");
    const usage = this.#usage && usageOf(this.#usage);
    if (usage !== undefined) this.#sink.usage(usage);
    if (this.#finishReason === undefined && !this.#sawDone) return;
    this.#endBare();
    this.#sink.terminal();
  }

  /** `@google/genai` throws an `ApiError` whose message holds the JSON of the chunk. */
  thrown(error: unknown): GoogleEvent | undefined {
    return error instanceof Error ? (objectIn(error.message) as GoogleEvent | undefined) : undefined;
  }
}

const CODE = "code_execution";

/** Candidate 0; the others are alternative answers, which a tool loop has no use for. */
function isFirst(candidate: WireCandidate | null): boolean {
  return isObject(candidate) && Number(candidate.index ?? 0) === 0;
}

/** Whether a part has no fields other than these. A gateway may write those that it has no value for as `""`. */
function hasOnly(item: WirePart, one: keyof WirePart, other: keyof WirePart, third = other): boolean {
  for (const key in item) {
    const value: unknown = item[key as keyof WirePart];
    if (key !== one && key !== other && key !== third && !isNothing(value) && value !== "") return false;
  }
  return true;
}

/** A text part with only the text on it. */
function isPlainText(item: WirePart): boolean {
  return typeof item.text === "string" && hasOnly(item, "text", "thought");
}
