/** The JSON form, as people are shown it, of values that a schema may produce but JSON lacks. */
export function jsonForm(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof RegExp || value instanceof URLSearchParams) return String(value);
  return bytesOf(value) ?? value;
}

/** The bytes of a buffer or a view of one. */
export function bytesOf(value: unknown): number[] | undefined {
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (!ArrayBuffer.isView(value)) return undefined;
  return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
}
