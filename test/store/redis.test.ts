import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { Cluster, Redis } from "ioredis";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { redisStore, type IoRedisClient, type NodeRedisClient } from "../../src/store/redis.ts";
import { onRedis, redisMissing, startRedis, type RedisServer } from "./redis-server.ts";
import { soon } from "../soon.ts";

describe("redisStore() takes a client of one server, and says so", () => {
  const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], { lazyConnect: true });
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["an address", "redis://localhost"],
    ["a cluster of ioredis", cluster],
    ["a cluster of redis", createCluster({ rootNodes: [] })],
    ["a pool of redis", createClientPool()],
    ["sentinels of redis", createSentinel({ name: "none", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] })],
  ])("not %s", (_, client) => {
    expect(() => redisStore(client as never)).toThrow(TypeError);
    expect(() => redisStore(client as never)).toThrow(/a client of one server/);
  });
});

it("settings that cannot be meant are refused", () => {
  const client = new Redis({ lazyConnect: true });
  expect(() => redisStore(client, { prefix: "" })).toThrow(TypeError);
  expect(() => redisStore(client, { prefix: "a}b" })).toThrow(TypeError);
  expect(() => redisStore(client, { timeoutMs: 0 })).toThrow(/timeoutMs is 0/);
  // Else it would be the store of every other application that gives none.
  expect(() => redisStore(client, { prefx: "my-app" } as never)).toThrow(/no option "prefx". Did you mean prefix\?/);
  expect(() => redisStore(client, "my-app" as never)).toThrow(/takes an object, \{ prefix, timeoutMs \}, got a string/);
});

// What is stored is found again by later versions.
it("has its keys under the same name in every version, and waits 10 s for an answer", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const sent: string[][] = [];
  const client = {
    status: "ready",
    duplicate: () => {},
    call(...command: string[]) {
      sent.push(command);
      return new Promise(() => {});
    },
  };
  const failed = vi.fn();
  void redisStore(client as never)
    .get("a")
    .catch(failed);
  expect(sent).toEqual([["GET", "{toolstream}:entry:a"]]);
  await vi.advanceTimersByTimeAsync(9_900);
  expect(failed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  expect(failed).toHaveBeenCalledWith(
    expect.objectContaining({ code: "store_failed", message: expect.stringContaining("no answer within 10000 ms") }),
  );
});

describe.skipIf(redisMissing !== undefined)(onRedis("on a server"), () => {
  let server: RedisServer;
  let admin: Redis;
  let count = 0;
  let cleanUps: (() => unknown)[] = [];

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.port, "127.0.0.1");
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.stop();
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
    cleanUps = [];
  });

  type Client = NodeRedisClient | IoRedisClient;
  type User = { username: string; password: string };

  const packages: [string, (port: number, user?: User) => Promise<Client>][] = [
    [
      "redis",
      async (port, user) => {
        const client = createClient({ ...user, socket: { host: "127.0.0.1", port } });
        client.on("error", () => {});
        await client.connect();
        cleanUps.push(() => client.destroy());
        return client;
      },
    ],
    [
      "redis, on RESP 2",
      async (port, user) => {
        const client = createClient({ ...user, RESP: 2, socket: { host: "127.0.0.1", port } });
        client.on("error", () => {});
        await client.connect();
        cleanUps.push(() => client.destroy());
        return client;
      },
    ],
    [
      "ioredis",
      async (port, user) => {
        const client = new Redis({ ...user, host: "127.0.0.1", port });
        client.on("error", () => {});
        cleanUps.push(() => client.disconnect());
        return client;
      },
    ],
  ];

  function storeOf(client: Client, options: { prefix?: string; timeoutMs?: number } = {}) {
    const prefix = options.prefix ?? `own-${++count}`;
    const store = redisStore(client, { ...options, prefix });
    cleanUps.push(() => store.close());
    return { store, prefix };
  }

  describe.each(packages)("by %s", (_, clientOf) => {
    it("tells to read again after the subscription's connection broke, and goes on telling", async () => {
      const { store } = storeOf(await clientOf(server.port));
      const seen: string[] = [];
      await store.subscribe("a/", ({ type, key }) => void seen.push(`${type} ${key}`));
      await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
      await soon(() => expect(seen).toEqual(["missed a/"]));
      await store.put("a/1", 1);
      await soon(() => expect(seen).toEqual(["missed a/", "put a/1"]));
      await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
      await soon(() => expect(seen.at(-1)).toBe("missed a/"));
    });

    it("holds a connection of its own only while somebody listens, and the client stays open", async () => {
      const client = await clientOf(server.port);
      const { store, prefix } = storeOf(client);
      const listening = async () => (await admin.pubsub("NUMSUB", `{${prefix}}:changes`))[1];
      expect(await listening()).toBe(0);
      const ends = [await store.subscribe("a", () => {}), await store.subscribe("b", () => {})];
      expect(await listening()).toBe(1);
      await ends[0]!();
      expect(await listening()).toBe(1);
      await ends[1]!();
      await soon(async () => expect(await listening()).toBe(0));
      await store.subscribe("a", () => {});
      await store.close();
      await soon(async () => expect(await listening()).toBe(0));
      const { store: another } = storeOf(client, { prefix });
      await another.put("a", 1);
    });

    it("goes on when the server has forgotten the scripts", async () => {
      const { store } = storeOf(await clientOf(server.port));
      await store.put("a", 1);
      await admin.script("FLUSH");
      await store.put("a", 2);
      await admin.script("FLUSH");
      expect(await store.delete("a")).toBe(true);
    });

    it("fails while the server is away, and after that its versions do not begin anew", async () => {
      const own = await startRedis();
      const { store } = storeOf(await clientOf(own.port), { timeoutMs: 300 });
      for (let write = 0; write < 20; write++) await store.put("a", write);
      const { version } = await store.put("a", 1);
      const seen: string[] = [];
      await store.subscribe("a", ({ type, key }) => void seen.push(`${type} ${key}`));
      await own.stop();
      for (const asked of [store.get("a"), store.put("a", 2), store.list(""), store.delete("a")]) {
        await expect(asked).rejects.toMatchObject({ code: "store_failed", cause: expect.any(Error) });
      }
      const again = await startRedis(own.port);
      cleanUps.unshift(() => again.stop());
      // Among others: what the store has given up may still wait in the client's own queue, and is sent and told of then.
      await soon(() => expect(seen).toContain("missed a"));
      await soon(() => store.get("a"));
      await admin.ping();
      const written = await store.put("b", 1, { expectedVersion: 0 });
      expect(written.version).toBeGreaterThan(version);
      await expect(store.put("b", 2, { expectedVersion: version })).rejects.toMatchObject({ code: "version_conflict" });
    });

    it("cannot subscribe at a server that is away, and leaves nothing behind", async () => {
      const own = await startRedis();
      const { store } = storeOf(await clientOf(own.port), { timeoutMs: 300 });
      await own.stop();
      await expect(store.subscribe("a", () => {})).rejects.toMatchObject({ code: "store_failed" });
      const again = await startRedis(own.port);
      cleanUps.unshift(() => again.stop());
      const seen: string[] = [];
      await soon(() => store.subscribe("a", ({ key }) => void seen.push(key)));
      await soon(() => store.put("a", 1));
      await soon(() => expect(seen).toContain("a"));
    });

    it("counts an answer that came in time, though this process was busy until the time was over", async () => {
      const { store } = storeOf(await clientOf(server.port), { timeoutMs: 300 });
      const { version } = await store.put("a", 1);
      const answer = store.get("a");
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)); // once it is asked
      expect(await answer).toMatchObject({ version });
    });

    it("says when the server does not answer in time", async () => {
      const { store } = storeOf(await clientOf(server.port), { timeoutMs: 50 });
      await admin.client("PAUSE", 300, "ALL");
      await expect(store.get("a")).rejects.toThrow(/failed to read "a": no answer within 50 ms/);
      await admin.ping(); // answered when the pause is over
      expect(await store.get("a")).toBeUndefined();
    });

    it("writes nothing over what no store wrote, and says what to do", async () => {
      const { store, prefix } = storeOf(await clientOf(server.port));
      await admin.set(`{${prefix}}:entry:a`, "another application's");
      await expect(store.put("a", 1)).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringContaining("Delete it, or restore it from a backup."),
      });
      expect(await admin.get(`{${prefix}}:entry:a`)).toBe("another application's");
    });

    it("writes nothing for a user who may not publish, as a new one may not", async () => {
      const prefix = `own-${++count}`;
      await admin.call("ACL", "SETUSER", "ada", "on", ">secret", "~*", "+@all", "resetchannels");
      cleanUps.push(() => admin.call("ACL", "DELUSER", "ada"));
      const { store } = storeOf(await clientOf(server.port, { username: "ada", password: "secret" }), { prefix });
      await expect(store.put("a", 1)).rejects.toMatchObject({ code: "store_failed" });
      expect(await store.get("a")).toBeUndefined();
      await admin.call("ACL", "SETUSER", "ada", `&{${prefix}}:changes`);
      await store.put("a", 1);
      await admin.call("ACL", "SETUSER", "ada", "resetchannels");
      await expect(store.delete("a")).rejects.toMatchObject({ code: "store_failed" });
      expect(await store.get("a")).toMatchObject({ value: 1 });
    });

    it("keeps no trace of what vanished", async () => {
      const { store, prefix } = storeOf(await clientOf(server.port));
      for (let index = 0; index < 30; index++) await store.put(`a/${index}`, index, { ttlMs: 1 });
      await store.put("b", 1, { ttlMs: 60_000 });
      await soon(async () => {
        await store.put("c", 1);
        expect(await admin.zcard(`{${prefix}}:keys`)).toBe(2);
      });
      expect(await admin.zcard(`{${prefix}}:expiry`)).toBe(1);
      expect((await store.list("")).map(({ key }) => key)).toEqual(["b", "c"]);
    });

    it("has a time limit of the server's own on each entry that vanishes", async () => {
      const { store, prefix } = storeOf(await clientOf(server.port));
      const { expiresAt } = await store.put("a", 1, { ttlMs: 60_000 });
      expect(await admin.call("PEXPIRETIME", `{${prefix}}:entry:a`)).toBe(expiresAt);
      await store.put("a", 1);
      expect(await admin.pttl(`{${prefix}}:entry:a`)).toBe(-1);
    });
  });

  it("both packages share a store", async () => {
    const [one, two] = [packages[0]![1], packages[2]![1]];
    const { store, prefix } = storeOf(await one(server.port));
    const { store: other } = storeOf(await two(server.port), { prefix });
    const seen: string[] = [];
    await store.subscribe("a", ({ key }) => void seen.push(key));
    const written = await other.put("a", { text: "\ud800 é" });
    expect(await store.get("a")).toEqual(written);
    await soon(() => expect(seen).toEqual(["a"]));
  });

  it("versions grow though the server's clock was set back", async () => {
    const { store, prefix } = storeOf(await packages[2]![1](server.port));
    // As the last one was before: of an hour from now.
    const last = (Date.now() + 3_600_000) * 1_000;
    await admin.set(`{${prefix}}:version`, last);
    expect((await store.put("a", 1)).version).toBe(last + 1);
    expect((await store.put("a", 2)).version).toBe(last + 2);
  });

  it("stores of different prefixes are apart", async () => {
    const client = await packages[2]![1](server.port);
    const { store } = storeOf(client, { prefix: "apart" });
    const { store: other } = storeOf(client, { prefix: "apart:entry" });
    await store.put("a", 1);
    expect(await other.get("a")).toBeUndefined();
    expect(await other.list("")).toEqual([]);
  });

  it("an ioredis client with a keyPrefix works like any other", async () => {
    const client = new Redis({ host: "127.0.0.1", port: server.port, keyPrefix: "app:" });
    cleanUps.push(() => client.disconnect());
    const { store, prefix } = storeOf(client);
    const seen: string[] = [];
    await store.subscribe("", ({ key }) => void seen.push(key));
    const written = await store.put("a", 1);
    expect(await store.get("a")).toEqual(written);
    expect(await store.list("")).toEqual([written]);
    expect(await admin.exists(`app:{${prefix}}:entry:a`)).toBe(1);
    await soon(() => expect(seen).toEqual(["a"]));
    expect(await store.delete("a")).toBe(true);
  });

  describe("an answer that is lost on its way", () => {
    it("is given when the client sends the command again: ioredis does so by itself", async () => {
      const way = await unreliableWay(server.port);
      const { store } = storeOf(await packages[2]![1](way.port));
      const { version } = await store.put("a", 1);
      way.loseNextAnswer();
      const written = await store.put("a", 2, { expectedVersion: version });
      expect(way.lost).toBe(1);
      expect(await store.get("a")).toEqual(written);
      expect(written.value).toBe(2);
    });

    it("is an error, as nobody knows: the redis package says so at once", async () => {
      const way = await unreliableWay(server.port);
      const { store } = storeOf(await packages[0]![1](way.port));
      const { version } = await store.put("a", 1);
      way.loseNextAnswer();
      await expect(store.put("a", 2, { expectedVersion: version })).rejects.toMatchObject({ code: "store_failed" });
      expect(way.lost).toBe(1);
      await soon(async () => expect((await store.get("a"))!.value).toBe(2));
    });
  });

  /** A connection that can break after the server did what was asked and before it could say so. */
  async function unreliableWay(port: number) {
    let isLosing = false;
    let lost = 0;
    const sockets = new Set<Socket>();
    const way = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          near.destroy();
          far.destroy();
        });
      }
      near.on("data", (bytes) => far.write(bytes));
      far.on("data", (bytes) => {
        if (!isLosing) return void near.write(bytes);
        isLosing = false;
        lost++;
        near.destroy();
      });
    });
    await new Promise<void>((done) => way.listen(0, "127.0.0.1", done));
    cleanUps.push(() => {
      for (const socket of sockets) socket.destroy();
      way.close();
    });
    return {
      port: (way.address() as AddressInfo).port,
      get lost() {
        return lost;
      },
      loseNextAnswer() {
        isLosing = true;
      },
    };
  }
});
