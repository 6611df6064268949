import { QueueEvents, UnrecoverableError, Worker, type WorkerOptions } from "bullmq";
import { messageOf } from "../errors.ts";
import { knownTools } from "../execute/known-tools.ts";
import { toldOf } from "../execute/options.ts";
import type { Store } from "../store/store.ts";
import { settlesWithin } from "../time.ts";
import { aboveZero, aFunction, type OptionNames } from "../tool/option-names.ts";
import type { Tool } from "../tool/tool.ts";
import { toolList, type ToolSource } from "../tool/tool-set.ts";
import type { JobData, JobResult } from "./job.ts";
import { asFailure, perform } from "./perform.ts";
import {
  answers,
  CANCEL,
  HANG_UP_MS,
  hangUp,
  listened,
  PLACE,
  placeOf,
  type BullmqPlace,
  type OurEvents,
} from "./queue.ts";

export interface BullmqWorkerOptions extends BullmqPlace {
  /**
   * Records that a write was started, so that none runs twice: one store for all workers. Required if a tool has effect
   * `write`.
   */
  readonly store?: Store | undefined;
  /** BullMQ's own options: concurrency, rate limit, lock duration, … */
  readonly worker?: Omit<WorkerOptions, "connection" | "prefix"> | undefined;
  /** How large an output may be as JSON, in bytes. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** What is reported of a handler's error. Default: `safeMessage` of `toolstream/execute`. */
  readonly errorMessage?: ((error: unknown, tool: Tool) => string) | undefined;
}

const WORKER_OPTIONS: OptionNames<BullmqWorkerOptions> = {
  ...PLACE,
  store: true,
  worker: true,
  maxOutputBytes: aboveZero,
  errorMessage: aFunction,
};

export interface BullmqWorker {
  /** BullMQ's own worker, for its events and for `pause()`. */
  readonly worker: Worker<JobData, JobResult>;
  /** Takes no more jobs, and resolves once the current ones are done. */
  close(): Promise<void>;
}

/**
 * Executes what {@link bullmqTools} puts into the queue, with the handlers of these tools.
 *
 * A job whose worker dies is handed to another one. Tools with effect `read` and `idempotent` are then executed again.
 * A write that was started is not: its recorded outcome is returned, or else its outcome is unknown.
 *
 * @throws TypeError for tools with effect `write` without a store, and for a list without a tool that has `execute`
 * @example
 * const { close } = bullmqWorker(tools, { connection: { host: "localhost", port: 6379 }, store });
 * process.once("SIGTERM", () => void close());
 */
export function bullmqWorker(tools: ToolSource, options: BullmqWorkerOptions): BullmqWorker {
  const { queue: name, place, onError, end } = placeOf(options, "bullmqWorker", WORKER_OPTIONS);
  const { store, maxOutputBytes = 1024 * 1024, errorMessage } = options;
  const list = toolList(tools);
  // A registry may grow.
  if (Array.isArray(tools) && list.every(({ mode }) => mode === "external")) {
    throw new TypeError("bullmqWorker() needs a tool with execute.");
  }
  const write = list.find(({ effect, mode }) => effect === "write" && mode === "internal");
  if (write !== undefined && typeof store?.put !== "function") {
    throw new TypeError(
      `bullmqWorker() needs a store for tools that write (${write.name}): without a record of what was begun a job that is handed out again would be executed again.`,
    );
  }
  const shop = {
    tools: knownTools(tools),
    store,
    worker: crypto.randomUUID(),
    maxOutputBytes,
    errorMessage: toldOf(errorMessage),
  };
  const running = new Map<string, AbortController>();
  const stop = (jobId: string, why: string) => running.get(jobId)?.abort(new DOMException(why, "AbortError"));

  const worker = new Worker<JobData, JobResult>(
    name,
    async (job) => {
      const controller = new AbortController();
      running.set(job.id!, controller);
      try {
        return await perform(shop, {
          data: job.data,
          attempt: job.attemptsStarted,
          signal: controller.signal,
          onProgress: (text) => job.updateProgress({ text }),
        });
      } catch (error) {
        throw failureOf(error);
      } finally {
        if (running.get(job.id!) === controller) running.delete(job.id!);
      }
    },
    { ...options.worker, ...place, autorun: false },
  );
  listened(worker, place, onError);
  const giveUp = endRetriesWithClose(worker);
  // Another worker has, or will have, the job: this one's result no longer counts.
  worker.on("lockRenewalFailed", (ids) => ids.forEach((jobId) => stop(jobId, "The lock of the job was lost.")));
  const events = listened(new QueueEvents(name, place), place, onError);
  events.on<OurEvents, typeof CANCEL>(CANCEL, ({ jobId }: { jobId: string }) =>
    stop(jobId, "Nobody waits for the job any more."),
  );
  // A worker that takes jobs must be reachable for cancellations.
  if (options.worker?.autorun !== false) {
    void events
      .waitUntilReady()
      .then(() => worker.run())
      .catch(onError);
  }
  return {
    worker,
    async close() {
      // Jobs may take long, and the server may come back meanwhile, or disappear.
      const isNeeded = async () => running.size > 0 || (await answers(name, place));
      let isThere = await answers(name, place);
      while (!isThere && running.size > 0) isThere = await answers(name, place);
      if (!isThere) end();
      const closed = worker.close(!isThere);
      while (!(await settlesWithin(HANG_UP_MS, closed)) && (await isNeeded()));
      end();
      giveUp();
      await hangUp(events);
    },
  };
}

/**
 * BullMQ 5 repeats at once, and forever, what a connection that has ended cannot say of a job when its worker closes:
 * nothing else would run in this process. It gives up, as BullMQ 6 does, if it is told of any other error. Both wait, with
 * timers, for commands that the application's own client keeps until it is connected again.
 *
 * @returns gives up what is still being repeated or waited for
 */
function endRetriesWithClose(worker: Worker): () => void {
  const bullmq = worker as unknown as { retryIfFailed(work: () => Promise<unknown>, options: unknown): unknown };
  const retry = bullmq.retryIfFailed;
  const pending = new Set<(error: Error) => void>();
  let isOver = false;
  bullmq.retryIfFailed = (work, options) =>
    retry.call(
      worker,
      () =>
        new Promise((resolve, reject) => {
          if (isOver) return reject(new Error(CLOSED));
          pending.add(reject);
          void work()
            .then(resolve, (error: unknown) => {
              reject(worker.closing && ENDED.test(messageOf(error)) ? new Error(CLOSED) : error);
            })
            .finally(() => pending.delete(reject));
        }),
      options,
    );
  return () => {
    isOver = true;
    for (const reject of pending) reject(new Error(CLOSED));
  };
}

const CLOSED = "It has closed.";
/** What clients of ioredis and of redis say once they have ended. */
const ENDED = /^(?:Connection is closed\.|The client is closed)$/;

/** The error as the queue keeps it, and whether it retries. */
function failureOf(error: unknown): Error {
  const failure = asFailure(error);
  return failure.isFinal ? Object.assign(new UnrecoverableError(failure.message), { cause: failure.cause }) : failure;
}
