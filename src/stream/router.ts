import { firstCharOf } from "../json/index.ts";
import type { Tool } from "../tool/tool.ts";
import type { CallState } from "./call.ts";
import { isResultAlone, type ToolChunk } from "./chunk.ts";

/** The offered tools: first by the names under which the provider knows them, then by their own. */
export type NamedTools = ReadonlyMap<string, Tool>;

/** A new call, or `undefined` when there are too many. */
export type OpenCall = (turnIndex: number, chunk: ToolChunk) => CallState | undefined;

/**
 * Finds the call that a chunk belongs to: by a known wire id, by its index, or the call now open.
 * The rules answer to what real servers do:
 *
 * - an id wins over an index, since the index may drift within one call
 * - a new id on a known index opens a new call, since some servers send index 0 for every call; but not with a piece of
 *   the call that has the index, nor with a repetition of its head
 * - a name for a call whose arguments are complete opens a new one, with the arguments that come with it or after it,
 *   since some servers send one id and one index for all
 * - without an id and with an unknown index, it is the call now open, unless that has ended or a name comes; with the
 *   index of a call that has all of its arguments, too, if those of the call now open begin
 * - a call that came in pieces and comes again whole, with its id, under another index is the same call
 * - a name that neither repeats nor continues one opens a new call, where nothing else tells calls apart
 */
export class ToolRouter {
  readonly #tools: NamedTools | undefined;
  readonly #openCall: OpenCall;
  /** The last call that has an id, in whichever message of the stream. */
  readonly #carriers = new Labels<string>();
  #last: TurnRoutes | undefined;
  /** Only where there is more than one. */
  #turns: Map<number, TurnRoutes> | undefined;

  constructor(tools: NamedTools | undefined, openCall: OpenCall) {
    this.#tools = tools;
    this.#openCall = openCall;
  }

  /** The call of a chunk; `undefined` if it would exceed the limit of calls, or is a result of an unknown call. */
  route(chunk: ToolChunk): CallState | undefined {
    const turnIndex = chunk.turnIndex ?? 0;
    let routes = this.#last;
    if (routes === undefined || routes.turnIndex !== turnIndex) routes = this.#turn(turnIndex);
    if (routes.open !== undefined && goesOn(routes.open, chunk)) return routes.open;
    const id = chunk.id || undefined;
    const { callIndex } = chunk;
    const placed = routes.byIndex.get(callIndex);
    const drifts = placed !== undefined && startsOpen(placed, routes.open, chunk);
    if (drifts) routes.byIndex.set(callIndex!, routes.open!);
    const byIndex = drifts ? routes.open : placed;
    const bound = id === undefined ? byIndex : byIndex?.id === id ? byIndex : routes.byId.get(id);
    if (bound !== undefined && !sharesId(bound, unnamed(routes, byIndex, chunk), chunk)) {
      // One id for two parallel calls: the second has its own index and name.
      const hasOwnIndex = byIndex === undefined && callIndex !== undefined && !!chunk.name;
      const isAnother = hasOwnIndex && !isSentAgain(bound, chunk) && !isPieceOf(bound, chunk);
      return isAnother || this.#begins(bound, chunk) ? this.#openAfter(bound, routes, chunk) : (routes.open = bound);
    }
    if (isResultAlone(chunk)) return undefined;
    const open = id === undefined ? this.#belongsToOpen(routes, chunk) : awaitsId(routes, byIndex, chunk);
    if (open === undefined) {
      const before = unnamed(routes, byIndex, chunk);
      return before?.isNamedAgain === true ? this.#openAfter(before, routes, chunk) : this.#open(routes, chunk);
    }
    if (this.#begins(open, chunk)) return this.#openAfter(open, routes, chunk);
    if (id !== undefined) {
      const isItsOwn = !!chunk.argsTextDelta || !open.id;
      if (isItsOwn) this.#identify(open, id, routes);
      routes.idAlone = isItsOwn ? undefined : id;
    }
    return (routes.open = open);
  }

  /** {@link route} for a chunk with only an index: the call that has it, if the chunk can only continue that one. */
  goOn(turnIndex: number, callIndex: number | undefined): CallState | undefined {
    const routes = this.#last;
    if (routes === undefined || routes.turnIndex !== turnIndex) return undefined;
    const bound = routes.byIndex.get(callIndex);
    if (bound === undefined || bound.mayBeClosed || bound.isNamedAgain) return undefined;
    return (routes.open = bound);
  }

  /** No id and no known index: the call now open, unless the chunk names another one. */
  #belongsToOpen({ open }: TurnRoutes, chunk: ToolChunk): CallState | undefined {
    const { name, callIndex, argsKvPatch } = chunk;
    if (open === undefined) return undefined;
    // An index of its own means another call, if there is a name or whole arguments, or the open call has ended.
    if (callIndex !== undefined && (name || argsKvPatch !== undefined || open.ended)) return undefined;
    if (!name) return open;
    if (open.name === null) return open;
    // The name repeated, or more of it, in the middle of the call.
    const isItsName = name === open.name || continuesName(this.#tools, open, name);
    return isItsName && !open.ended ? open : undefined;
  }

  /** Whether a chunk routed to a known call is the head of another one. */
  #begins(state: CallState, chunk: ToolChunk): boolean {
    const { name } = chunk;
    // Without a name, and without a head before it, a chunk starts no call: its tool would be unknown.
    if (!name) return state.isNamedAgain && startsArguments(chunk) && !isPlaceholder(state) && !isCopyOf(state, chunk);
    const isAnotherName = state.name !== null && name !== state.name;
    if (!state.mayBeClosed || !(state.ended || state.args.isClosed)) {
      // One id and one index for two calls; the first has no arguments, or was given up before its end was seen.
      return (
        isAnotherName &&
        (state.args.isEmpty || state.args.isBroken) &&
        state.tool !== undefined &&
        this.#tools?.has(name) === true &&
        !continuesName(this.#tools, state, name)
      );
    }
    if (isAnotherName) return true;
    // Its name repeated, or the head of a call whose arguments come separately: what follows will tell.
    if (isHead(chunk)) state.isNamedAgain = name === state.name && !state.args.isPatched && !state.isRetracted;
    // A call of the same name needs arguments of its own: many servers repeat the name on every delta,
    // some send the arguments twice, and `{}` may be a placeholder for what comes now.
    return startsArguments(chunk) && (isBare(state) || !(isPlaceholder(state) || isCopyOf(state, chunk)));
  }

  /** Opens a call in the place of another. Arguments whose head came earlier take over its id, index and name. */
  #openAfter(before: CallState, routes: TurnRoutes, chunk: ToolChunk): CallState | undefined {
    if (chunk.name) return this.#open(routes, chunk);
    const { name, tool } = before;
    const id = chunk.id || before.id;
    const state = this.#open(routes, { ...chunk, id, name, callIndex: chunk.callIndex ?? before.callIndex });
    if (state === undefined) return undefined;
    state.id = id;
    state.tool = tool;
    state.name = name;
    state.namePieces = name ?? undefined;
    return state;
  }

  #open(routes: TurnRoutes, chunk: ToolChunk): CallState | undefined {
    const state = this.#openCall(routes.turnIndex, chunk);
    if (state === undefined) {
      // What follows the head of a call over the limit does not belong to the call before it.
      routes.open = undefined;
      return undefined;
    }
    state.headLength = chunk.argsTextDelta?.length ?? 0;
    const id = chunk.id || routes.idAlone;
    routes.idAlone = undefined;
    if (id) this.#identify(state, id, routes);
    state.id = id ?? null;
    if (chunk.callIndex !== undefined) {
      state.callIndex = chunk.callIndex;
      routes.byIndex.set(chunk.callIndex, state);
    }
    return (routes.open = state);
  }

  /** The provider's last word on the id of a call, which may have been announced with another one, or none. */
  rename(state: CallState, id: string): void {
    if (state.id === id) return;
    state.id = null;
    delete state.metadata?.["sharesId"];
    this.#identify(state, id, this.#turn(state.turnIndex));
    state.id = id;
  }

  #identify(state: CallState, id: string, routes: TurnRoutes): void {
    routes.byId.set(id, state);
    if (state.id) return;
    const last = this.#carriers.get(id);
    // Behind one that is no longer there, the one whose id it shared still is. See wireId() in history.ts.
    if (last !== undefined && (!last.isRetracted || last.metadata?.["sharesId"] === true))
      (state.metadata ??= {})["sharesId"] = true;
    this.#carriers.set(id, state);
  }

  #turn(turnIndex: number): TurnRoutes {
    const last = this.#last;
    if (last !== undefined) this.#turns ??= new Map([[last.turnIndex, last]]);
    let routes = this.#turns?.get(turnIndex);
    if (routes === undefined) {
      routes = { turnIndex, byId: new Labels(), byIndex: new Labels(), open: undefined, idAlone: undefined };
      this.#turns?.set(turnIndex, routes);
    }
    return (this.#last = routes);
  }
}

/** Whether a chunk continues the call now open, as most do. While its root is open, it can be no other call's. */
export function goesOn(open: CallState, { turnIndex, callIndex, id, name }: ToolChunk): boolean {
  return (
    callIndex === open.callIndex &&
    (turnIndex ?? 0) === open.turnIndex &&
    (!id || id === open.id) &&
    !open.mayBeClosed &&
    (!name || name === open.name)
  );
}

interface TurnRoutes {
  readonly turnIndex: number;
  readonly byId: Labels<string>;
  readonly byIndex: Labels<number>;
  /** The call that the last chunk belonged to. */
  open: CallState | undefined;
  /** An id that came alone while a call was open: it may belong to the next call, whose name comes later. */
  idAlone: string | undefined;
}

/** A map of calls that allocates nothing for the first one: most turns have no other. Nothing is without a label. */
export class Labels<Label, Call = CallState> {
  #first: Label | undefined;
  #call: Call | undefined;
  #others: Map<Label | undefined, Call> | undefined;

  get(label: Label | undefined): Call | undefined {
    return label === this.#first ? this.#call : this.#others?.get(label);
  }

  set(label: Label, call: Call): void {
    this.#first ??= label;
    if (label === this.#first) this.#call = call;
    else (this.#others ??= new Map()).set(label, call);
  }
}

/** The name's pieces including this one, if a known name starts that way. Some servers send the whole name so far. */
export function joinedName(
  tools: NamedTools | undefined,
  { namePieces = "" }: CallState,
  piece: string,
): string | undefined {
  if (tools === undefined) return undefined;
  const joined = piece.startsWith(namePieces) ? piece : namePieces + piece;
  for (const name of tools.keys()) if (name.startsWith(joined)) return joined;
  return undefined;
}

/** The name within one that no tool has, if a tool has that; `undefined` for any other name. */
export function bareName(tools: NamedTools | undefined, name: string, namespaced?: RegExp): string | undefined {
  if (namespaced === undefined || tools === undefined || tools.has(name)) return undefined;
  const bare = namespaced.exec(name)?.[1];
  return bare !== undefined && tools.has(bare) ? bare : undefined;
}

function continuesName(tools: NamedTools | undefined, state: CallState, piece: string): boolean {
  return joinedName(tools, state, piece) !== undefined;
}

/**
 * A new id: of the call that has the chunk's index, or, if the chunk has neither index nor name, of the one now open,
 * provided that call has no id yet or its ids change.
 */
function awaitsId(routes: TurnRoutes, byIndex: CallState | undefined, chunk: ToolChunk): CallState | undefined {
  const call = unnamed(routes, byIndex, chunk);
  if (call === undefined || call.outcome !== undefined) return undefined;
  return !call.id || goesOnUnderAnotherId(call, chunk) ? call : undefined;
}

/** The call of a chunk if its id is left aside. */
function unnamed({ open }: TurnRoutes, byIndex: CallState | undefined, chunk: ToolChunk): CallState | undefined {
  if (chunk.callIndex !== undefined) return byIndex;
  return !chunk.name || (open !== undefined && isHeadOf(open, chunk)) ? open : undefined;
}

/** Whether a call is only a head without an id, which a chunk repeats with its first arguments. */
function isHeadOf({ id, name, args, ended, isRetracted }: CallState, chunk: ToolChunk): boolean {
  return !id && name === chunk.name && args.isEmpty && !ended && !isRetracted && !!chunk.argsTextDelta;
}

/**
 * Whether a call that waits for its id, or for more arguments, gets the id of an earlier one: a server may give all of
 * them one, and late, or after each has had its own (https://github.com/mistralai/mistral-vibe/issues/1127).
 */
function sharesId(bound: CallState, call: CallState | undefined, chunk: ToolChunk): boolean {
  if (call === undefined || call === bound || !takesMore(call)) return false;
  if (call.id && bound.id === chunk.id) return false;
  if (!chunk.argsTextDelta && chunk.argsKvPatch === undefined) return false;
  return chunk.callIndex !== undefined || bound.mayBeClosed;
}

/** Whether its arguments have not come, or not all of them. */
function takesMore({ args, ended, outcome }: CallState): boolean {
  return !ended && outcome === undefined && (args.isPlaceholder || !args.isClosed);
}

/**
 * Whether a chunk with an unknown id can only continue a call: no other begins before its root is closed, and a chunk
 * without a name, or with the same one, is no head. Servers that give each piece its own id, or repeat a head:
 * https://github.com/poolsideai/pool/issues/9, https://github.com/vllm-project/vllm/pull/23522,
 * https://github.com/Avarok-Cybersecurity/atlas/issues/33
 */
function goesOnUnderAnotherId({ args, name, ended }: CallState, chunk: ToolChunk): boolean {
  if (chunk.argsKvPatch !== undefined || name === null || ended || args.isClosed) return false;
  const hasText = !!chunk.argsTextDelta;
  // Without an index, only arguments tell whose chunk it is: the name may come later.
  if (!chunk.name) return hasText || chunk.callIndex !== undefined;
  return chunk.name === name && !args.custom && (args.isEmpty || (hasText && args.beginsObject));
}

/** Whether what came may be a placeholder for arguments to come. */
function isPlaceholder({ args, ended }: CallState): boolean {
  return args.isPlaceholder && !ended;
}

/**
 * Whether a piece starts the arguments of the call now open, though its index is that of a call that has all of its own:
 * SGLang counts the tools of the request in the heads of calls, and the calls in what follows them.
 * https://github.com/sgl-project/sglang/issues/6310
 */
function startsOpen(placed: CallState, open: CallState | undefined, chunk: ToolChunk): boolean {
  if (open === undefined || open === placed || chunk.id || chunk.name || !startsArguments(chunk)) return false;
  const isFull = placed.args.isClosed && !placed.args.isPlaceholder;
  return isFull && open.args.isEmpty && takesMore(open) && open.position > placed.position && !isCopyOf(placed, chunk);
}

/** Whether a chunk carries neither arguments nor an end. */
function isHead({ argsTextDelta: text, argsKvPatch, argsPathPatch, done }: ToolChunk): boolean {
  return !text?.trim() && argsKvPatch === undefined && argsPathPatch === undefined && done !== true;
}

/** Whether a chunk starts arguments. */
function startsArguments({ argsTextDelta: text, argsKvPatch }: ToolChunk): boolean {
  return argsKvPatch !== undefined || firstCharOf(text ?? "") === OPEN;
}

const OPEN = 123; // "{"

/**
 * Whether a call has neither id nor index and came whole. Servers that do this send each call in one piece, and equal
 * ones are two calls: a copy would follow arguments in pieces.
 */
function isBare({ id, callIndex, args, headLength }: CallState): boolean {
  if (id || callIndex !== undefined) return false;
  return args.isValue || args.text.length === headLength;
}

/**
 * Whether a call that came in pieces comes again whole, with its id and name but another index: gateways that cut a
 * response into chunks repeat it at its end. https://github.com/QuantumNous/new-api/issues/6223
 */
function isSentAgain(state: CallState, chunk: ToolChunk): boolean {
  const isWhole = chunk.name === state.name && startsArguments(chunk);
  return isWhole && !state.args.isValue && state.args.text.length !== state.headLength && isCopyOf(state, chunk);
}

/**
 * Whether a chunk with a call's id and name, but its own index, is more of that call's arguments: some servers count the
 * pieces. https://github.com/cubist38/mlx-openai-server/pull/216
 */
function isPieceOf({ args, name, ended }: CallState, chunk: ToolChunk): boolean {
  const text = chunk.argsTextDelta;
  // The end of free text cannot be seen: it may be whole.
  if (!text || chunk.name !== name || ended || args.isValue || args.isClosed || args.custom) return false;
  return args.isEmpty || firstCharOf(text) !== OPEN;
}

/** Whether the arguments repeat those of the call. */
function isCopyOf({ args }: CallState, { argsTextDelta, argsKvPatch }: ToolChunk): boolean {
  return argsKvPatch === undefined ? args.equalsText(argsTextDelta!) : args.equals(argsKvPatch);
}
