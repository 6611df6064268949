/** The tokens of a text that is known to be JSON. */

export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/** Every number of this many digits is exact. */
export const MAX_DIGITS = 15;

/** The closing quote of the string whose first character is at `from`. */
export function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++;
  return at;
}

export function afterSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SPACE) at++;
  return at;
}

/** The start of the spaces that end at `to`. */
export function beforeSpaces(text: string, to: number): number {
  let at = to;
  while (text.charCodeAt(at - 1) === SPACE) at--;
  return at;
}

export function endOfNumber(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (!isDigit(code) && code !== 0x2e && code !== 0x2b && code !== MINUS && (code | 0x20) !== 0x65) return at;
    at++;
  }
}

/** A whole number, without a sign, small enough to be exact. */
export function isCount(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return to - from <= MAX_DIGITS;
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
