import { jsonIn } from "../../src/json/index.ts";
import type { PathStep } from "../../src/stream/chunk.ts";

/** A member name after a dot. Wider than RFC 9535: `-`, `$` and leading digits are taken too, being unambiguous. */
const NAME = /[\w$\-\u0080-\uffff]+/y;
/** No sign: an index from the end is meaningless in a value that is still growing. */
const INDEX = /0|[1-9]\d*/y;
const QUOTED = /'([^'\\]*(?:\\[^][^'\\]*)*)'|"([^"\\]*(?:\\[^][^"\\]*)*)"/y;
const BLANK = /[ \t\r\n]*/y;

/** Maximum characters of one path. No place in a schema has a longer one; reading it would only cost time. */
const MAX_LENGTH = 8192;

/**
 * Reads a singular query of RFC 9535, in which Gemini gives the place of a streamed argument:
 * `$.items[0]['unit price']` becomes `["items", 0, "unit price"]`, and `$` alone `[]`. Names (`__proto__` too) and the
 * size of an index are not checked here: the buffer does that.
 *
 * @returns `undefined` for anything else: wildcards, slices, filters, negative indexes, a text that stops halfway, one
 *   over 8192 characters
 * @see https://www.rfc-editor.org/rfc/rfc9535#name-singular-queries
 */
export function parseJsonPath(text: string): PathStep[] | undefined {
  if (text.charCodeAt(0) !== 36 /* $ */ || text.length > MAX_LENGTH) return undefined;
  const path: PathStep[] = [];
  let at = 1;
  while (at < text.length) {
    at = after(BLANK, text, at);
    const sign = text.charAt(at++);
    if (sign === ".") {
      const end = after(NAME, text, at);
      if (end === at) return undefined;
      path.push(text.slice(at, end));
      at = end;
    } else if (sign === "[") {
      at = after(BLANK, text, at);
      const end = selector(text, at, path);
      if (end === at) return undefined;
      at = after(BLANK, text, end);
      if (text.charAt(at++) !== "]") return undefined;
    } else {
      return undefined;
    }
  }
  return path;
}

/** Reads what is between the brackets onto `path`; returns where it ends, or `at` if nothing could be read. */
function selector(text: string, at: number, path: PathStep[]): number {
  const quoted = match(QUOTED, text, at);
  if (quoted !== null) {
    const name = unescape(quoted[1] ?? quoted[2] ?? "");
    if (name === undefined) return at;
    path.push(name);
    return at + quoted[0].length;
  }
  const end = after(INDEX, text, at);
  if (end > at) path.push(Number(text.slice(at, end)));
  return end;
}

/** The escapes of an RFC 9535 string literal: those of JSON and `\'`. */
function unescape(literal: string): string | undefined {
  if (!literal.includes("\\")) return literal;
  const json = literal.replace(/\\[^]|"/g, (found) => (found === "\\'" ? "'" : found === '"' ? '\\"' : found));
  return jsonIn(`"${json}"`) as string | undefined;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Where `pattern` ends if it matches at `at`, else `at`. */
function after(pattern: RegExp, text: string, at: number): number {
  const found = match(pattern, text, at);
  return found === null ? at : at + found[0].length;
}
