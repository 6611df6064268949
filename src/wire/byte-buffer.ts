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
