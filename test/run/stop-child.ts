/**
 * Begins the run of `stop.test.ts` in a process of its own and sleeps past its lease, in the middle of a tool:
 *
 *     node test/run/stop-child.ts DATABASE LEASE_MS
 */
import { isToolError } from "../../src/errors.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { counted, scripted } from "./script.ts";

const [database, leaseMs] = process.argv.slice(2) as [string, string];
const write = counted("write", {
  execute: async () => {
    console.log("body");
    process.kill(process.pid, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 20));
    return "late";
  },
});
const model = scripted({ calls: [{ name: "write" }] }, { text: "I was late." });
const store = sqliteStore(database);
const orchestrator = new Orchestrator({ model, tools: [write.tool], store, leaseMs: Number(leaseMs) });
try {
  const { status, error } = await orchestrator.run({ conversationId: "c1", input: "Go" });
  console.log(`end ${status} ${error?.code ?? ""}`);
} catch (error) {
  console.log(`end ${isToolError(error) ? error.code : String(error)}`);
}
process.exit(0);
