import { Queue, QueueEvents, QueueEventsProducer, UnrecoverableError, Worker } from "bullmq";
import type { ConnectionOptions, Job, JobsOptions, QueueEventsListener, RedisOptions, WorkerOptions } from "bullmq";
import { ToolExecutor, type ToolExecutorOptions } from "../execute/executor.ts";
import { safeMessage } from "../tool/safe-message.ts";
import { knownTools } from "../execute/known-tools.ts";
import { checkMs, settlesWithin } from "../time.ts";
import type { Store } from "../store/store.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { toolList, type ToolSource } from "../tool/tool-set.ts";
import type { JobData, JobResult } from "./job.ts";
import { asFailure, perform } from "./perform.ts";
import { remoteTool } from "./remote.ts";
import { Waiting } from "./waiting.ts";

/** Where the queue is: the same for those who call and for the workers. */
export interface BullmqPlace {
  /** The application's own client of `ioredis` or `redis`, or what one is made of: `{ host, port }`. */
  readonly connection: ConnectionOptions;
  /** The queue's name. Default `toolstream`. */
  readonly queue?: string;
  /** In front of all keys, as BullMQ has it. Default `bull`. */
  readonly prefix?: string;
  /** Hears of connections that fail. They are made again; default: nobody. */
  readonly onError?: (error: Error) => void;
}

/** How calls become jobs. */
export interface BullmqToolsOptions extends BullmqPlace {
  /** Which tools are executed by workers. Default: all that have a handler. */
  readonly only?: (tool: Tool) => boolean;
  /** What handlers over there get in their context beside the ids and the principal's id. JSON; it lies in Redis. */
  readonly context?: (context: ToolContext) => Readonly<Record<string, unknown>>;
  /**
   * Of each job: its priority, what to wait between attempts, how long it is kept after its end (default: 1 hour): so long
   * a process that goes on for one that has died finds what came of it.
   */
  readonly jobOptions?: Pick<JobsOptions, "backoff" | "lifo" | "priority" | "removeOnComplete" | "removeOnFail">;
  /** How often to look after a job of which nothing is heard, in milliseconds. Default 5 s. */
  readonly pollMs?: number;
}

/** Tools that are executed by workers. */
export interface BullmqTools {
  /** For an executor: all tools of the source, in their order; those that a registry has got meanwhile, too. */
  readonly tools: readonly Tool[];
  /** Ends the connections. Jobs go on; calls that wait for theirs fail, writes as `outcome_unknown`. */
  close(): Promise<void>;
}

/**
 * The tools with their handlers elsewhere: `execute` puts the call into a BullMQ queue and waits for what a
 * {@link bullmqWorker} makes of it. The job's id is the call's idempotency key, so that a call that is asked for again
 * finds its job; `tool.retries` are the queue's attempts. A timeout or an abort takes the job out of the queue, or tells the
 * worker that has it.
 *
 * @example
 * const { tools: remote, close } = bullmqTools(tools, { connection: { host: "localhost", port: 6379 } });
 * const executor = new ToolExecutor({ tools: remote, store });
 */
export function bullmqTools(tools: ToolSource, options: BullmqToolsOptions): BullmqTools {
  const { queue: name, place, onError, end } = placeOf(options, "bullmqTools");
  const { only = () => true, context: extra = () => ({}), jobOptions = {}, pollMs = 5_000 } = options;
  checkMs("pollMs", pollMs);
  toolList(tools); // a mistake shows at once
  const queue = new Queue<JobData, JobResult>(name, place);
  const events = new QueueEvents(name, place);
  const producer = new QueueEventsProducer(name, place);
  queue.on("error", onError);
  events.on("error", onError);
  producer.on("error", onError);
  const waiting = new Waiting({
    pollMs,
    // A job that can not be read now is looked at again.
    look: async (id) => endOf(await queue.getJob(id)),
  });
  events.on("completed", ({ jobId, returnvalue }) =>
    waiting.end(jobId, { status: "completed", returned: returnvalue }),
  );
  events.on("failed", ({ jobId, failedReason }) => waiting.end(jobId, { status: "failed", reason: failedReason }));
  events.on("removed", ({ jobId }) => waiting.end(jobId, { status: "gone" }));
  events.on("progress", ({ jobId, data }) => waiting.progress(jobId, data));

  const owner = crypto.randomUUID();
  const takeOver = async (jobId: string, data: Partial<JobData>) => {
    const job = await queue.getJob(jobId);
    // It may have ended, and been removed, before or at this moment: that is heard.
    await job?.updateData({ ...job.data, ...data }).catch(() => {});
  };
  let listening: Promise<void> | undefined;
  const dispatch = {
    extra,
    async send(call: JobData, tool: Tool, context: ToolContext): Promise<JobResult> {
      const data = { ...call, owner };
      const jobId = data.context.idempotencyKey;
      const { retries = 0 } = tool;
      return waiting.wait(jobId, tool, context, {
        async add() {
          await (listening ??= untilHeard(events, producer, owner));
          // Given up meanwhile: it is not even begun.
          if (context.signal?.aborted === true) return;
          // The queue may have forgotten a write that was done: it is looked for, and never put there again.
          if (tool.effect === "write" && context.attempt > 1) return takeOver(jobId, { owner });
          await queue.add(tool.name, data, {
            backoff: { type: "exponential", delay: 200 },
            removeOnComplete: KEPT,
            removeOnFail: KEPT,
            ...jobOptions,
            jobId,
            attempts: retries + 1,
            // What is in a stack is nobody's business who can read the queue.
            stackTraceLimit: 0,
          });
          // Goes on for a process that is taken for dead: the job is there, and is this one's now.
          if (context.attempt > 1) await takeOver(jobId, { ...data, isGivenUp: false });
        },
        async cancel() {
          const job = await queue.getJob(jobId);
          // Who was taken for dead, and was not, has nothing to say any more.
          if (job?.data.owner !== owner) return;
          // A worker that has died hears nothing, and its job is handed to another one.
          await job.updateData({ ...job.data, isGivenUp: true });
          // The worker that has it holds a lock: then it can not be removed, and the worker has to hear of it.
          if ((await queue.remove(jobId)) === 0) await producer.publishEvent({ eventName: CANCEL, jobId }, MAX_EVENTS);
        },
      });
    },
  };
  const known = new WeakMap<Tool, Tool>();
  const remote = (tool: Tool): Tool => {
    if (!known.has(tool)) known.set(tool, tool.mode === "internal" && only(tool) ? remoteTool(tool, dispatch) : tool);
    return known.get(tool)!;
  };
  return {
    get tools() {
      return toolList(tools).map(remote);
    },
    async close() {
      await settlesWithin(HANG_UP_MS, waiting.close());
      end();
      await Promise.all([queue, events, producer].map(hangUp));
    },
  };
}

/** A {@link ToolExecutor} that has its tools executed by workers. */
export interface BullmqExecutor extends ToolExecutor {
  /** Ends the connections, as that of {@link BullmqTools}. */
  close(): Promise<void>;
}

/**
 * A ToolExecutor whose handlers run at {@link bullmqWorker}s. Rules, approvals, the record, events, timeouts and undoing
 * are here, and as they were.
 *
 * @example
 * const executor = bullmqExecutor({ tools, store, connection: { host: "localhost", port: 6379 } });
 * const orchestrator = new Orchestrator({ model, tools, store, executor });
 */
export function bullmqExecutor(options: ToolExecutorOptions & BullmqToolsOptions): BullmqExecutor {
  const remote = bullmqTools(options.tools, options);
  const tools = { tools: () => remote.tools };
  return Object.assign(new ToolExecutor({ ...options, tools }), { close: remote.close });
}

export interface BullmqWorkerOptions extends BullmqPlace {
  /**
   * Where it is recorded that a write was begun, so that none runs twice: one store for all workers. Needed when a tool
   * has effect `write`.
   */
  readonly store?: Store;
  /** How many jobs at the same time, a rate limit, how long a lock holds, …: as BullMQ has them. */
  readonly worker?: Omit<WorkerOptions, "connection" | "prefix">;
  /** How large an output may be as JSON, in bytes. Default 1 MiB. */
  readonly maxOutputBytes?: number;
  /** What of a handler's error is told. Default: `safeMessage` of `toolstream/execute`. */
  readonly errorMessage?: (error: unknown, tool: Tool) => string;
}

export interface BullmqWorker {
  /** BullMQ's own, for its events and for `pause()`. */
  readonly worker: Worker<JobData, JobResult>;
  /** Takes no more jobs, and ends when those that it has are done. */
  close(): Promise<void>;
}

/**
 * Executes what {@link bullmqTools} puts into the queue, with the handlers of these tools.
 *
 * A job whose worker dies is handed to another one. Tools of effect `read` and `idempotent` are then executed again; a
 * write is not, if it was begun: what is on record of it is told, or that its outcome is unknown.
 *
 * @throws TypeError for tools of effect `write` without a store
 * @example
 * const { close } = bullmqWorker(tools, { connection: { host: "localhost", port: 6379 }, store });
 * process.once("SIGTERM", () => void close());
 */
export function bullmqWorker(tools: ToolSource, options: BullmqWorkerOptions): BullmqWorker {
  const { queue: name, place, onError, end } = placeOf(options, "bullmqWorker");
  const { store, maxOutputBytes = 1024 * 1024, errorMessage = safeMessage } = options;
  const write = toolList(tools).find(({ effect, mode }) => effect === "write" && mode === "internal");
  if (write !== undefined && typeof store?.put !== "function") {
    throw new TypeError(
      `bullmqWorker() needs a store for tools that write (${write.name}): without a record of what was begun a job that is handed out again would be executed again.`,
    );
  }
  const id = crypto.randomUUID();
  const shop = {
    tools: knownTools(tools),
    store,
    worker: id,
    maxOutputBytes,
    errorMessage,
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
  worker.on("error", onError);
  // Another worker has, or will have, the job: this one's result is not taken any more.
  worker.on("lockRenewalFailed", (ids) => ids.forEach((jobId) => stop(jobId, "The lock of the job was lost.")));
  const events = new QueueEvents(name, place);
  events.on("error", onError);
  events.on<OurEvents, typeof CANCEL>(CANCEL, ({ jobId }: { jobId: string }) =>
    stop(jobId, "Nobody waits for the job any more."),
  );
  // Who takes a job can be told to leave it.
  if (options.worker?.autorun !== false) {
    void events
      .waitUntilReady()
      .then(() => worker.run())
      .catch(onError);
  }
  return {
    worker,
    async close() {
      // Jobs take as long as they take, and the server may come back meanwhile, or go.
      const isNeeded = async () => running.size > 0 || (await answers(name, place));
      let isThere = await answers(name, place);
      while (!isThere && running.size > 0) isThere = await answers(name, place);
      if (!isThere) end();
      const closed = worker.close(!isThere);
      while (!(await settlesWithin(HANG_UP_MS, closed)) && (await isNeeded()));
      end();
      await hangUp(events);
    },
  };
}

/** An event of ours beside BullMQ's: nobody waits for the job any more. */
const CANCEL = "toolstream.cancel";
/** As many as BullMQ keeps itself. */
const MAX_EVENTS = 10_000;
/** So long the end of a job can be read, in seconds: by a process that goes on for one that has died. */
const KEPT = { age: 3_600 };

/** Another one: does anybody hear? */
const HELLO = "toolstream.hello";

interface OurEvents extends QueueEventsListener {
  readonly [CANCEL]: (args: { jobId: string }, id: string) => void;
  readonly [HELLO]: (args: { from: string }, id: string) => void;
}

/**
 * Events are read from when the reading begins, and nothing says when that is: the end of a first, short job would be
 * missed. So it is tried out; after the first event that was heard none is missed.
 */
async function untilHeard(events: QueueEvents, producer: QueueEventsProducer, from: string): Promise<void> {
  let isHeard = false;
  const heard = new Promise<void>((resolve) => {
    events.on<OurEvents, typeof HELLO>(HELLO, (hello: { from: string }) => {
      isHeard ||= hello.from === from;
      if (isHeard) resolve();
    });
  });
  // In vain, jobs are looked at from time to time.
  for (let tries = 0; !isHeard && tries < 40; tries++) {
    await producer.publishEvent({ eventName: HELLO, from }, MAX_EVENTS).catch(() => {});
    await Promise.race([heard, new Promise((resolve) => setTimeout(resolve, 25))]);
  }
}

/** Whether the server does: tried out, for a worker that ends with its jobs waits for one that does not for ever. */
async function answers(name: string, place: Pick<BullmqPlace, "connection" | "prefix">): Promise<boolean> {
  const probe = new QueueEventsProducer(name, place);
  probe.on("error", () => {});
  const isThere = await settlesWithin(HANG_UP_MS, probe.waitUntilReady());
  await hangUp(probe);
  return isThere;
}

/** Closes a connection; one whose server does not answer is cut. What fails at its end changes nothing. */
async function hangUp(part: { close(): Promise<void>; disconnect(): Promise<void> }): Promise<void> {
  if (!(await settlesWithin(HANG_UP_MS, part.close()))) void part.disconnect().catch(() => {});
}

const HANG_UP_MS = 2_000;

/** What the queue keeps of it, and whether it tries again. */
function failureOf(error: unknown): Error {
  const failure = asFailure(error);
  return failure.isFinal ? Object.assign(new UnrecoverableError(failure.message), { cause: failure.cause }) : failure;
}

function endOf(job: Job<JobData, JobResult> | undefined) {
  if (job === undefined) return { status: "gone" } as const;
  if (job.finishedOn === undefined) return undefined;
  return job.failedReason === undefined
    ? ({ status: "completed", returned: job.returnvalue } as const)
    : ({ status: "failed", reason: job.failedReason } as const);
}

/** As BullMQ has it. */
function retryDelayMs(times: number): number {
  return Math.max(Math.min(Math.exp(times), 20_000), 1_000);
}

function placeOf({ connection, queue = "toolstream", prefix, onError }: BullmqPlace, who: string) {
  if (typeof connection !== "object" || connection === null) {
    throw new TypeError(`${who}() needs a connection: a client of ioredis or redis, or { host, port }.`);
  }
  let isEnded = false;
  const { retryStrategy = retryDelayMs } = connection as RedisOptions;
  // A client that was never connected can not be closed: it has to stop trying. The application's own is let be.
  const ending = { ...connection, retryStrategy: (times: number) => (isEnded ? null : retryStrategy(times)) };
  const isClient = typeof (connection as { connect?: unknown }).connect === "function";
  return {
    queue,
    place: { connection: isClient ? connection : ending, ...(prefix !== undefined && { prefix }) },
    onError: (error: Error) => onError?.(error),
    end: () => void (isEnded = true),
  };
}
