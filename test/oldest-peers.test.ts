/** The oldest version of each library that package.json lets in, where it is not an LLM provider's. */
import { createClient } from "redis-oldest";
import { Redis } from "ioredis-oldest";
import { Client, InMemoryTransport } from "mcp-client-oldest";
import { Server } from "mcp-server-oldest";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod-oldest";
import manifest from "../package.json" with { type: "json" };
import { defineTool, toSchema, type Tool } from "../src/index.ts";
import type { ToolEvent } from "../src/execute/index.ts";
import { mcpTools, serveMcp } from "../src/mcp/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { redisStore, type IoRedisClient, type NodeRedisClient } from "../src/store/redis.ts";
import { bullmqExecutor, bullmqWorker } from "../src/workers/bullmq.ts";
import { execute } from "./outcome.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "./store/redis-server.ts";
import { soon } from "./soon.ts";

vi.mock("bullmq", () => import("bullmq-oldest"));

type Peer = keyof typeof manifest.peerDependencies;

it.each<[Peer, keyof typeof manifest.devDependencies]>([
  ["@modelcontextprotocol/client", "mcp-client-oldest"],
  ["@modelcontextprotocol/server", "mcp-server-oldest"],
  ["bullmq", "bullmq-oldest"],
  ["ioredis", "ioredis-oldest"],
  ["redis", "redis-oldest"],
])("%s is the oldest of the range that package.json states", (peer, installed) => {
  const [, oldest] = /^(?:>=|\^)([\d.]+)/.exec(manifest.peerDependencies[peer])!;
  expect(manifest.devDependencies[installed]).toBe(`npm:${peer}@${oldest}`);
});

/** The one that all tests run with. With a newer one there, it needs a place among those above. */
it("@lezer/python is the first that reads a block without code", () => {
  expect(manifest.peerDependencies["@lezer/python"]).toBe(`^${manifest.devDependencies["@lezer/python"]}`);
});

describe.skipIf(redisMissing !== undefined)(onRedis("on a Redis server"), () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  const clients: Record<string, () => Promise<NodeRedisClient | IoRedisClient>> = {
    async redis() {
      const client = createClient({ url: server.url });
      onTestFinished(() => client.destroy());
      return client.connect();
    },
    async ioredis() {
      const client = new Redis(server.port, "127.0.0.1", { keyPrefix: "app:" });
      onTestFinished(() => client.disconnect());
      return client;
    },
  };

  it.each(Object.entries(clients))("a store by %s keeps, tells, lists and refuses", async (prefix, connect) => {
    const store = redisStore(await connect(), { prefix });
    onTestFinished(() => store.close());
    const heard: string[] = [];
    await store.subscribe("", ({ key }) => void heard.push(key));
    // redis 5.8 breaks characters of several bytes in long values.
    const written = await store.put("a", "é€😀".repeat(100_000));
    expect(await store.get("a")).toEqual(written);
    await soon(() => expect(heard).toEqual(["a"]));
    await expect(store.put("a", 1, { expectedVersion: 0 })).rejects.toMatchObject({ code: "version_conflict" });
    expect(await store.list("")).toEqual([written]);
    expect(await store.delete("a", { expectedVersion: written.version })).toBe(true);
  });

  describe("calls by BullMQ", () => {
    const events: string[] = [];
    const look = defineTool({
      name: "look",
      inputSchema: z.object({ ms: z.number() }),
      effect: "read",
      retries: 1,
      async execute({ ms }, { attempt, progress, signal }) {
        if (attempt === 1 && ms === 0) throw new Error("try again");
        events.push("begin");
        if (ms === 0) await progress({ attempt });
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, ms);
          signal!.addEventListener("abort", () => {
            clearTimeout(timer);
            events.push("aborted");
            resolve(undefined);
          });
        });
        return { attempt };
      },
    });

    function start(queue: string) {
      events.length = 0;
      const place = { queue, connection: { host: "127.0.0.1", port: server.port } };
      const worker = bullmqWorker([look], { ...place, worker: { lockDuration: 400 } });
      const onEvent = (event: ToolEvent) => {
        if (event.type === "tool.progress") events.push(event.progressSummary);
      };
      const executor = bullmqExecutor({ tools: [look], store: memoryStore(), onEvent, ...place });
      onTestFinished(async () => {
        await executor.close();
        await worker.close();
      });
      return (ms: number, signal?: AbortSignal) =>
        executor.execute(look.use({ ms }, { invocationId: "call" }), { runId: "run", signal });
    }

    it("run at a worker, again where they failed, and tell their progress", async () => {
      expect(await start("run")(0)).toMatchObject({ status: "completed", output: { attempt: 2 } });
      expect(events).toEqual(["begin", '{"attempt":2}']);
    });

    it("are refused with a client of redis: this BullMQ would wait for it without a word", () => {
      const options = { connection: createClient() as never, store: memoryStore() };
      expect(() => bullmqWorker([look], options)).toThrow(/^bullmqWorker\(\) got a client of redis.*Install BullMQ 6/);
      expect(() => bullmqExecutor({ tools: [look], ...options })).toThrow(TypeError);
    });

    it("end at the worker when they are given up", async () => {
      const giveUp = new AbortController();
      const outcome = start("given-up")(20_000, giveUp.signal);
      await soon(() => expect(events).toEqual(["begin"]));
      giveUp.abort();
      expect(await outcome).toMatchObject({ error: { code: "aborted" } });
      await soon(() => expect(events).toEqual(["begin", "aborted"]));
    });

    // BullMQ says so from 5.63.2 on: before, the worker went on with what was another one's.
    it("end at a worker that has lost its lock", async () => {
      void start("lost")(20_000);
      await soon(() => expect(events).toEqual(["begin"]));
      const admin = new Redis(server.port, "127.0.0.1");
      onTestFinished(() => admin.disconnect());
      const [lock] = await admin.keys("bull:lost:*:lock");
      await admin.del(lock!);
      await soon(() => expect(events).toEqual(["begin", "aborted"]));
    });
  });
});

it("tools go through an MCP server and client", async () => {
  const server = new Server({ name: "test", version: "1.0.0" }, { capabilities: { tools: {} } });
  serveMcp(server, [
    defineTool({
      name: "greet",
      inputSchema: z.object({ name: z.string() }),
      outputSchema: z.object({ said: z.string() }),
      async execute({ name }, { progress }) {
        if (name === "") throw new Error("nobody");
        await progress({ progress: 1 });
        return { said: `Hello, ${name}` };
      },
    }) as Tool,
  ]);
  const client = new Client({ name: "test", version: "1.0.0" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  onTestFinished(() => client.close());
  const { tools, skipped } = await mcpTools(client);
  expect(skipped).toEqual([]);
  const [greet] = tools();
  expect(greet).toMatchObject({ name: "test__greet", inputSchema: { jsonSchema: { required: ["name"] } } });
  expect(await execute(greet, { name: "Oslo" })).toEqual({ said: "Hello, Oslo" });
  await expect(execute(greet, { name: "" })).rejects.toMatchObject({ code: "tool_failed" });
});

it("a schema of zod 4.2, the first that exports itself, is shown and checks", () => {
  const schema = toSchema(
    z.object({
      city: z.string().regex(/^[a-z]+$/i),
      days: z.number().default(1),
      at: z.iso.date().transform((text) => new Date(text)),
    }),
  );
  expect(schema.jsonSchema).toMatchObject({
    properties: { city: { type: "string" }, days: { type: "number", default: 1 }, at: { format: "date" } },
    required: ["city", "at"],
  });
  expect(schema.jsonSchema["properties"]).not.toHaveProperty("city.pattern"); // its flag cannot be said
  const at = "2026-01-01";
  expect(schema.validate({ city: "Oslo", at })).toEqual({
    ok: true,
    value: { city: "Oslo", days: 1, at: new Date(at) },
  });
  expect(schema.validate({ city: "Oslo1", at })).toMatchObject({ ok: false, issues: [{ path: ["city"] }] });
  for (const date of [z.date(), z.coerce.date()])
    expect(() => toSchema(z.object({ date }))).toThrow(/JSON Schema cannot express all of this zod schema/);
});
