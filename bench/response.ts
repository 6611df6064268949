import type { Stream } from "./workloads.ts";

/** As `fetch` gives it. Chunks that are ready wait in the body from the start: only the reader is measured. */
export function responseOf(stream: Stream): Response {
  return new Response(stream.isReady ? filled(stream) : pulled(stream), {
    headers: { "content-type": "text/event-stream" },
  });
}

function filled({ chunks }: Stream): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

function pulled(stream: Stream): ReadableStream<Uint8Array> {
  const chunks = stream.open()[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller) {
        const step = await chunks.next();
        if (step.done === true) controller.close();
        else controller.enqueue(step.value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    // Gives no chunk before it is asked for.
    { highWaterMark: 0 },
  );
}
