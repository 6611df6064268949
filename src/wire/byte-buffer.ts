const EMPTY = new Uint8Array(0);
/** How much stays allocated between two events. */
const KEPT_BYTES = 64 * 1024;

/** A growing byte buffer for what a chunk leaves unfinished: appending is linear in total, even byte by byte. */
export interface ByteBuffer {
  readonly length: number;
  append(bytes: Uint8Array): void;
  /** Takes the contents out. Valid until the next `append()`. */
  take(): Uint8Array;
}

export function createByteBuffer(): ByteBuffer {
  let bytes: Uint8Array = EMPTY;
  // A field, not a getter: V8 makes a hidden class for each getter of an object literal, every time.
  const buffer = { length: 0, append, take };

  function append(more: Uint8Array): void {
    const length = buffer.length + more.length;
    if (length > bytes.length) {
      const grown = new Uint8Array(Math.max(256, 2 * bytes.length, length));
      grown.set(bytes.subarray(0, buffer.length));
      bytes = grown;
    }
    bytes.set(more, buffer.length);
    buffer.length = length;
  }

  function take(): Uint8Array {
    const taken = bytes.subarray(0, buffer.length);
    buffer.length = 0;
    if (bytes.length > KEPT_BYTES) bytes = EMPTY; // one huge event must not weigh on the rest of the stream
    return taken;
  }

  return buffer;
}
