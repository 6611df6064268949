const EMPTY = new Uint8Array(0);

// ignoreBOM keeps a U+FEFF inside the stream as a character; the one at the start is for the decoder to skip
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
export const encoder = new TextEncoder();

/** Replaces bytes that are not UTF-8; it may also have been sent. */
const REPLACEMENT = "\ufffd";

/** The text of whole UTF-8 sequences; `undefined` if they are invalid. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  // Node's fatal decoder takes three times as long with even one character outside of ASCII.
  const text = lenient.decode(bytes);
  return text.includes(REPLACEMENT) ? decodeStrictly(bytes) : text;
}

/** @param mayBeCut whether the last character may be: it is then left out */
function decodeStrictly(bytes: Uint8Array, mayBeCut = false): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: mayBeCut });
  } catch {
    return undefined;
  }
}

/**
 * The index of the byte that makes `bytes` invalid; of the last byte if only the last character is cut.
 * For the error path: finds the shortest prefix that a streaming decoder rejects, by bisection.
 */
function invalidUtf8At(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    if (decodeStrictly(bytes.subarray(0, middle), true) === undefined) invalid = middle;
    else valid = middle;
  }
  return invalid - 1;
}

/** How many bytes the text takes in UTF-8. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

/**
 * UTF-8 in pieces, which may cut a character. A TextDecoder with `stream: true` would report neither where the text
 * stops being UTF-8 nor what came before that in the same piece, and its calls cost twice as much for small pieces.
 */
export class Utf8Stream {
  /** No character is cut at the end of what came. */
  isWhole = true;
  /** The byte of the last piece that is not UTF-8; less than 0 for one in the piece before. */
  invalidAt: number | undefined;
  /** The bytes of an incomplete character. */
  #cut = EMPTY;
  /** The size of the last text. */
  #units = 0;
  #bytes = 0;

  /** The whole characters so far; up to the invalid byte, if there is one. */
  decode(piece: Uint8Array): string {
    const before = this.#cut.length;
    const bytes = before === 0 ? piece : concat(this.#cut, piece);
    const length = bytes.length - cutCharacterLength(bytes);
    this.isWhole = length === bytes.length;
    // A copy, since a source may reuse its bytes; slice() of a Buffer would not be one.
    this.#cut = this.isWhole ? EMPTY : new Uint8Array(bytes.subarray(length));
    const text = decodeUtf8(this.isWhole ? bytes : bytes.subarray(0, length));
    this.#bytes = length;
    this.#units = text?.length ?? -1;
    if (text !== undefined) return text;
    const at = invalidUtf8At(bytes);
    this.invalidAt = at - before;
    return decodeStrictly(bytes.subarray(0, at), true)!;
  }

  /** How many bytes a part of the last text takes. */
  bytesIn(part: string): number {
    if (this.#units === this.#bytes) return part.length; // plain ASCII
    return part.length === this.#units ? this.#bytes : utf8Length(part);
  }
}

/** How many bytes at the end are the beginning of an incomplete character. */
function cutCharacterLength(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}

export function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
