import type { ToolUse } from "../tool/use.ts";
import type { Outcome } from "./outcome.ts";
import type { Place } from "./schedule.ts";

/** A call that this process is working on. */
export interface RunningCall {
  readonly use: ToolUse;
  /** Whether it waits for a decision or for another process. */
  isWaiting: boolean;
  /** Called when it starts to wait. */
  readonly onWaiting: Set<() => void>;
  ended: Promise<Outcome>;
}

/** Resolves when it has ended, or waits. */
export function untilIdle(running: RunningCall): Promise<void> {
  return new Promise((resolve) => {
    const idle = (): void => {
      running.onWaiting.delete(idle);
      resolve();
    };
    running.onWaiting.add(idle);
    running.ended.then(idle, idle);
  });
}

/** The place of a call, which also tracks whether it waits. */
export function noting(running: RunningCall, place: Place): Place {
  return {
    ...place,
    enter() {
      running.isWaiting = false;
      return place.enter();
    },
    leave() {
      running.isWaiting = true;
      place.leave();
      for (const listener of running.onWaiting) listener();
    },
  };
}
