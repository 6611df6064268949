/** When a piece of a body came, and its length. */
export interface RecordedChunk {
  /** Milliseconds since recording began. */
  readonly atMs: number;
  /** Bytes. */
  readonly length: number;
}

/** A response body as it came over the wire: its exact bytes and their timing. Nothing of the request, no headers. */
export interface Recording {
  readonly bytes: Uint8Array;
  /** The pieces of `bytes` in order; empty if the timing is not known. */
  readonly chunks: readonly RecordedChunk[];
  readonly contentType?: string | undefined;
  /** `false` when the source failed or the reader left before its end. */
  readonly complete: boolean;
}

/** The most common mistakes are passing a promise or a path. */
export function checkRecording(recording: Recording, taker: string): void {
  if (ArrayBuffer.isView(recording?.bytes)) return;
  throw new TypeError(`${taker} takes a recording: await loadRecording(path), or what record() resolves to`);
}

/**
 * The chunks, made to cover exactly the bytes. Whoever changes these, to remove what is private, need not know of the
 * chunks: without this, the end of the body would be lost.
 */
export function coveringChunks({ bytes, chunks }: Recording): readonly RecordedChunk[] {
  const last = chunks.length - 1;
  let left = bytes.length;
  return chunks
    .map(({ atMs, length }, at) => {
      const covered = at === last ? left : Math.min(length, left);
      left -= covered;
      return { atMs, length: covered };
    })
    .filter(({ length }) => length > 0);
}

/** The kinds of body: file extension and content type. */
export const FORMATS = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
  json: "application/json",
} as const;

export type Format = keyof typeof FORMATS;

/**
 * Turns the events of an SDK's stream, kept as NDJSON, back into the server-sent events they were made from. Some
 * clients go by `event`, which is the event's `type` or `event_type` if it has one.
 */
export function sseOf({ bytes, chunks, complete }: Recording): Recording {
  const encoder = new TextEncoder();
  const lines = new TextDecoder().decode(bytes).split("\n");
  const events = lines.filter((line) => line.trim() !== "").map(sseEvent);
  return {
    bytes: encoder.encode(events.join("")),
    // As they were recorded: one per line.
    chunks: chunks.map(({ atMs }, at) => ({ atMs, length: encoder.encode(events[at]).length })),
    contentType: FORMATS.sse,
    complete,
  };
}

/** A line of JSON as a server-sent event. */
export function sseEvent(line: string): string {
  const { type, event_type: name = type } = (parseJson(line) ?? {}) as { type?: unknown; event_type?: unknown };
  return `${typeof name === "string" && /^[\w.-]+$/.test(name) ? `event: ${name}\n` : ""}data: ${line}\n\n`;
}

/** The format of a body, from its content type or else its first bytes. */
export function formatOf(recording: Recording): Format {
  const type = recording.contentType?.toLowerCase() ?? "";
  if (type.includes("event-stream")) return "sse";
  if (/ndjson|jsonl|json-seq/.test(type)) return "ndjson";
  const { bytes } = recording;
  if (!/^\s*[{["]/.test(new TextDecoder().decode(bytes.subarray(0, 4096)))) return "sse";
  const [first = "", ...rest] = new TextDecoder().decode(bytes).trim().split("\n", 2);
  return rest.length > 0 && parseJson(first) !== undefined ? "ndjson" : "json";
}

/** Where each event ends; one without data, and further blank lines, belong to the next. */
export function eventEnds(bytes: Uint8Array, format: Format): number[] {
  const ends: number[] = [];
  let hasData = false;
  const text = new TextDecoder("latin1").decode(bytes); // one character per byte
  for (const { 0: line, 1: content, index } of text.matchAll(/([^\r\n]*)(?:\r\n|[\r\n])/g)) {
    if (format === "ndjson" ? content !== "" : content === "" && hasData) ends.push(index + line.length);
    // An event without data is not dispatched: https://html.spec.whatwg.org/multipage/server-sent-events.html
    hasData = content !== "" && (hasData || /^(?:\xEF\xBB\xBF)?data/.test(content!));
  }
  return ends;
}

/** `undefined` for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
