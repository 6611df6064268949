import { fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { soon } from "../soon.ts";
import type { Noted } from "./tools.ts";

export interface Process {
  readonly pid: number;
  /** Ends it at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Asks it to end. */
  stop(): Promise<void>;
}

/** Starts a worker in a process of its own. */
export function startWorker(port: number, queue: string, file: string): Promise<Process> {
  return start("worker-child.ts", [String(port), queue, file]);
}

/** Starts a caller in a process of its own: it makes one call and waits for it. */
export function startCaller(port: number, queue: string, file: string, tool: string): Promise<Process> {
  return start("caller-child.ts", [String(port), queue, file, tool]);
}

async function start(script: string, args: readonly string[]): Promise<Process> {
  const child = fork(join(import.meta.dirname, script), args, { stdio: "inherit" });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  await new Promise<void>((ready, fail) => {
    child.once("message", () => ready());
    child.once("close", () => fail(new Error(`${script} did not start`)));
  });
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    child.kill(signal);
    await ended;
  };
  return { pid: child.pid!, kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

/** What the handlers have noted so far. */
export function notes(file: string): Noted[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Noted);
}

/** The first note that fits, as soon as it is there. */
export function noted(file: string, fits: (note: Noted) => boolean): Promise<Noted> {
  return soon(() => {
    const found = notes(file).find(fits);
    if (found === undefined) throw new Error(`nothing of it yet: ${JSON.stringify(notes(file))}`);
    return found;
  });
}
