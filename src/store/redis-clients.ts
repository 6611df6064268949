/** The part of a client of the package `redis`, version 5.9 and later, that is used. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly options?: object | undefined;
  sendCommand(args: string[]): Promise<unknown>;
  duplicate(overrides?: object): unknown;
}

/** The part of a client of the package `ioredis`, version 5.9 and later, that is used. */
export interface IoRedisClient {
  readonly status: string;
  call(command: string, ...args: string[]): Promise<unknown>;
  duplicate(overrides?: object): unknown;
}

/** What the store needs from either client. */
export interface RedisConnection {
  send(command: string, ...args: string[]): Promise<unknown>;
  /**
   * Subscribes to a channel on a connection of its own, which is reopened whenever it breaks. `onReconnect`: it broke
   * and has subscribed again; messages may have been missed.
   */
  listen(channel: string, onMessage: (message: string) => void, onReconnect: () => void): Subscription;
}

export interface Subscription {
  /** Resolves once the server has confirmed it. */
  readonly ready: Promise<void>;
  end(): void;
}

/** The client's shape shows which package made it. */
export function connectionOf(client: NodeRedisClient | IoRedisClient): RedisConnection {
  const shape = (typeof client === "object" && client !== null ? client : {}) as Partial<
    NodeRedisClient & IoRedisClient
  > & {
    isCluster?: boolean;
  };
  if (typeof shape.duplicate === "function" && shape.isCluster !== true) {
    if (typeof shape.call === "function" && typeof shape.status === "string") return ioRedis(client as IoRedisClient);
    const isNodeRedis = typeof shape.sendCommand === "function" && typeof shape.isOpen === "boolean";
    // Only a client of a single server can select a database: clusters, pools and sentinels cannot.
    if (isNodeRedis && "select" in shape) return nodeRedis(client as NodeRedisClient);
  }
  throw new TypeError(
    'redisStore() needs a client of one server: createClient() of "redis" or new Redis() of "ioredis". Clusters, pools and sentinels are not supported.',
  );
}

/** A subscription retries forever, whatever the user's own client does: 50 ms, 100 ms, ... 2 s. */
const reconnectDelay = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000);

function nodeRedis(client: NodeRedisClient): RedisConnection {
  interface Subscriber {
    on(event: string, listener: () => void): void;
    connect(): Promise<unknown>;
    subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
    destroy(): void;
    readonly isOpen: boolean;
  }

  return {
    send: (...args) => client.sendCommand(args),

    listen(channel, onMessage, onReconnect) {
      const { socket } = (client.options ?? {}) as { socket?: object };
      const subscriber = client.duplicate({
        socket: { ...socket, reconnectStrategy: reconnectDelay },
      }) as Subscriber;
      let isListening = false;
      subscriber.on("error", () => {}); // it reconnects
      // It has already subscribed again when it emits "ready".
      subscriber.on("ready", () => {
        if (isListening) onReconnect();
      });
      async function start() {
        await subscriber.connect();
        await subscriber.subscribe(channel, (message) => onMessage(String(message)));
        isListening = true;
      }
      return {
        ready: start(),
        end() {
          if (subscriber.isOpen) subscriber.destroy();
        },
      };
    },
  };
}

function ioRedis(client: IoRedisClient): RedisConnection {
  interface Subscriber {
    on(event: "ready" | "error", listener: () => void): void;
    on(event: "message", listener: (channel: string, message: string) => void): void;
    connect(): Promise<unknown>;
    subscribe(channel: string): Promise<unknown>;
    disconnect(): void;
  }

  return {
    send: (command, ...args) => client.call(command, ...args),

    listen(channel, onMessage, onReconnect) {
      const subscriber = client.duplicate({
        lazyConnect: true,
        autoResubscribe: false, // it would not report when it has
        retryStrategy: reconnectDelay,
        keyPrefix: "", // the store names the channel
      }) as Subscriber;
      let isListening = false;
      subscriber.on("error", () => {}); // it reconnects
      subscriber.on("message", (_, message) => onMessage(String(message)));
      subscriber.on("ready", () => {
        if (isListening) subscriber.subscribe(channel).then(onReconnect, () => {}); // broken again: "ready" comes again
      });
      async function start() {
        await subscriber.connect();
        await subscriber.subscribe(channel);
        isListening = true;
      }
      return { ready: start(), end: () => subscriber.disconnect() };
    },
  };
}
