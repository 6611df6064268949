/**
 * Caller and worker in a process that ends by itself once both are closed: `node test/workers/close-child.ts PORT MS
 * [ioredis]`. A job of MS is under way when they are, if there is a server. With `ioredis` they share a client of the
 * process's own.
 */
import { Redis } from "ioredis";
import { defineTool } from "../../src/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { bullmqExecutor, bullmqWorker } from "../../src/workers/bullmq.ts";

const server = { host: "127.0.0.1", port: Number(process.argv[2]) };
const ms = Number(process.argv[3]);
const client = process.argv[4] === "ioredis" ? new Redis({ ...server, maxRetriesPerRequest: null }) : undefined;
client?.on("error", () => {});
const connection = client ?? server;
const execute = () => {
  process.send!("ready");
  return new Promise((done) => setTimeout(done, ms));
};
const tools = [defineTool({ name: "look", inputSchema: jsonSchema({}), effect: "read", execute })];
const executor = bullmqExecutor({ tools, store: memoryStore(), connection });
const { close } = bullmqWorker(tools, { connection });
process.once("message", async () => {
  process.disconnect!();
  await Promise.all([executor.close(), close()]);
  client?.disconnect();
});
if (ms > 0) void executor.execute(tools[0]!.use({}), { runId: "run" });
else setTimeout(() => process.send!("ready"), 300);
