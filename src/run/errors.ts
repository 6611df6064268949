import { isToolError, ToolError } from "../errors.ts";

export function unknownRun(conversationId: string): ToolError {
  return new ToolError(
    "unknown_run",
    `There is no conversation ${JSON.stringify(conversationId)} in this store. Begin it with run().`,
  );
}

export function runOpen(conversationId: string): ToolError {
  return new ToolError(
    "run_open",
    `Conversation ${conversationId} has calls without a result. Bring them with resume(), or give them up with whenOpen: "cancel". Nothing was changed.`,
  );
}

export function busy(conversationId: string): ToolError {
  return new ToolError(
    "run_busy",
    `Another process, or another call, works on conversation ${conversationId} now, or died less than leaseMs ago. Nothing was changed. Hand results in with provideToolResult(), wait with whenBusy: "wait", or try again when it is done.`,
  );
}

export function left(conversationId: string): ToolError {
  return new ToolError(
    "lease_lost",
    `The process that worked on the run of conversation ${conversationId} has died. resume() goes on with it.`,
  );
}

export function notGiven(conversationId: string, index: unknown): TypeError {
  return new TypeError(
    `rewindTo is the index of something that the user said, as in the transcript of conversation ${conversationId}; got ${String(index)}. Nothing was changed.`,
  );
}

export function notWaiting(conversationId: string): ToolError {
  return new ToolError(
    "not_waiting",
    `The run of conversation ${conversationId} is completed: there is nothing to resume. Say more with run().`,
  );
}

export function isBusy(error: unknown): boolean {
  return isToolError(error) && error.code === "run_busy";
}

/** Whether another process or call works on the run, or has completed it. */
export function isElsewhere(error: unknown): boolean {
  return isToolError(error) && /^(run_busy|lease_lost|not_waiting)$/.test(error.code);
}
