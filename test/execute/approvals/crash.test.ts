import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ApprovalService } from "../../../src/execute/approvals/index.ts";
import { sqliteStore } from "../../../src/store/sqlite.ts";
import { ask } from "./socket-server.ts";
import { sharedTemporary } from "../../temporary.ts";

/** Real processes on one SQLite file, ended with SIGKILL. */
const folder = sharedTemporary();

interface Ended {
  readonly stdout: string;
  readonly signal: string | undefined;
}

function child(...args: readonly string[]): Promise<Ended> {
  const script = join(import.meta.dirname, "crash-child.ts");
  return new Promise((resolve, reject) => {
    // Far more than it takes where nothing else writes to the disk.
    execFile(process.execPath, [script, ...args], { timeout: 240_000 }, (error, stdout, stderr) => {
      const signal = error?.signal ?? undefined;
      if (error !== null && (signal !== "SIGKILL" || error.killed === true))
        reject(new Error(stderr, { cause: error }));
      else resolve({ stdout, signal });
    });
  });
}

const linesOf = (file: string) => {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
};

describe("a process is killed at every write between the request, the decision and the execution", () => {
  it("no approval is lost or applied twice, nothing is executed twice", { timeout: 300_000 }, async () => {
    const whole = await child("run", join(folder, "whole.db"), join(folder, "whole.txt"));
    const { status, writes } = JSON.parse(whole.stdout) as { status: string; writes: number };
    expect(status).toBe("completed");
    expect(writes).toBeGreaterThan(8);

    const seen = new Set<string>();
    // After write n is before write n + 1: what is in the store is the same.
    const killed = async (from: number) => {
      for (let at = from; at <= writes; at += 2) {
        const label = `after write ${at} of ${writes}`;
        const db = join(folder, `${at}.db`);
        const journal = join(folder, `${at}.txt`);
        const first = await child("run", db, journal, `${at}`);
        // Side by side things may need a write more or less: then it came to its end.
        if (first.signal === undefined) continue;
        const known = linesOf(journal);
        const second = JSON.parse((await child("run", db, journal)).stdout) as { status: string };

        const lines = linesOf(journal);
        const refunds = lines.filter((line) => line.startsWith("refunded"));
        expect(["completed", "unknown"], label).toContain(second.status);
        if (second.status === "completed") expect(refunds, label).toHaveLength(1);
        else expect(refunds.length, label).toBeLessThanOrEqual(1);

        const store = sqliteStore(db);
        const rows = await new ApprovalService({ store }).list();
        await store.close();
        expect(rows, label).toHaveLength(1);
        expect(rows[0], label).toMatchObject({ status: "approved", decidedBy: "ada", seq: 1, decidedSeq: 2 });
        // Who was told that it counts was told the truth.
        if (known.includes("decided first")) expect(rows[0]!.reason, label).toBe("first");
        expect(lines.includes("decided second"), label).toBe(rows[0]!.reason === "second");
        seen.add(`${rows[0]!.reason} ${second.status}`);
      }
    };
    await Promise.all([killed(1), killed(2)]);
    // All ways were gone: decided before and after the crash, executed before and after it.
    expect([...seen].toSorted()).toEqual(["first completed", "first unknown", "second completed"]);
  });
});

describe('"a decision is applied at most once, first wins"', () => {
  it.each([
    ["1,000 deciders of one request", 1, 500],
    ['"two deciders race 1,000x"', 1_000, 1],
  ])("%s, in two processes", { timeout: 300_000 }, async (_, requests, deciders) => {
    const db = join(folder, `race-${requests}.db`);
    const store = sqliteStore(db);
    const approvals = new ApprovalService({ store, mayDecide: () => true });
    const ids: string[] = [];
    for (let at = 0; at < requests; at++) ids.push((await approvals.request(ask())).id);
    const start = join(folder, `start-${requests}`);
    mkdirSync(start);
    const both = await Promise.all([0, 1].map(() => child("race", db, start, `${deciders}`, ...ids)));
    const results = both.map(({ stdout }) => JSON.parse(stdout) as { wins: number; losses: number });
    const sum = (field: "wins" | "losses") => results.reduce((total, result) => total + result[field], 0);
    expect(sum("wins")).toBe(requests);
    expect(sum("losses")).toBe(requests * deciders * 2 - requests);
    const rows = await approvals.list();
    expect(rows.filter(({ status }) => status === "pending")).toEqual([]);
    const numbers = rows.flatMap(({ seq, decidedSeq }) => [seq, decidedSeq]).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: requests * 2 }, (__, at) => at + 1));
    await store.close();
  });
});
