import { Queue, QueueEvents, QueueEventsProducer, type Job, type JobsOptions } from "bullmq";
import { checkRunId } from "../execute/context.ts";
import { ToolExecutor } from "../execute/executor.ts";
import type { ActionInfo } from "../execute/info.ts";
import { EXECUTOR_OPTIONS, type ToolExecutorOptions } from "../execute/options.ts";
import { isToolError, ToolError } from "../errors.ts";
import { storeKey, type Store } from "../store/store.ts";
import { checkMs, settlesWithin } from "../time.ts";
import { checkOptionNames, type OptionNames } from "../tool/option-names.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";
import { toolList, type ToolSource } from "../tool/tool-set.ts";
import type { JobData, JobResult } from "./job.ts";
import {
  CANCEL,
  HANG_UP_MS,
  hangUp,
  HELLO,
  listened,
  MAX_EVENTS,
  PLACE,
  placeOf,
  type BullmqPlace,
  type OurEvents,
} from "./queue.ts";
import { forgetClaim, isClaimed } from "./claims.ts";
import { remoteTool } from "./remote.ts";
import { Waiting } from "./waiting.ts";

/** How calls become jobs. */
export interface BullmqToolsOptions extends BullmqPlace {
  /** Which tools are executed by workers. Default: all that have a handler. */
  readonly filter?: ((tool: Tool) => boolean) | undefined;
  /** What the workers' handlers get in their context besides the ids and the principal's id. JSON, stored in Redis. */
  readonly context?: ((context: ToolContext) => Readonly<Record<string, unknown>>) | undefined;
  /**
   * For each job: priority, delay between attempts, and how long it is kept after its end (default: 1 hour), so that a
   * process that resumes the call finds its outcome.
   */
  readonly jobOptions?:
    | Pick<JobsOptions, "backoff" | "lifo" | "priority" | "removeOnComplete" | "removeOnFail">
    | undefined;
  /** How often to check on a silent job, in milliseconds. Default 5 s. */
  readonly pollMs?: number | undefined;
}

const TOOLS_OPTIONS: OptionNames<BullmqToolsOptions> = {
  ...PLACE,
  filter: true,
  context: true,
  jobOptions: true,
  pollMs: checkMs,
};

/** Tools that are executed by workers. */
export interface BullmqTools {
  /** For an executor: all tools of the source, in order, including those registered later. */
  readonly tools: readonly Tool[];
  /** Closes the connections. Jobs continue; calls that wait for theirs fail, writes with `outcome_unknown`. */
  close(): Promise<void>;
}

/**
 * The tools with their handlers elsewhere: `execute` puts the call into a BullMQ queue and waits for the result of a
 * {@link bullmqWorker}. The job's id is the call's idempotency key, so that a repeated call finds its job; the tool's
 * `retries` are the queue's attempts. A timeout or an abort removes the job from the queue, or tells the worker that
 * has it.
 *
 * @example
 * const { tools: remote, close } = bullmqTools(tools, { connection: { host: "localhost", port: 6379 } });
 * const executor = new ToolExecutor({ tools: remote, store });
 */
export function bullmqTools(tools: ToolSource, options: BullmqToolsOptions): BullmqTools {
  return connected(tools, options).remote;
}

function connected(tools: ToolSource, options: BullmqToolsOptions) {
  const { queue: name, place, onError, end } = placeOf(options, "bullmqTools", TOOLS_OPTIONS);
  const { filter = () => true, context: extra = () => ({}), jobOptions = {}, pollMs = 5_000 } = options;
  toolList(tools); // reports mistakes immediately
  const queue = listened(new Queue<JobData, JobResult>(name, place), place, onError);
  const events = listened(new QueueEvents(name, place), place, onError);
  const producer = listened(new QueueEventsProducer(name, place), place, onError);
  const waiting = new Waiting({
    pollMs,
    // A job that cannot be read now is looked at again.
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
    // It may have ended and been removed by now: an event will say so.
    await job?.updateData({ ...job.data, ...data }).catch(() => {});
  };
  let listening: Promise<void> | undefined;
  const dispatch = {
    extra,
    async send(call: JobData, tool: Tool, context: ToolContext): Promise<JobResult> {
      const data = { ...call, owner };
      const jobId = jobIdOf(data.context.idempotencyKey);
      const { retries = 0 } = tool;
      return waiting.wait(jobId, tool, context, {
        async add() {
          await (listening ??= untilHeard(events, producer, owner));
          // Aborted meanwhile: do not even start.
          if (context.signal?.aborted === true) return;
          // The queue may have forgotten a write that was done: look for it, but never add it again.
          if (tool.effect === "write" && context.attempt > 1) return takeOver(jobId, { owner });
          await queue.add(tool.name, data, {
            backoff: { type: "exponential", delay: 200 },
            removeOnComplete: KEPT,
            removeOnFail: KEPT,
            ...jobOptions,
            jobId,
            attempts: retries + 1,
            // Stacks are not for everyone who can read the queue.
            stackTraceLimit: 0,
          });
          // Resumed for a process presumed dead: the job exists, and now belongs to this one.
          if (context.attempt > 1) await takeOver(jobId, { ...data, isGivenUp: false });
        },
        async cancel() {
          const job = await queue.getJob(jobId);
          // A process that was wrongly presumed dead no longer decides about the job.
          if (job?.data.owner !== owner) return;
          // A dead worker hears nothing, and its job is handed to another one: note it in the job.
          await job.updateData({ ...job.data, isGivenUp: true });
          // A worker that has the job holds a lock: then it cannot be removed, and the worker must be told.
          if ((await queue.remove(jobId)) === 0) await producer.publishEvent({ eventName: CANCEL, jobId }, MAX_EVENTS);
        },
      });
    },
  };
  const known = new WeakMap<Tool, Tool>();
  const remoteOf = (tool: Tool): Tool => {
    if (!known.has(tool)) known.set(tool, tool.mode === "internal" && filter(tool) ? remoteTool(tool, dispatch) : tool);
    return known.get(tool)!;
  };
  const remote: BullmqTools = {
    get tools() {
      return toolList(tools).map(remoteOf);
    },
    async close() {
      await settlesWithin(HANG_UP_MS, waiting.close());
      end();
      await Promise.all([queue, events, producer].map(hangUp));
    },
  };
  return {
    remote,
    /**
     * Deletes what the queue and the workers keep of a call, unless a worker may still be given its job. Nothing is
     * kept of a tool that is executed here, but for a write of when it was not; finished jobs go by themselves.
     */
    async forget({ actionId: idempotencyKey, toolName }: ActionInfo, store: Store) {
      const isHere = toolList(tools).some((tool) => tool.name === toolName && remoteOf(tool) === tool);
      if (isHere && !(await isClaimed(store, idempotencyKey))) return;
      const job = await queue.getJob(jobIdOf(idempotencyKey));
      if (job !== undefined && job.finishedOn === undefined) return;
      await job?.remove();
      await forgetClaim(store, idempotencyKey);
    },
  };
}

/**
 * A {@link ToolExecutor} whose tools are executed by workers. Its `forget(runId)` also deletes the run's jobs, and what
 * the workers have recorded of its writes, if their store is the executor's.
 */
export interface BullmqExecutor extends ToolExecutor {
  /** Closes the connections, as in {@link BullmqTools}. */
  close(): Promise<void>;
}

/**
 * A ToolExecutor whose handlers run in {@link bullmqWorker}s. Rules, approvals, the record, events, timeouts and undo
 * stay in this process, unchanged.
 *
 * @example
 * const executor = bullmqExecutor({ tools, store, connection: { host: "localhost", port: 6379 } });
 * const orchestrator = new Orchestrator({ model, tools, store, executor });
 */
export function bullmqExecutor(options: ToolExecutorOptions & BullmqToolsOptions): BullmqExecutor {
  checkOptionNames("bullmqExecutor()", options, { ...EXECUTOR_OPTIONS, ...TOOLS_OPTIONS });
  const { connection, queue, prefix, onError, filter, context, jobOptions, pollMs, ...own } = options;
  const place = { connection, queue, prefix, onError };
  const { remote, forget } = connected(own.tools, { ...place, filter, context, jobOptions, pollMs });
  const executor = new ToolExecutor({ ...own, tools: { tools: () => remote.tools } });
  return Object.assign(executor, {
    close: remote.close,
    async forget(runId: string) {
      checkRunId("forget()", runId);
      const actions = await executor.actions(runId);
      // The record says which jobs there are: it goes last.
      const jobs = Promise.all(actions.map((action) => forget(action, own.store)));
      if (!(await settlesWithin(ANSWER_MS, jobs))) throw new ToolError("store_failed", NO_ANSWER);
      await jobs.catch((cause: unknown) => {
        // BullMQ's own errors have no code: the connection was closed, for one.
        throw isToolError(cause) ? cause : new ToolError("store_failed", NO_ANSWER, { cause });
      });
      await ToolExecutor.prototype.forget.call(executor, runId);
    },
  });
}

/** How long a queue may take to forget a run. */
const ANSWER_MS = 10_000;
const NO_ANSWER = "The queue does not answer: not all of the run was forgotten. Forget it again once it does.";

/** How long the end of a job can be read, in seconds, by a process that resumes its call. */
const KEPT = { age: 3_600 };

/**
 * Events are received from the moment reading starts, which nothing announces: the end of a first, short job could be
 * missed. So send test events; once one was received, none is missed.
 */
async function untilHeard(events: QueueEvents, producer: QueueEventsProducer, from: string): Promise<void> {
  const heard = new Promise<void>((resolve) => {
    events.on<OurEvents, typeof HELLO>(HELLO, (hello: { from: string }) => {
      if (hello.from === from) resolve();
    });
  });
  // If none is received, polling still finds the ends of jobs.
  for (let tries = 0; tries < 40; tries++) {
    await producer.publishEvent({ eventName: HELLO, from }, MAX_EVENTS).catch(() => {});
    if (await settlesWithin(25, heard)) return;
  }
}

/**
 * BullMQ refuses ids with a colon, and those that are numbers (taskforcesh/bullmq#4052): such keys are escaped, and so
 * are those that look like an escaped one.
 */
function jobIdOf(key: string): string {
  return /:|^(?:%|-?\d+$|NaN$)/.test(key) ? `%${storeKey(key)}` : key;
}

function endOf(job: Job<JobData, JobResult> | undefined) {
  if (job === undefined) return { status: "gone" } as const;
  if (job.finishedOn === undefined) return undefined;
  return job.failedReason === undefined
    ? ({ status: "completed", returned: job.returnvalue } as const)
    : ({ status: "failed", reason: job.failedReason } as const);
}
