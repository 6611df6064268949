// Not shared: loops over characters take a quarter longer with imported constants.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Are the containers of a JSON text nested deeper than `max`? Strings are skipped by searching for their end, so this
 * is much cheaper than parsing, and can be done before it.
 */
export function exceedsDepth(text: string, max: number): boolean {
  return text.length > max && depthAtEnd(text, -Infinity, max) > max;
}

/** Is every bracket and quote of a broken text paired, the last bracket at its end? Says nothing about its meaning. */
export function isBalanced(text: string): boolean {
  const last = lastCharOf(text);
  return (last === CLOSE_BRACE || last === CLOSE_BRACKET) && depthAtEnd(text, 0, Infinity) === 0;
}

/** How many containers are still open; the first depth that is less than `min` or more than `max`; NaN in a string. */
function depthAtEnd(text: string, min: number, max: number): number {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) return NaN;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > max) break;
    } else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth < min) break;
  }
  return depth;
}

/**
 * Follows the brackets of a JSON text that comes in pieces, to tell when its root, an object or array, is closed. Like
 * {@link exceedsDepth} it is much cheaper than parsing, and as limited: what is closed here need not be JSON.
 */
export class RootScan {
  /** `closed` by a last bracket, with only white space after it; `broken` once it can never become JSON. */
  state: "open" | "closed" | "broken" = "open";
  readonly #maxDepth: number;
  #depth = 0;
  #inString = false;
  /** Whether the next character of the string is escaped. */
  #isEscaped = false;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  feed(text: string): void {
    if (this.state === "broken") return;
    for (let at = this.#inString ? this.#skipString(text, 0) : 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code <= 32) continue;
      const opens = code === OPEN_BRACE || code === OPEN_BRACKET;
      const isBroken = opens ? this.#depth >= this.#maxDepth : this.#depth === 0;
      if (isBroken || this.state === "closed") {
        this.state = "broken";
        return;
      }
      if (code === QUOTE) at = this.#skipString(text, at + 1) - 1;
      else if (opens) this.#depth++;
      else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --this.#depth === 0) this.state = "closed";
    }
  }

  /** @returns the position after the string's closing quote; the length of the text if it does not end there */
  #skipString(text: string, from: number): number {
    for (let at = this.#isEscaped ? from + 1 : from; ;) {
      const quote = text.indexOf('"', at);
      const end = quote < 0 ? text.length : quote;
      let first = end;
      while (first > at && text.charCodeAt(first - 1) === BACKSLASH) first--;
      const isEscaped = (end - first) % 2 === 1;
      if (quote >= 0 && isEscaped) {
        at = quote + 1;
        continue;
      }
      this.#inString = quote < 0;
      this.#isEscaped = isEscaped;
      return quote < 0 ? end : quote + 1;
    }
  }
}

/** The closing quote of the string that opens at `from`; -1 if there is none. */
export function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return -1;
}

/** The first character that is not white space; 0 if there is none. */
export function firstCharOf(text: string): number {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 32) return c;
  }
  return 0;
}

/** The last one. */
export function lastCharOf(text: string): number {
  for (let i = text.length - 1; i >= 0; i--) {
    const c = text.charCodeAt(i);
    if (c > 32) return c;
  }
  return 0;
}
