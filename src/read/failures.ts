/** The errors that end a turn before its provider does. */
import { cut, isToolError, messageOf, ToolError } from "../errors.ts";
import { unlessItThrows } from "../quietly.ts";
import { kindOfObject } from "../schema/json.ts";

export function aborted(cause: unknown): ToolError {
  return new ToolError("aborted", "Reading was aborted.", { cause });
}

/** A malformed event must not throw, and nothing in it can be trusted. */
export function unreadable(cause: unknown): ToolError {
  return new ToolError("invalid_event", `An event of the stream cannot be read: ${messageOf(cause)}`, { cause });
}

/** What the source gave, as messages name it. */
export type Came = "stream" | "response" | "text";

/**
 * The source ended, and the adapter recognised nothing in what came, if anything did.
 *
 * @param whole what was given as a response
 */
export function meaningless(wire: string, came: Came | undefined, whole?: object): ToolError {
  if (came === "text")
    return new ToolError(
      "invalid_event",
      `The stream cannot be read by ${wire}: it is already text. Pass the bytes before they are decoded.`,
    );
  // SDKs take an HTML page or a JSON body for a stream without events; a generator that was read to its end has none.
  const hint =
    came === undefined
      ? "it had no event. Is the base URL right, and was it not read before?"
      : `nothing in ${whole === undefined ? "it" : kindOfObject(whole)} means anything to ${wire}. Is it another provider's ${came}?`;
  return new ToolError("connection_lost", `The ${came ?? "stream"} ended before the provider ended the turn: ${hint}`);
}

/** A response with an error status: the provider's own message, or else the beginning of the body. */
export function refused(status: number, body: string, said?: ToolError): ToolError {
  const text = said?.message ?? cut(body.trim(), 200);
  const message = `The provider answered with HTTP status ${status}${text === "" ? "." : `: ${text}`}`;
  return new ToolError("provider_error", message, { cause: said?.cause });
}

/**
 * What the SDKs throw for an error that the provider sent has a status or the error's body; anything else is the
 * connection, or the caller's own signal. Anything can be thrown, even a value that throws when it is inspected.
 */
export function lost(error: unknown): ToolError {
  if (isToolError(error)) return error;
  if (unlessItThrows(() => isAbort(error))) return aborted(error);
  const message = messageOf(error);
  return unlessItThrows(() => isProviders(error))
    ? new ToolError("provider_error", message, { cause: error })
    : new ToolError("connection_lost", `The connection was lost before the provider ended the turn: ${message}`, {
        cause: error,
      });
}

/**
 * A signal that was passed to the SDK or to `fetch` has fired. The SDKs' classes for it (`APIUserAbortError`) set no
 * `name`. Where a minifier has renamed them, most still have this message. `TimeoutError` counts only as a DOMException:
 * others use that name for timeouts.
 */
function isAbort(error: unknown): boolean {
  const { name, message, constructor } = error as Error;
  if (name === "TimeoutError") return Object.prototype.toString.call(error) === "[object DOMException]";
  return /AbortError\b/.test(`${name} ${constructor?.name}`) || message === "Request was aborted.";
}

function isProviders(error: unknown): boolean {
  const said = error as { status?: unknown; error?: unknown } | null | undefined;
  return typeof said?.status === "number" || (said?.error !== undefined && said.error !== null);
}
