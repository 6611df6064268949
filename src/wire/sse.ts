import type { ToolError } from "../errors.ts";
import { tooLargeError } from "./errors.ts";

export interface SseOptions {
  /**
   * The `data` of one event: its data lines, joined by LF. `cut` if the stream ended before the blank line.
   * Event names and ids are not passed on: in every wire, the data says what an event is.
   */
  onData(data: string, cut: boolean): void;
  /** A line that the standard ignores: an unknown field, or no field at all. */
  onStray(line: string, cut: boolean): void;
  /** The data lines of one event together are too large; reading has stopped. */
  onError(error: ToolError): void;
  /** For an event with several data lines, in characters; a single line is bounded where lines are made. */
  readonly maxEventLength: number;
}

const LF = 10;
const SPACE = 32;
const COLON = 58;
/** Less than any index, and not -1. */
const NOT_YET = -2;
/** Standard fields that are not used here. */
const IGNORED = new Set(["event", "id", "retry"]);

/**
 * Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation), from
 * whole lines: `push(text)` takes text that ends in a line end, `end(tail)` the rest. `isIdle` means between two
 * events.
 */
export function createSse(options: SseOptions): {
  push(text: string): void;
  end(tail: string): void;
  readonly isIdle: boolean;
} {
  const { onData, onStray, onError, maxEventLength } = options;
  let data = "";
  let dataLines = 0; // of the open event
  let isFresh = true; // no line of the next event was seen yet
  let isAfterCr = false; // of a CRLF whose LF may come with the next text
  let ending = false;
  let failed = false;
  // A field, not a getter: see utf8.ts.
  const sse = { push, end, isIdle: true };

  function push(text: string): void {
    let at = 0;
    if (isAfterCr) {
      isAfterCr = false;
      if (text.charCodeAt(0) === LF) at = 1;
    }
    // Each is searched for again only once passed, so that each character is searched once.
    let lf = NOT_YET;
    let cr = text.indexOf("\r", at);
    while (at < text.length && !failed) {
      if (lf < at && lf !== -1) lf = text.indexOf("\n", at);
      const isLf = cr === -1 || (lf !== -1 && lf < cr);
      const to = isLf ? lf : cr;
      if (to === -1) throw new Error("push() takes whole lines");
      isFresh = to === at;
      if (isFresh) {
        const ended = data;
        const hasData = dataLines > 0;
        data = "";
        dataLines = 0;
        if (hasData) onData(ended, ending);
      } else if (isData(text, at, to)) {
        const from = Math.min(at + 5, to);
        addData(text.slice(text.charCodeAt(from) === SPACE ? from + 1 : from, to));
      } else if (text.charCodeAt(at) !== COLON) field(text.slice(at, to));
      at = to + 1;
      if (isLf) continue;
      if (at === text.length) isAfterCr = true;
      else if (text.charCodeAt(at) === LF) at++;
      cr = text.indexOf("\r", at);
    }
    sse.isIdle = isFresh && !isAfterCr;
  }

  function addData(line: string): void {
    data = ++dataLines === 1 ? line : `${data}\n${line}`;
    if (dataLines === 1 || data.length <= maxEventLength) return;
    failed = true;
    onError(tooLargeError(maxEventLength));
  }

  function field(line: string): void {
    const colon = line.indexOf(":");
    if (IGNORED.has(colon === -1 ? line : line.slice(0, colon))) return;
    onStray(line, ending);
  }

  function end(tail: string): void {
    ending = true;
    push(`${tail}\n\n`);
  }

  return sse;
}

/** One event as it came: `head`, the data, a line end and a blank line. */
export interface PlainEvent {
  readonly head: string;
  readonly data: string;
  readonly end: "\n\n" | "\r\n\r\n";
}

const HEAD = /^(?:event:[^\r\n]*\r?\n)?data: ?/;

/**
 * For a text that is one event in its usual form: a data line and a blank one, perhaps after an event line. Lines end
 * in LF, or in CRLF, as Google's and those of Python's `sse-starlette` do. `undefined` for all other texts, events or
 * not.
 */
export function plainEventOf(text: string): PlainEvent | undefined {
  const head = HEAD.exec(text)?.[0];
  const end = text.endsWith("\r\n\r\n") ? "\r\n\r\n" : "\n\n";
  if (head === undefined || !text.endsWith(end)) return undefined;
  const data = text.slice(head.length, -end.length);
  return data.includes("\n") || data.includes("\r") ? undefined : { head, data, end };
}

/** Whether the line from `at` to `to` is a `data` field. */
function isData(text: string, at: number, to: number): boolean {
  return (
    text.charCodeAt(at) === 100 &&
    text.charCodeAt(at + 1) === 97 &&
    text.charCodeAt(at + 2) === 116 &&
    text.charCodeAt(at + 3) === 97 &&
    (at + 4 === to || text.charCodeAt(at + 4) === COLON)
  );
}
