import type { Tool } from "../tool/tool.ts";
import type { Emit } from "./deps.ts";
import type { OrchestrationResult, RunEvent, ToolResultInput } from "./types.ts";

/** The events of a run while it goes on, once; and what came of it. */
export interface RunStream<Message = any, T extends Tool = Tool> extends AsyncIterable<RunEvent<T>> {
  readonly conversationId: string;
  /** Also when nobody reads the events. Rejects with what `run()` would throw. */
  readonly result: Promise<OrchestrationResult<Message>>;
  /**
   * Hands in the result of an external call, from its `external_tool_detected` on.
   *
   * @throws ToolError `unknown_call`, `already_answered`, `invalid_result`
   */
  provideToolResult(id: string, result: Omit<ToolResultInput, "toolCallId">): Promise<void>;
}

/**
 * Begins a run, and tells its events to whoever iterates.
 *
 * @param begin gets a signal that also fires when the reader leaves
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

/** So many events wait for a reader before the run waits for it, too. */
const MAX_WAITING = 1_000;

/** Between a run that tells and somebody who reads. Who leaves early ends the run, in a state that can be resumed. */
class EventQueue implements AsyncIterator<RunEvent, void, undefined> {
  readonly #leave: AbortController;
  readonly #signal: AbortSignal;
  #events: RunEvent[] = [];
  #next = 0;
  #isOver = false;
  #failure: { error: unknown } | undefined;
  #isRead = false;
  /** Those who wait for an event: one most often, and as many as have asked. */
  readonly #readers: (() => void)[] = [];
  /** Those who wait for room: the turn, and the tools that run beside it. */
  readonly #tellers: (() => void)[] = [];

  /** @param signal fires when the run is to end: then nobody waits for a reader */
  constructor(leave: AbortController, signal: AbortSignal) {
    this.#leave = leave;
    this.#signal = signal;
    signal.addEventListener("abort", this.#letGo);
  }

  /** Where somebody reads, and slowly, the promise is one of room for more. */
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
    }
    return { value: event, done: false };
  }

  async return(): Promise<IteratorResult<RunEvent, void>> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#leave.abort(new DOMException("Nobody reads the events of the run any more.", "AbortError"));
    }
    this.#letGo();
    return { value: undefined, done: true };
  }
}
