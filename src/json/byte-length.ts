/** In UTF-8. Counts exactly only where that decides: a text that is too large, or small enough anyway, is not encoded. */
export function byteLength(text: string, maxBytes: number): number {
  if (text.length > maxBytes || text.length * 3 <= maxBytes) return text.length;
  return new TextEncoder().encode(text).length;
}
