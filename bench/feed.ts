/** Sources that control when their chunks come. */
import { completingFrame, type Stream } from "./workloads.ts";
import type { Wire } from "./wires.ts";

/**
 * The same streams, fed in turns: a round begins once every open stream has asked for its next chunk, and gives one to
 * each.
 */
export function inTurns(streams: readonly Stream[]): Stream[] {
  let open = streams.length;
  let asked: (() => void)[] = [];
  const give = () => {
    if (asked.length < open) return;
    const round = asked;
    asked = [];
    for (const answer of round) answer();
  };
  return streams.map((stream) => {
    let at = 0;
    let isOpen = true;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      open--;
    };
    const next = () =>
      new Promise<IteratorResult<Uint8Array>>((resolve) => {
        const answer = () => {
          const value = stream.chunks[at++];
          if (value === undefined) close();
          resolve(value === undefined ? { value, done: true } : { value, done: false });
        };
        if (!isOpen) return answer();
        asked.push(answer);
        give();
      });
    const leave = async (): Promise<IteratorResult<Uint8Array>> => {
      close();
      give();
      return { value: undefined, done: true };
    };
    return over(stream, () => ({ [Symbol.asyncIterator]: () => ({ next, return: leave }) }));
  });
}

/** Measures the time from the chunk that completes a call to what happened because of it. */
export class Stopwatch {
  #given: number | undefined;
  #milliseconds: number | undefined;

  give(): void {
    this.#given = performance.now();
  }

  /** Only the first time after the chunk was given counts. */
  stop(): void {
    if (this.#given !== undefined) this.#milliseconds ??= performance.now() - this.#given;
  }

  /** @throws Error if it was not stopped */
  get milliseconds(): number {
    if (this.#milliseconds === undefined) throw new Error("the handler was not started while the turn went on");
    return this.#milliseconds;
  }
}

/** The same stream; each chunk after the event that completes its first call comes in a macrotask of its own. */
export function timed(wire: Wire, stream: Stream, watch: Stopwatch): Stream {
  const { chunks } = stream;
  const last = completingChunk(wire, stream);
  return over(stream, () => {
    let at = 0;
    const next = (): Promise<IteratorResult<Uint8Array>> => {
      const value = chunks[at++];
      if (value === undefined) return Promise.resolve({ value, done: true });
      if (at - 1 > last) return new Promise((resolve) => setImmediate(resolve, { value, done: false }));
      if (at - 1 === last) watch.give();
      return Promise.resolve({ value, done: false });
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  });
}

/** The chunk that contains the end of the event that completes the first call. */
export function completingChunk(wire: Wire, stream: Stream): number {
  const { frames, chunks } = stream;
  const frame = completingFrame(wire, stream);
  let left = Buffer.byteLength(frames.slice(0, frame + 1).join(""));
  return chunks.findIndex(({ length }) => (left -= length) <= 0);
}

/** The same stream from another source. */
function over(stream: Stream, open: Stream["open"]): Stream {
  return {
    turn: stream.turn,
    // Not copied: frames are created on demand.
    get frames() {
      return stream.frames;
    },
    chunks: stream.chunks,
    open,
    isReady: false,
  };
}
