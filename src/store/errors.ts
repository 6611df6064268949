import { isToolError, messageOf, ToolError } from "../errors.ts";

/** What is stored is not what the caller expected; 0: there is nothing. */
export function conflict(key: string, expected: number, stored: number): ToolError {
  return new ToolError(
    "version_conflict",
    `"${key}" ${stored === 0 ? "is not there" : `has version ${stored}`}, expected ${
      expected === 0 ? "none" : `version ${expected}`
    }. Nothing was written: read it again and decide anew.`,
  );
}

/** True when a write lost against another one. */
export function isConflict(error: unknown): boolean {
  return isToolError(error) && error.code === "version_conflict";
}

/** True when the store did not do what was asked, or did not answer. */
export function isStoreFailure(error: unknown): error is ToolError {
  return isToolError(error) && error.code === "store_failed";
}

/**
 * Whether somebody who waits looks again: a wait may take days, and a store fail for a moment.
 *
 * @param failures so many in a row, with this one
 */
export function mayPass(error: unknown, failures: number): boolean {
  return isStoreFailure(error) && failures <= 5;
}

/** The backend did not do what was asked, or did not answer: whoever asked must not take it for "not there". */
export function failed(store: string, verb: string, subject: string, cause: unknown): ToolError {
  return new ToolError(
    "store_failed",
    `The ${store} store failed to ${verb} "${subject}": ${messageOf(cause)}. Its state is unknown until it answers again.`,
    { cause },
  );
}

export function closed(store: string): ToolError {
  return new ToolError("store_failed", `The ${store} store is closed. Make a new one.`);
}

/** What is stored under a key is nothing that a store wrote. */
export function unreadable(store: string, key: string, cause?: unknown): ToolError {
  return new ToolError(
    "store_failed",
    `What the ${store} store holds under "${key}" is damaged: it was not written by this library. Delete it, or restore it from a backup.`,
    { cause },
  );
}
