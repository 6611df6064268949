import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { parseJson } from "../../src/json/index.ts";
import { toolChunk, type PathPatch, type PathStep } from "../../src/stream/chunk.ts";
import type { FinishReason, ProviderToolCall } from "../../src/stream/events.ts";
import { Templates } from "../../src/wire/index.ts";
import { parseJsonPath } from "./json-path.ts";
import type {
  GoogleErrorBody,
  GoogleEvent,
  GoogleResponse,
  WireCandidate,
  WireFunctionCall,
  WirePart,
  WirePartialArg,
  WireUsage,
} from "./wire.ts";

/** The record from which the answer is rebuilt. */
export interface GoogleNative {
  /** As they go back: plain text joined, everything else as it came. Arguments that came in pieces are in the turn. */
  readonly parts: WirePart[];
  /** The function calls among them. */
  readonly calls: NativeCall[];
}

/** The wire has no index: calls are numbered in the order in which they begin. */
export interface NativeCall {
  readonly callIndex: number;
  /** Where it stands in `parts`. */
  readonly position: number;
  /** The server ran it itself: its `functionResponse` is one of the parts. */
  executed: boolean;
}

/** A call whose arguments come in pieces. There is at most one: nothing on the wire says to which call a piece belongs. */
interface OpenCall {
  readonly index: number;
  /** Where it stands in `native.parts`. */
  readonly position: number;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** No piece has come yet. */
  empty: boolean;
  /** A string that is not finished, by its path as it is written, and that path read. */
  openPath: string | undefined;
  openSteps: readonly PathStep[];
  /** Its pieces could not be read: what follows of it is passed over. */
  failed: boolean;
}

/**
 * Reads GenerateContentResponses, streamed or whole: they have one shape.
 *
 * There is no terminal event. The last finish reason is the sign of a clean end, but chunks may follow it (an empty
 * text; the steps of tools that the server runs each end with one), so the end is what {@link Parser.end} says.
 */
export class GoogleParser implements Parser<GoogleEvent> {
  readonly native: GoogleNative = { parts: [], calls: [] };
  readonly #sink: ParserSink;
  /** Made when the server sends a result: few ever do. */
  #lookup: CallLookup | undefined;
  #open: OpenCall | undefined;
  #started = false;
  #finishReason: FinishReason | undefined;
  #blocked = false;
  #sawDone = false;
  /** The counts are running totals, so only the last ones are passed on. */
  #usage: WireUsage | undefined;
  /** Code that the server has been given to run, until its result comes. */
  #code: ProviderToolCall | undefined;
  #serverTools: Map<string, ProviderToolCall> | undefined;

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
    else if (typeof event === "object" && event !== null) {
      if ("error" in event && event.error) this.#fail(event.error);
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
    if (blocked === undefined) return;
    this.#blocked = true;
    this.#sink.finish("content-filter", `blocked:${blocked}`, textOf(promptFeedback?.blockReasonMessage));
  }

  #candidate({ content, finishReason: word, finishMessage }: WireCandidate): void {
    // Parts first: the chunk with the finish reason may hold the last, or the only, call.
    const parts = content?.parts;
    if (Array.isArray(parts)) for (const item of parts) if (typeof item === "object" && item !== null) this.#part(item);
    if (typeof word === "string" && word !== "" && word !== "FINISH_REASON_UNSPECIFIED") {
      this.#finishReason = FINISH_REASONS.get(word) ?? "unknown";
      this.#sink.finish(this.#finishReason, word, finishMessageOf(word, textOf(finishMessage)));
    }
  }

  #part(item: WirePart): void {
    if (isObject(item.functionCall)) this.#functionCall(item, item.functionCall);
    else if (typeof item.text === "string") this.#text(item, item.text);
    else {
      this.native.parts.push(item);
      if (isObject(item.functionResponse)) this.#functionResponse(item.functionResponse);
      else if (isObject(item.executableCode)) this.#executableCode(item.executableCode);
      else if (isObject(item.codeExecutionResult)) this.#codeExecutionResult(item.codeExecutionResult);
      else if (isObject(item.toolCall)) this.#toolCall(item.toolCall);
      else if (isObject(item.toolResponse)) this.#toolResponse(item.toolResponse);
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
    const { willContinue = false, partialArgs } = wire;
    const pieces = Array.isArray(partialArgs) ? partialArgs : undefined;
    const open = this.#open;
    if (open !== undefined && continues(wire, open)) {
      if (item.thoughtSignature !== undefined) this.#signLate(open, item.thoughtSignature);
      this.#more(open, wire, pieces);
      if (!willContinue) this.#close("end");
      return;
    }
    // `functionCall: {}` ends a call; with none open it says nothing.
    if (!wire.name && !wire.id && isMissing(wire.args) && pieces === undefined) return;
    // The model has gone on to the next call, so the one before has ended, though its end marker is missing.
    this.#close("next");

    const id = textOf(wire.id);
    const name = textOf(wire.name);
    const isWhole = !willContinue && pieces === undefined;
    const kept = isWhole ? item : { ...item, functionCall: { ...(id && { id }), ...(name && { name }) } };
    const { callIndex, position } = this.#remember(kept);
    const signature = item.thoughtSignature === undefined ? undefined : { thoughtSignature: item.thoughtSignature };
    if (isWhole) {
      const args = isMissing(wire.args) ? {} : argsOf(wire);
      // What is no object is kept as it came: without its arguments the call would be another one.
      const argsText = args === undefined ? argsTextOf(wire) : undefined;
      this.#sink.tool(toolChunk(0, callIndex, id, name, argsText, true, signature, args));
      return;
    }
    this.#sink.tool(toolChunk(0, callIndex, id, name, undefined, false, signature));
    const call: OpenCall = {
      index: callIndex,
      position,
      id,
      name,
      empty: true,
      openPath: undefined,
      openSteps: [],
      failed: false,
    };
    this.#open = call;
    this.#more(call, wire, pieces);
    if (!willContinue) this.#close("end");
  }

  #remember(item: WirePart): NativeCall {
    const call = { callIndex: this.native.calls.length, position: this.native.parts.length, executed: false };
    this.native.calls.push(call);
    this.native.parts.push(item);
    return call;
  }

  /** A signature that came with a later part of the call: the call goes back as one part, with it. */
  #signLate({ index, position }: OpenCall, thoughtSignature: string): void {
    if (this.native.parts[position]?.thoughtSignature !== undefined) return;
    this.native.parts[position] = { ...this.native.parts[position], thoughtSignature };
    this.#sink.tool(toolChunk(0, index, undefined, undefined, undefined, false, { thoughtSignature }));
  }

  /** More of the arguments of the open call. */
  #more(call: OpenCall, wire: WireFunctionCall, pieces: readonly WirePartialArg[] | undefined): void {
    if (call.failed) return;
    const args = argsOf(wire);
    if (args !== undefined) {
      call.empty = false;
      this.#sink.tool(toolChunk(0, call.index, undefined, undefined, undefined, false, undefined, args));
    } else if (!isMissing(wire.args)) {
      return this.#failCall(call, "its arguments are no object", "rejected");
    }
    if (pieces === undefined || pieces.length === 0) return;
    call.empty = false;
    const patches: PathPatch[] = [];
    for (const piece of pieces) {
      const problem = isObject(piece) ? patch(call, piece, patches) : "a piece of its arguments can not be read";
      if (problem !== undefined) return this.#failCall(call, problem, "rejected");
    }
    this.#sink.tool(toolChunk(0, call.index, undefined, undefined, undefined, false, undefined, undefined, patches));
  }

  /** The end of the open call, if there is one: said by the wire, or by what comes after it. */
  #close(how: "end" | "next" | "finish" | "cut"): void {
    const call = this.#open;
    this.#open = undefined;
    if (call === undefined || call.failed) return;
    const cut = cutOf(call, how);
    if (cut !== undefined) this.#failCall(call, cut, "truncated");
    else
      this.#sink.tool(
        toolChunk(0, call.index, undefined, undefined, undefined, true, undefined, call.empty ? {} : undefined),
      );
  }

  #failCall(call: OpenCall, error: string, errorType: "truncated" | "rejected"): void {
    call.failed = true;
    this.#sink.tool(
      toolChunk(
        0,
        call.index,
        undefined,
        undefined,
        undefined,
        true,
        undefined,
        undefined,
        undefined,
        error,
        errorType,
      ),
    );
  }

  /** A result in the answer itself: the server has run this call (an MCP server of the request). */
  #functionResponse({ id, name, response: output }: NonNullable<WirePart["functionResponse"]>): void {
    const call = (this.#lookup ??= new CallLookup(this.native)).find(id, name);
    if (call === undefined || call.executed) return;
    call.executed = true;
    if (this.#open?.index === call.callIndex) this.#close("end");
    this.#sink.tool(
      toolChunk(0, call.callIndex, undefined, undefined, undefined, false, {
        providerExecuted: true,
        type: "functionCall",
        output,
      }),
    );
  }

  #executableCode({ id, language, code: source }: NonNullable<WirePart["executableCode"]>): void {
    this.#code = {
      id: textOf(id) ?? null,
      name: "code_execution",
      type: "executableCode",
      status: "started",
      executedBy: "provider",
      input: { language, code: source },
    };
    this.#sink.providerTool(this.#code);
  }

  #codeExecutionResult({ id, outcome, output }: NonNullable<WirePart["codeExecutionResult"]>): void {
    const status = outcome === undefined || /^outcome_ok$/i.test(outcome) ? "completed" : "failed";
    this.#sink.providerTool({
      id: this.#code?.id ?? textOf(id) ?? null,
      name: "code_execution",
      type: "executableCode",
      status,
      executedBy: "provider",
      input: this.#code?.input,
      output,
    });
    this.#code = undefined;
  }

  #toolCall({ id, toolType, args }: NonNullable<WirePart["toolCall"]>): void {
    const call: ProviderToolCall = {
      id: textOf(id) ?? null,
      name: textOf(toolType) ?? "",
      type: "toolCall",
      status: "started",
      executedBy: "provider",
      input: args,
    };
    (this.#serverTools ??= new Map()).set(id || call.name, call);
    this.#sink.providerTool(call);
  }

  #toolResponse({ id, toolType, response: output }: NonNullable<WirePart["toolResponse"]>): void {
    const call = this.#serverTools?.get(id || (toolType ?? ""));
    this.#sink.providerTool({
      id: textOf(id) ?? null,
      name: call?.name ?? textOf(toolType) ?? "",
      type: "toolCall",
      status: "completed",
      executedBy: "provider",
      input: call?.input,
      output,
    });
  }

  #fail(error: GoogleErrorBody["error"] | string): void {
    const { code: status, message, status: word } = typeof error === "string" ? { message: error } : error;
    const label = [countOf(status), textOf(word)].filter((piece) => piece !== undefined).join(" ");
    this.#sink.fail(
      new ToolError(
        "provider_error",
        `${textOf(message) ?? "The provider reported an error"}${label === "" ? "" : ` (${label})`}`,
      ),
    );
  }

  end(): void {
    // A call without its end marker is finished if the answer is: with any other finish, or none, it was cut.
    this.#close(this.#finishReason === "stop" ? "finish" : "cut");
    if (this.#usage !== undefined) reportUsage(this.#usage, this.#sink);
    if (this.#finishReason !== undefined || this.#blocked || this.#sawDone) this.#sink.terminal();
  }

  /** `@google/genai` throws an `ApiError` whose message holds the JSON of the chunk. */
  thrown(error: unknown): GoogleEvent | undefined {
    const json = error instanceof Error ? /\{.*\}/s.exec(error.message)?.[0] : undefined;
    if (json === undefined) return undefined;
    try {
      return parseJson(json) as GoogleEvent;
    } catch {
      return undefined;
    }
  }
}

/** Finds the call to which a result of the server's belongs. Each call is read once, however many results there are. */
class CallLookup {
  readonly #native: GoogleNative;
  /** Calls that may still get a result, by id and, in their order, by name. */
  readonly #byId = new Map<string, NativeCall>();
  readonly #byName = new Map<string, NativeCall[]>();
  /** How many calls are in the maps. */
  #size = 0;

  constructor(native: GoogleNative) {
    this.#native = native;
  }

  find(id: string | undefined, name: string | undefined): NativeCall | undefined {
    const { calls } = this.#native;
    while (this.#size < calls.length) this.#add(calls[this.#size++]!);
    return (id ? this.#byId.get(id) : undefined) ?? this.#waiting(name);
  }

  #add(call: NativeCall): void {
    const wire = this.#native.parts[call.position]?.functionCall;
    const id = textOf(wire?.id);
    const name = textOf(wire?.name);
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, call);
    if (name !== undefined) {
      const others = this.#byName.get(name);
      if (others === undefined) this.#byName.set(name, [call]);
      else others.push(call);
    }
  }

  /** The first call of this name that has no result yet. */
  #waiting(name: string | undefined): NativeCall | undefined {
    const others = this.#byName.get(name ?? "");
    while (others?.[0]?.executed) others.shift();
    return others?.[0];
  }
}

/** The provider's words for the end. https://ai.google.dev/api/generate-content#FinishReason, and those only seen on the wire. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["CONTINUATION", "length"],
  ["SAFETY", "content-filter"],
  ["RECITATION", "content-filter"],
  ["LANGUAGE", "content-filter"],
  ["BLOCKLIST", "content-filter"],
  ["PROHIBITED_CONTENT", "content-filter"],
  ["SPII", "content-filter"],
  ["MODEL_ARMOR", "content-filter"],
  ["IMAGE_SAFETY", "content-filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter"],
  ["IMAGE_RECITATION", "content-filter"],
  ["IMAGE_OTHER", "content-filter"],
  ["NO_IMAGE", "error"],
  ["MALFORMED_FUNCTION_CALL", "error"],
  ["UNEXPECTED_TOOL_CALL", "error"],
  ["TOO_MANY_TOOL_CALLS", "error"],
  ["MISSING_THOUGHT_SIGNATURE", "error"],
  ["MALFORMED_RESPONSE", "error"],
]);

/** What to do about it, written so that it can be shown to the model, too. */
const CORRECTIONS: ReadonlyMap<string, string> = new Map([
  [
    "MALFORMED_FUNCTION_CALL",
    "The function call was malformed and was dropped. Call the function again, with arguments that fit its declaration.",
  ],
  [
    "UNEXPECTED_TOOL_CALL",
    "A function was called that was not declared, or may not be called now. Call only declared functions, or answer in text.",
  ],
  ["TOO_MANY_TOOL_CALLS", "Too many functions were called in a row. Answer with what is known, or call fewer."],
  [
    "MISSING_THOUGHT_SIGNATURE",
    "The history lacks a thought signature: send every part of an answer back as it came, with its thoughtSignature.",
  ],
  ["MALFORMED_RESPONSE", "The answer was malformed and was dropped. Answer again."],
]);

function finishMessageOf(word: string, message: string | undefined): string | undefined {
  const correction = CORRECTIONS.get(word);
  if (correction === undefined) return message;
  return message ? `${correction} (${message})` : correction;
}

function reportUsage(raw: WireUsage, sink: ParserSink): void {
  const inputTokens = sum(countOf(raw.promptTokenCount), countOf(raw.toolUsePromptTokenCount));
  const reasoningTokens = countOf(raw.thoughtsTokenCount);
  const outputTokens = sum(countOf(raw.candidatesTokenCount), reasoningTokens);
  const totalTokens = countOf(raw.totalTokenCount);
  if (inputTokens === undefined && outputTokens === undefined && totalTokens === undefined) return;
  const cacheReadTokens = countOf(raw.cachedContentTokenCount);
  sink.usage({
    inputTokens,
    outputTokens,
    totalTokens,
    cacheReadTokens,
    cacheWriteTokens: undefined,
    reasoningTokens,
    raw,
  });
}

/** Why a call can not have been finished by the model, if it can not. */
function cutOf({ openPath, empty }: OpenCall, how: "end" | "next" | "finish" | "cut"): string | undefined {
  // The wire closes every string, if only with an empty piece.
  if (openPath !== undefined) return `the call ended inside ${openPath.slice(0, 200)}`;
  if (how === "cut") return "the answer ended before the call did";
  // It was announced that there would be arguments; `functionCall: {}`, or the next call, would have said that there are none.
  return empty && how === "finish" ? "the answer ended before they began" : undefined;
}

/** Adds one piece of arguments to `patches`. Returns what is wrong with it, if anything is. */
function patch(call: OpenCall, piece: WirePartialArg, patches: PathPatch[]): string | undefined {
  const { stringValue, numberValue, boolValue } = piece;
  const jsonPath = textOf(piece.jsonPath) ?? "";
  const continued = jsonPath === call.openPath;
  const path = continued ? call.openSteps : parseJsonPath(jsonPath);
  if (path === undefined)
    return `an argument came at ${JSON.stringify(jsonPath.slice(0, 200))}, which is no path to a place.`;
  // The model writes one place after the other: one that is left is finished.
  if (!continued && call.openPath !== undefined) patches.push({ path: call.openSteps, append: "", done: true });
  call.openPath = undefined;
  if (typeof stringValue === "string") {
    const done = !piece.willContinue;
    if (!done) {
      call.openPath = jsonPath;
      call.openSteps = path;
    }
    patches.push(continued || !done ? { path, append: stringValue, done } : { path, value: stringValue, done });
  } else if (typeof numberValue === "number" && Number.isFinite(numberValue))
    patches.push({ path, value: numberValue, done: true });
  else if (typeof boolValue === "boolean") patches.push({ path, value: boolValue, done: true });
  else if (piece.nullValue !== undefined) patches.push({ path, value: null, done: true });
  else if (continued) patches.push({ path, append: "", done: true });
  else return `the argument at ${JSON.stringify(jsonPath.slice(0, 200))} has no value that can be read.`;
  return undefined;
}

/** Whether this part belongs to the open call: it has no name, or repeats the id with the name. */
function continues(wire: WireFunctionCall, open: OpenCall): boolean {
  return !wire.name || (Boolean(wire.id) && wire.id === open.id && wire.name === open.name);
}

function argsOf({ args }: WireFunctionCall): Readonly<Record<string, unknown>> | undefined {
  return isObject(args) && !Array.isArray(args) ? (args as Record<string, unknown>) : undefined;
}

/** Arguments that are no object, as text; some gateways send them so. */
function argsTextOf({ args }: WireFunctionCall): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** Candidate 0; the others are answers that nobody asked a tool loop for. */
function isFirst(candidate: WireCandidate | null): boolean {
  return candidate !== null && typeof candidate === "object" && (candidate.index ?? 0) === 0;
}

/** A text part with nothing on it but the text. */
function isPlainText(item: WirePart): boolean {
  for (const key in item) {
    if (key !== "text" && key !== "thought" && (item as Record<string, unknown>)[key] !== undefined) return false;
  }
  return typeof item.text === "string";
}

function isMissing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** A string with something in it. */
function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null;
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
