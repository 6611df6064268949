/**
 * A scenario in a process of its own, which ends itself by SIGKILL after the nth write to its store, or in a handler:
 *
 *     node test/execute/crash-child.ts DATABASE EFFECTS KILL_AFTER_WRITE|body:NAME|never
 *
 * Run again with `never`, it goes on where the dead process was, and prints what came of each call. Every effect on the
 * world is a line in the file EFFECTS.
 */
import { appendFileSync } from "node:fs";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { ApprovalService } from "../../src/execute/approvals/index.ts";
import { ToolExecutor, type Outcome } from "../../src/execute/index.ts";
import type { Store } from "../../src/store/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";

const [database, effects, killAt] = process.argv.slice(2) as [string, string, string];
const die = () => process.kill(process.pid, "SIGKILL");

let writes = 0;
function deadly(store: Store): Store {
  return {
    ...store,
    put: async (key, value, options) => {
      const entry = await store.put(key, value, options);
      if (String(++writes) === killAt) die();
      return entry;
    },
  };
}

const store = deadly(sqliteStore(database));
const effect = (what: string, key: string) => {
  appendFileSync(effects, `${what} ${key}\n`);
  if (killAt === `body:${what}`) die();
};

const inputSchema = z.object({ n: z.number() });
const tools = [
  defineTool({
    name: "look",
    inputSchema,
    effect: "read",
    execute: (_, { idempotencyKey }) => effect("look", idempotencyKey),
  }),
  defineTool({
    name: "write",
    inputSchema,
    execute: ({ n }, { idempotencyKey, undoData }) => {
      effect("write", idempotencyKey);
      undoData({ n });
      return { n };
    },
    undo: (_, { idempotencyKey }) => effect("undo", idempotencyKey),
  }),
  defineTool({
    name: "refund",
    inputSchema,
    needsApproval: true,
    execute: ({ n }, { idempotencyKey }) => (effect("refund", idempotencyKey), { n }),
  }),
];

const approvals = new ApprovalService({ store, tools });
const executor = new ToolExecutor({ store, tools, approvals, waitForApproval: false, leaseMs: 150 });
const context = { runId: "run" };
const use = (index: number, invocationId: string) =>
  tools[index]!.use({ n: index }, { id: `call_${invocationId}`, invocationId });

const outcomes: Outcome[] = await executor.executeAll([use(0, "a"), use(1, "b"), use(2, "c")], context);
for (const request of await approvals.list({ status: "pending" }))
  await approvals.decide(request.id, { decision: "approve" });
outcomes[2] = await executor.execute(use(2, "c"), context);
const undo = await executor.undo(outcomes[1]!.actionId);

console.log(
  JSON.stringify({
    statuses: outcomes.map(({ status }) => status),
    undo: undo.status,
    undoCode: "error" in undo ? undo.error.code : null,
    events: (await executor.events("run")).map(({ seq, type, invocationId }) => [seq, type, invocationId]),
    approvals: (await approvals.list()).map(({ status }) => status),
    writes,
  }),
);
await store.close();
