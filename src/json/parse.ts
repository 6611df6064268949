import { createJsonParser } from "./parser.ts";

/**
 * `JSON.parse`, but right about keys with escapes.
 *
 * V8 14 (Node 24 to 26) remembers a key with a backslash, and then reads another key with an escape as that one, for
 * the rest of the process: after `{"h":[],"\\":0}` the key of `{"h":1,"\"":2}` comes out as a backslash
 * (https://github.com/nodejs/node/issues/63785). So one hostile call could change the arguments of a later one.
 * A text with such a key is read by our own parser; all others, nearly every one there is, by the engine.
 *
 * @throws SyntaxError as `JSON.parse` does
 */
export function parseJson(text: string): unknown {
  if (!hasEscapedKey(text)) return JSON.parse(text);
  const parser = createJsonParser({ maxDepth: Number.MAX_SAFE_INTEGER });
  parser.feed(text);
  parser.end();
  // What is wrong with it, the engine says better; it is not right about a text that is no JSON.
  return parser.state === "closed" ? parser.value : JSON.parse(text);
}

/** Whether a string with a backslash is followed by a colon. Strings without one are passed over by `indexOf`. */
function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at)) {
    // In JSON a backslash stands in a string only: go to that string's end.
    for (;;) {
      const quote = text.indexOf('"', at);
      if (quote === -1) return false;
      const next = text.indexOf("\\", at);
      if (next === -1 || next > quote) {
        at = quote + 1;
        break;
      }
      at = next + 2; // the backslash and what it escapes
    }
    let after = at;
    while (text.charCodeAt(after) <= 32) after++;
    if (text.charCodeAt(after) === 58) return true; // `:`
  }
  return false;
}
