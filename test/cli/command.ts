import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { temporary } from "../temporary.ts";

const root = resolve(import.meta.dirname, "../..");
export const main = join(root, "src/cli/main.ts");

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  /** What comes on the standard input; nothing when not given. */
  readonly input?: string | Uint8Array;
  /** Leaves the standard input open after that. */
  readonly keepOpen?: boolean;
  readonly env?: Record<string, string>;
}

/** No keys and no colors: what the machine has set must not decide a test. */
const environment = (env: Record<string, string> = {}) => ({
  PATH: process.env["PATH"],
  HOME: process.env["HOME"],
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
  NODE_NO_WARNINGS: "1",
  ...env,
});

/** Runs the command in a process of its own, from the root of the repository. */
export async function run(
  args: readonly string[],
  { input = "", keepOpen = false, env }: RunOptions = {},
): Promise<Outcome> {
  const { child, said, closed } = launch(args, env);
  child.stdin.on("error", () => {}); // it may end without reading
  child.stdin.write(input);
  if (!keepOpen) child.stdin.end();
  child.once("exit", () => child.stdin.destroy());
  return { status: await closed, ...said };
}

function launch(args: readonly string[], env?: Record<string, string>) {
  const child = spawn(process.execPath, [main, ...args], { cwd: root, env: environment(env) });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
  }
  const closed = new Promise<number | null>((settle, reject) => child.once("close", settle).once("error", reject));
  return { child, said, closed };
}

/** The lines of JSON that it printed. */
export function jsonLines({ stdout }: Outcome): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export interface Running {
  readonly stdout: string;
  readonly stderr: string;
  /** The first match in what it has printed, as soon as it is there. */
  printed(pattern: RegExp): Promise<string>;
  stop(signal: "SIGTERM" | "SIGINT"): Promise<number | null>;
}

/** Starts a command that goes on until it is stopped; at the latest with the test. */
export function start(args: readonly string[]): Running {
  const { child, said, closed } = launch(args);
  onTestFinished(() => void child.kill("SIGKILL"));
  // The same object, whose output grows.
  return Object.assign(said, {
    printed(pattern: RegExp) {
      return new Promise<string>((settle, reject) => {
        const look = () => {
          const match = pattern.exec(said.stdout);
          if (match !== null) settle(match[1] ?? match[0]);
        };
        child.stdout.on("data", look);
        void closed.then(() => reject(new Error(`It ended without ${pattern}:\n${said.stdout}${said.stderr}`)));
        look();
      });
    },
    stop(signal: "SIGTERM" | "SIGINT") {
      child.kill(signal);
      return closed;
    },
  });
}

/** A folder that is gone after the test, with these files in it. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporary();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}
