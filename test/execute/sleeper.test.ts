/**
 * A worker sleeps past its lease (SIGSTOP), another one finishes, and the first one wakes up: its write is refused
 * (a job that is processed twice when the event loop blocks past the lock: bullmq 3183, 439).
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "./support.ts";

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "toolstream-sleeper-"))));
const children: ChildProcess[] = [];
afterAll(() => {
  // Also one that still sleeps.
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function start(effect: string, ...rest: string[]): { child: ChildProcess; lines: string[]; ended: Promise<any> } {
  const script = join(import.meta.dirname, "sleeper-child.ts");
  const child = spawn(process.execPath, [script, join(folder, `${effect}.db`), effect, ...rest], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const lines: string[] = [];
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    lines.splice(0, lines.length, ...text.split("\n").filter((line) => line !== ""));
  });
  const ended = new Promise((done) => child.on("close", () => done(JSON.parse(lines.at(-1) ?? "null"))));
  return { child, lines, ended };
}

it.each([
  ["write", { status: "unknown", output: null, attempts: 1 }],
  ["idempotent", { status: "completed", output: "second", attempts: 2 }],
])("the word of the one that was awake counts: %s", async (effect, expected) => {
  const first = start(effect, "first", "sleep");
  await until(() => first.lines.includes("in handler"));
  // It comes to its end when the lease of the sleeper is over.
  const second = start(effect, "second");
  expect(await second.ended).toMatchObject(expected);
  first.child.kill("SIGCONT");
  const report = await first.ended;
  expect(report).toMatchObject(expected);
  const ends = report.events.filter((type: string) => /completed|failed/.test(type));
  expect(ends).toEqual([effect === "write" ? "tool.failed" : "tool.completed"]);
});
