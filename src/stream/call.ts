import type { ToolCallError } from "../errors.ts";
import type { JsonChange } from "../json/index.ts";
import type { Tool } from "../tool/tool.ts";
import type { Repair, ToolUse } from "../tool/use.ts";
import { Arguments } from "./arguments.ts";
import type { Limits } from "./limits.ts";
import { showGetters } from "./shown.ts";

/** What the buffer keeps of one call. Users see it through {@link ToolCall}. */
export class CallState {
  // First the fields read for every chunk: with thousands of open calls, each cache line is far away.
  callIndex: number | undefined;
  readonly turnIndex: number;
  /** The provider's id: the first non-empty one; `""` if only empty ones came; `null` if none came. */
  id: string | null = null;
  name: string | null = null;
  readonly args: Arguments;
  /** The provider said that the call is over; it may still be undecided whether its arguments are empty or cut. */
  ended = false;
  outcome: ToolUse | ToolCallError | undefined;
  /** The provider ran it itself or took it back: whatever still comes for it is ignored. */
  isRetracted = false;
  /** Whether `tool-input-start` was sent. */
  isAnnounced = false;
  readonly call: ToolCall;
  /** Whether `tool-use` was sent. */
  isReleased = false;
  /** All the pieces of the name so far, where they differ: they may be parts of one name. */
  namePieces: string | undefined;
  tool: Tool | undefined;
  metadata: Record<string, unknown> | undefined;
  readonly invocationId: string;
  readonly position: number;
  /** Chunks came after its outcome: they do not change its input. */
  isLate = false;
  /** How many characters of its arguments came with its first chunk. */
  headLength = 0;
  /** Its name came again after its arguments were closed: further arguments would belong to another call. */
  isNamedAgain = false;

  /** A cheap first check: `false` means that the root is certainly open, so that more text can only belong to it. */
  get mayBeClosed(): boolean {
    return this.ended || this.outcome !== undefined || this.args.mayBeClosed;
  }

  constructor(invocationId: string, turnIndex: number, position: number, limits: Limits) {
    this.invocationId = invocationId;
    this.turnIndex = turnIndex;
    this.position = position;
    this.args = new Arguments(limits);
    this.call = new ToolCall(this);
  }
}

/** The state behind a {@link ToolCall}: for internal use by the stream, not for users. */
export let stateOf: (call: ToolCall) => CallState;

/**
 * One call, live: while it streams, its name and partial input; when it has ended, its outcome.
 * The same object in every event of the call.
 */
export class ToolCall {
  readonly #state: CallState;

  static {
    stateOf = (call) => call.#state;
    showGetters(ToolCall.prototype, ["invocationId", "id", "name", "input", "outcome"]);
  }

  /** @internal */
  constructor(state: CallState) {
    this.#state = state;
  }

  /** Our own id of the call: unique within its run. */
  get invocationId(): string {
    return this.#state.invocationId;
  }
  /** The provider's id, byte for byte; `null` where the wire gave none. */
  get id(): string | null {
    return this.#state.id;
  }
  /** The tool's name, or what the model wrote if there is no such tool; `null` until it is known. */
  get name(): string | null {
    return this.#state.tool?.name ?? this.#state.name;
  }
  get tool(): Tool | undefined {
    return this.#state.tool;
  }
  get turnIndex(): number {
    return this.#state.turnIndex;
  }
  /** The provider's label of the call, where it has one. */
  get callIndex(): number | undefined {
    return this.#state.callIndex;
  }
  /** Position among the calls of the stream, from 0. */
  get position(): number {
    return this.#state.position;
  }
  get metadata(): Readonly<Record<string, unknown>> {
    return this.#state.metadata ?? NONE;
  }
  /** The arguments so far, as they came. Joining costs their length: follow them live with `input` or `changes()`. */
  get argsText(): string {
    return this.#state.args.text;
  }
  /**
   * The partial input so far: a preview, not validated. A string grows; a number appears once it is finished.
   * The same object grows from one read to the next: copy it to keep a snapshot. It is not the input that is executed.
   */
  get input(): unknown {
    return this.#state.args.partial;
  }
  /**
   * What changed in `input` since the last call, so that an editor can append instead of re-rendering. The first call
   * reports what is there already, each property under its own path.
   *
   * @example [{ path: ["content"], append: "more text", done: false }]
   */
  changes(): JsonChange[] {
    return this.#state.args.changes();
  }
  get repairs(): readonly Repair[] {
    return this.#state.args.repairs;
  }
  /** How the call ended; `undefined` while it is open. */
  get outcome(): ToolUse | ToolCallError | undefined {
    return this.#state.outcome;
  }
  /** Whether its ToolUse was handed out for execution. */
  get released(): boolean {
    return this.#state.isReleased;
  }
}

const NONE: Readonly<Record<string, unknown>> = Object.freeze({});
