/** Runs the scenario in a process of its own, and dies without a word right before a write to the store. */
import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { createScenario, finish } from "./scenario.ts";

const { values } = parseArgs({
  options: { store: { type: "string" }, world: { type: "string" }, "kill-at": { type: "string" } },
});
const killAt = Number(values["kill-at"]);
const store = await open(values.store!);
const scenario = createScenario(dying(store), (event) => appendFileSync(values.world!, `${event}\n`));
await finish(scenario);
console.log("finished");
process.exit(0);

async function open(where: string): Promise<Store> {
  if (!where.startsWith("redis:")) return sqliteStore(where);
  const { createClient } = await import("redis");
  const { redisStore } = await import("../../src/store/redis.ts");
  return redisStore(await createClient({ url: where }).connect());
}

function dying(inner: Store): Store {
  let writes = 0;
  const count = () => {
    if (++writes === killAt) process.kill(process.pid, "SIGKILL");
  };
  return {
    ...inner,
    put(...args) {
      count();
      return inner.put(...args);
    },
    delete(...args) {
      count();
      return inner.delete(...args);
    },
  };
}
