/**
 * A process of the crash tests. Works on one SQLite file, and kills itself with SIGKILL at a write to it.
 *
 *   node crash-child.ts run <db> <journal> [n]   asks, decides, executes; dies after the nth write, or prints what came of it
 *   node crash-child.ts race <db> <start> <deciders> <id>...     decides each id with so many deciders, as soon as two
 *                                                                processes are in the folder <start>; prints its wins
 */
import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ApprovalService } from "../../../src/execute/approvals/index.ts";
import { ToolExecutor } from "../../../src/execute/index.ts";
import { sqliteStore } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/index.ts";
import { pause } from "../../../src/time.ts";
import { defineTool } from "../../../src/tool/tool.ts";

const [mode, db, ...rest] = process.argv.slice(2) as [string, string, ...string[]];

if (mode === "run") await run(rest[0]!, rest[1] === undefined ? undefined : Number(rest[1]));
else await race(rest[0]!, Number(rest[1]), rest.slice(2));

async function run(journal: string, killAt: number | undefined): Promise<void> {
  const counter = { writes: 0 };
  const store = mortal(sqliteStore(db), counter, killAt);
  const approvals = new ApprovalService({ store, mayDecide: ({ id }) => id === "ada", pollMs: 20 });
  const note = (text: string) => appendFileSync(journal, `${text}\n`);
  const refund = defineTool({
    name: "refund_order",
    inputSchema: z.object({ order: z.string() }),
    needsApproval: true,
    execute: ({ order }, { idempotencyKey }) => {
      note(`refunded ${order} ${String(idempotencyKey)}`);
      return { refunded: order };
    },
  });
  const executor = new ToolExecutor({ tools: [refund], store, approvals, leaseMs: 100 });
  const use = refund.use({ order: "A1" }, { id: "call_1", invocationId: "run_1.0.0" });
  const executing = executor.execute(use, { runId: "run_1", principal: { id: "bob" } });

  // Whoever decides looks at the list, as a person would; a second process finds what the first one left.
  const decided = (async () => {
    const stop = new AbortController();
    void executing.then(() => stop.abort());
    for await (const { request } of approvals.subscribe({ signal: stop.signal })) {
      if (request.status !== "pending") continue;
      const reason = killAt === undefined ? "second" : "first";
      await approvals.decide(request.id, { decision: "approve", reason }, { id: "ada" });
      note(`decided ${reason}`);
    }
  })();
  const outcome = await executing;
  await decided;
  process.stdout.write(JSON.stringify({ status: outcome.status, writes: counter.writes }));
  await store.close();
}

/** Counts writes, and ends the process after one of them. */
function mortal(store: Store, counter: { writes: number }, killAt: number | undefined): Store {
  async function counted<T>(write: () => Promise<T>): Promise<T> {
    const isLast = ++counter.writes === killAt;
    const result = await write();
    if (isLast) process.kill(process.pid, "SIGKILL");
    return result;
  }
  return {
    ...store,
    put: (...args) => counted(() => store.put(...args)),
    delete: (...args) => counted(() => store.delete(...args)),
  };
}

async function race(start: string, deciders: number, ids: readonly string[]): Promise<void> {
  const store = sqliteStore(db);
  const approvals = new ApprovalService({ store, mayDecide: () => true });
  let wins = 0;
  let losses = 0;
  writeFileSync(join(start, `${process.pid}`), "");
  while (readdirSync(start).length < 2) await pause(1);
  for (const id of ids) {
    await Promise.all(
      Array.from({ length: deciders }, async (_, at) => {
        const principal = { id: `${process.pid}.${at}` };
        const decision = at % 2 === 0 ? "approve" : "deny";
        try {
          const row = await approvals.decide(id, { decision }, principal);
          if (row.decidedBy === principal.id) wins++;
        } catch (error) {
          if ((error as { code?: string }).code !== "already_decided") throw error;
          losses++;
        }
      }),
    );
  }
  process.stdout.write(JSON.stringify({ wins, losses }));
  await store.close();
}
