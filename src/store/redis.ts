import { messageOf } from "../errors.ts";
import { parseJson } from "../json/parse.ts";
import { checkMs, settlesWithin } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import { checkDelete, checkKey, checkList, checkPut, checkSubscribe, endOf } from "./arguments.ts";
import { closed, conflict, failed, unreadable } from "./errors.ts";
import { createListeners } from "./listeners.ts";
import { connectionOf, type IoRedisClient, type NodeRedisClient, type Subscription } from "./redis-clients.ts";
import { DELETE, PUT } from "./redis-scripts.ts";
import type { ListOptions, PutOptions, Store, StoreEntry } from "./store.ts";
import { textOf } from "./value.ts";

export type { IoRedisClient, NodeRedisClient } from "./redis-clients.ts";

export interface RedisStoreOptions {
  /** The beginning of all keys of this store. Default `"toolstream"`. Stores with the same prefix are one store. */
  readonly prefix?: string | undefined;
  /** How long to wait for the server's answer before `store_failed`. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionNames<RedisStoreOptions> = { prefix: true, timeoutMs: checkMs };

/** How many entries `list()` reads at once. */
const PAGE = 100;

/**
 * A store on a Redis server (5 or later, or a compatible one), for all processes that can reach it. Takes a connected
 * client of `redis` or `ioredis`, which stays yours; subscriptions get a connection of their own.
 *
 * @example
 * const store = redisStore(await createClient().connect(), { prefix: "my-app" });
 */
export function redisStore(client: NodeRedisClient | IoRedisClient, options: RedisStoreOptions = {}): Store {
  const name = "redis";
  checkOptionNames("redisStore()", options, OPTIONS);
  const { prefix: storePrefix = "toolstream", timeoutMs = 10_000 } = options;
  if (storePrefix === "" || /[{}]/.test(storePrefix)) throw new TypeError("prefix is empty, or has braces in it.");
  const connection = connectionOf(client);
  // In braces: one hash slot, as scripts need where keys are distributed by name.
  const entryPrefix = `{${storePrefix}}:entry:`;
  const keysKey = `{${storePrefix}}:keys`;
  const expiryKey = `{${storePrefix}}:expiry`;
  const versionKey = `{${storePrefix}}:version`;
  const channel = `{${storePrefix}}:changes`;
  const digests = new Map<string, string>();
  const listeners = createListeners();
  /** The listening connection, while there are listeners. */
  let subscription: Subscription | undefined;
  let isClosed = false;

  async function run<Result>(verb: string, subject: string, work: () => Promise<Result>): Promise<Result> {
    if (isClosed) throw closed(name);
    try {
      return await within(timeoutMs, work());
    } catch (error) {
      if (messageOf(error).startsWith("DAMAGED")) throw unreadable(name, subject, error);
      throw failed(name, verb, subject, error);
    }
  }

  /** By its digest; a server that was restarted is sent the text again. */
  async function script(text: string, key: string, ...args: string[]): Promise<unknown[]> {
    const rest = ["4", entryPrefix + key, keysKey, expiryKey, versionKey, key, ...args];
    const digest = digests.get(text) ?? String(await connection.send("SCRIPT", "LOAD", text));
    digests.set(text, digest);
    try {
      return (await connection.send("EVALSHA", digest, ...rest)) as unknown[];
    } catch (error) {
      if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
      return (await connection.send("EVAL", text, ...rest)) as unknown[];
    }
  }

  function listen(): Promise<void> {
    subscription ??= connection.listen(channel, onMessage, () => listeners.tellMissed());
    return subscription.ready;
  }

  function stopListening(): void {
    subscription?.end();
    subscription = undefined;
  }

  function onMessage(message: string): void {
    const space = message.indexOf(" ");
    listeners.tell({ type: message.slice(0, space) === "delete" ? "delete" : "put", key: message.slice(space + 1) });
  }

  return {
    name,

    async get<Value>(key: string) {
      checkKey(key);
      const text = await run("read", key, () => connection.send("GET", entryPrefix + key));
      return text === null ? undefined : entryOf<Value>(name, key, String(text));
    },

    async put<Value>(key: string, value: Value, putOptions: PutOptions = {}) {
      checkPut(key, putOptions);
      const text = textOf(value);
      const { expectedVersion, ttlMs } = putOptions;
      const [isWritten, version, expires] = await run("write", key, () =>
        script(
          PUT,
          key,
          text,
          String(expectedVersion ?? ""),
          String(typeof ttlMs === "number" ? Math.ceil(ttlMs) : (ttlMs ?? "")),
          crypto.randomUUID(),
          channel,
        ),
      );
      if (Number(isWritten) === 0) throw conflict(key, expectedVersion!, Number(version));
      const expiresAt = Number(expires) === 0 ? null : Number(expires);
      return { key, value: parseJson(text) as Value, version: Number(version), expiresAt };
    },

    async delete(key, deleteOptions = {}) {
      checkDelete(key, deleteOptions);
      const { expectedVersion } = deleteOptions;
      const [outcome, version] = await run("delete", key, () =>
        script(DELETE, key, String(expectedVersion ?? ""), channel),
      );
      if (Number(outcome) === 0) throw conflict(key, expectedVersion!, Number(version));
      return Number(outcome) === 1;
    },

    async list<Value>(prefix: string, listOptions: ListOptions = {}) {
      checkList(prefix, listOptions);
      const { after = "", limit = Infinity } = listOptions;
      const end = endOf(prefix);
      const max = end === undefined ? "+" : `(${end}`;
      const entries: StoreEntry<Value>[] = [];
      let min = after >= prefix && after !== "" ? `(${after}` : `[${prefix}`;
      while (entries.length < limit) {
        const count = Math.min(PAGE, limit - entries.length);
        const keys = await run("list", prefix, async () =>
          strings(await connection.send("ZRANGEBYLEX", keysKey, min, max, "LIMIT", "0", String(count))),
        );
        if (keys.length === 0) break;
        const texts = await run("list", prefix, async () =>
          strings(await connection.send("MGET", ...keys.map((key) => entryPrefix + key))),
        );
        for (const [index, key] of keys.entries()) {
          const text = texts[index];
          if (text !== undefined && text !== null) entries.push(entryOf<Value>(name, key!, text));
        }
        if (keys.length < count) break;
        min = `(${keys.at(-1)!}`;
      }
      return entries;
    },

    async subscribe(prefix, listener) {
      checkSubscribe(prefix, listener);
      // Added first, so that a listener leaving meanwhile does not close the connection.
      const stop = listeners.add(prefix, listener);
      const end = async () => {
        stop();
        if (listeners.isEmpty) stopListening();
      };
      try {
        await run("subscribe to", prefix, listen);
      } catch (error) {
        await end();
        throw error;
      }
      if (isClosed) throw closed(name);
      return end;
    },

    async close() {
      isClosed = true;
      listeners.clear();
      stopListening();
    },
  };
}

async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  if (await settlesWithin(ms, work)) return work;
  throw new Error(`no answer within ${ms} ms`);
}

function strings(reply: unknown): (string | null)[] {
  return (reply as unknown[]).map((item) => (item === null ? null : String(item)));
}

/** @throws ToolError `store_failed` for anything that the script did not write */
function entryOf<Value>(store: string, key: string, text: string): StoreEntry<Value> {
  const head = /^(\d+) (\d+) \S+ /.exec(text);
  if (head === null) throw unreadable(store, key);
  const [{ length }, version, expires] = head;
  try {
    const value = parseJson(text.slice(length)) as Value;
    return { key, value, version: Number(version), expiresAt: expires === "0" ? null : Number(expires) };
  } catch (cause) {
    throw unreadable(store, key, cause);
  }
}
