import * as bullmq from "bullmq";
import {
  QueueEvents,
  QueueEventsProducer,
  type QueueBase,
  type ConnectionOptions,
  type QueueEventsListener,
  type RedisOptions,
} from "bullmq";
import { quietly } from "../quietly.ts";
import { settlesWithin } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";

/** Where the queue is: the same for callers and workers. */
export interface BullmqPlace {
  /** Your own `ioredis` or `redis` client, or options for one: `{ host, port }`. */
  readonly connection: ConnectionOptions;
  /** The queue's name. Default `toolstream`. */
  readonly queue?: string | undefined;
  /** BullMQ's prefix of all keys. Default `bull`. */
  readonly prefix?: string | undefined;
  /** Gets the errors of connections, which are re-established. Default: ignored. */
  readonly onError?: ((error: Error) => void) | undefined;
}

export const PLACE: OptionNames<BullmqPlace> = { connection: true, queue: true, prefix: true, onError: true };

/** Our own event, next to BullMQ's: nobody waits for the job any more. */
export const CANCEL = "toolstream.cancel";
/** The same as BullMQ's own limit. */
export const MAX_EVENTS = 10_000;
/** Another event of ours, to test whether events are received. */
export const HELLO = "toolstream.hello";

/** Our events, as listeners take them. */
export interface OurEvents extends QueueEventsListener {
  readonly [CANCEL]: (args: { jobId: string }, id: string) => void;
  readonly [HELLO]: (args: { from: string }, id: string) => void;
}

export function placeOf<Options extends BullmqPlace>(options: Options, who: string, known: OptionNames<Options>) {
  checkOptionNames(`${who}()`, options, known);
  const { connection, queue = "toolstream", prefix, onError } = options;
  if (typeof connection !== "object" || connection === null) {
    throw new TypeError(`${who}() needs a connection: a client of ioredis or redis, or { host, port }.`);
  }
  let isEnded = false;
  const { retryStrategy = retryDelayMs } = connection as RedisOptions;
  // A client that never connected cannot be closed: it must stop trying. The application's own client is left alone.
  const ending = { ...connection, retryStrategy: (times: number) => (isEnded ? null : retryStrategy(times)) };
  return {
    queue,
    place: {
      connection: isClient(connection) ? sharedClient(connection, who) : ending,
      ...(prefix !== undefined && { prefix }),
    },
    onError: (error: Error) => void quietly(() => onError?.(error)),
    end: () => void (isEnded = true),
  };
}

/**
 * A client as all parts share it. For one of `redis`, each part of BullMQ would make an adapter of its own, which listens
 * to the client for good, and connects it again if the application has closed it.
 */
function sharedClient(connection: ConnectionOptions, who: string): ConnectionOptions {
  const { defineCommand, sendCommand } = connection as Partial<Client>;
  if (defineCommand !== undefined || sendCommand === undefined) return connection;
  if (!("createNodeRedisClient" in bullmq)) {
    throw new TypeError(
      `${who}() got a client of redis, which needs a later BullMQ than the installed one. Install BullMQ 6, or pass a client of ioredis or { host, port }.`,
    );
  }
  let adapter = adapters.get(connection);
  if (adapter === undefined) {
    adapter = bullmq.createNodeRedisClient(connection).on("error", () => {});
    adapter.once("close", () => (adapter!.connect = refuse));
    adapters.set(connection, adapter);
  }
  return adapter;
}

const adapters = new WeakMap<object, bullmq.IRedisClient>();

function refuse(): Promise<never> {
  return Promise.reject(new Error("Connection is closed."));
}

/** The same as BullMQ's. */
function retryDelayMs(times: number): number {
  return Math.max(Math.min(Math.exp(times), 20_000), 1_000);
}

/** Whether the server answers, found by trying: a closing worker would wait forever for one that does not. */
export async function answers(
  name: string,
  place: { connection: ConnectionOptions; prefix?: string },
): Promise<boolean> {
  const probe = listened(new QueueEventsProducer(name, place), place, () => {});
  const isThere = await settlesWithin(HANG_UP_MS, probe.waitUntilReady());
  await hangUp(probe);
  return isThere;
}

/**
 * With a listener for errors, also once it is closed: a connection that BullMQ closes may still fail, and an "error" that
 * nobody listens to would end the process. BullMQ takes all listeners from it, and those of its own from its client.
 */
export function listened<P extends QueueBase>(part: P, place: { connection: ConnectionOptions }, onError: OnError): P {
  // BullMQ 6 has a backend that holds the connections, BullMQ 5 has not.
  const { backend = part } = part as unknown as { readonly backend?: unknown };
  const { connection, blockingConnection } = backend as Record<string, Connection | undefined>;
  for (const each of [connection, blockingConnection]) {
    if (each?._client === undefined) continue;
    const { _client: client, removeAllListeners } = each;
    // Events and jobs are waited for with copies of the application's client.
    const isOurs = !isClient(place.connection) || part instanceof QueueEvents || each === blockingConnection;
    each.removeAllListeners = () => {
      // BullMQ leaves copies open (5, if they were never connected), or connects them again (6, if they were lost).
      if (isOurs) {
        (client.raw ?? client).connect = refuse;
        client.on("error", () => {}).disconnect();
      }
      return removeAllListeners.call(each).on("error", () => {});
    };
  }
  part.on("error", onError);
  return part;
}

type OnError = (error: Error) => void;

/** What BullMQ 5 and 6 have in common. */
interface Connection extends NodeJS.EventEmitter {
  readonly _client: Client;
}

interface Client extends NodeJS.EventEmitter {
  connect(): Promise<unknown>;
  disconnect(): void;
  /** The client of redis or Bun that BullMQ 6 made it of. */
  readonly raw?: Client;
  /** Clients of ioredis have it, and BullMQ's adapters. */
  readonly defineCommand?: unknown;
  /** Clients of ioredis and redis have it. */
  readonly sendCommand?: unknown;
}

function isClient(connection: object): boolean {
  return typeof (connection as Partial<Client>).connect === "function";
}

/** Closes a connection, or cuts it if its server does not answer. Errors while closing are ignored. */
export async function hangUp(part: QueueBase): Promise<void> {
  if (!(await settlesWithin(HANG_UP_MS, part.close()))) void part.disconnect().catch(() => {});
  // Both may wait for a server that has never answered, or fail. What owns the connection (`backend` in BullMQ 6,
  // `connection` in 5) cuts it all the same.
  const { backend, connection } = part as unknown as Record<string, { close(force: true): Promise<void> } | undefined>;
  void (backend ?? connection)?.close(true).catch(() => {});
}

export const HANG_UP_MS = 2_000;
