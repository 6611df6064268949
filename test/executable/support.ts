import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import type { ToolContext, ToolError } from "../../src/index.ts";
import { loadExecutable, type ExecutableOptions, type ExecutableRun } from "../../src/executable/index.ts";
import { execute, failure as failureOf } from "../outcome.ts";

export { execute };

const kept: string[] = [];
afterAll(() => kept.forEach((path) => rmSync(path, { recursive: true, force: true })));

/** A folder of our own, without links in its path. */
export function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "toolstream-executable-")));
  kept.push(made);
  return made;
}

/** A file that can be run, unless `mode` says otherwise. */
export function program(text: string | Uint8Array, { name = "tool", mode = 0o755, inside = folder() } = {}): string {
  const path = join(inside, name);
  writeFileSync(path, text);
  chmodSync(path, mode); // whatever the umask
  return path;
}

/** A program in sh that says what it is, and then does `body` at every call. */
export function shTool(body: string, { name = "tool", parameters = "{}" } = {}): string {
  const schema = `{"name":"${name}","parameters":${parameters}}`;
  return `#!/bin/sh\n[ "$1" = --schema ] && { echo '${schema}'; exit; }\n${body}\n`;
}

const sources = resolve(import.meta.dirname, "hostile");
let copies: string | undefined;

/** The path of a program of `hostile/`: a copy, since where the repository lies others might be able to write. */
export function hostile(name: string): string {
  copies ??= folder();
  const path = join(copies, name);
  copyFileSync(join(sources, name), path);
  chmodSync(path, 0o755);
  return path;
}

/** Loads a hostile program and calls it. */
export async function call(
  name: string,
  { input = {}, context, ...options }: ExecutableOptions & { input?: unknown; context?: Partial<ToolContext> } = {},
): Promise<unknown> {
  const tool = await loadExecutable(hostile(name), options);
  return execute(tool, input, context);
}

export const failure = failureOf<ToolError & { readonly run: ExecutableRun }>;

export const onLinux = process.platform === "linux";

/** A mark for the environment, by which all descendants of a call are found; what is left of them is killed with the test. */
export function mark(): { env: Record<string, string>; left(): number[] } {
  const value = crypto.randomUUID();
  const left = () =>
    processes().filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1").includes(value);
      } catch {
        return false; // gone
      }
    });
  onTestFinished(() => left().forEach(end));
  return { env: { TEST_MARK: value }, left };
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone meanwhile
  }
}

/** The children of this process that have ended and were never asked how. */
export function zombies(): number {
  return processes().filter((pid) => {
    try {
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)!.split(" ");
      return state === "Z" && Number(parent) === process.pid;
    } catch {
      return false;
    }
  }).length;
}

function processes(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}
