import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import { expect, it, vi } from "vitest";
import { memoryStore, storeKey } from "../../src/store/index.ts";
import { openBackend, type Backend, type OpenStore } from "./backends.ts";
import { describeStore, type StoreDriver, type StorePlace } from "./conformance.ts";
import { startProcess, type StoreProcess } from "./process.ts";
import { redisMissing, startRedis, type RedisServer } from "./redis-server.ts";

const memory: StoreDriver = {
  name: "memory",
  place: async () => ({ open: async () => memoryStore(), clear: async () => {} }),
};

const sqlite: StoreDriver = {
  name: "sqlite",
  async place() {
    const folder = mkdtempSync(join(tmpdir(), "toolstream-store-"));
    const path = join(folder, "store.db");
    const edit = (sql: string, ...values: string[]) => {
      const database = new DatabaseSync(path, { timeout: 5_000 });
      if (values.length > 0) database.prepare(sql).run(...values);
      else database.exec(sql);
      database.close();
    };
    return shared({ driver: "sqlite", path }, () => rmSync(folder, { recursive: true }), {
      damage: async (key, text) => edit("UPDATE entry SET value = ? WHERE key = ?", text, key),
      fail: async () => edit("ALTER TABLE entry RENAME TO moved"),
    });
  },
};

function redis(driver: "redis" | "ioredis"): StoreDriver {
  let server: RedisServer;
  let admin: Redis;
  let places = 0;
  return {
    name: `redis, by ${driver}`,
    missing: redisMissing,
    async start() {
      server = await startRedis();
      admin = new Redis(server.port, "127.0.0.1");
    },
    async stop() {
      admin?.disconnect();
      await server?.stop();
    },
    async place() {
      const prefix = `test-${++places}`;
      return shared({ driver, port: server.port, prefix }, () => {}, {
        damage: async (key, text) => void (await admin.set(`{${prefix}}:entry:${key}`, text)),
        async fail() {
          for (const key of await admin.keys(`{${prefix}}:*`)) {
            await admin.del(key);
            await admin.lpush(key, "something else");
          }
        },
      });
    },
  };
}

function shared(
  backend: Backend,
  remove: () => void,
  tricks: Required<Pick<StorePlace, "damage" | "fail">>,
): StorePlace {
  const opened: OpenStore[] = [];
  const processes: StoreProcess[] = [];
  return {
    ...tricks,
    async open() {
      opened.push(await openBackend(backend));
      return opened.at(-1)!.store;
    },
    async process() {
      processes.push(await startProcess(backend));
      return processes.at(-1)!;
    },
    async clear() {
      await Promise.all(processes.map((child) => child.kill()));
      await Promise.all(opened.map(({ close }) => close()));
      remove();
    },
  };
}

[memory, sqlite, redis("redis"), redis("ioredis")].forEach(describeStore);

// What is stored is found again by later versions.
it("a key is the same in every version", () => {
  expect(storeKey("run", "a/b é", "\ud800é", 7)).toBe("run/a%2Fb%20%C3%A9/%uD800%C3%A9/7");
});

it("what is over does not fill the memory, though nobody asks for it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const store = memoryStore();
  for (let index = 0; index < 1_500; index++) await store.put(`over/${index}`, 1, { ttlMs: 10 });
  vi.setSystemTime(Date.now() + 11);
  const remove = vi.spyOn(Map.prototype, "delete");
  for (let index = 0; index < 1_500; index++) await store.put("a", index);
  const removed = new Set(remove.mock.calls.map(([key]) => key as unknown));
  vi.restoreAllMocks();
  vi.useRealTimers();
  expect(removed.size).toBe(1_500);
});
