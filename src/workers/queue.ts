import type { EventEmitter } from "node:events";
import {
  QueueEventsProducer,
  type QueueBase,
  type ConnectionOptions,
  type QueueEventsListener,
  type RedisOptions,
} from "bullmq";
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
  const isClient = typeof (connection as { connect?: unknown }).connect === "function";
  return {
    queue,
    place: { connection: isClient ? connection : ending, ...(prefix !== undefined && { prefix }) },
    onError: (error: Error) => onError?.(error),
    end: () => void (isEnded = true),
  };
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
  const probe = listened(new QueueEventsProducer(name, place), () => {});
  const isThere = await settlesWithin(HANG_UP_MS, probe.waitUntilReady());
  await hangUp(probe);
  return isThere;
}

/**
 * With a listener for errors. BullMQ 5 takes all listeners from a connection that it closes, which may still fail after
 * that: an "error" that nobody listens to would end the process. BullMQ 6 emits none then.
 */
export function listened<P extends QueueBase>(part: P, onError: (error: Error) => void): P {
  const { connection, blockingConnection } = part as unknown as Record<string, EventEmitter | undefined>;
  for (const each of [connection, blockingConnection]) {
    if (each === undefined) continue;
    const removeAllListeners = each.removeAllListeners;
    each.removeAllListeners = () => removeAllListeners.call(each).on("error", () => {});
  }
  part.on("error", onError);
  return part;
}

/** Closes a connection, or cuts it if its server does not answer. Errors while closing are ignored. */
export async function hangUp(part: QueueBase): Promise<void> {
  if (await settlesWithin(HANG_UP_MS, part.close())) return;
  void part.disconnect().catch(() => {});
  // That waits for a server that has never answered. What owns the connection (its name in BullMQ 6, or in 5) does not.
  const { backend, connection } = part as unknown as Record<string, { close(force: true): Promise<void> }>;
  void (backend ?? connection)!.close(true).catch(() => {});
}

export const HANG_UP_MS = 2_000;
