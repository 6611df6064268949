/** A caller in a process of its own, that waits for a worker: `node test/workers/caller-child.ts PORT QUEUE FILE TOOL`. */
import { Redis } from "ioredis";
import { redisStore } from "../../src/store/redis.ts";
import { bullmqExecutor } from "../../src/workers/bullmq.ts";
import { toolsAt } from "./tools.ts";

const [port, queue, file, name] = process.argv.slice(2) as [string, string, string, string];
const tools = toolsAt(file);
const executor = bullmqExecutor({
  tools,
  store: redisStore(new Redis(Number(port), "127.0.0.1"), { prefix: queue }),
  connection: { host: "127.0.0.1", port: Number(port) },
  queue,
  leaseMs: 600,
});
process.send!("ready");
const use = tools.find((tool) => tool.name === name)!.use({ ms: 2_000 }, { id: "call_1", invocationId: `${name}-1` });
await executor.execute(use, { runId: "run:1" });
