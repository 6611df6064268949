/** The project's own targets, and whether this run met them. */
import type { Result } from "./job.ts";
import type { EndedMemory } from "./memory.ts";
import { sizeName, type Table } from "./table.ts";
import type { Wire } from "./wires.ts";
import type { WorkloadName } from "./workloads.ts";

interface Measured {
  readonly value: number;
  readonly where: string;
}

interface Target {
  readonly what: string;
  readonly limit: number;
  readonly measured: readonly Measured[];
}

export function targetsTable(results: readonly Result[], ended?: EndedMemory): Table {
  const targets: Target[] = [
    { what: "W1, to floor a", limit: 0.75, measured: toFloor(results, "W1") },
    {
      what: "W2 on openai-chat, to floor a",
      limit: 0.6,
      measured: toFloor(results, "W2", (wire) => wire === "openai-chat"),
    },
    {
      what: "W2 on the others, to floor a",
      limit: 0.85,
      measured: toFloor(results, "W2", (wire) => wire !== "openai-chat"),
    },
    { what: "W3, to floor a", limit: 0.8, measured: toFloor(results, "W3") },
    { what: "W4, to floor a", limit: 1, measured: toFloor(results, "W4") },
    { what: "W5, to floor a", limit: 0.9, measured: toFloor(results, "W5") },
    {
      what: "From the SDK's iterable, to iterating it raw",
      limit: 1.15,
      measured: results
        .filter(({ row, toRaw, workload }) => row === "toolstream sdk" && toRaw !== undefined && workload !== "W7")
        .map((one) => ({ value: one.toRaw!, where: where(one) })),
    },
    {
      what: "Growth: a doubling of W2",
      limit: 2.2,
      measured: results
        .filter(({ growth, row }) => growth !== undefined && row.startsWith("toolstream"))
        .map((one) => ({ value: one.growth!, where: `${one.row}, ${where(one)}` })),
    },
    {
      what: "To the fastest peer of the same table, partial input read",
      limit: 1,
      measured: toPeers(results),
    },
  ];
  const body = targets
    .filter(({ measured }) => measured.length > 0)
    .map(({ what, limit, measured }) => {
      const worst = measured.reduce((a, b) => (b.value > a.value ? b : a));
      const isMet = worst.value <= limit;
      const missed = measured.filter(({ value }) => value > limit).length;
      return [
        what,
        `<= ${limit}`,
        `${worst.value.toFixed(2)} (${worst.where})`,
        isMet ? "met" : `MISSED by ${missed} of ${measured.length}`,
      ];
    });
  if (ended !== undefined) {
    body.push(["Objects left of streams that ended", "0", String(ended.alive), ended.alive === 0 ? "met" : "MISSED"]);
  }
  return {
    title: "Targets",
    head: ["", "target", "worst", ""],
    body,
    notes: ["To floor a: from bytes, one event a network chunk, the partial input read at every delta."],
  };
}

/** From bytes, one event per network chunk, partial input read at every delta. */
function toFloor(
  results: readonly Result[],
  workload: WorkloadName,
  isWanted: (wire: Wire) => boolean = () => true,
): Measured[] {
  return results
    .filter((one) => one.workload === workload && one.packing === "event" && one.beside === undefined)
    .filter(({ row, wire }) => row === "toolstream bytes + input" && isWanted(wire))
    .map((one) => ({ value: one.ratio, where: where(one) }));
}

function toPeers(results: readonly Result[]): Measured[] {
  const isOurs = ({ row }: Result) => /^(toolstream|floor|response raw|sdk raw)/.test(row);
  return results
    .filter(({ beside, row }) => beside !== undefined && row === "toolstream bytes + input")
    .flatMap((own) => {
      const peers = results.filter(
        (one) =>
          one.beside === own.beside &&
          one.workload === own.workload &&
          one.size === own.size &&
          one.wire === own.wire &&
          one.packing === own.packing &&
          !isOurs(one),
      );
      if (peers.length === 0) return [];
      const best = peers.reduce((a, b) => (b.ratio < a.ratio ? b : a));
      return [{ value: own.ratio / best.ratio, where: `${best.row}, ${where(own)}` }];
    });
}

function where({ workload, size, wire, packing }: Result): string {
  return `${workload}, ${sizeName(workload, size)}, ${wire}, ${packing}`;
}
