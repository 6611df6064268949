/** The packages to compare with, in their own package.json and lockfile, so users of the library do not get them. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Peer } from "./peer.ts";
import type { Wire } from "./wires.ts";

/** Files of `peers/`, loaded by name at run time because their types are only known once the packages are installed. */
export const files: readonly string[] = [
  "openai",
  "anthropic",
  "ai",
  "langchain",
  "tanstack",
  "pi-ai",
  "assistant-stream",
  "partial-json",
];

/** Package to version, as package.json pins them. */
export const versions: Readonly<Record<string, string>> = manifest("package.json").dependencies;

/** Whether every package is installed in the pinned version. */
export function isInstalled(): boolean {
  return Object.entries(versions).every(([name, version]) => {
    try {
      return manifest(`node_modules/${name}/package.json`).version === version;
    } catch {
      return false;
    }
  });
}

/** @throws Error if npm fails */
export function install(): void {
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: import.meta.dirname,
    // npm's output must not mix with what `--json` prints.
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error("npm ci failed in bench/: --no-peers runs without the peers");
}

/** Peers that read the arguments as they come, and peers that read all of them again at every delta. */
export type PeerKind = "linear" | "quadratic";

/** Peers that can be loaded and know the wire, and why others cannot be loaded. */
export async function loadPeers(kind?: PeerKind, wire?: Wire): Promise<{ peers: Peer[]; failures: string[] }> {
  const peers: Peer[] = [];
  const failures: string[] = [];
  for (const file of files) {
    try {
      const loaded = (await import(new URL(`peers/${file}.ts`, import.meta.url).href)) as { peers: Peer[] };
      peers.push(...loaded.peers);
    } catch (error) {
      failures.push(`${file} is left out: ${String(error)}`);
    }
  }
  const isWanted = ({ quadratic, wires }: Peer) =>
    (kind === undefined || quadratic === (kind === "quadratic")) && (wire === undefined || wires[wire] !== undefined);
  return { peers: peers.filter(isWanted), failures };
}

function manifest(path: string): { version: string; dependencies: Record<string, string> } {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
}
