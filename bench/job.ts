/** Measures one column of a table: rows in turns on the same bytes, in one process. */
import { isDeepStrictEqual } from "node:util";
import type { Outcome } from "./floor.ts";
import { loadPeers, type PeerKind } from "./load-peers.ts";
import { alternate, ratios, spread, type Rounds } from "./measure.ts";
import { growing, isFor, responseRows, rows, runAll, type Row } from "./rows.ts";
import type { Wire } from "./wires.ts";
import { makeInput, workloads, type Packing, type Stream, type WorkloadName } from "./workloads.ts";

/** Plain data, since it is sent to another process. */
export interface Job {
  readonly workload: WorkloadName;
  readonly wire: Wire;
  readonly packing: Packing;
  readonly sizes: readonly Size[];
  /** Peers are measured together with some of our rows; without peers all of our rows are measured. */
  readonly peers?: PeerKind;
  /** Only rows with this in their name, and those that they are compared with. */
  readonly only?: string;
  readonly rounds: Rounds;
}

export interface Size {
  readonly size: number;
  /** Streams per run. */
  readonly streams: number;
  /** Only the rows whose growth is shown. */
  readonly growthOnly?: boolean;
}

export interface Result {
  readonly workload: WorkloadName;
  readonly size: number;
  readonly wire: Wire;
  readonly packing: Packing;
  readonly row: string;
  /** Relative to floor a: the median of the rounds. */
  readonly ratio: number;
  /** For the workload's unit: 1,000 streams, or one. */
  readonly ms: number;
  /** Least and most. */
  readonly spread: { readonly ratio: readonly [number, number]; readonly ms: readonly [number, number] };
  /** For our rows on an SDK: relative to iterating that SDK raw. */
  readonly toRaw?: number;
  /** Relative to the time of half the size in the same rounds. */
  readonly growth?: number;
  /** Measured together with these peers. */
  readonly beside?: PeerKind;
}

export interface JobResult {
  readonly results: readonly Result[];
  /** Peers that were left out, each with the reason. */
  readonly notes: readonly string[];
}

/** @throws Error if one of our rows does not produce the calls of the stream */
export async function runJob(job: Job): Promise<JobResult> {
  const { wire, packing, rounds } = job;
  const workload = workloads[job.workload];
  const notes: string[] = [];
  const timed: { row: Row; size: Size; input: ReturnType<typeof makeInput> }[] = [];
  for (const size of job.sizes) {
    const input = makeInput(wire, workload, size.size, size.streams, packing);
    for (const row of await rowsOf(job, size, input.streams[0]!, notes)) {
      await row.prepare?.(wire, input.streams);
      await check(row, wire, input.streams[0]!);
      timed.push({ row, size, input });
    }
  }
  const times = await alternate(
    timed.map(({ row, input }) => ({ run: () => runAll(row, input) })),
    rounds,
  );
  const timesOf = (size: Size | undefined, name: string) =>
    times[timed.findIndex((one) => one.size === size && one.row.name === name)];
  const results = timed.map(({ row: { name }, size }, index): Result => {
    const own = times[index]!;
    const ratio = ratios(own, timesOf(size, "floor a")!);
    const scale = workload.unit / size.streams;
    const ms = spread(own.map((time) => time * scale));
    const raw = name.startsWith("toolstream sdk") ? timesOf(size, "sdk raw") : undefined;
    const smaller = job.sizes.find((one) => one.size === size.size / 2);
    const half = timesOf(smaller, name);
    return {
      workload: workload.name,
      size: size.size,
      wire,
      packing,
      row: name,
      ratio: ratio.median,
      ms: ms.median,
      spread: { ratio: [ratio.min, ratio.max], ms: [ms.min, ms.max] },
      ...(raw && { toRaw: ratios(own, raw).median }),
      ...(half && { growth: (ratios(own, half).median * smaller!.streams) / size.streams }),
      ...(job.peers && { beside: job.peers }),
    };
  });
  return { results, notes };
}

async function rowsOf(job: Job, size: Size, stream: Stream, notes: string[]): Promise<Row[]> {
  const own = rows.filter(
    (row) =>
      size.size <= (row.maxSize ?? Infinity) &&
      isFor(row, job.workload, job.wire) &&
      (growing.includes(row.name) || (size.growthOnly !== true && job.peers === undefined)),
  );
  const all = job.peers === undefined ? own : [...own, ...responseRows, ...(await peersOf(job, stream, notes))];
  const { only } = job;
  if (only === undefined) return all;
  const wanted = all.filter(({ name }) => name.toLowerCase().includes(only));
  if (wanted.length === 0) return [];
  const isRawNeeded = wanted.some(({ name }) => name.startsWith("toolstream sdk"));
  return all.filter((row) => wanted.includes(row) || row.name === "floor a" || (isRawNeeded && row.name === "sdk raw"));
}

async function peersOf({ workload, wire, peers: kind }: Job, stream: Stream, notes: string[]): Promise<Row[]> {
  const { peers, failures } = await loadPeers(kind!, wire);
  notes.push(...failures);
  const found: Row[] = [];
  for (const { name, wires, readsText } of peers) {
    const run = wires[wire];
    if (run === undefined || (workload === "W5" && readsText !== true)) continue;
    const row: Row = { name, run: (_wire, one) => run(one) };
    try {
      await check(row, wire, stream);
      found.push(row);
    } catch (error) {
      notes.push(`${name} (${workload}, ${wire}) is left out: ${String(error)}`);
    }
  }
  return found;
}

async function check({ name, run }: Row, wire: Wire, stream: Stream): Promise<void> {
  const outcome = await run(wire, stream);
  if (outcome === undefined || isDeepStrictEqual(outcome, outcomeOf(stream))) return;
  throw new Error(`${name} does not give the text and calls of the stream (${wire})`);
}

/** The result that every row must produce. */
export function outcomeOf({ turn: { text = "", calls } }: Pick<Stream, "turn">): Outcome {
  return { text, calls: calls.map(({ id, name, argsText }) => ({ id, name, input: JSON.parse(argsText) as unknown })) };
}
