/**
 * This library against the floor and against its peers, on the same bytes in one process.
 *
 *     node bench/main.ts [--quick] [--only TEXT] [--json] [--no-peers] [--write]
 *
 * The peers are installed in bench/node_modules when they are missing; `--quick` then goes without them. `--write` puts
 * what is printed into bench/RESULTS.md. Guards: the ratios to the floor, and linear growth. `--quick` takes under a
 * minute and is too short to be exact; `--only` measures what has TEXT in its label (`W2 64 KiB anthropic event`,
 * `growth cohere`, `peers`) or, where no label has it, the rows that have it in their name. Before it is measured, each
 * row has to come to the floor's calls; a row that does not ends the program with status 1, a peer that does not is
 * left out. The inputs are seeded; test/bench.test.ts reads them back.
 */
import { writeFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { availableParallelism, cpus } from "node:os";
import { alternate, ratios, spread, type Rounds } from "./measure.ts";
import { install, isInstalled, loadPeers, versions } from "./load-peers.ts";
import type { Outcome } from "./floor.ts";
import type { Peer } from "./peer.ts";
import { responseRows, rows, type Row, type RowName } from "./rows.ts";
import { sizeName, table } from "./table.ts";
import type { Wire } from "./wires.ts";
import {
  makeInput,
  STREAMING_WIRES,
  WIRES,
  workloads,
  type Input,
  type Packing,
  type Stream,
  type Workload,
} from "./workloads.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

interface Plan extends Rounds {
  readonly cells: readonly Cell[];
  readonly peerCells: readonly PeerCell[];
  readonly peerPackings: readonly Packing[];
  readonly growthTo: number;
  /** Characters of arguments that one run of a small size reads, spread over as many streams as that takes. */
  readonly growthLength: number;
}

/** One line of a table: a size of a workload in one packing. */
interface Cell {
  readonly workload: Workload;
  readonly size: number;
  readonly streams: number;
}

interface PeerCell extends Cell, Rounds {
  /** The peers that read all of the arguments again at every delta, the others, or all. */
  readonly quadratic?: boolean;
}

/** What is timed: a row, or a peer on one wire. */
interface Runner {
  readonly name: string;
  run(wire: Wire, stream: Stream): Promise<Outcome | undefined>;
}

const { W1, W2 } = workloads;

/** The wires that peers are measured on. */
const PEER_WIRES: readonly Wire[] = ["openai-chat", "anthropic"];

const whole: Plan = {
  runs: 9,
  warmUp: 2,
  cells: [
    { workload: W1, size: 200, streams: 1000 },
    { workload: W2, size: 64 * KIB, streams: 4 },
    { workload: W2, size: MIB, streams: 1 },
  ],
  peerCells: [
    { workload: W1, size: 200, streams: 100, runs: 9, warmUp: 2 },
    { workload: W2, size: 64 * KIB, streams: 1, runs: 9, warmUp: 2, quadratic: false },
    { workload: W2, size: 64 * KIB, streams: 1, runs: 9, warmUp: 1, quadratic: true },
  ],
  peerPackings: ["event", "16k"],
  growthTo: 16 * MIB,
  growthLength: MIB,
};

const quick: Plan = {
  runs: 5,
  warmUp: 2,
  cells: [
    { workload: W1, size: 200, streams: 100 },
    { workload: W2, size: 64 * KIB, streams: 1 },
  ],
  peerCells: [
    { workload: W1, size: 200, streams: 20, runs: 3, warmUp: 1 },
    { workload: W2, size: 64 * KIB, streams: 1, runs: 3, warmUp: 1, quadratic: false },
    { workload: W2, size: 8 * KIB, streams: 1, runs: 3, warmUp: 1, quadratic: true },
  ],
  peerPackings: ["event"],
  growthTo: 256 * KIB,
  growthLength: 32 * KIB,
};

/** The rows whose growth is shown. */
const GROWING: readonly RowName[] = [
  "floor a",
  "toolstream bytes",
  "toolstream bytes + input",
  "toolstream bytes + changes",
];

interface Result {
  readonly workload: string;
  readonly size: number;
  readonly wire: Wire;
  readonly packing: Packing;
  /** Of the library or of a peer. */
  readonly row: string;
  /** To the floor: median over the rounds. */
  readonly ratio: number;
  /** Of `toolstream sdk`: to `events raw`. */
  readonly toRaw?: number;
  readonly ms: number;
  /** Least and most. */
  readonly spread: { readonly ratio: readonly [number, number]; readonly ms: readonly [number, number] };
}

interface Growth {
  readonly wire: Wire;
  readonly row: RowName;
  readonly size: number;
  /** Of arguments. */
  readonly nsPerByte: number;
  /** To the time of half the size; `null` for the first. */
  readonly factor: number | null;
}

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean" },
    only: { type: "string" },
    json: { type: "boolean" },
    "no-peers": { type: "boolean" },
    write: { type: "boolean" },
  },
});
const lines: string[] = [];
const plan = options.quick === true ? quick : whole;
const only = options.only?.toLowerCase();
const packings: readonly Packing[] = ["event", "16k"];
const labels = plan.cells.flatMap((cell) =>
  WIRES.flatMap((wire) => packings.map((packing) => labelOf(cell, wire, packing))),
);
const growthLabels = STREAMING_WIRES.map((wire) => `growth ${wire}`);
const peerLabels = plan.peerCells.flatMap((cell) =>
  PEER_WIRES.flatMap((wire) => plan.peerPackings.map((packing) => `${labelOf(cell, wire, packing)} peers`)),
);
const isLabel = only !== undefined && [...labels, ...growthLabels, ...peerLabels].some((label) => hasText(label));

await main();

async function main(): Promise<void> {
  const node = process.version;
  const machine = `${cpus()[0]?.model.trim() ?? "unknown"} x ${availableParallelism()}`;
  const date = new Date().toISOString().slice(0, 10);
  say(`toolstream bench: Node ${node}, ${machine}, ${date}`);
  say(`Ratios to the floor (median of ${plan.runs} rounds, least and most behind it): smaller is faster.`);
  const peers = await findPeers();
  const results: Result[] = [];
  for (const cell of plan.cells) {
    for (const packing of packings) results.push(...(await measureTable(cell, packing)));
  }
  for (const cell of peers.length === 0 ? [] : plan.peerCells) {
    for (const packing of plan.peerPackings) {
      // Where a cell has been measured without the peers, those are the rows of ours that count.
      const known = results.map((result) => keyOf(result));
      const beside = await measurePeers(cell, packing, peers);
      results.push(...beside.filter((result) => !known.includes(keyOf(result))));
    }
  }
  const growth: Growth[] = [];
  for (const wire of STREAMING_WIRES) growth.push(...(await measureGrowth(wire)));
  if (results.length === 0 && growth.length === 0 && !isLabel) {
    throw new TypeError(
      `Nothing is called ${JSON.stringify(options.only)}. There is: ${[...labels, ...peerLabels].join("; ")}`,
    );
  }
  if (options.write === true) {
    const intro = "What `npm run bench -- --write` printed. Compare the ratios, not the times: machines differ.";
    const text = `# Results of the benchmark\n\n${intro}\n\n\`\`\`text\n${lines.join("\n")}\n\`\`\`\n`;
    writeFileSync(new URL("RESULTS.md", import.meta.url), text);
  }
  if (options.json === true)
    console.log(JSON.stringify({ node, machine, date, peers: used(peers), rows: results, growth }));
}

/** Installed if need be; none where they were not asked for. */
async function findPeers(): Promise<Peer[]> {
  if (options["no-peers"] === true || (only !== undefined && isLabel && !peerLabels.some((label) => hasText(label)))) {
    return [];
  }
  if (!isInstalled()) {
    if (options.quick === true) {
      tell("The peers are not installed, so they are left out: `npm ci` in bench/ installs them.");
      return [];
    }
    console.error("Installing the peers in bench/node_modules (npm ci).");
    install();
  }
  const { peers, failures } = await loadPeers();
  for (const failure of failures) tell(`left out: ${failure}`);
  return peers.filter((peer) => hasWantedName(peer));
}

/** The peers of one cell beside the rows of ours, all in turns: a table with a line a row. */
async function measurePeers(cell: PeerCell, packing: Packing, all: readonly Peer[]): Promise<Result[]> {
  const peers = all.filter(({ quadratic }) => cell.quadratic === undefined || cell.quadratic === quadratic);
  const wires = PEER_WIRES.filter((wire) => isWanted(`${labelOf(cell, wire, packing)} peers`));
  if (peers.length === 0 || wires.length === 0) return [];
  const own: readonly Runner[] = [
    ...rows.filter(({ name }) => GROWING.includes(name)),
    ...responseRows.filter(({ name }) => name.startsWith("toolstream") || cell.quadratic !== true),
  ];
  const results: Result[] = [];
  for (const wire of wires) {
    const theirs: Runner[] = [];
    const [stream] = makeInput(wire, cell.workload, cell.size, 1, packing).streams;
    for (const { name, wires: runs } of peers) {
      const run = runs[wire];
      if (run === undefined) continue;
      const reason = await reasonAgainst(run, stream!);
      if (reason === undefined) theirs.push({ name, run: (_wire, one) => run(one) });
      else tell(`left out: ${name} (${wire}): ${reason}`);
    }
    results.push(...(await measureCell(cell, wire, packing, [...own, ...theirs], { ...cell, rehearse: true })));
  }
  const kind = cell.quadratic === true ? ", those that read the arguments again at every delta" : "";
  const chunk = packing === "event" ? "one event a network chunk" : "16 KiB network chunks";
  const size = `${sizeName(cell.size)}, ${cell.streams} streams, ${chunk}`;
  say(`\nPeers: ${cell.workload.name}, ${size}${kind} (median of ${cell.runs} rounds, each run after an untimed one)`);
  const of = (wire: Wire, name: string) => results.find((result) => result.wire === wire && result.row === name);
  const line = (name: string, label = name) => [label, ...wires.map((wire) => ratioText(of(wire, name)))];
  say(
    table(
      ["", ...wires],
      [
        ["floor a", ...wires.map((wire) => `${of(wire, "floor a")!.ms.toFixed(1)} ms`)],
        ...own.slice(1).map(({ name }) => line(name)),
        ...peers.map(({ name, package: from }) => line(name, `${name} (${versionOf(from)})`)),
      ],
    ),
  );
  if (cell.quadratic !== true) {
    say("response raw: the body that the peers read, iterated with no work. -: it does not read this wire.");
    say("The clients of providers make their request, too: that is in their numbers.");
  }
  for (const { name, note, package: from } of peers) {
    if (note !== undefined) say(`${name} (${versionOf(from)}): ${note}`);
  }
  return results;
}

/** Why a peer can not be measured, if so. */
async function reasonAgainst(run: (stream: Stream) => Promise<Outcome>, stream: Stream): Promise<string | undefined> {
  try {
    return isDeepStrictEqual(await run(stream), outcomeOf(stream)) ? undefined : "it comes to other calls";
  } catch (error) {
    return String(error);
  }
}

function used(peers: readonly Peer[]): Record<string, string> {
  return Object.fromEntries(peers.map(({ package: name }) => [name, versionOf(name)]));
}

function versionOf(name: string): string {
  return versions[name] ?? "unknown";
}

function keyOf({ workload, size, wire, packing, row }: Result): string {
  return [workload, size, wire, packing, row].join();
}

async function measureTable(cell: Cell, packing: Packing): Promise<Result[]> {
  const results: Result[] = [];
  for (const wire of WIRES.filter((name) => isWanted(labelOf(cell, name, packing)))) {
    const wanted = rows.filter((row) => cell.size <= row.maxSize && (packing === "event" || !row.fromEvents));
    results.push(...(await measureCell(cell, wire, packing, withBases(wanted))));
  }
  const shown = rows.filter((row) => row.name !== "floor a" && results.some((result) => result.row === row.name));
  if (shown.length === 0) return results;
  const chunk = packing === "event" ? "one event a network chunk" : "16 KiB network chunks";
  say(`\n${cell.workload.name}, ${sizeName(cell.size)}, ${cell.streams} streams, ${chunk} (${cell.workload.title})`);
  const of = (wire: Wire, name: RowName) => results.find((result) => result.wire === wire && result.row === name);
  say(
    table(
      ["wire", "floor a", ...shown.map(({ name }) => name.replace("toolstream ", ""))],
      WIRES.filter((wire) => of(wire, "floor a") !== undefined).map((wire) => [
        wire,
        `${of(wire, "floor a")!.ms.toFixed(1)} ms`,
        ...shown.map(({ name }) => ratioText(of(wire, name))),
      ]),
    ),
  );
  if (shown.some(({ fromEvents }) => fromEvents)) {
    const list = results.flatMap(({ wire, toRaw }) => (toRaw === undefined ? [] : `${wire} ${toRaw.toFixed(1)}`));
    say(`events raw: the parsed events iterated with no work; sdk to events raw: ${list.join(", ")}`);
  }
  return results;
}

async function measureCell(
  cell: Cell,
  wire: Wire,
  packing: Packing,
  wanted: readonly Runner[],
  rounds: Rounds = plan,
): Promise<Result[]> {
  const input = makeInput(wire, cell.workload, cell.size, cell.streams, packing);
  for (const row of wanted) await check(row, input);
  const times = await alternate(
    wanted.map((row) => ({ run: () => runAll(row, input) })),
    rounds,
  );
  const raw = times[wanted.findIndex(({ name }) => name === "events raw")];
  return wanted.map((row, index) => {
    const ratio = ratios(times[index]!, times[0]!);
    const ms = spread(times[index]!);
    return {
      workload: cell.workload.name,
      size: cell.size,
      wire,
      packing,
      row: row.name,
      ratio: ratio.median,
      ms: ms.median,
      spread: { ratio: [ratio.min, ratio.max], ms: [ms.min, ms.max] },
      ...(row.name === "toolstream sdk" && { toRaw: ratios(times[index]!, raw!).median }),
    };
  });
}

/** Every size in every round, in 16 KiB chunks: what disturbs the machine for longer than a round disturbs all sizes. */
async function measureGrowth(wire: Wire): Promise<Growth[]> {
  if (!isWanted(`growth ${wire}`) || (only !== undefined && !isLabel)) return [];
  const shown = rows.filter(({ name }) => GROWING.includes(name));
  const sizes: number[] = [];
  for (let size = KIB; size <= plan.growthTo; size *= 2) sizes.push(size);
  const inputs = sizes.map((size) => makeInput(wire, W2, size, Math.max(1, plan.growthLength / size), "16k"));
  for (const row of shown) for (const input of inputs) await check(row, input);
  const times = await alternate(
    inputs.flatMap((input) => shown.map((row) => ({ run: () => runAll(row, input) }))),
    plan,
  );
  const growth: Growth[] = sizes.flatMap((size, step) =>
    shown.map((row, index) => {
      const read = inputs.map((input, at) => input.streams.length * sizes[at]!);
      const own = times[step * shown.length + index]!;
      const half = times[(step - 1) * shown.length + index];
      return {
        wire,
        row: row.name,
        size,
        nsPerByte: (spread(own).median * 1e6) / read[step]!,
        factor: half === undefined ? null : (2 * ratios(own, half).median * read[step - 1]!) / read[step]!,
      };
    }),
  );
  say(`\nGrowth, ${wire}, 16 KiB network chunks: ns a byte of arguments, and the factor to half the size`);
  say(
    table(
      ["size", ...shown.flatMap(({ name }) => [name.replace("toolstream ", ""), ""])],
      sizes.map((size) => [
        sizeName(size),
        ...growth
          .filter((one) => one.size === size)
          .flatMap(({ nsPerByte, factor }) => [nsPerByte.toFixed(1), factor === null ? "" : `x ${factor.toFixed(2)}`]),
      ]),
    ),
  );
  const worst = growth.reduce((a, b) => ((b.factor ?? 0) > (a.factor ?? 0) ? b : a));
  say(`largest factor: ${worst.factor?.toFixed(2)} (${worst.row}, ${sizeName(worst.size)})`);
  return growth;
}

async function check(row: Runner, { wire, streams }: Input): Promise<void> {
  const stream = streams[0]!;
  const outcome = await row.run(wire, stream);
  if (outcome === undefined || isDeepStrictEqual(outcome, outcomeOf(stream))) return;
  console.error(`${row.name} does not come to the calls of the stream (${wire}).`);
  process.exit(1);
}

function outcomeOf({ turn: { text, calls } }: Stream): Outcome {
  return {
    text: text ?? "",
    calls: calls.map(({ id, name, argsText }) => ({ id, name, input: JSON.parse(argsText) as unknown })),
  };
}

async function runAll(row: Runner, { wire, streams }: Input): Promise<void> {
  for (const stream of streams) await row.run(wire, stream);
}

function labelOf(cell: Cell, wire: Wire, packing: Packing): string {
  return `${cell.workload.name} ${sizeName(cell.size)} ${wire} ${packing}`;
}

function isWanted(label: string): boolean {
  return only === undefined || !isLabel || hasText(label);
}

function hasWantedName({ name }: { readonly name: string }): boolean {
  return only === undefined || isLabel || hasText(name);
}

function hasText(label: string): boolean {
  return label.toLowerCase().includes(only!);
}

/** The rows that were asked for, and those that their ratios are to. */
function withBases(possible: readonly Row[]): Row[] {
  const wanted = possible.filter((row) => hasWantedName(row));
  const bases: RowName[] = wanted.length === 0 ? [] : ["floor a"];
  if (wanted.some(({ fromEvents }) => fromEvents)) bases.push("events raw");
  return possible.filter((row) => wanted.includes(row) || bases.includes(row.name));
}

function ratioText(result: Result | undefined): string {
  if (result === undefined) return "-";
  const { ratio, spread: around } = result;
  return `${ratio.toFixed(2)} (${around.ratio[0].toFixed(2)}-${around.ratio[1].toFixed(2)})`;
}

function say(line: string): void {
  lines.push(line);
  if (options.json !== true) console.log(line);
}

/** What has to be known with `--json`, too. */
function tell(line: string): void {
  say(line);
  if (options.json === true) console.error(line);
}
