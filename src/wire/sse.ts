import type { ToolError } from "../errors.ts";
import { tooLargeError } from "./errors.ts";

const LF = 10;
const SPACE = 32;
const COLON = 58;

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
  readonly maxEventBytes: number;
}

/**
 * Server-Sent Events, from whole lines: `push(text)` takes what ends in a line end, `end(tail)` the rest.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function createSse(options: SseOptions): { push(text: string): void; end(tail: string): void } {
  const { onData, onStray, onError, maxEventBytes } = options;
  let data: string | undefined; // the first data line of the open event
  let moreData: string[] | undefined; // the others, which providers do not send
  let dataBytes = 0; // counted only when there are several
  let afterCr = false; // the text before ended in CR: an LF now belongs to it
  let failed = false;

  function push(text: string): void {
    const { length } = text;
    let at = 0;
    if (afterCr) {
      afterCr = false;
      if (text.charCodeAt(0) === LF) at = 1;
    }
    if (text.indexOf("\r", at) !== -1) return pushWithCr(text, at);
    // LF only. The usual event is one data line and a blank one: no state is touched for it.
    while (at < length && !failed) {
      const end = text.indexOf("\n", at);
      if (isData(text, at) && text.charCodeAt(at + 4) === COLON) {
        const value = text.slice(text.charCodeAt(at + 5) === SPACE ? at + 6 : at + 5, end);
        if (data === undefined && text.charCodeAt(end + 1) === LF) {
          onData(value, false);
          at = end + 2;
          continue;
        }
        addData(value);
      } else if (end === at) {
        dispatch(false);
      } else {
        field(text, at, end, false);
      }
      at = end + 1;
    }
  }

  /** The same with every kind of line end. */
  function pushWithCr(text: string, from: number): void {
    let lf = text.indexOf("\n", from);
    let cr = text.indexOf("\r", from);
    for (let at = from; at < text.length && !failed;) {
      if (lf !== -1 && lf < at) lf = text.indexOf("\n", at);
      if (cr !== -1 && cr < at) cr = text.indexOf("\r", at);
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      line(text, at, end, false);
      at = end + (end === cr && lf === cr + 1 ? 2 : 1);
      afterCr = at === text.length && end === cr && lf !== cr + 1;
    }
  }

  function line(text: string, at: number, end: number, cut: boolean): void {
    if (end === at) dispatch(cut);
    else field(text, at, end, cut);
  }

  function field(text: string, at: number, end: number, cut: boolean): void {
    if (text.charCodeAt(at) === COLON) return; // a comment
    const colon = text.indexOf(":", at);
    const hasValue = colon !== -1 && colon < end;
    const name = text.slice(at, hasValue ? colon : end);
    switch (name) {
      case "data": {
        if (!hasValue) return addData("");
        return addData(
          text.slice(colon + 1 < end && text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, end),
        );
      }
      case "event":
      case "id":
      case "retry":
        return;
      default:
        return onStray(text.slice(at, end), cut);
    }
  }

  function addData(value: string): void {
    if (data === undefined) {
      data = value;
      return;
    }
    if (moreData === undefined) {
      moreData = [];
      dataBytes = utf8Length(data);
    }
    dataBytes += 1 + utf8Length(value);
    if (dataBytes > maxEventBytes) {
      failed = true;
      return onError(tooLargeError(maxEventBytes));
    }
    moreData.push(value);
  }

  function dispatch(cut: boolean): void {
    if (data === undefined) return;
    const whole = moreData === undefined ? data : `${data}\n${moreData.join("\n")}`;
    data = undefined;
    moreData = undefined;
    onData(whole, cut);
  }

  function end(tail: string): void {
    if (failed) return;
    if (afterCr && tail === "\n") tail = "";
    if (tail !== "") field(tail, 0, tail.length, true);
    if (!failed) dispatch(true);
  }

  return { push, end };
}

function isData(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === 100 &&
    text.charCodeAt(at + 1) === 97 &&
    text.charCodeAt(at + 2) === 116 &&
    text.charCodeAt(at + 3) === 97
  );
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // a surrogate pair is two units and four bytes
    if (unit > 0x7f) length += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return length;
}
