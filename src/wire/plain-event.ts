/** One event as it came: `head`, the data, a line end and a blank line. */
export interface PlainEvent {
  readonly head: string;
  readonly data: string;
  readonly end: "\n\n" | "\r\n\r\n";
}

const HEAD = /^(?:event:[^\r\n]*\r?\n)?data: ?/;

/**
 * For a text that is one event in its usual form: a data line and a blank one, perhaps after an event line. Lines end
 * in LF, or in CRLF, as Google's and those of Python's `sse-starlette` do. `undefined` for all other texts, events or
 * not.
 */
export function plainEventOf(text: string): PlainEvent | undefined {
  const head = HEAD.exec(text)?.[0];
  const end = text.endsWith("\r\n\r\n") ? "\r\n\r\n" : "\n\n";
  if (head === undefined || !text.endsWith(end)) return undefined;
  const data = text.slice(head.length, -end.length);
  return data.includes("\n") || data.includes("\r") ? undefined : { head, data, end };
}
