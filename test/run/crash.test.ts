/** A process dies at every single write of a run; another one goes on with what is stored. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/index.ts";
import { redisStore } from "../../src/store/redis.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "../store/redis-server.ts";
import { createScenario, finish, problemsOf } from "./scenario.ts";
import { sharedTemporary } from "../temporary.ts";

/** More than the scenario has: the child that is not killed says how many there are. */
const MOST_WRITES = 300;

const dir = sharedTemporary();

describe("in memory", () => {
  it("a run that froze at any write is finished by another orchestrator", async () => {
    let freezes = 0;
    let isPast = false;
    const next = async (): Promise<void> => {
      while (!isPast) {
        const freezeAt = ++freezes;
        const store = memoryStore();
        const seen: string[] = [];
        const frozen = freezing(store, freezeAt);
        const first = finish(createScenario(frozen.store, (event) => seen.push(event)));
        isPast ||= await Promise.race([frozen.reached.then(() => false), first.then(() => true)]);
        if (isPast) return;
        const scenario = createScenario(store, (event) => seen.push(event));
        const result = await finish(scenario);
        expect([freezeAt, ...(await problemsOf(scenario, result, seen))]).toEqual([freezeAt]);
      }
    };
    await Promise.all(Array.from({ length: 8 }, next));
    expect(freezes).toBeGreaterThan(20);
  });
});

interface Backend {
  readonly name: string;
  /** At which writes: each of them takes a process. */
  readonly every: number;
  readonly skip: string | undefined;
  start(): Promise<void>;
  /** Where run `index` is kept. */
  at(index: number): Promise<{ where: string; open(): Promise<Store>; close?(): void }>;
  stop(): Promise<void>;
}

let redis: RedisServer;
const backends: readonly Backend[] = [
  {
    name: "sqlite",
    every: 1,
    skip: undefined,
    start: async () => {},
    async at(index) {
      const where = join(dir, `${index}.db`);
      return { where, open: async () => sqliteStore(where) };
    },
    stop: async () => {},
  },
  {
    name: onRedis("redis"),
    // They are the same writes as in SQLite: all of them are tried in CI, where there is time.
    every: process.env["CI"] === undefined ? 4 : 1,
    skip: redisMissing,
    async start() {
      redis = await startRedis();
    },
    async at(index) {
      const where = `${redis.url}/${index % 16}`;
      const client = createClient({ url: where }).on("error", () => {});
      await client.connect();
      await client.flushDb();
      return { where, open: async () => redisStore(client), close: () => client.destroy() };
    },
    stop: () => redis.stop(),
  },
];

for (const backend of backends) {
  describe.skipIf(backend.skip !== undefined)(`in ${backend.name}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    it("a run whose process was killed at any write is finished by another process", async () => {
      let writes = 0;
      let isPast = false;
      const next = async (lane: number): Promise<void> => {
        while (!isPast && writes < MOST_WRITES) {
          const killAt = (writes += backend.every);
          const { where, open, close } = await backend.at(lane);
          const world = join(dir, `${backend.name}-${killAt}.log`);
          if (await child(where, world, killAt)) {
            isPast = true;
            close?.();
            return;
          }
          const seen = () => (existsSync(world) ? readFileSync(world, "utf8").trim().split("\n") : []);
          const more: string[] = [];
          const store = await open();
          const scenario = createScenario(store, (event) => more.push(event));
          const result = await finish(scenario);
          const problems = await problemsOf(scenario, result, [...seen(), ...more]);
          await store.close();
          close?.();
          expect([killAt, ...problems]).toEqual([killAt]);
          rmSync(where, { force: true });
        }
      };
      await Promise.all([next(0), next(1)]);
      expect(isPast).toBe(true);
      expect(writes).toBeGreaterThan(20);
    }, 240_000);
  });
}

/** True when it came to its end. */
function child(where: string, world: string, killAt: number): Promise<boolean> {
  const script = join(import.meta.dirname, "crash-child.ts");
  return new Promise((resolve, reject) => {
    const args = [script, "--store", where, "--world", world, "--kill-at", String(killAt)];
    execFile(process.execPath, args, (error, stdout, stderr) => {
      if (error === null && stdout.includes("finished")) resolve(true);
      else if (error?.signal === "SIGKILL") resolve(false);
      else reject(new Error(`the child failed: ${stderr}`));
    });
  });
}

/** A store whose writes, from one on, never come back: as for a process that was stopped there. */
function freezing(inner: Store, freezeAt: number) {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  let writes = 0;
  const through = <T>(go: () => Promise<T>, isWrite: boolean): Promise<T> => {
    if (isWrite) writes++;
    if (writes < freezeAt) return go();
    resolve();
    return new Promise<T>(() => {});
  };
  const store: Store = {
    ...inner,
    get: (key) => through(() => inner.get(key), false) as never,
    list: (...args) => through(() => inner.list(...args), false) as never,
    put: (...args) => through(() => inner.put(...args), true) as never,
    delete: (...args) => through(() => inner.delete(...args), true),
    subscribe: (...args) => through(() => inner.subscribe(...args), false),
  };
  return { store, reached };
}
