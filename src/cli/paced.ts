import type { RecordedChunk, Recording } from "../replay/index.ts";
import { eventEnds, formatOf } from "../replay/recording.ts";

/** How long a paced recording takes: long enough to watch, short enough to wait for. */
const TOTAL_MS = 2000;
const MAX_FRAME_MS = 40;
const PIECE_BYTES = 256;

/** The recording with its timing; without one, it gets an event every few milliseconds, two seconds in total. */
export function paced(recording: Recording): Recording {
  if (recording.chunks.length > 0) return recording;
  const ends = frameEnds(recording);
  const step = Math.min(MAX_FRAME_MS, TOTAL_MS / ends.length);
  const chunks: RecordedChunk[] = ends.map((end, at) => ({ atMs: at * step, length: end - (ends[at - 1] ?? 0) }));
  return { ...recording, chunks };
}

/** Where each event ends; if there are none, pieces of equal size. */
function frameEnds(recording: Recording): number[] {
  const { bytes } = recording;
  let found = eventEnds(bytes, formatOf(recording));
  if (found.length < 2)
    found = Array.from({ length: Math.floor(bytes.length / PIECE_BYTES) }, (_, at) => (at + 1) * PIECE_BYTES);
  if (found.at(-1) !== bytes.length) found.push(bytes.length);
  return found;
}
