/**
 * Memory: how much heap an open stream takes, and what is left of streams that have ended.
 *
 *     node bench/memory.ts open 1000
 *     node bench/memory.ts ended 100000 [--leak]
 *
 * `--leak` keeps one small object per stream, to show that a leak would be noticed.
 */
import { execFileSync } from "node:child_process";
import { setImmediate as macrotask } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { collect } from "./measure.ts";
import { adapterOf, growing, rows, tools, type Row } from "./rows.ts";
import type { Wire } from "./wires.ts";
import { each, makeInput, makeStream, WIRES, workloads, type Stream } from "./workloads.ts";

export interface OpenMemory {
  readonly wire: Wire;
  readonly row: string;
  /** Bytes of one stream, with half of a call received. */
  readonly bytes: number;
}

export interface EndedMemory {
  readonly streams: number;
  /** How many streams, turns, calls and uses were watched. */
  readonly watched: number;
  readonly alive: number;
  /** Growth of the heap after the first fifth of the streams, divided by the number of the other streams. */
  readonly bytesPerStream: number;
}

/** In a process of its own. */
export function measureOpen(streams: number): OpenMemory[] {
  return inProcess(["open", String(streams)]) as OpenMemory[];
}

/** In a process of its own. */
export function measureEnded(streams: number, { leak = false } = {}): EndedMemory {
  return inProcess(["ended", String(streams), ...(leak ? ["--leak"] : [])]) as EndedMemory;
}

function inProcess(args: readonly string[]): unknown {
  const file = fileURLToPath(import.meta.url);
  return JSON.parse(execFileSync(process.execPath, [file, ...args], { encoding: "utf8" }));
}

async function open(count: number): Promise<OpenMemory[]> {
  const found: OpenMemory[] = [];
  for (const wire of WIRES) {
    const { streams } = makeInput(wire, workloads.W4, workloads.W4.size, count, "event");
    for (const row of rows.filter(({ name }) => growing.includes(name))) {
      await heapOfOpen(row, wire, streams); // so that code and shapes exist
      const bytes = await heapOfOpen(row, wire, streams);
      found.push({ wire, row: row.name, bytes: Math.round(bytes) });
    }
  }
  return found;
}

/** A function of its own, so that nothing of the previous round is still held when this one begins. */
async function heapOfOpen(row: Row, wire: Wire, streams: readonly Stream[]): Promise<number> {
  const before = await used();
  const halves = streams.map(half);
  const read = halves.map((one) => row.run(wire, one.stream));
  const bytes = ((await used()) - before) / streams.length;
  for (const one of halves) one.goOn();
  await Promise.all(read);
  return bytes;
}

/** A stream that pauses in the middle of its call until it is told to go on. */
function half(stream: Stream): { readonly stream: Stream; goOn(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { turn, chunks } = stream;
  const middle = chunks.length >> 1;
  let at = 0;
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    if (at === middle) await promise;
    const value = chunks[at++];
    return value === undefined ? { value, done: true } : { value, done: false };
  };
  return {
    stream: { turn, chunks, frames: [], isReady: false, open: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) },
    goOn: resolve,
  };
}

async function ended(count: number, leak: boolean): Promise<EndedMemory> {
  const streams = WIRES.flatMap((wire) =>
    Array.from({ length: 10 }, (_, seed) => {
      const turn = { ...workloads.W1.turn(60, seed), deltaLength: 16 };
      return { wire, chunks: makeStream(wire, turn, seed % 2 === 0 ? "event" : "16k").chunks };
    }),
  );
  // One for all, as in a server: listeners must be removed again.
  const { signal } = new AbortController();
  const watched: WeakRef<object>[] = [];
  const kept: object[] = [];
  const one = async (index: number) => {
    const { wire, chunks } = streams[index % streams.length]!;
    const stream = adapterOf(wire).read(each(chunks), { tools, ...(index % 2 === 0 && { signal }) });
    for await (const event of stream) {
      if (event.type === "tool-input-delta") void (index % 3 === 0 ? event.call.input : event.call.changes());
      if (event.type === "tool-use") {
        await event.use.execute();
        if (index % 50 < 5) watched.push(new WeakRef(event.use));
      }
    }
    if (stream.turn.error !== undefined || stream.turn.calls.length !== 1) throw new Error("the stream was not read");
    if (index % 50 < 5)
      for (const part of [stream, stream.turn, stream.turn.calls[0]!]) watched.push(new WeakRef(part));
    if (leak) kept.push({});
  };
  const first = Math.floor(count / 5);
  for (let index = 0; index < first; index++) await one(index);
  const before = await used();
  const watchedBefore = watched.length;
  for (let index = first; index < count; index++) await one(index);
  // The references themselves belong to the measurement.
  const alive = await aliveOf(watched);
  const total = watched.length;
  watched.length = watchedBefore;
  const after = await used();
  if (leak && kept.length !== count) throw new Error("nothing was kept");
  return { streams: count, watched: total, alive, bytesPerStream: (after - before) / (count - first) };
}

async function aliveOf(watched: readonly WeakRef<object>[]): Promise<number> {
  await used();
  return watched.filter((reference) => reference.deref() !== undefined).length;
}

/** Bytes in use on and off the heap, after a collection. */
async function used(): Promise<number> {
  // A WeakRef keeps a new target alive until the macrotask ends; finalizers run in one of their own.
  for (let time = 0; time < 2; time++) {
    await macrotask();
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [mode, count] = process.argv.slice(2);
  const result =
    mode === "open" ? await open(Number(count)) : await ended(Number(count), process.argv.includes("--leak"));
  console.log(JSON.stringify(result));
}
