/** What ends a turn before its provider does. */
import { isToolError, ToolError } from "../errors.ts";

export function aborted(cause: unknown): ToolError {
  return new ToolError("aborted", "Reading was aborted.", { cause });
}

/** An event that has not the form it should have must not throw, and has no meaning that could be trusted. */
export function unreadable(cause: unknown): ToolError {
  return new ToolError("invalid_event", `An event of the stream can not be read: ${messageOf(cause)}`, { cause });
}

/** An answer with an error status that holds no error of the provider's own. */
export function refused(status: number, body: string): ToolError {
  const text = body.trim().slice(0, 200);
  return new ToolError(
    "provider_error",
    `The provider answered with HTTP status ${status}${text === "" ? "." : `: ${text}`}`,
  );
}

/** What the SDKs throw for an error that the provider sent has a status or the error's body; the rest is the connection. */
export function lost(error: unknown): ToolError {
  if (isToolError(error)) return error;
  const said = error as { status?: unknown; error?: unknown; message?: unknown } | null | undefined;
  const message = messageOf(error);
  const isProviders = typeof said?.status === "number" || (said?.error !== undefined && said.error !== null);
  return isProviders
    ? new ToolError("provider_error", message, { cause: error })
    : new ToolError("connection_lost", `The connection was lost before the provider ended the turn: ${message}`, {
        cause: error,
      });
}

function messageOf(error: unknown): string {
  const message = (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : String(error);
}
