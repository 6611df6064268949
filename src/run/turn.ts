import { ToolCallError, ToolError } from "../errors.ts";
import { modelMessage, type Model } from "../model.ts";
import type { FinishReason, StreamEvent, Turn } from "../stream/events.ts";
import { isClean } from "../stream/finish-reason.ts";
import { stopwatch } from "../time.ts";
import { approvalRule } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolUse } from "../tool/use.ts";
import type { TurnRow } from "./format.ts";
import { executable, isDependent, pendingCall, recordsOf } from "./partition.ts";
import type { PreparedTurn } from "./prepare.ts";
import type { Emit } from "./types.ts";

export interface TurnRequest extends PreparedTurn {
  readonly signal: AbortSignal;
  /** The first part of the ids of the turn's calls. */
  readonly turnId: string;
  readonly emit: Emit;
  /** Gets calls that may run while the turn goes on. */
  onEarly(use: ToolUse): void;
  /** Gets external calls. */
  onExternal(use: ToolUse): void;
}

/** One turn of the model, read to its end. */
export interface AskedTurn {
  readonly row: TurnRow;
  /** What was seen of a turn that failed, if anything: only its text. */
  readonly seen: TurnRow | undefined;
  /** The calls that can be executed, by invocation id. */
  readonly uses: ReadonlyMap<string, ToolUse>;
  /** Why it did not end normally. */
  readonly error: ToolError | undefined;
  /** Whether the provider answered, be it with an error in its stream. Else it is up to the SDK to ask again. */
  readonly isAnswered: boolean;
}

/** Asks the model, and emits its events as they arrive. */
export async function askModel(request: TurnRequest): Promise<AskedTurn> {
  const { model, messages, tools, instructions, toolChoice, signal, turnId, emit } = request;
  const at = Date.now();
  const elapsedMs = stopwatch();
  const offered = tools.map(early);
  const stream = model.open({ messages, tools: offered, instructions, toolChoice, signal, runId: turnId });
  const uses = new Map<string, ToolUse>();
  const held = new Held(new Set(tools.filter(({ eager }) => eager).map(({ name }) => name)));
  let isAnswered = false;
  let said = "";
  let isInOrder = false;
  for await (const event of stream) {
    isAnswered ||= event.type !== "error";
    if (event.type === "finish" || event.type === "error") for (const end of held.end(event.turn)) await emit(end);
    if (event.type === "tool-error") held.drop(event.error);
    if (event.type === "text-delta" || event.type === "refusal-delta") said += event.delta;
    if (event.type !== "tool-use") {
      await emit(event);
      continue;
    }
    const { use } = event;
    const released = !held.keeps(use);
    if (released) await emit(event);
    uses.set(use.invocationId, use);
    const isInternal = use.tool.mode === "internal";
    // Calls after it wait for it.
    isInOrder ||= isInternal && use.tool.sequential === true;
    if (isInternal && !isInOrder && mayBegin(use)) request.onEarly(use);
    if (isInternal || (!released && isCutNow(stream.turn))) continue;
    request.onExternal(use);
    if (isDependent(use)) continue;
    held.told(use);
    const call = pendingCall({ ...use, ...executable(use) });
    await emit({ type: "external_tool_detected", call, released });
  }
  const { turn } = stream;
  const requestId = stream.response?.requestId;
  const time = { at, durationMs: elapsedMs() };
  const row = rowOf(model, turn, turnId, time, requestId, held.errors);
  const error = turn.error ?? noAnswer(turn);
  const status = stream.response?.status ?? 0;
  // No SDK asks again after an error in a stream, https://github.com/googleapis/python-genai/issues/2604, nor when the
  // connection breaks behind the headers. A stream that ends without an event may be what a wrong base URL has.
  const isBroken = status > 0 && error?.code === "connection_lost" && error.cause !== undefined;
  isAnswered ||= status < 400 && (error?.code === "provider_error" || isBroken);
  return { row, seen: error && seenOf(model, turn, row, said, error), uses, error, isAnswered };
}

/**
 * Only the text, if it is not blank: histories with unsigned thinking or unfinished calls are refused. Its tokens are
 * counted in `lostUsage`, with those of turns that were requested again.
 */
function seenOf(model: Model, turn: Turn, row: TurnRow, said: string, error: ToolError): TurnRow | undefined {
  // It may end between the halves of a character.
  const text = said.replace(/[\uD800-\uDBFF]$/, "").toWellFormed();
  if (text.trim() === "") return undefined;
  const { code, message } = error;
  const { usage: _, ...rest } = row;
  return { ...rest, messages: [modelMessage(model, text, turn)], text, calls: [], error: { code, message } };
}

/**
 * The error of a turn that is not an answer although it ended: the provider dropped what the model wrote (Gemini's
 * `MALFORMED_FUNCTION_CALL`), or says that there are calls and sent nothing at all
 * (https://github.com/anthropics/claude-code/issues/63581).
 */
function noAnswer(turn: Turn): ToolError | undefined {
  const { calls, text, providerToolCalls, finishReason, providerFinishReason, finishMessage } = turn;
  const isEmpty = text === "" && providerToolCalls.length === 0;
  if (calls.length > 0 || !(finishReason === "error" || (finishReason === "tool-use" && isEmpty))) return undefined;
  const why = finishMessage ?? "there is no answer in it.";
  return new ToolError("provider_error", `The turn ended with ${providerFinishReason ?? finishReason}: ${why}`);
}

/** External calls are announced as soon as they are complete, so that the caller may start during the turn. */
function early(tool: Tool): Tool {
  return tool.mode === "external" && !tool.eager ? { ...tool, eager: true } : tool;
}

/**
 * Whether a call may start during its turn: it only reads, and nobody needs to be asked about a turn that may be cut.
 */
function mayBegin(use: ToolUse): boolean {
  return use.tool.effect === "read" && approvalRule(use.tool) === false && !isDependent(use);
}

/** External calls that are complete, and wait for the end of their turn, which may still be cut. */
class Held {
  /** What the model is told about calls whose turn was cut, by invocation id. */
  readonly errors = new Map<string, ToolCallError>();
  readonly #eager: ReadonlySet<string>;
  readonly #uses = new Map<string, ToolUse>();
  readonly #told = new Set<string>();

  /** @param eager the names of the tools that wait for nothing */
  constructor(eager: ReadonlySet<string>) {
    this.#eager = eager;
  }

  keeps(use: ToolUse): boolean {
    if (use.tool.mode === "internal" || this.#eager.has(use.name)) return false;
    this.#uses.set(use.invocationId, use);
    return true;
  }

  /** The caller knows of the call, and may have started it. */
  told({ invocationId }: ToolUse): void {
    this.#told.add(invocationId);
  }

  drop({ invocationId }: ToolCallError): void {
    this.#uses.delete(invocationId);
  }

  /** The events at the end of the turn: the calls are released, or can no longer be executed. */
  *end(turn: Turn): Iterable<StreamEvent> {
    for (const use of this.#uses.values()) {
      const isOfTurn = turn.calls.some(({ invocationId }) => invocationId === use.invocationId);
      if (!isOfTurn) yield { type: "tool-error", error: withdrawnError(use) };
      else if (!isCutNow(turn)) yield { type: "tool-use", use };
      else {
        const error = this.#told.has(use.invocationId) ? begunError(use) : unfinishedError(use);
        this.errors.set(use.invocationId, error);
        yield { type: "tool-error", error };
      }
    }
  }
}

function begunError(use: ToolUse): ToolCallError {
  const message = `The outcome of the call of ${use.name} is unknown: it was handed out, and then the turn it belongs to was cut. Find out what came of it before it is sent again.`;
  return new ToolCallError("outcome_unknown", message, use);
}

/** For a call that is no longer part of the turn: the model is not told about it. */
function withdrawnError(use: ToolUse): ToolCallError {
  return new ToolCallError(
    "rejected",
    `The provider took back the call of ${use.name}: it is not to be executed.`,
    use,
  );
}

function unfinishedError(use: ToolUse): ToolCallError {
  const message = `The call of ${use.name} was not executed, since the turn it belongs to did not finish. Send it again if it is still wanted.`;
  return new ToolCallError("turn_not_finished", message, use);
}

function isCutNow({ error, finishReason }: Turn): boolean {
  return error !== undefined || (finishReason !== undefined && !isClean(finishReason));
}

function rowOf(
  model: Model,
  turn: Turn,
  turnId: string,
  time: Pick<TurnRow, "at" | "durationMs">,
  requestId: string | undefined,
  errors: ReadonlyMap<string, ToolCallError>,
): TurnRow {
  const { text, reasoning, refusal, finishReason, usage, error } = turn;
  return {
    kind: "turn",
    turnId,
    ...time,
    messages: model.adapter.assistantMessage(turn),
    // Without it the user sees a blank reply: https://github.com/openclaw/openclaw/pull/102349
    text: text + refusal,
    ...(reasoning !== "" && { reasoning }),
    calls: recordsOf(turn.calls, errors),
    finishReason: finishReason ?? null,
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...(usage !== undefined && { usage: tokensOf(usage) }),
    ...(turn.model !== undefined && { model: turn.model }),
    ...(requestId !== undefined && { requestId }),
    ...(model.goesOn?.(turn) === true && turn.calls.length === 0 && { goesOn: true as const }),
  };
}

/** Whether the provider or the connection ended the turn before the model did. */
export function isCut(turn: TurnRow): boolean {
  return !isAborted(turn) && (turn.error !== undefined || UNFINISHED.has(turn.finishReason));
}

/** Whether the caller ended the turn. */
export function isAborted({ error }: TurnRow): boolean {
  return error?.code === "aborted";
}

const UNFINISHED: ReadonlySet<FinishReason | null> = new Set(["length", "content-filter", "refusal", "error"]);

/** A server's counts may be anything. */
function tokensOf({ inputTokens, outputTokens, totalTokens }: NonNullable<Turn["usage"]>) {
  const [input, output] = [countOf(inputTokens), countOf(outputTokens)];
  return { inputTokens: input, outputTokens: output, totalTokens: countOf(totalTokens ?? input + output) };
}

function countOf(count: number | undefined): number {
  // Sums of these stay finite, as stores want them.
  return count !== undefined && Number.isFinite(count) && count > 0 ? Math.min(count, Number.MAX_SAFE_INTEGER) : 0;
}
