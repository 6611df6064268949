import { inspect } from "node:util";
import { coveringChunks, eventEnds, formatOf, sseEvent, type Format, type Recording } from "./recording.ts";

/** How the server answers for a case, if not by simply sending its body. */
export interface ReplayBehavior {
  /** Answers with this status and the provider's error body; nothing of the recording is sent. */
  readonly status?: number | undefined;
  /** The message in that error body. */
  readonly message?: string | undefined;
  /** Added to the headers of the answer, for example `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends this many bytes of the body and then ends the connection. */
  readonly cutAtByte?: number | undefined;
  /** Sends this many events of the body and then ends the connection. */
  readonly cutAtEvent?: number | undefined;
  /**
   * Sent after the body or what is left of it: an event, in the format of the others, or text, which is sent as is.
   * After a whole body, it does not make the request one that failed.
   */
  readonly append?: object | string | undefined;
  /**
   * How the response ends after that: `reset` breaks the connection, `end` ends it as if complete, `stall` sends
   * nothing more and leaves it open. Default: `reset` after a cut without `append`, else `end`.
   */
  readonly cut?: "reset" | "end" | "stall" | undefined;
  /** Waits before it answers. */
  readonly delayMs?: number | undefined;
  /** Applies to this many requests only. Default: all; for one of a list: 1. */
  readonly times?: number | undefined;
}

/** One for all requests, or a list that is used up request by request; later requests are answered as usual. */
export type ReplayBehaviors = ReplayBehavior | readonly ReplayBehavior[];

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isRecord = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** What each field may hold, and the words for it. */
const FIELDS: Readonly<Record<keyof ReplayBehavior, readonly [holds: (value: unknown) => boolean, words: string]>> = {
  status: [(value) => isCount(value) && Number(value) >= 200 && Number(value) <= 599, "an HTTP status, 200 to 599"],
  message: [(value) => typeof value === "string", "a string"],
  headers: [
    (value) => isRecord(value) && Object.values(value as object).every((text) => typeof text === "string"),
    "an object of strings",
  ],
  cutAtByte: [isCount, "a number of bytes"],
  cutAtEvent: [isCount, "a number of events"],
  append: [(value) => typeof value === "string" || isRecord(value), "an event or text"],
  cut: [(value) => ["reset", "end", "stall"].includes(value as string), '"reset", "end" or "stall"'],
  delayMs: [(value) => typeof value === "number" && value >= 0, "a number of milliseconds"],
  times: [(value) => isCount(value) || value === Infinity, "a number of requests"],
};

/**
 * What is wrong with a behavior, as the end of a sentence; `undefined` for a valid one. A misspelt failure would never
 * happen, and its test would pass.
 */
export function wrongIn(behaviors: unknown): string | undefined {
  for (const behavior of [behaviors ?? []].flat()) {
    if (!isRecord(behavior)) return `is ${inspect(behavior)}; expected an object or a list of them`;
    const given = Object.entries(behavior as object).filter(([, value]) => value !== undefined);
    for (const [name, value] of given) {
      if (!Object.hasOwn(FIELDS, name))
        return `has the unknown key ${JSON.stringify(name)}; the keys are ${Object.keys(FIELDS).join(", ")}`;
      const [holds, expected] = FIELDS[name as keyof ReplayBehavior];
      if (!holds(value)) return `has the ${name} ${inspect(value)}; expected ${expected}`;
    }
    const how = behavior as ReplayBehavior;
    if (!sendsBody(how) && changesBody(how))
      return `has the status ${how.status}, with which no body is sent, and a cut or something to append`;
    if (how.cutAtByte !== undefined && (how.cutAtEvent !== undefined || typeof how.append === "object"))
      return "has a cutAtByte, which may cut an event in two: cut with cutAtEvent alone";
  }
  return undefined;
}

export function sendsBody({ status = 200 }: ReplayBehavior): boolean {
  return status === 200;
}

/** Whether a retry of the request gets the same body again: it did not get all of it, or the response did not end. */
export function isFailure(how: ReplayBehavior): boolean {
  return !sendsBody(how) || (how.cutAtByte ?? how.cutAtEvent) !== undefined || endingOf(how) !== "end";
}

function changesBody({ cutAtByte, cutAtEvent, append, cut }: ReplayBehavior): boolean {
  return (cutAtByte ?? cutAtEvent ?? append ?? cut) !== undefined;
}

/** The behavior for the request with this number, from 1. */
export function behaviorFor(behaviors: ReplayBehaviors | undefined, request: number): ReplayBehavior {
  const each = Array.isArray(behaviors) ? 1 : Infinity;
  let last = 0;
  for (const behavior of [behaviors ?? []].flat() as ReplayBehavior[]) {
    last += behavior.times ?? each;
    if (request <= last) return behavior;
  }
  return {};
}

/** How the response ends once the body that `how` leaves has been sent. */
export function endingOf({ cut, cutAtByte, cutAtEvent, append }: ReplayBehavior): "reset" | "end" | "stall" {
  const isCut = (cutAtByte ?? cutAtEvent) !== undefined && append === undefined;
  return cut ?? (isCut ? "reset" : "end");
}

/**
 * The body to send: cut, and followed by what is appended.
 *
 * @throws TypeError for `cutAtEvent`, or an event to append, with a body that is one JSON document
 */
export function leftOf(recording: Recording, how: ReplayBehavior): Recording {
  const { cutAtByte, cutAtEvent, append } = how;
  const format = formatOf(recording);
  if (format === "json" && (cutAtEvent !== undefined || typeof append === "object"))
    throw new TypeError("A JSON document has no events: cut it with cutAtByte, and append text");
  const end = cutAtEvent === undefined ? cutAtByte : [0, ...eventEnds(recording.bytes, format)][cutAtEvent];
  const kept = recording.bytes.subarray(0, end);
  const added = new TextEncoder().encode(append === undefined ? "" : appended(append, format, kept));
  // What is appended comes with the last of these.
  const chunks = coveringChunks({ ...recording, bytes: kept });
  return { ...recording, bytes: new Uint8Array(Buffer.concat([kept, added])), chunks };
}

function appended(append: object | string, format: Format, kept: Uint8Array): string {
  if (typeof append === "string") return append;
  const line = JSON.stringify(append);
  const [event, end] = format === "sse" ? [sseEvent(line), EVENT_END] : [`${line}\n`, LINE_END];
  // Editors strip blank lines at the end of a file, which leaves its last event open.
  return end.test(new TextDecoder().decode(kept.subarray(-4))) ? event : `\n\n${event}`;
}

const EVENT_END = /(?:^|\n\n|\r\r|\r\n\r\n)$/;
const LINE_END = /(?:^|\n)$/;
