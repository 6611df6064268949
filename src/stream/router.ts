import type { CallState } from "./call.ts";
import type { ToolChunk } from "./chunk.ts";

/** What the router asks of the buffer. */
export interface RouterHost {
  /** A new call, or `undefined` when there are too many. */
  open(turnIndex: number, chunk: ToolChunk): CallState | undefined;
}

/**
 * Finds the call that a chunk belongs to: by a wire id that is bound, by its index, or the call now open.
 * The rules are the answer to what real servers do:
 *
 * - an id wins over an index, since the index may drift inside one call
 * - a new id on a bound index opens a new call, since some servers send index 0 for every call
 * - a name (or whole arguments) for a call whose arguments are complete opens a new one, since some servers send one
 *   id and one index for all
 * - without an id and with an index that is not bound, it is the call now open, unless a name comes with it
 */
export class ToolRouter {
  readonly #host: RouterHost;
  readonly #turns = new Map<number, TurnRoutes>();
  #last: TurnRoutes | undefined;

  constructor(host: RouterHost) {
    this.#host = host;
  }

  /** The call of a chunk; `undefined` when it would be one call too many. */
  route(chunk: ToolChunk): CallState | undefined {
    const turnIndex = chunk.turnIndex ?? 0;
    const id = chunk.id || undefined;
    let routes = this.#last;
    if (routes === undefined || routes.turnIndex !== turnIndex) routes = this.#turn(turnIndex);

    // The fast path: more of the call now open. Nothing can make it another call while its root is open.
    const { open } = routes;
    if (
      open !== undefined &&
      chunk.callIndex === open.callIndex &&
      (id === undefined || id === open.id) &&
      !open.mayBeClosed &&
      (!chunk.name || open.name !== null)
    ) {
      return open;
    }
    return this.#find(routes, id, chunk);
  }

  #find(routes: TurnRoutes, id: string | undefined, chunk: ToolChunk): CallState | undefined {
    const { callIndex } = chunk;
    const byIndex = callIndex === undefined ? undefined : routes.byIndex.get(callIndex);
    const bound = id === undefined ? byIndex : byIndex?.id === id ? byIndex : routes.byId.get(id);
    if (bound !== undefined) {
      // One id for two calls side by side: the second has an index and a name of its own.
      const isAnother =
        byIndex === undefined && callIndex !== undefined && callIndex !== bound.callIndex && !!chunk.name;
      return isAnother || begins(bound, chunk) ? this.#open(routes, chunk) : (routes.open = bound);
    }
    const open = id === undefined ? belongsToOpen(routes, chunk) : awaitsId(routes, byIndex, chunk);
    if (open === undefined || begins(open, chunk)) return this.#open(routes, chunk);
    if (id !== undefined) routes.byId.set(id, open);
    return (routes.open = open);
  }

  #open(routes: TurnRoutes, chunk: ToolChunk): CallState | undefined {
    const state = this.#host.open(routes.turnIndex, chunk);
    if (state === undefined) return undefined;
    if (chunk.id) routes.byId.set(chunk.id, state);
    if (chunk.callIndex !== undefined) {
      state.callIndex = chunk.callIndex;
      routes.byIndex.set(chunk.callIndex, state);
    }
    return (routes.open = state);
  }

  #turn(turnIndex: number): TurnRoutes {
    let routes = this.#turns.get(turnIndex);
    if (routes === undefined) {
      routes = { turnIndex, byId: new Map(), byIndex: new Map(), open: undefined };
      this.#turns.set(turnIndex, routes);
    }
    return (this.#last = routes);
  }
}

interface TurnRoutes {
  readonly turnIndex: number;
  readonly byId: Map<string, CallState>;
  readonly byIndex: Map<number, CallState>;
  /** The call that the last chunk belonged to. */
  open: CallState | undefined;
}

/** Neither id nor a bound index: the call now open, unless the chunk names another one. */
function belongsToOpen({ open }: TurnRoutes, chunk: ToolChunk): CallState | undefined {
  if (open === undefined || !chunk.name || open.name === null) return open;
  // The name said once more, in the middle of the arguments.
  return chunk.callIndex === undefined && chunk.name === open.name && !open.ended ? open : undefined;
}

/** A new id: of the call that still has none, if it has the chunk's index, or the chunk has neither index nor name. */
function awaitsId({ open }: TurnRoutes, byIndex: CallState | undefined, chunk: ToolChunk): CallState | undefined {
  const waiting = byIndex ?? (chunk.callIndex === undefined && !chunk.name ? open : undefined);
  return waiting !== undefined && !waiting.id && waiting.outcome === undefined ? waiting : undefined;
}

/** Whether a chunk that leads to a call already known is the head of another one. */
function begins(state: CallState, chunk: ToolChunk): boolean {
  if (!state.mayBeClosed || !(state.ended || state.args.isClosed)) return false;
  if (chunk.name && chunk.name !== state.name) return true;
  // A call of the same name needs arguments of its own: many servers repeat the name on every delta,
  // some send the arguments twice, and `{}` may be a placeholder for what comes now.
  if (!isWhole(chunk) || isCopyOf(state, chunk)) return false;
  return !!chunk.name || state.ended || !state.args.isPlaceholder;
}

/** Whether a chunk holds whole arguments. */
function isWhole(chunk: ToolChunk): boolean {
  if (chunk.argsKvPatch !== undefined) return true;
  const text = chunk.argsTextDelta;
  if (!text || !/^\s*\{[^]*\}\s*$/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isCopyOf(state: CallState, chunk: ToolChunk): boolean {
  if (chunk.argsKvPatch !== undefined) return state.args.text === JSON.stringify(chunk.argsKvPatch);
  try {
    return JSON.stringify(JSON.parse(chunk.argsTextDelta!)) === JSON.stringify(JSON.parse(state.args.text));
  } catch {
    return false;
  }
}
