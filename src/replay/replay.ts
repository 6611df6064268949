import { pause } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { checkRecording, coveringChunks, type RecordedChunk, type Recording } from "./recording.ts";

/** Options of {@link replay}. */
export interface ReplayOptions {
  /** How many times faster than it was recorded. Default `Infinity`: immediately, as fast as it is read. */
  readonly speed?: number | undefined;
  /** Ends the replay with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionNames<ReplayOptions> = { speed: true, signal: true };

/** The size of the pieces if a recording has no timing. */
const PIECE_BYTES = 16 * 1024;

/**
 * Plays the recorded body again, in its original chunks.
 *
 * @throws TypeError if `recording` is not one, or for an invalid option
 */
export function replay(recording: Recording, options: ReplayOptions = {}): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { speed = Infinity, signal } = options;
  checkRecording(recording, "replay()");
  checkOptionNames("replay()", options, OPTIONS);
  if (!(speed > 0)) throw new TypeError(`speed has to be a positive number, not ${speed}`);
  const chunks = piecesOf(recording);
  const start = performance.now();
  let next = 0;
  let at = 0;
  /** Ends the listening, and a wait for the next piece, which would keep the process alive. */
  const over = new AbortController();

  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(controller) {
        if (signal?.aborted === true) return controller.error(signal.reason);
        const onAbort = (): void => {
          over.abort();
          controller.error(signal!.reason);
        };
        signal?.addEventListener("abort", onAbort, { signal: over.signal });
      },
      async pull(controller) {
        const chunk = chunks[next++];
        if (chunk === undefined) {
          over.abort();
          return controller.close();
        }
        await pause(start + chunk.atMs / speed - performance.now(), over.signal);
        if (over.signal.aborted) return;
        controller.enqueue(recording.bytes.slice(at, at + chunk.length));
        at += chunk.length;
      },
      cancel: () => over.abort(),
    },
    { highWaterMark: 0 },
  );
}

/** The recorded chunks; without timing, pieces of equal size that are due immediately. */
function piecesOf(recording: Recording): readonly RecordedChunk[] {
  const { bytes, chunks } = recording;
  if (chunks.length > 0) return coveringChunks(recording);
  return Array.from({ length: Math.ceil(bytes.length / PIECE_BYTES) }, (_, i) => ({
    atMs: 0,
    length: Math.min(PIECE_BYTES, bytes.length - i * PIECE_BYTES),
  }));
}
