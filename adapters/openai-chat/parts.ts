import { isObject } from "../../src/wire/field.ts";
import type { WirePart } from "./wire.ts";

/**
 * Adds one piece of a streamed list of parts: a piece of the part that is last in the list extends it, anything else is
 * a new part. What results is the list as the server would have sent it without streaming.
 *
 * A signature closes its part, and encrypted data is never extended.
 */
export function mergePart(list: WirePart[], piece: WirePart): void {
  const last = list.at(-1);
  if (last === undefined || !continues(last, piece)) {
    list.push(copy(piece));
  } else {
    extend(last, piece);
  }
}

/** Adds what came to a list of parts, and tells the text of it. */
export function keepParts(kept: WirePart[], parts: readonly WirePart[]): string {
  let text = "";
  for (const part of parts) {
    if (!isObject(part)) continue;
    mergePart(kept, part);
    if (typeof part.text === "string") text += part.text;
    else if (typeof part.summary === "string") text += part.summary;
    else text += thinkingText(part.thinking);
  }
  return text;
}

/** The text of a thinking part, which is a list of parts itself on some servers. */
export function thinkingText(thinking: WirePart["thinking"]): string {
  if (typeof thinking === "string") return thinking;
  if (!Array.isArray(thinking)) return "";
  let text = "";
  for (const part of thinking as readonly WirePart[]) if (typeof part?.text === "string") text += part.text;
  return text;
}

function continues(last: WirePart, piece: WirePart): boolean {
  if (last.type !== piece.type || (last.index ?? null) !== (piece.index ?? null)) return false;
  if (last.id && piece.id && last.id !== piece.id) return false;
  if (last.signature || "data" in last || "data" in piece) return false;
  return typeof last.text === "string" || typeof last.summary === "string" || Boolean(last.thinking);
}

function extend(last: WirePart, piece: WirePart): void {
  const whole = last as Record<string, unknown>;
  for (const key of Object.keys(piece)) {
    const more = piece[key];
    if (more === null || more === undefined || key === "__proto__") continue;
    const before = whole[key];
    if (TEXT.has(key) && typeof more === "string") whole[key] = typeof before === "string" ? before + more : more;
    else if (key === "thinking" && Array.isArray(more) && Array.isArray(before)) {
      for (const part of more) if (typeof part === "object" && part !== null) mergePart(before, part);
    } else whole[key] = more;
  }
}

const TEXT = new Set(["text", "summary", "thinking"]);

/** Deep enough for what is extended in place: the list inside a thinking part. */
function copy(part: WirePart): WirePart {
  return Array.isArray(part.thinking)
    ? { ...part, thinking: part.thinking.map((inner: WirePart) => ({ ...inner })) }
    : { ...part };
}
