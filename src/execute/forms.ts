/** What a schema may make of an input that JSON has no word for, in a form that it has one for: as people are shown it. */
export function jsonForm(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof RegExp || value instanceof URLSearchParams) return String(value);
  return bytesOf(value) ?? value;
}

/** Of what holds bytes. */
export function bytesOf(value: unknown): number[] | undefined {
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (!ArrayBuffer.isView(value)) return undefined;
  return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
}
