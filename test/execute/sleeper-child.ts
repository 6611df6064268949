/**
 * One call in a process of its own: prints `in handler`, waits in its handler until the file GO is there, and prints what
 * came of it.
 *
 *     node test/execute/sleeper-child.ts DATABASE GO EFFECT NAME
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, jsonSchema, type Effect } from "../../src/index.ts";
import { ToolExecutor } from "../../src/execute/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";

const [database, go, effect, name] = process.argv.slice(2) as [string, string, Effect, string];

const tool = defineTool({
  name: "act",
  inputSchema: jsonSchema({ type: "object" }),
  effect,
  execute: async () => {
    // Who is stopped within a write holds the lock of the database: all that was begun with the handler is written first.
    await sleep(200);
    console.log("in handler");
    while (!existsSync(go)) await sleep(10);
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
