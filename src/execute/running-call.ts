import type { ToolUse } from "../tool/use.ts";
import type { Place } from "./schedule.ts";

/** A call that this process is working on. */
export interface RunningCall {
  readonly use: ToolUse;
  /** Resolves once it waits for a decision or for another process, or has ended; `undefined` while it does. */
  busy: PromiseWithResolvers<void> | undefined;
}

/** The place of a call, which also tracks whether it waits. */
export function noting(running: RunningCall, place: Place): Place {
  return {
    enter() {
      running.busy ??= Promise.withResolvers();
      return place.enter();
    },
    leave() {
      place.leave();
      running.busy?.resolve();
      running.busy = undefined;
    },
  };
}
