/** One step into a value: a property name or an array index. */
export type PathStep = string | number;

/**
 * A change at one place of the arguments (streamed partial arguments).
 * `value` sets, `append` extends the string already there; `done` says that nothing more comes for this place, and may
 * come alone. A string that was extended without `done` stays open, and a call that ends that way is `truncated`,
 * unless a patch of the same path says `done` or sets a value instead.
 */
export interface PathPatch {
  readonly path: readonly PathStep[];
  readonly value?: unknown;
  readonly append?: string | undefined;
  readonly done?: boolean | undefined;
}

/**
 * One partial update of one tool call, the same for every provider. Flat; every field may be missing.
 *
 * ```
 * { id: "call_1", turnIndex: 0, callIndex: 0, name: "get_weather" }        the call begins
 * { callIndex: 0, argsTextDelta: "{\"city\":" }                            more of its arguments
 * { callIndex: 0, argsTextDelta: "\"Oslo\"}" }
 * { callIndex: 0, done: true }                                             the provider ended it
 * ```
 */
export interface ToolChunk {
  /** The provider's id. `""`, `null` and a missing id are the same: no id. */
  readonly id?: string | null | undefined;
  /** Which model message of the stream: one of several choices, or the nth message that begins in it. Default 0. */
  readonly turnIndex?: number | undefined;
  /** The provider's label of the call: not a position, it may be sparse, repeated or missing. */
  readonly callIndex?: number | undefined;
  readonly name?: string | null | undefined;
  /** More of the arguments' JSON text. */
  readonly argsTextDelta?: string | null | undefined;
  /**
   * The arguments' text is the model's own: a delta that begins with all that came before it is no cumulative copy of
   * it. Counts on the chunk that begins the call.
   */
  readonly verbatim?: boolean | undefined;
  /** A record merged into the arguments: for wires that send them whole, as an object. */
  readonly argsKvPatch?: Readonly<Record<string, unknown>> | undefined;
  /** Changes at places inside the arguments. */
  readonly argsPathPatch?: readonly PathPatch[] | undefined;
  /** The provider says that this call is finished. */
  readonly done?: boolean | undefined;
  /** The provider says that this call has failed, in its own words. */
  readonly error?: string | undefined;
  /**
   * Known are `"truncated"` (it was cut), `"unreadable"` (the model wrote it in a way that cannot be read),
   * `"withdrawn"` (it was taken back: it is no longer a call of the turn, and gets no result) and `"rejected"`; any
   * other word is treated as `"rejected"`.
   */
  readonly errorType?: string | undefined;
  /**
   * Anything else that belongs to the call and goes back with it (signatures, callers); merged into `use.metadata`.
   * `dependent: true` says that the arguments refer to the result of another call and are validated later;
   * `providerExecuted: true` that the provider runs the call itself: it is no call of the turn. It is reported with the
   * `output`, or else once it is complete.
   */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * A ToolChunk with all fields that a wire may fill, in one order, so that every chunk has the same hidden class.
 * Parsers make their chunks with this; a plain literal works too.
 */
export function toolChunk(
  turnIndex: number | undefined,
  callIndex: number | undefined,
  id: string | null | undefined,
  name: string | null | undefined,
  argsTextDelta: string | null | undefined,
  done?: boolean,
  metadata?: Readonly<Record<string, unknown>>,
  argsKvPatch?: Readonly<Record<string, unknown>>,
  argsPathPatch?: readonly PathPatch[],
  error?: string,
  errorType?: string,
): ToolChunk {
  return {
    id,
    turnIndex,
    callIndex,
    name,
    argsTextDelta,
    argsKvPatch,
    argsPathPatch,
    done,
    error,
    errorType,
    metadata,
  };
}

/** Whether the provider runs the call itself. */
export function isProvidersOwn({ metadata }: Pick<ToolChunk, "metadata">): boolean {
  return metadata?.["providerExecuted"] === true;
}

/** Whether it is nothing but the result of such a call: it begins none, should that call be unknown. */
export function isResultAlone(chunk: ToolChunk): boolean {
  return isProvidersOwn(chunk) && !chunk.name && "output" in chunk.metadata!;
}

/** The part of a parser's sink that takes calls. */
interface CallSink {
  tool(chunk: ToolChunk): void;
  toolDelta?(turnIndex: number | undefined, callIndex: number | undefined, argsTextDelta: string): void;
}

/** Sends an arguments delta, which is most of a stream: a chunk is only made for a sink without `toolDelta`. */
export function sayDelta(
  sink: CallSink,
  turnIndex: number | undefined,
  callIndex: number | undefined,
  argsTextDelta: string,
): void {
  if (sink.toolDelta !== undefined) sink.toolDelta(turnIndex, callIndex, argsTextDelta);
  else sink.tool(toolChunk(turnIndex, callIndex, undefined, undefined, argsTextDelta));
}
