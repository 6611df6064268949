/**
 * A process dies by SIGKILL after every one of its writes to the store, and in each handler; another one goes on. No write
 * is executed twice, nothing that was decided is lost, and what nobody can know is called unknown.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedTemporary } from "../temporary.ts";

interface Report {
  readonly statuses: readonly string[];
  readonly undo: string;
  readonly undoCode: string | null;
  readonly events: readonly (readonly [seq: number, type: string, invocationId: string])[];
  readonly approvals: readonly string[];
  readonly writes: number;
}

const folder = sharedTemporary();

/** One process: what it printed, or nothing when it was killed. */
function run(name: string, killAt: string): Promise<Report | undefined> {
  const script = join(import.meta.dirname, "crash-child.ts");
  const paths = [join(folder, `${name}.db`), join(folder, `${name}.txt`)];
  return new Promise((done, fail) => {
    execFile(process.execPath, [script, ...paths, killAt], { timeout: 30_000 }, (error, stdout, stderr) => {
      if (error === null) done(JSON.parse(stdout) as Report);
      else if (error.signal === "SIGKILL" && killAt !== "never") done(undefined);
      else fail(new Error(`${error.message}\n${stderr}`));
    });
  });
}

function effectsOf(name: string): Record<string, number> {
  const path = join(folder, `${name}.txt`);
  const counts: Record<string, number> = { look: 0, write: 0, refund: 0, undo: 0 };
  if (!existsSync(path)) return counts;
  for (const line of readFileSync(path, "utf8").trim().split("\n")) counts[line.split(" ")[0]!]!++;
  return counts;
}

/** What holds whenever and wherever a process died. */
function check(name: string, report: Report): void {
  const { statuses, undo, events, approvals } = report;
  const effects = effectsOf(name);
  // At most once, and where somebody says so, exactly once.
  for (const [index, tool] of ["look", "write", "refund"].entries()) {
    expect(["completed", "unknown"]).toContain(statuses[index]);
    if (tool !== "look") expect(effects[tool]).toBeLessThanOrEqual(1);
    if (statuses[index] === "completed") expect(effects[tool]).toBeGreaterThanOrEqual(1);
  }
  // Reads are simply done again.
  expect(statuses[0]).toBe("completed");
  expect(effects["look"]).toBeLessThanOrEqual(2);
  expect(effects["undo"]).toBeLessThanOrEqual(1);
  if (undo === "undone") expect(effects["undo"]).toBe(1);
  if (statuses[1] === "completed") expect([undo, report.undoCode]).not.toContain("not_undoable");
  // The approval was asked and given once.
  expect(approvals).toEqual(["approved"]);
  // Told once each, numbered without gaps.
  expect(events.map(([seq]) => seq)).toEqual(events.map((_, at) => at + 1));
  for (const invocation of ["a", "b", "c"]) {
    const ends = events.filter(
      ([, type, id]) => id === invocation && /completed|failed|denied/.test(type) && !type.includes("undo"),
    );
    expect(ends).toHaveLength(1);
  }
}

describe("kill -9", () => {
  it("nowhere: the scenario goes through, and running it again changes nothing", async () => {
    const first = (await run("whole", "never"))!;
    check("whole", first);
    expect(first).toMatchObject({ statuses: ["completed", "completed", "completed"], undo: "undone" });
    const again = (await run("whole", "never"))!;
    expect(again).toMatchObject({ statuses: first.statuses, undo: "refused", undoCode: "already_undone" });
    expect(again.events).toEqual(first.events);
    expect(effectsOf("whole")).toEqual({ look: 1, write: 1, refund: 1, undo: 1 });
  });

  it("after every write to the store", async () => {
    const { writes } = (await run("count", "never"))!;
    expect(writes).toBeGreaterThan(20);
    let next = 1;
    let killed = 0;
    const worker = async () => {
      for (let write = next++; write <= writes; write = next++) {
        const name = `write-${write}`;
        // Side by side, calls may write a few times less: then nobody was killed.
        if ((await run(name, String(write))) !== undefined) continue;
        killed++;
        check(name, (await run(name, "never"))!);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    expect(killed).toBeGreaterThan(writes - 5);
  }, 180_000);

  it.each([
    ["look", "completed"],
    ["write", "unknown"],
    ["refund", "unknown"],
  ])("in the handler of %s: it is then %s", async (tool, status) => {
    const name = `body-${tool}`;
    expect(await run(name, `body:${tool}`)).toBeUndefined();
    const report = (await run(name, "never"))!;
    check(name, report);
    expect(report.statuses[["look", "write", "refund"].indexOf(tool)]).toBe(status);
  });

  it("in the undo function: how far it came is not known, and it is not run again", async () => {
    expect(await run("body-undo", "body:undo")).toBeUndefined();
    // Right after that its lease still holds.
    await run("body-undo", "never");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const report = (await run("body-undo", "never"))!;
    expect(report).toMatchObject({ undo: "undo_failed", undoCode: "undo_failed" });
    check("body-undo", report);
    expect(effectsOf("body-undo")["undo"]).toBe(1);
  });
});
