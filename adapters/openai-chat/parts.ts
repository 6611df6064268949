import { isNothing, isObject, textOf } from "../../src/wire/field.ts";
import type { WirePart } from "./wire.ts";

/**
 * Adds one piece of a streamed list of parts: a piece of the last part extends it, anything else is a new part. The
 * result is the list as the server would have sent it without streaming.
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

/** Adds parts to a list, and returns their text. */
export function keepParts(kept: WirePart[], parts: readonly WirePart[]): string {
  let text = "";
  for (const part of parts) {
    if (!isObject(part)) continue;
    mergePart(kept, part);
    text += partText(part);
  }
  return text;
}

/** Whether a content part is reasoning, not answer: Mistral's, or Databricks' in the form of OpenAI's Responses. */
export function isThought({ type }: WirePart): boolean {
  return type === "thinking" || type === "reasoning";
}

/** The text of a part; on some servers the text of a thought is itself a list of parts. */
export function partText({ text, summary, thinking }: WirePart): string {
  const said = text ?? summary ?? thinking;
  if (typeof said === "string") return said;
  return Array.isArray(said)
    ? said.map((part: WirePart | string | null) => textOf(isObject(part) ? part.text : part) ?? "").join("")
    : "";
}

function continues(last: WirePart | string, piece: WirePart): boolean {
  // In a list of texts.
  if (!isObject(last) || last.type !== piece.type || (last.index ?? null) !== (piece.index ?? null)) return false;
  if (last.id && piece.id && last.id !== piece.id) return false;
  if (last.signature || "data" in last || "data" in piece) return false;
  return typeof last.text === "string" || Boolean(last.summary ?? last.thinking);
}

function extend(last: WirePart, piece: WirePart): void {
  const whole = last as Record<string, unknown>;
  for (const key of Object.keys(piece)) {
    const more = piece[key];
    if (isNothing(more) || key === "__proto__") continue;
    const before = whole[key];
    if (TEXT.has(key) && typeof more === "string") whole[key] = typeof before === "string" ? before + more : more;
    else if (TEXT.has(key) && Array.isArray(more) && Array.isArray(before)) {
      for (const part of more)
        if (isObject(part)) mergePart(before, part);
        else if (!isNothing(part)) before.push(part);
    } else whole[key] = more;
  }
}

const TEXT = new Set(["text", "summary", "thinking"]);

/** Deep enough for everything that is extended in place: the list inside a thought. */
function copy(part: WirePart): WirePart {
  const own: Record<string, unknown> = { ...part };
  for (const key of TEXT) {
    const list = part[key];
    if (Array.isArray(list))
      own[key] = list.filter((inner) => !isNothing(inner)).map((inner) => (isObject(inner) ? { ...inner } : inner));
  }
  return own;
}
