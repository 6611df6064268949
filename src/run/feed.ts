import type { ToolExecutor } from "../execute/executor.ts";
import type { ToolEvent } from "../execute/events.ts";
import { storeKey } from "../store/store.ts";

/** The executor's events of one run as they happen, in order, each once. */
export interface Feed {
  end(): Promise<void>;
}

/**
 * Follows the events of a run in the store, whichever process emits them. Several changes may be reported as one, so
 * each notification is a reason to read everything after the last number.
 */
export async function followEvents(
  executor: ToolExecutor,
  runId: string,
  tell: (event: ToolEvent) => void | Promise<void>,
): Promise<Feed> {
  if (!executor.storeEvents) return heard(executor, runId, tell);
  let after = await executor.position(runId);
  let reading: Promise<void> = Promise.resolve();
  let isAsked = false;
  const read = async () => {
    isAsked = false;
    for (const event of await executor.events(runId, { after })) {
      after = event.seq;
      await tell(event);
    }
  };
  const flush = () => {
    if (!isAsked) {
      isAsked = true;
      // What cannot be read now is read with the next change, or at the end.
      reading = reading.then(read).catch(() => {});
    }
    return reading;
  };
  const stop = await executor.store.subscribe(`${storeKey("event", runId)}/`, () => void flush());
  return {
    async end() {
      await stop();
      await flush();
    },
  };
}

/** If events are not stored, only those of this process are available. */
function heard(executor: ToolExecutor, runId: string, tell: (event: ToolEvent) => unknown): Feed {
  const stop = executor.listen((event) => (event.runId === runId ? tell(event) : undefined));
  return { end: async () => stop() };
}
