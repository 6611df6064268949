import { isToolError, messageOf, ToolError } from "../errors.ts";

/** The stored version is not the one that the caller expected; 0: there is none. */
export function conflict(key: string, expected: number, stored: number): ToolError {
  return new ToolError(
    "version_conflict",
    `"${key}" ${stored === 0 ? "is not there" : `has version ${stored}`}, expected ${
      expected === 0 ? "none" : `version ${expected}`
    }. Nothing was written: read it again and decide anew.`,
  );
}

/** True if a write lost against another one. */
export function isConflict(error: unknown): boolean {
  return isToolError(error) && error.code === "version_conflict";
}

/** True if the store did not do what was asked, or did not answer. */
export function isStoreFailure(error: unknown): error is ToolError {
  return isToolError(error) && error.code === "store_failed";
}

/**
 * Whether a waiting caller should try again: a wait may take days, and a store may fail for a moment.
 *
 * @param failures how many there were in a row, including this one
 */
export function mayPass(error: unknown, failures: number): boolean {
  return isStoreFailure(error) && failures <= 5;
}

/** The backend did not do what was asked, or did not answer: the caller must not take it for "not there". */
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

/** What is stored under a key was not written by a store. */
export function unreadable(store: string, key: string, cause?: unknown): ToolError {
  return new ToolError(
    "store_failed",
    `What the ${store} store holds under "${key}" is damaged: it was not written by this library. Delete it, or restore it from a backup.`,
    { cause },
  );
}
