import type { Outcome } from "../floor.ts";
import { responseOf } from "../response.ts";
import type { Stream } from "../workloads.ts";

/** A server in this process: a fetch function that answers immediately with the stream given last. */
export function localFetch(): { readonly fetch: typeof fetch; answer(stream: Stream): void } {
  let current: Stream | undefined;
  return {
    fetch: async () => responseOf(current!),
    answer(stream) {
      current = stream;
    },
  };
}

export const BASE_URL = "http://localhost/v1";

export const PROMPT = "Write the file.";

/** The outcome of calls whose arguments were joined as text. */
export function outcomeOfTexts(
  calls: readonly { readonly id: string; readonly name: string; readonly args: string }[],
  text: string,
): Outcome {
  return outcome(
    calls.map(({ id, name, args }) => ({ id, name, input: JSON.parse(args) })),
    text,
  );
}

export function outcome(calls: Outcome["calls"], text = ""): Outcome {
  return { text, calls };
}
