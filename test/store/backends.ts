import { Redis } from "ioredis";
import { createClient } from "redis";
import type { Store } from "../../src/store/index.ts";
import { redisStore } from "../../src/store/redis.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";

/** Where a store's data is, such that another process can open it, too. */
export type Backend =
  | { readonly driver: "sqlite"; readonly path: string }
  | { readonly driver: "redis" | "ioredis"; readonly port: number; readonly prefix: string };

export interface OpenStore {
  readonly store: Store;
  /** Closes the store, and the client that it was given. */
  close(): Promise<void>;
}

export async function openBackend(backend: Backend): Promise<OpenStore> {
  if (backend.driver === "sqlite") {
    const store = sqliteStore({ path: backend.path, pollMs: 10 });
    return { store, close: () => store.close() };
  }
  const { port, prefix } = backend;
  if (backend.driver === "redis") {
    const client = createClient({ socket: { host: "127.0.0.1", port } });
    client.on("error", () => {});
    await client.connect();
    const store = redisStore(client, { prefix });
    const close = async () => {
      await store.close();
      if (client.isOpen) client.destroy();
    };
    return { store, close };
  }
  const client = new Redis({ host: "127.0.0.1", port });
  client.on("error", () => {});
  const store = redisStore(client, { prefix });
  const close = async () => {
    await store.close();
    client.disconnect();
  };
  return { store, close };
}
