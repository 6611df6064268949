import { isOver, onceOver, type AuthenticatedClient } from "./guard.ts";
import type { FeedMessage } from "./protocol.ts";

export interface EventStreamOptions {
  /** Ends the feed. */
  readonly stop: AbortController;
  /** The stream ends with its authentication. */
  readonly who: AuthenticatedClient;
  readonly keepAliveMs: number;
  readonly onError: (error: unknown) => void;
}

/**
 * A feed as server-sent events, whose ids are the numbers to resume after. The next event is read once the client has
 * taken the previous one, so nothing piles up for a client that does not read.
 */
export function eventStream(
  feed: AsyncGenerator<FeedMessage>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const { stop, who, keepAliveMs, onError } = options;
  const encoder = new TextEncoder();
  let isCanceled = false;
  let keepAlive: ReturnType<typeof setInterval> | undefined;
  let stopWatching: (() => void) | undefined;

  function letGo(): void {
    clearInterval(keepAlive);
    stopWatching?.();
    // If nobody reads, it would wait with its subscription open, and nobody is obliged to cancel the stream.
    feed.return(undefined).catch(onError);
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (stop.signal.aborted) return controller.close();
      stop.signal.addEventListener("abort", letGo);
      keepAlive = setInterval(() => {
        // Only if everything was taken: comments must not pile up either.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": \n\n"));
      }, keepAliveMs);
      stopWatching = onceOver(who, () => stop.abort());
    },
    async pull(controller) {
      try {
        const { done, value } = await feed.next();
        if (isCanceled) return;
        if (done === true || isOver(who)) {
          stop.abort();
          return controller.close();
        }
        controller.enqueue(
          encoder.encode(`id: ${value.seq}\nevent: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`),
        );
      } catch (error) {
        onError(error);
        stop.abort();
        controller.close();
      }
    },
    async cancel() {
      isCanceled = true;
      stop.abort();
      await feed.return(undefined);
    },
  });
}
