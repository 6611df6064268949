import { ToolCallError, ToolError, type ToolErrorCode } from "../errors.ts";
import type { ToolSource } from "../tool/tool-set.ts";
import type { ToolUse } from "../tool/use.ts";
import { appendDelta, currentOf, inCallOrder, ToolBuffer, type ToolBufferOptions } from "./buffer.ts";
import { sentence, tooManyCalls } from "./call-failures.ts";
import { stateOf, type CallState, type ToolCall } from "./call.ts";
import { isProvidersOwn, isResultAlone, toolChunk, type ToolChunk } from "./chunk.ts";
import type { FinishReason, ProviderToolCall, StreamEvent, Turn, Usage } from "./events.ts";
import { isClean } from "./finish-reason.ts";
import { showGetters } from "./shown.ts";

/**
 * Turns what a parser reports into stream events, and decides when complete calls are released: those of tools that
 * only read immediately, the others at the clean end of the turn, in call order.
 */
export class TurnReader {
  /** Nothing that still comes can change the turn. These two live here so that an event need not look at the turn. */
  isOver = false;
  #hasFailed = false;
  readonly #buffer: ToolBuffer;
  /** The pending event, since mostly there is one; where there are more, they are in `#events`. */
  #only: StreamEvent | undefined;
  #events: StreamEvent[] = NONE;
  readonly turn: TurnState;
  /** The provider said that nothing more will come. */
  isTerminated = false;
  /** Complete calls that wait for the end of the turn, and unknown names that may turn out to be the provider's own. */
  #held: (ToolUse | ToolCallError)[] = [];
  #hasEnded = false;
  /** What the provider said about its failure. */
  #complaint: string | undefined;

  /**
   * @param wire the name of the adapter
   * @param tools without them every tool name is accepted and no input is validated
   */
  constructor(wire: string, tools: ToolSource | undefined, options?: ToolBufferOptions) {
    this.#buffer = new ToolBuffer(tools, options);
    this.turn = new TurnState(wire, this.#buffer);
  }

  get maxEventBytes(): number {
    return this.#buffer.limits.maxEventBytes;
  }

  get hasEvents(): boolean {
    return this.#only !== undefined || this.#events.length > 0;
  }

  /** The events since the last call. */
  take(): StreamEvent[] {
    const only = this.takeOnly();
    if (only !== undefined) return [only];
    const events = this.#events;
    this.#events = NONE;
    return events;
  }

  /** {@link take} for a single event, without making a list; `undefined` if there are more, or none. */
  takeOnly(): StreamEvent | undefined {
    const only = this.#only;
    this.#only = undefined;
    return only;
  }

  #say(event: StreamEvent): void {
    if (this.#events.length > 0) this.#events.push(event);
    else if (this.#only === undefined) this.#only = event;
    else {
      this.#events = [this.#only, event];
      this.#only = undefined;
    }
  }

  // The methods of ParserSink: what a parser reports

  start(responseId: string | undefined, model: string | undefined): void {
    const { turn } = this;
    const isFirst = turn.responseId === undefined && turn.model === undefined;
    turn.responseId = responseId ?? turn.responseId;
    turn.model = model ?? turn.model;
    if (isFirst) this.#say({ type: "start", responseId, model });
  }

  text(delta: string): void {
    if (delta === "" || this.#hasFailed) return;
    this.turn.text += delta;
    this.#say({ type: "text-delta", delta });
  }

  reasoning(delta: string): void {
    if (delta === "" || this.#hasFailed) return;
    this.turn.reasoning += delta;
    this.#say({ type: "reasoning-delta", delta });
  }

  refusal(delta: string): void {
    if (delta === "" || this.#hasFailed) return;
    this.turn.refusal += delta;
    this.#say({ type: "refusal-delta", delta });
  }

  tool(chunk: ToolChunk): void {
    if (this.#hasFailed) return;
    const buffer = this.#buffer;
    const before = currentOf(buffer);
    let outcome = buffer.append(chunk);
    const state = currentOf(buffer);
    if (state !== undefined) this.#announce(state, chunk);
    // Nobody has heard of a call that was withdrawn with its first chunk, such as one that was sent twice.
    const untold = state?.isRetracted === true && !state.isAnnounced ? state.outcome : undefined;
    for (; outcome !== undefined; outcome = buffer.next()) if (outcome !== untold) this.#release(outcome);
    if (before !== undefined && isServed(before)) this.#giveBack(before.call);
    if (state === undefined) {
      if (!isResultAlone(chunk)) this.cut(new ToolError("too_large", tooManyCalls(buffer.limits)));
    } else if (isResultAlone(chunk) || isServed(state)) this.#giveBack(state.call);
  }

  toolDelta(turnIndex: number | undefined, callIndex: number | undefined, argsTextDelta: string): void {
    if (this.#hasFailed) return;
    const buffer = this.#buffer;
    const state = appendDelta(buffer, turnIndex, callIndex, argsTextDelta);
    if (state === undefined) return this.tool(toolChunk(turnIndex, callIndex, undefined, undefined, argsTextDelta));
    const delta = buffer.added;
    if (delta !== "") this.#say({ type: "tool-input-delta", call: state.call, delta });
    if (isServed(state)) this.#giveBack(state.call);
    else if (state.outcome !== undefined) this.#release(buffer.next()!);
  }

  providerTool(call: ProviderToolCall): void {
    this.turn.noteProviderCall(call);
    this.#say({ type: "provider-tool", call });
  }

  usage(usage: Usage): void {
    this.turn.usage = usage;
    this.#say({ type: "usage", usage });
  }

  finish(reason: FinishReason, providerReason: string | null, message?: string): void {
    const { turn } = this;
    // The last word counts. But a word without a meaning does not override one with a meaning, and a missing word does
    // not override an unknown one.
    const { finishReason: known } = turn;
    if (reason === "unknown" && known !== undefined && (known !== "unknown" || !providerReason)) return;
    turn.finishReason = reason;
    turn.providerFinishReason = providerReason;
    turn.finishMessage = message ?? turn.finishMessage;
  }

  terminal(): void {
    this.isTerminated = true;
    this.isOver = true;
  }

  /** The provider says that the turn has failed. */
  fail(error: ToolError): void {
    if (this.turn.error === undefined && error.code === "provider_error") this.#complaint = error.message;
    this.cut(error);
  }

  /** The turn is over before its provider ended it. The first failure is the one reported. */
  cut(error: ToolError): void {
    this.turn.error ??= error;
    this.#hasFailed = true;
    this.isOver = true;
  }

  /** The stream is over: decides on every call that is still open or held, and emits the last event. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { turn } = this;
    if (turn.error === undefined && turn.finishReason === undefined) {
      if (this.isTerminated) turn.finishReason = "unknown";
      else this.cut(new ToolError("connection_lost", "The stream ended before the provider ended the turn."));
    }
    for (const call of turn.calls) if (isProvidersOwn(call)) this.#giveBack(call);
    const hasFailed = turn.error !== undefined;
    // If the turn failed after its finish, that finish ended its calls: they no longer count as cut, but stay held.
    const ending = this.#ending();
    const outcomes = [...this.#held, ...this.#buffer.end(ending)].filter((outcome) => this.#stands(outcome));
    turn.finishReason = this.#neutralReason(hasFailed ? undefined : ending);
    const isCleanEnd = !hasFailed && isClean(turn.finishReason);
    for (const outcome of inCallOrder(outcomes)) {
      if (outcome instanceof ToolCallError) this.#say({ type: "tool-error", error: outcome });
      else if (isCleanEnd || (!hasFailed && outcome.tool.eager)) this.#releaseUse(outcome);
      else this.#withhold(outcome);
    }
    this.#sayEnd();
  }

  /**
   * The turn failed before these events were handed out: their calls are not released, except those already executed by
   * a caller who found them on the turn. Of the other events, only failed calls are emitted again.
   */
  takeBack(events: readonly StreamEvent[], error: ToolError): void {
    this.cut(error);
    for (const event of events) {
      if (event.type === "tool-error") this.#say(event);
      else if (event.type === "tool-use" && !event.use.executed) {
        const withheld = this.#withhold(event.use);
        // Callers who got it from the turn can no longer run it.
        if (withheld !== undefined) event.use.provideError(withheld);
      }
    }
    if (this.#hasEnded) this.#sayEnd();
  }

  #sayEnd(): void {
    const { turn } = this;
    if (turn.error !== undefined) this.#say({ type: "error", error: turn.error, turn });
    else {
      const { finishReason, providerFinishReason: providerReason, finishMessage: message } = turn;
      this.#say({ type: "finish", reason: finishReason!, providerReason, message, turn });
    }
  }

  #announce(state: CallState, chunk: ToolChunk): void {
    if (state.name === null || state.isRetracted) return;
    const { call } = state;
    const { added } = this.#buffer;
    const hasValues = chunk.argsKvPatch !== undefined || chunk.argsPathPatch !== undefined;
    if (!state.isAnnounced) {
      state.isAnnounced = true;
      this.#say({ type: "tool-input-start", call });
      // What came before the name is reported together with it.
      const delta = state.args.isValue ? "" : call.argsText;
      if (delta !== "" || state.args.isValue) this.#say({ type: "tool-input-delta", call, delta });
    } else if (added !== "" || (hasValues && !state.isLate)) {
      this.#say({ type: "tool-input-delta", call, delta: added });
    }
  }

  /** A turn that ended without any word ended well; a word we do not know may mean that it was cut. */
  #ending(): FinishReason | undefined {
    const { finishReason, providerFinishReason } = this.turn;
    return finishReason === "unknown" && !providerFinishReason ? "stop" : finishReason;
  }

  /** Calls decide, not the provider's word: real servers say `stop` though there are calls. */
  #neutralReason(ending: FinishReason | undefined): FinishReason {
    const { turn } = this;
    if (ending === undefined) return turn.finishReason ?? "error";
    if (ending !== "stop") return ending;
    if (turn.refusal !== "") return "refusal";
    return turn.calls.length > 0 ? "tool-use" : turn.finishReason!;
  }

  #release(outcome: ToolUse | ToolCallError): void {
    if (outcome instanceof ToolCallError) {
      if (outcome.code === "unknown_tool") this.#held.push(outcome);
      else this.#say({ type: "tool-error", error: outcome });
    } else if (outcome.tool.eager) this.#releaseUse(outcome);
    else this.#held.push(outcome);
  }

  /** Not the use of a call that turned out to have more arguments, to be the provider's, or to be withdrawn. */
  #stands(outcome: ToolUse | ToolCallError): boolean {
    return outcome instanceof ToolCallError || this.#buffer.call(outcome.invocationId)?.outcome === outcome;
  }

  #releaseUse(use: ToolUse): void {
    stateOf(this.#buffer.call(use.invocationId)!).isReleased = true;
    this.#say({ type: "tool-use", use });
  }

  /** A turn that was cut, failed or refused releases no write; the model is told. */
  #withhold(use: ToolUse): ToolCallError | undefined {
    const call = this.#buffer.call(use.invocationId);
    if (call === undefined) return undefined; // the provider's own, or withdrawn
    const error = new ToolCallError(
      "turn_not_finished",
      `The call of ${use.name} was not executed, since the turn it belongs to did not finish: ${sentence(this.#whyUnfinished())} Send it again if it is still wanted.`,
      use,
    );
    const state = stateOf(call);
    state.outcome = error;
    state.isReleased = false;
    this.#say({ type: "tool-error", error });
    return error;
  }

  /** For the model: only the provider's own words are passed on, since others may hold addresses or instructions. */
  #whyUnfinished(): string {
    const { error, providerFinishReason, finishReason } = this.turn;
    // The provider may have said `stop`.
    if (error === undefined && finishReason === "refusal") return "The model refused";
    if (error === undefined) return `The turn ended with ${providerFinishReason || finishReason}`;
    return this.#complaint ?? WHY_CUT[error.code] ?? "The turn failed";
  }

  /** The provider ran the call itself: it is no longer ours. */
  #giveBack(call: ToolCall): void {
    if (this.#buffer.retract(call.invocationId) === undefined) return;
    const { type, output } = call.metadata;
    this.#held = this.#held.filter((held) => held !== call.outcome);
    this.providerTool({
      id: call.id,
      name: call.name ?? "",
      type: typeof type === "string" ? type : "function_call",
      status: "completed",
      executedBy: "provider",
      input: call.input,
      output,
    });
  }
}

/** Whether it is complete, and the provider runs it itself. */
function isServed(state: CallState): boolean {
  return state.outcome !== undefined && isProvidersOwn(state);
}

/** Never written to. */
const NONE: StreamEvent[] = [];

const WHY_CUT: { readonly [code in ToolErrorCode]?: string } = {
  aborted: "The turn was aborted",
  connection_lost: "The stream ended before the provider ended the turn",
  event_too_large: "The provider sent an event too large to read",
  invalid_event: "The provider sent something that cannot be read",
  too_large: "It has more calls than one turn may have",
};

/** The turn while it is read. */
export class TurnState implements Turn {
  readonly wire: string;
  readonly runId: string;
  responseId: string | undefined;
  model: string | undefined;
  text = "";
  reasoning = "";
  refusal = "";
  finishReason: FinishReason | undefined;
  providerFinishReason: string | null = null;
  finishMessage: string | undefined;
  usage: Usage | undefined;
  error: ToolError | undefined;
  native: unknown;
  readonly providerToolCalls: ProviderToolCall[] = [];
  /** The index of a call in that list. */
  #providerCalls: Map<string, number> | undefined;
  readonly #buffer: ToolBuffer;

  static {
    showGetters(TurnState.prototype, ["calls"]);
  }

  constructor(wire: string, buffer: ToolBuffer) {
    this.wire = wire;
    this.#buffer = buffer;
    this.runId = buffer.runId;
  }

  get calls(): readonly ToolCall[] {
    return this.#buffer.calls;
  }

  /** A provider's call is reported when it starts and when it is done: the later report replaces the earlier one. */
  noteProviderCall(call: ProviderToolCall): void {
    const list = this.providerToolCalls;
    // A call without an id is the last of its name that has started and not ended.
    const key = call.id === null ? `name ${call.name}` : `id ${call.id}`;
    const places = (this.#providerCalls ??= new Map());
    const at = places.get(key);
    if (at === undefined) places.set(key, list.push(call) - 1);
    else list[at] = { ...list[at]!, ...call };
    if (call.id === null && call.status !== "started") places.delete(key);
  }
}
