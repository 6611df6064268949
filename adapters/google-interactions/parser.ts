import type { Parser, ParserSink } from "../../src/adapter.ts";
import { ToolError } from "../../src/errors.ts";
import { isRecord } from "../../src/schema/json.ts";
import { sayDelta, toolChunk } from "../../src/stream/chunk.ts";
import { DataReader } from "../../src/wire/data.ts";
import {
  argumentsObject,
  argumentsText,
  errorText,
  indexOf,
  isEmpty,
  isNothing,
  textOf,
} from "../../src/wire/field.ts";
import { Templates, type Delta } from "../../src/wire/index.ts";
import { FINISH_REASONS, isEnd, problemOf } from "./finish.ts";
import { isHosted, isMedia, isResult, mergeHosted, providerCall, sayText } from "./steps.ts";
import { addedUsage, usageOf } from "./usage.ts";
import type {
  InteractionsNative,
  StepRecord,
  WireContent,
  WireDelta,
  WireEvent,
  WireInteraction,
  WireStep,
  WireUsage,
} from "./wire.ts";

/** A step between its start and its stop. */
interface OpenStep {
  readonly record: StepRecord;
  /** Arguments that came whole: held back until it is certain that no pieces follow. */
  input: unknown;
  hasPieces: boolean;
  /** Whether they came for another index. */
  isGuessed: boolean;
  /** Whether another step began at its index before it ended. */
  isShared: boolean;
}

/** The index of an event without one. */
const NO_INDEX = -1;

/**
 * Reads the events of an interaction, or a whole one.
 *
 * Pieces find their step by its index. A long answer may come as several interactions, one continuing the other, with
 * `requires_continuation` between them: they are one turn.
 */
export class InteractionsParser implements Parser<unknown> {
  readonly #sink: ParserSink;
  readonly #steps: StepRecord[] = [];
  readonly native: InteractionsNative = { steps: this.#steps };
  /** By index. */
  readonly #open = new Map<number, OpenStep>();
  /** What comes for an index behind the stop of its step is still of that step. */
  readonly #stopped = new Map<number, OpenStep>();
  /** A call that has stopped without arguments: they may come behind its stop, as long as no other call does. */
  #bare: OpenStep | undefined;
  /** Whether a piece came whose call is unknown. */
  #isLost = false;
  /** How many steps the interactions before this one had. */
  #before = 0;
  /** The calls that the server runs, by id. */
  #hosted: Map<string, StepRecord> | undefined;
  /** The counts of the interactions before this one. */
  #usage: WireUsage | undefined;
  /** Why the model could not go on, in the server's words. */
  #message: string | undefined;
  /** The interaction has ended, but not the answer. */
  #isPaused = false;
  /** The state of the interaction as it was last told: what it ended with, if its end does not come. */
  #told: WireInteraction = {};
  #hasEvents = false;
  #ended = false;

  static readonly #input: Delta<InteractionsParser> = {
    text: ["delta", "arguments"],
    index: ["index"],
    ignored: [["event_id"]],
    push(parser, piece, index) {
      const target = parser.#at(index);
      if (target?.record.callIndex === undefined) return false;
      parser.#inputPiece(target, piece);
      return true;
    },
  };
  static readonly #text: Delta<InteractionsParser> = {
    text: ["delta", "text"],
    index: ["index"],
    ignored: [["event_id"]],
    push(parser, piece, index) {
      const target = parser.#at(index);
      if (target?.record.step.type !== "model_output") return false;
      parser.#textPiece(target, piece);
      return true;
    },
  };
  /** Most of a stream is pieces of arguments or text. */
  static readonly #templates = new Templates(({ event_type: type, delta }: WireEvent) => {
    if (type !== "step.delta") return undefined;
    if (delta?.type === "arguments_delta") return InteractionsParser.#input;
    return delta?.type === "text" ? InteractionsParser.#text : undefined;
  });

  get templates(): Templates {
    return InteractionsParser.#templates;
  }

  constructor(sink: ParserSink) {
    this.#sink = sink;
  }

  push(event: unknown): void {
    if (this.#ended) return;
    if (typeof event === "string") return this.#onText(event);
    if (!isRecord(event)) return;
    this.#hasEvents = true;
    const { event_type: type, index, step, delta, interaction, error } = event as WireEvent;
    const at = indexOf(index) ?? NO_INDEX;
    switch (type) {
      case "step.delta":
        if (isRecord(delta)) this.#delta(at, delta);
        return;
      case "step.start":
        if (isRecord(step)) this.#start(at, step);
        return;
      case "step.stop":
        return this.#stop(at);
      case "interaction.created":
        return this.#begin(interaction ?? {});
      case "interaction.completed":
        return this.#complete(interaction ?? {});
      case "error":
        return this.#fail(error ?? event);
      default: {
        const whole = event as WireInteraction;
        if (whole.object === "interaction" || Array.isArray(whole.steps)) {
          this.#begin(whole);
          this.#complete(whole);
        } else if (typeof type !== "string") {
          if (error || errorText(event)) this.#fail(error ?? event);
        } else if (type.startsWith("interaction.")) {
          // `interaction.status_update` has a status, which the events that replace it have as their names:
          // https://ai.google.dev/gemini-api/docs/interactions-breaking-changes-may-2026
          this.#told = { status: type.slice("interaction.".length), errors: error, ...whole, ...interaction };
        }
      }
    }
  }

  /**
   * Of an event that is no JSON, `@google/genai` 3 gives the text, and goes on. What is text from its beginning is no
   * stream of events.
   */
  #onText(text: string): void {
    if (!this.#hasEvents) return;
    const reader = new DataReader({
      onEvent: (event) => {
        if (isRecord(event)) this.push(event);
      },
      onError: (error) => this.#sink.fail(error),
    });
    reader.readData(text, false);
  }

  #begin({ id, model }: WireInteraction): void {
    // What the interaction before this one left open is not continued: its indexes begin anew. A call at its end may
    // have been cut before its arguments began.
    const bare = this.#bare;
    if (bare !== undefined && bare.record === this.#steps.at(-1) && isBare(bare)) this.#cutOff(bare);
    this.#endBare();
    for (const step of this.#open.values()) this.#cutOff(step);
    this.#open.clear();
    this.#stopped.clear();
    this.#isPaused = false;
    this.#told = {};
    this.#isLost = false;
    this.#before = this.#steps.length;
    this.#sink.start(textOf(id), textOf(model));
  }

  #cutOff({ record: { callIndex } }: OpenStep): void {
    if (callIndex !== undefined) this.#cut(callIndex, "the provider began anew before it ended them");
  }

  #start(index: number, step: WireStep): void {
    this.#told = {};
    const { type } = step;
    if (typeof type !== "string" || type === "user_input") return;
    const before = this.#open.get(index);
    if (before !== undefined && isAgain(before.record.step, step)) {
      if (isBare(before)) before.input = step.arguments;
      return this.#sign(index, step.signature);
    }
    if (type.startsWith("function_")) this.#endBare();
    if (before?.record.callIndex === undefined) {
      // What was open there has ended.
      if (before !== undefined) this.#end(before);
      this.#openStep(index, step);
    } else {
      // What comes for a call that is open may now be of either.
      before.isGuessed = before.isShared = true;
      this.#doubt(before);
      this.#doubt(this.#openStep(this.#free(), step));
    }
  }

  #openStep(index: number, step: WireStep): OpenStep {
    const { arguments: input, ...rest } = step;
    const callIndex = step.type === "function_call" ? this.#steps.length : undefined;
    const record: StepRecord = {
      step: { ...(callIndex === undefined ? step : rest), ...ownLists(step) },
      callIndex,
      done: false,
    };
    this.#steps.push(record);
    const opened: OpenStep = { record, input, hasPieces: false, isGuessed: false, isShared: false };
    this.#open.set(index, opened);
    if (callIndex !== undefined) {
      const signature = textOf(step.signature);
      const metadata = signature === undefined ? undefined : { signature };
      this.#sink.tool(toolChunk(0, callIndex, textOf(step.id), textOf(step.name), undefined, false, metadata));
    } else if (isHosted(step)) this.#hostedCall(record);
    else {
      for (const { text } of record.step.content ?? []) this.#sink.text(textOf(text) ?? "");
      for (const { text } of record.step.summary ?? []) this.#sink.reasoning(textOf(text) ?? "");
    }
    return opened;
  }

  #delta(index: number, delta: WireDelta): void {
    const { type } = delta;
    switch (type) {
      case "arguments_delta":
      // As the documentation of 2026-05 spells it.
      case "arguments": {
        const piece = isNothing(delta.arguments) ? delta.partial_arguments : delta.arguments;
        if (piece === "" || isNothing(piece)) return;
        const target = this.#call(index);
        if (target === undefined) return;
        if (typeof piece === "string") this.#inputPiece(target, piece);
        else if (!target.hasPieces) target.input = piece;
        return;
      }
      case "text": {
        const text = textOf(delta.text);
        if (text !== undefined) this.#textPiece(this.#stepOf(index, "model_output"), text);
        return;
      }
      case "thought_summary":
        if (isRecord(delta.content)) this.#summaryPiece(this.#stepOf(index, "thought"), delta.content);
        return;
      case "thought_signature":
        return this.#sign(index, delta.signature);
      case "text_annotation_delta":
        return this.#annotate(this.#stepOf(index, "model_output"), delta.annotations);
      default:
        if (typeof type !== "string") return;
        if (isMedia(type)) contentOf(this.#stepOf(index, "model_output").record.step, "content").push(delta);
        else if (isHosted(delta) || isResult(delta)) mergeHosted(this.#stepOf(index, type).record.step, delta);
    }
  }

  /**
   * The call that a piece belongs to. Its index may be that of the thought before the call: then it is for the one call
   * that is open. If there are several or none, its call is unknown, and so is that of every such piece after it.
   */
  #call(index: number): OpenStep | undefined {
    const placed = this.#at(index);
    if (placed?.record.callIndex !== undefined) return placed;
    // The server's own call.
    if (placed !== undefined && !isSpoken(placed.record.step)) return undefined;
    const open = [...this.#open.values()].filter(({ record }) => record.callIndex !== undefined);
    const [only] = open;
    if (open.length === 1 && !this.#isLost && (only!.isGuessed || !only!.hasPieces)) {
      only!.isGuessed = true;
      return only;
    }
    this.#isLost = true;
    for (const step of [...open, ...this.#stopped.values()]) this.#doubt(step);
    this.#stopped.clear();
    return undefined;
  }

  /** Pieces may be of a call without arguments, or of one whose pieces came like them: of that counts what is whole. */
  #doubt(step: OpenStep): void {
    if (isBare(step)) this.#cut(step.record.callIndex!, "the provider did not say which call some belong to");
    else if (step.isGuessed) this.#end(step);
  }

  #inputPiece(target: OpenStep, piece: string): void {
    if (piece === "") return;
    target.hasPieces = true;
    sayDelta(this.#sink, 0, target.record.callIndex, piece);
  }

  #textPiece({ record }: OpenStep, piece: string): void {
    if (piece === "") return;
    this.#sink.text(piece);
    sayText(contentOf(record.step, "content"), piece);
  }

  #summaryPiece({ record }: OpenStep, content: WireContent): void {
    const summary = contentOf(record.step, "summary");
    const text = textOf(content.text);
    if (text === undefined) {
      if (!("text" in content)) summary.push(content);
      return;
    }
    this.#sink.reasoning(text);
    sayText(summary, text);
  }

  #annotate({ record }: OpenStep, annotations: WireDelta["annotations"]): void {
    const last = contentOf(record.step, "content").at(-1);
    if (!Array.isArray(annotations) || last?.type !== "text") return;
    const known = last["annotations"];
    (last as { annotations?: unknown })["annotations"] = [...(Array.isArray(known) ? known : []), ...annotations];
  }

  /** It comes with the thought before a call; some have it on the call. */
  #sign(index: number, signature: unknown): void {
    if (textOf(signature) === undefined) return;
    const thought = this.#steps.findLast(({ step }) => step.type === "thought");
    const record = this.#at(index)?.record ?? thought ?? this.#openStep(index, { type: "thought" }).record;
    (record.step as { signature?: unknown }).signature = signature;
    if (record.callIndex !== undefined) this.#sink.tool({ callIndex: record.callIndex, metadata: { signature } });
  }

  /** The step of a type at an index; one of its own if its start is missing, or another step has the index. */
  #stepOf(index: number, type: string): OpenStep {
    const placed = this.#at(index);
    if (placed?.record.step.type === type) return placed;
    const last = [...this.#open.values()].find(({ record }) => record.step.type === type);
    return last ?? this.#openStep(placed === undefined ? index : this.#free(), { type });
  }

  #at(index: number): OpenStep | undefined {
    return this.#open.get(index) ?? this.#stopped.get(index);
  }

  /** An index that no event has. */
  #free(): number {
    return NO_INDEX - 1 - this.#steps.length;
  }

  #stop(index: number): void {
    const stopped = this.#open.get(index);
    if (stopped === undefined || stopped.isShared) return;
    this.#open.delete(index);
    this.#stopped.set(index, stopped);
    if (!isBare(stopped)) return this.#end(stopped);
    this.#endBare();
    this.#bare = stopped;
  }

  #endBare(): void {
    if (this.#bare !== undefined) this.#end(this.#bare);
    this.#bare = undefined;
  }

  #end({ record, input, hasPieces }: OpenStep): void {
    record.done = true;
    const { step, callIndex } = record;
    if (callIndex !== undefined) {
      const [argsTextDelta, argsKvPatch] = hasPieces ? [] : [argumentsText(input), argumentsObject(input)];
      this.#sink.tool({ callIndex, argsTextDelta, argsKvPatch, done: true });
    } else if (isHosted(step)) this.#hostedCall(record);
    else if (step.type === "function_result") this.#executed(step);
    else if (isResult(step)) this.#hostedResult(step);
    this.#message ??= errorText(step.error);
  }

  /** Reported when it begins, and again when its arguments are known. */
  #hostedCall(record: StepRecord): void {
    const { step } = record;
    const id = textOf(step.id);
    if (id !== undefined) (this.#hosted ??= new Map()).set(id, record);
    this.#sink.providerTool(providerCall(step));
  }

  #hostedResult(result: WireStep): void {
    const call = this.#hosted?.get(textOf(result.call_id) ?? "")?.step;
    this.#sink.providerTool(providerCall(call ?? result, result));
  }

  /** A result in the answer itself: the server, or an agent there, has run the call. */
  #executed({ call_id: id, result: output }: WireStep): void {
    const call = this.#steps.find(({ step, callIndex }) => callIndex !== undefined && !isNothing(id) && step.id === id);
    if (call === undefined) return;
    call.executed = true;
    const metadata = { providerExecuted: true, type: "function_call", output };
    this.#sink.tool({ callIndex: call.callIndex, metadata });
  }

  #complete(interaction: WireInteraction): void {
    const id = textOf(interaction.id);
    // A stream that was resumed has no beginning.
    if (id !== undefined) this.#sink.start(id, textOf(interaction.model));
    const status = textOf(interaction.status) ?? "completed";
    const reason = FINISH_REASONS.get(status);
    const isWhole = reason === "stop" || reason === "tool-use";
    if (this.#steps.length === this.#before) this.#wholes(interaction.steps, isWhole);
    if (isWhole) {
      this.#endBare();
      for (const step of this.#open.values()) this.#end(step);
    }
    if (isRecord(interaction.usage)) {
      const usage = addedUsage(this.#usage, interaction.usage);
      this.#sink.usage(usageOf(usage));
      if (status === "requires_continuation") this.#usage = usage;
    }
    if (reason === undefined) return this.#fail(interaction.errors, status);
    // Another interaction may follow, which continues this one.
    if (status === "requires_continuation") {
      this.#isPaused = true;
      return;
    }
    this.#sink.finish(reason, status, this.#message ?? errorText(interaction.errors));
    this.#terminate();
  }

  /** The steps of an interaction that was not streamed. The last one of a cut answer may be cut, though it looks whole. */
  #wholes(steps: WireInteraction["steps"], isWhole: boolean): void {
    if (!Array.isArray(steps)) return;
    steps.forEach((step: WireStep | null, index) => {
      if (!isRecord(step)) return;
      this.#start(index, step);
      const { callIndex } = this.#open.get(index)?.record ?? {};
      if (isWhole || index < steps.length - 1) {
        this.#stop(index);
        // Here `{}` stands for none.
        return this.#endBare();
      }
      if (callIndex !== undefined)
        this.#cut(callIndex, "the model was stopped midway", argumentsObject((step as WireStep).arguments));
    });
  }

  #cut(callIndex: number, error: string, argsKvPatch?: Readonly<Record<string, unknown>>): void {
    this.#sink.tool({ turnIndex: 0, callIndex, argsKvPatch, error, errorType: "truncated" });
  }

  #fail(error: unknown, status?: string): void {
    const code = isRecord(error) ? textOf(error["code"]) : undefined;
    const said = errorText(error);
    const label = code === undefined || code === said ? "" : `${code}: `;
    const message = said === undefined ? problemOf(status ?? "failed") : `${label}${said}`;
    this.#sink.finish("error", status ?? null, message);
    this.#sink.fail(new ToolError("provider_error", message, { cause: error }));
    this.#terminate();
  }

  #terminate(): void {
    this.#ended = true;
    this.#open.clear();
    this.#stopped.clear();
    this.#sink.terminal();
  }

  /**
   * A stream that ends before its interaction was completed was cut; one that is not continued ends as it said. With
   * calls, the documentation ends it by `interaction.requires_action`:
   * https://ai.google.dev/gemini-api/docs/migrate-to-interactions (2026-06)
   */
  end(): void {
    if (this.#ended) return;
    if (this.#isPaused) this.#sink.finish("length", "requires_continuation", this.#message);
    else if (this.#open.size === 0 && isEnd(this.#told.status)) this.#complete(this.#told);
  }
}

/** Whether a step is announced for the second time. */
function isAgain(before: WireStep, { type, id, name }: WireStep): boolean {
  return before.type === type && (before.id ?? null) === (id ?? null) && (before.name ?? null) === (name ?? null);
}

/** Whether it is a call that has no arguments so far: `{}` at its start stands for those to come. */
function isBare({ record, input, hasPieces }: OpenStep): boolean {
  return record.callIndex !== undefined && !hasPieces && isEmpty(input);
}

function isSpoken({ type }: WireStep): boolean {
  return type === "model_output" || type === "thought";
}

/** Copies of the lists that pieces are added to: the event belongs to the caller. */
function ownLists({ content, summary }: WireStep): Partial<WireStep> {
  return {
    ...(!isNothing(content) && { content: contentsIn(content) }),
    ...(!isNothing(summary) && { summary: contentsIn(summary) }),
  };
}

function contentsIn(list: unknown): WireContent[] {
  return Array.isArray(list) ? list.filter(isRecord).map((content) => ({ ...content })) : [];
}

/** The list of a step that holds what it says; made if there is none. */
function contentOf(step: WireStep, field: "content" | "summary"): WireContent[] {
  const own = step as { content?: unknown; summary?: unknown };
  if (!Array.isArray(own[field])) own[field] = [];
  return own[field] as WireContent[];
}
