import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Checkpoint } from "../../src/run/checkpoint.ts";
import { Orchestrator } from "../../src/run/index.ts";
import { memoryStore, type Store } from "../../src/store/index.ts";
import { redisStore } from "../../src/store/redis.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "../store/redis-server.ts";
import { temporary } from "../temporary.ts";
import { external, scripted } from "./script.ts";

let redis: RedisServer;
let client: ReturnType<typeof createClient>;
const skipRedis = redisMissing !== undefined;

beforeAll(async () => {
  if (skipRedis) return;
  redis = await startRedis();
  client = createClient({ url: redis.url }).on("error", () => {}) as typeof client;
  await client.connect();
});

afterAll(async () => {
  if (skipRedis) return;
  client.destroy();
  await redis.stop();
});

describe.each<[string, () => Store | Promise<Store>, boolean]>([
  ["memory", () => memoryStore(), false],
  ["sqlite", () => sqliteStore(join(temporary(), "list.db")), false],
  [onRedis("redis"), () => client.flushDb().then(() => redisStore(client)), skipRedis],
])("list() in %s", (_, open, isSkipped) => {
  it.skipIf(isSkipped)("gives page after page, each run once, whatever comes and goes meanwhile", async () => {
    const store = await open();
    const reads: number[] = [];
    const list: Store["list"] = async (prefix, options) => {
      const entries = await store.list(prefix, options);
      if (prefix === "run/") reads.push(entries.length);
      return entries as never;
    };
    const model = scripted(
      ...Array.from({ length: 12 }, (_one, n) => (n % 4 === 0 ? { calls: [{ name: "ask" }] } : { text: "Hi." })),
    );
    const orchestrator = new Orchestrator({ model, tools: [external("ask")], store: { ...store, list } });
    // With characters that no key holds as they are, and in another order than that of their keys.
    const ids = ["b/1", "a", "\ud800", "c%", "z", "b", "ü", "a b", "__proto__", "d:1", "y", "x"];
    for (const conversationId of ids) await orchestrator.run({ conversationId, input: "Go" });
    await store.put("run/damaged", "damaged");
    (await Checkpoint.create(store, 1, { conversationId: "died", runId: "run_1", wire: "openai-chat" })).abandon();
    const all = (await orchestrator.list()).map(({ conversationId }) => conversationId);
    expect(all.toSorted()).toEqual(ids.toSorted());

    reads.length = 0;
    const pages: string[][] = [];
    for (let after: string | undefined; ;) {
      const page = (await orchestrator.list({ limit: 5, after })).map(({ conversationId }) => conversationId);
      pages.push(page);
      if (page.length < 5) break;
      after = page.at(-1);
      // The one that it goes on from may be gone by then.
      await orchestrator.forget(after!);
    }
    expect(pages.map(({ length }) => length)).toEqual([5, 5, 2]);
    expect(pages.flat()).toEqual(all);
    expect(Math.max(...reads)).toBeLessThanOrEqual(5);

    const waiting = await orchestrator.list({ status: "awaiting_tool_results" });
    const [first] = await orchestrator.list({ status: "awaiting_tool_results", limit: 1 });
    const after = first!.conversationId;
    expect([first, ...(await orchestrator.list({ status: "awaiting_tool_results", after }))]).toEqual(waiting);
    expect(waiting.length).toBeGreaterThan(1);
    await store.close();
  });

  it.skipIf(isSkipped)("reads a bounded number at once", async () => {
    const store = await open();
    await new Orchestrator({ model: scripted({ text: "Hi." }), store }).run({ conversationId: "first", input: "Go" });
    const { value } = (await store.get<object>("run/first"))!;
    const sizes: number[] = [];
    const count = 1_203;
    for (let n = 0; n < count; n++) await store.put(`run/${n}`, { ...value, conversationId: `${n}` });
    const list: Store["list"] = async (...args) => {
      const entries = await store.list(...args);
      sizes.push(entries.length);
      return entries as never;
    };
    const orchestrator = new Orchestrator({ model: scripted(), store: { ...store, list } });
    const listed = (await orchestrator.list()).map(({ conversationId: id }) => id);
    expect([listed.length, new Set(listed).size]).toEqual([count + 1, count + 1]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
    await store.close();
  });
});

it("tells a status that no run can have from one that none has", async () => {
  const orchestrator = new Orchestrator({ model: scripted(), store: memoryStore() });
  expect(await orchestrator.list({ status: "running" })).toEqual([]);
  await expect(orchestrator.list({ status: "complete" as never })).rejects.toThrow(
    new TypeError(
      'status is "running", "completed", "awaiting_tool_results", "awaiting_approval" or "error", got "complete". Did you mean completed?',
    ),
  );
});

it.each([[{ limit: 0 }], [{ limit: 1.5 }], [{ limit: "5" }], [{ after: "" }], [{ after: 5 }], ["5"], [null]])(
  "list(%j) is a caller's mistake",
  async (options) => {
    const orchestrator = new Orchestrator({ model: scripted(), store: memoryStore() });
    await expect(orchestrator.list(options as never)).rejects.toThrow(TypeError);
  },
);
