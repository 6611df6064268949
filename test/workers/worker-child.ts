/** A worker in a process of its own: `node test/workers/worker-child.ts PORT QUEUE FILE`. Says `ready` when it is. */
import { Redis } from "ioredis";
import { redisStore } from "../../src/store/redis.ts";
import { bullmqWorker } from "../../src/workers/bullmq.ts";
import { toolsAt } from "./tools.ts";

const [port, queue, file] = process.argv.slice(2) as [string, string, string];
const store = redisStore(new Redis(Number(port), "127.0.0.1"), { prefix: queue });
const { worker, close } = bullmqWorker(toolsAt(file), {
  connection: { host: "127.0.0.1", port: Number(port) },
  queue,
  store,
  // A worker that gives no sign for so long is taken for dead.
  worker: { lockDuration: 1_000, stalledInterval: 300, concurrency: 4 },
});
await worker.waitUntilReady();
process.once("SIGTERM", () => void close().then(() => process.exit(0)));
process.send!("ready");
