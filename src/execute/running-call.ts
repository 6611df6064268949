import type { ToolUse } from "../tool/use.ts";
import type { Place } from "./schedule.ts";

/** A call that this process is working on. */
export interface RunningCall {
  readonly use: ToolUse;
  /** Whether it waits for a decision or for another process, or has ended. */
  isWaiting: boolean;
  /** Resolved while it does. */
  idle: PromiseWithResolvers<void>;
}

/** The place of a call, which also tracks whether it waits. */
export function noting(running: RunningCall, place: Place): Place {
  return {
    enter() {
      if (running.isWaiting) running.idle = Promise.withResolvers();
      running.isWaiting = false;
      return place.enter();
    },
    leave() {
      running.isWaiting = true;
      place.leave();
      running.idle.resolve();
    },
  };
}
