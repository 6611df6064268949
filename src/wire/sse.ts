import { createParser } from "eventsource-parser";
import type { ToolError } from "../errors.ts";
import { tooLargeError } from "./errors.ts";

export interface SseOptions {
  /**
   * The `data` of one event: its data lines, joined by LF. `cut` when the stream ended before the blank line.
   * Event names and ids are not passed on: every wire says in its data what an event is.
   */
  onData(data: string, cut: boolean): void;
  /** A line that the standard ignores: an unknown field or no field at all. */
  onStray(line: string, cut: boolean): void;
  /** The data lines of one event together are too large; reading has stopped. */
  onError(error: ToolError): void;
  /** Of one event with several data lines, in characters; a single line is bounded where lines are made. */
  readonly maxEventLength: number;
}

/**
 * Server-Sent Events, from whole lines: `push(text)` takes what ends in a line end, `end(tail)` the rest.
 * Whole lines, since eventsource-parser drops an unknown field unsaid when a chunk ends inside of it.
 */
export function createSse(options: SseOptions): { push(text: string): void; end(tail: string): void } {
  const { onData, onStray, onError, maxEventLength } = options;
  let ending = false;
  let failed = false;

  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent(event) {
      onData(event.data, ending);
    },
    onError(error) {
      if (error.type === "unknown-field") {
        onStray(error.line ?? "", ending);
      } else if (error.type === "max-buffer-size-exceeded") {
        failed = true;
        onError(tooLargeError(maxEventLength));
      }
    },
  });

  return {
    push(text) {
      if (!failed) parser.feed(text);
    },
    end(tail) {
      ending = true;
      if (!failed) parser.feed(`${tail}\n\n`);
    },
  };
}
