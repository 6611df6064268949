/**
 * This library against the floor and against its peers, on the same bytes.
 *
 *     node bench/main.ts [--quick] [--only TEXT] [--json] [--no-peers] [--write] [--help]
 *
 * Without options everything is measured, which takes an hour or more and 4 GB of memory, and bench/RESULTS.md and
 * bench/results.svg are written. Missing peers are installed in bench/node_modules, except with `--quick`, which then
 * runs without them. docs/performance.md explains the rows.
 *
 * Before it is measured, each row must produce the text and the calls of its stream: if one of ours does not, the
 * program ends with status 1; a peer that does not is left out. test/bench.test.ts reads the inputs back.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { chartOf } from "./chart.ts";
import { measureImports } from "./imports.ts";
import type { Job, Result } from "./job.ts";
import { install, isInstalled, loadPeers, versions } from "./load-peers.ts";
import { measureEnded, measureOpen, type EndedMemory } from "./memory.ts";
import type { Peer } from "./peer.ts";
import { labelOf, quickPlan, wholePlan } from "./plan.ts";
import { createProcesses } from "./processes.ts";
import { importsTable, memoryTable, tablesOf } from "./report.ts";
import { markdownOf, textOf, type Table } from "./table.ts";
import { targetsTable } from "./targets.ts";

const USAGE = `npm run bench -- [--quick] [--only TEXT] [--json] [--no-peers] [--write]

  --quick     under a minute, too short to be exact; without the other libraries if they are not installed
  --only TEXT only what has the words of TEXT in its label ("W2", "W3 anthropic event", "peers", "memory", "imports"),
              or the rows with TEXT in their name ("floor a")
  --json      for machines
  --no-peers  without the other libraries
  --write     write bench/RESULTS.md and bench/results.svg, as is done without options
`;

const options = optionsOf(process.argv.slice(2));
if (options.help) {
  console.log(USAGE);
  process.exit(0);
}

const plan = options.quick ? quickPlan() : wholePlan();
const only = options.only?.toLowerCase();
const node = process.version;
const machine = `${cpus()[0]?.model.trim() ?? "unknown"} x ${availableParallelism()}, ${Math.round(totalmem() / 2 ** 30)} GiB`;

const caution = options.quick ? "A quick run: too short to be exact." : "";

const EXTRAS = ["memory", "imports"] as const;

const labels = [...plan.jobs.map(labelOf), ...EXTRAS].map((label) => label.toLowerCase());
const isLabel = only !== undefined && labels.some((label) => matches(label));
const isWanted = (label: string) => only === undefined || !isLabel || matches(label.toLowerCase());
const wantsExtras = (label: (typeof EXTRAS)[number]) => only === undefined || (isLabel && matches(label));

const peers = await findPeers();
const versionOf = (name: string) => {
  const from = peers.find((peer) => peer.name === name)?.package ?? name;
  const [, version] = Object.entries(versions).find(([one]) => from === one || from.startsWith(`${one}/`)) ?? [];
  return version === undefined ? "" : ` (${version})`;
};

const tables: Table[] = [];
const notes = new Set<string>();
const results: Result[] = [];
let ended: EndedMemory | undefined;

say(`toolstream bench: Node ${node}, ${machine}, ${new Date().toISOString().slice(0, 10)}`);
say(
  `Ratios to floor a: median of ${plan.jobs[0]!.rounds.runs} rounds, least and most behind it. Smaller is faster. ${caution}`.trim(),
);
await measureJobs();
if (wantsExtras("memory")) {
  ended = measureEnded(plan.ended);
  show(memoryTable(measureOpen(plan.open), ended, plan.open));
}
if (wantsExtras("imports")) show(importsTable(measureImports(plan.imports, peers.length > 0), versionOf));
if (tables.length === 0) {
  const words = new Set(
    (["workload", "wire", "packing"] as const).flatMap((part) => plan.jobs.map((job) => job[part])),
  );
  console.error(
    `Nothing matches ${JSON.stringify(options.only)}. Labels consist of ${[...words, "a size", "peers"].join(", ")}, as in "${labelOf(plan.jobs[0]!)}"; there are also ${EXTRAS.join(" and ")}. Rows match by a part of their name in the tables.`,
  );
  process.exit(1);
}
const targets = targetsTable(results, ended);
if (targets.body.length > 0) say(textOf(targets));
for (const note of notes) tell(note);
if (options.write || (!options.quick && only === undefined && !options["no-peers"])) write();
if (options.json) {
  // If a row was also measured without the peers, that measurement counts.
  const byKey = new Map<string, Result>();
  for (const one of results) if (one.beside === undefined || !byKey.has(keyOf(one))) byKey.set(keyOf(one), one);
  const rows = [...byKey.values()].map(({ workload, size, wire, packing, row, ratio, ms, spread }) => {
    return { workload, size, wire, packing, row, ratio, ms, spread };
  });
  console.log(JSON.stringify({ node, machine, rows }));
}

function optionsOf(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string" },
        json: { type: "boolean", default: false },
        "no-peers": { type: "boolean", default: false },
        write: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    // An unknown option, or one without its value.
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

async function measureJobs(): Promise<void> {
  const processes = createProcesses({ shared: !plan.isolated });
  let group: Result[] = [];
  const jobs = plan.jobs.filter((job) => isWanted(labelOf(job)) && (job.peers === undefined || peers.length > 0));
  try {
    for (const [index, job] of jobs.entries()) {
      progress(`${index + 1} of ${jobs.length}: ${labelOf(job)}`);
      const found = await processes.run(only === undefined || isLabel ? job : { ...job, only });
      for (const note of found.notes) notes.add(note);
      group.push(...found.results);
      const next = jobs[index + 1];
      if (next !== undefined && groupOf(next) === groupOf(job)) continue;
      progress("");
      for (const table of tablesOf(job, group, versionOf)) show(table);
      results.push(...group);
      group = [];
    }
  } catch (error) {
    console.error(String(error));
    process.exit(1);
  } finally {
    processes.close();
  }
}

/** Jobs whose results share their tables. */
function groupOf({ workload, packing, peers: kind, sizes }: Job): string {
  return JSON.stringify([workload, packing, kind, sizes]);
}

function keyOf({ workload, size, wire, packing, row }: Result): string {
  return [workload, size, wire, packing, row].join();
}

/** Installs the peers if necessary; none if they are not wanted. */
async function findPeers(): Promise<readonly Peer[]> {
  const isNeeded = plan.jobs.some((job) => job.peers !== undefined && isWanted(labelOf(job))) || wantsExtras("imports");
  if (options["no-peers"] || !isNeeded) return [];
  if (!isInstalled()) {
    if (options.quick) {
      console.error("The peers are not installed, so they are left out: `npm ci` in bench/ installs them.");
      return [];
    }
    console.error("Installing the peers in bench/node_modules (npm ci).");
    install();
  }
  return (await loadPeers()).peers;
}

function write(): void {
  const used = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const head = [
    "# Results of the benchmark",
    "",
    `\`npm run bench\` wrote this: Node ${node}, ${machine}, ${new Date().toISOString().slice(0, 10)}. ${caution}`.trim(),
    "",
    "Numbers without a unit are multiples of floor a, the least that a program can do by hand with the same bytes: the median of the rounds, least and most behind it. Compare them, not the times: machines differ. [What the rows mean](../docs/performance.md).",
    "",
    "![How long the libraries take](results.svg)",
    "",
  ];
  const body = [targets, ...tables].map((table) => `${markdownOf(table)}\n`);
  const tail = [
    "### Left out, and to know",
    "",
    ...[...notes].map((note) => `- ${note}`),
    "",
    "### Versions",
    "",
    `${used.join(", ")}.`,
    "",
  ];
  writeFileSync(new URL("RESULTS.md", import.meta.url), [...head, ...body, ...tail].join("\n"));
  const chart = chartOf(results);
  if (chart !== undefined) writeFileSync(new URL("results.svg", import.meta.url), chart);
}

/** Whether all words of `only` are in the label, in any order. */
function matches(label: string): boolean {
  return only!.split(/\s+/).every((word) => label.includes(word));
}

function show(table: Table): void {
  tables.push(table);
  say(textOf(table));
}

function say(line: string): void {
  if (!options.json) console.log(line);
}

/** Prints what must be seen with `--json`, too. */
function tell(line: string): void {
  if (options.json) console.error(line);
  else console.log(line);
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${line}`);
}
