import { cut, ToolError } from "../errors.ts";

/** At most this many characters of an event go into an error message. */
const EXCERPT_LENGTH = 500;

function excerpt(text: string): string {
  return text.length <= EXCERPT_LENGTH ? text : `${cut(text, EXCERPT_LENGTH + 1)} (${text.length} characters)`;
}

export function notJsonError(raw: string, reason: string, cause?: unknown): ToolError {
  return new ToolError("invalid_event", `An event of the stream is not JSON (${reason}): ${excerpt(raw)}`, { cause });
}

export function noEventsError(raw: string): ToolError {
  return new ToolError(
    "invalid_event",
    `The body is neither a stream of events (SSE) nor JSON; perhaps it is an error page. It says: ${excerpt(raw)}`,
  );
}

export function invalidUtf8Error(offset: number): ToolError {
  return new ToolError(
    "invalid_event",
    `The stream is not UTF-8 text at byte ${offset}. If the body is compressed, decompress it first.`,
  );
}

export function tooLargeError(maxEventBytes: number): ToolError {
  return new ToolError(
    "event_too_large",
    `One event of the stream is larger than ${maxEventBytes} bytes; reading stopped. Raise maxEventBytes if this is intended.`,
  );
}
