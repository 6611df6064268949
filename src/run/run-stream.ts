import type { Tool } from "../tool/tool.ts";
import { eitherSignal } from "./either-signal.ts";
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
 * Starts a run whose events can be iterated. They wait in a queue for their reader; leaving early aborts the run, in a
 * state that can be resumed.
 *
 * @param begin gets a signal that also fires if the reader leaves
 */
export function openStream(
  conversationId: string,
  given: AbortSignal | undefined,
  begin: (signal: AbortSignal, emit: Emit) => Promise<OrchestrationResult>,
  provide: (result: ToolResultInput) => Promise<void>,
): RunStream {
  const leave = new AbortController();
  /** When it fires, the run is to end: then nobody waits for a reader any more. */
  const signal = eitherSignal(leave.signal, given);
  let events: RunEvent[] = [];
  let next = 0;
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  let isRead = false;
  /** Pending reads: usually one, but as many as were requested. */
  const readers: (() => void)[] = [];
  /** Emitters waiting for capacity: the turn, and the tools that run alongside it. */
  const tellers: (() => void)[] = [];

  function letGo(waiting: (() => void)[]): void {
    for (const go of waiting.splice(0)) go();
  }

  /** If somebody reads slowly, returns a promise that resolves once there is capacity. */
  function emit(event: RunEvent): void | Promise<void> {
    if (isOver) return;
    events.push(event);
    letGo(readers);
    if (!isRead || signal.aborted || events.length - next < MAX_WAITING) return;
    return new Promise((resolve) => void tellers.push(resolve));
  }

  function end(reason?: { readonly error: unknown }): void {
    failure = reason;
    isOver = true;
    signal.removeEventListener("abort", onAbort);
    letGo(readers);
    letGo(tellers);
  }

  const onAbort = () => letGo(tellers);
  signal.addEventListener("abort", onAbort);
  const reader: AsyncIterator<RunEvent, void, undefined> = {
    async next() {
      while (next >= events.length) {
        if (isOver) {
          const last = failure;
          failure = undefined;
          if (last !== undefined) throw last.error;
          return { value: undefined, done: true };
        }
        await new Promise<void>((resolve) => void readers.push(resolve));
      }
      const event = events[next++]!;
      if (next === events.length) {
        events = [];
        next = 0;
        letGo(tellers);
      } else if (next === MAX_WAITING) {
        // A reader who is always a little behind would keep all that was read.
        events.splice(0, next);
        next = 0;
      }
      return { value: event, done: false };
    },
    async return() {
      if (!isOver) {
        isOver = true;
        leave.abort(new DOMException("Nobody reads the events of the run any more.", "AbortError"));
      }
      letGo(readers);
      letGo(tellers);
      return { value: undefined, done: true };
    },
  };
  const result = begin(signal, emit);
  result.then(
    () => end(),
    (error: unknown) => end({ error }),
  );
  return {
    conversationId,
    result,
    [Symbol.asyncIterator]() {
      if (isRead) throw new TypeError("The events of this run are read already; they are read once.");
      isRead = true;
      return reader;
    },
    provideToolResult: (id, answer) => provide({ ...answer, toolCallId: id }),
  };
}

/** How many events are buffered for a reader before the run waits for it. */
const MAX_WAITING = 1_000;
