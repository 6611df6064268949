/** The position within a number: RFC 8259, section 6. A number may end at ZERO and those after it. */
export type NumberPart = number;
export const START = 0;
const MINUS = 1;
const POINT = 2;
const E = 3;
const E_SIGN = 4;
export const ZERO = 5;
const INTEGER = 6;
const FRACTION = 7;
const EXPONENT = 8;

/** The part of the number that begins with this character; -1 if the number cannot continue with it. */
export function nextNumberPart(part: number, code: number): number {
  if (code >= 0x30 && code <= 0x39) {
    if (part === ZERO) return -1;
    if (part === START || part === MINUS) return code === 0x30 ? ZERO : INTEGER;
    if (part === POINT) return FRACTION;
    return part === E || part === E_SIGN ? EXPONENT : part;
  }
  if (code === 0x2e /* . */) return part === ZERO || part === INTEGER ? POINT : -1;
  if (code === 0x65 || code === 0x45 /* e E */) return part === ZERO || part === INTEGER || part === FRACTION ? E : -1;
  if (code === 0x2d /* - */ && part === START) return MINUS;
  return part === E && (code === 0x2b || code === 0x2d) /* + - */ ? E_SIGN : -1;
}

/** By the code of the character. */
const UNESCAPED = Array.from({ length: 128 }, () => "");
for (const char of '"\\/bfnrt') UNESCAPED[char.charCodeAt(0)] = JSON.parse(`"\\${char}"`) as string;

/** What the character after a backslash stands for; "" if it stands for nothing. */
export function unescaped(code: number): string {
  return code < 128 ? UNESCAPED[code]! : "";
}

/** Less than 0 for any other character. */
export function hexDigit(code: number): number {
  if (code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

export function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

export const text1 = String.fromCharCode;
