import type { Tool } from "../tool/tool.ts";
import type { Emit, OrchestrationResult, RunEvent, ToolResultInput } from "./types.ts";

/** The events of a run as they happen, to be iterated once, and its result. */
export interface RunStream<Message = any, T extends Tool = Tool> extends AsyncIterable<RunEvent<T>> {
  /** The one that was given, or the random one of a new conversation. */
  readonly conversationId: string;
  /** Settles even if nobody reads the events. Rejects with what `run()` would reject with. */
  readonly result: Promise<OrchestrationResult<Message>>;
  /**
   * Provides the result of an external call, any time after its `external_tool_detected` event.
   *
   * @throws ToolError `unknown_call`, `already_answered`, `invalid_result`
   */
  provideToolResult(id: string, result: Omit<ToolResultInput, "toolCallId">): Promise<void>;
}

/**
 * Starts a run whose events can be iterated.
 *
 * @param begin gets a signal that also fires if the reader leaves
 */
export function openStream(
  conversationId: string,
  signal: AbortSignal | undefined,
  begin: (signal: AbortSignal, emit: Emit) => Promise<OrchestrationResult>,
  provide: (result: ToolResultInput) => Promise<void>,
): RunStream {
  const leave = new AbortController();
  const end = signal === undefined ? leave.signal : AbortSignal.any([leave.signal, signal]);
  const queue = new EventQueue(leave, end);
  const result = begin(end, queue.emit);
  result.then(
    () => queue.end(),
    (error: unknown) => queue.end({ error }),
  );
  return {
    conversationId,
    result,
    [Symbol.asyncIterator]: () => queue.iterate(),
    provideToolResult: (id, answer) => provide({ ...answer, toolCallId: id }),
  };
}

/** How many events are buffered for a reader before the run waits for it. */
const MAX_WAITING = 1_000;

/** The queue between a run and its reader. Leaving early aborts the run, in a state that can be resumed. */
class EventQueue implements AsyncIterator<RunEvent, void, undefined> {
  readonly #leave: AbortController;
  readonly #signal: AbortSignal;
  #events: RunEvent[] = [];
  #next = 0;
  #isOver = false;
  #failure: { error: unknown } | undefined;
  #isRead = false;
  /** Pending reads: usually one, but as many as were requested. */
  readonly #readers: (() => void)[] = [];
  /** Emitters waiting for capacity: the turn, and the tools that run alongside it. */
  readonly #tellers: (() => void)[] = [];

  /** @param signal fires when the run is to end: then nobody waits for a reader any more */
  constructor(leave: AbortController, signal: AbortSignal) {
    this.#leave = leave;
    this.#signal = signal;
    signal.addEventListener("abort", this.#letGo);
  }

  /** If somebody reads slowly, returns a promise that resolves once there is capacity. */
  readonly emit = (event: RunEvent): void | Promise<void> => {
    if (this.#isOver) return;
    this.#events.push(event);
    this.#wake();
    if (!this.#isRead || this.#signal.aborted || this.#events.length - this.#next < MAX_WAITING) return;
    return new Promise((resolve) => void this.#tellers.push(resolve));
  };

  readonly #letGo = (): void => {
    for (const go of this.#tellers.splice(0)) go();
  };

  end(failure?: { error: unknown }): void {
    this.#failure = failure;
    this.#isOver = true;
    this.#signal.removeEventListener("abort", this.#letGo);
    this.#wake();
    this.#letGo();
  }

  #wake(): void {
    for (const go of this.#readers.splice(0)) go();
  }

  iterate(): AsyncIterator<RunEvent, void, undefined> {
    if (this.#isRead) throw new TypeError("The events of this run are read already; they are read once.");
    this.#isRead = true;
    return this;
  }

  async next(): Promise<IteratorResult<RunEvent, void>> {
    while (this.#next >= this.#events.length) {
      if (this.#isOver) {
        if (this.#failure === undefined) return { value: undefined, done: true };
        const { error } = this.#failure;
        this.#failure = undefined;
        throw error;
      }
      await new Promise<void>((resolve) => void this.#readers.push(resolve));
    }
    const event = this.#events[this.#next++]!;
    if (this.#next === this.#events.length) {
      this.#events = [];
      this.#next = 0;
      this.#letGo();
    } else if (this.#next === MAX_WAITING) {
      // A reader who is always a little behind would keep all that was read.
      this.#events.splice(0, this.#next);
      this.#next = 0;
    }
    return { value: event, done: false };
  }

  async return(): Promise<IteratorResult<RunEvent, void>> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#leave.abort(new DOMException("Nobody reads the events of the run any more.", "AbortError"));
    }
    this.#wake();
    this.#letGo();
    return { value: undefined, done: true };
  }
}
