/** Waits for a run that somebody else brings results to: `node test/run/wake-child.ts REDIS-URL`. */
import { createClient } from "redis";
import { redisStore } from "../../src/store/redis.ts";
import { conversationId, createScenario } from "./scenario.ts";

const store = redisStore(await createClient({ url: process.argv[2]! }).connect());
const { orchestrator } = createScenario(store, (event) => console.log(event));
console.log("waiting");
const { status } = await orchestrator.waitAndResume(conversationId);
console.log(`end ${status}`);
process.exit(0);
