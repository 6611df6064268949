/**
 * One call in a process of its own: prints `in handler`, and what came of it. With `sleep` it stops in its handler (SIGSTOP)
 * until somebody wakes it (SIGCONT).
 *
 *     node test/execute/sleeper-child.ts DATABASE EFFECT NAME [sleep]
 */
import { defineTool, jsonSchema, type Effect } from "../../src/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";

const [database, effect, name, sleep] = process.argv.slice(2) as [string, Effect, string, string?];

const tool = defineTool({
  name: "act",
  inputSchema: jsonSchema({ type: "object" }),
  effect,
  execute: async () => {
    console.log("in handler");
    // By itself: no write to the database is under way here, so that it sleeps without holding the lock.
    if (sleep === "sleep") process.kill(process.pid, "SIGSTOP");
    return name;
  },
});
const store = sqliteStore(database);
const executor = new ToolExecutor({ tools: [tool], store, leaseMs: 1_500 });
const outcome = await executor.execute(tool.use({}, { invocationId: "a" }), { runId: "run" });
const events = (await executor.events("run")).map(({ type }) => type);
const output = outcome.status === "completed" ? outcome.output : null;
console.log(JSON.stringify({ status: outcome.status, output, attempts: outcome.attempts, events }));
await store.close();
