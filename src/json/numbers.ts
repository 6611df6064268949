import { isObject } from "./container.ts";
import { endOfString } from "./scan.ts";

/**
 * JavaScript holds integers exactly only up to 2^53, and numbers only up to 1.8e308: `JSON.parse` reads
 * 12345678901234567890 as 12345678901234567000, 1e400 as Infinity (https://www.rfc-editor.org/rfc/rfc8259#section-6).
 * An order id that silently becomes another one is worse than an error.
 */

/** Whether a value read from JSON holds a number that may differ from the one that was written. */
export function hasHugeNumber(value: unknown): boolean {
  if (typeof value === "number") return isHuge(value);
  if (!isObject(value)) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (hasHugeNumber(item)) return true;
    return false;
  }
  for (const key in value) if (hasHugeNumber((value as Record<string, unknown>)[key])) return true;
  return false;
}

export function isHuge(value: number): boolean {
  return !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);
}

/** The first number literal of a valid JSON text that is read as another number; rounded fractions do not count. */
export function changedLiteral(text: string): string | undefined {
  const next = /"|-?\d[\d.eE+-]*/g; // where a string begins, or a number
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [literal] = found;
    if (literal === '"') next.lastIndex = endOfString(text, found.index) + 1;
    else if (isChanged(literal)) return literal;
  }
  return undefined;
}

function isChanged(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return true;
  return /^-?\d+$/.test(literal) && BigInt(literal) !== BigInt(value);
}

/**
 * The first number that lost digits, in arguments that somebody else parsed. The literal is gone: an integer beyond
 * 2^53 that needs all the digits a number has is assumed to have had more.
 */
export function lostNumber(value: unknown): string | undefined {
  if (typeof value === "number") {
    if (!isHuge(value)) return undefined;
    const text = String(value);
    if (!Number.isFinite(value)) return text;
    const digits = text.replace(/e.*$/, "").replace(/\D/g, "").replace(/0+$/, "");
    return digits.length >= 16 ? text : undefined;
  }
  if (!isObject(value)) return undefined;
  for (const item of Object.values(value)) {
    const found = lostNumber(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
