/** Caller and worker in a process that ends by itself once both are closed: `node test/workers/close-child.ts PORT`. */
import { defineTool } from "../../src/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { bullmqExecutor, bullmqWorker } from "../../src/workers/bullmq.ts";

const connection = { host: "127.0.0.1", port: Number(process.argv[2]) };
const tools = [defineTool({ name: "look", inputSchema: jsonSchema({}), effect: "read", execute: () => 1 })];
const executor = bullmqExecutor({ tools, store: memoryStore(), connection });
const { close } = bullmqWorker(tools, { connection });
process.once("message", () => {
  process.disconnect!();
  void Promise.all([executor.close(), close()]);
});
setTimeout(() => process.send!("ready"), 300);
