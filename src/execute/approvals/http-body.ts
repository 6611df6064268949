/** The body is too large; the rest was not read. */
export class BodyTooLarge extends Error {}

/** A body as text, counted while it is read. @throws BodyTooLarge */
export async function readText({ body }: Request, maxBytes: number): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new BodyTooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
