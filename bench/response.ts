import type { Stream } from "./workloads.ts";

/** As `fetch` gives it. All chunks wait in the body from the start, so that whoever reads it is what is measured. */
export function responseOf({ chunks }: Stream): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
