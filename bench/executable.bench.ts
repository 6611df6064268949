/**
 * The cost of a call of an executable tool, compared with a bare spawn of the same program with the same bytes.
 *
 *     node bench/executable.bench.ts [calls per round, default 100]
 *
 * Guards: the checks of every call (the file's place, owner and digest), the limits and the reaping add little to the
 * system's time for starting a process; and a call stays as cheap after thousands. Milliseconds per call: the median of
 * several alternating rounds, followed by least and most.
 */
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadExecutable } from "../src/executable/index.ts";
import { alternate, spread } from "./measure.ts";

const calls = Number(process.argv[2] ?? 100);
const AT_ONCE = 10;
const input = { text: "x".repeat(1_000) };

const folder = realpathSync(mkdtempSync(join(tmpdir(), "toolstream-bench-")));
const path = join(folder, "echo");
writeFileSync(
  path,
  `#!/bin/sh
[ "$1" = --schema ] && { echo '{"name":"echo","parameters":{"text":{"type":"string"}}}'; exit; }
read -r input; printf '{"success":true,"result":%s}' "$input"
`,
);
chmodSync(path, 0o755);

/** The minimum: no check, no limit, no group; the answer is parsed. */
function bare(): Promise<unknown> {
  return new Promise((done, fail) => {
    const child = spawn(path);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (delta: string) => (text += delta));
    child.once("error", fail);
    child.once("close", () => done((JSON.parse(text) as { result: unknown }).result));
    child.stdin.end(`${JSON.stringify(input)}\n`);
  });
}

try {
  const tool = await loadExecutable(path);
  const call = () => tool.use(input).execute();
  for (const work of [bare, call]) {
    if (JSON.stringify(await work()) !== JSON.stringify(input)) throw new Error("a row has another result");
  }
  const rows = [
    { name: "bare spawn", run: () => timed(bare, 1) },
    { name: "tool", run: () => timed(call, 1) },
    { name: `bare spawn, ${AT_ONCE} at once`, run: () => timed(bare, AT_ONCE) },
    { name: `tool, ${AT_ONCE} at once`, run: () => timed(call, AT_ONCE) },
  ];
  const times = await alternate(rows, { runs: 7, warmUpMs: 0 });
  for (const [row, { name }] of rows.entries()) {
    const { median, min, max } = spread(times[row]!.map((ms) => ms / calls));
    console.log(`${name.padEnd(24)} ${median.toFixed(2)} ms  (${min.toFixed(2)} to ${max.toFixed(2)})`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** @returns milliseconds for all calls */
async function timed(work: () => Promise<unknown>, atOnce: number): Promise<number> {
  const startedAt = performance.now();
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return performance.now() - startedAt;
}
