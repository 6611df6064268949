/** What ends a turn before its provider does. */
import { isToolError, ToolError } from "../errors.ts";
import { textOfThrown } from "../tool/thrown.ts";

export function aborted(cause: unknown): ToolError {
  return new ToolError("aborted", "Reading was aborted.", { cause });
}

/** An event that has not the form it should have must not throw, and has no meaning that could be trusted. */
export function unreadable(cause: unknown): ToolError {
  return new ToolError("invalid_event", `An event of the stream can not be read: ${textOfThrown(cause)}`, { cause });
}

/** What came, in the words of a message. */
export type Came = "stream" | "response" | "text";

/** What came, if anything did, ended, and the adapter has understood nothing of it. */
export function meaningless(wire: string, came: Came | undefined): ToolError {
  if (came === "text")
    return new ToolError(
      "invalid_event",
      `The stream can not be read by ${wire}: it is text already. Give the bytes, before they are decoded.`,
    );
  // SDKs take a page of HTML, or a body of JSON, for a stream without events.
  const hint =
    came === undefined
      ? "it had no event. Is the base URL right?"
      : `nothing in it means anything to ${wire}. Is it another provider's ${came}?`;
  return new ToolError("connection_lost", `The ${came ?? "stream"} ended before the provider ended the turn: ${hint}`);
}

/** An answer with an error status: what the provider says of it, or how its body begins. */
export function refused(status: number, body: string, said?: ToolError): ToolError {
  const text = said?.message ?? body.trim().slice(0, 200);
  const message = `The provider answered with HTTP status ${status}${text === "" ? "." : `: ${text}`}`;
  return new ToolError("provider_error", message, { cause: said?.cause });
}

/**
 * What the SDKs throw for an error that the provider sent has a status or the error's body; the rest is the connection,
 * or the caller's own signal. Anything can be thrown, also what can not be looked at.
 */
export function lost(error: unknown): ToolError {
  if (isToolError(error)) return error;
  if (looked(() => isAbort(error))) return aborted(error);
  const message = textOfThrown(error);
  return looked(() => isProviders(error))
    ? new ToolError("provider_error", message, { cause: error })
    : new ToolError("connection_lost", `The connection was lost before the provider ended the turn: ${message}`, {
        cause: error,
      });
}

/**
 * A signal that the SDK or `fetch` was given has fired. The SDKs' class for it (`APIUserAbortError`) has no name of its
 * own, and always this message; others name their errors of time so, too.
 */
function isAbort(error: unknown): boolean {
  const { name, message } = error as Error;
  if (name === "TimeoutError") return Object.prototype.toString.call(error) === "[object DOMException]";
  return name === "AbortError" || message === "Request was aborted.";
}

function isProviders(error: unknown): boolean {
  const said = error as { status?: unknown; error?: unknown } | null | undefined;
  return typeof said?.status === "number" || (said?.error !== undefined && said.error !== null);
}

/** What a look finds; `undefined` where looking throws, as at a proxy, a getter, or an object without a prototype. */
function looked<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
