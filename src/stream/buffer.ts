import { ToolCallError } from "../errors.ts";
import { setOwn } from "../schema/json.ts";
import { checkSpelling, type OptionNames } from "../tool/option-names.ts";
import type { RepairPolicy } from "../tool/tool.ts";
import { toolsByEachName, type ToolSource } from "../tool/tool-set.ts";
import { ToolUse } from "../tool/use.ts";
import { failure, givenUp, tooManyCalls, truncated } from "./call-failures.ts";
import { CallState, type ToolCall } from "./call.ts";
import { isProvidersOwn, type PathPatch, type ToolChunk } from "./chunk.ts";
import { decide } from "./decide.ts";
import type { FinishReason } from "./events.ts";
import { isClean } from "./finish-reason.ts";
import { resolveLimits, type GivenLimits, type Limits } from "./limits.ts";
import { bareName, goesOn, joinedName, Labels, ToolRouter, type NamedTools } from "./router.ts";
import { runIdOf } from "./run-id.ts";

export interface ToolBufferOptions {
  /** How much the stream may make us buffer. */
  readonly limits?: GivenLimits | undefined;
  /** Overrides every tool's own policy. */
  readonly repair?: RepairPolicy | undefined;
  /** The first part of every invocation id: letters, digits, `-` and `_`. Default: random. */
  readonly runId?: string | undefined;
  /** The name under which the provider knows a tool. Default: the tool's own. */
  readonly toolName?: ((name: string) => string) | undefined;
  /** Matches what models write for a tool's name (`functions.f`); the first group is the name. Default: nothing. */
  readonly namespaced?: RegExp | undefined;
  /** Whether a call with the id, name and arguments of an earlier one is that call again: always, or for these ids. */
  readonly uniqueIds?: boolean | RegExp | undefined;
}

const OPTIONS: OptionNames<ToolBufferOptions> = {
  limits: true,
  repair: true,
  runId: true,
  toolName: true,
  namespaced: true,
  uniqueIds: true,
};

/** The state behind {@link ToolBuffer.current}: for the turn, not for users. */
export let currentOf: (buffer: ToolBuffer) => CallState | undefined;

/**
 * Takes in a chunk that only adds arguments to a call that is open, named, and not yet at its end: the same as
 * {@link ToolBuffer.append} with such a chunk. If the call then has an `outcome`, {@link ToolBuffer.next} returns it.
 *
 * @returns the call; `undefined` where the chunk may be anything else, and nothing was taken in
 */
export let appendDelta: (
  buffer: ToolBuffer,
  turnIndex: number | undefined,
  callIndex: number | undefined,
  argsTextDelta: string,
) => CallState | undefined;

/** Nothing is added to it. */
const NONE: (ToolUse | ToolCallError)[] = [];

/**
 * Routes chunks to calls, assembles their arguments, decides when a call is complete, validates it.
 *
 * A call is complete only if the provider ended it (a chunk that says `done`, the next call, the end of the turn)
 * *and* the model closed its root value. Everything else becomes a ToolCallError, never a ToolUse. What the provider
 * runs itself becomes neither.
 *
 * @example
 * const buffer = new ToolBuffer(tools);
 * for (const chunk of chunks) {
 *   const done = buffer.append(chunk);
 *   if (done instanceof ToolUse) await done.execute();
 * }
 * for (const rest of buffer.end("tool-use")) ...
 */
export class ToolBuffer {
  #ended = false;
  #current: CallState | undefined;
  #added = "";
  /** Ended calls that were not handed out yet. */
  #settled: (ToolUse | ToolCallError)[] = NONE;
  readonly #router: ToolRouter;
  /** By position, including retracted ones. */
  readonly #states: CallState[] = [];
  readonly #tools: NamedTools | undefined;
  readonly #repair: RepairPolicy | undefined;
  readonly #namespaced: RegExp | undefined;
  readonly #uniqueIds: boolean | RegExp | undefined;
  /** Settled calls by unique ids; where several share one, by all that they say. */
  #unique: Labels<string, CallState | Map<string, CallState>> | undefined;
  #overflow: ToolCallError | undefined;
  readonly runId: string;
  readonly limits: Limits;

  static {
    currentOf = (buffer) => buffer.#current;
    appendDelta = (buffer, turnIndex, callIndex, delta) => buffer.#appendDelta(turnIndex ?? 0, callIndex, delta);
  }

  /**
   * @param tools without them, every name is accepted as a tool and no input is validated.
   * @throws TypeError for an invalid option
   * @throws ToolError `duplicate_tool` when the provider would know two of the tools by one name
   */
  constructor(tools?: ToolSource, options: ToolBufferOptions = {}) {
    checkSpelling("new ToolBuffer()", options, OPTIONS);
    this.limits = resolveLimits(options.limits);
    this.runId = runIdOf(options.runId);
    this.#repair = policyOf(options.repair);
    this.#namespaced = options.namespaced;
    this.#uniqueIds = options.uniqueIds;
    if (tools !== undefined) this.#tools = toolsByEachName(tools, options.toolName);
    this.#router = new ToolRouter(this.#tools, (turnIndex, chunk) => this.#open(turnIndex, chunk));
  }

  /** Every call so far, in the order in which they began. */
  get calls(): readonly ToolCall[] {
    return this.#present().map((state) => state.call);
  }

  /** Every call so far that cannot be executed. */
  get errors(): readonly ToolCallError[] {
    const outcomes = this.#present().map((state) => state.outcome);
    const errors = outcomes.filter((outcome) => outcome instanceof ToolCallError);
    return this.#overflow === undefined ? errors : [...errors, this.#overflow];
  }

  /** The call that the last chunk belonged to; `undefined` before the first, and after a chunk that belongs to none. */
  get current(): ToolCall | undefined {
    return this.#current?.call;
  }

  /** What the last chunk added to its call's text: not always its delta, since copies are dropped. */
  get added(): string {
    return this.#added;
  }

  /** The call with an invocation id; `undefined` if there is none. */
  call(invocationId: string): ToolCall | undefined {
    return this.#find(invocationId)?.call;
  }

  /** The live partial input of the call with an invocation id; `undefined` if there is none. */
  partial(invocationId: string): unknown {
    return this.call(invocationId)?.input;
  }

  /**
   * Takes in a chunk. Returns the call that it completes, if any; if it completes two (the one before it and its own),
   * {@link next} returns the second.
   */
  append(chunk: ToolChunk): ToolUse | ToolCallError | undefined {
    if (this.#ended) throw new TypeError("append() after end(): use a new ToolBuffer for the next turn.");
    // White space around a name is not part of it, and alone it is none: https://github.com/ml-explore/mlx-lm/pull/1756
    const given = chunk.name?.trim();
    const bare = given ? bareName(this.#tools, given, this.#namespaced) : undefined;
    const name = bare ?? given;
    if (name !== undefined && name !== chunk.name) chunk = { ...chunk, name };
    this.#added = "";
    const before = this.#current;
    // The fast path: more of the call now open, which ends no other.
    if (before !== undefined && goesOn(before, chunk)) {
      if (!before.isRetracted) this.#apply(before, chunk);
      return this.next();
    }
    const opened = this.#states.length;
    const state = this.#router.route(chunk);
    this.#current = state;
    if (state === undefined || state.isRetracted) return this.next();
    if (bare !== undefined) state.args.note("name", given, bare);
    // The next call has begun: the one before it has ended, if its root is closed. `{}` may still be a placeholder.
    // A chunk for a call that began earlier proves nothing: calls may be interleaved.
    if (before !== undefined && before !== state && isOpen(before)) {
      const { args, ended } = before;
      const isOver = ended || (this.#states.length > opened && args.isClosed && !args.isPlaceholder && !args.isPatched);
      // A call without a name waits for one.
      if (isOver && before.name !== null) this.#settle(before);
    }
    if (state.outcome === undefined) this.#apply(state, chunk);
    else this.#applyLate(state, chunk);
    return this.next();
  }

  #appendDelta(turnIndex: number, callIndex: number | undefined, delta: string): CallState | undefined {
    const before = this.#current;
    if (before === undefined || before.mayBeClosed) return undefined;
    const isSame = before.callIndex === callIndex && before.turnIndex === turnIndex;
    const state = isSame ? before : this.#router.goOn(turnIndex, callIndex);
    if (state === undefined || !state.isAnnounced || state.isRetracted) return undefined;
    this.#current = state;
    const { args } = state;
    this.#added = args.append(delta);
    if (args.failure !== undefined) this.#settle(state);
    return state;
  }

  /** The next call that has ended and was not yet handed out. */
  next(): ToolUse | ToolCallError | undefined {
    return this.#settled.shift();
  }

  /**
   * The turn is over: returns, in call order, what only the end can decide.
   *
   * @param finish why it ended; omit it when the turn was cut, so that every open call is `truncated`.
   */
  end(finish?: FinishReason): (ToolUse | ToolCallError)[] {
    this.#ended = true;
    for (const state of this.#states) if (isOpen(state)) this.#settleAtEnd(state, finish);
    const rest = inCallOrder(this.#settled);
    this.#settled = NONE;
    return rest;
  }

  /**
   * Removes a call: the provider has run it itself.
   * @returns the call; `undefined` if there is none with this id.
   */
  retract(invocationId: string): ToolCall | undefined {
    const state = this.#find(invocationId);
    if (state === undefined) return undefined;
    state.isRetracted = true;
    this.#settled = this.#settled.filter((outcome) => outcome.invocationId !== invocationId);
    return state.call;
  }

  #present(): CallState[] {
    return this.#states.filter((state) => !state.isRetracted);
  }

  #find(invocationId: string): CallState | undefined {
    // An invocation id ends with the position.
    const state = this.#states[Number(invocationId.slice(invocationId.lastIndexOf("-") + 1))];
    return state?.invocationId === invocationId && !state.isRetracted ? state : undefined;
  }

  #open(turnIndex: number, chunk: ToolChunk): CallState | undefined {
    if (this.#overflow !== undefined) return undefined;
    const { limits } = this;
    const position = this.#states.length;
    const state = new CallState(`${this.runId}-${turnIndex}-${position}`, turnIndex, position, limits);
    if (position >= limits.maxCalls) {
      state.id = chunk.id ?? null;
      state.name = chunk.name || null;
      this.#overflow = failure(state, "too_large", tooManyCalls(limits));
      this.#hold(this.#overflow);
      return undefined;
    }
    state.args.verbatim = chunk.verbatim === true;
    this.#states.push(state);
    return state;
  }

  #apply(state: CallState, chunk: ToolChunk): void {
    const { args } = state;
    if (chunk.id ? !state.id : chunk.id === "" && state.id === null) state.id = chunk.id!;
    const isNamedLate = state.ended && state.name === null;
    if (chunk.name) this.#name(state, chunk.name);
    if (chunk.metadata !== undefined) {
      addMetadata(state, chunk.metadata);
      if (chunk.metadata["custom"] === true) args.custom = true;
      if (typeof chunk.metadata["id"] === "string") this.#router.rename(state, chunk.metadata["id"]);
    }
    if (chunk.argsTextDelta) this.#added = args.append(chunk.argsTextDelta);
    if (chunk.argsKvPatch !== undefined) args.merge(chunk.argsKvPatch);
    if (chunk.argsPathPatch !== undefined) args.patch(chunk.argsPathPatch);
    if (chunk.error !== undefined || chunk.errorType !== undefined) return this.#fail(state, chunk);
    if (args.failure !== undefined) return this.#settle(state);
    if (chunk.done === true) state.ended = true;
    else if (!isNamedLate) return;
    // Only what comes next tells empty arguments from arguments cut before their first character.
    if ((!args.isEmpty || args.custom) && state.name !== null) this.#settle(state);
  }

  /** A chunk for a call that was handed out. Copies and empty ends are common and harmless; other arguments are not. */
  #applyLate(state: CallState, chunk: ToolChunk): void {
    const { outcome } = state;
    state.isLate = true;
    if (chunk.metadata !== undefined) addMetadata(state, chunk.metadata);
    // What was released may have run with the arguments it had then: it keeps them, and its own outcome.
    if (!(outcome instanceof ToolUse) || state.isReleased || outcome.executed) {
      if (chunk.errorType === "withdrawn") state.isRetracted = true;
      return;
    }
    // The provider rejects the call that it sent.
    if (chunk.error !== undefined || chunk.errorType !== undefined) return this.#fail(state, chunk);
    if (!bringsMore(state, chunk)) return;
    const message = `More arguments of ${state.call.name} came after the call was complete. Send the call again.`;
    this.#put(state, failure(state, "invalid_json", message));
  }

  /**
   * The first name stays. Later pieces are part of it only if all of them together make the name of a known tool: some
   * servers repeat the name on every delta, few send it in pieces.
   */
  #name(state: CallState, piece: string): void {
    if (state.name === null) {
      state.name = state.namePieces = piece;
      state.tool = this.#tools?.get(piece);
      return;
    }
    if (piece === state.name) return;
    const joined = joinedName(this.#tools, state, piece);
    if (joined === undefined) return;
    state.namePieces = joined;
    const tool = this.#tools!.get(joined);
    if (tool === undefined) return;
    state.name = joined;
    state.tool = tool;
  }

  #fail(state: CallState, chunk: ToolChunk): void {
    this.#put(state, givenUp(state, chunk));
    if (chunk.errorType === "withdrawn") state.isRetracted = true;
  }

  #settleAtEnd(state: CallState, finish: FinishReason | undefined): void {
    const { args } = state;
    // An id alone, beside calls: https://github.com/BerriAI/litellm/pull/40040
    if (
      state.name === null &&
      args.isEmpty &&
      state.metadata === undefined &&
      this.#states.some(({ name }) => name !== null)
    )
      return void (state.isRetracted = true);
    // Arguments that do not show their own end. `{}` may be a placeholder for what was to come.
    const isOpenEnded = args.isClosed ? args.isPatched || args.isPlaceholder : args.isEmpty || args.custom;
    // An ending that is a cut does not vouch for those.
    const mayBeCut = finish === undefined || (isOpenEnded && !isClean(finish));
    if (mayBeCut && !(args.isClosed && state.ended)) this.#put(state, truncated(state));
    else this.#settle(state);
  }

  #settle(state: CallState): void {
    if (this.#isCopy(state))
      this.#fail(state, { error: "it repeats an earlier one, with its id", errorType: "withdrawn" });
    else this.#put(state, decide(state, this.#tools, this.#repair));
  }

  /** Whether a call repeats another one with the same id that will run or has run. Only now are ids final. */
  #isCopy(state: CallState): boolean {
    const { id } = state;
    const which = this.#uniqueIds;
    if (!which || !id || (which !== true && !which.test(id))) return false;
    const unique = (this.#unique ??= new Labels());
    let same = unique.get(id);
    if (same === undefined) {
      unique.set(id, state);
      return false;
    }
    if (same instanceof CallState) unique.set(id, (same = new Map([[saidBy(same), same]])));
    const said = saidBy(state);
    const other = same.get(said);
    if (other?.outcome instanceof ToolUse && !other.isRetracted) return true;
    same.set(said, state);
    return false;
  }

  #put(state: CallState, outcome: ToolUse | ToolCallError): void {
    state.outcome = outcome;
    // The provider runs it itself: nobody else may.
    if (!isProvidersOwn(state)) this.#hold(outcome);
  }

  #hold(outcome: ToolUse | ToolCallError): void {
    if (this.#settled.length === 0) this.#settled = [outcome];
    else this.#settled.push(outcome);
  }
}

function isOpen({ outcome, isRetracted }: CallState): boolean {
  return outcome === undefined && !isRetracted;
}

function saidBy({ name, args }: CallState): string {
  return `${JSON.stringify(name)} ${args.said}`;
}

/** Whether a chunk that came after its call was complete says anything beyond what the call said. */
function bringsMore({ args }: CallState, { argsTextDelta, argsKvPatch, argsPathPatch }: ToolChunk): boolean {
  if (argsKvPatch !== undefined && !args.equals(argsKvPatch)) return true;
  if (argsPathPatch?.some(saysMore) === true) return true;
  return !!argsTextDelta && argsTextDelta.trim() !== "" && args.append(argsTextDelta) !== "";
}

/** A patch that only says `done` does not. */
function saysMore({ append, value }: PathPatch): boolean {
  return append === undefined ? value !== undefined : append !== "";
}

/** All properties become own ones, whatever their name; later ones show up in what was already handed out. */
function addMetadata(state: CallState, metadata: Readonly<Record<string, unknown>>): void {
  const target = (state.metadata ??= {});
  for (const key of Object.keys(metadata)) setOwn(target, key, metadata[key]);
}

function policyOf(policy: RepairPolicy | undefined): RepairPolicy | undefined {
  if (policy === undefined || policy === "off" || policy === "syntax" || policy === "coerce") return policy;
  throw new TypeError(`repair is "off", "syntax" or "coerce", got ${JSON.stringify(policy)}.`);
}

export function inCallOrder(outcomes: readonly (ToolUse | ToolCallError)[]): (ToolUse | ToolCallError)[] {
  return outcomes.toSorted((a, b) => positionOf(a) - positionOf(b));
}

function positionOf(outcome: ToolUse | ToolCallError): number {
  return outcome instanceof ToolUse ? outcome.position : outcome.call.position;
}
