/** Bundle size and import time of this library with one adapter, and of its peers. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { buildSync } from "esbuild";
import { spread } from "./measure.ts";

/** What an app loads before its first call, bundled and as imported by a new process. */
export interface Loaded {
  readonly packages: readonly string[];
  /** Of the bundle, minified and compressed with brotli, without Node's own modules. */
  readonly bytes: number;
  readonly ms: number;
  readonly spread: readonly [number, number];
}

const root = join(import.meta.dirname, "..");
const built = join(root, "node_modules/.cache/bench");

/** Packages and what an app imports from them. */
type Imports = Readonly<Record<string, string>>;

const OURS: Imports = { toolstream: "defineTool", "toolstream/openai-chat": "openaiChat" };

/** Each with what it needs to talk to a provider, if it has that. */
const PEERS: readonly Imports[] = [
  { openai: "default as OpenAI" },
  { ...OURS, openai: "default as OpenAI" },
  { "@anthropic-ai/sdk": "default as Anthropic" },
  { ai: "streamText, tool", "@ai-sdk/openai": "createOpenAI" },
  { "@langchain/openai": "ChatOpenAI" },
  { "@tanstack/ai": "chat, toolDefinition", "@tanstack/ai-openai": "createOpenaiChatCompletions" },
  {
    "@earendil-works/pi-ai/api/openai-completions": "stream",
    "@earendil-works/pi-ai/utils/transcript": "normalizeContext",
  },
  { "assistant-stream": "AssistantMessageStream, createAssistantStream", openai: "default as OpenAI" },
];

const BUILT: Readonly<Record<string, string>> = {
  toolstream: join(built, "src/index.js"),
  "toolstream/openai-chat": join(built, "adapters/openai-chat/index.js"),
};

/** @param peers whether to load those of bench/node_modules as well */
export function measureImports(runs: number, peers: boolean): Loaded[] {
  build();
  // The first is a process that imports nothing at all.
  const all: readonly Imports[] = [{}, OURS, ...(peers ? PEERS : [])];
  const times = all.map((): number[] => []);
  for (let run = 0; run <= runs; run++) {
    for (const [i, imports] of all.entries()) {
      const ms = importTime(Object.keys(imports));
      // The first time, the files come from the disk.
      if (run > 0) times[i]!.push(ms);
    }
  }
  return all.map((imports, i) => {
    const { median, min, max } = spread(times[i]!);
    return { packages: Object.keys(imports), bytes: bundledSize(imports), ms: median, spread: [min, max] };
  });
}

function bundledSize(imports: Imports): number {
  const lines = Object.entries(imports).map(([name, names]) => `export { ${names} } from "${BUILT[name] ?? name}";`);
  const { outputFiles } = buildSync({
    stdin: { contents: lines.join("\n"), resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    write: false,
  });
  return brotliCompressSync(outputFiles[0]!.contents).length;
}

/** Builds it as it is published: without types to strip. */
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

function importTime(packages: readonly string[]): number {
  const urls = packages.map((name) => BUILT[name] ?? name);
  const code = `const start = performance.now();
    for (const name of ${JSON.stringify(urls)}) await import(name);
    process.stdout.write(String(performance.now() - start));`;
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: import.meta.dirname, encoding: "utf8" }),
  );
}
