const EMPTY = new Uint8Array(0);
/** What is kept allocated between two events. */
const KEPT_BYTES = 64 * 1024;

/** A growing byte buffer for what one chunk leaves unfinished: appending costs linear time in all, byte by byte too. */
export interface ByteBuffer {
  readonly length: number;
  append(bytes: Uint8Array): void;
  /** What is in it, which then counts as taken out. Valid until the next `append()`. */
  take(): Uint8Array;
}

export function createByteBuffer(): ByteBuffer {
  let bytes: Uint8Array = EMPTY;
  let length = 0;
  return {
    get length() {
      return length;
    },
    append(more) {
      if (length + more.length > bytes.length) {
        const grown = new Uint8Array(Math.max(256, 2 * bytes.length, length + more.length));
        grown.set(bytes.subarray(0, length));
        bytes = grown;
      }
      bytes.set(more, length);
      length += more.length;
    },
    take() {
      const taken = bytes.subarray(0, length);
      length = 0;
      if (bytes.length > KEPT_BYTES) bytes = EMPTY; // one huge event must not weigh on the rest of the stream
      return taken;
    },
  };
}

// ignoreBOM keeps a U+FEFF inside the stream as the character it is there; the one at the start is ours to skip
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenientDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of whole UTF-8 sequences; `undefined` if they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The same for text that may be cut in its last character, which is then left out. */
export function decodeCutUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

/** The text of bytes that need not be UTF-8, for messages. */
export function decodeLeniently(bytes: Uint8Array): string {
  return lenientDecoder.decode(bytes);
}

/**
 * The index of the byte that makes `bytes` invalid; of the last one where only the last character is cut.
 * For the error path: the shortest prefix that a streaming decoder refuses, found by halving.
 */
export function invalidUtf8At(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    if (decodeCutUtf8(bytes.subarray(0, middle)) === undefined) invalid = middle;
    else valid = middle;
  }
  return invalid - 1;
}
