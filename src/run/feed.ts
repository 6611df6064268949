import type { ToolExecutor } from "../execute/executor.ts";
import type { ToolEvent } from "../execute/events.ts";
import { quietly } from "../quietly.ts";
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
  let asked = Promise.withResolvers<void>();
  let isOver = false;
  const stop = await executor.store.subscribe(`${storeKey("event", runId)}/`, () => asked.resolve());
  // Read from here: a store calls back in whatever context (`AsyncLocalStorage`) it was written to, or has connected.
  const reading = (async () => {
    for (let isLast = false; !isLast;) {
      await asked.promise;
      asked = Promise.withResolvers();
      isLast = isOver;
      // What cannot be read now is read with the next change, or at the end.
      await quietly(async () => {
        for (const event of await executor.events(runId, { after })) {
          after = event.seq;
          await tell(event);
        }
      });
    }
  })();
  return {
    async end() {
      await stop();
      isOver = true;
      asked.resolve();
      await reading;
    },
  };
}

/** If events are not stored, only those of this process are available. */
function heard(executor: ToolExecutor, runId: string, tell: (event: ToolEvent) => unknown): Feed {
  const stop = executor.listen((event) => (event.runId === runId ? tell(event) : undefined));
  return { end: async () => stop() };
}
