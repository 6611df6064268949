import type { DataReader } from "./data.ts";
import { invalidUtf8Error, noEventsError, tooLargeError } from "./errors.ts";
import { StrayErrors } from "./stray.ts";
import { Utf8Stream, utf8Length } from "./utf8.ts";

const LF = 10;
const SPACE = 32;
const COLON = 58;
/** Standard fields that are not used here: in every wire, the data says what an event is. */
const IGNORED = new Set(["event", "id", "retry"]);

/**
 * Reads everything that may come as Server-Sent Events, from bytes that may be cut anywhere
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation).
 * Each byte is decoded once, and a line that lies whole within its chunk is not copied.
 */
export class SseReader {
  /** Between two events, and everything fed has been read. */
  isIdle = true;
  readonly #sink: Pick<DataReader, "readData" | "say" | "fail">;
  readonly #maxEventBytes: number;
  readonly #utf8 = new Utf8Stream();
  readonly #stray: StrayErrors;
  #kept: string[] = []; // the open line: joined once, when it ends
  #keptBytes = 0;
  #isAfterCr = false; // of a CRLF whose LF may come with the next bytes
  #isFresh = true; // no line of the next event was seen yet
  #data = "";
  #dataLines = 0; // of the open event

  /** @param maxEventBytes for each line, and for the data of an event with several lines, in characters */
  constructor(sink: Pick<DataReader, "readData" | "say" | "fail">, maxEventBytes: number) {
    this.#sink = sink;
    this.#maxEventBytes = maxEventBytes;
    this.#stray = new StrayErrors((error) => sink.say(error));
  }

  /** @param offset of the first byte in the whole body, for messages */
  feed(bytes: Uint8Array, offset: number): void {
    const utf8 = this.#utf8;
    this.#read(utf8.decode(bytes));
    // After a CR, a LF that its CRLF may still have is an empty line between two events: it means nothing.
    this.isIdle = this.#isFresh && this.#kept.length === 0 && utf8.isWhole;
    if (utf8.invalidAt !== undefined) this.#sink.fail(invalidUtf8Error(offset + utf8.invalidAt));
  }

  /** An event was read elsewhere; only allowed while `isIdle`. */
  passed(): void {
    this.#stray.passed();
  }

  end(): void {
    const tail = this.#kept.join("");
    if (tail !== "") this.#line(tail, 0, tail.length, true);
    this.#event(true);
    const only = this.#stray.only();
    if (only !== undefined) this.#sink.fail(noEventsError(only));
  }

  #read(text: string): void {
    let at = 0;
    if (this.#isAfterCr && text !== "") {
      this.#isAfterCr = false;
      if (text.charCodeAt(0) === LF) at = 1;
    }
    // Each is searched for again only once passed, so that each character is searched once.
    let lf = text.indexOf("\n", at);
    let cr = text.indexOf("\r", at);
    while (lf !== -1 || cr !== -1) {
      const isLf = cr === -1 || (lf !== -1 && lf < cr);
      const to = isLf ? lf : cr;
      if (this.#kept.length === 0) this.#line(text, at, to, false);
      else this.#keptLine(text.slice(at, to));
      at = to + 1;
      if (!isLf) {
        if (at === text.length) this.#isAfterCr = true;
        else if (lf === at) at++;
        cr = text.indexOf("\r", at);
      }
      if (lf !== -1 && lf < at) lf = text.indexOf("\n", at);
    }
    if (at < text.length) this.#keep(text.slice(at));
  }

  #keep(text: string): void {
    this.#keptBytes += this.#utf8.bytesIn(text);
    if (this.#keptBytes > this.#maxEventBytes) this.#sink.fail(tooLargeError(this.#maxEventBytes));
    else this.#kept.push(text);
  }

  #keptLine(rest: string): void {
    this.#kept.push(rest);
    const line = this.#kept.join("");
    this.#kept = [];
    this.#keptBytes = 0;
    this.#line(line, 0, line.length, false);
  }

  /** The line of the text from `at` to `to`; `cut` if it is the last one and has no end. */
  #line(text: string, at: number, to: number, cut: boolean): void {
    const max = this.#maxEventBytes;
    if (3 * (to - at) > max && utf8Length(text.slice(at, to)) > max) return this.#sink.fail(tooLargeError(max));
    this.#isFresh = at === to;
    if (at === to) this.#event(false);
    else if (isData(text, at, to)) {
      const from = Math.min(at + 5, to);
      this.#addData(text.slice(text.charCodeAt(from) === SPACE ? from + 1 : from, to));
    } else if (text.charCodeAt(at) !== COLON) this.#field(text.slice(at, to), cut);
  }

  #addData(line: string): void {
    this.#data = ++this.#dataLines === 1 ? line : `${this.#data}\n${line}`;
    if (this.#dataLines > 1 && this.#data.length > this.#maxEventBytes)
      this.#sink.fail(tooLargeError(this.#maxEventBytes));
  }

  #field(line: string, cut: boolean): void {
    const colon = line.indexOf(":");
    if (!IGNORED.has(colon === -1 ? line : line.slice(0, colon))) this.#stray.line(line, cut);
  }

  #event(cut: boolean): void {
    if (this.#dataLines === 0) return;
    const data = this.#data;
    this.#data = "";
    this.#dataLines = 0;
    this.#stray.passed();
    this.#sink.readData(data, cut);
  }
}

/** Whether the line from `at` to `to` is a `data` field. */
function isData(text: string, at: number, to: number): boolean {
  return text.startsWith("data", at) && (at + 4 === to || text.charCodeAt(at + 4) === COLON);
}
