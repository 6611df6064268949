import { messageOf, type ToolError } from "../errors.ts";
import { jsonIn, parseJson } from "../json/parse.ts";
import type { DecoderOptions } from "./decoder.ts";
import { notJsonError } from "./errors.ts";

/** Turns texts into events, and reports what is wrong with one: after that it is silent. */
export class DataReader {
  hasFailed = false;
  readonly options: DecoderOptions;

  constructor(options: DecoderOptions) {
    this.options = options;
  }

  /**
   * The data of a Server-Sent Event, or a JSON text; `cut` if the stream ended within it.
   *
   * @returns the value of the data, if it is JSON
   */
  readData(data: string, cut: boolean): unknown {
    if (this.hasFailed) return undefined;
    if (data === "[DONE]") return void this.options.onEvent(data); // no need to throw for it
    if (isKeepAlive(data)) return undefined; // nor for this
    let value: unknown;
    try {
      value = parseJson(data);
    } catch (cause) {
      if (!this.#separate(data.trim().split("\n"), cut) && !cut) this.fail(notJsonError(data, reason(cause), cause));
      return undefined;
    }
    this.options.onEvent(value);
    return value;
  }

  say(event: unknown): void {
    if (!this.hasFailed) this.options.onEvent(event);
  }

  fail(error: ToolError): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.options.onError(error);
  }

  /**
   * `[DONE]`, a keep-alive without data, or the data of a server that ends an event with a single line end: every line
   * is an event, and the last one may be cut. A server that writes `data:` itself, where its framework does, writes it
   * twice: https://github.com/paiml/aprender/pull/2015
   */
  #separate(lines: string[], cut: boolean): boolean {
    const values: unknown[] = [];
    for (const [i, line] of lines.entries()) {
      const text = line.trim().replace(/^data:\s*/, "");
      if (isKeepAlive(text)) continue;
      if (text === "[DONE]") {
        values.push(text);
        continue;
      }
      try {
        values.push(parseJson(text));
      } catch {
        if (cut && i === lines.length - 1) break;
        // A gateway may write why it failed into an event that it has begun:
        // https://github.com/Wei-Shaw/sub2api/issues/1471
        const last = jsonIn(lines.at(-1)!) as { error?: unknown } | null | undefined;
        if (last?.error) this.say(last);
        return false;
      }
    }
    for (const value of values) this.say(value);
    return true;
  }
}

/** Nothing, or a comment that a gateway has made data: https://github.com/mnfst/llm-gateway/issues/2053 */
function isKeepAlive(data: string): boolean {
  return data === "" || (data.startsWith(":") && !data.includes("\n"));
}

/** The parser's message without its excerpt: ours has its own. */
function reason(cause: unknown): string {
  return messageOf(cause)
    .replace(/, ?(?:\.\.\.)?".*$/s, "")
    .replace(/ in JSON at position \d+.*$/s, "");
}
