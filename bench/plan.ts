/** What is measured, in a full and in a quick run. */
import type { Job, Size } from "./job.ts";
import type { PeerKind } from "./load-peers.ts";
import type { Rounds } from "./measure.ts";
import { sizeName } from "./table.ts";
import type { Wire } from "./wires.ts";
import { WIRES, workloads, type Packing, type WorkloadName } from "./workloads.ts";

export interface Plan {
  readonly jobs: readonly Job[];
  /** Whether each job has a process of its own. Otherwise the jobs of a wire share one. */
  readonly isolated: boolean;
  /** How many streams are open while their heap is measured, and how many are read to check that nothing is left. */
  readonly open: number;
  readonly ended: number;
  /** How often a package is imported. */
  readonly imports: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

const packings: readonly Packing[] = ["event", "16k"];

/** The wire on which growth is measured up to 16 MiB; on the others up to 1 MiB. */
const GROWTH_WIRE: Wire = "openai-chat";

/** The wires on which the peers are measured. */
export const PEER_WIRES: readonly Wire[] = ["openai-chat", "openai-responses", "anthropic"];

const PEER_CELLS: readonly (readonly [WorkloadName, Size])[] = [
  ["W1", { size: 200, streams: 100 }],
  ["W2", { size: 64 * KIB, streams: 1 }],
  ["W3", { size: 2 * KIB, streams: 1 }],
  ["W5", { size: 16 * KIB, streams: 1 }],
];

/** An hour or more. */
export function wholePlan(): Plan {
  const rounds = { runs: 9, warmUpMs: 100 };
  return {
    jobs: [
      ...everywhere("W1", 400, rounds),
      ...sizesOfW2(rounds),
      ...everywhere("W3", 2, rounds),
      ...everywhere("W4", 1000, rounds),
      ...everywhere("W5", 4, rounds),
      ...everywhere("W6", 1, rounds),
      ...everywhere("W7", 50, rounds),
      ...PEER_CELLS.flatMap(([name, size]) => besidePeers(name, "linear", size, packings, rounds)),
      // Compared with their time, how the bytes are cut does not matter, so one packing is enough.
      ...PEER_CELLS.flatMap(([name, size]) => besidePeers(name, "quadratic", size, ["event"], rounds)),
    ],
    isolated: true,
    open: 1000,
    ended: 100_000,
    imports: 9,
  };
}

/** Under a minute, too short to be exact. */
export function quickPlan(): Plan {
  const rounds = { runs: 3, warmUpMs: 0 };
  /** For the first job in the process of a wire, and of its peers: later jobs profit from what V8 has learned. */
  const first = { ...rounds, warmUpMs: 30 };
  return {
    jobs: [
      ...everywhere("W1", 20, first),
      ...WIRES.flatMap((wire) =>
        packings.map((packing): Job => ({
          workload: "W2",
          wire,
          packing,
          sizes: doublings(KIB, 16 * KIB).map((size) => ({
            size,
            streams: Math.max(1, (8 * KIB) / size),
            growthOnly: size !== 8 * KIB,
          })),
          rounds,
        })),
      ),
      ...everywhere("W3", 1, rounds, 256),
      ...everywhere("W4", 20, rounds, 512),
      ...everywhere("W5", 1, rounds, 2 * KIB),
      ...everywhere("W6", 1, rounds, 1000),
      ...everywhere("W7", 2, rounds),
      ...besidePeers("W1", "linear", { size: 200, streams: 10 }, ["event"], first),
      ...besidePeers("W3", "linear", { size: 256, streams: 1 }, ["event"], rounds),
    ],
    isolated: false,
    open: 20,
    ended: 5000,
    imports: 2,
  };
}

/** The label of a table, which `--only` matches. */
export function labelOf({ workload, wire, packing, peers, sizes }: Job): string {
  const size = sizes.map((one) => sizeName(workload, one.size)).join(", ");
  return [workload, size, wire, packing, ...(peers === undefined ? [] : ["peers"])].join(" ");
}

/** Every row on every wire, in both packings. */
function everywhere(workload: WorkloadName, streams: number, rounds: Rounds, size = workloads[workload].size): Job[] {
  return packings.flatMap((packing) =>
    WIRES.map((wire) => ({ workload, wire, packing, sizes: [{ size, streams }], rounds })),
  );
}

/** The largest sizes only on one wire, one event per chunk: a round of them takes many seconds. */
function sizesOfW2(rounds: Rounds): Job[] {
  const all = [KIB, 64 * KIB, MIB];
  return packings.flatMap((packing) =>
    WIRES.map((wire) => ({
      workload: "W2" as const,
      wire,
      packing,
      sizes: doublings(KIB, packing === "event" && wire === GROWTH_WIRE ? 16 * MIB : MIB).map((size) => ({
        size,
        streams: Math.max(1, (128 * KIB) / size),
        growthOnly: !all.includes(size),
      })),
      rounds,
    })),
  );
}

function besidePeers(
  workload: WorkloadName,
  peers: PeerKind,
  size: Size,
  among: readonly Packing[],
  rounds: Rounds,
): Job[] {
  return among.flatMap((packing) =>
    PEER_WIRES.map((wire) => ({ workload, wire, packing, sizes: [size], peers, rounds })),
  );
}

function doublings(from: number, to: number): number[] {
  const sizes: number[] = [];
  for (let size = from; size <= to; size *= 2) sizes.push(size);
  return sizes;
}
