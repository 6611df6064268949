/** How long it takes to import this library with one adapter, and its peers: each time in a new process. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spread } from "./measure.ts";

export interface ImportTime {
  readonly name: string;
  readonly ms: number;
  readonly spread: readonly [number, number];
}

const root = join(import.meta.dirname, "..");
const built = join(root, "node_modules/.cache/bench");

const PEERS = [
  "openai",
  "@anthropic-ai/sdk",
  "ai",
  "@langchain/openai",
  "@tanstack/ai",
  "@earendil-works/pi-ai",
  "assistant-stream",
];

const OURS = "toolstream + openai-chat";

/** @param peers whether to import those of bench/node_modules beside */
export function measureImports(runs: number, peers: boolean): ImportTime[] {
  build();
  const own = [join(built, "src/index.js"), join(built, "adapters/openai-chat/index.js")];
  const imports = new Map<string, readonly string[]>([
    // What a process takes for an import of nothing at all.
    ["(nothing)", ["data:text/javascript,"]],
    [OURS, own],
    ...(peers ? PEERS : []).map((name): [string, readonly string[]] => [name, [name]]),
  ]);
  const times = new Map<string, number[]>();
  for (let run = 0; run <= runs; run++) {
    for (const [name, modules] of imports) {
      const ms = importTime(modules);
      // The first time the files come from the disk.
      if (run > 0) times.set(name, [...(times.get(name) ?? []), ms]);
    }
  }
  return [...times].map(([name, all]) => {
    const { median, min, max } = spread(all);
    return { name, ms: median, spread: [min, max] };
  });
}

/** As it is published: without types to strip. */
function build(): void {
  rmSync(built, { recursive: true, force: true });
  mkdirSync(built, { recursive: true });
  writeFileSync(join(built, "package.json"), JSON.stringify({ type: "module" }));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--noCheck", "--outDir", built], {
    cwd: root,
    stdio: "inherit",
  });
}

function importTime(modules: readonly string[]): number {
  const code = `const start = performance.now();
    for (const name of ${JSON.stringify(modules)}) await import(name);
    process.stdout.write(String(performance.now() - start));`;
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: import.meta.dirname, encoding: "utf8" }),
  );
}
