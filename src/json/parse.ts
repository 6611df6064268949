import { createJsonParser } from "./parser.ts";

/**
 * `JSON.parse`, but correct for keys with escapes.
 *
 * V8 14 (Node 24 to 26) remembers a key with a backslash and then reads another key with an escape as that one, for the
 * rest of the process: after `{"h":[],"\\":0}` the key of `{"h":1,"\"":2}` comes out as a backslash
 * (https://github.com/nodejs/node/issues/63785). So one hostile call could change the arguments of a later one.
 * A text with such a key is read by our own parser; all others, nearly every text, by the engine.
 *
 * @throws SyntaxError as `JSON.parse` does
 */
export function parseJson(text: string): unknown {
  if (!mayHaveEscapedKey(text)) return JSON.parse(text);
  const parser = createJsonParser({ maxDepth: Number.MAX_SAFE_INTEGER });
  parser.feed(text);
  // For text that is not JSON, the engine has the better error message, and the bug does no harm.
  return parser.state === "closed" ? parser.value : JSON.parse(text);
}

/** The value of a JSON text; `undefined` if it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The value of the JSON object in a text that has other words before and after it; `undefined` if there is none. */
export function objectIn(text: string): unknown {
  return jsonIn(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
}

/**
 * From a colon after a backslash back over the key before it, if there is one, and on to the next backslash. `false` is
 * certain; `true` is also said of a string that begins with a colon, after one that ends in a backslash.
 */
function mayHaveEscapedKey(text: string): boolean {
  for (let colon = afterEscape(text, 0); colon !== -1;) {
    let at = colon - 1;
    while (text.charCodeAt(at) <= 32) at--;
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    // An escaped quote ends no key: it is inside a string, such as JSON within a string.
    if (text.charCodeAt(at) !== QUOTE || (at - before) % 2 === 1) {
      colon = text.indexOf(":", colon + 1);
      continue;
    }
    do {
      if (text.charCodeAt(--at) === BACKSLASH) return true;
    } while (text.charCodeAt(at) !== QUOTE);
    // The opening quote, unless it is inside a string.
    if (text.charCodeAt(at - 1) === BACKSLASH) return true;
    colon = afterEscape(text, colon);
  }
  return false;
}

/** The first colon after the next backslash; -1 if there is none. */
function afterEscape(text: string, from: number): number {
  const escape = text.indexOf("\\", from);
  return escape === -1 ? -1 : text.indexOf(":", escape);
}

const QUOTE = 34;
const BACKSLASH = 92;
