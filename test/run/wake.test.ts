/** Processes that share their runs over Redis. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redisStore } from "../../src/store/redis.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "../store/redis-server.ts";
import { conversationId, createScenario, problemsOf } from "./scenario.ts";

describe.skipIf(redisMissing !== undefined)(onRedis("over Redis"), () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it("results and a decision that arrive here wake the process that waits", async () => {
    const client = createClient({ url: redis.url });
    const store = redisStore(await client.connect());
    const seen: string[] = [];
    const scenario = createScenario(store, (event) => seen.push(event));
    const { orchestrator, approvals } = scenario;
    const paused = await orchestrator.run({ conversationId, input: "Go" });
    expect(paused.status).toBe("awaiting_tool_results");

    const child = spawn(process.execPath, [join(import.meta.dirname, "wake-child.ts"), redis.url], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    for await (const line of createInterface({ input: child.stdout })) {
      seen.push(line);
      if (line !== "waiting") continue;
      await approvals.decide(paused.pendingApprovals[0]!.id, { decision: "approve" });
      for (const { id, rawText } of paused.pendingToolCalls.toReversed()) {
        await orchestrator.provideToolResult(conversationId, { toolCallId: id, result: `answer ${rawText}` });
      }
    }
    expect(seen.at(-1)).toBe("end completed");
    // It is the other one that went on.
    expect(seen.indexOf("waiting")).toBeLessThan(seen.findIndex((line) => line.startsWith("wipe ")));
    expect(await problemsOf(scenario, (await orchestrator.get(conversationId))!, seen)).toEqual([]);
    client.destroy();
  });
});
