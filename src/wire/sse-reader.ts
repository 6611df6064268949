import type { ToolError } from "../errors.ts";
import { noEventsError } from "./errors.ts";
import { createLines } from "./lines.ts";
import { createSse } from "./sse.ts";
import { createStrayErrors } from "./stray.ts";

export interface SseReaderOptions {
  /** See `SseOptions`. */
  onData(data: string, cut: boolean): void;
  /** An error found between the events, as an event. */
  onStray(value: unknown): void;
  /** Ignore whatever comes after it. */
  onError(error: ToolError): void;
  readonly maxEventBytes: number;
  /** Position of the first byte in the whole body, for messages. */
  readonly offset: number;
}

/** Reads everything that may come as Server-Sent Events, from bytes that may be cut anywhere. */
export interface SseReader {
  feed(bytes: Uint8Array): void;
  /** This many bytes, whole events, were read elsewhere; only allowed while `isIdle`. */
  skip(bytes: number): void;
  end(): void;
  /** Between two events, and everything fed has been handed on. */
  readonly isIdle: boolean;
}

export function createSseReader(options: SseReaderOptions): SseReader {
  const { onData, onStray, onError, maxEventBytes, offset } = options;
  const stray = createStrayErrors(onStray);
  const sse = createSse({
    onData(data, cut) {
      stray.passed();
      onData(data, cut);
    },
    onStray: stray.line,
    onError,
    maxEventLength: maxEventBytes,
  });
  const lines = createLines({
    onLines: sse.push,
    onTail: sse.end,
    onError,
    maxLineBytes: maxEventBytes,
    offset,
  });
  // A field, not a getter: see utf8.ts.
  const reader = { feed, skip, end, isIdle: true };

  function feed(bytes: Uint8Array): void {
    lines.feed(bytes);
    reader.isIdle = lines.isIdle && sse.isIdle;
  }

  function skip(bytes: number): void {
    lines.skip(bytes);
    stray.passed();
  }

  function end(): void {
    lines.end();
    const only = stray.only();
    if (only !== undefined) onError(noEventsError(only));
  }

  return reader;
}
