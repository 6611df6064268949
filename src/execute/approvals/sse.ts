import type { FeedMessage } from "./protocol.ts";
import { MAX_TIMER_MS } from "../../time.ts";

export interface EventStreamOptions {
  /** Ends the feed. */
  readonly stop: AbortController;
  /** When the stream has to end, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
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
  const { stop, expiresAt = Infinity, keepAliveMs, onError } = options;
  const encoder = new TextEncoder();
  let isCanceled = false;
  const timers: { keepAlive?: ReturnType<typeof setInterval>; expiry?: ReturnType<typeof setTimeout> } = {};

  function end(): void {
    stop.abort();
  }

  function letGo(): void {
    clearInterval(timers.keepAlive);
    clearTimeout(timers.expiry);
    // If nobody reads, it would wait with its subscription open, and nobody is obliged to cancel the stream.
    feed.return(undefined).catch(onError);
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (stop.signal.aborted) return controller.close();
      stop.signal.addEventListener("abort", letGo);
      timers.keepAlive = setInterval(() => {
        // Only if everything was taken: comments must not pile up either.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": \n\n"));
      }, keepAliveMs);
      if (expiresAt !== Infinity) timers.expiry = setTimeout(check, untilExpiry());
    },
    async pull(controller) {
      try {
        const { done, value } = await feed.next();
        if (isCanceled) return;
        if (done === true || expiresAt <= Date.now()) {
          end();
          return controller.close();
        }
        controller.enqueue(
          encoder.encode(`id: ${value.seq}\nevent: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`),
        );
      } catch (error) {
        onError(error);
        end();
        controller.close();
      }
    },
    async cancel() {
      isCanceled = true;
      end();
      await feed.return(undefined);
    },
  });

  function check(): void {
    if (expiresAt <= Date.now()) end();
    else timers.expiry = setTimeout(check, untilExpiry());
  }

  function untilExpiry(): number {
    return Math.min(Math.max(0, expiresAt - Date.now() + 1), MAX_TIMER_MS);
  }
}
