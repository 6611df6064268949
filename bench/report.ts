/** Results as tables. */
import type { Job, Result } from "./job.ts";
import type { Loaded } from "./imports.ts";
import type { EndedMemory, OpenMemory } from "./memory.ts";
import { PEER_WIRES } from "./plan.ts";
import { growing } from "./rows.ts";
import { sizeName, type Table } from "./table.ts";
import { WIRES, workloads } from "./workloads.ts";

/** The tables of jobs that differ only in their wire. */
export function tablesOf(job: Job, results: readonly Result[], versionOf: (row: string) => string): Table[] {
  const { workload, packing, peers } = job;
  const wires = (peers === undefined ? WIRES : PEER_WIRES).filter((wire) => results.some((one) => one.wire === wire));
  const chunks = packing === "event" ? "one event a network chunk" : "16 KiB network chunks";
  const tables = job.sizes
    .filter(({ growthOnly }) => growthOnly !== true)
    .flatMap(({ size }): Table[] => {
      const of = (row: string, wire: string) =>
        results.find((one) => one.row === row && one.wire === wire && one.size === size);
      const names = [...new Set(results.filter((one) => one.size === size).map(({ row }) => row))];
      if (names.length === 0) return [];
      const beside =
        peers === undefined
          ? ""
          : `, beside the peers${peers === "quadratic" ? " that read the arguments again at every delta" : ""}`;
      const base = wires.map((wire) => time(of("floor a", wire)?.ms));
      const body = names
        .filter((name) => name !== "floor a")
        .map((name) => [`${name}${versionOf(name)}`, ...wires.map((wire) => ratioText(of(name, wire)))]);
      const toRaw = names
        .filter((name) => name.startsWith("toolstream sdk"))
        .map((name) => [`${name} / sdk raw`, ...wires.map((wire) => of(name, wire)?.toRaw?.toFixed(2) ?? "-")]);
      return [
        {
          title: `${workload}, ${sizeName(workload, size)}, ${chunks}${beside}: ${workloads[workload].title}`,
          head: ["", ...wires],
          body: [["floor a", ...base], ...body, ...toRaw],
          notes: [],
        },
      ];
    });
  return job.sizes.length > 1 ? [...tables, ...growthTables(job, results, chunks)] : tables;
}

function growthTables({ workload, sizes }: Job, results: readonly Result[], chunks: string): Table[] {
  const wires = WIRES.filter((wire) => results.some((one) => one.wire === wire));
  return growing
    .filter((row) => results.some((one) => one.row === row))
    .map((row) => ({
      title: `Growth, ${workload}, ${row}, ${chunks}: time, and how much of it is that of half the size`,
      head: ["", ...wires],
      body: sizes.map(({ size }) => [
        sizeName(workload, size),
        ...wires.map((wire) => {
          const one = results.find((result) => result.row === row && result.wire === wire && result.size === size);
          const factor = one?.growth === undefined ? "" : ` (x ${one.growth.toFixed(2)})`;
          return `${time(one?.ms)}${factor}`;
        }),
      ]),
      notes: [],
    }));
}

export function memoryTable(open: readonly OpenMemory[], ended: EndedMemory, streams: number): Table {
  const rows = [...new Set(open.map(({ row }) => row))];
  return {
    title: `Heap of one of ${streams.toLocaleString("en")} open streams, each in the middle of a call of 2 KiB`,
    head: ["", ...WIRES],
    body: rows.map((row) => [
      row,
      ...WIRES.map((wire) => {
        const { bytes } = open.find((one) => one.row === row && one.wire === wire)!;
        return `${(bytes / 1024).toFixed(1)} KiB`;
      }),
    ]),
    notes: [
      `After ${ended.streams.toLocaleString("en")} streams that ended, ${ended.alive} of ${ended.watched.toLocaleString("en")} watched objects (streams, turns, calls, uses) are left; the heap grew by ${ended.bytesPerStream.toFixed(1)} B a stream.`,
    ],
  };
}

export function importsTable(loaded: readonly Loaded[], versionOf: (name: string) => string): Table {
  return {
    title: "Size in a bundle, minified and compressed with brotli, and import time in a new process",
    head: ["", "kB", "ms", "least", "most"],
    body: loaded.map(({ packages, bytes, ms, spread: [min, max] }) => [
      packages.map((name) => `${name}${versionOf(name)}`).join(" + ") || "(nothing)",
      (bytes / 1000).toFixed(1),
      ms.toFixed(1),
      min.toFixed(1),
      max.toFixed(1),
    ]),
    notes: [],
  };
}

function ratioText(result: Result | undefined): string {
  if (result === undefined) return "-";
  const [min, max] = result.spread.ratio;
  return `${result.ratio.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`;
}

function time(ms: number | undefined): string {
  if (ms === undefined) return "-";
  if (ms >= 1) return `${ms.toFixed(ms < 100 ? 1 : 0)} ms`;
  return `${(ms * 1000).toFixed(ms < 0.01 ? 1 : 0)} µs`;
}
